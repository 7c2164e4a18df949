//! Parts: a text that was cut where no token crosses, with the ids of those parts that are one character.
//!
//! In scripts without spaces most parts are one character (`boundaries`), and its ids come from a table by
//! code point: no hash, no search, and the characters of a text are few enough to stay in the nearest caches. The
//! other parts are looked up in the cache of pre-tokens, and their ids inserted between.

/// The ids of one character alone, if there are at most three, and how many there are; or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alone([u32; 4]);

/// A character whose ids are not known.
pub(crate) const UNKNOWN: Alone = Alone([0; 4]);

impl Alone {
    /// Returns the ids of a code point; `encode` appends those of a character.
    pub(crate) fn of(code_point: u32, encode: impl Fn(char, &mut Vec<u32>)) -> Alone {
        let mut ids = Vec::new();
        if let Some(c) = char::from_u32(code_point) {
            encode(c, &mut ids);
        }
        let mut alone = UNKNOWN;
        if ids.len() <= 3 {
            alone.0[..ids.len()].copy_from_slice(&ids);
            alone.0[3] = ids.len() as u32;
        }
        alone
    }
}

/// A stretch of text in parts: the ids of single characters, and the parts whose ids come between them.
#[derive(Default)]
pub(crate) struct Parts {
    /// Of these the first `known` are valid.
    ids: Vec<u32>,
    known: usize,
    pub others: Vec<Part>,
}

/// A part of a text to be looked up.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub start: u32,
    pub end: u32,
    /// How many of the known ids come before its own.
    pub ids_before: u32,
}

impl Parts {
    /// Returns the known ids.
    pub(crate) fn ids(&self) -> &[u32] {
        &self.ids[..self.known]
    }

    /// Removes all parts and makes room for `most`.
    pub(crate) fn clear(&mut self, most: usize) {
        self.known = 0;
        self.others.clear();
        if self.ids.len() < 3 * most + 4 {
            self.ids.resize(3 * most + 4, 0);
        }
    }

    /// Appends a part; there must be room for it.
    #[inline(always)]
    pub(crate) fn push(&mut self, start: usize, end: usize, alone: &Alone) {
        // All four are written, whatever their number: that costs less than a branch on it.
        self.ids[self.known..self.known + 4].copy_from_slice(&alone.0);
        self.known += alone.0[3] as usize;
        if alone.0[3] == 0 {
            let ids_before = self.known as u32;
            self.others.push(Part { start: start as u32, end: end as u32, ids_before });
        }
    }
}

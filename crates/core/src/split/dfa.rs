//! The DFA tier: any regular pattern, one table look-up per byte.
//!
//! The fast table of `dfa_table.rs` finds the pre-tokens that end in the usual way. The walk through it has
//! no branch that could be mispredicted: every byte writes its offset to the output, and one bit of the table
//! says whether the output advances. Where the fast table cannot decide, the pre-token is matched again with
//! the full table.
//!
//! Cost: 450–800 MB/s per core; matching every pre-token with the full table, as regex engines do, reached
//! 200–300. It loses where long attempts keep ending in short matches (`\p{L}*ing|.` on a long run of letters
//! is quadratic): hence the step limit.

use regex_syntax::hir::{ClassUnicode, Dot, Hir, HirKind};

use super::bitmap::{char_before, char_len};
use super::dfa_table::{CARE, DfaTable, ENDS};
use super::lanes::LEAST;
use super::rewrite::{GivesBack, Regular, class_of};
use super::zones::contains;
use crate::{Error, Result};

pub struct Dfa {
    pattern: String,
    pub(super) table: DfaTable,
    /// The table without the alternative that gives back its last character, for a run of one character,
    /// where giving back leaves nothing. `None` where the next alternative would match that character anyway.
    pub(super) without: Option<DfaTable>,
    /// The characters before which a character is given back; `None` means all.
    before: Option<ClassUnicode>,
}

/// The number of bytes that may still be examined.
pub struct Budget(pub u64);

impl Budget {
    /// The budget of a whole document: linear in its length, with room for short ones.
    pub fn of(text: &str) -> Budget {
        Budget(64 * text.len() as u64 + (16 << 20))
    }
}

/// How many bytes are walked between two checks of `until`.
const PART: usize = 1024;

/// The result of matching at one offset.
pub struct Matched {
    pub end: usize,
    /// Whether it was decided before the text ended.
    pub decided: bool,
    /// Whether nothing matched, if the table distinguishes that.
    pub gap: bool,
}

/// Where a walk through the fast table ended.
struct Walked {
    /// Where the pre-token at hand begins.
    start: usize,
    /// The byte at which the fast table cannot decide, or the end of the text; `None` if enough was walked.
    doubt: Option<usize>,
}

impl Dfa {
    /// Compiles the pattern; `None` if the automaton would be too large, or looks behind.
    pub fn new(pattern: &str, regular: &Regular) -> Option<Dfa> {
        Dfa::with_gaps(pattern, regular, None)
    }

    /// Compiles the pattern; the table distinguishes what it does not match if `gaps` says of which units
    /// that consists.
    pub fn with_gaps(pattern: &str, regular: &Regular, gaps: Option<Dot>) -> Option<Dfa> {
        let Regular { alternatives, gives_back } = regular;
        let table = DfaTable::new(alternatives, gives_back.as_ref().map(|it| it.alternative), gaps)?;
        let without = match gives_back {
            Some(GivesBack { alternative, class, .. })
                if !takes_one(alternatives.get(alternative + 1), class, gaps.is_some()) =>
            {
                let mut rest = alternatives.clone();
                rest.remove(*alternative);
                Some(DfaTable::new(&rest, None, gaps)?)
            }
            _ => None,
        };
        let before = gives_back.as_ref().and_then(|it| it.before.clone());
        Some(Dfa { pattern: pattern.into(), table, without, before })
    }

    /// Appends the end of every pre-token of `text`, a whole document.
    pub fn split(&self, text: &str, ends: &mut Vec<u32>) -> Result<()> {
        self.split_fast(text.as_bytes(), 0, text.len(), true, &mut Budget::of(text), ends)?;
        Ok(())
    }

    /// Does the work of `Splitter::split_beginning`.
    pub fn split_beginning(&self, text: &str, ends: &mut Vec<u32>) -> Result<usize> {
        self.split_fast(text.as_bytes(), 0, text.len(), false, &mut Budget::of(text), ends)
    }

    /// Appends the ends of pre-tokens from `at` on, which is a boundary of the whole document, until `go_on`
    /// returns false.
    pub fn split_from(
        &self,
        text: &str,
        mut at: usize,
        budget: &mut Budget,
        ends: &mut Vec<u32>,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<()> {
        while at < text.len() {
            (at, _) = self.pretoken(text.as_bytes(), at, budget)?;
            ends.push(at as u32);
            if !go_on(at) {
                break;
            }
        }
        Ok(())
    }

    /// Appends the ends of pre-tokens from `from` on, at least up to `until`, and returns where they end. If
    /// the text continues after `text` (not `whole`), appends only pre-tokens that no continuation can
    /// change.
    pub fn split_fast(
        &self,
        text: &[u8],
        from: usize,
        until: usize,
        whole: bool,
        budget: &mut Budget,
        ends: &mut Vec<u32>,
    ) -> Result<usize> {
        let mut start = from;
        while start < until {
            if until - start >= LEAST {
                let before = start;
                start = self.split_in_lanes(text, start, until, budget, ends)?;
                if start > before {
                    continue;
                }
            }
            let walked = self.walk_to_doubt(text, start, until, ends);
            start = walked.start;
            let Some(doubt) = walked.doubt else { return Ok(start) };
            self.spend(doubt - start, start, budget)?;
            let (end, decided) = self.pretoken(text, start, budget)?;
            if !decided && !whole {
                break;
            }
            ends.push(end as u32);
            start = end;
        }
        Ok(start)
    }

    /// Walks the fast table from `start`, a boundary, and appends the ends it decides: to the byte where it
    /// cannot decide or to the end of the text, unless a pre-token that begins at or after `until` comes
    /// first.
    #[inline(always)]
    fn walk_to_doubt(&self, text: &[u8], mut start: usize, until: usize, ends: &mut Vec<u32>) -> Walked {
        let mut at = start;
        let mut state = self.table.start;
        loop {
            let stop = text.len().min(at + PART);
            let count;
            (at, state, count) = self.walk_part(text, at, stop, state, ends);
            if count > 0 {
                start = ends[ends.len() - 1] as usize;
            }
            if at < stop || at == text.len() {
                return Walked { start, doubt: Some(at) };
            }
            if start >= until {
                return Walked { start, doubt: None };
            }
        }
    }

    /// Walks the fast table from `at` to `stop`, at most [`PART`] bytes later, or to the byte where it cannot
    /// decide. Appends the ends it decides; returns the byte and the state reached, and the number of ends.
    ///
    /// Not inlined, so that all it reads stays in registers: inlined, the loop took 21 instructions per byte.
    #[inline(never)]
    fn walk_part(
        &self,
        text: &[u8],
        mut at: usize,
        stop: usize,
        mut state: u32,
        ends: &mut Vec<u32>,
    ) -> (usize, u32, usize) {
        ends.reserve(PART);
        let mut count = 0;
        // SAFETY: `at` is below `stop`, and that is at most the length of the text. `state` is the start
        // state or came from the fast table, so it is a multiple of the width below the length of that table;
        // a class is below the width. Each of up to PART bytes writes one end at `count` and counts at most
        // one, and room for PART ends was reserved.
        unsafe {
            let out = ends.as_mut_ptr().add(ends.len());
            while at < stop {
                let class = *self.table.class.get_unchecked(*text.get_unchecked(at) as usize);
                let next = *self.table.fast.get_unchecked(state as usize + class as usize);
                if next & CARE != 0 {
                    break;
                }
                out.add(count).write(at as u32);
                count += (next >> 31) as usize;
                state = next & !ENDS;
                at += 1;
            }
            ends.set_len(ends.len() + count);
        }
        (at, state, count)
    }

    /// Takes `looked` bytes from the budget; an error once it is used up.
    fn spend(&self, looked: usize, at: usize, budget: &mut Budget) -> Result<()> {
        let left = budget.0.checked_sub(looked as u64);
        budget.0 = left.ok_or_else(|| Error::StepLimit { pattern: self.pattern.clone(), at })?;
        Ok(())
    }

    /// Matches the pre-token that begins at `at` with the full table: its end, and whether it was decided
    /// before the text ended.
    #[inline(always)]
    pub(super) fn pretoken(&self, text: &[u8], at: usize, budget: &mut Budget) -> Result<(usize, bool)> {
        let matched = self.match_at(text, at, budget)?;
        Ok((matched.end, matched.decided))
    }

    /// Whether a run that ends at `at` gives back its last character.
    fn gives_back_before(&self, text: &[u8], at: usize) -> bool {
        match &self.before {
            None => at < text.len(),
            Some(before) => char_at(text, at).is_some_and(|c| contains(before, c)),
        }
    }

    /// Matches at `at` with the full table.
    #[inline(always)]
    pub(super) fn match_at(&self, text: &[u8], at: usize, budget: &mut Budget) -> Result<Matched> {
        let mut found = self.table.find(text, at);
        let mut looked = found.looked - at;
        let mut gap = found.state >= self.table.gap;
        if found.state >= self.table.giving_back && !gap && self.gives_back_before(text, found.end) {
            let end = char_before(text, found.end);
            if end > at {
                found.end = end;
            } else if let Some(without) = &self.without {
                found = without.find(text, at);
                looked += found.looked - at;
                gap = found.state >= without.gap;
            }
        }
        self.spend(looked, at, budget)?;
        Ok(Matched { end: found.end, decided: found.decided, gap })
    }
}

/// Returns the character that begins at `at`.
pub(super) fn char_at(text: &[u8], at: usize) -> Option<char> {
    let bytes = text.get(at..at + char_len(*text.get(at)?))?;
    std::str::from_utf8(bytes).ok()?.chars().next()
}

/// Whether `next`, the alternative after the one that gives back, matches a lone character of the class and
/// no more. Where there is no alternative, the character becomes a pre-token of its own: a gap, where those are
/// distinguished.
fn takes_one(next: Option<&Hir>, class: &ClassUnicode, gaps: bool) -> bool {
    match next.map(Hir::kind) {
        None => !gaps,
        Some(HirKind::Repetition(r)) if r.min <= 1 && r.max != Some(0) => {
            class_of(&r.sub).as_ref() == Some(class)
        }
        Some(_) => next.and_then(class_of).as_ref() == Some(class),
    }
}

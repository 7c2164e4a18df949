//! Insert: the stages that change text, `add_prefix_space` and `Metaspace`.
//!
//! Cost: one copy of the text if anything changes, nothing otherwise.

use std::ops::Range;

use super::Pieces;

pub struct Insert {
    /// The character that begins a piece afterwards.
    pub prefix: char,
    pub scheme: Scheme,
    /// Whether every space becomes the prefix character.
    pub replaces: bool,
}

/// Which pieces get the prefix, unless they begin with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Always,
    /// The piece that begins the user's text.
    First,
    Never,
}

/// By byte of a text, the range of the user's text that it comes from.
pub type Origins = Vec<(u32, u32)>;

impl Insert {
    /// Returns the changed text and appends its pieces; `None` if nothing changes. `first` says that `text`
    /// begins the user's text, `continues` that its first piece is the rest of one. `origins` become those of the changed text: a prefix comes from where the
    /// character after it does.
    pub fn run(
        &self,
        text: &str,
        (first, continues): (bool, bool),
        from: &Pieces,
        to: &mut Pieces,
        origins: Option<&mut Origins>,
    ) -> Option<String> {
        let replaces = self.replaces && self.prefix != ' ' && memchr::memchr(b' ', text.as_bytes()).is_some();
        let prefixes = |range: &Range<usize>| {
            !(continues && range.start == 0) && self.prefixes(&text[range.clone()], first && range.start == 0)
        };
        if !replaces && !from.ranges().any(|range| prefixes(&range)) {
            return None;
        }
        let mut changed = Changed::of(text, self.prefix, origins);
        let mut kept = from.ranges().peekable();
        let mut start = 0;
        for &end in &from.ends {
            let range = start..end as usize;
            start = range.end;
            let Some(range) = kept.next_if_eq(&range) else {
                changed.copy(range);
                to.drop_until(changed.text.len() as u32);
                continue;
            };
            if prefixes(&range) {
                changed.put(range.start);
            }
            let mut at = range.start;
            if replaces {
                for space in memchr::memchr_iter(b' ', &text.as_bytes()[range.clone()]) {
                    changed.copy(at..range.start + space);
                    changed.put(range.start + space);
                    at = range.start + space + 1;
                }
            }
            changed.copy(at..range.end);
            to.ends.push(changed.text.len() as u32);
        }
        Some(changed.finish())
    }

    /// Returns what a character becomes.
    pub fn replaced(&self, c: char) -> char {
        if self.replaces && c == ' ' { self.prefix } else { c }
    }

    fn prefixes(&self, piece: &str, begins: bool) -> bool {
        let applies = match self.scheme {
            Scheme::Always => true,
            Scheme::First => begins,
            Scheme::Never => false,
        };
        applies && !piece.starts_with(self.prefix) && !(self.replaces && piece.starts_with(' '))
    }
}

/// A text that is being changed.
struct Changed<'a> {
    source: &'a str,
    prefix: char,
    text: String,
    /// The origins of the source, and those of the result so far.
    origins: Option<(&'a mut Origins, Origins)>,
}

impl<'a> Changed<'a> {
    fn of(source: &'a str, prefix: char, origins: Option<&'a mut Origins>) -> Changed<'a> {
        let text = String::with_capacity(source.len() + source.len() / 4 + 4);
        Changed { source, prefix, text, origins: origins.map(|old| (old, Vec::new())) }
    }

    fn copy(&mut self, range: Range<usize>) {
        self.text.push_str(&self.source[range.clone()]);
        if let Some((old, new)) = &mut self.origins {
            new.extend_from_slice(&old[range]);
        }
    }

    /// Appends the prefix, which comes from where the byte `at` does.
    fn put(&mut self, at: usize) {
        self.text.push(self.prefix);
        if let Some((old, new)) = &mut self.origins {
            new.extend(std::iter::repeat_n(old[at], self.prefix.len_utf8()));
        }
    }

    fn finish(self) -> String {
        if let Some((old, new)) = self.origins {
            *old = new;
        }
        self.text
    }
}

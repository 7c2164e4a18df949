//! Cutters: the strings that cut text before it is split, which are special tokens and the document
//! separator.
//!
//! If several match, the leftmost wins; of these, the longest.

use aho_corasick::AhoCorasick;
use memchr::memmem;

use crate::Result;
use crate::automaton::{automaton, check_length};

/// What follows a stretch of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    Special,
    Separator,
    /// The end of the text; the document may continue in the next block.
    End,
}

/// An offset at which text may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub at: usize,
    /// Whether a document ends here, not only a stretch of its text.
    pub ends_document: bool,
}

/// An occurrence of a cutter in a text.
pub struct CutterMatch {
    pub start: usize,
    pub end: usize,
    pub kind: Boundary,
    /// The index of the cutter: that of the special token, if it is one.
    pub which: usize,
}

pub struct Cutters {
    all: Vec<Vec<u8>>,
    separator: Option<usize>,
    search: Search,
    longest: usize,
}

enum Search {
    Nothing,
    One(Box<memmem::Finder<'static>>),
    Many(AhoCorasick),
}

impl Cutters {
    pub fn new(special_tokens: &[String], separator: Option<&str>) -> Result<Cutters> {
        special_tokens.iter().map(String::as_str).chain(separator).try_for_each(check_length)?;
        let mut all: Vec<Vec<u8>> = special_tokens.iter().map(|token| token.as_bytes().to_vec()).collect();
        let separator = separator.map(|separator| {
            let found = all.iter().position(|token| token == separator.as_bytes());
            found.unwrap_or_else(|| {
                all.push(separator.as_bytes().to_vec());
                all.len() - 1
            })
        });
        let search = match &all[..] {
            [] => Search::Nothing,
            [one] => Search::One(Box::new(memmem::Finder::new(one).into_owned())),
            many => Search::Many(automaton(many)?),
        };
        let longest = all.iter().map(Vec::len).max().unwrap_or(0);
        Ok(Cutters { all, separator, search, longest })
    }

    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Returns the first cutter in `text[from..]`.
    pub fn find(&self, text: &[u8], from: usize) -> Option<CutterMatch> {
        let (start, which) = match &self.search {
            Search::Nothing => return None,
            Search::One(finder) => (from + finder.find(&text[from..])?, 0),
            Search::Many(automaton) => {
                let found = automaton.find(&text[from..])?;
                (from + found.start(), found.pattern().as_usize())
            }
        };
        let kind = if self.separator == Some(which) { Boundary::Separator } else { Boundary::Special };
        Some(CutterMatch { start, end: start + self.all[which].len(), kind, which })
    }

    /// Calls `visit(text, what follows it)` for each stretch of text between cutters, including empty ones.
    pub fn for_each_stretch(
        &self,
        text: &[u8],
        mut visit: impl FnMut(&[u8], Boundary) -> Result<()>,
    ) -> Result<()> {
        let mut from = 0;
        while let Some(CutterMatch { start, end, kind, .. }) = self.find(text, from) {
            visit(&text[from..start], kind)?;
            from = end;
        }
        visit(&text[from..], Boundary::End)
    }

    /// Returns whether `at` is inside or directly after an occurrence of a cutter, even one that another
    /// overlaps.
    pub fn cover(&self, text: &[u8], at: usize) -> bool {
        self.all.iter().any(|cutter| {
            let first = at.saturating_sub(cutter.len());
            (first..at).any(|start| text[start..].starts_with(cutter))
        })
    }

    /// Returns the start of the first cutter, or the end of the text.
    pub fn first_start(&self, text: &[u8]) -> usize {
        self.find(text, 0).map_or(text.len(), |found| found.start)
    }

    /// Returns the end of the last cutter in `text[..settled]`, where the text may be cut.
    pub fn last_end(&self, text: &[u8], settled: usize) -> Option<Cut> {
        // From the left, because only that resolves overlaps; a block always begins after a cut.
        let mut last = None;
        let mut from = 0;
        // In all of the text: a cutter that ends after `settled` may contain a shorter one that ends before
        // it.
        while let Some(CutterMatch { end, kind, .. }) = self.find(text, from)
            && end <= settled
        {
            last = Some(Cut { at: end, ends_document: kind == Boundary::Separator });
            from = end;
        }
        last
    }

    /// Returns the end of the first cutter, at or after `earliest`, that counts as one whatever precedes the
    /// text: no other cutter overlaps it from the left. The text may be cut there.
    pub fn first_lone_end(&self, text: &[u8], earliest: usize) -> Option<Cut> {
        let mut from = 0;
        while let Some(CutterMatch { start, end, kind, .. }) = self.find(text, from) {
            // Anything that could overlap it must be visible.
            if end >= earliest && start >= self.longest && !self.straddle(text, start) {
                return Some(Cut { at: end, ends_document: kind == Boundary::Separator });
            }
            from = end;
        }
        None
    }

    /// Returns whether an occurrence of a cutter begins before `at` and ends after it.
    fn straddle(&self, text: &[u8], at: usize) -> bool {
        self.all.iter().any(|cutter| {
            let first = (at + 1).saturating_sub(cutter.len());
            (first..at).any(|start| text[start..].starts_with(cutter))
        })
    }
}

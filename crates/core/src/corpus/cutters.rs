//! What cuts text before it is split: special tokens and the separator of documents.
//!
//! Of several that match, the one that begins first wins; of those, the longest.

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memmem;

use crate::Result;

/// What stands behind a stretch of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    Special,
    Separator,
    /// The text is over; the document may go on in the next block.
    End,
}

/// A place where text may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub at: usize,
    /// Whether a document ends here, and not only a stretch of its text.
    pub ends_document: bool,
}

/// A cutter in a text.
pub struct CutterMatch {
    pub start: usize,
    pub end: usize,
    pub kind: Boundary,
    /// Which of the special tokens it is, where it is one.
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
    pub fn new(special_tokens: &[String], separator: Option<&str>) -> Cutters {
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
            many => Search::Many(
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(many)
                    .expect("a few short strings make an automaton"),
            ),
        };
        let longest = all.iter().map(Vec::len).max().unwrap_or(0);
        Cutters { all, separator, search, longest }
    }

    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The next cutter in `text[from..]`.
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

    /// Calls `visit(text, what stands behind it)` for every stretch of text between cutters, also empty ones.
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

    /// Whether `at` lies inside or right behind an occurrence of a cutter, be it one that another overlaps.
    pub fn cover(&self, text: &[u8], at: usize) -> bool {
        self.all.iter().any(|cutter| {
            let first = at.saturating_sub(cutter.len());
            (first..at).any(|start| text[start..].starts_with(cutter))
        })
    }

    /// Where the first cutter begins, or the end of the text.
    pub fn first_start(&self, text: &[u8]) -> usize {
        self.find(text, 0).map_or(text.len(), |found| found.start)
    }

    /// The end of the last cutter that ends in `text[..settled]`, behind which a cut is right.
    pub fn last_end(&self, text: &[u8], settled: usize) -> Option<Cut> {
        // From the left, because overlapping ones are told apart only that way; a block begins behind a cut.
        let mut last = None;
        let mut from = 0;
        // In all of the text: what ends behind `settled` may hold a shorter one that ends before it.
        while let Some(CutterMatch { end, kind, .. }) = self.find(text, from)
            && end <= settled
        {
            last = Some(Cut { at: end, ends_document: kind == Boundary::Separator });
            from = end;
        }
        last
    }

    /// The end, not before `earliest`, of the first cutter that is one whatever stands before the text: no
    /// other one reaches into it from the left. Behind it a cut is right.
    pub fn first_lone_end(&self, text: &[u8], earliest: usize) -> Option<Cut> {
        let mut from = 0;
        while let Some(CutterMatch { start, end, kind, .. }) = self.find(text, from) {
            // What could reach into it must be in sight.
            if end >= earliest && start >= self.longest && !self.straddle(text, start) {
                return Some(Cut { at: end, ends_document: kind == Boundary::Separator });
            }
            from = end;
        }
        None
    }

    /// Whether an occurrence of a cutter begins before `at` and ends behind it.
    fn straddle(&self, text: &[u8], at: usize) -> bool {
        self.all.iter().any(|cutter| {
            let first = (at + 1).saturating_sub(cutter.len());
            (first..at).any(|start| text[start..].starts_with(cutter))
        })
    }
}

//! Added tokens: those that are found in the text itself, before anything is merged.
//!
//! The contract: the segments are those of tokenizers 0.23.3. A token with `normalized` is found in the
//! normalized text, by its normalized content; the others in the text as given. Of tokens that begin at the
//! same byte the longest is found, and the search resumes after it. Then a found token is passed over, so that
//! its text is plain, if the caller does not want it or if it must be a word of its own (`single_word`) and is
//! not. `lstrip` and `rstrip` extend it over white space, which may overlap with the token after it: that
//! token is reported all the same.
//!
//! Cost: one pass over the text in linear time (`finder.rs`, with an automaton of Aho and Corasick, 1975);
//! white space is read once.

mod apart;
mod finder;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::OnceLock;

use self::apart::Apart;
use self::finder::{Finder, Found};
use crate::Result;

/// A token that is found in the text itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedToken {
    pub id: u32,
    pub content: String,
    /// Whether it is found only where the caller allows it, and can be left out when decoding.
    pub special: bool,
    /// Whether it includes the white space before it.
    pub lstrip: bool,
    /// Whether it includes the white space after it.
    pub rstrip: bool,
    /// Whether it is found only where no word character is next to it.
    pub single_word: bool,
    /// Whether it is found in the normalized text.
    pub normalized: bool,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Plain text, never empty.
    Text(Range<usize>),
    /// An added token, with its id and the text that it covers.
    Token(u32, Range<usize>),
}

/// The added tokens of a tokenizer.
pub struct AddedTokens {
    tokens: Vec<AddedToken>,
    raw: Option<Finder>,
    normalized: Option<Finder>,
    /// Where text can be cut, for both; determined when first needed.
    apart: OnceLock<[Apart; 2]>,
}

impl AddedTokens {
    /// Builds the automata. `normalize` is the tokenizer's normalizer.
    pub fn new(tokens: Vec<AddedToken>, normalize: impl Fn(&str) -> Result<String>) -> Result<AddedTokens> {
        // Special tokens come first, so that they win over other tokens with the same normalized content.
        // Where a content is given twice, the first special token counts; of others, all.
        let mut seen = HashSet::new();
        let (mut order, mut plain) = (Vec::new(), Vec::new());
        for (i, token) in tokens.iter().enumerate().filter(|(_, token)| !token.content.is_empty()) {
            if token.special && seen.insert(&token.content[..]) {
                order.push(i as u32);
            }
        }
        for (i, token) in tokens.iter().enumerate().filter(|(_, token)| !token.content.is_empty()) {
            if !seen.contains(&token.content[..]) {
                plain.push(i as u32);
            }
        }
        order.append(&mut plain);
        // The last token with an id determines how tokens with this id are treated.
        let mut last = HashMap::new();
        for (i, token) in tokens.iter().enumerate() {
            last.insert(token.id, i as u32);
        }
        let finder = |normalized: bool| {
            let (mut patterns, mut token) = (Vec::new(), Vec::new());
            for &i in order.iter().filter(|&&i| tokens[i as usize].normalized == normalized) {
                let AddedToken { content, id, .. } = &tokens[i as usize];
                let content = if normalized { normalize(content)? } else { content.clone() };
                if !content.is_empty() {
                    patterns.push(content);
                    token.push(last[id]);
                }
            }
            Finder::new(patterns, token)
        };
        Ok(AddedTokens { raw: finder(false)?, normalized: finder(true)?, tokens, apart: OnceLock::new() })
    }

    /// Returns the tokens, in the order given.
    pub fn tokens(&self) -> &[AddedToken] {
        &self.tokens
    }

    /// Whether there are tokens to be found in normalized text.
    pub fn any_normalized(&self) -> bool {
        self.normalized.is_some()
    }

    /// Returns the segments of a text as given by the user. Of special tokens only those are found that are
    /// `wanted`; all others are always found.
    pub fn raw<'a, F: Fn(&AddedToken) -> bool>(&'a self, text: &'a str, wanted: F) -> Segments<'a, F> {
        self.segments(self.raw.as_ref(), text, wanted)
    }

    /// Returns the segments of a normalized text, as [`AddedTokens::raw`].
    pub fn normalized<'a, F: Fn(&AddedToken) -> bool>(&'a self, text: &'a str, wanted: F) -> Segments<'a, F> {
        self.segments(self.normalized.as_ref(), text, wanted)
    }

    /// Whether the segments of every text that contains these two characters side by side are those of the part
    /// before and of the part after, each alone, except that text which is before and after the cut is one
    /// segment. `normalized` says whether the text is.
    pub fn keep_apart(&self, before: char, after: char, normalized: bool) -> bool {
        let both = self.apart.get_or_init(|| {
            [&self.raw, &self.normalized].map(|finder| Apart::new(&self.tokens, finder.as_ref()))
        });
        both[usize::from(normalized)].holds(before, after)
    }

    /// Returns the length of the longest token as given, if text can be cut after any of them, as if another one
    /// began there: no token takes the white space after it or looks at what is next to it.
    pub fn longest_lone(&self) -> Option<usize> {
        let tokens = self.tokens.iter().filter(|token| !token.normalized);
        let is_lone = |token: &AddedToken| !token.rstrip && !token.single_word;
        if self.tokens.iter().all(is_lone) { tokens.map(|token| token.content.len()).max() } else { None }
    }

    fn segments<'a, F>(&'a self, finder: Option<&'a Finder>, text: &'a str, wanted: F) -> Segments<'a, F> {
        let found = finder.map(|finder| finder.find_iter(text));
        Segments { tokens: &self.tokens, found, text, wanted, at: 0, next: None, blank: 0..0 }
    }
}

/// An iterator over the segments of a text.
pub struct Segments<'a, F> {
    tokens: &'a [AddedToken],
    found: Option<Found<'a>>,
    text: &'a str,
    wanted: F,
    /// Where the last segment ends.
    at: usize,
    /// The token after the text that was reported last.
    next: Option<(u32, Range<usize>)>,
    /// The white space that was last found after a token, so that it is read once.
    blank: Range<usize>,
}

impl<F: Fn(&AddedToken) -> bool> Segments<'_, F> {
    /// Returns the next token that counts, extended over white space.
    fn find(&mut self) -> Option<(u32, Range<usize>)> {
        let found = self.found.as_mut()?;
        for (at, Range { start, end }) in found {
            let token = &self.tokens[at as usize];
            let (before, after) = (&self.text[..start], &self.text[end..]);
            if token.special && !(self.wanted)(token)
                || token.single_word && (words::ends_with_word(before) || words::begins_with_word(after))
            {
                continue;
            }
            let (mut start, mut end) = (start, end);
            if token.lstrip {
                let from = self.at.min(start);
                start = from + self.text[from..start].trim_end().len();
                // The token before may have taken the white space, and more.
                start = start.max(self.at);
            }
            if token.rstrip {
                if !(self.blank.start <= end && end <= self.blank.end) {
                    self.blank = end..self.text.len() - after.trim_start().len();
                }
                end = self.blank.end;
            }
            // White space that the token before has taken, as part of it or around it.
            if start >= end {
                continue;
            }
            return Some((token.id, start..end));
        }
        None
    }
}

impl<F: Fn(&AddedToken) -> bool> Iterator for Segments<'_, F> {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        let token = self.next.take().or_else(|| {
            self.find().or_else(|| {
                self.found = None;
                None
            })
        });
        let Some((id, range)) = token else {
            let rest = std::mem::replace(&mut self.at, self.text.len())..self.text.len();
            return (!rest.is_empty()).then_some(Segment::Text(rest));
        };
        if self.at < range.start {
            let text = std::mem::replace(&mut self.at, range.start)..range.start;
            self.next = Some((id, range));
            return Some(Segment::Text(text));
        }
        self.at = range.end;
        Some(Segment::Token(id, range))
    }
}

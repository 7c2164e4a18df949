//! Parts: where a text is cut, and the ids of a part.
//!
//! A text is cut between two characters that are a cut (`tokenizer/cuts.rs`). Where there is none for long, it is
//! cut after a special token that the caller allows, or another added token, once so much text follows that the
//! token can neither become a longer one nor be part of another.
//!
//! Cost: the automata of special tokens are built once for an encoder; a cut is mostly found within a word.

use aho_corasick::AhoCorasick;

use super::PART;
use crate::added::{AddedToken, Segment};
use crate::encode::pipeline::Start;
use crate::encode::special::Allowed;
use crate::encode::{Options, special};
use crate::tokenizer::finder;
use crate::{Error, Progress, Result, Tokenizer};

/// A cut in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub at: usize,
    /// The number of ids before it.
    pub ids: usize,
    /// What it is for the text after it.
    pub start: Start,
    /// How many bytes after it prove it.
    pub proof: usize,
}

impl Mark {
    pub fn beginning(start: Start) -> Mark {
        Mark { at: 0, ids: 0, start, proof: 0 }
    }

    /// Returns the same cut in a text that begins with this one.
    pub fn moved_by(self, before: Mark) -> Mark {
        Mark { at: self.at + before.at, ids: self.ids + before.ids, ..self }
    }
}

/// The options of an encoder, compiled.
pub(super) struct Rules {
    pub prepend: Vec<u32>,
    pub append: Vec<u32>,
    allowed: Allowed,
    /// The allowed special tokens with their ids, of a tokenizer without stages.
    wanted: Option<(AhoCorasick, Vec<u32>)>,
    /// The length of the longest token that text can be cut after, if there is one.
    longest: Option<usize>,
    refused: Option<Refused>,
}

/// The strings that a text must not contain.
struct Refused {
    finder: AhoCorasick,
    names: Vec<String>,
    longest: usize,
}

impl Rules {
    pub fn new(tokenizer: &Tokenizer, options: &Options) -> Result<Rules> {
        let Options { allowed, prepend, append, .. } = options;
        let names: Vec<String> =
            special::refused(tokenizer, options).into_iter().map(str::to_string).collect();
        let longest = names.iter().map(String::len).max().unwrap_or(0);
        let refused = finder(&names)?.map(|finder| Refused { finder, names, longest });
        let special = tokenizer.special_tokens().iter().filter(|(token, _)| allowed.holds(token));
        let (names, ids): (Vec<&str>, Vec<u32>) = special.map(|(token, id)| (token.as_str(), *id)).unzip();
        let (wanted, longest) = match tokenizer.pipeline() {
            Some(pipeline) => (None, pipeline.added.longest_lone()),
            None => {
                (finder(&names)?.map(|finder| (finder, ids)), names.iter().map(|token| token.len()).max())
            }
        };
        let (prepend, append) = (prepend.clone(), append.clone());
        Ok(Rules { prepend, append, allowed: allowed.clone(), wanted, longest, refused })
    }

    /// Refuses text that completes a disallowed special token. It is appended to `len` bytes without any, of which
    /// `last` returns the last ones.
    pub fn check(&self, text: &str, len: usize, last: impl FnOnce(usize) -> Vec<u8>) -> Result<()> {
        let Some(Refused { finder, names, .. }) = &self.refused else { return Ok(()) };
        let found = |found: aho_corasick::Match, before: usize| {
            Err(Error::SpecialInText { token: names[found.pattern()].clone(), at: before + found.start() })
        };
        let most = self.longest_refused();
        let mut joint = if len == 0 { Vec::new() } else { last(most) };
        let tail = joint.len();
        if tail > 0 {
            joint.extend_from_slice(&text.as_bytes()[..text.len().min(most)]);
            if let Some(across) = finder.find(&joint).filter(|across| across.start() < tail) {
                return found(across, len - tail);
            }
        }
        finder.find(text).map_or(Ok(()), |inside| found(inside, len))
    }

    /// Returns how many of the last bytes of a text may be part of a disallowed special token.
    pub fn longest_refused(&self) -> usize {
        self.refused.as_ref().map_or(0, |refused| refused.longest.saturating_sub(1))
    }

    /// Appends the ids of `text` from the cut `from` on, and reports the cuts on the way, in order. Those before
    /// `known` were reported earlier.
    pub fn encode(
        &self,
        tokenizer: &Tokenizer,
        text: &str,
        known: usize,
        start: Start,
        progress: Option<&Progress>,
        ids: &mut Vec<u32>,
    ) -> Result<Vec<Mark>> {
        let mut marks = Vec::new();
        let mut last = Mark::beginning(start);
        let mut reach = |mark: Mark, ids: &mut Vec<u32>| {
            self.encode_part(tokenizer, &text[last.at..mark.at], last.start, progress, ids)?;
            last = Mark { ids: ids.len(), ..mark };
            marks.push(last);
            Ok::<usize, Error>(last.at)
        };
        let mut at = 0;
        while let Some(mark) = first_cut(tokenizer, text, known.max(at + PART)) {
            at = reach(mark, ids)?;
        }
        if let Some(mark) = last_cut(tokenizer, text, known.max(at + 1)) {
            at = reach(mark, ids)?;
        }
        if text.len() - at >= PART {
            for mark in self.ends_of_tokens(tokenizer, text, at) {
                reach(mark, ids)?;
            }
        }
        self.encode_part(tokenizer, &text[last.at..], last.start, progress, ids)?;
        Ok(marks)
    }

    /// Appends the ids of a part of a text.
    pub fn encode_part(
        &self,
        tokenizer: &Tokenizer,
        text: &str,
        start: Start,
        progress: Option<&Progress>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        progress.map_or(Ok(()), Progress::check)?;
        if let Some(pipeline) = tokenizer.pipeline() {
            return tokenizer.encode_stages_from(pipeline, text, start, &self.allowed, progress, ids);
        }
        let mut from = 0;
        if let Some((finder, special_ids)) = &self.wanted {
            for found in finder.find_iter(text) {
                tokenizer.encode_while(&text[from..found.start()], progress, ids)?;
                ids.push(special_ids[found.pattern()]);
                from = found.end();
            }
        }
        tokenizer.encode_while(&text[from..], progress, ids)
    }

    /// Returns the ends of added tokens after `at`, which is a cut: some that are far enough apart, and the last.
    pub fn ends_of_tokens(&self, tokenizer: &Tokenizer, text: &str, at: usize) -> Vec<Mark> {
        let Some(longest) = self.longest else { return Vec::new() };
        let rest = &text[at..];
        // Up to here all that could be a longer token, or part of one, is known.
        let settled = rest.len().saturating_sub(longest);
        let ends: Vec<usize> = match (tokenizer.pipeline(), &self.wanted) {
            (Some(pipeline), _) => {
                let wanted = |token: &AddedToken| self.allowed.holds(&token.content);
                let end = |segment| match segment {
                    Segment::Token(_, range) => Some(range.end),
                    Segment::Text(_) => None,
                };
                pipeline.added.raw(rest, wanted).filter_map(end).take_while(|&end| end <= settled).collect()
            }
            (None, Some((finder, _))) => {
                let ends = finder.find_iter(rest).map(|found| found.end());
                ends.take_while(|&end| end <= settled).collect()
            }
            (None, None) => Vec::new(),
        };
        let mut marks: Vec<Mark> = Vec::new();
        for (i, &end) in ends.iter().enumerate() {
            let before = marks.last().map_or(0, |mark| mark.at - at);
            if end - before >= PART || i + 1 == ends.len() {
                marks.push(Mark { at: at + end, ids: 0, start: Start::Segment, proof: longest });
            }
        }
        marks
    }
}

/// Returns the first cut at or after `from`, which is not 0.
pub(super) fn first_cut(tokenizer: &Tokenizer, text: &str, from: usize) -> Option<Mark> {
    if from >= text.len() {
        return None;
    }
    let from = text.ceil_char_boundary(from);
    let mut before = text[..from].chars().next_back()?;
    for (i, after) in text[from..].char_indices() {
        if tokenizer.is_cut(before, after) {
            return Some(cut_at(from + i, after));
        }
        before = after;
    }
    None
}

/// Returns the last cut at or after `from`, which is not 0.
pub(super) fn last_cut(tokenizer: &Tokenizer, text: &str, from: usize) -> Option<Mark> {
    let mut chars = text.char_indices().rev();
    let (mut at, mut after) = chars.next()?;
    for (i, before) in chars {
        if at < from {
            return None;
        }
        if tokenizer.is_cut(before, after) {
            return Some(cut_at(at, after));
        }
        (at, after) = (i, before);
    }
    None
}

fn cut_at(at: usize, after: char) -> Mark {
    Mark { at, ids: 0, start: Start::Cut, proof: after.len_utf8() }
}

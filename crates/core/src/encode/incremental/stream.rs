//! Stream: the ids of a text that arrives in chunks, returned as soon as no continuation changes them.
//!
//! The concatenation of what is returned equals the ids of the whole text. Only the text after the last cut is kept,
//! so that memory is bounded by the longest stretch without a cut, mostly a word or two, and by the longest chunk.
//!
//! Cost: that of encoding. When it loses: as `Incremental`; a text without cuts is kept whole until its end.

use std::sync::Arc;

use super::parts::{Rules, last_cut};
use super::{PART, reserve_text};
use crate::encode::Options;
use crate::encode::pipeline::Start;
use crate::{Progress, Result, Tokenizer};

/// An encoder for the chunks of a text.
pub struct StreamEncoder {
    tokenizer: Arc<Tokenizer>,
    rules: Rules,
    /// The text after the last cut.
    rest: String,
    /// What the last cut is for it.
    start: Start,
    /// How long `rest` must be before it is searched for special tokens to cut after, which reads all of it.
    search_at: usize,
    /// How many bytes came before `rest`, and the last of them, in which a disallowed special token may begin.
    passed: usize,
    tail: Vec<u8>,
    /// Whether the ids of `prepend` were returned.
    begun: bool,
}

impl StreamEncoder {
    pub fn new(tokenizer: Arc<Tokenizer>, options: &Options) -> Result<StreamEncoder> {
        Ok(StreamEncoder {
            rules: Rules::new(&tokenizer, options)?,
            tokenizer,
            rest: String::new(),
            start: Start::Text,
            search_at: PART,
            passed: 0,
            tail: Vec::new(),
            begun: false,
        })
    }

    /// Appends text; returns the ids that are now settled. An error is that of encoding the whole text, and changes
    /// nothing.
    pub fn push(&mut self, text: &str, progress: Option<&Progress>) -> Result<Vec<u32>> {
        let known = self.rest.len();
        self.rules.check(text, self.passed + known, |most| last_bytes(&self.tail, &self.rest, most))?;
        reserve_text(&mut self.rest, text.len())?;
        self.rest.push_str(text);
        match self.push_settled(known, progress) {
            Ok(ids) => Ok(ids),
            Err(error) => {
                self.rest.truncate(known);
                Err(error)
            }
        }
    }

    /// Returns the ids up to the last cut in `rest`, of which the first `known` bytes have none.
    fn push_settled(&mut self, known: usize, progress: Option<&Progress>) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        let mut mark = last_cut(&self.tokenizer, &self.rest, known.max(1));
        if mark.is_none() && self.rest.len() >= self.search_at {
            mark = self.rules.ends_of_tokens(&self.tokenizer, &self.rest, 0).pop();
            // Twice as much next time, so that a text without cuts is not read again and again.
            self.search_at = 2 * self.rest.len();
        }
        if !self.begun {
            ids.extend_from_slice(&self.rules.prepend);
        }
        if let Some(mark) = mark {
            self.rules.encode_part(&self.tokenizer, &self.rest[..mark.at], self.start, progress, &mut ids)?;
            self.tail = last_bytes(&self.tail, &self.rest[..mark.at], self.rules.longest_refused());
            self.passed += mark.at;
            self.start = mark.start;
            self.rest.drain(..mark.at);
            // A long chunk leaves little behind.
            self.rest.shrink_to(2 * (self.rest.len() + PART));
            self.search_at = PART;
        }
        self.begun = true;
        Ok(ids)
    }

    /// Ends the text; returns the ids that are left, and is as new.
    pub fn finish(&mut self, progress: Option<&Progress>) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        if !self.begun {
            ids.extend_from_slice(&self.rules.prepend);
        }
        self.rules.encode_part(&self.tokenizer, &self.rest, self.start, progress, &mut ids)?;
        ids.extend_from_slice(&self.rules.append);
        (self.rest, self.tail) = (String::new(), Vec::new());
        (self.start, self.search_at, self.passed, self.begun) = (Start::Text, PART, 0, false);
        Ok(ids)
    }

    /// Returns the length of the text that is kept, in bytes.
    pub fn pending(&self) -> usize {
        self.rest.len()
    }
}

/// Returns the last bytes of two texts in a row, at most `most`.
fn last_bytes(before: &[u8], text: &str, most: usize) -> Vec<u8> {
    let text = &text.as_bytes()[text.len().saturating_sub(most)..];
    let before = &before[before.len().saturating_sub(most - text.len())..];
    [before, text].concat()
}

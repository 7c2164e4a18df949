//! Incremental: the ids of a text that grows, shrinks and forks, without encoding it again.
//!
//! The contract: after any calls, the ids are those of [`Tokenizer::encode_with`] on the whole text, for every
//! tokenizer, and an operation that fails changes nothing.
//!
//! The text is a list of parts that end at *cuts* (`tokenizer/cuts.rs`), where what is before and what is after is
//! encoded independently, whatever follows; and an open part, of which the ids up to its last cut are settled.
//! Appending encodes the open part from that cut on, which is the new text and mostly less than a word; if the open
//! part becomes long, it is closed at a cut. Truncating returns to the last part that is proven by the text that is
//! left. Closed parts never change, so forks share them.
//!
//! | operation | cost |
//! |---|---|
//! | `append` | encoding what is appended and what is after the last cut |
//! | `truncate` | encoding one part, about [`PART`] bytes |
//! | `clone` | a copy of the open part; the first part that is closed afterwards copies the list, 16 bytes per part |
//! | `count` | nothing |
//! | `ids`, `text` | a copy |
//!
//! When it loses: on text without cuts (a million letters without a space), and with tokenizers for which none are
//! proven: patterns that look behind, or normalizers that replace by a general pattern. Then parts end after
//! special tokens, if the text has any; otherwise every append encodes all of the text.
//!
//! | module | what it holds |
//! |---|---|
//! | `parts` | where a text is cut, and the ids of a part |
//! | `prefixes` | whether a text fits, and the number of ids of its prefixes |
//! | `stream` | chunks of a text that is not kept |

mod parts;
mod prefixes;
mod stream;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use self::parts::{Mark, Rules};
pub use self::stream::StreamEncoder;
use super::Options;
use super::pipeline::Start;
use crate::memory::reserve;
use crate::{Error, Progress, Result, Tokenizer};

/// How long the open part gets before it is closed, in bytes. (Short in tests, so that every text has parts.)
const PART: usize = if cfg!(test) { 24 } else { 2 << 10 };

/// An encoder for a text that grows. Clones share what they have in common.
#[derive(Clone)]
pub struct Incremental {
    tokenizer: Arc<Tokenizer>,
    rules: Arc<Rules>,
    closed: Arc<Vec<Closed>>,
    open: Open,
}

/// A part that ends at a cut.
#[derive(Clone)]
struct Closed {
    part: Arc<Part>,
    /// How much there is up to the end of this part.
    end: Size,
    /// How many bytes after its end prove the cut.
    proof: usize,
}

struct Part {
    text: Box<str>,
    ids: Box<[u32]>,
    start: Start,
}

/// The rest of the text.
#[derive(Clone)]
struct Open {
    text: String,
    chars: usize,
    ids: Vec<u32>,
    start: Start,
    /// The last cut in `text`, or its beginning.
    settled: Mark,
}

#[derive(Clone, Copy, Default)]
struct Size {
    bytes: usize,
    chars: usize,
    ids: usize,
}

impl Open {
    fn new(start: Start) -> Open {
        Open { text: String::new(), chars: 0, ids: Vec::new(), start, settled: Mark::beginning(start) }
    }
}

impl Incremental {
    /// Returns an encoder without text. The ids of `options.append` are not added: the text has no end.
    pub fn new(tokenizer: Arc<Tokenizer>, options: &Options) -> Result<Incremental> {
        let rules = Arc::new(Rules::new(&tokenizer, options)?);
        Ok(Incremental { tokenizer, rules, closed: Arc::default(), open: Open::new(Start::Text) })
    }

    /// Appends text; returns how many of the first ids are the same as before.
    ///
    /// An error is that of encoding the whole text, and changes nothing.
    pub fn append(&mut self, text: &str, progress: Option<&Progress>) -> Result<usize> {
        let before = self.closed_size();
        self.rules.check(text, before.bytes + self.open.text.len(), |most| self.last_bytes(most))?;
        // Encoded apart, and taken over as a whole: even where memory runs out, nothing has changed.
        let settled = self.open.settled;
        let rest = &self.open.text[settled.at..];
        let mut fresh = String::new();
        reserve_text(&mut fresh, rest.len() + text.len())?;
        fresh.push_str(rest);
        fresh.push_str(text);
        let mut ids = Vec::new();
        let marks =
            self.rules.encode(&self.tokenizer, &fresh, rest.len(), settled.start, progress, &mut ids)?;
        reserve_text(&mut self.open.text, text.len())?;
        reserve(&mut self.open.ids, ids.len(), "the ids")?;

        let same = self.open.ids[settled.ids..].iter().zip(&ids).take_while(|(old, new)| old == new).count();
        self.open.text.push_str(text);
        self.open.chars += text.chars().count();
        self.open.ids.truncate(settled.ids);
        self.open.ids.extend_from_slice(&ids);
        let marks: Vec<Mark> =
            [settled].into_iter().chain(marks.iter().map(|mark| mark.moved_by(settled))).collect();
        self.close(&marks);
        Ok(self.rules.prepend.len() + before.ids + settled.ids + same)
    }

    /// Closes parts of the open text at some of its cuts, which are in order.
    fn close(&mut self, marks: &[Mark]) {
        let mut from = Mark::beginning(self.open.start);
        for mark in marks {
            if mark.at - from.at >= PART {
                let Open { text, ids, .. } = &self.open;
                let text = &text[from.at..mark.at];
                let part = Part { text: text.into(), ids: ids[from.ids..mark.ids].into(), start: from.start };
                let size = self.closed_size();
                let end = Size {
                    bytes: size.bytes + text.len(),
                    chars: size.chars + text.chars().count(),
                    ids: size.ids + part.ids.len(),
                };
                let closed = Closed { part: Arc::new(part), end, proof: mark.proof };
                Arc::make_mut(&mut self.closed).push(closed);
                from = *mark;
            }
        }
        let last = marks.last().copied().unwrap_or(from);
        let open = &mut self.open;
        open.chars -= open.text[..from.at].chars().count();
        open.text.drain(..from.at);
        open.ids.drain(..from.ids);
        open.start = from.start;
        open.settled = Mark { at: last.at - from.at, ids: last.ids - from.ids, ..last };
        // A long text leaves little behind.
        if open.text.capacity() > 4 * (open.text.len() + PART) {
            open.text.shrink_to(2 * PART);
            open.ids.shrink_to(PART);
        }
    }

    /// Keeps the first `chars` characters of the text; returns how many of the first ids are the same as before.
    ///
    /// An error is that of encoding the shorter text, and changes nothing.
    pub fn truncate(&mut self, chars: usize, progress: Option<&Progress>) -> Result<usize> {
        let size = self.closed_size();
        if chars >= size.chars + self.open.chars {
            return Ok(self.count());
        }
        // The part in which the text will end.
        let last = self.closed.partition_point(|part| part.end.chars <= chars);
        let before = self.size_of(last);
        let text = self.closed.get(last).map_or(&self.open.text[..], |closed| &closed.part.text);
        let total = before.bytes + offset_of(text, chars - before.chars);
        // A cut must be proven by the text that is left, if only by the character after it.
        let is_proven = |closed: &Closed| closed.end.bytes + closed.proof <= total;
        let keep = self.closed[..last].iter().rposition(is_proven).map_or(0, |at| at + 1);

        let kept = self.size_of(keep);
        let at = total - kept.bytes;
        let settled = self.open.settled;
        let is_open = keep == self.closed.len();
        let start = self.closed.get(keep).map_or(self.open.start, |closed| closed.part.start);
        let mut open = Open::new(start);
        if is_open && settled.at + settled.proof <= at {
            open.ids.extend_from_slice(&self.open.ids[..settled.ids]);
            open.settled = settled;
        }
        let parts =
            self.closed[keep..].iter().map(|closed| &closed.part.text[..]).chain([&self.open.text[..]]);
        for part in parts {
            open.text.push_str(&part[..part.len().min(at - open.text.len())]);
        }
        open.chars = open.text.chars().count();
        let from = open.settled;
        let mut ids = Vec::new();
        let rest = &open.text[from.at..];
        let marks = self.rules.encode(&self.tokenizer, rest, 0, from.start, progress, &mut ids)?;
        open.ids.append(&mut ids);

        let mut old = self.ids_from(kept.ids);
        let same = open.ids.iter().take_while(|id| old.next() == Some(**id)).count();
        drop(old);
        if !is_open {
            Arc::make_mut(&mut self.closed).truncate(keep);
        }
        self.open = open;
        let marks: Vec<Mark> =
            [from].into_iter().chain(marks.iter().map(|mark| mark.moved_by(from))).collect();
        self.close(&marks);
        Ok(self.rules.prepend.len() + kept.ids + same)
    }

    /// Returns the number of ids.
    pub fn count(&self) -> usize {
        self.rules.prepend.len() + self.closed_size().ids + self.open.ids.len()
    }

    /// Returns the length of the text in characters.
    pub fn chars(&self) -> usize {
        self.closed_size().chars + self.open.chars
    }

    /// Returns a copy of some of the ids; the range ends at [`Incremental::count`] at the latest.
    pub fn ids(&self, range: Range<usize>) -> Result<Vec<u32>> {
        let end = range.end.min(self.count());
        let range = range.start.min(end)..end;
        let mut ids = Vec::new();
        reserve(&mut ids, range.len(), "the ids")?;
        let before = self.rules.prepend.len();
        if range.start < range.end.min(before) {
            ids.extend_from_slice(&self.rules.prepend[range.start..range.end.min(before)]);
        }
        let (start, end) = (range.start.saturating_sub(before), range.end.saturating_sub(before));
        let mut at = self.closed.partition_point(|part| part.end.ids <= start);
        let mut from = self.closed[..at].last().map_or(0, |part| part.end.ids);
        while start < end && from < end {
            let slice = self.closed.get(at).map_or(&self.open.ids[..], |closed| &closed.part.ids);
            ids.extend_from_slice(&slice[start.saturating_sub(from)..slice.len().min(end - from)]);
            if at == self.closed.len() {
                break;
            }
            (at, from) = (at + 1, from + slice.len());
        }
        Ok(ids)
    }

    /// Returns a copy of the text.
    pub fn text(&self) -> Result<String> {
        let mut text = Vec::new();
        reserve(&mut text, self.closed_size().bytes + self.open.text.len(), "the text")?;
        self.closed.iter().for_each(|closed| text.extend_from_slice(closed.part.text.as_bytes()));
        text.extend_from_slice(self.open.text.as_bytes());
        Ok(String::from_utf8(text).expect("parts end between characters"))
    }

    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        &self.tokenizer
    }

    fn closed_size(&self) -> Size {
        self.size_of(self.closed.len())
    }

    /// Returns the size of the first parts.
    fn size_of(&self, parts: usize) -> Size {
        self.closed[..parts].last().map_or(Size::default(), |closed| closed.end)
    }

    /// Returns the ids of the text from `start` on, where a part begins.
    fn ids_from(&self, start: usize) -> impl Iterator<Item = u32> {
        let first = self.closed.partition_point(|part| part.end.ids <= start);
        let closed = self.closed[first..].iter().flat_map(|closed| closed.part.ids.iter());
        closed.chain(&self.open.ids).copied()
    }

    /// Returns the last bytes of the text, at most `most`.
    fn last_bytes(&self, most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let closed = self.closed.iter().rev().map(|closed| &closed.part.text[..]);
        for text in [&self.open.text[..]].into_iter().chain(closed) {
            let from = text.len().saturating_sub(most - bytes.len());
            bytes.splice(..0, text.as_bytes()[from..].iter().copied());
            if bytes.len() == most {
                break;
            }
        }
        bytes
    }
}

fn reserve_text(text: &mut String, more: usize) -> Result<()> {
    text.try_reserve(more).map_err(|_| Error::OutOfMemory { what: "the text", bytes: more })
}

/// Returns where a character begins, or the end of the text.
fn offset_of(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

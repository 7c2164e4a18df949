//! Stream: a sorted source, decoded some way ahead.
//!
//! What is merged ([`Front`]) is separate from what is being read ([`Reader`]), so that both go on at the same
//! time. An entry takes 32 bytes; only long pre-tokens, which are few, have their text elsewhere.

use std::cmp::Ordering;

use super::super::file::CountsReader;
use super::super::sorted::Sorted;
use super::race::Span;
use crate::Result;
use crate::key::LONG;

/// How many bytes of long pre-tokens are read at a time.
const LONG_BYTES: usize = if cfg!(test) { 64 } else { 1 << 20 };

/// Pre-tokens in ascending order, from a file or from memory.
pub enum SortedSource<'a> {
    File(Box<CountsReader>),
    Table(Box<Sorted<'a>>),
}

impl SortedSource<'_> {
    /// Returns the number of pre-tokens, before the first was taken.
    pub fn len(&self) -> u64 {
        match self {
            SortedSource::File(reader) => reader.totals().pretokens,
            SortedSource::Table(sorted) => sorted.len() as u64,
        }
    }

    /// Returns the order, the text if it is long, and the count of the next pre-token.
    #[inline]
    fn next(&mut self) -> Result<Option<(u128, &[u8], u64)>> {
        match self {
            SortedSource::File(reader) => match reader.advance_by_order()? {
                Some(order) => Ok(Some((order, reader.long_pretoken(), reader.count()))),
                None => Ok(None),
            },
            SortedSource::Table(sorted) => {
                let any = sorted.advance();
                Ok(any.then(|| (sorted.order(), sorted.pretoken(), sorted.count())))
            }
        }
    }
}

#[derive(Clone, Copy)]
pub struct Entry {
    pub order: u128,
    pub count: u64,
    /// Where the text of a long pre-token begins, among all that the source has had.
    start: u64,
}

/// Some pre-tokens of a source.
#[derive(Default)]
pub struct Entries {
    list: Vec<Entry>,
    /// The texts of long pre-tokens, each after its length.
    texts: Vec<u8>,
    /// How many bytes of texts came before.
    base: u64,
}

impl Entries {
    fn push(&mut self, order: u128, pretoken: &[u8], count: u64) {
        let start = self.base + self.texts.len() as u64;
        if order & 0xFF == LONG {
            self.texts.extend_from_slice(&(pretoken.len() as u64).to_le_bytes());
            self.texts.extend_from_slice(pretoken);
        }
        self.list.push(Entry { order, count, start });
    }
}

/// Returns the text of a long pre-token.
pub fn long_text<'t>(texts: &'t [u8], base: u64, entry: &Entry) -> &'t [u8] {
    let (len, rest) = texts[(entry.start - base) as usize..].split_at(8);
    &rest[..u64::from_le_bytes(len.try_into().expect("8 bytes")) as usize]
}

/// A source, and what was read of it since the last round.
pub struct Reader<'a> {
    source: SortedSource<'a>,
    ahead: Entries,
    wanted: usize,
    at_end: bool,
    total: u128,
}

impl<'a> Reader<'a> {
    /// Wants the first `wanted` pre-tokens.
    pub fn new(source: SortedSource<'a>, wanted: usize) -> Reader<'a> {
        Reader { source, ahead: Entries::default(), wanted, at_end: false, total: 0 }
    }

    /// Wants `more` pre-tokens.
    pub fn want(&mut self, more: usize) {
        self.wanted += more;
    }

    pub fn wants(&self) -> bool {
        self.wanted > 0 && !self.at_end
    }

    /// Reads what is wanted, or less if that has much text.
    pub fn read(&mut self) -> Result<()> {
        self.ahead.list.reserve(self.wanted);
        while self.wanted > 0 && self.ahead.texts.len() < LONG_BYTES {
            let Some((order, pretoken, count)) = self.source.next()? else {
                self.at_end = true;
                break;
            };
            self.ahead.push(order, pretoken, count);
            self.total += count as u128;
            self.wanted -= 1;
        }
        Ok(())
    }

    /// Returns whether all was read and handed on.
    pub fn is_done(&self) -> bool {
        self.at_end && self.ahead.list.is_empty()
    }

    /// Returns the sum of all counts that were read.
    pub fn total(&self) -> u128 {
        self.total
    }
}

/// A pre-token to compare with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRef<'f> {
    order: u128,
    /// Empty unless it is long.
    text: &'f [u8],
}

/// The pre-tokens of a source that can be merged; those before `start` are.
#[derive(Default)]
pub struct Front {
    entries: Entries,
    start: usize,
}

impl Front {
    /// Takes what the reader has read, and drops what was merged.
    pub fn take(&mut self, reader: &mut Reader<'_>) {
        let Entries { list, texts, base } = &mut self.entries;
        list.drain(..self.start);
        self.start = 0;
        let kept = list.first().map_or(*base + texts.len() as u64, |entry| entry.start);
        texts.drain(..(kept - *base) as usize);
        *base = kept;
        list.append(&mut reader.ahead.list);
        texts.append(&mut reader.ahead.texts);
        reader.ahead.base = *base + texts.len() as u64;
    }

    pub fn start(&self) -> usize {
        self.start
    }

    pub fn advance_to(&mut self, start: usize) {
        self.start = start;
    }

    /// Returns the number of pre-tokens, including those that are merged.
    pub fn len(&self) -> usize {
        self.entries.list.len()
    }

    pub fn key(&self, nth: usize) -> KeyRef<'_> {
        let entry = &self.entries.list[nth];
        let is_long = entry.order & 0xFF == LONG;
        let text = if is_long { long_text(&self.entries.texts, self.entries.base, entry) } else { &[] };
        KeyRef { order: entry.order, text }
    }

    /// Returns where the pre-tokens greater than `key` begin in `start..end`.
    pub fn after(&self, start: usize, end: usize, key: KeyRef<'_>) -> usize {
        let (mut low, mut high) = (start, end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle).cmp(&key) == Ordering::Greater {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    pub fn span(&self, start: usize, end: usize) -> Span<'_> {
        Span { list: &self.entries.list[start..end], texts: &self.entries.texts, base: self.entries.base }
    }
}

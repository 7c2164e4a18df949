//! Block: some text of a corpus, and where in the corpus it is.

use super::records::{DocumentSpan, Records};
use crate::Result;

/// How much text a block usually holds. (Little in tests, so that every document is cut.)
pub const BLOCK: usize = if cfg!(test) { 16 } else { 1 << 20 };

/// The limit of records, and of stretches of text without a safe cut: offsets have 32 bits.
pub const LONGEST: usize = if cfg!(test) { 1 << 16 } else { u32::MAX as usize };

/// A position in a corpus. Positions are ordered as the corpus is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// How many inputs (files, streams and documents in memory) come before this one.
    pub part: u64,
    /// How many bytes of the input come before, decompressed.
    pub offset: u64,
    /// If a record begins at `offset`: how many bytes of its text come before.
    pub within: u64,
}

impl Position {
    /// After the end of any corpus.
    pub const END: Position = Position { part: u64::MAX, offset: u64::MAX, within: u64::MAX };
}

/// Some text: whole documents, or a part of one.
#[derive(Default)]
pub struct Block {
    /// The text as it was read: plain, or in records if `records` is set.
    pub(super) text: Vec<u8>,
    /// Where `text` begins.
    pub position: Position,
    /// Where the next block begins.
    pub next: Position,
    /// Whether a document begins where `text` begins.
    pub starts_document: bool,
    /// The ends of the pre-tokens, if the reader had to split this block itself.
    pub ends: Option<Vec<u32>>,
    pub(super) records: Option<Records>,
    /// The texts of the records, one after the other.
    decoded: Vec<u8>,
    documents: Vec<DocumentSpan>,
}

/// A document in a block, or the part of it that the block holds.
pub struct BlockPart<'a> {
    pub text: &'a [u8],
    pub position: Position,
    pub starts_document: bool,
    /// The position after the text, if a document is known to end there.
    pub ends_document: Option<Position>,
}

impl BlockPart<'_> {
    /// Returns the position after the first `len` bytes of the text.
    pub fn position_after(&self, len: usize) -> Position {
        let Position { part, offset, within } = self.position;
        if self.ends_document.is_some() {
            Position { part, offset, within: within + len as u64 }
        } else {
            Position { part, offset: offset + len as u64, within }
        }
    }
}

impl Block {
    /// Returns how many bytes were read for the block.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    /// Extracts the documents from the records, if the block holds records. Done by the workers and not by
    /// the reader, so that it runs in parallel.
    pub fn decode(&mut self) -> Result<()> {
        self.decoded.clear();
        self.documents.clear();
        if let Some(records) = &self.records {
            return records.decode(&self.text, self.position, &mut self.decoded, &mut self.documents);
        }
        let whole = DocumentSpan { start: 0, end: self.text.len(), position: self.position, next: self.next };
        self.documents.push(whole);
        Ok(())
    }

    /// Iterates over the documents that [`Block::decode`] has found.
    pub fn parts(&self) -> impl Iterator<Item = BlockPart<'_>> {
        let in_records = self.records.is_some();
        let text = if in_records { &self.decoded } else { &self.text };
        self.documents.iter().map(move |&DocumentSpan { start, end, position, next }| BlockPart {
            text: &text[start..end],
            position,
            starts_document: self.starts_document,
            ends_document: in_records.then_some(next),
        })
    }
}

//! Encoded: the ids of some blocks, and the documents that end among them.

use std::ops::Range;

use std::sync::Arc;

use super::shard::Tally;
use crate::corpus::{Block, Boundary, Cutters, Position};
use crate::{Progress, Result, Tokenizer};

/// What encodes documents: a tokenizer, and what to do at the ends of documents and at special tokens.
pub struct DocumentEncoder {
    pub tokenizer: Arc<Tokenizer>,
    /// The allowed special tokens and the separator.
    pub cutters: Cutters,
    /// The ids of the allowed special tokens.
    pub allowed_ids: Vec<u32>,
    pub prepend: Option<u32>,
    pub append: Option<u32>,
}

impl DocumentEncoder {
    /// Encodes blocks that follow each other, of which there is at least one.
    pub fn encode(&self, blocks: &mut [Block], encoded: &mut Encoded, progress: &Progress) -> Result<()> {
        let DocumentEncoder { tokenizer, cutters, allowed_ids, prepend, append } = self;
        let (prepend, append) = (*prepend, *append);
        encoded.begin(&blocks[0]);
        for block in &mut *blocks {
            block.decode()?;
        }
        let parts = blocks.iter().flat_map(|block| block.parts().map(move |part| (part, &block.ends)));
        for (part, ends) in parts {
            progress.check()?;
            let text = part.text;
            if part.starts_document {
                encoded.end_document(append, part.position);
            }
            if let Some(ends) = ends {
                encoded.begin_document(prepend);
                let text = std::str::from_utf8(text).expect("only text was split");
                tokenizer.encode_pretokens(text, 0, ends, &mut encoded.ids);
                encoded.bytes += text.len() as u64;
                continue;
            }
            let mut from = 0;
            while let Some(found) = cutters.find(text, from) {
                encoded.text(&text[from..found.start], tokenizer, prepend)?;
                match found.kind {
                    Boundary::Separator => {
                        encoded.end_document(append, part.position_after(found.end));
                    }
                    _ => {
                        encoded.begin_document(prepend);
                        encoded.ids.push(allowed_ids[found.which]);
                        encoded.bytes += (found.end - found.start) as u64;
                    }
                }
                from = found.end;
                progress.check()?;
            }
            encoded.text(&text[from..], tokenizer, prepend)?;
            if let Some(next) = part.ends_document {
                encoded.end_document(append, next);
            }
        }
        Ok(())
    }
}

/// The ids of some blocks, and the documents that end among them.
#[derive(Default)]
pub struct Encoded {
    /// Whether a document begins here, which ends an open one; and the position.
    pub starts_document: bool,
    pub position: Position,
    ids: Vec<u32>,
    /// The ids in two bytes each, if they are written so.
    narrow: Option<Vec<u16>>,
    /// The documents that end here: the tally up to their end, and the position of the next one.
    pub ends: Vec<(Tally, Position)>,
    /// Whether the last document continues.
    pub document_open: bool,
    bytes: u64,
    invalid_bytes: u64,
}

impl Encoded {
    fn begin(&mut self, first: &Block) {
        self.starts_document = first.starts_document;
        self.position = first.position;
        self.ids.clear();
        self.ends.clear();
        // A block is never cut before the first text of a document.
        self.document_open = !first.starts_document;
        self.bytes = 0;
        self.invalid_bytes = 0;
    }

    fn begin_document(&mut self, prepend: Option<u32>) {
        if !self.document_open {
            self.ids.extend(prepend);
            self.document_open = true;
        }
    }

    fn end_document(&mut self, append: Option<u32>, next: Position) {
        if self.document_open {
            self.ids.extend(append);
            self.ends.push((self.tally(), next));
            self.document_open = false;
        }
    }

    /// Encodes text without cutters. A byte that is not valid UTF-8 is a pre-token, and the text on either
    /// side of it is split independently, as in counting.
    fn text(&mut self, text: &[u8], tokenizer: &Tokenizer, prepend: Option<u32>) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.begin_document(prepend);
        self.bytes += text.len() as u64;
        if let Ok(text) = simdutf8::basic::from_utf8(text) {
            return tokenizer.encode_into(text, &mut self.ids);
        }
        for chunk in text.utf8_chunks() {
            tokenizer.encode_into(chunk.valid(), &mut self.ids)?;
            for byte in chunk.invalid() {
                tokenizer.encode_pretoken(&[*byte], &mut self.ids);
                self.invalid_bytes += 1;
            }
        }
        Ok(())
    }

    pub fn narrow(&mut self) {
        let narrow = self.narrow.get_or_insert_default();
        narrow.clear();
        narrow.extend(self.ids.iter().map(|&id| (id as u16).to_le()));
    }

    pub fn tally(&self) -> Tally {
        Tally { tokens: self.ids.len() as u64, bytes: self.bytes, invalid_bytes: self.invalid_bytes }
    }

    /// Returns ids as they are stored in the file.
    pub fn file_bytes(&self, range: Range<u64>) -> &[u8] {
        const { assert!(cfg!(target_endian = "little"), "ids of four bytes are written as they are in memory") };
        let range = range.start as usize..range.end as usize;
        match &self.narrow {
            Some(narrow) => bytemuck::cast_slice(&narrow[range]),
            None => bytemuck::cast_slice(&self.ids[range]),
        }
    }
}

//! Piece: the ids of a part of the corpus that was encoded on its own, before it is known where shards end.
//!
//! ```text
//! piece.ids     the ids, in blocks of `IDS_BLOCK` bytes
//! piece.ends    a row for each document that ends here, in blocks of `ROWS_BLOCK` rows: the tokens, bytes and
//!               invalid bytes of the piece up to its end, and the position of the next document (6 × u64)
//! piece.json    the totals; the checksum of each block; the tokens up to the last row of each block; whether the
//!               first text starts a document, and where; whether the last document is open; the end
//! ```
//!
//! Only a neighbor knows whether a document that is open at the end continues, so a piece never ends its last
//! document, and never ends a document that an earlier piece began unless its own text says so. `join` does
//! the rest. Blocks have checksums because a shard needs a range of a piece, which must be verifiable on its
//! own.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::encoded::Encoded;
use super::formats::IdWidth;
use super::shard::Tally;
use crate::corpus::Position;
use crate::disk::File;
use crate::{Error, Result};

/// The bytes of a block of ids.
pub const IDS_BLOCK: usize = if cfg!(test) { 8 } else { 1 << 20 };

/// The rows of a block, and the bytes of a row.
pub const ROWS_BLOCK: usize = if cfg!(test) { 3 } else { 8192 };
pub const ROW: usize = 48;

pub struct Piece {
    folder: PathBuf,
    width: IdWidth,
    append: Option<u32>,
    ids: Blocks,
    ends: Blocks,
    /// The tokens up to the last row of each block.
    marks: Vec<u64>,
    tally: Tally,
    documents: u64,
    /// Whether the first text starts a document, and where it is; None before any text.
    first: Option<(bool, Position)>,
    document_open: bool,
}

impl Piece {
    pub fn create(folder: &Path, width: IdWidth, append: Option<u32>) -> Result<Piece> {
        Ok(Piece {
            ids: Blocks::create(folder.join("piece.ids"), IDS_BLOCK)?,
            ends: Blocks::create(folder.join("piece.ends"), ROWS_BLOCK * ROW)?,
            folder: folder.into(),
            width,
            append,
            marks: Vec::new(),
            tally: Tally::default(),
            documents: 0,
            first: None,
            document_open: false,
        })
    }

    pub fn write(&mut self, encoded: &Encoded) -> Result<()> {
        if self.first.is_none() {
            self.first = Some((encoded.starts_document, encoded.position));
        } else if encoded.starts_document && self.document_open {
            if let Some(id) = self.append {
                self.ids.append(&id.to_le_bytes()[..self.width.bytes() as usize])?;
                self.tally.tokens += 1;
            }
            self.end_document(self.tally, encoded.position)?;
        }
        for &(tally, next) in &encoded.ends {
            self.end_document(self.tally.plus(tally), next)?;
        }
        let tally = encoded.tally();
        self.ids.append(encoded.file_bytes(0..tally.tokens))?;
        self.tally = self.tally.plus(tally);
        self.document_open = encoded.document_open;
        Ok(())
    }

    /// Ends a document; the next one begins at `next`.
    fn end_document(&mut self, tally: Tally, next: Position) -> Result<()> {
        let numbers = [tally.tokens, tally.bytes, tally.invalid_bytes, next.part, next.offset, next.within];
        let mut row = [0; ROW];
        for (bytes, number) in row.chunks_exact_mut(8).zip(numbers) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        self.ends.append(&row)?;
        let block = (self.documents / ROWS_BLOCK as u64) as usize;
        self.marks.resize(block + 1, 0);
        self.marks[block] = tally.tokens;
        self.documents += 1;
        Ok(())
    }

    /// Completes the files. The part of the corpus ends at `end`.
    pub fn finish(self, end: Position) -> Result<()> {
        let Piece { folder, ids, ends, marks, tally, documents, first, document_open, .. } = self;
        let position = |at: Position| serde_json::json!([at.part, at.offset, at.within]);
        let facts = serde_json::json!({
            "ids_block": IDS_BLOCK,
            "rows_block": ROWS_BLOCK,
            "tokens": tally.tokens,
            "bytes": tally.bytes,
            "invalid_bytes": tally.invalid_bytes,
            "documents": documents,
            "starts_document": first.map(|(starts, _)| starts),
            "first": first.map(|(_, at)| position(at)),
            "document_open": document_open,
            "end": position(end),
            "ids_crc32": ids.finish()?,
            "ends_crc32": ends.finish()?,
            "marks": marks,
        });
        let path = folder.join("piece.json");
        let written = File::create(&path).and_then(|mut file| file.write_all(facts.to_string().as_bytes()));
        written.map_err(|source| Error::Write { path, source })
    }
}

/// A file with a checksum for each block.
struct Blocks {
    path: PathBuf,
    file: BufWriter<File>,
    size: usize,
    filled: usize,
    sum: crc32fast::Hasher,
    sums: Vec<u32>,
}

impl Blocks {
    fn create(path: PathBuf, size: usize) -> Result<Blocks> {
        let file = File::create(&path).map_err(|source| Error::Write { path: path.clone(), source })?;
        let file = BufWriter::with_capacity(1 << 16, file);
        Ok(Blocks { path, file, size, filled: 0, sum: crc32fast::Hasher::new(), sums: Vec::new() })
    }

    fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.map_err(|source| Error::Write { path: self.path.clone(), source })?;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(self.size - self.filled));
            self.sum.update(now);
            self.filled += now.len();
            if self.filled == self.size {
                self.end_block();
            }
            bytes = later;
        }
        Ok(())
    }

    fn end_block(&mut self) {
        self.sums.push(std::mem::take(&mut self.sum).finalize());
        self.filled = 0;
    }

    /// Flushes the file and returns the checksums.
    fn finish(mut self) -> Result<Vec<u32>> {
        if self.filled > 0 {
            self.end_block();
        }
        let flushed = self.file.flush().and_then(|()| self.file.get_ref().sync());
        flushed.map_err(|source| Error::Write { path: self.path, source })?;
        Ok(self.sums)
    }
}

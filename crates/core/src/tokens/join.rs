//! Join: shards from ranges of pieces, which any machine can do for any shard once it is known where it ends.
//!
//! Whatever decides where shards end passes the ranges of ids and of ends that a shard holds, and the ids and
//! ends between two pieces, which neither of them has. The file is written as if the corpus had been encoded
//! at once, by the same code. A range may be a copy of a part of the piece that begins with a block; every
//! block is verified before it is used. Memory is one block of ids and one of rows.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::formats::{IdWidth, TokenFormat};
use super::piece::{IDS_BLOCK, ROW, ROWS_BLOCK};
use super::shard::{Shard, Tally};
use crate::corpus::Position;
use crate::disk::File;
use crate::{Error, Progress, Result};

/// A range of a piece's ids or ends.
pub struct PieceRange {
    /// A file with the blocks that hold the range.
    pub path: PathBuf,
    /// The number of the block that the file begins with.
    pub first_block: u64,
    /// The checksums of the blocks in the file, from the first one.
    pub sums: Vec<u32>,
    /// The range in the piece, in ids or in rows.
    pub start: u64,
    pub end: u64,
}

/// Ids of a shard.
pub enum Ids {
    Range(PieceRange),
    One(u32),
}

/// Ends of documents in a shard.
pub enum Ends {
    /// What to add to the tokens of a row, to get those of the shard.
    Range(PieceRange, i64),
    One(u64),
}

/// Where a shard goes, and how it is written.
pub struct Target<'a> {
    pub folder: &'a Path,
    pub number: u64,
    pub format: TokenFormat,
    pub width: IdWidth,
}

/// Writes a shard. `text` has the bytes of its text, and the next shard begins at `next`.
pub fn join_pieces(
    target: &Target<'_>,
    ids: &[Ids],
    ends: &[Ends],
    text: Tally,
    next: Position,
    progress: &Progress,
) -> Result<()> {
    let &Target { folder, number, format, width } = target;
    let mut shard = Shard::create(folder, number, format, width)?;
    let size = width.bytes();
    for part in ids {
        match part {
            Ids::One(id) => shard.write(&id.to_le_bytes()[..size as usize], tokens(1))?,
            Ids::Range(range) => range.read(size, IDS_BLOCK as u64, progress, |bytes| {
                shard.write(bytes, tokens(bytes.len() as u64 / size))
            })?,
        }
    }
    for part in ends {
        match part {
            Ends::One(end) => shard.end_document(*end)?,
            Ends::Range(range, add) => {
                range.read(ROW as u64, (ROWS_BLOCK * ROW) as u64, progress, |rows| {
                    rows.chunks_exact(ROW).try_for_each(|row| {
                        let end = u64::from_le_bytes(row[..8].try_into().expect("eight bytes"));
                        shard.end_document(end.wrapping_add_signed(*add))
                    })
                })?
            }
        }
    }
    let Tally { bytes, invalid_bytes, .. } = text;
    shard.write(&[], Tally { tokens: 0, bytes, invalid_bytes })?;
    shard.finish(next)
}

fn tokens(tokens: u64) -> Tally {
    Tally { tokens, ..Tally::default() }
}

impl PieceRange {
    /// Passes the bytes of the range on, block by block. `size` is that of an id or row, `block` that of a
    /// block.
    fn read(
        &self,
        size: u64,
        block: u64,
        progress: &Progress,
        mut visit: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if self.start >= self.end {
            return Ok(());
        }
        let cannot_read = |source| Error::Read { path: self.path.clone(), source };
        let damaged = || Error::DamagedPiece { path: self.path.clone() };
        let (start, end) = (self.start * size, self.end * size);
        let first = start / block;
        let skipped = first.checked_sub(self.first_block).ok_or_else(damaged)?;
        let mut file = BufReader::with_capacity(1 << 16, File::open(&self.path).map_err(cannot_read)?);
        file.seek(SeekFrom::Start(skipped * block)).map_err(cannot_read)?;
        let mut bytes = Vec::new();
        for number in first..end.div_ceil(block) {
            progress.check()?;
            bytes.clear();
            (&mut file).take(block).read_to_end(&mut bytes).map_err(cannot_read)?;
            let sum = self.sums.get((number - self.first_block) as usize).ok_or_else(damaged)?;
            let from = start.saturating_sub(number * block) as usize;
            let to = (end - number * block).min(block) as usize;
            if crc32fast::hash(&bytes) != *sum || to > bytes.len() {
                return Err(damaged());
            }
            visit(&bytes[from..to])?;
        }
        Ok(())
    }
}

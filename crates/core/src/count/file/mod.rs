//! The `.counts` file: sorted, checksummed, and as portable as text.
//!
//! ```text
//! "merganser counts 2\n"                     what it is
//! pattern, separator, special tokens         strings: length, bytes; the separator has a 0 or 1 before it
//! pre-tokens, each:                              in ascending order of their bytes
//!     shared   how many bytes it shares with the pre-token before
//!     length   how many more follow
//!     bytes
//!     count
//! 0, 0                                       no pre-token adds nothing to the one before: the end
//! documents, invalid bytes, pre-tokens, total    eight bytes each, little-endian
//! CRC-32 of all that came before             four bytes, little-endian
//! ```
//! Other lengths and numbers are LEB128. The totals are at the end, so that a writer need not know them
//! beforehand, and have a fixed length, so that a reader finds them without reading everything. A file is
//! written, read, merged and verified in one pass, with a buffer of some hundred kilobytes, whatever its
//! size; 35 million pre-tokens in 250 MB are read and verified in half a second. A *run*, which counting
//! writes to disk when memory is full, is such a file.

mod read;
mod write;

use std::path::Path;

pub use self::read::{CountsReader, top};
pub use self::write::{Chunk, CountsWriter};
use super::Counts;
use crate::{Progress, Result};

const MAGIC: &[u8] = b"merganser counts 2\n";

/// The totals and the checksum.
const TRAILER: usize = 4 * 8 + 4;

/// How many bytes are read or written at a time.
pub const BUFFER: usize = if cfg!(test) { 64 } else { 1 << 18 };

/// How many pre-tokens are processed between two checks for cancellation.
pub const LOOK: u64 = 1 << 14;

/// The totals of counts, stored at the end of a `.counts` file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountsTotals {
    pub documents: u64,
    pub invalid_bytes: u64,
    /// The number of unique pre-tokens.
    pub pretokens: u64,
    /// The sum of their counts.
    pub total: u64,
}

impl CountsTotals {
    fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let totals = [self.documents, self.invalid_bytes, self.pretokens, self.total];
        for (bytes, number) in bytes.chunks_exact_mut(8).zip(totals) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: [u8; 32]) -> CountsTotals {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        CountsTotals {
            documents: number(0),
            invalid_bytes: number(8),
            pretokens: number(16),
            total: number(24),
        }
    }
}

impl Counts {
    /// Writes a `.counts` file: sorted, checksummed, and atomically, to a temporary name that is then
    /// renamed.
    pub fn save(&self, path: &Path, progress: &Progress) -> Result<()> {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_unstable_by_key(|&index| self.pretoken(index as usize));
        let mut writer = CountsWriter::create(path, &self.settings)?;
        for part in order.chunks(LOOK as usize) {
            progress.check()?;
            for &index in part {
                writer.push(self.pretoken(index as usize), self.count(index as usize))?;
            }
        }
        writer.finish(self.documents, self.invalid_bytes)?;
        Ok(())
    }

    /// Reads and verifies a whole file.
    pub fn load(path: &Path, progress: &Progress) -> Result<Counts> {
        let mut reader = CountsReader::open(path)?;
        let mut counts = Counts::empty(reader.settings()?);
        while reader.advance()? {
            if (counts.len() as u64).is_multiple_of(LOOK) {
                progress.check()?;
            }
            counts.push(reader.pretoken(), reader.count());
        }
        counts.documents = reader.totals().documents;
        counts.invalid_bytes = reader.totals().invalid_bytes;
        Ok(counts)
    }
}

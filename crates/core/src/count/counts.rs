//! The value that counting yields: every piece once, with its count.

use super::Settings;
use super::table::Table;
use crate::{Error, Result};

/// Pieces and how often each occurred, each piece once, in no particular order.
pub struct Counts {
    pub settings: Settings,
    /// Bytes of the corpus that were not part of valid UTF-8; each is a piece of its own.
    pub invalid_bytes: u64,
    pub documents: u64,
    /// The pieces end to end, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<u64>,
    counts: Vec<u64>,
}

impl Counts {
    pub(super) fn empty(settings: Settings) -> Counts {
        Counts {
            settings,
            invalid_bytes: 0,
            documents: 0,
            bytes: Vec::new(),
            ends: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// From pieces and counts, in any order; a piece that comes twice is added up.
    pub fn from_pieces<P: AsRef<[u8]>>(
        settings: Settings,
        pieces: impl IntoIterator<Item = (P, u64)>,
    ) -> Result<Counts> {
        let mut table = Table::default();
        for (piece, count) in pieces {
            let piece = piece.as_ref();
            if piece.is_empty() {
                return Err(Error::BadSetting { reason: "a piece must hold at least one byte".into() });
            }
            if count > 0 {
                table.add(piece, count);
            }
        }
        table.into_counts(settings)
    }

    /// Adds a piece that is not there yet.
    pub(super) fn push(&mut self, piece: &[u8], count: u64) {
        self.bytes.extend_from_slice(piece);
        self.ends.push(self.bytes.len() as u64);
        self.counts.push(count);
    }

    /// The sum of two counts made with the same settings.
    pub fn plus(&self, other: &Counts) -> Result<Counts> {
        self.settings.must_equal(&other.settings)?;
        let both = self.iter().chain(other.iter());
        let mut sum = Counts::from_pieces(self.settings.clone(), both)?;
        sum.invalid_bytes = self.invalid_bytes + other.invalid_bytes;
        sum.documents = self.documents + other.documents;
        Ok(sum)
    }

    /// Number of different pieces.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub fn piece(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start as usize..self.ends[index] as usize]
    }

    pub fn count(&self, index: usize) -> u64 {
        self.counts[index]
    }

    pub fn get(&self, index: usize) -> (&[u8], u64) {
        (self.piece(index), self.count(index))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        (0..self.len()).map(|index| self.get(index))
    }
    /// Sum of all counts; it fits, because no way to make counts lets it overflow.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

//! The value that counting yields: every pre-token once, with its count.

use super::CountSettings;
use super::table::PretokenTable;
use crate::{Error, Result};

/// Pre-tokens and how often each occurred, each pre-token once, in no particular order.
pub struct Counts {
    pub settings: CountSettings,
    /// Bytes of the corpus that were not part of valid UTF-8; each is a pre-token of its own.
    pub invalid_bytes: u64,
    pub documents: u64,
    /// The pre-tokens end to end, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<u64>,
    counts: Vec<u64>,
}

impl Counts {
    pub(super) fn empty(settings: CountSettings) -> Counts {
        Counts {
            settings,
            invalid_bytes: 0,
            documents: 0,
            bytes: Vec::new(),
            ends: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// From pre-tokens and counts, in any order; a pre-token that comes twice is added up.
    pub fn from_pretokens<P: AsRef<[u8]>>(
        settings: CountSettings,
        pretokens: impl IntoIterator<Item = (P, u64)>,
    ) -> Result<Counts> {
        let mut table = PretokenTable::default();
        for (pretoken, count) in pretokens {
            let pretoken = pretoken.as_ref();
            if pretoken.is_empty() {
                return Err(Error::BadSetting { reason: "a pre-token must hold at least one byte".into() });
            }
            if count > 0 {
                table.add(pretoken, count);
            }
        }
        table.into_counts(settings)
    }

    /// Adds a pre-token that is not there yet.
    pub(super) fn push(&mut self, pretoken: &[u8], count: u64) {
        self.bytes.extend_from_slice(pretoken);
        self.ends.push(self.bytes.len() as u64);
        self.counts.push(count);
    }

    /// The sum of two counts made with the same settings.
    pub fn plus(&self, other: &Counts) -> Result<Counts> {
        self.settings.must_equal(&other.settings)?;
        let both = self.iter().chain(other.iter());
        let mut sum = Counts::from_pretokens(self.settings.clone(), both)?;
        sum.invalid_bytes = self.invalid_bytes + other.invalid_bytes;
        sum.documents = self.documents + other.documents;
        Ok(sum)
    }

    /// Number of unique pre-tokens.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub fn pretoken(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start as usize..self.ends[index] as usize]
    }

    pub fn count(&self, index: usize) -> u64 {
        self.counts[index]
    }

    pub fn get(&self, index: usize) -> (&[u8], u64) {
        (self.pretoken(index), self.count(index))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        (0..self.len()).map(|index| self.get(index))
    }
    /// Sum of all counts; it fits, because no way to make counts lets it overflow.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

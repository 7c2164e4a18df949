//! Counts: the result of counting, in memory.

use super::CountSettings;
use super::table::PretokenTable;
use crate::memory::grow;
use crate::{Error, Result};

/// Unique pre-tokens and how often each occurs, in no particular order.
pub struct Counts {
    pub settings: CountSettings,
    /// How many bytes of the corpus were not valid UTF-8; each is a pre-token.
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

    /// Creates counts from pre-tokens in any order. The counts of duplicates are added up.
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

    /// Appends a pre-token, which must be new.
    pub(super) fn push(&mut self, pretoken: &[u8], count: u64) {
        grow(&mut self.bytes, pretoken.len(), "the counts");
        self.bytes.extend_from_slice(pretoken);
        self.ends.push(self.bytes.len() as u64);
        self.counts.push(count);
    }

    /// Returns the sum of two counts with the same settings.
    pub fn plus(&self, other: &Counts) -> Result<Counts> {
        self.settings.must_equal(&other.settings)?;
        let both = self.iter().chain(other.iter());
        let mut sum = Counts::from_pretokens(self.settings.clone(), both)?;
        sum.invalid_bytes = self.invalid_bytes + other.invalid_bytes;
        sum.documents = self.documents + other.documents;
        Ok(sum)
    }

    /// Returns the number of unique pre-tokens.
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
    /// Returns the sum of all counts, which every constructor has checked to fit.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

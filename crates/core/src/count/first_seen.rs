//! First seen: pre-token → count, in the order in which the pre-tokens first occur in the corpus.
//!
//! Only the tie rule of minbpe depends on that order, so only a training with that rule counts this way: on one
//! thread and in memory. Cost: a look-up for each pre-token, about three times that of `table`.

use std::collections::HashMap;

use super::{CountSettings, Counts};
use crate::{Error, Result};

#[derive(Default)]
pub struct FirstSeen {
    /// The number of the pre-token, and its count.
    pretokens: HashMap<Box<[u8]>, (u32, u64)>,
}

impl FirstSeen {
    /// Counts all pre-tokens of `text`, whose ends are in `ends`.
    pub fn count(&mut self, text: &[u8], ends: &[u32]) {
        let mut start = 0;
        for &end in ends {
            self.add(&text[start..end as usize]);
            start = end as usize;
        }
    }

    pub fn add(&mut self, pretoken: &[u8]) {
        match self.pretokens.get_mut(pretoken) {
            Some((_, count)) => *count += 1,
            None => {
                let number = self.pretokens.len() as u32;
                self.pretokens.insert(pretoken.into(), (number, 1));
            }
        }
    }

    /// Returns the counts in order.
    pub fn into_counts(self, settings: CountSettings) -> Result<Counts> {
        if self.pretokens.len() > u32::MAX as usize {
            let reason = "the corpus has more than 2^32 unique pre-tokens, whose order is not known".into();
            return Err(Error::BadSetting { reason });
        }
        let mut pretokens: Vec<_> = self.pretokens.into_iter().collect();
        pretokens.sort_unstable_by_key(|&(_, (number, _))| number);
        let mut counts = Counts::empty(settings);
        pretokens.iter().for_each(|(pretoken, (_, count))| counts.push(pretoken, *count));
        Ok(counts)
    }
}

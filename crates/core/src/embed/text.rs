//! Tokens as rows of the matrices, the most frequent first, so that the rows in frequent use are close
//! together.

use std::ops::Range;

use super::random::hash_at;
use crate::{Error, Result};

/// A text with each token replaced by its row, and the tables for subsampling it.
pub struct TrainingText {
    /// The token of every row.
    pub ids: Vec<u32>,
    /// How often the token of every row occurs.
    pub counts: Vec<u64>,
    /// The documents as rows, one after the other, without rare tokens.
    pub rows: Vec<u32>,
    /// The offset in `rows` at which each document ends.
    ends: Vec<usize>,
    /// The probability that a row is kept, in units of 2⁻³².
    keep: Vec<u64>,
}

impl TrainingText {
    /// Builds the text from `tokens`; `ends` holds the offset at which each document ends.
    pub fn new(tokens: &[u32], ends: &[usize], min_count: u64, subsample: f64) -> Result<TrainingText> {
        let size = tokens.iter().max().map_or(0, |&id| id as usize + 1);
        let mut seen = vec![0_u64; size];
        for &id in tokens {
            seen[id as usize] += 1;
        }
        let mut ids: Vec<u32> =
            (0..size as u32).filter(|&id| seen[id as usize] >= min_count.max(1)).collect();
        ids.sort_by_key(|&id| (std::cmp::Reverse(seen[id as usize]), id));
        if ids.len() < 2 {
            return Err(Error::BadSetting {
                reason: format!(
                    "only {} unique tokens occur {min_count} times or more, and vectors are learned from neighboring \
                     tokens: give more text or a smaller min_count",
                    ids.len()
                ),
            });
        }
        let counts: Vec<u64> = ids.iter().map(|&id| seen[id as usize]).collect();
        let mut row_of = vec![u32::MAX; size];
        for (row, &id) in ids.iter().enumerate() {
            row_of[id as usize] = row as u32;
        }
        let (mut rows, mut kept_ends) = (Vec::with_capacity(tokens.len()), Vec::with_capacity(ends.len()));
        let mut start = 0;
        for &end in ends {
            let document = &tokens[start..end];
            rows.extend(document.iter().map(|&id| row_of[id as usize]).filter(|&row| row != u32::MAX));
            if kept_ends.last() != Some(&rows.len()) {
                kept_ends.push(rows.len());
            }
            start = end;
        }
        let keep = keep(&counts, rows.len(), subsample);
        Ok(TrainingText { ids, counts, rows, ends: kept_ends, keep })
    }

    /// Fills `line` with the tokens from `from` to `to`, or to the end of their document, that subsampling
    /// keeps in this epoch, and with up to `window` neighbors before and after them. Returns the offset at
    /// which it stopped, and the range of `line` that holds the tokens themselves.
    pub fn line(
        &self,
        (from, to): (usize, usize),
        window: usize,
        seed: u64,
        line: &mut Vec<u32>,
    ) -> (usize, Range<usize>) {
        let kept =
            |&offset: &usize| (hash_at(seed, offset as u64) >> 32) < self.keep[self.rows[offset] as usize];
        let document = self.ends.partition_point(|&end| end <= from);
        let first = if document == 0 { 0 } else { self.ends[document - 1] };
        let last = self.ends[document];
        let to = last.min(to);
        line.clear();
        line.extend((first..from).rev().filter(kept).take(window).map(|offset| self.rows[offset]));
        line.reverse();
        let before = line.len();
        line.extend((from..to).filter(kept).map(|offset| self.rows[offset]));
        let after = line.len();
        line.extend((to..last).filter(kept).take(window).map(|offset| self.rows[offset]));
        (to, before..after)
    }
}

/// Returns the probability of keeping each row as in word2vec: √(s/f) + s/f for a token with share `f` of the
/// text.
fn keep(counts: &[u64], total: usize, subsample: f64) -> Vec<u64> {
    let probability = |&count: &u64| {
        let ratio = subsample * total as f64 / count as f64;
        if subsample > 0.0 { (ratio.sqrt() + ratio).min(1.0) } else { 1.0 }
    };
    counts.iter().map(|count| (probability(count) * (1_u64 << 32) as f64) as u64).collect()
}

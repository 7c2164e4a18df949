//! Tokens as rows of the matrices, the frequent ones first: what is often needed lies close together.

use std::ops::Range;

use super::chance::at;
use crate::{Error, Result};

pub struct Text {
    /// Every row's token.
    pub ids: Vec<u32>,
    /// Every row's count.
    pub counts: Vec<u64>,
    /// The documents, one after the other, without rare tokens.
    pub rows: Vec<u32>,
    /// Where each document ends.
    ends: Vec<usize>,
    /// The chance of each row to be kept, in parts of 2³².
    keep: Vec<u64>,
}

impl Text {
    /// `ends` says where in `tokens` each document ends.
    pub fn new(tokens: &[u32], ends: &[usize], min_count: u64, subsample: f64) -> Result<Text> {
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
                    "only {} different tokens are seen {min_count} times or more, and vectors are learned from \
                     tokens beside each other: give more text or a smaller min_count",
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
        Ok(Text { ids, counts, rows, ends: kept_ends, keep })
    }

    /// Fills `line` with the tokens from `from` to `to`, or to the end of their document, that chance keeps
    /// in this epoch, and with up to `window` neighbours before and behind them. Gives where it ended, and
    /// which of the line are the tokens themselves.
    pub fn line(
        &self,
        (from, to): (usize, usize),
        window: usize,
        seed: u64,
        line: &mut Vec<u32>,
    ) -> (usize, Range<usize>) {
        let kept = |&place: &usize| (at(seed, place as u64) >> 32) < self.keep[self.rows[place] as usize];
        let document = self.ends.partition_point(|&end| end <= from);
        let first = if document == 0 { 0 } else { self.ends[document - 1] };
        let last = self.ends[document];
        let to = last.min(to);
        line.clear();
        line.extend((first..from).rev().filter(kept).take(window).map(|place| self.rows[place]));
        line.reverse();
        let before = line.len();
        line.extend((from..to).filter(kept).map(|place| self.rows[place]));
        let behind = line.len();
        line.extend((to..last).filter(kept).take(window).map(|place| self.rows[place]));
        (to, before..behind)
    }
}

/// As in word2vec: a token with share `f` of the text is kept with the chance √(s/f) + s/f.
fn keep(counts: &[u64], total: usize, subsample: f64) -> Vec<u64> {
    let chance = |&count: &u64| {
        let ratio = subsample * total as f64 / count as f64;
        if subsample > 0.0 { (ratio.sqrt() + ratio).min(1.0) } else { 1.0 }
    };
    counts.iter().map(|count| (chance(count) * (1_u64 << 32) as f64) as u64).collect()
}

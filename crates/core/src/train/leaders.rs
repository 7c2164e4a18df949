//! Leaders: the most frequent pairs before each merge of a training, for a page that shows the race.
//!
//! The trainer itself watches only pairs that can still win, so here all pairs stay in a sorted set, whose counts
//! change with every merge. Two megabytes and 1,000 merges take 0.14 s, four times the training; it loses on large
//! corpora, because it holds the pre-tokens of every pair. `naive` is the oracle.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::count::Counts;
use crate::{Error, Progress, Result, Stage};

type Pair = (u32, u32);

/// The leading pairs with their counts.
pub type Leaders = Vec<(Pair, u64)>;

/// Replays `merges`, the pairs of a training on `counts` by bytes, and returns the `most` leading pairs before
/// each: by descending count, then by ids.
pub fn leading_pairs(
    counts: &Counts,
    merges: &[Pair],
    most: usize,
    progress: &Progress,
) -> Result<Vec<Leaders>> {
    progress.begin(Stage::Merge, merges.len() as u64);
    let mut race = Race::default();
    for (nth, (pretoken, count)) in counts.iter().enumerate() {
        if nth % 4096 == 0 {
            progress.check()?;
        }
        race.enter(pretoken.iter().map(|&byte| u32::from(byte)).collect(), count);
    }
    let mut history = Vec::with_capacity(merges.len());
    for (nth, &pair) in merges.iter().enumerate() {
        progress.check()?;
        history.push(race.leaders(most));
        let token = 256 + nth as u32;
        if pair.0 >= token || pair.1 >= token {
            let reason = format!("merge {} joins a token that does not exist yet", nth + 1);
            return Err(Error::BadSetting { reason });
        }
        race.merge(pair, token);
        progress.advance(1);
    }
    Ok(history)
}

/// The pre-tokens as they are merged so far, and all of their pairs.
#[derive(Default)]
struct Race {
    pretokens: Vec<(Vec<u32>, u64)>,
    counts: HashMap<Pair, u64>,
    ranking: BTreeSet<(Reverse<u64>, Pair)>,
    /// The pre-tokens that have had each pair; some may have lost it since.
    holders: HashMap<Pair, HashSet<u32>>,
}

impl Race {
    fn enter(&mut self, tokens: Vec<u32>, count: u64) {
        self.add(&tokens, count, self.pretokens.len() as u32);
        self.pretokens.push((tokens, count));
    }

    fn leaders(&self, most: usize) -> Leaders {
        self.ranking.iter().take(most).map(|&(Reverse(count), pair)| (pair, count)).collect()
    }

    fn merge(&mut self, pair: Pair, token: u32) {
        for holder in self.holders.remove(&pair).unwrap_or_default() {
            let (tokens, count) = std::mem::take(&mut self.pretokens[holder as usize]);
            let merged = merged(&tokens, pair, token);
            if merged.len() < tokens.len() {
                self.remove(&tokens, count);
                self.add(&merged, count, holder);
            }
            self.pretokens[holder as usize] = (merged, count);
        }
    }

    fn add(&mut self, tokens: &[u32], count: u64, holder: u32) {
        for pair in pairs(tokens) {
            self.change(pair, |before| before.saturating_add(count));
            self.holders.entry(pair).or_default().insert(holder);
        }
    }

    fn remove(&mut self, tokens: &[u32], count: u64) {
        for pair in pairs(tokens) {
            self.change(pair, |before| before.saturating_sub(count));
        }
    }

    fn change(&mut self, pair: Pair, change: impl Fn(u64) -> u64) {
        let before = self.counts.get(&pair).copied().unwrap_or(0);
        let after = change(before);
        self.ranking.remove(&(Reverse(before), pair));
        if after > 0 {
            self.ranking.insert((Reverse(after), pair));
            self.counts.insert(pair, after);
        } else {
            self.counts.remove(&pair);
        }
    }
}

fn pairs(tokens: &[u32]) -> impl Iterator<Item = Pair> {
    tokens.windows(2).map(|pair| (pair[0], pair[1]))
}

/// Merges every occurrence of the pair, leftmost first.
fn merged(tokens: &[u32], (left, right): Pair, token: u32) -> Vec<u32> {
    let mut merged = Vec::with_capacity(tokens.len());
    let mut rest = tokens;
    while let [first, others @ ..] = rest {
        let found = *first == left && others.first() == Some(&right);
        merged.push(if found { token } else { *first });
        rest = if found { &others[1..] } else { others };
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::train::tests::{counts, pretokens, settings};
    use crate::train::{TieBreak, naive};

    proptest! {
        #[test]
        fn the_first_leader_is_the_merge_of_the_oracle(pretokens in pretokens(), merges in 0..40usize) {
            let counts = counts(pretokens);
            let expected = naive::train(&counts, &settings(merges, TieBreak::Ids));
            let history = leading_pairs(&counts, &expected.pairs, 5, &Progress::new()).unwrap();
            let first: Vec<_> = history.iter().map(|leaders| leaders[0]).collect();
            let wanted: Vec<_> = expected.pairs.iter().copied().zip(expected.counts).collect();
            prop_assert_eq!(first, wanted);
            for leaders in history {
                prop_assert!(leaders.len() <= 5 && leaders.is_sorted_by_key(|&(pair, count)| (Reverse(count), pair)));
            }
        }

        /// All pairs, and not only the first, are counted as the definition counts them.
        #[test]
        fn every_leader_is_counted_again(pretokens in pretokens(), merges in 1..20usize) {
            let counts = counts(pretokens);
            let learned = naive::train(&counts, &settings(merges, TieBreak::Ids)).pairs;
            let history = leading_pairs(&counts, &learned, usize::MAX, &Progress::new()).unwrap();
            let mut words: Vec<(Vec<u32>, u64)> =
                counts.iter().map(|(word, count)| (word.iter().map(|&byte| byte.into()).collect(), count)).collect();
            for (nth, leaders) in history.into_iter().enumerate() {
                let mut expected: HashMap<Pair, u64> = HashMap::new();
                for (word, count) in &words {
                    pairs(word).for_each(|pair| *expected.entry(pair).or_default() += count);
                }
                prop_assert_eq!(leaders.into_iter().collect::<HashMap<_, _>>(), expected);
                words.iter_mut().for_each(|(word, _)| *word = merged(word, learned[nth], 256 + nth as u32));
            }
        }
    }

    #[test]
    fn merges_of_missing_tokens_are_refused_and_work_can_be_stopped() {
        let counts = counts([(b"abab", 2)]);
        let error = leading_pairs(&counts, &[(97, 300)], 5, &Progress::new()).unwrap_err();
        assert!(error.to_string().contains("merge 1 joins a token that does not exist yet"), "{error}");
        let stopped = Progress::new();
        stopped.cancel();
        assert!(matches!(leading_pairs(&counts, &[(97, 98)], 5, &stopped), Err(Error::Cancelled)));
    }
}

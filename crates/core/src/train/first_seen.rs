//! First seen: training with the tie rule of minbpe, on pre-tokens in the order in which they first occur.
//!
//! Of equally frequent pairs, minbpe merges the one that occurs first in the corpus as it is tokenized at that moment:
//! it counts the pairs again before each merge, in a dictionary that keeps the order of insertion. The first
//! occurrence of a pair is in the first pre-token that has the pair. It is kept as the number of that pre-token and
//! an offset in *bytes*, which merges around it do not move. Occurrences only disappear, so that counts fall and
//! first occurrences move back: an entry of the heap is an upper bound, as in `queue`.
//!
//! Cost: a merge reads the pre-tokens that contain the pair, on one thread; several times slower than `in_memory`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::vocabulary::Vocabulary;
use super::{CountedPair, MergeLog, Merges, Rules, Start, add_weight};
use crate::count::Counts;
use crate::{Progress, Result};

/// A pair by its internal ids.
type Pair = (u32, u32);
/// The number of a pre-token and an offset in it.
type Place = (u32, u32);

struct Pretoken {
    tokens: Vec<u32>,
    count: u64,
}

#[derive(Default)]
struct Occurrences {
    count: u64,
    /// The pre-tokens that have, or had, the pair, in order; those before `next` have it no longer.
    pretokens: Vec<u32>,
    next: usize,
}

impl Occurrences {
    fn add(&mut self, pretoken: u32, count: u64) {
        self.count += count;
        if self.pretokens.last() != Some(&pretoken) {
            self.pretokens.push(pretoken);
        }
    }

    /// Returns where the pair first occurs now.
    fn first(&mut self, pair: Pair, pretokens: &[Pretoken], vocabulary: &Vocabulary) -> Option<Place> {
        while let Some(&number) = self.pretokens.get(self.next) {
            let tokens = &pretokens[number as usize].tokens;
            if let Some(at) = tokens.windows(2).position(|two| (two[0], two[1]) == pair) {
                let bytes: usize = tokens[..at].iter().map(|&token| vocabulary.bytes(token).len()).sum();
                return Some((number, bytes as u32));
            }
            self.next += 1;
        }
        None
    }
}

/// Continues after `merges` until there are `rules.merges` or no pair is left.
pub fn learn(
    counts: &Counts,
    min_pretoken_count: u64,
    start: Start,
    merges: &mut Merges,
    mut log: Option<&mut MergeLog>,
    progress: &Progress,
) -> Result<()> {
    let mut pretokens = lay_out(counts, min_pretoken_count, &start)?;
    let Start { rules, mut vocabulary, .. } = start;
    let mut pairs: HashMap<Pair, Occurrences> = HashMap::new();
    for (number, pretoken) in (0..).zip(&pretokens) {
        for two in pretoken.tokens.windows(2) {
            pairs.entry((two[0], two[1])).or_default().add(number, pretoken.count);
        }
        if number.is_multiple_of(1 << 14) {
            progress.check()?;
        }
    }
    let mut queue = BinaryHeap::new();
    let all: Vec<Pair> = pairs.keys().copied().collect();
    push(&mut queue, &all, &mut pairs, &pretokens, rules, &vocabulary);

    while merges.pairs.len() < rules.merges {
        let Some((count, Reverse(place), pair)) = queue.pop() else { break };
        let Some(found) = pairs.get_mut(&pair).filter(|found| found.count >= rules.min_frequency.max(1))
        else {
            continue;
        };
        if found.count < count {
            queue.push((found.count, Reverse(place), pair));
            continue;
        }
        match found.first(pair, &pretokens, &vocabulary) {
            Some(first) if first == place => {}
            Some(first) => {
                queue.push((count, Reverse(first), pair));
                continue;
            }
            None => continue,
        }
        progress.check()?;
        let (left, right) = pair;
        let new = vocabulary.len() as u32;
        vocabulary.add(left, right);
        let fresh = apply(pair, new, &mut pairs, &mut pretokens);
        push(&mut queue, &fresh, &mut pairs, &pretokens, rules, &vocabulary);
        merges.push(CountedPair { count, left, right }, &vocabulary);
        progress.advance(1);
        if let Some(log) = &mut log {
            log.write_if_due(merges)?;
        }
    }
    Ok(())
}

/// Returns the pre-tokens that are frequent enough, as tokens of the base, or as bytes if there is none.
fn lay_out(counts: &Counts, least: u64, start: &Start) -> Result<Vec<Pretoken>> {
    let (byte_tokens, internal) = (start.vocabulary.byte_tokens(), start.vocabulary.internal());
    let (mut all, mut ids, mut weight) = (Vec::new(), Vec::new(), 0);
    for (pretoken, count) in counts.iter().filter(|&(_, count)| count >= least) {
        weight = add_weight(weight, pretoken, count)?;
        let tokens: Vec<u32> = match start.base {
            None => pretoken.iter().map(|&byte| byte_tokens[byte as usize]).collect(),
            Some(base) => {
                ids.clear();
                base.encode_pretoken(pretoken, &mut ids);
                ids.iter().map(|&id| internal.of(id)).collect()
            }
        };
        if tokens.len() > 1 {
            all.push(Pretoken { tokens, count });
        }
    }
    Ok(all)
}

/// Adds pairs that are frequent enough, and may become tokens, to the queue.
fn push(
    queue: &mut BinaryHeap<(u64, Reverse<Place>, Pair)>,
    fresh: &[Pair],
    pairs: &mut HashMap<Pair, Occurrences>,
    pretokens: &[Pretoken],
    rules: &Rules,
    vocabulary: &Vocabulary,
) {
    for &pair in fresh {
        let Some(found) = pairs.get_mut(&pair) else { continue };
        if found.count >= rules.min_frequency.max(1)
            && rules.allows(pair.0, pair.1, vocabulary)
            && let Some(first) = found.first(pair, pretokens, vocabulary)
        {
            queue.push((found.count, Reverse(first), pair));
        }
    }
}

/// Merges a pair wherever it occurs, updates the counts of all pairs, and returns the pairs that are new.
fn apply(
    pair: Pair,
    new: u32,
    pairs: &mut HashMap<Pair, Occurrences>,
    pretokens: &mut [Pretoken],
) -> Vec<Pair> {
    let mut fresh = Vec::new();
    let found = pairs.remove(&pair).unwrap_or_default();
    for &number in &found.pretokens[found.next..] {
        let Pretoken { tokens, count } = &mut pretokens[number as usize];
        if !tokens.windows(2).any(|two| (two[0], two[1]) == pair) {
            continue;
        }
        for two in tokens.windows(2) {
            if let Some(other) = pairs.get_mut(&(two[0], two[1])) {
                other.count -= *count;
            }
        }
        merge(tokens, pair, new);
        for two in tokens.windows(2) {
            let other = (two[0], two[1]);
            if other.0 == new || other.1 == new {
                let occurrences = pairs.entry(other).or_default();
                if occurrences.pretokens.is_empty() {
                    fresh.push(other);
                }
                occurrences.add(number, *count);
            } else if let Some(known) = pairs.get_mut(&other) {
                known.count += *count;
            }
        }
    }
    fresh
}

/// Replaces a pair from left to right.
fn merge(tokens: &mut Vec<u32>, (left, right): Pair, new: u32) {
    let (mut read, mut write) = (0, 0);
    while read < tokens.len() {
        let is_pair = tokens[read] == left && tokens.get(read + 1) == Some(&right);
        tokens[write] = if is_pair { new } else { tokens[read] };
        read += 1 + usize::from(is_pair);
        write += 1;
    }
    tokens.truncate(write);
}

//! Out of core: the same merges as in memory, with most pre-tokens on disk.
//!
//! A pair is merged when no other is more frequent. Until then a pre-token whose best pair has a lower count
//! cannot change, and need not be loaded. So pre-tokens are sorted into buckets by an upper bound of the
//! count of their best pair (`buckets.rs`), and training works from the top bucket down:
//!
//! - *In memory*: as many of the top buckets as fit are loaded. Every pair whose count reaches the lowest
//!   count of these buckets occurs in loaded pre-tokens only, so the trainer in memory (`in_memory.rs`)
//!   merges exactly down to that floor. Then the pre-tokens are written back to the bucket of what is now
//!   their best pair.
//! - *Streamed*: the pre-tokens of the first pairs are too many for even one bucket to fit. Then a batch of
//!   merges is applied while the bucket is read and written back: those that are certain to come next,
//!   whatever the pre-tokens look like after the first of them (see `certain`). What stays in the range of the
//!   bucket is written to narrower ones, the highest of which usually fit.
//!
//! The bounds come from one table of sums, to which every pair adds its weight: exact for the pairs of the
//! first thousand tokens, shared by hash for the others. A count only falls once its pair exists, so a bound
//! that was valid when a pre-token was written to a bucket stays valid.
//!
//! Cost: memory as allowed; every pre-token is read and written a few times for each of its merges, about two
//! to three times the work of training in memory.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::buckets::{BucketWriter, Buckets, DiskBlock, Ranges, UNSORTED};
use super::in_memory::InMemoryTrainer;
use super::queue::CountedPair;
use super::symbols::Symbols;
use super::vocabulary::Vocabulary;
use super::{MergeLog, Merges, Rules};
use crate::memory::{prefetch, zeroed_in_huge_pages};
use crate::team::Team;
use crate::{Progress, Result};

/// The sums of pairs of tokens below this are exact. (Small in tests, so that they take both paths.)
const FIRST: u32 = if cfg!(test) { 258 } else { 1024 };

/// About how many pairs are considered while nothing is sorted yet.
const GLANCE: usize = if cfg!(test) { 3 } else { 64 };

/// How the allowed memory is used.
pub struct MemoryPlan<'a> {
    /// How many tokens and ends may be loaded at a time.
    pub slots: usize,
    /// How many bits of the hash choose a shared sum.
    pub bits: u32,
    /// The folder for the pre-tokens.
    pub folder: &'a Path,
}

/// The bytes that training takes for each loaded slot; measured at 11 to 14.
const BYTES_A_SLOT: u64 = 13;

impl<'a> MemoryPlan<'a> {
    /// Divides `memory` bytes between sums and slots.
    pub fn within(memory: u64, folder: &'a Path) -> MemoryPlan<'a> {
        let bits = (memory / 128).max(1).ilog2().clamp(12, 24);
        let sums = (FIRST as u64 * FIRST as u64 + (1 << bits)) * 8;
        let slots = (memory.saturating_sub(sums) / BYTES_A_SLOT).clamp(1 << 16, u32::MAX as u64 / 2);
        MemoryPlan { slots: slots as usize, bits, folder }
    }
}

/// The sums of the weights of all pairs.
struct Sums {
    exact: Vec<AtomicU64>,
    shared: Vec<AtomicU64>,
    shift: u32,
}

impl Sums {
    fn new(bits: u32) -> Sums {
        let exact = zeroed_in_huge_pages((FIRST * FIRST) as usize);
        Sums { exact, shared: zeroed_in_huge_pages(1 << bits), shift: 64 - bits }
    }

    #[inline(always)]
    fn of(&self, left: u32, right: u32) -> &AtomicU64 {
        if left < FIRST && right < FIRST {
            &self.exact[(left * FIRST + right) as usize]
        } else {
            &self.shared[super::watched::cell_of(left, right, self.shift)]
        }
    }

    /// Returns an adder for one thread.
    fn adder(&self) -> Adder<'_> {
        Adder { waiting: [(&self.exact[0], 0); AHEAD], next: 0 }
    }

    /// Returns the `n`-th largest sum, or 0 if there are fewer.
    fn largest(&self, n: usize) -> u64 {
        let sums: Vec<u64> = self.exact.iter().chain(&self.shared).map(|sum| sum.load(Relaxed)).collect();
        super::index::largest(&sums, n)
    }

    /// Returns the pairs whose sums are exact and reach the floor.
    fn exact_from(&self, floor: u64) -> Vec<CountedPair> {
        let entry = |(index, sum): (usize, &AtomicU64)| {
            let index = index as u32;
            CountedPair { count: sum.load(Relaxed), left: index / FIRST, right: index % FIRST }
        };
        self.exact.iter().enumerate().map(entry).filter(|pair| pair.count >= floor).collect()
    }
}

/// Adds to each sum some steps after prefetching its cache line: an atomic addition waits for memory, and
/// stalls the instructions after it. The order of additions is kept: other threads read the sums meanwhile, and
/// a sum from which is subtracted what was not added yet would be too low for them.
struct Adder<'a> {
    waiting: [(&'a AtomicU64, u64); AHEAD],
    next: usize,
}

const AHEAD: usize = 32;

impl<'a> Adder<'a> {
    #[inline(always)]
    fn add(&mut self, sum: &'a AtomicU64, weight: u64) {
        prefetch(std::slice::from_ref(sum), 0);
        let (earlier, weight) = std::mem::replace(&mut self.waiting[self.next], (sum, weight));
        self.next = (self.next + 1) % AHEAD;
        earlier.fetch_add(weight, Relaxed);
    }

    fn subtract(&mut self, sum: &'a AtomicU64, weight: u64) {
        self.add(sum, weight.wrapping_neg());
    }

    /// Returns what is still to be added, the earliest first.
    fn pending(&self) -> impl Iterator<Item = (&'a AtomicU64, u64)> {
        let (late, early) = self.waiting.split_at(self.next);
        early.iter().chain(late).copied()
    }
}

impl Drop for Adder<'_> {
    fn drop(&mut self) {
        self.pending().for_each(|(sum, weight)| {
            sum.fetch_add(weight, Relaxed);
        });
    }
}

/// The state of a training out of core.
pub struct OutOfCoreTrainer<'a> {
    rules: &'a Rules,
    vocabulary: Vocabulary,
    sums: Sums,
    buckets: Buckets,
    ranges: Ranges,
    plan: MemoryPlan<'a>,
    team: &'a Team,
}

impl<'a> OutOfCoreTrainer<'a> {
    pub fn new(
        rules: &'a Rules,
        vocabulary: Vocabulary,
        plan: MemoryPlan<'a>,
        team: &'a Team,
    ) -> Result<Self> {
        Ok(OutOfCoreTrainer {
            rules,
            vocabulary,
            sums: Sums::new(plan.bits),
            buckets: Buckets::new(plan.folder)?,
            ranges: Ranges::new(),
            plan,
            team,
        })
    }

    /// Stores the pre-tokens that `for_each` yields, as tokens of the vocabulary.
    pub fn fill(
        &mut self,
        for_each: impl FnOnce(&mut dyn FnMut(u64, &[u32]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let (mut writer, mut adder) = (self.buckets.writer(), self.sums.adder());
        for_each(&mut |weight, tokens| {
            self.for_each_sum(tokens, |_, _, sum| adder.add(sum, weight));
            writer.put(UNSORTED, weight, tokens)
        })?;
        writer.finish()
    }

    /// Continues after `merges`, which the pre-tokens already reflect, until there are `rules.merges` or no
    /// pair is left.
    pub fn run(
        mut self,
        merges: &mut Merges,
        mut log: Option<&mut MergeLog>,
        progress: &Progress,
    ) -> Result<()> {
        while merges.pairs.len() < self.rules.merges {
            progress.check()?;
            let buckets = self.buckets.slots();
            let total: usize = buckets.iter().map(|bucket| bucket.1).sum();
            let Some(&(top, on_top)) = buckets.first() else { break };
            if total <= self.plan.slots {
                return self.trainer(0)?.run(merges, log, progress);
            }
            if top == UNSORTED || on_top > self.plan.slots {
                self.merge_while_streaming(self.ranges.streamed(top), merges, progress)?;
                if let Some(log) = &mut log {
                    log.write_if_due(merges)?;
                }
                continue;
            }
            let mut loaded = 0;
            let fitting = buckets.iter().take_while(|bucket| {
                loaded += bucket.1;
                loaded <= self.plan.slots
            });
            let lowest = fitting.last().map_or(top, |bucket| bucket.0);
            self.merge_in_memory(lowest, merges, log.as_deref_mut(), progress)?;
        }
        Ok(())
    }

    /// Loads the buckets from `lowest` up, merges down to their floor, and writes them back.
    fn merge_in_memory(
        &mut self,
        lowest: u16,
        merges: &mut Merges,
        log: Option<&mut MergeLog>,
        progress: &Progress,
    ) -> Result<()> {
        let floor = self.ranges.lowest(lowest).max(self.least());
        let mut trainer = self.trainer(lowest)?;
        let done = trainer.phase(usize::MAX, floor, merges, log, progress);
        let symbols;
        (symbols, self.vocabulary) = trainer.into_parts();
        done?;
        let ranges = symbols.ranges(self.team.size() * 64);
        self.on_all(&ranges, progress, |_, range| {
            let mut adder = self.sums.adder();
            symbols.for_each_pretoken(range.clone(), |weight, tokens| {
                self.for_each_sum(tokens, |_, _, sum| adder.add(sum, weight));
                Ok(())
            })
        })?;
        self.on_all(&ranges, progress, |writer, range| {
            symbols.for_each_pretoken(range.clone(), |weight, tokens| match self.bucket(tokens, floor - 1) {
                Some(bucket) => writer.put(bucket, weight, tokens),
                None => Ok(()),
            })
        })
    }

    /// Takes the pre-tokens out of the buckets from `lowest` up and returns a trainer for them.
    fn trainer(&mut self, lowest: u16) -> Result<InMemoryTrainer<'a>> {
        let blocks = self.buckets.take(lowest);
        let sizes: Vec<usize> = blocks.iter().map(|block| block.slots).collect();
        let failure = Mutex::new(None);
        let symbols = Symbols::build(&sizes, self.vocabulary.len(), self.team, |share, out| {
            let mut adder = self.sums.adder();
            let loaded = self.buckets.read(&blocks[share], |weight, tokens| {
                self.for_each_sum(tokens, |_, _, sum| adder.subtract(sum, weight));
                out.push(tokens.iter().copied(), weight);
                Ok(())
            });
            if let Err(error) = loaded {
                *failure.lock().unwrap() = Some(error);
            }
        });
        failure.into_inner().unwrap().map_or(Ok(()), Err)?;
        self.buckets.free(blocks);
        Ok(InMemoryTrainer::new(symbols, std::mem::take(&mut self.vocabulary), self.rules, self.team))
    }

    /// Applies the merges that are certain while the pre-tokens of the top bucket are streamed.
    fn merge_while_streaming(&mut self, top: u16, merges: &mut Merges, progress: &Progress) -> Result<()> {
        let least = self.least();
        let floor =
            if top == UNSORTED { self.sums.largest(GLANCE) } else { self.ranges.lowest(top) }.max(least);
        let blocks = self.buckets.take(top);
        let mut batch = self.certain(self.pairs_from(floor, &blocks, progress)?);
        batch.truncate(MergeBatch::MOST.min(self.rules.merges - merges.pairs.len()));
        let merge_batch = MergeBatch::new(&batch, self.vocabulary.len() as u32);
        for merge in &batch {
            self.vocabulary.add(merge.left, merge.right);
            merges.push(*merge, &self.vocabulary);
            progress.advance(1);
        }
        let most = batch.last().map_or(floor - 1, |last| last.count);
        // What stays on top is likely to be too much again, but its next merges touch only some of it.
        if top == UNSORTED {
            self.ranges.split(most);
        } else if Ranges::is_wide(top) {
            self.ranges.split(floor);
        } else if batch.is_empty() {
            self.ranges.join();
        }
        let store = |writer: &mut BucketWriter, weight, tokens: &[u32]| {
            self.bucket(tokens, most).map_or(Ok(()), |bucket| writer.put(bucket, weight, tokens))
        };
        // An unchanged pre-token can be written back at once: the sums of its pairs can only fall further.
        // The sum of a new pair is known when all pre-tokens have been read.
        self.on_all(&blocks, progress, |writer, block| {
            let (mut adder, mut merged) = (self.sums.adder(), Vec::new());
            self.buckets.read(block, |weight, tokens| {
                if !merge_batch.apply(tokens, &mut merged) {
                    return store(writer, weight, tokens);
                }
                // Added before the old ones are subtracted, so that no sum is ever too low for another
                // thread.
                self.for_each_sum(&merged, |_, _, sum| adder.add(sum, weight));
                self.for_each_sum(tokens, |_, _, sum| adder.subtract(sum, weight));
                writer.put(UNSORTED, weight, &merged)
            })
        })?;
        self.buckets.free(blocks);
        let changed = self.buckets.take(UNSORTED);
        self.on_all(&changed, progress, |writer, block| {
            self.buckets.read(block, |weight, tokens| store(writer, weight, tokens))
        })?;
        self.buckets.free(changed);
        Ok(())
    }

    /// Returns all pairs with a count of at least `floor`, in the order of merging. All of them occur in
    /// `blocks`.
    fn pairs_from(&self, floor: u64, blocks: &[DiskBlock], progress: &Progress) -> Result<Vec<CountedPair>> {
        let mut pairs = self.sums.exact_from(floor);
        if self.sums.shared.iter().any(|sum| sum.load(Relaxed) >= floor) {
            let all = Mutex::new(HashMap::<(u32, u32), u64>::new());
            self.on_all(blocks, progress, |_, block| {
                let mut counts = HashMap::<(u32, u32), u64>::new();
                self.buckets.read(block, |weight, tokens| {
                    self.for_each_sum(tokens, |left, right, sum| {
                        if left.max(right) >= FIRST && sum.load(Relaxed) >= floor {
                            *counts.entry((left, right)).or_default() += weight;
                        }
                    });
                    Ok(())
                })?;
                let mut all = all.lock().unwrap();
                counts.into_iter().for_each(|(pair, count)| *all.entry(pair).or_default() += count);
                Ok(())
            })?;
            let counted = all.into_inner().unwrap().into_iter();
            pairs.extend(counted.map(|((left, right), count)| CountedPair { count, left, right }));
        }
        pairs.retain(|pair| pair.count >= floor);
        pairs.sort_unstable_by(|a, b| match a.goes_before(b, self.rules.tie_break, &self.vocabulary) {
            true => Ordering::Less,
            false => Ordering::Greater,
        });
        Ok(pairs)
    }

    /// Returns the first of these pairs that are certain to be merged next, in this order.
    ///
    /// Merging (a, b) lowers the counts of pairs (·, a) and (b, ·) and creates pairs (·, ab) and (ab, ·),
    /// which are at most as frequent as those were. So pairs are certain until one comes that an earlier
    /// merge touches; pairs with the same count as that one are not, because a new pair could tie with them.
    fn certain(&self, pairs: Vec<CountedPair>) -> Vec<CountedPair> {
        let mut batch: Vec<CountedPair> = Vec::new();
        let mut closed = false;
        for pair in pairs {
            if batch.iter().any(|merge| merge.left == pair.right || merge.right == pair.left) {
                let sure = batch.iter().take_while(|merge| merge.count > pair.count).count();
                batch.truncate(sure.max(1));
                break;
            }
            if !closed {
                batch.push(pair);
                // `aa` grows only out of itself; and a pair that may not be merged has no sum, but one that
                // grows out of it may be merged.
                closed = pair.left == pair.right || self.rules.touches_forbidden(pair, &self.vocabulary);
            }
        }
        batch
    }

    /// Calls `visit(left, right, sum)` for every pair that may become a token.
    #[inline(always)]
    fn for_each_sum<'s>(&'s self, tokens: &[u32], mut visit: impl FnMut(u32, u32, &'s AtomicU64)) {
        for pair in tokens.windows(2) {
            let (left, right) = (pair[0], pair[1]);
            if self.rules.allows(left, right, &self.vocabulary) {
                visit(left, right, self.sums.of(left, right));
            }
        }
    }

    /// Returns the bucket of a pre-token whose pairs have counts of at most `most`; `None` if nothing in it
    /// can be merged any more, because counts only fall.
    fn bucket(&self, tokens: &[u32], most: u64) -> Option<u16> {
        let mut best = 0;
        self.for_each_sum(tokens, |_, _, sum| best = best.max(sum.load(Relaxed)));
        let best = best.min(most);
        (best >= self.least()).then(|| self.ranges.bucket(best))
    }

    /// The lowest count of a pair that is merged.
    fn least(&self) -> u64 {
        self.rules.min_frequency.max(1)
    }

    /// Calls `work` with every item, on all threads, until one fails; each thread has its own writer.
    fn on_all<T: Sync>(
        &self,
        items: &[T],
        progress: &Progress,
        work: impl Fn(&mut BucketWriter, &T) -> Result<()> + Sync,
    ) -> Result<()> {
        let failure = Mutex::new(None);
        let next = AtomicUsize::new(0);
        self.team.run(&|_| {
            let mut writer = self.buckets.writer();
            let mut go = || {
                while let Some(item) = items.get(next.fetch_add(1, Relaxed)) {
                    progress.check()?;
                    work(&mut writer, item)?;
                }
                Ok(())
            };
            if let Err(error) = go().and_then(|()| writer.finish()) {
                next.store(items.len(), Relaxed);
                *failure.lock().unwrap() = Some(error);
            }
        });
        failure.into_inner().unwrap().map_or(Ok(()), Err)
    }
}

/// Some merges that do not touch each other, to be applied to streamed pre-tokens.
struct MergeBatch {
    /// By token: the first merge whose left part it is, or `NONE`.
    first: Vec<u8>,
    merges: Vec<BatchedMerge>,
}

/// One merge of a batch.
struct BatchedMerge {
    right: u32,
    new: u32,
    /// The next merge with the same left part, or `NONE`.
    next: u8,
}

const NONE: u8 = u8::MAX;

impl MergeBatch {
    /// The largest batch, limited by the index type.
    const MOST: usize = NONE as usize;

    /// Prepares `batch`; `first_new` is the id of the token that the first merge creates.
    fn new(batch: &[CountedPair], first_new: u32) -> MergeBatch {
        let mut all = MergeBatch { first: vec![NONE; first_new as usize], merges: Vec::new() };
        for (new, merge) in (first_new..).zip(batch) {
            let first = &mut all.first[merge.left as usize];
            let next = std::mem::replace(first, all.merges.len() as u8);
            all.merges.push(BatchedMerge { right: merge.right, new, next });
        }
        all
    }

    /// Returns the token that this pair becomes.
    #[inline(always)]
    fn find(&self, left: u32, right: u32) -> Option<u32> {
        let mut merge = self.first[left as usize];
        while merge != NONE {
            let step = &self.merges[merge as usize];
            if step.right == right {
                return Some(step.new);
            }
            merge = step.next;
        }
        None
    }

    /// Writes the merged tokens to `merged`; returns false, and writes nothing, where nothing is merged.
    #[inline(always)]
    fn apply(&self, tokens: &[u32], merged: &mut Vec<u32>) -> bool {
        let Some(start) = tokens.windows(2).position(|pair| self.find(pair[0], pair[1]).is_some()) else {
            return false;
        };
        merged.clear();
        merged.extend_from_slice(&tokens[..start]);
        let mut rest = &tokens[start..];
        while let [left, right, ..] = *rest {
            let new = self.find(left, right);
            merged.push(new.unwrap_or(left));
            rest = &rest[1 + new.is_some() as usize..];
        }
        merged.extend_from_slice(rest);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pending_is_added_in_order() {
        let sums = Sums::new(1);
        for count in 0..3 * AHEAD as u64 {
            let mut adder = sums.adder();
            (1..=count).for_each(|weight| adder.add(&sums.exact[1], weight));
            let weights: Vec<u64> = adder.pending().map(|(_, weight)| weight).filter(|&w| w > 0).collect();
            let expected: Vec<u64> = (1..=count).skip(count.saturating_sub(AHEAD as u64) as usize).collect();
            assert_eq!(weights, expected);
        }
    }
}

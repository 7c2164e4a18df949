//! In memory: the fast trainer, whose time is proportional to the positions it actually merges.
//!
//! **Phases.** Most pairs are rare and never merged. A phase watches only the pairs whose count reaches a
//! floor, and ends when the best of them falls below it; then the array is compacted, the floor lowered and
//! the pairs to watch searched again in a few sequential passes (`index`). Within a phase a new pair below
//! the floor is not recorded at all: no table entry, no heap entry, no positions. Nothing is approximate:
//! every unwatched pair is known to be below the floor, and the best watched pair is at or above it.
//!
//! **Cost** of a merge: its positions, plus one table look-up per distinct neighbor. Positions are sorted, so
//! the array is read in one direction with prefetch; long lists are divided among threads at pre-token ends.
//!
//! **When it loses**: when nearly all pairs have the same small count, floors are crossed more often than
//! needed, and each crossing costs passes over what is left of the array.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::apply::{LEFT, Merge, NOWHERE, NeighborChanges, RIGHT};
use super::arena::Arena;
use super::checkpoint::MergeLog;
use super::index::PairSearch;
use super::queue::{CountedPair, MergeQueue};
use super::symbols::Symbols;
use super::vocabulary::Vocabulary;
use super::watched::WatchedPairs;
use super::{Merges, Rules};
use crate::team::Team;
use crate::{Progress, Result};

/// Shorter lists are not worth a second thread. (Small in tests, so that they take every path.)
const SHARE: usize = if cfg!(test) { 2 } else { 2048 };

/// How many pairs the first phase watches. The first merges are by far the heaviest and shrink the array to
/// half; a short first phase lets all others work on the smaller one.
const FIRST_PHASE: usize = if cfg!(test) { 3 } else { 2000 };

/// The state of a training in memory.
pub struct InMemoryTrainer<'a> {
    rules: &'a Rules,
    symbols: Symbols,
    vocabulary: Vocabulary,
    pairs: WatchedPairs,
    floor: u64,
    queue: MergeQueue,
    arena: Arena,
    notes: Vec<Mutex<NeighborChanges>>,
    team: &'a Team,
}

impl<'a> InMemoryTrainer<'a> {
    pub fn new(symbols: Symbols, vocabulary: Vocabulary, rules: &'a Rules, team: &'a Team) -> Self {
        InMemoryTrainer {
            rules,
            symbols,
            vocabulary,
            pairs: WatchedPairs::new(1),
            floor: 0,
            queue: MergeQueue::default(),
            arena: Arena::default(),
            notes: (0..team.size()).map(|_| Mutex::default()).collect(),
            team,
        }
    }

    /// Continues after `merges`, which the pre-tokens already reflect, until there are `rules.merges` or no
    /// pair is left.
    pub fn run(
        mut self,
        merges: &mut Merges,
        mut log: Option<&mut MergeLog>,
        progress: &Progress,
    ) -> Result<()> {
        let least = self.rules.min_frequency.max(1);
        let mut wanted = FIRST_PHASE;
        loop {
            let before = merges.pairs.len();
            self.phase(wanted, least, merges, log.as_deref_mut(), progress)?;
            let remaining = self.rules.merges - merges.pairs.len();
            if remaining == 0 || self.floor <= least {
                return Ok(());
            }
            self.symbols.compact(progress)?;
            // About as many pairs are merged as are watched initially. Where all of those were forbidden,
            // look further: a phase must not repeat itself.
            wanted = if merges.pairs.len() > before { remaining + remaining / 4 } else { wanted * 4 };
        }
    }

    /// Watches about `wanted` pairs, none with a count below `least`, and merges until the best of all pairs
    /// is not one of them. Every token must have one slot.
    pub fn phase(
        &mut self,
        wanted: usize,
        least: u64,
        merges: &mut Merges,
        log: Option<&mut MergeLog>,
        progress: &Progress,
    ) -> Result<()> {
        let (longest, vocabulary) = (self.rules.max_token_bytes, &self.vocabulary);
        let eligible = |left, right| longest == usize::MAX || vocabulary.joint_len(left, right) <= longest;
        let search = PairSearch { symbols: &self.symbols, wanted, least, team: self.team, progress };
        (self.pairs, self.floor) = search.run(eligible, &mut self.arena)?;
        self.fill_queue();
        self.work_phase(merges, log, progress)
    }

    /// Returns the pre-tokens and the vocabulary in their current state.
    pub fn into_parts(self) -> (Symbols, Vocabulary) {
        (self.symbols, self.vocabulary)
    }

    fn fill_queue(&mut self) {
        self.queue.clear();
        for pair in self.pairs.all() {
            let entry = CountedPair { count: pair.count, left: pair.left, right: pair.right };
            if self.rules.allows(pair.left, pair.right, &self.vocabulary) {
                self.queue.push(entry, self.rules.tie_break, &self.vocabulary);
            }
        }
    }

    /// Merges until the best pair falls below the floor or there are enough merges.
    fn work_phase(
        &mut self,
        merges: &mut Merges,
        mut log: Option<&mut MergeLog>,
        progress: &Progress,
    ) -> Result<()> {
        while merges.pairs.len() < self.rules.merges {
            let Some(best) = self.best() else { break };
            progress.check()?;
            self.merge(best, progress);
            merges.push(best, &self.vocabulary);
            progress.advance(1);
            if let Some(log) = &mut log {
                log.write_if_due(merges)?;
            }
        }
        Ok(())
    }

    /// Returns the pair to merge next, while one is at or above the floor.
    fn best(&mut self) -> Option<CountedPair> {
        loop {
            let top = self.queue.top()?;
            let count = self.pairs.get_mut(top.left, top.right).map_or(0, |pair| pair.count);
            if count < self.floor {
                self.queue.pop(self.rules.tie_break, &self.vocabulary);
            } else if count < top.count {
                self.queue.lower_top(count, self.rules.tie_break, &self.vocabulary);
            } else {
                return Some(top);
            }
        }
    }

    /// Applies one merge everywhere and updates the state.
    fn merge(&mut self, best: CountedPair, progress: &Progress) {
        let merge = Merge { left: best.left, right: best.right, new: self.vocabulary.len() as u32 };
        self.vocabulary.add(best.left, best.right);
        self.symbols.add_token(best.left, best.right);
        let pair = self.pairs.get_mut(best.left, best.right).expect("the best pair is watched");
        pair.count = 0;
        let positions = pair.positions.clone();

        let shares = self.shares(&self.arena.all()[positions.clone()]);
        let (symbols, notes, tokens) = (&self.symbols, &self.notes, self.vocabulary.len());
        if let [share] = shares[..] {
            notes[0].lock().unwrap().apply(symbols, merge, share, tokens, progress);
        } else {
            self.team.run(&|member| {
                let share = shares.get(member).copied().unwrap_or_default();
                notes[member].lock().unwrap().apply(symbols, merge, share, tokens, progress);
            });
        }
        let members = shares.len();
        // Its list has been read; the lists of the new pairs may reuse the space.
        self.arena.free(positions);
        self.settle(merge, members);
    }

    /// Divides a list of positions into one share per thread, such that no pre-token is in two shares. Inside
    /// a pre-token of many thousand tokens no boundary is searched for.
    fn shares<'l>(&self, positions: &'l [AtomicU32]) -> Vec<&'l [AtomicU32]> {
        let members = self.team.size().min(positions.len() / SHARE).max(1);
        let mut shares = Vec::with_capacity(members);
        let mut rest = positions;
        for left in (2..=members).rev() {
            let near = rest.len() / left;
            let Some(end) = self.symbols.end_near(rest[near].load(Relaxed)) else { break };
            let cut = near + rest[near..].partition_point(|p| p.load(Relaxed) < end);
            let (share, more) = rest.split_at(cut);
            shares.push(share);
            rest = more;
            if rest.is_empty() {
                return shares;
            }
        }
        shares.push(rest);
        shares
    }

    /// Updates counts, lists and queue with the changes that the threads recorded.
    fn settle(&mut self, merge: Merge, members: usize) {
        let Merge { left, right, new } = merge;
        let all_notes = std::mem::take(&mut self.notes);
        let mut notes: Vec<_> = all_notes[..members].iter().map(|n| n.lock().unwrap()).collect();
        let mut scatter = false;

        // Where two merges touched: pairs (new, new), and equally many pairs (new, left) that did not last.
        let touching: u64 = notes.iter().map(|n| n.0[LEFT].changes[new as usize].weight).sum();

        for side in [LEFT, RIGHT] {
            for member in 0..members {
                for i in 0..notes[member].0[side].touched.len() {
                    let neighbor = notes[member].0[side].touched[i];
                    let change = |m: usize| notes[m].0[side].changes[neighbor as usize];
                    if (0..member).any(|m| change(m).count > 0) {
                        continue; // already added up with the earlier member's
                    }
                    let weight: u64 = (member..members).map(|m| change(m).weight).sum();
                    let (lost, gained, count) = if side == LEFT {
                        ((neighbor, left), (neighbor, new), weight)
                    } else {
                        let short_lived = if neighbor == left { touching } else { 0 };
                        ((right, neighbor), (new, neighbor), weight - short_lived)
                    };
                    if lost.0 != new
                        && let Some(pair) = self.pairs.get_mut(lost.0, lost.1)
                        && pair.count > 0
                    {
                        pair.count -= weight;
                    }
                    let positions: usize = (member..members).map(|m| change(m).count as usize).sum();
                    let list = self.watch(CountedPair { count, left: gained.0, right: gained.1 }, positions);
                    scatter |= list.is_some();
                    let mut cursor = list.unwrap_or(NOWHERE);
                    for notes in &mut notes[member..] {
                        let change = &mut notes.0[side].changes[neighbor as usize];
                        change.cursor = cursor;
                        cursor += if list.is_some() { change.count as usize } else { 0 };
                    }
                }
            }
        }
        drop(notes);
        self.notes = all_notes;
        if scatter {
            let arena = self.arena.all();
            if members == 1 {
                self.notes[0].lock().unwrap().scatter(arena);
            } else {
                self.team.run(&|member| {
                    if member < members {
                        self.notes[member].lock().unwrap().scatter(arena);
                    }
                });
            }
        }
    }

    /// Adds a new pair if it is frequent enough and returns where its list of `positions` positions starts.
    fn watch(&mut self, pair: CountedPair, positions: usize) -> Option<usize> {
        if pair.count < self.floor || !self.rules.allows(pair.left, pair.right, &self.vocabulary) {
            return None;
        }
        let start = self.arena.allocate(positions);
        self.queue.push(pair, self.rules.tie_break, &self.vocabulary);
        self.pairs.insert(pair.left, pair.right, pair.count, start..start + positions);
        Some(start)
    }
}

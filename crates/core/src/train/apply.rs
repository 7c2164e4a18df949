//! Apply: one merge along its positions, and a record of what changed around it.
//!
//! Changes accumulate in dense arrays indexed by the neighboring token, so that the pair table is touched
//! once per distinct neighbor and not once per occurrence. Everything here works on one thread's share of the
//! positions; no pre-token is in two shares.
//!
//! Cost: one cache line per position, prefetched, and 24 bytes per known token, side and thread.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::symbols::{END, Symbols};
use crate::Progress;
use crate::memory::prefetch;

/// How many positions ahead a cache line is prefetched: about a memory latency at the speed of this loop.
const AHEAD: usize = 24;

/// A pair and the token that replaces it.
#[derive(Clone, Copy)]
pub struct Merge {
    pub left: u32,
    pub right: u32,
    pub new: u32,
}

/// What one neighboring token gained on one side of the merge.
#[derive(Clone, Copy, Default)]
pub struct Change {
    pub weight: u64,
    /// The number of positions.
    pub count: u32,
    /// The arena index of the next position, or `NOWHERE`.
    pub cursor: usize,
}

pub const NOWHERE: usize = usize::MAX;

/// All changes on one side.
#[derive(Default)]
pub struct SideChanges {
    pub changes: Vec<Change>,
    /// The neighbors that have a change, each once.
    pub touched: Vec<u32>,
    /// Neighbor and position of each new pair, in ascending order of position.
    events: Vec<(u32, u32)>,
}

impl SideChanges {
    #[inline(always)]
    fn note(&mut self, neighbor: u32, position: u32, weight: u64) {
        let change = &mut self.changes[neighbor as usize];
        if change.count == 0 {
            self.touched.push(neighbor);
        }
        change.weight += weight;
        change.count += 1;
        self.events.push((neighbor, position));
    }

    fn reset(&mut self, tokens: usize) {
        for &neighbor in &self.touched {
            self.changes[neighbor as usize] = Change::default();
        }
        self.touched.clear();
        self.events.clear();
        self.changes.resize(tokens, Change::default());
    }

    fn scatter(&mut self, arena: &[AtomicU32]) {
        for &(neighbor, position) in &self.events {
            let cursor = &mut self.changes[neighbor as usize].cursor;
            if *cursor != NOWHERE {
                arena[*cursor].store(position, Relaxed);
                *cursor += 1;
            }
        }
    }
}

/// On the left of the merge, each neighbor loses a pair with the left part and gains one with the new token.
pub const LEFT: usize = 0;
/// On the right, it loses a pair with the right part.
pub const RIGHT: usize = 1;

/// The changes around one merge in one thread's share, by side.
#[derive(Default)]
pub struct NeighborChanges(pub [SideChanges; 2]);

impl NeighborChanges {
    /// Merges at every position where the pair still occurs, until asked to stop.
    ///
    /// Where two merges touch (`abab`), the first records its right neighbor `a` and the second its left
    /// neighbor `new`: the pair (new, a) recorded first is gone again, and the owner subtracts it.
    pub fn apply(
        &mut self,
        symbols: &Symbols,
        merge: Merge,
        positions: &[AtomicU32],
        tokens: usize,
        progress: &Progress,
    ) {
        self.0.iter_mut().for_each(|side| side.reset(tokens));
        let mut weights = symbols.weights();
        for (i, position) in positions.iter().enumerate() {
            if i.is_multiple_of(1 << 18) && progress.is_cancelled() {
                break;
            }
            if let Some(ahead) = positions.get(i + AHEAD) {
                prefetch(symbols.slots(), ahead.load(Relaxed) as usize);
            }
            let position = position.load(Relaxed);
            let Some(around) = symbols.merge_at(position, merge.left, merge.right, merge.new) else {
                continue;
            };
            let weight = weights.at(position);
            if around.left != END {
                self.0[LEFT].note(around.left, position - symbols.width(around.left), weight);
            }
            if around.right != END {
                self.0[RIGHT].note(around.right, position, weight);
            }
        }
    }

    /// Writes the positions of the new pairs that were given a list.
    pub fn scatter(&mut self, arena: &[AtomicU32]) {
        self.0.iter_mut().for_each(|side| side.scatter(arena));
    }
}

//! Finding all pairs at or above a floor, with exact counts and positions, in a few sequential passes.
//!
//! 1. *CellSum*: add each pair's weight to one of about a million cells by hash. No keys and no probing; a
//!    cell's sum can only be too high for a pair. With few tokens every pair has a cell of its own.
//! 2. *Fill*: note the positions of the cells that reach the floor. Most pairs are rare and fall away here,
//!    however many there are. Each thread has its own stretch of the array and its own place in every list;
//!    stretches are in order, so every list comes out sorted.
//! 3. *Resolve*: where pairs share a cell, tell them apart by a look at the array, and drop the rare ones.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bytemuck::Zeroable;

use super::arena::Arena;
use super::symbols::Symbols;
use super::watched::WatchedPairs;
use crate::memory::{prefetch, zeroed_in_huge_pages};
use crate::team::Team;
use crate::{Progress, Result};

/// What one thread saw of the pairs of one cell. A weight that only has to be compared with the floor may
/// stop at 2³² - 1: half the size keeps more of the table in the cache.
#[derive(Clone, Copy, Zeroable)]
struct CellSum<W> {
    weight: W,
    positions: u32,
}

/// Which cell a pair belongs to.
trait Cells: Copy + Sync {
    type Weight: Copy + Zeroable + Send + Sync + Into<u64> + TryFrom<u64>;
    const MOST: Self::Weight;
    fn count(self) -> usize;
    fn of(self, left: u32, right: u32) -> usize;
    /// The pair of a cell that is its own, or none where pairs share it.
    fn pair(self, cell: usize) -> Option<(u32, u32)>;
}

/// One cell for each pair of so many tokens.
#[derive(Clone, Copy)]
struct OwnCells {
    tokens: u32,
}

impl Cells for OwnCells {
    type Weight = u64;
    const MOST: u64 = u64::MAX;

    fn count(self) -> usize {
        (self.tokens * self.tokens) as usize
    }

    #[inline(always)]
    fn of(self, left: u32, right: u32) -> usize {
        (left * self.tokens + right) as usize
    }

    fn pair(self, cell: usize) -> Option<(u32, u32)> {
        Some((cell as u32 / self.tokens, cell as u32 % self.tokens))
    }
}

/// By multiplicative hash.
#[derive(Clone, Copy)]
struct SharedCells {
    shift: u32,
}

impl Cells for SharedCells {
    type Weight = u32;
    const MOST: u32 = u32::MAX;

    fn count(self) -> usize {
        1 << (64 - self.shift)
    }

    #[inline(always)]
    fn of(self, left: u32, right: u32) -> usize {
        super::watched::cell_of(left, right, self.shift)
    }

    fn pair(self, _: usize) -> Option<(u32, u32)> {
        None
    }
}

/// How many slots are walked between two looks at the request to stop: a few milliseconds.
const PART: usize = 1 << 20;

/// How many positions ahead a cache line is asked for.
const AHEAD: usize = 24;

/// A cell below the floor.
const NOWHERE: u32 = u32::MAX;

/// With more tokens than this, pairs share cells. (Small in tests, so that they take both roads.)
const OWN_CELLS: usize = if cfg!(test) { 256 } else { 512 };
/// At least and at most so many bits of hash choose a shared cell.
const BITS: (u32, u32) = if cfg!(test) { (3, 5) } else { (12, 21) };

/// What to look for, and who looks.
pub struct PairSearch<'a> {
    pub symbols: &'a Symbols,
    /// About so many pairs are to be found: the floor follows from it.
    pub wanted: usize,
    /// But pairs below this are never wanted.
    pub least: u64,
    pub team: &'a Team,
    pub progress: &'a Progress,
}

impl PairSearch<'_> {
    /// Every eligible pair whose count is at least the floor, and the floor. The lists replace what was in
    /// `arena`.
    pub fn run(
        &self,
        eligible: impl Fn(u32, u32) -> bool + Sync,
        arena: &mut Arena,
    ) -> Result<(WatchedPairs, u64)> {
        let tokens = self.symbols.tokens();
        if tokens <= OWN_CELLS {
            return self.with(OwnCells { tokens: tokens as u32 }, eligible, arena);
        }
        let bits = (self.symbols.len() / 8).max(1).ilog2().clamp(BITS.0, BITS.1);
        self.with(SharedCells { shift: 64 - bits }, eligible, arena)
    }

    fn with<B: Cells>(
        &self,
        cells: B,
        eligible: impl Fn(u32, u32) -> bool + Sync,
        arena: &mut Arena,
    ) -> Result<(WatchedPairs, u64)> {
        let &PairSearch { symbols, wanted, least, team, progress } = self;
        // Each thread has one stretch of the array, in parts that end often enough to hear a request to stop.
        let parts_each = symbols.len().div_ceil(team.size() * PART);
        let parts = symbols.ranges(team.size() * parts_each);
        let stretch = |member: usize| {
            let parts = &parts[member * parts_each..][..parts_each];
            parts.iter().take_while(|_| !progress.is_cancelled())
        };
        let sums = on_each(team, |member| {
            let mut sums: Vec<CellSum<B::Weight>> = zeroed_in_huge_pages(cells.count());
            for part in stretch(member) {
                symbols.for_each_pair(part.clone(), |_, left, right, weight| {
                    if eligible(left, right) {
                        let sum_of_cell = &mut sums[cells.of(left, right)];
                        let sum = sum_of_cell.weight.into().saturating_add(weight);
                        sum_of_cell.weight = sum.try_into().unwrap_or(B::MOST);
                        sum_of_cell.positions += 1;
                    }
                });
            }
            sums
        });
        progress.check()?;

        let weight = |cell: usize| sums.iter().map(|sums| sums[cell].weight.into()).sum();
        let weights: Vec<u64> = (0..cells.count()).map(weight).collect();
        let floor = largest(&weights, wanted).max(least);

        // Lists get their places in the arena; each thread knows where in each list its own part begins.
        let mut list_of = vec![NOWHERE; cells.count()];
        let mut lists: Vec<CellList> = Vec::new();
        let mut cursors: Vec<Vec<u32>> = vec![Vec::new(); team.size()];
        let mut end = 0;
        for (cell, &weight) in weights.iter().enumerate().filter(|&(_, &weight)| weight >= floor) {
            list_of[cell] = lists.len() as u32;
            let start = end;
            for (cursors, sums) in cursors.iter_mut().zip(&sums) {
                cursors.push(end as u32);
                end += sums[cell].positions as usize;
            }
            lists.push(CellList { pair: cells.pair(cell), weight, positions: start..end });
        }
        drop(weights);
        drop(sums);
        let shared_arena = arena.restart(end);
        let cursors: Vec<Mutex<Vec<u32>>> = cursors.into_iter().map(Mutex::new).collect();
        on_each(team, |member| {
            let mut cursors = cursors[member].lock().unwrap();
            for part in stretch(member) {
                symbols.for_each_pair(part.clone(), |position, left, right, _| {
                    let list = list_of[cells.of(left, right)];
                    if list != NOWHERE && eligible(left, right) {
                        let cursor = &mut cursors[list as usize];
                        shared_arena[*cursor as usize].store(position, Relaxed);
                        *cursor += 1;
                    }
                });
            }
        });
        progress.check()?;

        let share = lists.len().div_ceil(team.size());
        let found = on_each(team, |member| {
            let mut found = Vec::new();
            let lists = lists.iter().skip(member * share).take(share);
            for list in lists.take_while(|_| !progress.is_cancelled()) {
                list.resolve(symbols, shared_arena, floor, &mut found);
            }
            found
        });
        let mut pairs = WatchedPairs::new(16);
        for PairPositions { left, right, weight, positions } in found.into_iter().flatten() {
            pairs.insert(left, right, weight, positions);
        }
        progress.check()?;
        Ok((pairs, floor))
    }
}

/// What each member of the team makes, in their order.
fn on_each<T: Send>(team: &Team, make: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let made: Vec<Mutex<Option<T>>> = (0..team.size()).map(|_| Mutex::new(None)).collect();
    team.run(&|member| *made[member].lock().unwrap() = Some(make(member)));
    made.into_iter().map(|made| made.into_inner().unwrap().expect("every member makes one")).collect()
}

/// The `n`-th largest value that is not zero, or 0 where there are fewer.
pub fn largest(values: &[u64], n: usize) -> u64 {
    let mut values: Vec<u64> = values.iter().copied().filter(|&v| v > 0).collect();
    if values.len() <= n {
        return 0;
    }
    let place = values.len() - n.max(1);
    *values.select_nth_unstable(place).1
}

/// The positions of one cell.
struct CellList {
    /// Whose they are, where the cell has one pair only.
    pair: Option<(u32, u32)>,
    weight: u64,
    positions: Range<usize>,
}

struct PairPositions {
    left: u32,
    right: u32,
    weight: u64,
    positions: Range<usize>,
}

impl CellList {
    /// Sorts the list by pair, keeping the order of positions, and reports the pairs that reach the floor.
    fn resolve(&self, symbols: &Symbols, arena: &[AtomicU32], floor: u64, found: &mut Vec<PairPositions>) {
        if let Some((left, right)) = self.pair {
            found.push(PairPositions { left, right, weight: self.weight, positions: self.positions.clone() });
            return;
        }
        let mut pairs: Vec<PairPositions> = Vec::new();
        let mut sorted = true;
        let positions = &arena[self.positions.clone()];
        let mut weights = symbols.weights();
        for (i, position) in positions.iter().enumerate() {
            if let Some(ahead) = positions.get(i + AHEAD) {
                prefetch(symbols.slots(), ahead.load(Relaxed) as usize);
            }
            let position = position.load(Relaxed);
            let (left, right) = (symbols.at(position), symbols.at(position + 1));
            let weight = weights.at(position);
            let here = self.positions.start + i;
            match pairs.iter_mut().find(|pair| (pair.left, pair.right) == (left, right)) {
                Some(pair) => {
                    sorted &= pair.positions.end == here;
                    pair.weight += weight;
                    pair.positions.end += 1;
                }
                None => pairs.push(PairPositions { left, right, weight, positions: here..here + 1 }),
            }
        }
        pairs.retain(|pair| pair.weight >= floor);
        if !sorted {
            let copy: Vec<u32> = positions.iter().map(|position| position.load(Relaxed)).collect();
            let mut end = self.positions.start;
            for pair in &mut pairs {
                let start = end;
                for &position in &copy {
                    if (symbols.at(position), symbols.at(position + 1)) == (pair.left, pair.right) {
                        arena[end].store(position, Relaxed);
                        end += 1;
                    }
                }
                pair.positions = start..end;
            }
        }
        found.append(&mut pairs);
    }
}

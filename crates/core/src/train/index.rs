//! Index: finds all pairs whose count reaches a floor, with exact counts and positions, in a few sequential
//! passes.
//!
//! 1. *Sum*: add the weight of each pair to one of about a million cells, chosen by hash. There are no keys and
//!    no probing, so the sum of a cell can only be too high for a pair. With few tokens every pair has its own
//!    cell.
//! 2. *Fill*: record the positions of the cells that reach the floor. Most pairs are rare and drop out here,
//!    however many there are. Each thread has its own stretch of the array and its own offset in every list;
//!    stretches are in order, so every list comes out sorted.
//! 3. *Resolve*: where pairs share a cell, read the array to distinguish them, and drop the rare ones.
//!
//! Cost: two passes over the array and one over the positions that are kept, all sequential and on all
//! threads. The sums are a Count-Min sketch with one row (Cormode and Muthukrishnan, 2005), used as an upper
//! bound only. It loses where nearly all pairs reach the floor: then nothing drops out and a hash table would
//! do.

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

/// The pairs of one cell that one thread saw. A weight that is only an upper bound may saturate at 2³² - 1, which
/// then stands for any number: half the size keeps more of the table in the cache.
#[derive(Clone, Copy, Zeroable)]
struct CellSum<W> {
    weight: W,
    positions: u32,
}

/// Maps pairs to cells.
trait Cells: Copy + Sync {
    type Weight: Copy + Zeroable + Send + Sync + Into<u64> + TryFrom<u64>;
    const MOST: Self::Weight;
    fn count(self) -> usize;
    fn of(self, left: u32, right: u32) -> usize;
    /// The only pair of a cell, or `None` where pairs share it.
    fn pair(self, cell: usize) -> Option<(u32, u32)>;
}

/// One cell for each pair of `tokens` tokens.
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

/// Cells that pairs share, chosen by multiplicative hash.
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

/// How many slots are read between two checks for a request to stop: a few milliseconds.
const PART: usize = 1 << 20;

/// How many positions ahead a cache line is prefetched.
const AHEAD: usize = 24;

/// A cell below the floor.
const NOWHERE: u32 = u32::MAX;

/// With more tokens than this, pairs share cells. (Small in tests, so that they take both paths.)
const OWN_CELLS: usize = if cfg!(test) { 256 } else { 512 };
/// The least and the greatest number of hash bits that choose a shared cell.
const BITS: (u32, u32) = if cfg!(test) { (3, 5) } else { (12, 21) };

/// A search for frequent pairs: what to look for, and who looks.
pub struct PairSearch<'a> {
    pub symbols: &'a Symbols,
    /// About how many pairs to find; the floor follows from it.
    pub wanted: usize,
    /// The lowest floor: pairs with a lower count are never wanted.
    pub least: u64,
    pub team: &'a Team,
    pub progress: &'a Progress,
}

impl PairSearch<'_> {
    /// Returns every eligible pair whose count is at least the floor, and the floor. The lists replace the
    /// contents of `arena`.
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

    fn with<C: Cells>(
        &self,
        cells: C,
        eligible: impl Fn(u32, u32) -> bool + Sync,
        arena: &mut Arena,
    ) -> Result<(WatchedPairs, u64)> {
        let stretches = self.stretches();
        let sums = self.sum_cells(cells, &eligible, &stretches);
        self.progress.check()?;
        let weights = total_weights(cells, &sums);
        // Saturated cells cannot be compared with a higher floor, so all of them stay.
        let floor = largest(&weights, self.wanted).min(C::MOST.into()).max(self.least);
        let Layout { list_of, lists, cursors, end } = lay_out(cells, &sums, &weights, floor);
        drop(weights);
        drop(sums);
        let positions = arena.restart(end);
        self.fill_lists(cells, &eligible, &stretches, &list_of, cursors, positions);
        self.progress.check()?;
        let pairs = self.resolve_lists(&lists, floor, positions);
        self.progress.check()?;
        Ok((pairs, floor))
    }

    /// One stretch of the array for each member, in parts short enough to notice a request to stop.
    fn stretches(&self) -> Vec<Vec<Range<u32>>> {
        let members = self.team.size();
        let parts_each = self.symbols.len().div_ceil(members * PART);
        let parts = self.symbols.ranges(members * parts_each);
        parts.chunks(parts_each).map(<[_]>::to_vec).collect()
    }

    /// Calls `visit(position, left, right, weight)` for every pair of a stretch, until asked to stop.
    #[inline(always)]
    fn for_each_pair(&self, stretch: &[Range<u32>], mut visit: impl FnMut(u32, u32, u32, u64)) {
        for part in stretch.iter().take_while(|_| !self.progress.is_cancelled()) {
            self.symbols.for_each_pair(part.clone(), &mut visit);
        }
    }

    /// Step 1: the cells of every member.
    fn sum_cells<C: Cells>(
        &self,
        cells: C,
        eligible: &(impl Fn(u32, u32) -> bool + Sync),
        stretches: &[Vec<Range<u32>>],
    ) -> Vec<Vec<CellSum<C::Weight>>> {
        on_each(self.team, |member| {
            let mut sums: Vec<CellSum<C::Weight>> = zeroed_in_huge_pages(cells.count());
            self.for_each_pair(&stretches[member], |_, left, right, weight| {
                if eligible(left, right) {
                    let cell = &mut sums[cells.of(left, right)];
                    let sum = cell.weight.into().saturating_add(weight);
                    cell.weight = sum.try_into().unwrap_or(C::MOST);
                    cell.positions += 1;
                }
            });
            sums
        })
    }

    /// Step 2: writes the position of every pair whose cell has a list.
    fn fill_lists<C: Cells>(
        &self,
        cells: C,
        eligible: &(impl Fn(u32, u32) -> bool + Sync),
        stretches: &[Vec<Range<u32>>],
        list_of: &[u32],
        cursors: Vec<Vec<u32>>,
        positions: &[AtomicU32],
    ) {
        let cursors: Vec<Mutex<Vec<u32>>> = cursors.into_iter().map(Mutex::new).collect();
        on_each(self.team, |member| {
            let mut cursors = cursors[member].lock().unwrap();
            self.for_each_pair(&stretches[member], |position, left, right, _| {
                let list = list_of[cells.of(left, right)];
                if list != NOWHERE && eligible(left, right) {
                    let cursor = &mut cursors[list as usize];
                    positions[*cursor as usize].store(position, Relaxed);
                    *cursor += 1;
                }
            });
        });
    }

    /// Step 3: the pairs of all lists that reach the floor.
    fn resolve_lists(&self, lists: &[CellList], floor: u64, positions: &[AtomicU32]) -> WatchedPairs {
        let share = lists.len().div_ceil(self.team.size());
        let found = on_each(self.team, |member| {
            let mut found = Vec::new();
            let lists = lists.iter().skip(member * share).take(share);
            for list in lists.take_while(|_| !self.progress.is_cancelled()) {
                list.resolve(self.symbols, positions, floor, &mut found);
            }
            found
        });
        let mut pairs = WatchedPairs::new(16);
        for PairPositions { left, right, weight, positions } in found.into_iter().flatten() {
            pairs.insert(left, right, weight, positions);
        }
        pairs
    }
}

/// The weight of every cell, of all members together; as high as can be where one of them has saturated.
fn total_weights<C: Cells>(cells: C, sums: &[Vec<CellSum<C::Weight>>]) -> Vec<u64> {
    let known = |weight: u64| if weight == C::MOST.into() { u64::MAX } else { weight };
    let weight = |cell: usize| {
        sums.iter().fold(0, |sum: u64, sums| sum.saturating_add(known(sums[cell].weight.into())))
    };
    (0..cells.count()).map(weight).collect()
}

/// Where the lists are in the arena.
struct Layout {
    /// By cell: its list, or [`NOWHERE`].
    list_of: Vec<u32>,
    lists: Vec<CellList>,
    /// By member and list: where in the arena the member's first position goes.
    cursors: Vec<Vec<u32>>,
    /// Where the last list ends.
    end: usize,
}

/// Gives every cell that reaches the floor a list, and every member its own part of each list.
fn lay_out<C: Cells>(cells: C, sums: &[Vec<CellSum<C::Weight>>], weights: &[u64], floor: u64) -> Layout {
    let mut list_of = vec![NOWHERE; cells.count()];
    let mut lists = Vec::new();
    let mut cursors: Vec<Vec<u32>> = vec![Vec::new(); sums.len()];
    let mut end = 0;
    for (cell, &weight) in weights.iter().enumerate().filter(|&(_, &weight)| weight >= floor) {
        list_of[cell] = lists.len() as u32;
        let start = end;
        for (cursors, sums) in cursors.iter_mut().zip(sums) {
            cursors.push(end as u32);
            end += sums[cell].positions as usize;
        }
        lists.push(CellList { pair: cells.pair(cell), weight, positions: start..end });
    }
    Layout { list_of, lists, cursors, end }
}

/// Calls `make` on every member of the team and returns the results in the order of the members.
fn on_each<T: Send>(team: &Team, make: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let made: Vec<Mutex<Option<T>>> = (0..team.size()).map(|_| Mutex::new(None)).collect();
    team.run(&|member| *made[member].lock().unwrap() = Some(make(member)));
    made.into_iter().map(|made| made.into_inner().unwrap().expect("every member makes one")).collect()
}

/// Returns the `n`-th largest value that is not zero, or 0 if there are fewer.
pub fn largest(values: &[u64], n: usize) -> u64 {
    let mut values: Vec<u64> = values.iter().copied().filter(|&v| v > 0).collect();
    if values.len() <= n {
        return 0;
    }
    let index = values.len() - n.max(1);
    *values.select_nth_unstable(index).1
}

/// The positions of the pairs of one cell.
struct CellList {
    /// The pair, if the cell has only one.
    pair: Option<(u32, u32)>,
    weight: u64,
    positions: Range<usize>,
}

/// One pair with its exact weight and its positions in the arena.
struct PairPositions {
    left: u32,
    right: u32,
    weight: u64,
    positions: Range<usize>,
}

impl CellList {
    /// Groups the list by pair, keeping the order of positions, and adds the pairs that reach the floor to
    /// `found`.
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

//! Symbols: all pre-tokens as one flat array of tokens, laid out so that a merge touches one cache line.
//!
//! Each token takes one slot at first; an `END` slot precedes, separates and follows the pre-tokens. A merged
//! token keeps the slots of its parts and writes its id to the first *and* the last of them (boundary tags,
//! as in `malloc`): from any token, the id of the left neighbor is one slot to the left and that of the right
//! neighbor is `width[token]` slots to the right. There are no links to follow and nothing is shifted.
//!
//! Pre-tokens are sorted by falling count. The weight of a position is then found by walking a short list of
//! boundaries alongside an ascending list of positions: no weight is stored per slot or per pre-token.
//!
//! Cost: four bytes per token. Merged tokens keep their slots until `compact`, so late merges read memory
//! that is mostly holes; phases (`in_memory.rs`) compact the array before that hurts.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::memory::zeroed_in_huge_pages;
use crate::team::Team;
use crate::{Progress, Result};

/// Separates pre-tokens; greater than every token.
pub const END: u32 = u32::MAX - 1;
/// Replaces the first slot of a token that became the right part of a merge.
const HOLE: u32 = u32::MAX;

/// The slots from the previous group's end up to `end`, which belong to pre-tokens of this weight.
#[derive(Clone, Copy)]
struct WeightGroup {
    end: u32,
    weight: u64,
}

/// The array of all pre-tokens. Threads change disjoint ranges of it at the same time; relaxed atomics make
/// that sound at no cost.
pub struct Symbols {
    slots: Vec<AtomicU32>,
    /// By token: how many slots it takes.
    width: Vec<u32>,
    groups: Vec<WeightGroup>,
    /// The group of every 64th slot, so that a walk can jump.
    group_of_block: Vec<u32>,
}

const BLOCK: u32 = 64;

/// The tokens on both sides of a pair that was just merged.
pub struct Neighbors {
    pub left: u32,
    pub right: u32,
}

impl Symbols {
    /// Builds the array from shares that several threads write at the same time.
    ///
    /// Share `n` takes `sizes[n]` slots: one for each token and one `END` for each of its pre-tokens.
    /// `write(n, pretokens)` adds the pre-tokens of share `n`; across all shares, weights must be in falling
    /// order.
    pub fn build(
        sizes: &[usize],
        tokens: usize,
        team: &Team,
        write: impl Fn(usize, &mut PretokenWriter) + Sync,
    ) -> Symbols {
        let slots: Vec<AtomicU32> = zeroed_in_huge_pages(1 + sizes.iter().sum::<usize>());
        slots[0].store(END, Relaxed);
        let starts = sizes.iter().scan(1, |end, size| Some(std::mem::replace(end, *end + size)));
        let shares: Vec<_> = starts.enumerate().collect();
        let groups: Vec<Mutex<Vec<WeightGroup>>> = shares.iter().map(|_| Mutex::default()).collect();
        team.for_each(shares, |(share, start)| {
            let mut pretokens = PretokenWriter { slots: &slots, next: start, groups: Vec::new() };
            write(share, &mut pretokens);
            *groups[share].lock().unwrap() = pretokens.groups;
        });
        let mut all: Vec<WeightGroup> = Vec::new();
        for group in groups.into_iter().flat_map(|groups| groups.into_inner().unwrap()) {
            match all.last_mut() {
                Some(last) if last.weight == group.weight => last.end = group.end,
                _ => all.push(group),
            }
        }
        let mut symbols = Symbols { slots, width: Vec::new(), groups: all, group_of_block: Vec::new() };
        symbols.finish(tokens);
        symbols
    }

    /// Fills the tables that depend on all pre-tokens; `tokens` is the number of known tokens.
    fn finish(&mut self, tokens: usize) {
        self.width = vec![1; tokens];
        self.group_of_block.clear();
        let mut group = 0;
        for block in (0..self.slots.len() as u32).step_by(BLOCK as usize) {
            while self.groups.get(group).is_some_and(|g| g.end <= block) {
                group += 1;
            }
            self.group_of_block.push(group as u32);
        }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// The number of known tokens.
    pub fn tokens(&self) -> usize {
        self.width.len()
    }

    pub fn slots(&self) -> &[AtomicU32] {
        &self.slots
    }

    #[inline(always)]
    pub fn at(&self, position: u32) -> u32 {
        self.slots[position as usize].load(Relaxed)
    }

    #[inline(always)]
    fn put(&self, position: u32, token: u32) {
        self.slots[position as usize].store(token, Relaxed);
    }

    #[inline(always)]
    pub fn width(&self, token: u32) -> u32 {
        self.width[token as usize]
    }

    /// Adds the token left + right; its id is the next one.
    pub fn add_token(&mut self, left: u32, right: u32) {
        self.width.push(self.width(left) + self.width(right));
    }

    /// Replaces the pair that begins at `position` by `new` if it is still there.
    ///
    /// A position was the start of `left` when it was recorded. Since then that token may have become part of
    /// another: then its slot holds a longer token or a hole, never `left` again, so one comparison decides.
    #[inline(always)]
    pub fn merge_at(&self, position: u32, left: u32, right: u32, new: u32) -> Option<Neighbors> {
        if self.at(position) != left {
            return None;
        }
        let middle = position + self.width(left);
        if self.at(middle) != right {
            return None;
        }
        let after = middle + self.width(right);
        self.put(position, new);
        self.put(middle, HOLE);
        self.put(after - 1, new);
        Some(Neighbors { left: self.at(position - 1), right: self.at(after) })
    }

    /// Calls `visit(position, left, right, weight)` for every adjacent pair in the slots of `range`, which
    /// must begin and end at an `END`. Valid only right after `build` or `compact`, while every token has one
    /// slot.
    #[inline(always)]
    pub fn for_each_pair(&self, range: Range<u32>, mut visit: impl FnMut(u32, u32, u32, u64)) {
        let mut start = range.start;
        let first = self.groups.partition_point(|group| group.end <= start);
        for group in &self.groups[first..] {
            let end = group.end.min(range.end);
            if start >= end {
                break;
            }
            let mut left = self.at(start);
            for (position, right) in (start..).zip(&self.slots[start as usize + 1..end as usize + 1]) {
                let right = right.load(Relaxed);
                if left < END && right < END {
                    visit(position, left, right, group.weight);
                }
                left = right;
            }
            start = end;
        }
    }

    /// Calls `visit(weight, tokens)` for every pre-token in the slots of `range`, which must begin and end at
    /// an `END`.
    pub fn for_each_pretoken(
        &self,
        range: Range<u32>,
        mut visit: impl FnMut(u64, &[u32]) -> Result<()>,
    ) -> Result<()> {
        let mut weights = self.weights();
        let mut tokens = Vec::new();
        let mut at = range.start + 1;
        while at <= range.end {
            let start = at;
            tokens.clear();
            while self.at(at) != END {
                tokens.push(self.at(at));
                at += self.width(self.at(at));
            }
            at += 1;
            visit(weights.at(start), &tokens)?;
        }
        Ok(())
    }

    /// Returns a cursor over the weights of ascending positions.
    pub fn weights(&self) -> WeightCursor<'_> {
        WeightCursor { symbols: self, group: 0, end: 0, weight: 0 }
    }

    /// Returns the first slot at or after `position` that holds an `END`, if it is near. Ends never move.
    pub fn end_near(&self, position: u32) -> Option<u32> {
        (position..self.len() as u32).take(1 << 16).find(|&p| self.at(p) == END)
    }

    fn next_end(&self, position: u32) -> u32 {
        (position..self.len() as u32).find(|&p| self.at(p) == END).expect("the last slot is an end")
    }

    /// Divides all slots into `count` ranges of about equal size, each from one `END` to another.
    pub fn ranges(&self, count: usize) -> Vec<Range<u32>> {
        let last = self.len() - 1;
        let mut start = 0;
        let mut ranges = Vec::with_capacity(count);
        for part in 1..=count {
            let end = self.next_end(((last * part / count) as u32).max(start));
            ranges.push(start..end);
            start = end;
        }
        ranges
    }

    /// Gives every token one slot again and drops the pre-tokens that have become a single token. Positions
    /// recorded before become invalid.
    pub fn compact(&mut self, progress: &Progress) -> Result<()> {
        let mut write = 1;
        let mut groups = Vec::with_capacity(self.groups.len());
        let mut read = 1;
        let mut pretokens = 0usize;
        for group in std::mem::take(&mut self.groups) {
            let before = write;
            while read < group.end {
                pretokens += 1;
                if pretokens.is_multiple_of(1 << 16) {
                    progress.check()?;
                }
                let pretoken = write;
                loop {
                    let token = self.at(read);
                    self.put(write, token);
                    write += 1;
                    if token == END {
                        read += 1;
                        break;
                    }
                    read += self.width(token);
                }
                if write - pretoken <= 2 {
                    write = pretoken;
                }
            }
            if write > before {
                groups.push(WeightGroup { end: write, weight: group.weight });
            }
        }
        self.slots.truncate(write as usize);
        self.groups = groups;
        self.finish(self.width.len());
        Ok(())
    }
}

/// Writes one share of the pre-tokens.
pub struct PretokenWriter<'a> {
    slots: &'a [AtomicU32],
    next: usize,
    groups: Vec<WeightGroup>,
}

impl PretokenWriter<'_> {
    /// Appends a pre-token and its `END`.
    pub fn push(&mut self, tokens: impl Iterator<Item = u32>, weight: u64) {
        for token in tokens.chain([END]) {
            self.slots[self.next].store(token, Relaxed);
            self.next += 1;
        }
        let end = self.next as u32;
        match self.groups.last_mut() {
            Some(group) if group.weight == weight => group.end = end,
            _ => self.groups.push(WeightGroup { end, weight }),
        }
    }
}

/// A cursor over the weights of ascending positions.
pub struct WeightCursor<'a> {
    symbols: &'a Symbols,
    group: usize,
    end: u32,
    weight: u64,
}

impl WeightCursor<'_> {
    /// Returns the weight at `position`, which must not be smaller than the previous one.
    #[inline(always)]
    pub fn at(&mut self, position: u32) -> u64 {
        if position >= self.end {
            self.jump(position);
        }
        self.weight
    }

    #[cold]
    fn jump(&mut self, position: u32) {
        let Symbols { groups, group_of_block, .. } = self.symbols;
        self.group = self.group.max(group_of_block[(position / BLOCK) as usize] as usize);
        while groups[self.group].end <= position {
            self.group += 1;
        }
        self.end = groups[self.group].end;
        self.weight = groups[self.group].weight;
    }
}

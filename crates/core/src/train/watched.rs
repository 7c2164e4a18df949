//! Watched pairs: for each its exact count and the positions where it may occur.
//!
//! A chained hash table whose records keep their index, because the threads that fill position lists keep
//! their own cursors by index. Only pairs with a count of at least the phase's floor are stored, tens of
//! thousands out of millions, so the table stays in the cache.

use std::ops::Range;

const NONE: u32 = u32::MAX;

/// A pair, its count and its positions.
pub struct WatchedPair {
    pub left: u32,
    pub right: u32,
    /// Zero once the pair was merged or fell below the floor.
    pub count: u64,
    /// The range of its positions in the arena; some may be stale.
    pub positions: Range<usize>,
    next: u32,
}

/// The table of watched pairs.
pub struct WatchedPairs {
    heads: Vec<u32>,
    shift: u32,
    pairs: Vec<WatchedPair>,
}

/// Returns the cell of a pair by multiplicative hashing: the top `64 - shift` bits of the product are well
/// mixed.
#[inline(always)]
pub fn cell_of(left: u32, right: u32, shift: u32) -> usize {
    let pair = (left as u64) << 32 | right as u64;
    (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize
}

impl WatchedPairs {
    pub fn new(bits: u32) -> WatchedPairs {
        WatchedPairs { heads: vec![NONE; 1 << bits], shift: 64 - bits, pairs: Vec::new() }
    }

    pub fn all(&self) -> &[WatchedPair] {
        &self.pairs
    }

    #[inline(always)]
    pub fn find(&self, left: u32, right: u32) -> Option<usize> {
        let mut index = self.heads[cell_of(left, right, self.shift)];
        while index != NONE {
            let pair = &self.pairs[index as usize];
            if pair.left == left && pair.right == right {
                return Some(index as usize);
            }
            index = pair.next;
        }
        None
    }

    pub fn get_mut(&mut self, left: u32, right: u32) -> Option<&mut WatchedPair> {
        self.find(left, right).map(|index| &mut self.pairs[index])
    }

    /// Adds a pair that is not in the table yet.
    pub fn insert(&mut self, left: u32, right: u32, count: u64, positions: Range<usize>) {
        if self.pairs.len() >= self.heads.len() {
            self.grow();
        }
        let head = &mut self.heads[cell_of(left, right, self.shift)];
        let index = self.pairs.len();
        self.pairs.push(WatchedPair { left, right, count, positions, next: *head });
        *head = index as u32;
    }

    fn grow(&mut self) {
        self.shift -= 1;
        self.heads = vec![NONE; self.heads.len() * 2];
        for (index, pair) in self.pairs.iter_mut().enumerate() {
            let head = &mut self.heads[cell_of(pair.left, pair.right, self.shift)];
            pair.next = *head;
            *head = index as u32;
        }
    }
}

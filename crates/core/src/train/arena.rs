//! Where the position lists are: one long array, in which a list that is used up makes room for new ones.
//!
//! A merge reads its list once and then needs lists for the pairs it has made, which hold at most twice as
//! many positions. Without reuse the array grew to 2.5 times its first size on ten million pre-tokens.

use std::ops::Range;
use std::sync::atomic::AtomicU32;

use crate::memory::zeroed_in_huge_pages;

#[derive(Default)]
pub struct Arena {
    positions: Vec<AtomicU32>,
    used: usize,
    /// Room before `used` that is free again, the latest last.
    holes: Vec<Range<usize>>,
}

/// How many holes are tried before a list goes to the end.
const TRIES: usize = 16;
/// Smaller holes are forgotten. (Small in tests, so that they are used.)
const WORTHWHILE: usize = if cfg!(test) { 1 } else { 64 };

impl Arena {
    /// Forgets all lists and makes room for so many positions.
    pub fn restart(&mut self, len: usize) -> &[AtomicU32] {
        if self.positions.len() < len {
            // More than now: pages that are never touched cost nothing.
            self.positions = zeroed_in_huge_pages(2 * len);
        }
        self.used = len;
        self.holes.clear();
        &self.positions[..len]
    }

    pub fn all(&self) -> &[AtomicU32] {
        &self.positions
    }

    /// Gives the room of a list back.
    pub fn free(&mut self, list: Range<usize>) {
        if list.len() >= WORTHWHILE {
            self.holes.push(list);
        }
    }

    /// Room for a list of so many positions: where it begins.
    pub fn allocate(&mut self, len: usize) -> usize {
        let recent = self.holes.len().saturating_sub(TRIES);
        if let Some(found) = self.holes[recent..].iter().rposition(|hole| hole.len() >= len) {
            let hole = &mut self.holes[recent + found];
            let start = hole.start;
            hole.start += len;
            if hole.len() < WORTHWHILE {
                self.holes.remove(recent + found);
            }
            return start;
        }
        let start = self.used;
        self.used += len;
        if self.positions.len() < self.used {
            self.positions.resize_with(2 * self.used, AtomicU32::default);
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_used_again_and_never_twice_at_once() {
        let mut arena = Arena::default();
        arena.restart(1000);
        arena.free(100..400);
        assert_eq!([arena.allocate(200), arena.allocate(200), arena.allocate(100)], [100, 1000, 300]);
        assert_eq!(arena.allocate(900), 1200);
        assert!(arena.all().len() >= 2100);
    }
}

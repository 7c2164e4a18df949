//! Arena: the position lists in one long array, where new lists reuse the space of finished ones.
//!
//! A merge reads its list once and then needs lists for the pairs it has created, which hold at most twice as
//! many positions. Without reuse the array grew to 2.5 times its initial size on ten million pre-tokens. It
//! loses where lists grow: a list longer than every recent hole goes to the end.

use std::ops::Range;
use std::sync::atomic::AtomicU32;

use crate::memory::zeroed_in_huge_pages;

/// The storage of all position lists.
#[derive(Default)]
pub struct Arena {
    positions: Vec<AtomicU32>,
    used: usize,
    /// Free ranges before `used`, the latest last.
    holes: Vec<Range<usize>>,
}

/// How many holes are tried before a list goes to the end.
const TRIES: usize = 16;
/// Smaller holes are dropped. (Small in tests, so that they are used.)
const WORTHWHILE: usize = if cfg!(test) { 1 } else { 64 };

impl Arena {
    /// Drops all lists and makes room for `len` positions.
    pub fn restart(&mut self, len: usize) -> &[AtomicU32] {
        if self.positions.len() < len {
            // Twice as many: pages that are never touched cost nothing.
            self.positions = zeroed_in_huge_pages(2 * len);
        }
        self.used = len;
        self.holes.clear();
        &self.positions[..len]
    }

    pub fn all(&self) -> &[AtomicU32] {
        &self.positions
    }

    /// Frees the range of a list.
    pub fn free(&mut self, list: Range<usize>) {
        if list.len() >= WORTHWHILE {
            self.holes.push(list);
        }
    }

    /// Allocates a list of `len` positions and returns where it starts.
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

//! Piece → count, for one thread: the inner loop of counting.
//!
//! Short pieces are packed and stored inline: no pointer is followed. Longer pieces go to an arena. Pieces come
//! in batches, so that the cache lines of a whole batch are asked for before the first is read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytemuck::Zeroable;
use hashbrown::HashTable;

use super::{Counts, Settings};
use crate::key::{Key, PACKED, hash, hash_long, pack, unpack};
use crate::memory::{prefetch, zeroed_in_huge_pages};
use crate::{Error, Progress, Result};

const BATCH: usize = 32;

#[derive(Clone, Copy, Zeroable)]
struct Slot {
    key: Key,
    count: u64,
}

const EMPTY: Slot = Slot { key: [0, 0], count: 0 };

struct Long {
    hash: u64,
    start: usize,
    len: u32,
    count: u64,
}

pub struct Table {
    /// Open addressing with linear probing, at most three quarters full.
    slots: Vec<Slot>,
    shift: u32,
    /// No two tables have the same. Pieces that come in the order of one table's slots would otherwise all crowd
    /// at the beginning of the next one, until it has grown: time would be quadratic.
    seed: u64,
    used: usize,
    long: HashTable<Long>,
    long_bytes: Vec<u8>,
    /// Whether some count did not fit.
    overflowed: bool,
}

fn next_seed() -> u64 {
    static TABLES: AtomicU64 = AtomicU64::new(1);
    TABLES.fetch_add(1, Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Default for Table {
    fn default() -> Self {
        Table::new(12, next_seed())
    }
}

impl Table {
    fn new(bits: u32, seed: u64) -> Table {
        let slots = zeroed_in_huge_pages(1 << bits);
        Table {
            slots,
            shift: 64 - bits,
            seed,
            used: 0,
            long: HashTable::new(),
            long_bytes: Vec::new(),
            overflowed: false,
        }
    }

    /// Number of different pieces.
    pub fn len(&self) -> usize {
        self.used + self.long.len()
    }

    /// Counts all pieces of `text`, which end where `ends` says.
    pub fn count(&mut self, text: &[u8], ends: &[u32]) {
        let mut keys = [[0u64; 2]; BATCH];
        let mut homes = [0usize; BATCH];
        let mut start = 0;
        for ends in ends.chunks(BATCH) {
            self.reserve(BATCH);
            let mut packed = 0;
            for &end in ends {
                let end = end as usize;
                if end - start <= PACKED {
                    let key = pack(text, start, end);
                    let home = (hash(key, self.seed) >> self.shift) as usize;
                    prefetch(&self.slots, home);
                    (keys[packed], homes[packed]) = (key, home);
                    packed += 1;
                } else {
                    self.add_long(&text[start..end], 1);
                }
                start = end;
            }
            for (&key, &home) in keys.iter().zip(&homes).take(packed) {
                self.slot(key, home).count += 1;
            }
        }
    }

    /// Adds to the count of one piece. A sum that does not fit in 64 bits is an error when the counts are taken.
    pub fn add(&mut self, piece: &[u8], count: u64) {
        if piece.len() > PACKED {
            return self.add_long(piece, count);
        }
        self.reserve(1);
        self.add_key(pack(piece, 0, piece.len()), count);
    }

    fn add_key(&mut self, key: Key, count: u64) {
        let slot = self.slot(key, (hash(key, self.seed) >> self.shift) as usize);
        let (sum, overflowed) = slot.count.overflowing_add(count);
        slot.count = sum;
        self.overflowed |= overflowed;
    }

    /// The slot of a key, new or old. There is always a free one.
    #[inline(always)]
    fn slot(&mut self, key: Key, home: usize) -> &mut Slot {
        let mask = self.slots.len() - 1;
        let mut at = home;
        loop {
            let slot = &self.slots[at];
            if slot.key == key {
                break;
            }
            if slot.key == EMPTY.key {
                self.slots[at].key = key;
                self.used += 1;
                break;
            }
            at = (at + 1) & mask;
        }
        &mut self.slots[at]
    }

    fn add_long(&mut self, piece: &[u8], count: u64) {
        let hash = hash_long(piece, 0x9E37_79B9_7F4A_7C15);
        let bytes = &mut self.long_bytes;
        let same = |long: &Long| long.hash == hash && bytes[long.start..][..long.len as usize] == *piece;
        match self.long.find_mut(hash, same) {
            Some(long) => {
                let (sum, overflowed) = long.count.overflowing_add(count);
                long.count = sum;
                self.overflowed |= overflowed;
            }
            None => {
                let long = Long { hash, start: bytes.len(), len: piece.len() as u32, count };
                bytes.extend_from_slice(piece);
                self.long.insert_unique(hash, long, |long| long.hash);
            }
        }
    }

    /// Makes room for `more` keys.
    fn reserve(&mut self, more: usize) {
        if (self.used + more) * 4 > self.slots.len() * 3 {
            let mut larger = Table::new(64 - self.shift + 1, self.seed);
            for slot in &self.slots {
                if slot.key != EMPTY.key {
                    larger.add_key(slot.key, slot.count);
                }
            }
            self.slots = larger.slots;
            self.shift = larger.shift;
        }
    }

    /// Takes all counts of another table over, unless asked to stop.
    pub fn absorb(&mut self, other: Table, progress: &Progress) {
        self.overflowed |= other.overflowed;
        let filled: Vec<Slot> = other.slots.into_iter().filter(|slot| slot.key != EMPTY.key).collect();
        for batch in filled.chunks(BATCH) {
            if progress.is_cancelled() {
                return;
            }
            self.reserve(BATCH);
            for slot in batch {
                prefetch(&self.slots, (hash(slot.key, self.seed) >> self.shift) as usize);
            }
            for slot in batch {
                self.add_key(slot.key, slot.count);
            }
        }
        for long in &other.long {
            self.add_long(&other.long_bytes[long.start..][..long.len as usize], long.count);
        }
    }

    pub fn into_counts(self, settings: Settings) -> Result<Counts> {
        let mut counts = Counts::empty(settings);
        for slot in self.slots.iter().filter(|slot| slot.key != EMPTY.key) {
            let (bytes, len) = unpack(slot.key);
            counts.push(&bytes[..len], slot.count);
        }
        drop(self.slots);
        for long in &self.long {
            counts.push(&self.long_bytes[long.start..][..long.len as usize], long.count);
        }
        let total = counts.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(count));
        if self.overflowed || total.is_none() { Err(Error::CountOverflow) } else { Ok(counts) }
    }
}

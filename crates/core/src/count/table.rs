//! Table: pre-token → count, for one thread. The inner loop of counting.
//!
//! Short pre-tokens are packed and stored inline, without a pointer. Longer ones are stored in an arena.
//! Pre-tokens are counted in batches, so that the cache lines of a whole batch are prefetched before the
//! first is read.
//!
//! A table may have a limit in bytes. It doubles while the old and the new slots fit in it together; then it
//! reports that it is full. Its pre-tokens are sorted in place (`sorted`), and the memory is reused. The rest
//! of a block still goes into a full table: if there is no room, the table exceeds its limit, because counts
//! must be exact.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytemuck::Zeroable;
use hashbrown::HashTable;

use super::sorted::Sorted;
use super::{CountSettings, Counts};
use crate::key::{Key, PACKED, hash, hash_long, order_of_key, pack, unpack};
use crate::memory::{grow, prefetch, zeroed_in_huge_pages};
use crate::{Error, Progress, Result};

const BATCH: usize = 32;

#[derive(Clone, Copy, Zeroable)]
pub struct Slot {
    pub key: Key,
    pub count: u64,
}

const EMPTY: Slot = Slot { key: [0, 0], count: 0 };

pub struct Long {
    hash: u64,
    pub start: usize,
    pub len: u32,
    pub count: u64,
}

/// What a long pre-token takes beside its bytes: a bucket and its control byte, an eighth more for buckets
/// that must stay free, and an entry in the list in which they are sorted.
const LONG_ENTRY: usize = (size_of::<Long>() + 1) * 8 / 7 + size_of::<&Long>();

/// The minimum number of slots.
const LEAST_SLOTS: usize = if cfg!(test) { 64 } else { 1 << 12 };
const _: () = assert!(LEAST_SLOTS >= 2 * BATCH, "twice the slots have room for a batch more");

pub struct PretokenTable {
    /// Open addressing with linear probing, usually at most three quarters full.
    slots: Vec<Slot>,
    /// Different for each table. With equal seeds, pre-tokens in the order of one table's slots would all
    /// hash to the beginning of the next one until it has grown, in quadratic time.
    seed: u64,
    used: usize,
    long: HashTable<Long>,
    long_bytes: Vec<u8>,
    /// The desired maximum size in bytes.
    limit: usize,
    /// Whether a count did not fit in 64 bits.
    overflowed: bool,
}

fn next_seed() -> u64 {
    static TABLES: AtomicU64 = AtomicU64::new(1);
    TABLES.fetch_add(1, Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Default for PretokenTable {
    fn default() -> Self {
        PretokenTable::new(LEAST_SLOTS, next_seed())
    }
}

impl PretokenTable {
    fn new(slots: usize, seed: u64) -> PretokenTable {
        PretokenTable {
            slots: zeroed_in_huge_pages(slots),
            seed,
            used: 0,
            long: HashTable::new(),
            long_bytes: Vec::new(),
            limit: usize::MAX,
            overflowed: false,
        }
    }

    pub fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    /// Returns the size in bytes.
    pub fn memory(&self) -> usize {
        self.slots.len() * size_of::<Slot>() + self.long_memory()
    }

    fn long_memory(&self) -> usize {
        self.long.capacity() * LONG_ENTRY + self.long_bytes.len()
    }

    /// Returns whether the table should be emptied before the next block of text.
    pub fn is_full(&self) -> bool {
        let crowded = self.used * 4 >= self.slots.len() * 3 && !self.may_grow();
        // When the long pre-tokens outgrow their memory they move to twice as much, and briefly take both.
        let moving = self.long.len() * 16 >= self.long.capacity() * 15;
        let beside = if moving { 2 * self.long.capacity() * LONG_ENTRY } else { 0 };
        crowded || self.memory() + beside > self.limit
    }

    /// Returns whether twice the slots fit beside the existing ones.
    fn may_grow(&self) -> bool {
        let both = self.slots.len() * 3 * size_of::<Slot>();
        both + self.long_memory() <= self.limit
    }

    /// Returns the pre-tokens in order. They are sorted in place, so only `clear` may follow.
    pub fn sorted(&mut self, progress: &Progress) -> Result<Sorted<'_>> {
        if self.overflowed {
            return Err(Error::CountOverflow);
        }
        let mut filled = 0;
        for at in 0..self.slots.len() {
            let Slot { key, count } = self.slots[at];
            if key != EMPTY.key {
                let order = order_of_key(key);
                self.slots[filled] = Slot { key: [(order >> 64) as u64, order as u64], count };
                filled += 1;
            }
        }
        Sorted::new(&mut self.slots[..filled], self.long.iter().collect(), &self.long_bytes, progress)
    }

    /// Empties the table. If it was full, its memory is redistributed between short and long pre-tokens, in
    /// the proportion that the removed ones needed.
    pub fn clear(&mut self) {
        let was_full = self.is_full();
        let long = self.long.len() * LONG_ENTRY + self.long_bytes.len();
        let short = self.used * size_of::<Slot>() * 4 / 3;
        self.used = 0;
        self.long.clear();
        self.long_bytes.clear();
        let share = (self.limit / 20 * 19) as u128 * short as u128 / (short + long).max(1) as u128;
        let slots = (share as usize / size_of::<Slot>()).max(LEAST_SLOTS);
        if was_full && slots > self.slots.len() {
            self.slots = Vec::new(); // freed before more is allocated
            self.slots = zeroed_in_huge_pages(slots);
        } else {
            self.slots.fill(EMPTY);
        }
    }

    /// Returns the number of unique pre-tokens.
    pub fn len(&self) -> usize {
        self.used + self.long.len()
    }

    /// Counts all pre-tokens of `text`, whose ends are in `ends`.
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
                    let home = self.home(key);
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

    /// Adds to the count of one pre-token. Overflow is reported when the counts are taken.
    pub fn add(&mut self, pretoken: &[u8], count: u64) {
        if pretoken.len() > PACKED {
            return self.add_long(pretoken, count);
        }
        self.reserve(1);
        self.add_key(pack(pretoken, 0, pretoken.len()), count);
    }

    fn add_key(&mut self, key: Key, count: u64) {
        let slot = self.slot(key, self.home(key));
        let (sum, overflowed) = slot.count.overflowing_add(count);
        slot.count = sum;
        self.overflowed |= overflowed;
    }

    /// Returns the home slot of a key. The number of slots need not be a power of two, so that a table can
    /// use its limit fully.
    #[inline(always)]
    fn home(&self, key: Key) -> usize {
        ((hash(key, self.seed) as u128 * self.slots.len() as u128) >> 64) as usize
    }

    /// Returns the slot of a key, inserting it if it is new. There is always a free slot.
    #[inline(always)]
    fn slot(&mut self, key: Key, home: usize) -> &mut Slot {
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
            at += 1;
            if at == self.slots.len() {
                at = 0;
            }
        }
        &mut self.slots[at]
    }

    fn add_long(&mut self, pretoken: &[u8], count: u64) {
        let hash = hash_long(pretoken, 0x9E37_79B9_7F4A_7C15);
        let bytes = &mut self.long_bytes;
        let same = |long: &Long| long.hash == hash && bytes[long.start..][..long.len as usize] == *pretoken;
        match self.long.find_mut(hash, same) {
            Some(long) => {
                let (sum, overflowed) = long.count.overflowing_add(count);
                long.count = sum;
                self.overflowed |= overflowed;
            }
            None => {
                let long = Long { hash, start: bytes.len(), len: pretoken.len() as u32, count };
                grow(bytes, pretoken.len(), "long pre-tokens");
                bytes.extend_from_slice(pretoken);
                self.long.insert_unique(hash, long, |long| long.hash);
            }
        }
    }

    /// Makes room for `more` keys.
    fn reserve(&mut self, more: usize) {
        let (used, slots) = (self.used + more, self.slots.len());
        if used * 4 > slots * 3 && (self.may_grow() || used * 16 > slots * 15) {
            // The small tables of tests must more than double.
            let mut larger = PretokenTable::new((2 * slots).max(4 * more), self.seed);
            for slot in &self.slots {
                if slot.key != EMPTY.key {
                    larger.add_key(slot.key, slot.count);
                }
            }
            self.slots = larger.slots;
        }
    }

    /// Adds all counts of another table, unless cancelled.
    pub fn absorb(&mut self, other: PretokenTable, progress: &Progress) {
        self.overflowed |= other.overflowed;
        let filled: Vec<Slot> = other.slots.into_iter().filter(|slot| slot.key != EMPTY.key).collect();
        for batch in filled.chunks(BATCH) {
            if progress.is_cancelled() {
                return;
            }
            self.reserve(BATCH);
            for slot in batch {
                prefetch(&self.slots, self.home(slot.key));
            }
            for slot in batch {
                self.add_key(slot.key, slot.count);
            }
        }
        for long in &other.long {
            self.add_long(&other.long_bytes[long.start..][..long.len as usize], long.count);
        }
    }

    pub fn into_counts(self, settings: CountSettings) -> Result<Counts> {
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

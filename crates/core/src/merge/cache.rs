//! Cache: the ids of pre-tokens that were encoded before, and of all tokens. All threads share it.
//!
//! A hash table with open addressing. A pre-token of up to 15 bytes is its own key and up to four ids are
//! stored next to it, 32 bytes in all, so that a hit touches one cache line; longer pre-tokens, and more ids,
//! are stored in an arena. Entries are written once and never change, so readers need no lock: a writer
//! claims an empty slot, fills it and publishes it. Slots and arena are atomics, which on common processors
//! read like plain memory.
//!
//! Memory is bounded: 48 bytes per slot, arena included, and at most 2²⁰ slots, 48 MB. The first table is small and
//! empty, so that loading a tokenizer to encode a few texts does not pay for the memory of a large one, 5 to 30 ms for
//! cl100k. When three quarters are full, after some 40 KB of text, the tokens move in with four slots each (24 MB for
//! cl100k); after that the table doubles, and at the limit it starts over with the tokens alone, so that it adapts when
//! the text changes. Meanwhile the old table lives until its last reader is done. Of a vocabulary of more than half a
//! million tokens, only the lowest ids are in the table from the start.
//!
//! Pre-tokens chosen to collide cannot slow it down: hashes are seeded at random, and a search ends after
//! [`REACH`] slots. A pre-token that finds no free slot is merged every time, which is slower but equally
//! right.
//!
//! Packing keys and seeding the cache with the vocabulary are gigatoken's ideas. When it loses: on text where
//! no pre-token repeats, one look-up and one insertion per pre-token are wasted, about a tenth of the time.
//! Scripts without spaces would be such a text, were it not for `crossings`.

use std::hash::{BuildHasher, RandomState};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use crate::key::{Key, PACKED, hash, hash_long, pack};
use crate::memory::{prefetch, zeroed_in_huge_pages};

/// Longer pre-tokens are not cached: they are rare and seldom repeat.
pub const LONGEST: usize = 1023;

/// How many pre-tokens are looked up together.
pub const BATCH: usize = 32;

/// The number of slots before the tokens move in, and then the least and the greatest. (Few in tests, so that the table
/// grows and starts over.)
const FIRST_SLOTS: usize = if cfg!(test) { 1 << 6 } else { 1 << 12 };
const FEWEST_SLOTS: usize = 1 << 10;
const MOST_SLOTS: usize = if cfg!(test) { 1 << 12 } else { 1 << 20 };

/// How many numbers the arena has for each slot.
const ARENA_PER_SLOT: usize = 4;

/// How many slots the fast search examines.
const NEAR: usize = 4;

/// How many slots a full search examines.
const REACH: usize = 32;

/// The second half of the key while its slot is being filled. No key has it.
const CLAIMED: u64 = u64::MAX;

/// Marks the key of a long pre-token, which is a hash and the length; lengths of packed ones are below it.
const LONG: u64 = 0x80 << 56;

/// Marks the key of a whole text.
const TEXT: u64 = 0x40 << 56;

/// The top byte of the first id is the number of ids; this value means "more than four".
const MANY: usize = 0xFF;

/// A key in two halves, and a value: up to four ids, or (MANY, index in the arena, number of ids, bytes of a
/// long pre-token).
type CacheSlot = [AtomicU64; 4];

/// The indices of the key's halves and of the value in a slot.
const LOW: usize = 0;
const HIGH: usize = 1;
const VALUE: usize = 2;

/// Slots that start at a cache line, so that none spans two. (A type with that alignment would be zeroed by
/// hand, page by page, before the system could be asked for huge pages.)
struct CacheSlots {
    numbers: Vec<AtomicU64>,
    skipped: usize,
    len: usize,
}

impl CacheSlots {
    fn new(len: usize) -> CacheSlots {
        let numbers: Vec<AtomicU64> = zeroed_in_huge_pages(len * 4 + 8);
        let skipped = numbers.as_ptr().align_offset(64);
        CacheSlots { numbers, skipped, len }
    }
}

impl Deref for CacheSlots {
    type Target = [CacheSlot];

    #[inline(always)]
    fn deref(&self) -> &[CacheSlot] {
        &self.numbers[self.skipped..].as_chunks().0[..self.len]
    }
}

/// Up to four ids; the top byte of the first is their number.
pub type Few = [u64; 2];

#[inline(always)]
pub fn count_of(few: Few) -> usize {
    (few[0] as u32 >> 24) as usize
}

/// Returns the ids, of which the first [`count_of`] are valid.
#[inline(always)]
pub fn few_ids(few: Few) -> [u32; 4] {
    let [one, two] = [few[0] & !(0xFF << 24), few[1]];
    [one as u32, (one >> 32) as u32, two as u32, (two >> 32) as u32]
}

/// The key of a pre-token and the first slot where it may be.
#[derive(Clone, Copy, Default)]
pub struct Probe {
    key: Key,
    home: usize,
}

/// The ids of a cached pre-token.
pub enum CachedIds<'a> {
    Few(Few),
    Many(&'a [AtomicU32]),
}

/// One table of the cache.
pub struct CacheTable {
    slots: CacheSlots,
    shift: u32,
    pub(crate) seed: u64,
    used: AtomicUsize,
    /// Ids; before those of a long pre-token, its bytes, four to a number.
    arena: Vec<AtomicU32>,
    arena_used: AtomicUsize,
    /// Whether the tokens have moved in, as far as they fit.
    has_tokens: bool,
    /// Whether every token up to [`LONGEST`] bytes is in the table.
    holds_all_tokens: bool,
}

impl CacheTable {
    fn new(slots: usize, seed: u64) -> CacheTable {
        CacheTable {
            slots: CacheSlots::new(slots),
            shift: 64 - slots.trailing_zeros(),
            seed,
            used: AtomicUsize::new(0),
            arena: zeroed_in_huge_pages(slots * ARENA_PER_SLOT),
            arena_used: AtomicUsize::new(0),
            has_tokens: false,
            holds_all_tokens: false,
        }
    }

    /// Whether a pre-token that is not found is certain not to be a token.
    pub fn knows(&self, pretoken: &[u8]) -> bool {
        self.holds_all_tokens && pretoken.len() <= LONGEST
    }

    /// Returns the parts that the inner loops read.
    #[inline(always)]
    pub fn view(&self) -> TableView<'_> {
        TableView { slots: &self.slots, shift: self.shift, seed: self.seed }
    }

    fn home(&self, key: Key) -> usize {
        let hash = if key[1] & LONG == 0 { hash(key, self.seed) } else { key[0] };
        (hash >> self.shift) as usize
    }

    /// Returns the ids of the pre-token with this probe.
    pub fn find(&self, probe: &Probe, pretoken: &[u8]) -> Option<CachedIds<'_>> {
        for slot in self.reach(probe) {
            let high = slot[HIGH].load(Acquire);
            if high == 0 {
                return None;
            }
            if high != probe.key[1] || slot[LOW].load(Relaxed) != probe.key[0] {
                continue;
            }
            let few = [slot[VALUE].load(Relaxed), slot[VALUE + 1].load(Relaxed)];
            if count_of(few) != MANY {
                return Some(CachedIds::Few(few));
            }
            let (at, ids, bytes) = many(few);
            let start = at + bytes.div_ceil(4);
            if self.arena[at..start].iter().map(|word| word.load(Relaxed)).eq(words(&pretoken[..bytes])) {
                return Some(CachedIds::Many(&self.arena[start..start + ids]));
            }
        }
        None
    }

    /// Returns the slots where a pre-token may be, in order.
    fn reach(&self, probe: &Probe) -> impl Iterator<Item = &CacheSlot> {
        let mask = self.slots.len() - 1;
        let home = probe.home;
        (home..home + REACH).map(move |at| &self.slots[at & mask])
    }

    pub fn is_full(&self) -> bool {
        self.used.load(Relaxed) * 4 >= self.slots.len() * 3
            || self.arena_used.load(Relaxed) > self.arena.len()
    }

    /// Caches the ids of a pre-token if there is room; returns whether it did.
    pub fn insert(&self, probe: &Probe, pretoken: &[u8], ids: &[u32]) -> bool {
        if pretoken.len() > LONGEST || self.is_full() {
            return false;
        }
        let long = if pretoken.len() > PACKED { pretoken } else { &[] };
        let value = if ids.len() <= 4 && long.is_empty() {
            let id = |i: usize| ids.get(i).map_or(0, |&id| id as u64);
            [id(0) | (ids.len() as u64) << 24 | id(1) << 32, id(2) | id(3) << 32]
        } else {
            let Some(at) =
                self.store(words(long).chain(ids.iter().copied()), long.len().div_ceil(4) + ids.len())
            else {
                return false;
            };
            [(MANY as u64) << 24 | (at as u64) << 32, ids.len() as u64 | (long.len() as u64) << 32]
        };
        self.publish(probe, value)
    }

    /// Writes numbers to the arena and returns where; `None` if it is full.
    fn store(&self, numbers: impl Iterator<Item = u32>, len: usize) -> Option<usize> {
        let at = self.arena_used.fetch_add(len, Relaxed);
        let room = self.arena.get(at..at + len)?;
        room.iter().zip(numbers).for_each(|(word, number)| word.store(number, Relaxed));
        Some(at)
    }

    fn publish(&self, probe: &Probe, value: Few) -> bool {
        for slot in self.reach(probe) {
            if slot[HIGH].load(Relaxed) == 0
                && slot[HIGH].compare_exchange(0, CLAIMED, Relaxed, Relaxed).is_ok()
            {
                slot[LOW].store(probe.key[0], Relaxed);
                slot[VALUE].store(value[0], Relaxed);
                slot[VALUE + 1].store(value[1], Relaxed);
                slot[HIGH].store(probe.key[1], Release);
                self.used.fetch_add(1, Relaxed);
                return true;
            }
        }
        false
    }

    /// Returns a table of twice the size with the same entries.
    fn doubled(&self) -> CacheTable {
        let mut larger = CacheTable::new(self.slots.len() * 2, self.seed);
        larger.has_tokens = self.has_tokens;
        larger.holds_all_tokens = self.holds_all_tokens;
        for slot in self.slots.iter() {
            let high = slot[HIGH].load(Acquire);
            if high == 0 || high == CLAIMED {
                continue;
            }
            let key = [slot[LOW].load(Relaxed), high];
            let mut value = [slot[VALUE].load(Relaxed), slot[VALUE + 1].load(Relaxed)];
            if count_of(value) == MANY {
                let (at, ids, bytes) = many(value);
                let len = bytes.div_ceil(4) + ids;
                let numbers = self.arena[at..at + len].iter().map(|word| word.load(Relaxed));
                let Some(at) = larger.store(numbers, len) else {
                    larger.holds_all_tokens = false;
                    continue;
                };
                value[0] = (MANY as u64) << 24 | (at as u64) << 32;
            }
            let placed = larger.publish(&Probe { key, home: larger.home(key) }, value);
            larger.holds_all_tokens &= placed;
        }
        larger
    }
}

/// Reads a value that refers to the arena: the index there, the number of ids, and the bytes of a long
/// pre-token before them.
fn many(value: Few) -> (usize, usize, usize) {
    ((value[0] >> 32) as usize, value[1] as u32 as usize, (value[1] >> 32) as usize)
}

/// The parts of a table that the inner loops read. Those are functions of their own, so that all of it stays
/// in registers.
#[derive(Clone, Copy)]
pub struct TableView<'a> {
    slots: &'a [CacheSlot],
    shift: u32,
    seed: u64,
}

impl TableView<'_> {
    /// Returns the probe of `text[start..end]` and prefetches its slot.
    #[inline(always)]
    pub fn probe(self, text: &[u8], start: usize, end: usize) -> Probe {
        let len = end - start;
        let (key, hash) = if len <= PACKED {
            let key = pack(text, start, end);
            (key, hash(key, self.seed))
        } else {
            let hash = hash_long(&text[start..end], self.seed);
            ([hash, LONG | len as u64], hash)
        };
        let home = (hash >> self.shift) as usize;
        prefetch(self.slots, home);
        Probe { key, home }
    }

    /// Returns the probe of a whole text of 1 to 15 bytes, be it one pre-token or several.
    pub fn probe_text(self, text: &[u8]) -> Probe {
        let mut key = pack(text, 0, text.len());
        key[1] |= TEXT;
        Probe { key, home: (hash(key, self.seed) >> self.shift) as usize }
    }

    /// Writes the probes of the pre-tokens that begin at `start` and end at `ends`.
    #[inline(never)]
    pub fn probe_all(self, text: &[u8], mut start: usize, ends: &[u32], probes: &mut [Probe; BATCH]) {
        for (probe, &end) in probes.iter_mut().zip(ends) {
            *probe = self.probe(text, start, end as usize);
            start = end as usize;
        }
    }

    /// Writes the ids of pre-tokens to `room` while each is in one of its first slots and has at most four
    /// ids: nearly always. Returns the number of pre-tokens and of ids.
    #[inline(never)]
    pub fn find_all(self, probes: &[Probe], room: &mut [MaybeUninit<u32>; 4 * BATCH]) -> (usize, usize) {
        let mut written = 0;
        for (i, probe) in probes.iter().enumerate().take(BATCH) {
            // At most BATCH - 1 pre-tokens came before, each with at most four ids, so there is room for
            // four.
            let room = room[written..].first_chunk_mut().expect("room for four");
            let Some(count) = self.find_first(probe, room) else { return (i, written) };
            written += count;
        }
        (probes.len(), written)
    }

    /// Writes the ids of a pre-token if it is in one of its first slots and has at most four; returns how
    /// many. All four are written, whatever their number: that costs less than a branch on it.
    #[inline(always)]
    pub fn find_first(self, probe: &Probe, room: &mut [MaybeUninit<u32>; 4]) -> Option<usize> {
        for slot in self.slots[probe.home..].iter().take(NEAR) {
            // Acquire: what the writer stored before the second half of the key is visible after it.
            let high = slot[HIGH].load(Acquire);
            let low = slot[LOW].load(Relaxed);
            if (high ^ probe.key[1]) | (low ^ probe.key[0]) != 0 {
                if high == 0 {
                    return None;
                }
                continue;
            }
            let few = [slot[VALUE].load(Relaxed), slot[VALUE + 1].load(Relaxed)];
            let count = count_of(few);
            if count > 4 {
                return None;
            }
            *room = few_ids(few).map(MaybeUninit::new);
            return Some(count);
        }
        None
    }
}

/// Returns the bytes as numbers, four to one, the last padded with zeros.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks(4).map(|chunk| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        u32::from_le_bytes(word)
    })
}

/// The current table, and the way to the next one when it is full.
pub struct Cache {
    table: ArcSwap<CacheTable>,
    /// The number of slots when the tokens move in.
    slots: usize,
    /// Locked while the next table is built; no thread waits for it, so a fork at that moment does no harm.
    growing: Mutex<()>,
}

impl Cache {
    /// Builds an empty cache for a vocabulary of this many tokens.
    pub fn new(tokens: usize) -> Cache {
        Cache {
            table: ArcSwap::from_pointee(CacheTable::new(FIRST_SLOTS, random_seed())),
            slots: (tokens * 4).next_power_of_two().clamp(FEWEST_SLOTS, MOST_SLOTS),
            growing: Mutex::new(()),
        }
    }

    /// Returns the table, for as long as the guard lives: one document or so.
    #[inline]
    pub fn table(&self) -> arc_swap::Guard<Arc<CacheTable>> {
        self.table.load()
    }

    /// Builds the next table in place of a full one, unless another thread is doing so. The second one starts with
    /// the tokens, lowest ids first, as far as they fit.
    #[cold]
    pub fn grow<'a>(&self, full: &CacheTable, tokens: impl Iterator<Item = (&'a [u8], u32)>) {
        let Ok(_growing) = self.growing.try_lock() else { return };
        let now = self.table.load();
        if !std::ptr::eq(&**now, full) {
            return;
        }
        let next = match full.has_tokens {
            false => seeded(tokens, self.slots),
            true if full.slots.len() < MOST_SLOTS => full.doubled(),
            true => seeded(tokens, full.slots.len()),
        };
        self.table.store(Arc::new(next));
    }
}

/// Builds a table that contains the tokens, at most half full.
fn seeded<'a>(tokens: impl Iterator<Item = (&'a [u8], u32)>, slots: usize) -> CacheTable {
    let mut table = CacheTable::new(slots, random_seed());
    let mut all = true;
    for (token, id) in tokens {
        if token.len() <= LONGEST {
            let placed = table.used.load(Relaxed) * 2 <= slots
                && table.insert(&table.view().probe(token, 0, token.len()), token, &[id]);
            all &= placed;
        }
    }
    table.has_tokens = true;
    table.holds_all_tokens = all;
    table
}

fn random_seed() -> u64 {
    RandomState::new().hash_one(0)
}

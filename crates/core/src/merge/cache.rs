//! Cache: pre-tokens that were encoded before, and all tokens, with their ids. One for all threads.
//!
//! A table with open addressing. A pre-token of up to 15 bytes is its own key and up to four ids lie beside
//! it, 32 bytes in all, so that a hit touches one cache line; longer pre-tokens, and more ids, lie in an
//! arena. Entries are written once and never change, so that readers need no lock: a writer claims an empty
//! slot, fills it and publishes it. CacheSlots and arena are atomics, which on common processors read like plain
//! memory.
//!
//! Memory is bounded: 48 bytes a slot, arena included, and at most 2²⁰ slots, 48 MB. The table starts with
//! four slots a token (24 MB for cl100k) and doubles when three quarters are full; at the limit it starts
//! over with the tokens alone, as text that changes its nature needs. While that happens the old table lives
//! until the last reader is done with it. Of a vocabulary beyond half a million tokens, only the lowest ids
//! are there from the start.
//!
//! Nobody can slow it down by choosing pre-tokens that collide: hashes are seeded at random, and a search
//! ends after [`REACH`] slots. A pre-token that finds no room is merged every time, which is slower and no
//! less right.
//!
//! Where the ideas come from: gigatoken packs keys and seeds its cache with the vocabulary. When it loses: on
//! text where no pre-token comes twice; then one look-up and one insertion a pre-token are wasted, about a
//! tenth of the time. Scripts without spaces would be such a text, were it not for `crossings`.

use std::hash::{BuildHasher, RandomState};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use crate::key::{Key, PACKED, hash, hash_long, pack};
use crate::memory::{prefetch, zeroed_in_huge_pages};

/// Longer pre-tokens are not kept: they are rare, and seldom come again.
pub const LONGEST: usize = 1023;

/// So many pre-tokens are looked up together.
pub const BATCH: usize = 32;

/// (Few in tests, so that the table grows and starts over.)
const FEWEST_SLOTS: usize = 1 << 10;
const MOST_SLOTS: usize = if cfg!(test) { 1 << 12 } else { 1 << 20 };

/// For each slot so many numbers in the arena.
const ARENA_PER_SLOT: usize = 4;

/// How many slots the first look goes over.
const NEAR: usize = 4;

/// How many slots a search looks at.
const REACH: usize = 32;

/// The second half of a key while its slot is being filled. No key has it.
const CLAIMED: u64 = u64::MAX;

/// Marks the key of a long pre-token, which is a hash and the length; lengths of packed ones are below it.
const LONG: u64 = 0x80 << 56;

/// Marks the key of a whole text.
const TEXT: u64 = 0x40 << 56;

/// How many ids an entry has is in the top byte of the first one; this stands for "more than four".
const MANY: usize = 0xFF;

/// A key in two halves, and a value: up to four ids, or (MANY, probe in the arena, number of ids, bytes of a
/// long pre-token).
type CacheSlot = [AtomicU64; 4];

/// The halves of a slot's key; the value follows.
const LOW: usize = 0;
const HIGH: usize = 1;
const VALUE: usize = 2;

/// CacheSlots that begin at a cache line, so that none lies in two. (A type with that alignment would be zeroed by
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

/// Up to four ids, one after the other; how many they are is in the top byte of the first.
pub type Few = [u64; 2];

#[inline(always)]
pub fn count_of(few: Few) -> usize {
    (few[0] as u32 >> 24) as usize
}

#[inline(always)]
pub fn without_count(few: Few) -> Few {
    [few[0] & !(0xFF << 24), few[1]]
}

/// Where a pre-token is or belongs.
#[derive(Clone, Copy, Default)]
pub struct Probe {
    key: Key,
    home: usize,
}

pub enum CachedIds<'a> {
    Few(Few),
    Many(&'a [AtomicU32]),
}

pub struct CacheTable {
    slots: CacheSlots,
    shift: u32,
    pub(crate) seed: u64,
    used: AtomicUsize,
    /// Ids; and for a long pre-token before them its bytes, four to a number.
    arena: Vec<AtomicU32>,
    arena_used: AtomicUsize,
    /// Whether every token that is not longer than [`LONGEST`] is here.
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
            holds_all_tokens: false,
        }
    }

    /// Whether a pre-token that is not found is certainly no token.
    pub fn knows(&self, pretoken: &[u8]) -> bool {
        self.holds_all_tokens && pretoken.len() <= LONGEST
    }

    /// The table as the inner loop needs it.
    #[inline(always)]
    pub fn view(&self) -> TableView<'_> {
        TableView { slots: &self.slots, shift: self.shift, seed: self.seed }
    }

    fn home(&self, key: Key) -> usize {
        let hash = if key[1] & LONG == 0 { hash(key, self.seed) } else { key[0] };
        (hash >> self.shift) as usize
    }

    /// The ids of the pre-token, which is at its probe.
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

    /// The slots where a pre-token may be, in order.
    fn reach(&self, probe: &Probe) -> impl Iterator<Item = &CacheSlot> {
        let mask = self.slots.len() - 1;
        let home = probe.home;
        (home..home + REACH).map(move |at| &self.slots[at & mask])
    }

    pub fn is_full(&self) -> bool {
        self.used.load(Relaxed) * 4 >= self.slots.len() * 3
            || self.arena_used.load(Relaxed) > self.arena.len()
    }

    /// Keeps the ids of a pre-token, if there is room.
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
                self.keep(words(long).chain(ids.iter().copied()), long.len().div_ceil(4) + ids.len())
            else {
                return false;
            };
            [(MANY as u64) << 24 | (at as u64) << 32, ids.len() as u64 | (long.len() as u64) << 32]
        };
        self.publish(probe, value)
    }

    /// Writes numbers to the arena; none where it is full.
    fn keep(&self, numbers: impl Iterator<Item = u32>, len: usize) -> Option<usize> {
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

    /// A table of twice the size with the same entries.
    fn doubled(&self) -> CacheTable {
        let mut larger = CacheTable::new(self.slots.len() * 2, self.seed);
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
                let Some(at) = larger.keep(numbers, len) else {
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

/// A value that leads to the arena: the probe there, the number of ids, the bytes of a long pre-token before
/// them.
fn many(value: Few) -> (usize, usize, usize) {
    ((value[0] >> 32) as usize, value[1] as u32 as usize, (value[1] >> 32) as usize)
}

/// A table with what the inner loops read at hand. They are functions of their own, so that all of it stays
/// in registers.
#[derive(Clone, Copy)]
pub struct TableView<'a> {
    slots: &'a [CacheSlot],
    shift: u32,
    seed: u64,
}

impl TableView<'_> {
    /// The probe of `text[start..end]`. Its cache line is on its way.
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

    /// The probe of a whole text of 1 to 15 bytes, be it one pre-token or several.
    pub fn probe_text(self, text: &[u8]) -> Probe {
        let mut key = pack(text, 0, text.len());
        key[1] |= TEXT;
        Probe { key, home: (hash(key, self.seed) >> self.shift) as usize }
    }

    /// The probes of pre-tokens that begin at `start` and end where `ends` says.
    #[inline(never)]
    pub fn probe_all(self, text: &[u8], mut start: usize, ends: &[u32], probes: &mut [Probe; BATCH]) {
        for (probe, &end) in probes.iter_mut().zip(ends) {
            *probe = self.probe(text, start, end as usize);
            start = end as usize;
        }
    }

    /// Writes the ids of pre-tokens to `room` as long as each is in the first slot that it could be in, and
    /// they are few: nearly always. Returns how many pre-tokens and ids they were.
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

    /// Writes the ids of a pre-token if it is in one of the first slots that it could be in, and they are
    /// few; returns how many. All four are written, whatever their number: that costs less than a branch that
    /// guesses it.
    #[inline(always)]
    pub fn find_first(self, probe: &Probe, room: &mut [MaybeUninit<u32>; 4]) -> Option<usize> {
        for slot in self.slots[probe.home..].iter().take(NEAR) {
            // What the writer stored before the second half of the key is seen after it.
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
            // SAFETY: four ids take as much room as two numbers of 64 bits.
            unsafe { room.as_mut_ptr().cast::<Few>().write_unaligned(without_count(few).map(u64::to_le)) };
            return Some(count);
        }
        None
    }
}

/// The bytes as numbers, four to one, the last padded with zeros.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks(4).map(|chunk| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        u32::from_le_bytes(word)
    })
}

/// The table of the moment, and the next one when it is full.
pub struct Cache {
    table: ArcSwap<CacheTable>,
    /// Held by whoever makes the next table; nobody waits for it, so a fork at that moment does no harm.
    growing: Mutex<()>,
}

impl Cache {
    /// Knows the tokens, lowest ids first, as far as they fit.
    pub fn new<'a>(tokens: impl Iterator<Item = (&'a [u8], u32)>, count: usize) -> Cache {
        let slots = (count * 4).next_power_of_two().clamp(FEWEST_SLOTS, MOST_SLOTS);
        Cache { table: ArcSwap::from_pointee(seeded(tokens, slots)), growing: Mutex::new(()) }
    }

    /// The table, for as long as the guard lives: one document or so.
    #[inline]
    pub fn table(&self) -> arc_swap::Guard<Arc<CacheTable>> {
        self.table.load()
    }

    /// Called where a table is full: makes the next table, unless someone is at it.
    #[cold]
    pub fn grow<'a>(&self, full: &CacheTable, tokens: impl Iterator<Item = (&'a [u8], u32)>) {
        let Ok(_growing) = self.growing.try_lock() else { return };
        let now = self.table.load();
        if !std::ptr::eq(&**now, full) {
            return;
        }
        let next =
            if full.slots.len() < MOST_SLOTS { full.doubled() } else { seeded(tokens, full.slots.len()) };
        self.table.store(Arc::new(next));
    }
}

fn seeded<'a>(tokens: impl Iterator<Item = (&'a [u8], u32)>, slots: usize) -> CacheTable {
    let mut table = CacheTable::new(slots, RandomState::new().hash_one(0));
    let mut all = true;
    for (token, id) in tokens {
        if token.len() <= LONGEST {
            let placed = table.used.load(Relaxed) * 2 <= slots
                && table.insert(&table.view().probe(token, 0, token.len()), token, &[id]);
            all &= placed;
        }
    }
    table.holds_all_tokens = all;
    table
}

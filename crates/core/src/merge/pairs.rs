//! Pairs: which token two neighbors form, and the merging of one pre-token.
//!
//! Cost, for a pre-token of n bytes: up to [`SHORT`] bytes, arrays on the stack and O(n²) steps that vectors
//! take eight at a time, some 30 ns per merge; above that, a queue and a linked list, O(n log n) time and
//! about 40 n bytes of memory, and above [`WINDOW`] bytes that for one window after the other, so that ten million
//! equal bytes are no attack. Nearly all the time goes into
//! asking which token two neighbors form, and the answer is mostly "none": so two bit maps and a filter
//! answer first.
//!
//! Where the ideas come from: scanning an array for the lowest rank is tiktoken's `byte_pair_merge`; the
//! queue over a linked list is that of SentencePiece and Hugging Face tokenizers, with sorted runs in place
//! of single entries. Both look up pairs by two ids instead of by joined bytes, which the lemma in
//! `docs/how-bpe-works.md` allows: for each token only one pair can ever form it.
//!
//! When it loses: on text that repeats. Looking up a cached pre-token is faster than merging it again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use hashbrown::HashMap;

use super::windows::WINDOW;
#[cfg(target_arch = "x86_64")]
use crate::cpu::has_avx2;
use crate::key::mix;
use crate::memory::{check_room, zeroed_in_huge_pages};

/// Pre-tokens of at most this many bytes are merged in arrays on the stack.
const SHORT: usize = 255;

/// From this many bytes on it is checked that there is memory to merge a pre-token: this many bytes for each of its
/// own.
const HUGE: usize = 1 << 20;
const LONG_COST: usize = 32;

/// No token: higher than every id, so that "lowest id first" needs no special case for it.
pub(crate) const NONE: u32 = u32::MAX;

/// The bits of an id: two ids and the token they form fit in one 64-bit number.
pub(crate) const ID_BITS: u32 = 21;

/// The token that each pair of neighbors forms, and the ids that merging starts from.
#[derive(Clone)]
pub(crate) struct Pairs {
    byte_ids: [u32; 256],
    /// The token that two bytes form, by first × 256 + second.
    byte_pairs: Vec<u32>,
    /// Left, right and new id in one number each, or 0; open addressing, at most half full.
    slots: Vec<u64>,
    shift: u32,
    used: usize,
    /// A bit for each pair, by hash, one in sixteen set: most pairs that are looked up form no token, and
    /// this filter says so from the second-level cache.
    filter: Vec<u64>,
    byte_of: HashMap<u32, u8>,
    /// The ids that are the left, and the right, part of any pair: usually one in seven.
    lefts: Bits,
    rights: Bits,
    /// By id: its rank, if several ids share one; otherwise an id is its rank.
    shared_ranks: Option<Vec<u32>>,
    /// By code point: the id of a character that merging may start from, or [`NONE`]. Empty if it starts from
    /// bytes.
    characters: Vec<u32>,
}

/// A set of ids. Memory that no id reaches is never touched.
#[derive(Clone)]
struct Bits(Vec<u64>);

impl Bits {
    fn new() -> Bits {
        Bits(vec![0; (1 << ID_BITS) / 64])
    }

    fn insert(&mut self, id: u32) {
        self.0[id as usize / 64] |= 1 << (id % 64);
    }

    /// Returns 1 or 0 in the lowest bit, and anything above it.
    #[inline(always)]
    fn bit(&self, id: u32) -> u64 {
        self.0[id as usize / 64] >> (id % 64)
    }
}

/// The bits of the filter for each slot.
const FILTER: usize = 4;

impl Pairs {
    pub(crate) fn new(byte_ids: [u32; 256], capacity: usize) -> Pairs {
        let slots = (capacity + capacity / 4).next_power_of_two().max(16);
        Pairs {
            byte_ids,
            byte_pairs: vec![NONE; 1 << 16],
            slots: zeroed_in_huge_pages(slots),
            shift: 64 - slots.trailing_zeros(),
            used: 0,
            filter: vec![0; (slots * FILTER).div_ceil(64)],
            byte_of: byte_ids.into_iter().zip(0..=255).collect(),
            lefts: Bits::new(),
            rights: Bits::new(),
            shared_ranks: None,
            characters: Vec::new(),
        }
    }

    /// Gives every id a rank that others may share; of equal ranks the leftmost is merged first.
    pub(crate) fn share_ranks(&mut self, ranks: Vec<u32>) {
        self.shared_ranks = Some(ranks);
    }

    /// Lets merging start from these characters instead of their bytes. Their merges must come before all others.
    pub(crate) fn start_from(&mut self, characters: impl Iterator<Item = (char, u32)>) {
        // Characters beyond the basic plane are rare, and a table for all would be large.
        self.characters = vec![NONE; 1 << 16];
        for (c, id) in characters {
            if let Some(entry) = self.characters.get_mut(c as usize) {
                *entry = id;
            }
        }
    }

    pub(crate) fn byte_ids(&self) -> &[u32; 256] {
        &self.byte_ids
    }

    /// Adds a pair; at most as many as the capacity allows.
    pub(crate) fn insert(&mut self, left: u32, right: u32, new: u32) {
        self.used += 1;
        assert!(self.used < self.slots.len(), "room was made for all pairs");
        let key = key(left, right);
        let hash = hash(key);
        let mask = self.slots.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = key << ID_BITS | new as u64;
        let (word, bit) = self.filter_bit(hash);
        self.filter[word] |= 1 << bit;
        self.lefts.insert(left);
        self.rights.insert(right);
        if let Some(&first) = self.byte_of.get(&left)
            && let Some(&second) = self.byte_of.get(&right)
        {
            self.byte_pairs[(first as usize) << 8 | second as usize] = new;
        }
    }

    #[inline(always)]
    fn filter_bit(&self, hash: u64) -> (usize, u32) {
        let bit = hash >> (self.shift - FILTER.trailing_zeros());
        ((bit / 64) as usize, (bit % 64) as u32)
    }

    /// Returns the token that two neighbors form, or [`NONE`].
    #[inline(always)]
    pub(super) fn get(&self, left: u32, right: u32) -> u32 {
        let key = key(left, right);
        let hash = hash(key);
        let (word, bit) = self.filter_bit(hash);
        // Three look-ups and one branch: each alone would be mispredicted every other time.
        if self.lefts.bit(left) & self.rights.bit(right) & (self.filter[word] >> bit) & 1 == 0 {
            return NONE;
        }
        let mask = self.slots.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        loop {
            let slot = self.slots[at & mask];
            if slot >> ID_BITS == key {
                // An empty slot looks like the pair (0, 0), which forms a token other than 0.
                return if slot == 0 { NONE } else { slot as u32 & ((1 << ID_BITS) - 1) };
            }
            if slot == 0 {
                return NONE;
            }
            at += 1;
        }
    }

    /// Appends the ids of `pretoken`: listed pairs merged, lowest new id first, leftmost first.
    pub(crate) fn merge(&self, pretoken: &[u8], ids: &mut Vec<u32>) {
        if !self.characters.is_empty() && pretoken.len() <= SHORT {
            return self.merge_characters(pretoken, ids);
        }
        if pretoken.len() > WINDOW {
            return self.merge_windows(pretoken, WINDOW, ids);
        }
        self.merge_and_report(pretoken, ids, |_, _, _| ());
    }

    /// Does the work of [`Pairs::merge`] and calls `report(new, left neighbor, right neighbor)` for each
    /// merge, in order; a neighbor is [`NONE`] at the ends of the pre-token.
    #[inline(always)]
    pub(crate) fn merge_and_report(
        &self,
        pretoken: &[u8],
        ids: &mut Vec<u32>,
        report: impl FnMut(u32, u32, u32),
    ) {
        if pretoken.len() > SHORT {
            return self.merge_queued(pretoken, report, |id, _| ids.push(id));
        }
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            // SAFETY: `has_avx2` has detected the feature.
            return unsafe { self.merge_avx2(pretoken, ids, report) };
        }
        self.merge_short(pretoken, ids, report);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn merge_avx2(&self, pretoken: &[u8], ids: &mut Vec<u32>, report: impl FnMut(u32, u32, u32)) {
        self.merge_short(pretoken, ids, report);
    }

    #[inline(always)]
    fn merge_short(&self, pretoken: &[u8], ids: &mut Vec<u32>, report: impl FnMut(u32, u32, u32)) {
        match (pretoken.len(), &self.shared_ranks) {
            (0..=16, None) => self.merge_array::<16, false>(pretoken, ids, report),
            (17..=32, None) => self.merge_array::<32, false>(pretoken, ids, report),
            (33..=64, None) => self.merge_array::<64, false>(pretoken, ids, report),
            (_, None) => self.merge_array::<256, false>(pretoken, ids, report),
            (0..=64, Some(_)) => self.merge_array::<64, true>(pretoken, ids, report),
            (_, Some(_)) => self.merge_array::<256, true>(pretoken, ids, report),
        }
    }

    /// Merges a pre-token of characters: a third of the steps for Chinese, and no step at all for most characters.
    fn merge_characters(&self, pretoken: &[u8], ids: &mut Vec<u32>) {
        let mut tokens = [0; 256];
        let mut count = 0;
        for chunk in pretoken.utf8_chunks() {
            for c in chunk.valid().chars() {
                match self.characters.get(c as usize) {
                    Some(&id) if id != NONE => {
                        tokens[count] = id;
                        count += 1;
                    }
                    _ => {
                        for &byte in c.encode_utf8(&mut [0; 4]).as_bytes() {
                            tokens[count] = self.byte_ids[byte as usize];
                            count += 1;
                        }
                    }
                }
            }
            for &byte in chunk.invalid() {
                tokens[count] = self.byte_ids[byte as usize];
                count += 1;
            }
        }
        let tokens = &tokens[..count];
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            // SAFETY: `has_avx2` has detected the feature.
            return unsafe { self.merge_tokens_avx2(tokens, ids) };
        }
        self.merge_tokens(tokens, ids);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn merge_tokens_avx2(&self, tokens: &[u32], ids: &mut Vec<u32>) {
        self.merge_tokens(tokens, ids);
    }

    #[inline(always)]
    fn merge_tokens(&self, tokens: &[u32], ids: &mut Vec<u32>) {
        match (tokens.len(), &self.shared_ranks) {
            (0..=8, None) => self.merge_started::<8, false>(tokens, ids),
            (9..=16, None) => self.merge_started::<16, false>(tokens, ids),
            (17..=64, None) => self.merge_started::<64, false>(tokens, ids),
            (_, None) => self.merge_started::<256, false>(tokens, ids),
            (0..=8, Some(_)) => self.merge_started::<8, true>(tokens, ids),
            (9..=64, Some(_)) => self.merge_started::<64, true>(tokens, ids),
            (_, Some(_)) => self.merge_started::<256, true>(tokens, ids),
        }
    }

    #[inline(always)]
    fn merge_started<const N: usize, const SHARED: bool>(&self, start: &[u32], ids: &mut Vec<u32>) {
        let mut tokens = [0; N];
        let mut made = [NONE; N];
        tokens[..start.len()].copy_from_slice(start);
        for (i, pair) in start.windows(2).enumerate() {
            made[i] = self.entry::<SHARED>(self.get(pair[0], pair[1]), i);
        }
        self.merge_filled::<N, SHARED>(start.len(), tokens, made, ids, |_, _, _| ());
    }

    /// Merges in arrays of N entries. A token is stored at the index where it begins, and with it the token
    /// that it and the next one would form, above that index: so one minimum over the array, a few vector
    /// instructions, gives the lowest rank and of those the leftmost. If ids share ranks (`SHARED`), the rank is
    /// stored instead of the token, which is looked up again.
    #[inline(always)]
    fn merge_array<const N: usize, const SHARED: bool>(
        &self,
        pretoken: &[u8],
        ids: &mut Vec<u32>,
        report: impl FnMut(u32, u32, u32),
    ) {
        let mut tokens = [0; N];
        let mut made = [NONE; N];
        for (i, &byte) in pretoken.iter().enumerate().take(N) {
            tokens[i] = self.byte_ids[byte as usize];
        }
        for (i, pair) in pretoken.windows(2).enumerate().take(N) {
            let new = self.byte_pairs[(pair[0] as usize) << 8 | pair[1] as usize];
            made[i] = self.entry::<SHARED>(new, i);
        }
        self.merge_filled::<N, SHARED>(pretoken.len(), tokens, made, ids, report);
    }

    /// Does the work of [`Pairs::merge_array`] on the first `n` tokens, and what each and the next one would form.
    #[inline(always)]
    fn merge_filled<const N: usize, const SHARED: bool>(
        &self,
        n: usize,
        mut tokens: [u32; N],
        mut made: [u32; N],
        ids: &mut Vec<u32>,
        mut report: impl FnMut(u32, u32, u32),
    ) {
        let mut next: [u8; N] = std::array::from_fn(|i| (i + 1) as u8);
        let mut prev: [u8; N] = std::array::from_fn(|i| i.wrapping_sub(1) as u8);
        loop {
            let lowest = made.iter().copied().fold(NONE, u32::min);
            if lowest == NONE {
                break;
            }
            let at = lowest as u8 as usize % N;
            let right = next[at] as usize % N;
            let new = if SHARED { self.get(tokens[at], tokens[right]) } else { lowest >> 8 };
            let after = next[right] as usize;
            tokens[at] = new;
            next[at] = after as u8;
            made[right] = NONE;
            made[at] = NONE;
            let mut around = (NONE, NONE);
            if after < n {
                prev[after % N] = at as u8;
                around.1 = tokens[after % N];
                made[at] = self.entry::<SHARED>(self.get(new, around.1), at);
            }
            if at > 0 {
                let before = prev[at] as usize % N;
                around.0 = tokens[before];
                made[before] = self.entry::<SHARED>(self.get(around.0, new), before);
            }
            report(new, around.0, around.1);
        }
        let mut at = 0;
        while at < n {
            ids.push(tokens[at % N]);
            at = next[at % N] as usize;
        }
    }

    /// Returns the entry of a token, or of none, in the arrays of [`Pairs::merge_array`].
    #[inline(always)]
    fn entry<const SHARED: bool>(&self, new: u32, at: usize) -> u32 {
        entry(if SHARED && new != NONE { self.rank(new) } else { new }, at)
    }

    /// Returns the rank of a token, where ids share ranks.
    fn rank(&self, new: u32) -> u32 {
        self.shared_ranks.as_ref().and_then(|ranks| ranks.get(new as usize).copied()).unwrap_or(new)
    }

    /// Merges a pre-token of any length and calls `emit(id, index of its first byte)` for each token of the result.
    pub(super) fn merge_queued(
        &self,
        pretoken: &[u8],
        report: impl FnMut(u32, u32, u32),
        emit: impl FnMut(u32, usize),
    ) {
        match &self.shared_ranks {
            Some(_) => self.merge_shared(pretoken, report, emit),
            None => self.merge_long(pretoken, report, emit),
        }
    }

    /// Merges with a heap and a linked list where ids share ranks.
    fn merge_shared(
        &self,
        pretoken: &[u8],
        mut report: impl FnMut(u32, u32, u32),
        mut emit: impl FnMut(u32, usize),
    ) {
        let n = pretoken.len();
        let mut tokens: Vec<u32> = pretoken.iter().map(|&byte| self.byte_ids[byte as usize]).collect();
        let mut next: Vec<usize> = (1..=n).collect();
        let mut prev: Vec<usize> = (0..n).map(|i| i.wrapping_sub(1)).collect();
        let mut made: Vec<u32> = tokens.windows(2).map(|pair| self.get(pair[0], pair[1])).collect();
        made.push(NONE);
        let candidates = made.iter().enumerate().filter(|&(_, &new)| new != NONE);
        let mut queue: BinaryHeap<_> =
            candidates.map(|(at, &new)| Reverse((self.rank(new), at, new))).collect();
        while let Some(Reverse((_, at, new))) = queue.pop() {
            // As in `merge_long`, a stale entry stays different.
            if made[at] != new {
                continue;
            }
            let right = next[at];
            let after = next[right];
            tokens[at] = new;
            made[right] = NONE;
            made[at] = NONE;
            next[at] = after;
            let mut around = (NONE, NONE);
            let mut look = |before: usize, left: u32, right: u32| {
                made[before] = self.get(left, right);
                if made[before] != NONE {
                    queue.push(Reverse((self.rank(made[before]), before, made[before])));
                }
            };
            if at > 0 {
                let before = prev[at];
                around.0 = tokens[before];
                look(before, around.0, new);
            }
            if after < n {
                prev[after] = at;
                around.1 = tokens[after];
                look(at, new, around.1);
            }
            report(new, around.0, around.1);
        }
        let mut at = 0;
        while at < n {
            emit(tokens[at], at);
            at = next[at];
        }
    }

    /// Merges with a queue and a linked list.
    fn merge_long(
        &self,
        pretoken: &[u8],
        mut report: impl FnMut(u32, u32, u32),
        mut emit: impl FnMut(u32, usize),
    ) {
        let n = u32::try_from(pretoken.len()).expect("split refuses documents of 4 GiB");
        if pretoken.len() >= HUGE {
            check_room(LONG_COST * pretoken.len(), "a long pre-token");
        }
        let mut tokens: Vec<u32> = pretoken.iter().map(|&byte| self.byte_ids[byte as usize]).collect();
        // A token is stored at the index where it begins; `next` and `prev` lead to its neighbors. `next` of
        // the last is n, and `prev` of the first is NONE.
        let mut next: Vec<u32> = (1..=n).collect();
        let mut prev: Vec<u32> = (0..n).map(|i| i.wrapping_sub(1)).collect();
        // The token that the one here and the next one would form; NONE also where no token begins.
        let mut made: Vec<u32> = tokens.windows(2).map(|pair| self.get(pair[0], pair[1])).collect();
        made.push(NONE);

        // made[at] and at in one number: the smallest is the lowest rank, then the leftmost.
        let entry = |new: u32, at: u32| (new as u64) << 32 | at as u64;
        let candidates = made.iter().zip(0..n).filter(|&(&new, _)| new != NONE);
        let mut queue = RunQueue::new(candidates.map(|(&new, at)| entry(new, at)).collect());
        while let Some(first) = queue.pop() {
            let (new, at) = ((first >> 32) as u32, first as u32 as usize);
            // Tokens only grow, so a pair that has changed never returns: a stale entry stays different.
            if made[at] != new {
                continue;
            }
            let right = next[at] as usize;
            let after = next[right];
            tokens[at] = new;
            made[right] = NONE;
            next[at] = after;
            let mut around = (NONE, NONE);
            if prev[at] != NONE {
                let before = prev[at];
                around.0 = tokens[before as usize];
                made[before as usize] = self.get(around.0, new);
                if made[before as usize] != NONE {
                    queue.push(entry(made[before as usize], before));
                }
            }
            made[at] = NONE;
            if after < n {
                prev[after as usize] = at as u32;
                around.1 = tokens[after as usize];
                made[at] = self.get(new, around.1);
                if made[at] != NONE {
                    queue.push(entry(made[at], at as u32));
                }
            }
            report(new, around.0, around.1);
        }
        let mut at = 0;
        while at < n {
            emit(tokens[at as usize], at as usize);
            at = next[at as usize];
        }
    }
}

/// A priority queue for numbers that are mostly pushed in rising order: a heap of sorted runs.
///
/// New numbers collect in a batch until one larger than its least is due; then the batch is sorted and
/// becomes a run. In a pre-token that repeats, all merges of one rank push one long run, and popping walks
/// along it; a plain heap of ten million entries misses the cache at each of its levels.
struct RunQueue {
    /// All runs and, at the end, the batch.
    entries: Vec<u64>,
    batch: usize,
    least_of_batch: u64,
    /// (first entry, its index, the end of its run), without the current run.
    runs: BinaryHeap<Reverse<(u64, usize, usize)>>,
    current: Range<usize>,
}

impl RunQueue {
    fn new(entries: Vec<u64>) -> RunQueue {
        let least = entries.iter().copied().min().unwrap_or(u64::MAX);
        RunQueue { entries, batch: 0, least_of_batch: least, runs: BinaryHeap::new(), current: 0..0 }
    }

    fn push(&mut self, entry: u64) {
        self.entries.push(entry);
        self.least_of_batch = self.least_of_batch.min(entry);
    }

    fn pop(&mut self) -> Option<u64> {
        let others = self.runs.peek().map_or(u64::MAX, |Reverse(run)| run.0).min(self.least_of_batch);
        if self.current.is_empty() || self.entries[self.current.start] > others {
            self.choose_run()?;
        }
        self.current.next().map(|at| self.entries[at])
    }

    /// Makes the run with the smallest entry the current one; `None` if all are used up.
    fn choose_run(&mut self) -> Option<()> {
        let batch = self.batch..self.entries.len();
        self.entries[batch.clone()].sort_unstable();
        self.batch = batch.end;
        self.least_of_batch = u64::MAX;
        for run in [self.current.clone(), batch] {
            if !run.is_empty() {
                self.runs.push(Reverse((self.entries[run.start], run.start, run.end)));
            }
        }
        let Reverse((_, start, end)) = self.runs.pop()?;
        self.current = start..end;
        Some(())
    }
}

/// A token that two neighbors would form, above the index of the first: the least is the lowest, then leftmost.
#[inline(always)]
fn entry(rank: u32, at: usize) -> u32 {
    if rank == NONE { NONE } else { rank << 8 | at as u32 }
}

#[inline(always)]
fn hash(key: u64) -> u64 {
    mix(key ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93)
}

#[inline(always)]
fn key(left: u32, right: u32) -> u64 {
    (left as u64) << ID_BITS | right as u64
}

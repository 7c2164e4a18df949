//! Pieces: the bytes of one piece become ids, by merging listed pairs.
//!
//! Cost, for a piece of n bytes: up to [`SHORT`] bytes an array on the stack, O(n²) steps that are a scan
//! of neighbouring numbers, so cheap that nothing cleverer wins there; beyond it a queue and a linked list,
//! O(n log n) time and about 40 n bytes of memory, so that ten million equal bytes are no attack.
//!
//! Where the ideas come from: the array is tiktoken's `byte_pair_merge`; the queue over a linked list
//! is that of sentencepiece and Hugging Face tokenizers, with sorted runs in place of single entries. Both look pairs up by two ids instead of by joined
//! bytes, which the lemma in `docs/how-bpe-works.md` allows: for each token only one pair can ever make it.
//!
//! When it loses: on text that repeats. Looking a seen piece up is faster than merging it again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use hashbrown::HashMap;

/// Pieces of at most this many bytes are merged in an array on the stack.
const SHORT: usize = 128;

/// No token: higher than every id, so that "lowest id first" needs no special case for it.
const NONE: u32 = u32::MAX;

/// Which token each pair of neighbours makes, and the ids that merging starts from.
#[derive(Clone)]
pub(crate) struct Pairs {
    byte_ids: [u32; 256],
    made: HashMap<u64, u32, BuildHasherDefault<PairHasher>>,
}

impl Pairs {
    pub(crate) fn new(byte_ids: [u32; 256], capacity: usize) -> Pairs {
        Pairs { byte_ids, made: HashMap::with_capacity_and_hasher(capacity, Default::default()) }
    }

    pub(crate) fn byte_ids(&self) -> &[u32; 256] {
        &self.byte_ids
    }

    pub(crate) fn insert(&mut self, left: u32, right: u32, new: u32) {
        self.made.insert(key(left, right), new);
    }

    fn get(&self, left: u32, right: u32) -> u32 {
        self.made.get(&key(left, right)).copied().unwrap_or(NONE)
    }

    /// Appends the ids of `piece`: listed pairs merged, lowest new id first, leftmost first.
    pub(crate) fn merge(&self, piece: &[u8], ids: &mut Vec<u32>) {
        if piece.len() <= SHORT { self.merge_short(piece, ids) } else { self.merge_long(piece, ids) }
    }

    fn merge_short(&self, piece: &[u8], ids: &mut Vec<u32>) {
        let mut tokens = [NONE; SHORT];
        // made[i] is the token that tokens[i] and tokens[i + 1] would make.
        let mut made = [NONE; SHORT];
        let mut n = piece.len();
        for (token, &byte) in tokens.iter_mut().zip(piece) {
            *token = self.byte_ids[byte as usize];
        }
        for i in 1..n {
            made[i - 1] = self.get(tokens[i - 1], tokens[i]);
        }
        loop {
            let (mut lowest, mut at) = (NONE, 0);
            for (i, &new) in made[..n].iter().enumerate() {
                if new < lowest {
                    (lowest, at) = (new, i);
                }
            }
            if lowest == NONE {
                break;
            }
            tokens.copy_within(at + 2..n, at + 1);
            made.copy_within(at + 2..n, at + 1);
            n -= 1;
            tokens[at] = lowest;
            made[at] = if at + 1 < n { self.get(lowest, tokens[at + 1]) } else { NONE };
            if at > 0 {
                made[at - 1] = self.get(tokens[at - 1], lowest);
            }
        }
        ids.extend_from_slice(&tokens[..n]);
    }

    fn merge_long(&self, piece: &[u8], ids: &mut Vec<u32>) {
        let n = u32::try_from(piece.len()).expect("split refuses documents of 4 GiB");
        let mut tokens: Vec<u32> = piece.iter().map(|&byte| self.byte_ids[byte as usize]).collect();
        // A token lives where it begins; `next` and `prev` lead to its neighbours' beginnings. `next` of the
        // last is n, and `prev` of the first is NONE.
        let mut next: Vec<u32> = (1..=n).collect();
        let mut prev: Vec<u32> = (0..n).map(|i| i.wrapping_sub(1)).collect();
        // What the token here and the next one would make; NONE also where no token begins.
        let mut made: Vec<u32> = tokens.windows(2).map(|pair| self.get(pair[0], pair[1])).collect();
        made.push(NONE);

        // made[at] and at in one number: the smallest is the lowest rank, then the leftmost.
        let entry = |new: u32, at: u32| (new as u64) << 32 | at as u64;
        let candidates = made.iter().zip(0..n).filter(|&(&new, _)| new != NONE);
        let mut queue = Queue::new(candidates.map(|(&new, at)| entry(new, at)).collect());
        while let Some(first) = queue.pop() {
            let (new, at) = ((first >> 32) as u32, first as u32 as usize);
            // Tokens only grow, so a pair that has changed never comes back: a stale entry differs for ever.
            if made[at] != new {
                continue;
            }
            let right = next[at] as usize;
            let after = next[right];
            tokens[at] = new;
            made[right] = NONE;
            next[at] = after;
            if prev[at] != NONE {
                let before = prev[at];
                made[before as usize] = self.get(tokens[before as usize], new);
                if made[before as usize] != NONE {
                    queue.push(entry(made[before as usize], before));
                }
            }
            made[at] = NONE;
            if after < n {
                prev[after as usize] = at as u32;
                made[at] = self.get(new, tokens[after as usize]);
                if made[at] != NONE {
                    queue.push(entry(made[at], at as u32));
                }
            }
        }
        let mut at = 0;
        while at < n {
            ids.push(tokens[at as usize]);
            at = next[at as usize];
        }
    }
}

/// Gives numbers back smallest first, where most are pushed in rising order: a heap of sorted runs.
///
/// What is pushed gathers in a batch until something larger than its least is due; then it is sorted and
/// becomes a run. In a piece that repeats, all merges of one rank push one long run, and popping walks along it; a
/// plain heap of ten million entries misses the cache at each of its levels.
struct Queue {
    /// All runs and, at the end, the batch.
    entries: Vec<u64>,
    batch: usize,
    least_of_batch: u64,
    /// (first entry, where it is, where its run ends), without the current run.
    runs: BinaryHeap<Reverse<(u64, usize, usize)>>,
    current: Range<usize>,
}

impl Queue {
    fn new(entries: Vec<u64>) -> Queue {
        let least = entries.iter().copied().min().unwrap_or(u64::MAX);
        Queue { entries, batch: 0, least_of_batch: least, runs: BinaryHeap::new(), current: 0..0 }
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

    /// Makes the run with the smallest entry the current one. None where all are used up.
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

fn key(left: u32, right: u32) -> u64 {
    (left as u64) << 32 | right as u64
}

/// One widening multiplication, folded: both ids reach both the low bits (the bucket) and the high bits
/// (the tag) that hashbrown uses. Ids are chosen by a trainer, not by an attacker, so no seed is needed.
#[derive(Default)]
pub(crate) struct PairHasher(u64);

impl Hasher for PairHasher {
    fn write_u64(&mut self, pair: u64) {
        let product = (pair ^ 0x9e37_79b9_7f4a_7c15) as u128 * 0xd6e8_feb8_6659_fd93;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("pairs are hashed as one u64");
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

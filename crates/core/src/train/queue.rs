//! Queue: a heap that yields the next pair to merge, by count and then by the tie rule.
//!
//! Counts of existing pairs only fall, so an entry stays an upper bound from the moment it is pushed. The
//! owner compares the top with the true count and lowers it if it is stale; a top that is up to date is the
//! best pair.
//!
//! Cost: one push per watched pair and a few sifts per merge. Hugging Face tokenizers and rustbpe keep such
//! lazy heaps too.

use super::TieBreak;
use super::vocabulary::Vocabulary;

/// A pair and its count, or an upper bound of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedPair {
    pub count: u64,
    pub left: u32,
    pub right: u32,
}

impl CountedPair {
    /// Whether this pair is merged before the other. Internal ids follow the order of the rules `Ids` and
    /// `HuggingFace`, so both compare ids.
    #[inline]
    pub fn goes_before(&self, other: &CountedPair, tie_break: TieBreak, vocabulary: &Vocabulary) -> bool {
        if self.count != other.count {
            return self.count > other.count;
        }
        match tie_break {
            // `First` has a queue of its own, in `first_seen`.
            TieBreak::Ids | TieBreak::HuggingFace | TieBreak::First => {
                (self.left, self.right) < (other.left, other.right)
            }
            TieBreak::Bytes => {
                let key = |e: &CountedPair| (vocabulary.bytes(e.left), vocabulary.bytes(e.right));
                key(self) > key(other)
            }
            TieBreak::SentencePiece => {
                let length = |e: &CountedPair| vocabulary.joint_characters(e.left, e.right);
                let bytes = |e: &CountedPair| vocabulary.joint_bytes(e.left, e.right);
                let ids = |e: &CountedPair| (e.left, e.right);
                let order = length(self).cmp(&length(other));
                let order = order.then_with(|| bytes(self).cmp(bytes(other)));
                order.then_with(|| ids(self).cmp(&ids(other))).is_lt()
            }
        }
    }
}

/// A heap with four children per node: half the depth of a binary one, and siblings share a cache line.
#[derive(Default)]
pub struct MergeQueue {
    heap: Vec<CountedPair>,
}

const ARITY: usize = 4;

impl MergeQueue {
    pub fn top(&self) -> Option<CountedPair> {
        self.heap.first().copied()
    }

    pub fn clear(&mut self) {
        self.heap.clear();
    }

    pub fn push(&mut self, entry: CountedPair, tie_break: TieBreak, vocabulary: &Vocabulary) {
        let mut at = self.heap.len();
        self.heap.push(entry);
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if !entry.goes_before(&self.heap[parent], tie_break, vocabulary) {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }

    /// Removes the top.
    pub fn pop(&mut self, tie_break: TieBreak, vocabulary: &Vocabulary) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sift_down(last, tie_break, vocabulary);
        }
    }

    /// Lowers the count of the top.
    pub fn lower_top(&mut self, count: u64, tie_break: TieBreak, vocabulary: &Vocabulary) {
        let top = CountedPair { count, ..self.heap[0] };
        self.sift_down(top, tie_break, vocabulary);
    }

    /// Replaces the top with `entry` and sifts it down.
    fn sift_down(&mut self, entry: CountedPair, tie_break: TieBreak, vocabulary: &Vocabulary) {
        let mut at = 0;
        loop {
            let children = ARITY * at + 1..(ARITY * at + 1 + ARITY).min(self.heap.len());
            let Some(best) = children.reduce(|a, b| {
                if self.heap[b].goes_before(&self.heap[a], tie_break, vocabulary) { b } else { a }
            }) else {
                break;
            };
            if !self.heap[best].goes_before(&entry, tie_break, vocabulary) {
                break;
            }
            self.heap[at] = self.heap[best];
            at = best;
        }
        self.heap[at] = entry;
    }
}

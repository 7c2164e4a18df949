//! Which pair is next: a heap of pairs by count, equal counts by the tie rule.
//!
//! Counts of pairs that exist only fall, so an entry pushed at birth is an upper bound for ever. The owner
//! compares the top with the true count and lowers it where it is stale; a top that is true is the best.

use super::TieBreak;
use super::vocabulary::Vocabulary;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedPair {
    pub count: u64,
    pub left: u32,
    pub right: u32,
}

impl CountedPair {
    /// Whether this entry is to be merged before the other. Internal ids follow the order of the rules
    /// `Ids` and `HuggingFace`, so both compare ids.
    #[inline]
    pub fn goes_before(&self, other: &CountedPair, tie_break: TieBreak, vocabulary: &Vocabulary) -> bool {
        if self.count != other.count {
            return self.count > other.count;
        }
        match tie_break {
            TieBreak::Ids | TieBreak::HuggingFace => (self.left, self.right) < (other.left, other.right),
            TieBreak::Bytes => {
                let key = |e: &CountedPair| (vocabulary.bytes(e.left), vocabulary.bytes(e.right));
                key(self) > key(other)
            }
        }
    }
}

/// A heap with four children a node: half the depth of a binary one, and siblings share a cache line.
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

    /// Gives the top a lower count.
    pub fn lower_top(&mut self, count: u64, tie_break: TieBreak, vocabulary: &Vocabulary) {
        let top = CountedPair { count, ..self.heap[0] };
        self.sift_down(top, tie_break, vocabulary);
    }

    /// Puts `entry` in the place of the top and lets it sink.
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

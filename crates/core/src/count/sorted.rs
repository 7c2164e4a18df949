//! Sorted: the pre-tokens of a table in the order of their bytes, sorted in place.
//!
//! A packed pre-token is a number with the same order as its bytes (`key::order`), so sorting follows no
//! pointers; only long pre-tokens, which are few, are compared as bytes.

use super::table::{Long, Slot};
use crate::key::{LONG, order, pretoken_of_order};
use crate::{Progress, Result};

/// How many slots are sorted between two checks for cancellation: a few hundredths of a second.
const STEP: usize = if cfg!(test) { 16 } else { 1 << 20 };

/// Sorts, partitioning into halves first, unless cancelled.
fn sort(slots: &mut [Slot], progress: &Progress) {
    if progress.is_cancelled() {
    } else if slots.len() <= STEP {
        slots.sort_unstable_by_key(|slot| slot.key);
    } else {
        let (before, _, after) = slots.select_nth_unstable_by_key(slots.len() / 2, |slot| slot.key);
        sort(before, progress);
        sort(after, progress);
    }
}

pub struct Sorted<'a> {
    /// The remaining packed pre-tokens, whose keys are the two halves of their order.
    short: std::slice::Iter<'a, Slot>,
    next_short: Option<(u128, u64)>,
    long: std::vec::IntoIter<&'a Long>,
    next_long: Option<&'a Long>,
    bytes: &'a [u8],
    order: u128,
    /// The current pre-token: packed, or long.
    packed: ([u8; 16], usize),
    unpacked: &'a [u8],
    count: u64,
}

impl<'a> Sorted<'a> {
    pub fn new(
        short: &'a mut [Slot],
        mut long: Vec<&'a Long>,
        bytes: &'a [u8],
        progress: &Progress,
    ) -> Result<Sorted<'a>> {
        sort(short, progress);
        progress.check()?;
        let pretoken = |long: &Long| &bytes[long.start..][..long.len as usize];
        long.sort_unstable_by(|a, b| {
            let (a, b) = (pretoken(a), pretoken(b));
            order(a).cmp(&order(b)).then_with(|| a.cmp(b))
        });
        let mut sorted = Sorted {
            short: short.iter(),
            next_short: None,
            long: long.into_iter(),
            next_long: None,
            bytes,
            order: 0,
            packed: ([0; 16], 0),
            unpacked: &[],
            count: 0,
        };
        sorted.take_short();
        sorted.next_long = sorted.long.next();
        Ok(sorted)
    }

    fn take_short(&mut self) {
        let order = |[high, low]: [u64; 2]| (high as u128) << 64 | low as u128;
        self.next_short = self.short.next().map(|slot| (order(slot.key), slot.count));
    }

    /// Returns the number of remaining pre-tokens.
    pub fn len(&self) -> usize {
        let next = self.next_short.is_some() as usize + self.next_long.is_some() as usize;
        self.short.len() + self.long.len() + next
    }

    /// Advances to the next pre-token, and returns false at the end.
    pub fn advance(&mut self) -> bool {
        let long = self.next_long.map(|long| &self.bytes[long.start..][..long.len as usize]);
        match (self.next_short, long) {
            (Some((short, count)), long) if long.is_none_or(|long| short < order(long)) => {
                (self.order, self.packed, self.count) = (short, pretoken_of_order(short), count);
                self.take_short();
                true
            }
            (_, Some(pretoken)) => {
                (self.order, self.unpacked) = (order(pretoken), pretoken);
                self.count = self.next_long.map_or(0, |long| long.count);
                self.next_long = self.long.next();
                true
            }
            (None, None) => false,
            (Some(_), None) => unreachable!("a short pre-token comes before no long one"),
        }
    }

    pub fn order(&self) -> u128 {
        self.order
    }

    pub fn pretoken(&self) -> &[u8] {
        if self.order & 0xFF == LONG { self.unpacked } else { &self.packed.0[..self.packed.1] }
    }

    pub fn count(&self) -> u64 {
        self.count
    }
}

//! Race: merges spans of sorted entries into chunks of the output.
//!
//! A tournament tree over all spans: the smallest pre-token wins, its span advances, and only the games on its
//! path to the root are replayed. Pre-tokens are compared by a number (`key::order`), and byte by byte only if
//! both are long.

use super::super::file::Chunk;
use super::part_of;
use super::stream::{Entry, long_text};
use crate::key::{LONG, pretoken_of_order};
use crate::{Error, Result};

/// Consecutive entries of a source.
pub struct Span<'f> {
    pub list: &'f [Entry],
    pub texts: &'f [u8],
    pub base: u64,
}

impl<'f> Span<'f> {
    fn long(&self, entry: &Entry) -> &'f [u8] {
        long_text(self.texts, self.base, entry)
    }
}

/// Merges spans and appends the sums to the chunks of their parts.
pub fn merge_spans(spans: &[Span<'_>], chunks: &mut [Chunk]) -> Result<()> {
    let mut race = Race::new(spans);
    while let Some(winner) = race.winner() {
        let (order, mut count) = (winner.order, winner.count);
        if order & 0xFF == LONG {
            let text = race.winner_text();
            race.advance();
            while let Some(other) = race.winner()
                && other.order == order
                && race.winner_text() == text
            {
                count = count.checked_add(other.count).ok_or(Error::CountOverflow)?;
                race.advance();
            }
            let part = if chunks.len() == 1 { 0 } else { part_of(text, chunks.len()) };
            chunks[part].push_long(text, count)?;
        } else {
            race.advance();
            while let Some(other) = race.winner()
                && other.order == order
            {
                count = count.checked_add(other.count).ok_or(Error::CountOverflow)?;
                race.advance();
            }
            let part = if chunks.len() == 1 { 0 } else { part_of_order(order, chunks.len()) };
            chunks[part].push_short(order, count)?;
        }
    }
    Ok(())
}

/// Returns the part of a short pre-token.
fn part_of_order(order: u128, parts: usize) -> usize {
    let (bytes, len) = pretoken_of_order(order);
    part_of(&bytes[..len], parts)
}

/// The tournament. Exhausted spans lose against all others.
struct Race<'s, 'f> {
    spans: &'s [Span<'f>],
    /// The next entry of each span.
    at: Vec<usize>,
    orders: Vec<u128>,
    /// The losers of all games, that of the root at 1; the winner at 0.
    tree: Vec<usize>,
}

/// Greater than the order of any pre-token, whose last byte is at most 16.
const OVER: u128 = u128::MAX;

impl<'s, 'f> Race<'s, 'f> {
    fn new(spans: &'s [Span<'f>]) -> Race<'s, 'f> {
        let len = spans.len();
        let orders = spans.iter().map(|span| span.list.first().map_or(OVER, |entry| entry.order)).collect();
        let mut race = Race { spans, at: vec![0; len], orders, tree: vec![0; len] };
        // Winners of the games below each node; leaves are len..2 * len.
        let mut winners: Vec<usize> = (0..2 * len).map(|node| node.saturating_sub(len)).collect();
        for node in (1..len).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let left_wins = race.before(left, right);
            winners[node] = if left_wins { left } else { right };
            race.tree[node] = if left_wins { right } else { left };
        }
        if len > 1 {
            race.tree[0] = winners[1];
        }
        race
    }

    /// Returns the smallest entry, or None if all spans are exhausted.
    #[inline]
    fn winner(&self) -> Option<&'f Entry> {
        let winner = *self.tree.first()?;
        self.spans[winner].list.get(self.at[winner])
    }

    /// Returns the text of the smallest pre-token, which is long.
    fn winner_text(&self) -> &'f [u8] {
        self.text(self.tree[0])
    }

    fn text(&self, span: usize) -> &'f [u8] {
        self.spans[span].long(&self.spans[span].list[self.at[span]])
    }

    /// Advances the span with the smallest pre-token.
    #[inline]
    fn advance(&mut self) {
        let mut winner = self.tree[0];
        self.at[winner] += 1;
        let next = self.spans[winner].list.get(self.at[winner]);
        self.orders[winner] = next.map_or(OVER, |entry| entry.order);
        let mut node = (winner + self.spans.len()) / 2;
        while node > 0 {
            let other = self.tree[node];
            if self.before(other, winner) {
                self.tree[node] = winner;
                winner = other;
            }
            node /= 2;
        }
        self.tree[0] = winner;
    }

    #[inline]
    fn before(&self, a: usize, b: usize) -> bool {
        let (left, right) = (self.orders[a], self.orders[b]);
        left < right || left == right && left & 0xFF == LONG && self.text(a) < self.text(b)
    }
}

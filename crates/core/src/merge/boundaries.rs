//! Boundaries: where a text without pre-tokens may be cut.
//!
//! A SentencePiece model merges a whole text at once. But a merge happens only inside what becomes a token,
//! so a boundary between two characters that no token contains side by side is never crossed, and each side
//! is encoded as if it were alone (the lemma of `docs/how-bpe-works.md`). In English nearly all words are cut
//! off this way, because no token has a space after a letter; the parts repeat, and the cache knows them. In
//! Chinese most parts are one character, whose ids a table of the basic plane has (`parts`).
//!
//! Pairs of ASCII characters are a table of 2 KB, all others a bit map by hash, whose false positives cost
//! time and change nothing; most pairs that are not ASCII are decided before it, because one of the two is never
//! first, or never last, in a pair. Cost: about a nanosecond per character. When it loses: a vocabulary whose
//! tokens contain nearly every pair; then parts are long, and merging them takes n log n.

use std::sync::OnceLock;

use super::crossings::{has, set};
use super::parts::{Alone, Parts, UNKNOWN};
use crate::key::mix;

/// The boundaries that tokens of a vocabulary may cross, and the ids of single characters.
#[derive(Clone)]
pub(crate) struct Boundaries {
    /// By left × 128 + right: whether a token contains the two.
    ascii: Box<[u64; 256]>,
    /// Other pairs of characters, by hash; the number of bits is a power of two.
    others: Vec<u64>,
    /// By code point of the basic plane: whether a token has another character after it, or before it.
    followed: Box<Plane>,
    preceded: Box<Plane>,
    /// Whether parts of scripts without spaces are mostly one character.
    mostly_single: bool,
    /// By code point of the basic plane: the ids of the character alone; determined when first needed.
    alone: OnceLock<Vec<Alone>>,
}

/// A bit for each code point of the basic plane: 8 KB.
type Plane = [u64; 1 << 10];

/// The first character of scripts without spaces.
const DENSE: u32 = 0x3000;

/// A text in one of them has some 2,500 different characters. If tokens have more than this before and after others,
/// too many parts are longer than one: for Gemma 3, the table loses a tenth.
const MANY: u32 = 1000;

/// How many parts are collected at a time.
const STEP: usize = 1 << 12;

impl Boundaries {
    /// Builds the tables; tokens are sequences of whole characters.
    pub(crate) fn new<'a>(tokens: impl Iterator<Item = &'a str> + Clone) -> Boundaries {
        let pairs = tokens.flat_map(|token| token.chars().zip(token.chars().skip(1)));
        let is_other = |&(left, right): &(char, char)| left as u32 | right as u32 >= 0x80;
        let count = pairs.clone().filter(is_other).count();
        // At most one bit in eight is set.
        let bits = (count * 8).next_power_of_two().max(1 << 12);
        let mut made = Boundaries {
            ascii: Box::new([0; 256]),
            others: vec![0; bits / 64],
            followed: Box::new([0; 1 << 10]),
            preceded: Box::new([0; 1 << 10]),
            mostly_single: false,
            alone: OnceLock::new(),
        };
        for (left, right) in pairs {
            if is_other(&(left, right)) {
                set(&mut made.others, hash(left, right));
            } else {
                set(&mut made.ascii[..], (left as u64) << 7 | right as u64);
            }
            for (c, plane) in [(left, &mut made.followed), (right, &mut made.preceded)] {
                if (c as usize) < 1 << 16 {
                    set(&mut plane[..], c as u64);
                }
            }
        }
        // Pairs repeat, so that far fewer may be set; a smaller map stays in a nearer cache.
        let others = &mut made.others;
        while others.len() > 64
            && others.iter().map(|word| word.count_ones() as usize).sum::<usize>() * 16 < others.len() * 64
        {
            let upper = others.split_off(others.len() / 2);
            others.iter_mut().zip(upper).for_each(|(word, upper)| *word |= upper);
        }
        let both = made.followed.iter().zip(&*made.preceded).map(|(followed, preceded)| followed & preceded);
        let joined: u32 = both.skip(DENSE as usize / 64).map(u64::count_ones).sum();
        made.mostly_single = joined < MANY;
        made
    }

    /// Returns the ids of each character alone, by code point, if parts of scripts without spaces are mostly one
    /// character; `encode` appends the ids of one.
    pub(crate) fn alone(&self, encode: impl Fn(char, &mut Vec<u32>)) -> Option<&[Alone]> {
        let all = || (0..1 << 16).map(|c| Alone::of(c, &encode)).collect();
        self.mostly_single.then(|| &self.alone.get_or_init(all)[..])
    }

    /// Whether a token may contain the two characters side by side.
    #[inline(always)]
    pub(crate) fn may_cross(&self, left: char, right: char) -> bool {
        if (left as u32 | right as u32) < 0x80 {
            return has(&self.ascii[..], (left as u64) << 7 | right as u64);
        }
        if (left as u32 | right as u32) < 1 << 16
            && !(has(&self.followed[..], left as u64) & has(&self.preceded[..], right as u64))
        {
            return false;
        }
        has(&self.others, hash(left, right))
    }

    /// Appends the ends of the parts of `text[start..end]`.
    pub(crate) fn cut(&self, text: &str, start: usize, end: usize, ends: &mut Vec<u32>) {
        self.each_part(text, start, end, |_, end, _| {
            ends.push(end as u32);
            true
        });
    }

    /// Replaces `parts` by those of `text[start..end]`, or some thousand of them; returns where they end.
    /// `alone` has the ids of characters.
    pub(crate) fn divide(
        &self,
        alone: &[Alone],
        text: &str,
        start: usize,
        end: usize,
        parts: &mut Parts,
    ) -> usize {
        parts.clear(STEP);
        let mut count = 0;
        self.each_part(text, start, end, |start, end, only| {
            let known = only.and_then(|c| alone.get(c as usize)).unwrap_or(&UNKNOWN);
            parts.push(start, end, known);
            count += 1;
            count < STEP
        })
    }

    /// Passes the parts of `text[start..end]` to `visit`, until it returns false: where they start and end, and the
    /// character if it is one. Returns where the last one ends.
    #[inline(always)]
    fn each_part(
        &self,
        text: &str,
        start: usize,
        end: usize,
        mut visit: impl FnMut(usize, usize, Option<char>) -> bool,
    ) -> usize {
        let Some(part) = text.get(start..end) else {
            // It does not begin or end between characters; nothing is cut.
            visit(start, end, None);
            return end;
        };
        let mut rest = part.chars();
        let Some(mut left) = rest.next() else { return end };
        let (mut from, mut only) = (start, Some(left));
        loop {
            let at = end - rest.as_str().len();
            let right = rest.next();
            if let Some(right) = right
                && self.may_cross(left, right)
            {
                only = None;
                left = right;
                continue;
            }
            if !visit(from, at, only) {
                return at;
            }
            let Some(right) = right else { return end };
            (from, only, left) = (at, Some(right), right);
        }
    }
}

#[inline(always)]
fn hash(left: char, right: char) -> u64 {
    mix((left as u64) << 32 | right as u64, 0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_no_token_has_both_characters() {
        let tokens = ["lo", "low", " l", "é中", "中a"];
        let boundaries = Boundaries::new(tokens.iter().copied());
        let mut ends = Vec::new();
        let text = "low low é中a中é lowlowlowlowlowlow";
        boundaries.cut(text, 0, text.len(), &mut ends);
        let starts = [0].into_iter().chain(ends.iter().copied());
        let parts: Vec<&str> =
            starts.zip(&ends).map(|(start, &end)| &text[start as usize..end as usize]).collect();
        let long = [" low", "low", "low", "low", "low", "low"];
        assert_eq!(parts, [&["low", " low", " ", "é中a", "中", "é"], &long[..]].concat());
    }
}

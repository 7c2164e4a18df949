//! Boundaries: where a text without pre-tokens may be cut.
//!
//! A SentencePiece model merges a whole text at once. But a merge happens only inside what becomes a token,
//! so a boundary between two characters that no token contains side by side is never crossed, and each side
//! is encoded as if it were alone (the lemma of `docs/how-bpe-works.md`). In English nearly all words are cut
//! off this way, because no token has a space after a letter; the parts repeat, and the cache knows them.
//!
//! Pairs of ASCII characters are a table of 2 KB, all others a bit map by hash, whose false positives cost
//! time and change nothing. Cost: about a nanosecond per character. When it loses: a vocabulary whose tokens
//! contain nearly every pair; then parts are long, and merging them takes n log n.

use super::crossings::next_char;
use crate::key::mix;

/// The boundaries that tokens of a vocabulary may cross.
#[derive(Clone)]
pub(crate) struct Boundaries {
    /// By left × 128 + right: whether a token contains the two.
    ascii: Box<[u64; 256]>,
    /// Other pairs of characters, by hash; the number of bits is a power of two.
    others: Vec<u64>,
}

impl Boundaries {
    /// Builds the tables; tokens are sequences of whole characters.
    pub(crate) fn new<'a>(tokens: impl Iterator<Item = &'a str> + Clone) -> Boundaries {
        let pairs = tokens.flat_map(|token| {
            let numbers = token.chars().map(number);
            numbers.clone().zip(numbers.skip(1))
        });
        let is_other = |&(left, right): &(u32, u32)| left | right >= 0x80;
        let count = pairs.clone().filter(is_other).count();
        // At most one bit in eight is set, mostly far fewer, because pairs repeat.
        let bits = (count * 8).next_power_of_two().max(1 << 12);
        let mut made = Boundaries { ascii: Box::new([0; 256]), others: vec![0; bits / 64] };
        for pair in pairs {
            if is_other(&pair) {
                let bit = hash(pair.0, pair.1) as usize & (bits - 1);
                made.others[bit / 64] |= 1 << (bit % 64);
            } else {
                let bit = (pair.0 as usize) << 7 | pair.1 as usize;
                made.ascii[bit / 64] |= 1 << (bit % 64);
            }
        }
        made
    }

    #[inline(always)]
    fn crosses(&self, left: u32, right: u32) -> bool {
        if left | right < 0x80 {
            let bit = (left << 7 | right) as usize;
            return self.ascii[bit / 64] >> (bit % 64) & 1 != 0;
        }
        let bit = hash(left, right) as usize & (self.others.len() * 64 - 1);
        self.others[bit / 64] >> (bit % 64) & 1 != 0
    }

    /// Whether a token may contain the two characters side by side.
    pub(crate) fn may_cross(&self, left: char, right: char) -> bool {
        self.crosses(number(left), number(right))
    }

    /// Appends the ends of the parts of `text[start..end]`.
    pub(crate) fn cut(&self, text: &str, start: usize, end: usize, ends: &mut Vec<u32>) {
        if start == end {
            return;
        }
        if !(text.is_char_boundary(start) && text.is_char_boundary(end)) {
            // It does not begin or end between characters; nothing is cut.
            ends.push(end as u32);
            return;
        }
        let bytes = &text.as_bytes()[..end];
        let mut at = start;
        let mut left = next_char(bytes, &mut at);
        while at < end {
            let boundary = at;
            let right = next_char(bytes, &mut at);
            if !self.crosses(left, right) {
                ends.push(boundary as u32);
            }
            left = right;
        }
        ends.push(end as u32);
    }
}

/// Returns the bytes of a character as a number.
fn number(c: char) -> u32 {
    c.encode_utf8(&mut [0; 4]).bytes().fold(0, |number, byte| number << 8 | byte as u32)
}

#[inline(always)]
fn hash(left: u32, right: u32) -> u64 {
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

//! Crossings: places inside a piece that no token can lie across.
//!
//! Chinese and Japanese have no spaces: a piece is a whole clause, and few come twice, so that remembering
//! pieces does not help. But the tokens across two such characters are few. Where none can cross the boundary
//! between two characters, no merge ever will, and what stands on either side is encoded as if it were alone
//! (the lemma of `docs/how-bpe-works.md`): a clause falls apart into runs of one or two characters, and those
//! come again all the time.
//!
//! A boundary counts as crossed where some token could lie there by what it holds of the two characters. Tokens
//! that hold both whole are a set of pairs; the few that begin or end inside one of them are known by three bytes
//! around the boundary. Both sets are bit maps that may say yes too often, which costs time and changes nothing.
//!
//! Only boundaries between two characters of several bytes are looked at: across all others tokens abound.
//! Cost: about a nanosecond a byte. A run must not be taken for a token that only ever is a whole piece; where
//! the vocabulary has such tokens of that kind, nothing is cut.

use crate::key::mix;

/// Characters are at most this long.
const CHAR: usize = 4;

#[derive(Clone)]
pub(crate) struct Crossings {
    /// Pairs of characters, by hash.
    pairs: Vec<u64>,
    /// The last byte of one character and the first two of the next, six bits of each.
    partial: Vec<u64>,
    /// Whether boundaries may be looked at.
    usable: bool,
}

fn continues(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Whether `bytes[at]` begins a character of several bytes, right behind another.
fn is_boundary(bytes: &[u8], at: usize) -> bool {
    at > 0 && bytes[at] >= 0xC0 && continues(bytes[at - 1])
}

/// The length of a character that begins with this byte.
fn length(lead: u8) -> usize {
    match lead {
        0..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}

/// What `bytes` hold of the two characters around a boundary; whole ones only.
fn left_char(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let back = (1..=CHAR.min(at)).find(|back| !continues(bytes[at - back]))?;
    (bytes[at - back] >= 0xC0).then(|| &bytes[at - back..at])
}

fn right_char(bytes: &[u8], at: usize) -> Option<&[u8]> {
    bytes.get(at..at + length(bytes[at]))
}

fn number(char: &[u8]) -> u64 {
    char.iter().fold(0, |number, &byte| number << 8 | byte as u64)
}

impl Crossings {
    /// `whole` are the tokens that are only ever whole pieces.
    pub fn new<'a>(
        tokens: impl Iterator<Item = &'a [u8]> + Clone,
        mut whole: impl Iterator<Item = &'a [u8]>,
    ) -> Crossings {
        let long = |byte: Option<&u8>| byte.is_some_and(|&byte| byte >= 0x80);
        let usable = !whole.any(|token| long(token.first()) || long(token.last()));
        let count = tokens.clone().filter(|token| (1..token.len()).any(|at| is_boundary(token, at))).count();
        // One bit in 32 is set, or fewer.
        let bits = (count * 32).next_power_of_two().max(1 << 12);
        let mut crossings = Crossings { pairs: vec![0; bits / 64], partial: vec![0; 1 << 12], usable };
        for token in tokens {
            for at in (1..token.len()).filter(|&at| is_boundary(token, at)) {
                match (left_char(token, at), right_char(token, at), token.get(at + 1)) {
                    (Some(left), Some(right), _) => set(&mut crossings.pairs, pair(left, right)),
                    (_, _, Some(&second)) => {
                        set(&mut crossings.partial, around(token[at - 1], token[at], second))
                    }
                    _ => (0..64).for_each(|second| {
                        set(&mut crossings.partial, around(token[at - 1], token[at], second))
                    }),
                }
            }
        }
        crossings
    }

    /// The runs of a piece.
    pub fn runs<'a>(&self, piece: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let rest = &piece[start..];
            if rest.is_empty() {
                return None;
            }
            let end = self.first_run(rest);
            start += end;
            Some(&rest[..end])
        })
    }

    /// The end of the first run of a piece.
    #[inline]
    fn first_run(&self, piece: &[u8]) -> usize {
        let mut at = length_or_one(piece[0]);
        if self.usable {
            while at + 1 < piece.len() {
                if is_boundary(piece, at) && !self.may_cross(piece, at) {
                    return at;
                }
                at += length_or_one(piece[at]);
            }
        }
        piece.len()
    }

    #[inline]
    fn may_cross(&self, piece: &[u8], at: usize) -> bool {
        if has(&self.partial, around(piece[at - 1], piece[at], piece[at + 1])) {
            return true;
        }
        match (left_char(piece, at), right_char(piece, at)) {
            (Some(left), Some(right)) => has(&self.pairs, pair(left, right)),
            // Not UTF-8; no need to be quick.
            _ => true,
        }
    }
}

fn length_or_one(byte: u8) -> usize {
    if byte >= 0xC0 { length(byte) } else { 1 }
}

#[inline]
fn pair(left: &[u8], right: &[u8]) -> u64 {
    mix(number(left) << 32 | number(right), 0x9E37_79B9_7F4A_7C15)
}

#[inline]
fn around(last: u8, first: u8, second: u8) -> u64 {
    (last as u64 & 63) << 12 | (first as u64 & 63) << 6 | second as u64 & 63
}

/// A set of numbers, by their lowest bits; as many as there are bits, which is a power of two.
fn set(bits: &mut [u64], number: u64) {
    let number = number as usize & (bits.len() * 64 - 1);
    bits[number / 64] |= 1 << (number % 64);
}

#[inline]
fn has(bits: &[u64], number: u64) -> bool {
    let number = number as usize & (bits.len() * 64 - 1);
    bits[number / 64] >> (number % 64) & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(tokens: &[&str], whole: &[&str], piece: &str) -> Vec<String> {
        let bytes =
            |tokens: &[&str]| tokens.iter().map(|token| token.as_bytes().to_vec()).collect::<Vec<_>>();
        let (tokens, whole) = (bytes(tokens), bytes(whole));
        let crossings =
            Crossings::new(tokens.iter().map(|token| &token[..]), whole.iter().map(|token| &token[..]));
        crossings.runs(piece.as_bytes()).map(|run| String::from_utf8(run.to_vec()).unwrap()).collect()
    }

    #[test]
    fn runs_end_where_no_token_can_lie_across() {
        assert_eq!(runs(&["你好"], &[], "你好吗你好"), ["你好", "吗", "你好"]);
        assert_eq!(runs(&["你好", "好吗"], &[], "你好吗你"), ["你好吗", "你"]);
        assert_eq!(runs(&[], &[], "abc é中a文"), ["abc é", "中a文"]);
        assert_eq!(runs(&["你好"], &["吗"], "你吗"), ["你吗"]);
    }

    #[test]
    fn a_token_inside_characters_crosses_too() {
        let piece = "你好吗".as_bytes();
        for (start, end) in [(2, 4), (1, 4), (2, 5), (2, 6), (0, 4), (0, 5), (1, 6)] {
            let tokens = [&piece[start..end]];
            let crossings = Crossings::new(tokens.into_iter(), [].into_iter());
            let runs: Vec<usize> = crossings.runs(piece).map(<[u8]>::len).collect();
            assert_eq!(runs, [6, 3], "{start}..{end}");
        }
    }
}

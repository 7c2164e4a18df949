//! Crossings: the boundaries inside a pre-token that no token crosses.
//!
//! Chinese and Japanese have no spaces: a pre-token is a whole clause, and few clauses repeat, so caching
//! pre-tokens does not help. But few tokens cross the boundary between two given characters. Where none can,
//! no merge ever will, and each side is encoded as if it were alone (the lemma of `docs/how-bpe-works.md`): a
//! clause divides into runs of one or two characters, and those repeat all the time.
//!
//! A boundary counts as crossed if some token could cover it, judging by what the token contains of the two
//! characters. Tokens that contain both whole are a set of pairs; the few that begin or end inside one of
//! them are identified by three bytes around the boundary. Both sets are bit maps with false positives, which
//! cost time and change nothing.
//!
//! Only boundaries between two multi-byte characters are examined: most other boundaries are crossed. Cost:
//! about a nanosecond per byte. A run must not be mistaken for a token that is used only for a whole
//! pre-token (Llama 3 has hundreds): such a run is joined to a neighbor, and looking for them costs a few
//! nanoseconds per run.

use std::collections::HashSet;

use crate::key::mix;

/// The longest character, in bytes.
const CHAR: usize = 4;

/// The boundaries that tokens of a vocabulary may cross.
#[derive(Clone)]
pub(crate) struct Crossings {
    /// Pairs of characters, by hash.
    pairs: Vec<u64>,
    /// The last byte of one character and the first two of the next, six bits of each.
    partial: Vec<u64>,
    /// The tokens that are used only for whole pre-tokens and that a run could be.
    whole: HashSet<Box<[u8]>>,
    /// Their first characters and lengths, by hash.
    whole_filter: Vec<u64>,
    /// Whether pre-tokens may be divided at all.
    usable: bool,
}

fn continues(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Whether `bytes[at]` begins a multi-byte character right after another one.
fn is_boundary(bytes: &[u8], at: usize) -> bool {
    at > 0 && bytes[at] >= 0xC0 && continues(bytes[at - 1])
}

/// Returns the length of a character that begins with this byte.
#[inline(always)]
fn length(lead: u8) -> usize {
    match lead {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}

/// The characters on both sides of a boundary, if `bytes` contains them whole.
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
    /// Builds the sets; `whole` are the tokens that are used only for whole pre-tokens.
    pub fn new<'a>(
        tokens: impl Iterator<Item = &'a [u8]> + Clone,
        whole: impl Iterator<Item = &'a [u8]>,
    ) -> Crossings {
        // One end of a run is a boundary between characters of several bytes.
        let long = |byte: Option<&u8>| byte.is_some_and(|&byte| byte >= 0x80);
        let whole = whole.filter(|token| long(token.first()) || long(token.last()));
        let whole: HashSet<Box<[u8]>> = whole.map(Box::from).collect();
        let mut whole_filter = vec![0; (whole.len() * 32).next_power_of_two().max(64) / 64];
        whole.iter().for_each(|token| set(&mut whole_filter, start_and_length(token)));
        let tokens = tokens.filter(|token| !token.is_ascii());
        let count = tokens.clone().filter(|token| (1..token.len()).any(|at| is_boundary(token, at))).count();
        // At most one bit in 32 is set.
        let bits = (count * 32).next_power_of_two().max(1 << 12);
        let (pairs, partial) = (vec![0; bits / 64], vec![0; 1 << 12]);
        let mut crossings = Crossings { pairs, partial, whole, whole_filter, usable: true };
        for token in tokens {
            for at in (1..token.len()).filter(|&at| is_boundary(token, at)) {
                let (last, first) = (token[at - 1] as u64, token[at] as u64);
                match (left_char(token, at), right_char(token, at), token.get(at + 1)) {
                    (Some(left), Some(right), _) => {
                        set(&mut crossings.pairs, pair(number(left), number(right)));
                    }
                    (_, _, Some(&second)) => {
                        set(&mut crossings.partial, around(last, first << 8 | second as u64));
                    }
                    _ => (0x80..0xC0)
                        .for_each(|second| set(&mut crossings.partial, around(last, first << 8 | second))),
                }
            }
        }
        crossings
    }

    /// Returns crossings that divide nothing.
    pub fn everywhere() -> Crossings {
        Crossings { usable: false, ..Crossings::new(std::iter::empty(), std::iter::empty()) }
    }

    /// Appends the ends of the runs of the pre-token `text[start..end]`.
    #[inline(always)]
    pub fn cut(&self, text: &str, start: usize, end: usize, ends: &mut Vec<u32>) {
        let text = &text.as_bytes()[..end];
        if self.whole.is_empty() {
            self.divide(text, start, ends)
        } else {
            self.divide_and_join(text, start, ends)
        }
    }

    /// Appends the ends of the runs of the pre-token that begins at `start` and ends where `text` does.
    #[inline(always)]
    fn divide(&self, text: &[u8], start: usize, ends: &mut Vec<u32>) {
        let end = text.len();
        let mut at = start;
        let mut left = next_char(text, &mut at) as u64;
        while self.usable && at < end {
            let boundary = at;
            let right = next_char(text, &mut at) as u64;
            // Boundaries next to a single-byte character are not examined.
            if left.min(right) >= 0x80 && !self.may_cross(left, right, at - boundary) {
                ends.push(boundary as u32);
            }
            left = right;
        }
        ends.push(end as u32);
    }

    /// Does the same, and joins runs that are tokens of whole pre-tokens to their neighbors.
    #[inline(never)]
    fn divide_and_join(&self, text: &[u8], start: usize, ends: &mut Vec<u32>) {
        if self.is_whole(&text[start..]) {
            return ends.push(text.len() as u32);
        }
        let first = ends.len();
        self.divide(text, start, ends);
        let (mut from, mut kept) = (start, first);
        for at in first..ends.len() {
            let end = ends[at];
            if at + 1 < ends.len() && self.is_whole(&text[from..end as usize]) {
                continue;
            }
            ends[kept] = end;
            from = end as usize;
            kept += 1;
        }
        ends.truncate(kept);
        // The last run has no next one. The pre-token as a whole is no such token.
        while kept - first > 1 && self.is_whole(&text[ends[kept - 2] as usize..]) {
            ends.remove(kept - 2);
            kept -= 1;
        }
    }

    fn is_whole(&self, run: &[u8]) -> bool {
        has(&self.whole_filter, start_and_length(run)) && self.whole.contains(run)
    }

    /// Whether a token may cross the boundary between two characters, of which the right one has `len` bytes.
    #[inline(always)]
    fn may_cross(&self, left: u64, right: u64, len: usize) -> bool {
        has(&self.pairs, pair(left, right)) || has(&self.partial, around(left, right >> (8 * len - 16)))
    }
}

/// Returns the bytes of the character at `at` as a number, and advances `at` past it.
#[inline(always)]
fn next_char(text: &[u8], at: &mut usize) -> u32 {
    let bytes = &text[*at..];
    let len = length(bytes[0]);
    *at += len;
    match bytes.first_chunk::<4>() {
        Some(four) => u32::from_be_bytes(*four) >> (32 - 8 * len),
        None => number(&bytes[..len]) as u32,
    }
}

/// Returns a hash of the first bytes and the length of a run.
#[inline]
fn start_and_length(run: &[u8]) -> u64 {
    let start = match run.first_chunk::<4>() {
        Some(four) => u32::from_le_bytes(*four) as u64,
        None => number(run),
    };
    pair(start, run.len() as u64)
}

#[inline(always)]
fn pair(left: u64, right: u64) -> u64 {
    mix(left << 32 | right, 0x9E37_79B9_7F4A_7C15)
}

/// Returns the last byte of one character and the first two of the next, `right`, six bits of each.
#[inline(always)]
fn around(left: u64, right: u64) -> u64 {
    (left & 63) << 12 | (right >> 8 & 63) << 6 | right & 63
}

/// Adds a number to a set of bits, by its lowest bits; the number of bits is a power of two.
pub(super) fn set(bits: &mut [u64], number: u64) {
    let number = number as usize & (bits.len() * 64 - 1);
    bits[number / 64] |= 1 << (number % 64);
}

#[inline]
pub(super) fn has(bits: &[u64], number: u64) -> bool {
    let number = number as usize & (bits.len() * 64 - 1);
    bits[number / 64] >> (number % 64) & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(tokens: &[&[u8]], whole: &[&str], pretoken: &str) -> Vec<String> {
        let whole = whole.iter().map(|token| token.as_bytes());
        let crossings = Crossings::new(tokens.iter().copied(), whole);
        let mut ends = Vec::new();
        // Neither at the start nor at the end of its text.
        crossings.cut(&format!("好{pretoken}吗"), 3, 3 + pretoken.len(), &mut ends);
        let starts = [3].into_iter().chain(ends.iter().copied());
        starts.zip(&ends).map(|(start, &end)| pretoken[start as usize - 3..end as usize - 3].into()).collect()
    }

    #[test]
    fn runs_end_where_no_token_can_cross() {
        let [hello, what] = ["你好".as_bytes(), "好吗".as_bytes()];
        assert_eq!(runs(&[hello], &[], "你好吗你好"), ["你好", "吗", "你好"]);
        assert_eq!(runs(&[hello, what], &[], "你好吗你"), ["你好吗", "你"]);
        assert_eq!(runs(&[], &[], "abc é中a文🙂é"), ["abc é", "中a文", "🙂", "é"]);
    }

    #[test]
    fn a_run_is_never_a_token_of_whole_pretokens() {
        assert_eq!(runs(&[], &["a"], "你吗"), ["你", "吗"]);
        assert_eq!(runs(&[], &["吗"], "你吗"), ["你吗"]);
        assert_eq!(runs(&[], &["吗"], "吗你好"), ["吗你", "好"]);
        assert_eq!(runs(&[], &["你", "你好"], "你好吗啊"), ["你好吗", "啊"]);
        assert_eq!(runs(&[], &["吗", "好吗"], "啊你好吗"), ["啊", "你好吗"]);
        assert_eq!(runs(&[], &["吗", "吗好"], "吗好"), ["吗好"]);
        assert_eq!(runs(&[], &["你好", "你", "好"], "你好"), ["你好"]);
        assert_eq!(runs(&[], &["你", "吗"], "你吗"), ["你吗"]);
    }

    #[test]
    fn a_token_inside_characters_crosses_too() {
        for (pretoken, middle) in [("你好", 3), ("é好", 2), ("🙂好", 4), ("好🙂", 3)] {
            for start in 0..middle {
                for end in middle + 1..=pretoken.len() {
                    let token = &pretoken.as_bytes()[start..end];
                    assert_eq!(runs(&[token], &[], pretoken), [pretoken], "{start}..{end}");
                }
            }
            assert_eq!(runs(&[], &[], pretoken).len(), 2);
        }
    }
}

//! Bits: operations on masks that span several words, given as a function from word to mask.
//!
//! Cost: a run is found one word at a time; its end is the first clear bit.

/// Whether the bit at `at` is set.
#[inline(always)]
pub fn has(words: impl Fn(usize) -> u64, at: usize) -> bool {
    words(at / 64) >> (at % 64) & 1 == 1
}

/// Returns where the run of set bits that ends just before `end` begins; `end` if there is none.
#[inline(always)]
pub fn run_start(words: impl Fn(usize) -> u64, end: usize) -> usize {
    let (mut w, bit) = (end / 64, end % 64);
    // Clear bits below `end` stop the run.
    let mut stops = !words(w) & ((1 << bit) - 1);
    while stops == 0 {
        if w == 0 {
            return 0;
        }
        w -= 1;
        stops = !words(w);
    }
    w * 64 + 64 - stops.leading_zeros() as usize
}

/// Returns where the run of set bits that contains `start` ends; `start` if it is clear. Past the text all
/// bits are clear.
#[inline(always)]
pub fn run_end(words: impl Fn(usize) -> u64, start: usize) -> usize {
    let (mut w, bit) = (start / 64, start % 64);
    let mut stops = !words(w) & (u64::MAX << bit);
    while stops == 0 {
        w += 1;
        stops = !words(w);
    }
    w * 64 + stops.trailing_zeros() as usize
}

/// Returns the mask of the bytes before each one, given the mask of the word before.
#[inline(always)]
pub fn before(now: u64, previous: u64) -> u64 {
    now << 1 | previous >> 63
}

/// Returns the mask of the bytes after each one, given the mask of the word after.
#[inline(always)]
pub fn after(now: u64, next: u64) -> u64 {
    now >> 1 | next << 63
}

/// Returns the length of the contraction that begins with the apostrophe at `at`, or 0. If caseless, the long
/// s (U+017F) counts as an s, as in Unicode's simple case folding.
#[inline(always)]
pub fn contraction<const CASELESS: bool>(text: &[u8], at: usize) -> usize {
    let raw = |k: usize| text.get(at + k).copied().unwrap_or(0);
    let letter = |k: usize| if CASELESS { raw(k) | 0x20 } else { raw(k) };
    match letter(1) {
        b's' | b'd' | b'm' | b't' => 2,
        b'l' if letter(2) == b'l' => 3,
        b'v' | b'r' if letter(2) == b'e' => 3,
        _ if CASELESS && raw(1) == 0xC5 && raw(2) == 0xBF => 3,
        _ => 0,
    }
}

/// Returns the indices of the set bits, lowest first.
#[inline(always)]
pub fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        at
    })
}

/// Changes that an apostrophe causes, also past the current word: bits to clear and to set, counted from bit
/// 0 of the current word.
#[derive(Default)]
pub struct Amend {
    pub clear: u128,
    pub set: u128,
}

impl Amend {
    #[inline(always)]
    pub fn apply(&mut self, word: &mut u64) {
        *word = *word & !(self.clear as u64) | self.set as u64;
        self.clear >>= 64;
        self.set >>= 64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_across_words() {
        let words = [0xF000_0000_0000_0000u64, u64::MAX, 0b111, 0];
        let word = |w: usize| words[w];
        assert_eq!(run_start(word, 131), 60);
        assert_eq!(run_end(word, 60), 131);
        assert_eq!(run_start(word, 60), 60);
        assert_eq!(run_end(word, 131), 131);
        assert_eq!(run_start(|_| u64::MAX, 64), 0);
        assert!(has(word, 60) && !has(word, 59));
    }
}

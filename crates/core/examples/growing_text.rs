//! Endless text whose unique pre-tokens grow by Heaps' law: the corpus of `benchmarks/scale/landmark.py`.
//!
//! `cargo run --release --example growing_text -- SKIP BYTES`: writes BYTES bytes to standard output, from
//! offset SKIP on. The text of any range depends only on its offsets, so nothing need be stored: a reader that
//! lost its place generates the text again.
//!
//! The text consists of blocks of 1 MB. The first n bytes have U(n) = 1.05 million × (n / 132 MB)^0.82 unique
//! words: size, number and exponent were measured on `mixed` (`benchmarks/scale/generate.py`). A block
//! introduces the words that the law asks of it, at even distances. All other words are repetitions: the word
//! that was introduced as number k is drawn with probability proportional to (k + 10)^(-1 - 0.22), cut off
//! where the block begins; 1.22 is 1 / 0.82, the exponent of Zipf's law that belongs to the one of Heaps. A
//! word is spelled as syllables, of which larger numbers have more. Words are separated by a space, some by
//! punctuation, lines begin with one of the first 1,024 words, and every 16th line ends a document.
//!
//! Cost: about 1 ns per byte.

use std::io::{self, Write};

/// The size of a block. The last one of a word, or line, is padded with the first word of all.
const BLOCK: u64 = 1_000_000;

/// The measured law: unique words, size in bytes, exponent.
const UNIQUE: f64 = 1.05e6;
const SIZE: f64 = 132e6;
const EXPONENT: f64 = 0.82;

/// The exponent of the law of repetitions, beyond 1, and the rank to which it is flat.
const TAIL: f64 = 1.0 / EXPONENT - 1.0;
const FLAT: f64 = 10.0;

/// The first words, from which lines begin; their number is introduced before the text begins.
const STARTERS: u64 = 1 << 10;

/// The quantiles between which ranks are interpolated.
const QUANTILES: usize = 1 << 14;

/// The quantiles are computed again after this many blocks.
const SEGMENT: u64 = 64;

const ONSETS: [&[u8]; 16] =
    [b"t", b"s", b"r", b"n", b"l", b"d", b"m", b"c", b"p", b"b", b"st", b"h", b"g", b"v", b"f", b"tr"];
const NUCLEI: [&[u8]; 8] = [b"e", b"a", b"i", b"o", b"u", b"ea", b"io", b"ou"];
const SYLLABLE_BITS: u32 = 7;

/// Words below this number are stored, not spelled.
const STORED: u64 = 1 << 15;

const SEPARATOR: &[u8] = b"\n<|endoftext|>\n";

fn main() -> io::Result<()> {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let [skip, bytes] = arguments[..] else {
        eprintln!("usage: growing_text SKIP BYTES");
        std::process::exit(2);
    };
    let mut generator = Generator::new();
    let mut out = io::stdout().lock();
    let (mut at, end) = (skip, skip + bytes);
    while at < end {
        let block = generator.block(at / BLOCK);
        let start = (at % BLOCK) as usize;
        let stop = (start as u64 + end - at).min(BLOCK) as usize;
        if let Err(error) = out.write_all(&block[start..stop]) {
            // The reader has seen enough.
            return if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) };
        }
        at += (stop - start) as u64;
    }
    out.flush()
}

/// Returns how many unique words the first `bytes` bytes have.
fn introduced(bytes: u64) -> u64 {
    STARTERS + (UNIQUE * (bytes as f64 / SIZE).powf(EXPONENT)).round() as u64
}

/// A word, with its length in the last byte.
type Stored = [u8; 16];

struct Generator {
    syllables: Vec<[u8; 4]>,
    words: Vec<Stored>,
    /// The ranks below which a share of the repetitions lies, and the segment they are for.
    quantiles: Vec<f64>,
    segment: u64,
    text: Vec<u8>,
}

impl Generator {
    fn new() -> Generator {
        let mut syllables = Vec::new();
        for onset in ONSETS {
            for nucleus in NUCLEI {
                let mut syllable = [0; 4];
                syllable[..onset.len()].copy_from_slice(onset);
                syllable[onset.len()..][..nucleus.len()].copy_from_slice(nucleus);
                syllables.push(syllable);
            }
        }
        let mut generator = Generator {
            syllables,
            words: Vec::new(),
            quantiles: Vec::new(),
            segment: u64::MAX,
            text: Vec::with_capacity(BLOCK as usize + 256),
        };
        for number in 0..STORED {
            let mut word = [0; 24];
            let len = generator.spell(number, &mut word);
            let mut stored: Stored = word[..16].try_into().expect("16 bytes");
            stored[15] = len as u8;
            generator.words.push(stored);
        }
        generator
    }

    /// Writes a word that no other number has; returns its length.
    ///
    /// Numbers of as many bits share a length in syllables, and are scattered over all words of that length.
    /// Syllables can be distinguished: each is consonants, then vowels.
    fn spell(&self, number: u64, word: &mut [u8; 24]) -> usize {
        let count = (u64::BITS - number.leading_zeros()).div_ceil(SYLLABLE_BITS).max(1);
        let bits = count * SYLLABLE_BITS;
        // Odd factors and shifts of at least half the bits are invertible.
        let mask = (1 << bits) - 1;
        let mut mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) & mask;
        mixed ^= mixed >> bits.div_ceil(2);
        mixed = mixed.wrapping_mul(0xD1B5_4A32_D192_ED03) & mask;
        let mut len = 0;
        for _ in 0..count {
            let syllable = self.syllables[(mixed & ((1 << SYLLABLE_BITS) - 1)) as usize];
            word[len..len + 4].copy_from_slice(&syllable);
            len += 2 + (syllable[2] != 0) as usize + (syllable[3] != 0) as usize;
            mixed >>= SYLLABLE_BITS;
        }
        len
    }

    /// Computes the quantiles of the repeated ranks, with `most` words introduced.
    fn set_quantiles(&mut self, most: u64) {
        let rest = (1.0 + most as f64 / FLAT).powf(-TAIL);
        self.quantiles.clear();
        self.quantiles.extend((0..=QUANTILES).map(|nth| {
            let above = 1.0 - nth as f64 / QUANTILES as f64 * (1.0 - rest);
            FLAT * (above.powf(-1.0 / TAIL) - 1.0)
        }));
    }

    fn block(&mut self, number: u64) -> &[u8] {
        let (first, end) = (introduced(number * BLOCK), introduced((number + 1) * BLOCK));
        if self.segment != number / SEGMENT {
            self.segment = number / SEGMENT;
            self.set_quantiles(introduced(self.segment * SEGMENT * BLOCK));
        }
        let mut random = Random::new(number);
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let mut new = first;
        let mut lines = 0;
        // What is left when the last new word is written.
        let distance = BLOCK as f64 / (end - first) as f64;
        let mut due = distance / 2.0;
        while text.len() < BLOCK as usize {
            let starter = random.below(STARTERS);
            self.push(&mut text, starter);
            for _ in 0..8 + random.below(8) {
                let drawn = random.next();
                text.push(b' ');
                if text.len() as f64 >= due && new < end {
                    self.push(&mut text, new);
                    new += 1;
                    due += distance;
                } else {
                    let at = (drawn >> 50) as usize;
                    let share = (drawn & 0xFFFF_FFFF) as f64 / (1u64 << 32) as f64;
                    let (low, high) = (self.quantiles[at], self.quantiles[at + 1]);
                    self.push(&mut text, (low + share * (high - low)) as u64);
                }
                if (drawn >> 40) & 15 == 0 {
                    text.push(b",."[(drawn >> 44) as usize & 1]);
                }
            }
            lines += 1;
            text.extend_from_slice(if lines % 16 == 0 { SEPARATOR } else { b"\n" });
        }
        // No word is cut: the block ends with a line break, after words of which all are known.
        text.truncate(BLOCK as usize);
        let cut = text.iter().rposition(|byte| matches!(byte, b' ' | b'\n')).unwrap_or(0);
        text[cut..].fill(b'\n');
        self.text = text;
        &self.text
    }

    #[inline]
    fn push(&self, text: &mut Vec<u8>, number: u64) {
        if number < STORED {
            let word = &self.words[number as usize];
            let len = text.len();
            text.extend_from_slice(word);
            text.truncate(len + word[15] as usize);
        } else {
            let mut word = [0; 24];
            let spelled = self.spell(number, &mut word);
            let len = text.len();
            text.extend_from_slice(&word);
            text.truncate(len + spelled);
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        let mut random = Random(seed ^ 0x6D65_7267_616E_7365);
        random.0 = random.next();
        random
    }

    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    #[inline]
    fn below(&mut self, n: u64) -> u64 {
        ((self.next() as u128 * n as u128) >> 64) as u64
    }
}

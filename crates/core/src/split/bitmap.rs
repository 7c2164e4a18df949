//! Bitmap: 64 bytes of text become one [`ClassBlock`] of bit masks, one bit per byte and one mask per class.
//!
//! ASCII is classified 32 bytes at a time with AVX2, or 8 at a time in plain registers where the processor
//! has none (at about 40% of the speed). Every byte of a longer character gets the class of the character:
//! the mask of lead bytes is walked, and each character is decoded and looked up. The most common letters of
//! more than one byte (Chinese, Korean, and Cyrillic where case does not matter) are recognized by their lead
//! byte alone, 64 bytes at once, and skip the look-up.
//!
//! Splitting by bit masks comes from simdjson, and for tokenizers from gigatoken. It loses on documents of a
//! few bytes, where a block is mostly padding.

use super::classes::{CLASSES, LETTER, LOWER, MARK, NUMBER, SPACE, UPPER};

/// The classes of 64 bytes, the first in bit 0. Bits past the end of the text are zero in all of them.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct ClassBlock {
    pub letter: u64,
    pub number: u64,
    pub space: u64,
    /// None of the three above.
    pub other: u64,
    /// `\r` and `\n`.
    pub newline: u64,
    /// The byte 0x20, the only white space that joins the word after it.
    pub blank: u64,
    /// The apostrophe.
    pub quote: u64,
    /// The bytes of a character after its first.
    pub inner: u64,
}

/// The additional classes of o200k.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct CaseBlock {
    pub upper: u64,
    pub lower: u64,
    pub mark: u64,
    pub slash: u64,
}

/// The masks of the ASCII among 64 bytes, and of the bytes that are not ASCII.
#[derive(Default)]
pub struct Ascii {
    letter: u64,
    upper: u64,
    number: u64,
    space: u64,
    newline: u64,
    blank: u64,
    quote: u64,
    slash: u64,
    high: u64,
    inner: u64,
    /// Lead bytes whose characters are all letters without case, of three bytes.
    ideograph: u64,
    /// Lead bytes whose characters are all letters with case, of two bytes.
    cyrillic: u64,
}

/// A way to classify 64 bytes.
pub trait Classify {
    /// # Safety
    /// The processor must have the instructions that the type is named after.
    unsafe fn ascii(bytes: &[u8; 64]) -> Ascii;
}

/// Runs everywhere: eight bytes at a time in a register. The high bit of each byte holds the result of
/// comparing the seven others, and a multiplication gathers the eight results.
pub struct Portable;

impl Classify for Portable {
    #[inline(always)]
    unsafe fn ascii(bytes: &[u8; 64]) -> Ascii {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGH: u64 = 0x80 * ONES;
        let within = |x: u64, first: u64, last: u64| {
            let at_least = |n: u64| (x & !HIGH) + ONES * (0x80 - n);
            at_least(first) & !at_least(last + 1)
        };
        let mut a = Ascii::default();
        for (i, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let x = u64::from_le_bytes(*eight);
            let mask = |high: u64| ((high & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56 << (8 * i);
            let is = |byte: u8| within(x, byte as u64, byte as u64) & !x;
            let blank = is(b' ');
            a.letter |= mask(within(x | (ONES * 0x20), b'a' as u64, b'z' as u64) & !x);
            a.upper |= mask(within(x, b'A' as u64, b'Z' as u64) & !x);
            a.number |= mask(within(x, b'0' as u64, b'9' as u64) & !x);
            a.space |= mask((within(x, 9, 13) & !x) | blank);
            a.newline |= mask(is(b'\n') | is(b'\r'));
            a.blank |= mask(blank);
            a.quote |= mask(is(b'\''));
            a.slash |= mask(is(b'/'));
            a.high |= mask(x);
            a.inner |= mask(x & !(x << 1));
            // Without the high bit: 0xE5..=0xE9, 0xEB..=0xEC and 0xD0..=0xD1.
            a.ideograph |= mask((within(x, 0x65, 0x69) | within(x, 0x6B, 0x6C)) & x);
            a.cyrillic |= mask(within(x, 0x50, 0x51) & x);
        }
        a
    }
}

/// Runs on x86-64 with AVX2.
#[cfg(target_arch = "x86_64")]
pub struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Classify for Avx2 {
    // It has no target feature of its own, so that it is always inlined into functions that have it: passed
    // in memory, the result would be read back in other widths than it was written in, which stalls.
    #[inline(always)]
    unsafe fn ascii(bytes: &[u8; 64]) -> Ascii {
        use std::arch::x86_64::*;
        // SAFETY: the caller guarantees AVX2; both halves are within the 64 bytes, and the load need not be
        // aligned. The line of assembly contains no instruction.
        unsafe {
            let mut a = Ascii::default();
            for half in 0..2 {
                let v = _mm256_loadu_si256(bytes.as_ptr().add(32 * half).cast());
                let all = |b: u8| _mm256_set1_epi8(b as i8);
                let is = |b: u8| _mm256_cmpeq_epi8(v, all(b));
                // first <= x < first + len, unsigned: x - first equals its minimum with len - 1
                let within = |x: __m256i, first: u8, len: u8| {
                    let x = _mm256_sub_epi8(x, all(first));
                    _mm256_cmpeq_epi8(_mm256_min_epu8(x, all(len - 1)), x)
                };
                let or = |x, y| _mm256_or_si256(x, y);
                let mask = |x: __m256i| {
                    let mut mask = _mm256_movemask_epi8(x) as u32;
                    // It hides from the compiler that the mask came from a vector: it would extract single
                    // bits from the vector again, at half the speed.
                    std::arch::asm!("/* {0:e} */", inout(reg) mask, options(pure, nomem, nostack));
                    (mask as u64) << (32 * half)
                };
                let blank = is(b' ');
                a.letter |= mask(within(or(v, all(0x20)), b'a', 26));
                a.upper |= mask(within(v, b'A', 26));
                a.number |= mask(within(v, b'0', 10));
                a.space |= mask(or(blank, within(v, 9, 5)));
                a.newline |= mask(or(is(b'\n'), is(b'\r')));
                a.blank |= mask(blank);
                a.quote |= mask(is(b'\''));
                a.slash |= mask(is(b'/'));
                a.high |= mask(v);
                a.inner |= mask(_mm256_cmpgt_epi8(all(0xC0), v));
                a.ideograph |= mask(or(within(v, 0xE5, 5), within(v, 0xEB, 2)));
                a.cyrillic |= mask(within(v, 0xD0, 2));
            }
            a
        }
    }
}

/// Fills `blocks`, and `cased` if `CASED`, with the classes of `text` and one empty block after it.
///
/// # Safety
/// As [`Classify::ascii`].
#[inline(always)]
pub unsafe fn classify<C: Classify, const CASED: bool>(
    text: &[u8],
    blocks: &mut Vec<ClassBlock>,
    cased: &mut Vec<CaseBlock>,
) {
    blocks.clear();
    cased.clear();
    let classes = &*CLASSES;
    // The bits of a block's last character that belong to the next block.
    let (mut spill, mut spill_cased) = (ClassBlock::default(), CaseBlock::default());
    let (chunks, rest) = text.as_chunks::<64>();
    let mut last = [0u8; 64];
    last[..rest.len()].copy_from_slice(rest);
    let last = (!rest.is_empty()).then_some((&last, (1u64 << rest.len()) - 1));
    for (w, (chunk, valid)) in chunks.iter().map(|c| (c, u64::MAX)).chain(last).enumerate() {
        // SAFETY: the caller guarantees the instructions that `C` needs.
        let a = unsafe { C::ascii(chunk) };
        let mut b = ClassBlock {
            letter: a.letter | spill.letter,
            number: a.number | spill.number,
            space: a.space | spill.space,
            other: 0,
            newline: a.newline,
            blank: a.blank,
            quote: a.quote,
            inner: a.inner,
        };
        let mut k = CaseBlock { slash: a.slash, upper: a.upper, lower: a.letter & !a.upper, ..spill_cased };
        k.upper |= spill_cased.upper;
        k.lower |= spill_cased.lower;
        spill = ClassBlock::default();
        spill_cased = CaseBlock::default();
        if a.high != 0 {
            let mut leads = a.high & !a.inner;
            leads &= !a.ideograph;
            b.letter |= a.ideograph | a.ideograph << 1 | a.ideograph << 2;
            spill.letter |= a.ideograph >> 63 | a.ideograph >> 62;
            if !CASED {
                leads &= !a.cyrillic;
                b.letter |= a.cyrillic | a.cyrillic << 1;
                spill.letter |= a.cyrillic >> 63;
            }
            while leads != 0 {
                let p = leads.trailing_zeros();
                leads &= leads - 1;
                let (code, len) = decode(text, w * 64 + p as usize);
                let flags = classes.of(code);
                let span = (1u64 << len) - 1;
                let (here, next) = (span << p, span >> 1 >> (63 - p));
                let all = |flag: u8| if flags & flag != 0 { u64::MAX } else { 0 };
                b.letter |= here & all(LETTER);
                spill.letter |= next & all(LETTER);
                if flags & (NUMBER | SPACE) != 0 {
                    b.number |= here & all(NUMBER);
                    spill.number |= next & all(NUMBER);
                    b.space |= here & all(SPACE);
                    spill.space |= next & all(SPACE);
                }
                if CASED {
                    k.upper |= here & all(UPPER);
                    spill_cased.upper |= next & all(UPPER);
                    k.lower |= here & all(LOWER);
                    spill_cased.lower |= next & all(LOWER);
                    k.mark |= here & all(MARK);
                    spill_cased.mark |= next & all(MARK);
                }
            }
        }
        b.other = valid & !(b.letter | b.number | b.space);
        blocks.push(b);
        if CASED {
            cased.push(k);
        }
    }
    blocks.push(ClassBlock::default());
    if CASED {
        cased.push(CaseBlock::default());
    }
}

/// Returns the multi-byte character that begins at `at`, and its length.
#[inline(always)]
fn decode(text: &[u8], at: usize) -> (u32, u32) {
    let low = |i: usize| (text[at + i] & 0x3F) as u32;
    let lead = text[at] as u32;
    match lead {
        0..=0xDF => ((lead & 0x1F) << 6 | low(1), 2),
        0xE0..=0xEF => ((lead & 0x0F) << 12 | low(1) << 6 | low(2), 3),
        _ => ((lead & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3), 4),
    }
}

/// Returns where the character that contains the byte before `at` begins.
#[inline(always)]
pub fn char_before(text: &[u8], at: usize) -> usize {
    let mut i = at - 1;
    while text[i] & 0xC0 == 0x80 {
        i -= 1;
    }
    i
}

/// Returns the length of the character that begins with this byte.
#[inline(always)]
pub fn char_len(lead: u8) -> usize {
    match lead {
        0..=0x7F => 1,
        0x80..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lead_bytes_taken_for_letters_lead_only_letters() {
        for c in '\u{80}'..=char::MAX {
            let lead = c.to_string().as_bytes()[0];
            let flags = CLASSES.of(c as u32);
            match lead {
                0xE5..=0xE9 | 0xEB..=0xEC => assert_eq!(flags, LETTER, "{c:?}"),
                0xD0..=0xD1 => assert!(flags == LETTER | UPPER || flags == LETTER | LOWER, "{c:?}"),
                _ => {}
            }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn both_ways_to_classify_agree() {
        if !is_x86_feature_detected!("avx2") {
            return;
        }
        let text: String = (0..5000u32)
            .map(|i| {
                let x = i.wrapping_mul(2654435761) >> 7;
                char::from_u32(if x % 3 == 0 { x % 0x1_2000 } else { x % 128 }).unwrap_or('中')
            })
            .collect();
        for skip in text.char_indices().map(|(i, _)| i).take(200) {
            let text = &text.as_bytes()[skip..];
            let (mut a, mut b) = ((vec![], vec![]), (vec![], vec![]));
            // SAFETY: AVX2 was detected above, and `Portable` uses no special instructions.
            unsafe {
                classify::<Avx2, true>(text, &mut a.0, &mut a.1);
                classify::<Portable, true>(text, &mut b.0, &mut b.1);
            }
            assert_eq!(a, b);
        }
    }
}

//! Bitmap: 64 bytes of text become one [`ClassBlock`] of bit masks, one bit per byte and one mask per class.
//!
//! ASCII is classified 32 bytes at a time with AVX2, or 16 at a time with the vectors that every processor of its kind
//! has: SSE2, NEON (on x86-64 at 60% of the speed). Every byte of a longer character gets the class of the character:
//! the mask of lead bytes is walked, and each character is decoded and looked up. The most common letters of
//! more than one byte (Chinese, Korean, and Cyrillic where case does not matter) are recognized by their lead
//! byte alone, 64 bytes at once, and skip the look-up.
//!
//! Splitting by bit masks comes from simdjson, and for tokenizers from gigatoken. It loses on documents of a
//! few bytes, where a block is mostly padding.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use wide::u8x16;

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

/// Bytes that are compared together. What the classes are is written once, in [`ascii`]: the same on every processor.
///
/// # Safety
/// The processor must have the instructions that the type is named after.
pub trait Vector: Copy {
    const BYTES: usize;
    /// Loads `bytes[at..at + BYTES]`.
    unsafe fn load(bytes: &[u8; 64], at: usize) -> Self;
    unsafe fn splat(byte: u8) -> Self;
    unsafe fn or(self, other: Self) -> Self;
    /// Subtracts, wrapping around.
    unsafe fn minus(self, other: Self) -> Self;
    /// Returns the lower byte of each two, unsigned.
    unsafe fn lower(self, other: Self) -> Self;
    /// Returns 0xFF where bytes are equal, and 0 elsewhere.
    unsafe fn is(self, other: Self) -> Self;
    /// Gathers the highest bit of every byte.
    unsafe fn mask(self) -> u32;
}

/// Runs everywhere: SSE2 on x86-64, NEON on ARM, WebAssembly's vectors, plain code elsewhere.
#[derive(Clone, Copy)]
pub struct Portable(u8x16);

impl Vector for Portable {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn load(bytes: &[u8; 64], at: usize) -> Portable {
        Portable(u8x16::from(bytes.as_chunks().0[at / 16]))
    }

    #[inline(always)]
    unsafe fn splat(byte: u8) -> Portable {
        Portable(u8x16::splat(byte))
    }

    #[inline(always)]
    unsafe fn or(self, other: Portable) -> Portable {
        Portable(self.0 | other.0)
    }

    #[inline(always)]
    unsafe fn minus(self, other: Portable) -> Portable {
        Portable(self.0 - other.0)
    }

    #[inline(always)]
    unsafe fn lower(self, other: Portable) -> Portable {
        Portable(self.0.min(other.0))
    }

    #[inline(always)]
    unsafe fn is(self, other: Portable) -> Portable {
        Portable(self.0.simd_eq(other.0))
    }

    #[inline(always)]
    unsafe fn mask(self) -> u32 {
        self.0.to_bitmask()
    }
}

/// Runs on x86-64 with AVX2.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2(__m256i);

// Without target features of their own, so that they are always inlined into functions that have them: passed in memory,
// the masks would be read back in other widths than they were written in, which stalls.
#[cfg(target_arch = "x86_64")]
impl Vector for Avx2 {
    const BYTES: usize = 32;

    #[inline(always)]
    unsafe fn load(bytes: &[u8; 64], at: usize) -> Avx2 {
        let half: &[u8; 32] = &bytes.as_chunks().0[at / 32];
        // SAFETY: the caller guarantees AVX2, here and below; the load need not be aligned.
        Avx2(unsafe { _mm256_loadu_si256(half.as_ptr().cast()) })
    }

    #[inline(always)]
    unsafe fn splat(byte: u8) -> Avx2 {
        // SAFETY: as above.
        Avx2(unsafe { _mm256_set1_epi8(byte as i8) })
    }

    #[inline(always)]
    unsafe fn or(self, other: Avx2) -> Avx2 {
        // SAFETY: as above.
        Avx2(unsafe { _mm256_or_si256(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn minus(self, other: Avx2) -> Avx2 {
        // SAFETY: as above.
        Avx2(unsafe { _mm256_sub_epi8(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn lower(self, other: Avx2) -> Avx2 {
        // SAFETY: as above.
        Avx2(unsafe { _mm256_min_epu8(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn is(self, other: Avx2) -> Avx2 {
        // SAFETY: as above.
        Avx2(unsafe { _mm256_cmpeq_epi8(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn mask(self) -> u32 {
        // SAFETY: as above.
        unsafe { _mm256_movemask_epi8(self.0) as u32 }
    }
}

/// Classifies 64 bytes.
///
/// # Safety
/// As [`Vector`].
#[inline(always)]
unsafe fn ascii<V: Vector>(bytes: &[u8; 64]) -> Ascii {
    let mut a = Ascii::default();
    for at in (0..64).step_by(V::BYTES) {
        // SAFETY: the caller guarantees the instructions that `V` needs.
        unsafe {
            let v = V::load(bytes, at);
            let is = |byte: u8| v.is(V::splat(byte));
            // first <= x < first + len, unsigned: x - first equals its minimum with len - 1
            let within = |x: V, first: u8, len: u8| {
                let x = x.minus(V::splat(first));
                x.lower(V::splat(len - 1)).is(x)
            };
            let mask = |x: V| (opaque(x.mask()) as u64) << at;
            let blank = is(b' ');
            a.letter |= mask(within(v.or(V::splat(0x20)), b'a', 26));
            a.upper |= mask(within(v, b'A', 26));
            a.number |= mask(within(v, b'0', 10));
            a.space |= mask(blank.or(within(v, 9, 5)));
            a.newline |= mask(is(b'\n').or(is(b'\r')));
            a.blank |= mask(blank);
            a.quote |= mask(is(b'\''));
            a.slash |= mask(is(b'/'));
            a.high |= mask(v);
            a.inner |= mask(within(v, 0x80, 0x40));
            a.ideograph |= mask(within(v, 0xE5, 5).or(within(v, 0xEB, 2)));
            a.cyrillic |= mask(within(v, 0xD0, 2));
        }
    }
    a
}

/// Hides from the compiler that a mask came from a vector: it would extract single bits from the vector again, at half
/// the speed.
#[inline(always)]
fn opaque(mask: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut mask = mask;
        // SAFETY: the line of assembly contains no instruction.
        unsafe { std::arch::asm!("/* {0:e} */", inout(reg) mask, options(pure, nomem, nostack)) };
        mask
    }
    #[cfg(not(target_arch = "x86_64"))]
    mask
}

/// Fills `blocks`, and `cased` if `CASED`, with the classes of `text` and one empty block after it.
///
/// # Safety
/// As [`Vector`].
#[inline(always)]
pub unsafe fn classify<V: Vector, const CASED: bool>(
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
        // SAFETY: the caller guarantees the instructions that `V` needs.
        let a = unsafe { ascii::<V>(chunk) };
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
        if !crate::cpu::has_avx2() {
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
            // SAFETY: AVX2 was detected above, and `Portable` needs no features.
            unsafe {
                classify::<Avx2, true>(text, &mut a.0, &mut a.1);
                classify::<Portable, true>(text, &mut b.0, &mut b.1);
            }
            assert_eq!(a, b);
        }
    }
}

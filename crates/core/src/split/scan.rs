//! Scan: the presets split by bit masks, without an automaton.
//!
//! Three passes over a segment of about 16 KB, so that all of it stays in the nearest cache:
//! [`bitmap`](super::bitmap) turns text into class masks; `scan_gpt2`, `scan_gpt4` and `scan_o200k` turn
//! those into one mask of cuts, 64 bytes at a time, almost without branches; [`emit`] turns set bits into
//! offsets. What is rare (contractions, long numbers, blank lines with spaces in them) is corrected bit by
//! bit. Cost: linear in the text whatever it contains; well over 1 GB/s on English.
//!
//! # Safe cuts
//! A cut is *safe* where the character before it is a letter or a number and the one after it is neither, nor
//! a mark, nor an apostrophe (preset `whitespace`: no white space before it, white space after it). Claim:
//! each side on its own splits as it does within the document.
//! 1. No pre-token contains such a pair of neighbors: after a letter or a number an alternative of these
//!    patterns continues only with letters, numbers, marks or an apostrophe. So every document that contains
//!    the pair has a boundary there.
//! 2. Matching never looks behind, so the right side, starting at a boundary, splits as it does in the whole.
//! 3. For the left side, what the engine sees past the cut matters only through a failed attempt to continue.
//!    Greedy loops over letters, numbers and marks fail there as they do at the end of the text; the optional
//!    contraction fails, because no apostrophe follows; `$` and `(?!\S)` are evaluated only after white
//!    space, and the character before the cut is none. ∎
//!
//! Long documents are processed in segments that end at safe cuts; where a text has none, segments grow.

use super::bitmap::{CaseBlock, ClassBlock, Portable, Vector, classify};
use super::classes::{CLASSES, LETTER, MARK, NUMBER, SPACE};
use super::presets::{Preset, Scanner};
use super::{scan_gpt2, scan_gpt4};
#[cfg(target_arch = "x86_64")]
use crate::cpu::has_avx2_and_bits;
use crate::memory::check_room;

const SEGMENT: usize = 16 << 10;

/// From this size on it is checked that there is memory for the masks of a segment: this many bytes for each of its
/// own, twice the masks because they grow.
const HUGE: usize = 1 << 20;
const COST: usize = 4;

/// Buffers for one segment.
#[derive(Default)]
pub struct Masks {
    pub blocks: Vec<ClassBlock>,
    pub cased: Vec<CaseBlock>,
    pub cuts: Vec<u64>,
}

/// Appends the ends of the pre-tokens of a whole document.
pub fn split(scanner: Scanner, text: &str, masks: &mut Masks, ends: &mut Vec<u32>) {
    let mut at = 0;
    while at < text.len() {
        at = split_segment(scanner, text, at, masks, ends);
    }
}

/// Appends the ends of the pre-tokens of the segment that begins at `at`, and returns where the next one
/// begins.
pub fn split_segment(
    scanner: Scanner,
    text: &str,
    at: usize,
    masks: &mut Masks,
    ends: &mut Vec<u32>,
) -> usize {
    let end = segment_end(scanner, text, at);
    segment(scanner, &text.as_bytes()[at..end], end == text.len(), at as u32, masks, ends);
    end
}

fn segment_end(scanner: Scanner, text: &str, at: usize) -> usize {
    let mut size = SEGMENT;
    while text.len() - at > size + size / 2 {
        let window = &text[at..floor_char(text, at + size)];
        if let Some(cut) = last_cut(scanner, window) {
            return at + cut;
        }
        size *= 2;
    }
    text.len()
}

/// Returns the last character boundary at or before `at`.
pub fn floor_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns the last safe cut strictly inside `text`.
pub fn last_cut(scanner: Scanner, text: &str) -> Option<usize> {
    let mut chars = text.char_indices().rev();
    let (mut at, mut after) = chars.next()?;
    for (i, before) in chars {
        if is_safe(scanner, before, after) {
            return Some(at);
        }
        (at, after) = (i, before);
    }
    None
}

/// Returns the first safe cut strictly inside `text`.
pub fn first_cut(scanner: Scanner, text: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    let (_, mut before) = chars.next()?;
    for (i, after) in chars {
        if is_safe(scanner, before, after) {
            return Some(i);
        }
        before = after;
    }
    None
}

/// Whether a cut between two characters is safe.
#[inline(always)]
pub fn is_safe(scanner: Scanner, before: char, after: char) -> bool {
    let flags = |c: char| CLASSES.of(c as u32);
    if scanner.preset == Preset::Whitespace {
        return flags(after) & SPACE != 0 && flags(before) & SPACE == 0;
    }
    after != '\'' && flags(after) & (LETTER | NUMBER | MARK) == 0 && flags(before) & (LETTER | NUMBER) != 0
}

fn segment(scanner: Scanner, text: &[u8], last: bool, base: u32, masks: &mut Masks, ends: &mut Vec<u32>) {
    if text.len() >= HUGE {
        check_room(COST * text.len(), "a long pre-token");
    }
    #[cfg(target_arch = "x86_64")]
    if has_avx2_and_bits() {
        // SAFETY: `has_avx2_and_bits` has detected these features.
        return unsafe { segment_avx2(scanner, text, last, base, masks, ends) };
    }
    // SAFETY: `Portable` needs no features.
    unsafe { segment_with::<Portable>(scanner, text, last, base, masks, ends) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn segment_avx2(
    scanner: Scanner,
    text: &[u8],
    last: bool,
    base: u32,
    masks: &mut Masks,
    ends: &mut Vec<u32>,
) {
    // SAFETY: the caller guarantees AVX2, which is all that `Avx2` needs.
    unsafe { segment_with::<super::bitmap::Avx2>(scanner, text, last, base, masks, ends) }
}

/// # Safety
/// As [`Vector`].
#[inline(always)]
unsafe fn segment_with<V: Vector>(
    scanner: Scanner,
    text: &[u8],
    last: bool,
    base: u32,
    masks: &mut Masks,
    ends: &mut Vec<u32>,
) {
    // SAFETY: the caller guarantees the instructions that `V` needs.
    unsafe {
        if scanner.preset == Preset::O200k {
            classify::<V, true>(text, &mut masks.blocks, &mut masks.cased);
        } else {
            classify::<V, false>(text, &mut masks.blocks, &mut masks.cased);
        }
    }
    masks.cuts.clear();
    masks.cuts.resize(masks.blocks.len(), 0);
    let digits = scanner.digits;
    match scanner.preset {
        Preset::Gpt2 => scan_gpt2::cut::<true>(text, masks),
        Preset::Whitespace => scan_gpt2::cut::<false>(text, masks),
        Preset::Gpt4 => scan_gpt4::cut::<true, false>(text, digits, last, masks),
        Preset::Llama3 | Preset::Nanochat | Preset::Qwen2 => {
            scan_gpt4::cut::<false, false>(text, digits, last, masks);
        }
        Preset::O200k => {
            super::scan_o200k::resolve(text, masks);
            scan_gpt4::cut::<false, true>(text, digits, last, masks);
        }
    }
    emit(&mut masks.cuts, text.len(), base, ends);
}

/// Appends the offsets of the set bits, and the end of the text.
#[inline(always)]
fn emit(cuts: &mut [u64], len: usize, base: u32, ends: &mut Vec<u32>) {
    cuts[0] &= !1;
    // The word that contains the end, or the spare one after it: bits at or past the end do not count.
    cuts[len / 64] &= (1 << (len % 64)) - 1;
    for (w, &word) in cuts[..=len / 64].iter().enumerate() {
        let mut word = word;
        let count = word.count_ones() as usize;
        ends.reserve(64);
        let at = base + w as u32 * 64;
        // SAFETY: room for 64 was reserved, the most set bits that a word has; `written` never exceeds 64,
        // and the first `count` values written are the offsets of set bits.
        unsafe {
            let out = ends.as_mut_ptr().add(ends.len());
            let mut written = 0;
            // Sixteen at a time, some of them unused: cheaper than a branch on their number.
            while written < count {
                for k in 0..16 {
                    out.add(written + k).write(at.wrapping_add(word.trailing_zeros()));
                    word &= word.wrapping_sub(1);
                }
                written += 16;
            }
            ends.set_len(ends.len() + count);
        }
    }
    ends.push(base + len as u32);
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// [`split`] without the processor's special instructions.
    pub fn split_portable(scanner: Scanner, text: &str, ends: &mut Vec<u32>) {
        let mut masks = Masks::default();
        let mut at = 0;
        while at < text.len() {
            let end = segment_end(scanner, text, at);
            let part = &text.as_bytes()[at..end];
            // SAFETY: `Portable` needs no features.
            unsafe {
                segment_with::<Portable>(scanner, part, end == text.len(), at as u32, &mut masks, ends)
            };
            at = end;
        }
    }
}

//! Scan for o200k, beyond what it shares with the gpt4 family: marks that belong to words, slashes that
//! follow newlines, and words cut by case.
//!
//! Write u for `[\p{Lu}\p{Lt}]`, l for `\p{Ll}`, x for other letters and marks, which the pattern allows both
//! among capitals and among small letters. A word is a maximal run of the three; a pre-token of it is
//! `[ux]*[lx]+`, or failing that `u+`. So it is cut
//! - between l and u, always;
//! - between x and u where the x only follows an l of the same pre-token;
//! - otherwise between x and u only at the last such offset of a run of `[ux]` that no l follows: `[ux]*`
//!   took all of it and had to give back down to the last x.
//!
//! The first is done for 64 bytes at once by `scan_gpt4`, the rest here, run by run; they are rare (`中文ABC`).
//!
//! A mark after a lone O at the start of a pre-token (`❤` + U+FE0F) forms a word with O as its prefix; after
//! any other O the O alternative has taken it. A slash is an O, and `[\r\n/]*` after a run of O takes slashes
//! as it takes newlines. So both are resolved from left to right, before cutting, by moving bits: a mark into
//! `letter` or `other`, a slash that is taken into `newline`.

use super::bitmap::{CaseBlock, ClassBlock, char_before};
use super::bits::{before, has, run_end, run_start};
use super::scan::Masks;

/// Resolves which class marks and slashes belong to.
#[inline(always)]
pub fn resolve(text: &[u8], masks: &mut Masks) {
    let Masks { blocks, cased, .. } = masks;
    for (block, case) in blocks.iter_mut().zip(cased.iter()) {
        block.letter |= case.mark;
        block.other &= !case.mark;
    }
    let (mut past_other, mut past_newline) = (0, 0);
    for w in 0..blocks.len() - 1 {
        let mut todo = u64::MAX;
        loop {
            let (now, case) = (&blocks[w], &cased[w]);
            let marks = case.mark & before(now.other, past_other);
            let slashes = case.slash & now.other & before(now.newline, past_newline);
            let doubtful = (marks | slashes) & todo;
            if doubtful == 0 {
                break;
            }
            let i = doubtful.trailing_zeros() as usize;
            todo = (u64::MAX << i) << 1;
            if marks >> i & 1 == 1 {
                resolve_marks(text, blocks, cased, w * 64 + i);
            } else {
                resolve_slashes(text, blocks, w * 64 + i);
            }
        }
        (past_other, past_newline) = (blocks[w].other, blocks[w].newline);
    }
}

/// Resolves the marks that begin at `at` and follow an O.
#[inline(never)]
fn resolve_marks(text: &[u8], blocks: &mut [ClassBlock], cased: &[CaseBlock], at: usize) {
    let o = char_before(text, at);
    if o == 0 || !has(|w| blocks[w].other | blocks[w].blank, o - 1) {
        return;
    }
    for i in at..run_end(|w| cased[w].mark, at) {
        blocks[i / 64].letter &= !(1 << (i % 64));
        blocks[i / 64].other |= 1 << (i % 64);
    }
}

/// Resolves the slash at `at`, which follows a newline.
#[inline(never)]
fn resolve_slashes(text: &[u8], blocks: &mut [ClassBlock], at: usize) {
    let newlines = run_start(|w| blocks[w].newline, at);
    if newlines == 0 || !has(|w| blocks[w].other, newlines - 1) {
        return;
    }
    for (i, _) in text.iter().enumerate().skip(at).take_while(|(_, b)| matches!(b, b'/' | b'\r' | b'\n')) {
        let block = &mut blocks[i / 64];
        block.other &= !(1 << (i % 64));
        block.newline |= 1 << (i % 64);
        block.space |= 1 << (i % 64);
    }
}

/// Cuts words between x and u.
#[inline(never)]
pub fn cut_mixed_case(len: usize, blocks: &[ClassBlock], cased: &[CaseBlock], cuts: &mut [u64]) {
    let lower = |w: usize| cased[w].lower;
    let upper = |w: usize| cased[w].upper;
    let either = |w: usize| blocks[w].letter & !cased[w].lower;
    let mut past = 0;
    let mut done = 0;
    for w in 0..blocks.len() - 1 {
        let caseless = either(w) & !upper(w);
        let mut offsets = upper(w) & before(caseless, past);
        past = caseless;
        while offsets != 0 {
            let at = w * 64 + offsets.trailing_zeros() as usize;
            offsets &= offsets - 1;
            if at < done {
                continue;
            }
            // `at` is the first offset between x and u in the run from `start` to `end`.
            let (start, end) = (run_start(either, at), run_end(either, at));
            done = end;
            let mut pretoken = start;
            // A cut within the run is the end of a contraction, whose last letter may be in the run.
            let cut = |at: usize| has(|w| cuts[w], at);
            let begins = start == 0 || !has(lower, start - 1) || cut(start) || cut(start + 1);
            if !begins {
                cuts[at / 64] |= 1 << (at % 64);
                pretoken = at;
            }
            if end < len && has(lower, end) {
                continue;
            }
            let capitals = run_start(upper, end);
            if capitals > pretoken && capitals < end {
                cuts[capitals / 64] |= 1 << (capitals % 64);
            }
        }
    }
}

//! Scan for the gpt4 family: gpt4, llama3, nanochat and qwen2, and the part of o200k that it shares with
//! them.
//!
//! Between two neighboring characters, by class (T is white space other than newlines, O is anything but
//! letters, numbers and white space):
//!
//! | before ╲ after | letter | number | O | T | newline |
//! |---|---|---|---|---|---|
//! | letter, number | cut if different | cut if different | cut | cut | cut |
//! | O  | cut, unless the run of O is one character and no blank joined it | cut | – | cut | – |
//! | T  | – | cut | cut, unless T is a blank | – | – |
//! | newline | cut | cut | cut | cut, but see below | – |
//!
//! In addition: the last T of a run before anything but a newline begins a pre-token; a newline–T cut is
//! undone where the run of T leads to another newline (`\s*[\r\n]` extends to the last one), unless the
//! newlines before it belong to a run of O; numbers are cut every `digits` characters; contractions. All but
//! the last three take a few dozen instructions per 64 bytes; those are done one by one.
//!
//! `digits`: the 3 of `\p{N}{1,3}`. `END`: the pattern has `\s++$`. `CASED`: o200k.

use super::bitmap::{ClassBlock, char_before, char_len};
use super::bits::{Amend, after, before, bits, contraction, has, run_end, run_start};
use super::scan::Masks;
use super::scan_o200k;

#[inline(always)]
pub fn cut<const END: bool, const CASED: bool>(text: &[u8], digits: usize, last: bool, masks: &mut Masks) {
    let Masks { blocks, cased, cuts } = masks;
    let (blocks, cuts) = (&blocks[..], &mut cuts[..]);
    let solid = |b: &ClassBlock| b.letter | b.number | b.other;
    let mut past = ClassBlock::default();
    let mut past_lower = 0;
    let mut past_caseless = 0;
    let (mut past_alone, mut carry) = (0, false);
    let mut amend = Amend { clear: 0, set: 1 };
    let mut contracted = usize::MAX;
    let (mut long_number, mut mixed_case) = (0, 0);
    for w in 0..blocks.len() - 1 {
        let (now, next) = (&blocks[w], &blocks[w + 1]);
        let gap = now.space & !now.newline;
        let before_letter = before(now.letter, past.letter);
        let before_number = before(now.number, past.number);
        let before_other = before(now.other, past.other);
        let before_blank = before(now.blank, past.blank);
        let before_newline = before(now.newline, past.newline);
        let before_gap = before(gap, past.space & !past.newline);

        // O at the start of a pre-token, and the offset after that one character: an addition carries the bit
        // over the inner bytes.
        let alone = now.other & !before_other & !before_blank;
        let after_alone = before(alone, past_alone);
        let (sum, over1) = now.inner.overflowing_add(after_alone & now.inner);
        let (sum, over2) = sum.overflowing_add(carry as u64);
        let after_alone = (after_alone | sum) & !now.inner;
        carry = over1 | over2;
        past_alone = alone;

        let given_back = gap & after(solid(now), solid(next));
        let mut cut = now.letter & (before_number | before_newline | before_other & !after_alone)
            | now.number & !before_number
            | now.other & !(before_other | before_blank)
            | gap & !before_gap
            | now.newline & (before_letter | before_number)
            | given_back & !now.inner;
        if digits == 1 {
            cut |= now.number & !now.inner;
        } else {
            long_number |= now.number & before_number & (now.number << 2 | past.number >> 62);
        }
        if CASED {
            let case = &cased[w];
            cut |= case.upper & before(case.lower, past_lower);
            past_lower = case.lower;
            let caseless = now.letter & !case.upper & !case.lower;
            mixed_case |= case.upper & before(caseless, past_caseless);
            past_caseless = caseless;
            // A contraction ends the word before it, unless that is itself a contraction.
            for i in bits(now.quote & before_letter & after(now.letter, next.letter)) {
                let at = w * 64 + i;
                let len = contraction::<true>(text, at);
                if len > 0 && at != contracted {
                    amend.clear |= ((1 << len) - 1) << i;
                    amend.set |= 1 << (i + len);
                    contracted = at + len;
                }
            }
        } else {
            for i in bits(now.quote & alone & after(now.letter, next.letter)) {
                let len = contraction::<true>(text, w * 64 + i);
                if len > 0 {
                    amend.set |= 1 << (i + len);
                }
            }
        }
        amend.apply(&mut cut);
        cuts[w] |= cut;
        for i in bits(given_back & now.inner) {
            let lead = char_before(text, w * 64 + i + 1);
            cuts[lead / 64] |= 1 << (lead % 64);
        }
        for i in bits(now.newline & before_gap) {
            rejoin_blank_line(blocks, cuts, w * 64 + i);
        }
        past = *now;
    }
    if digits > 1 && long_number != 0 {
        group_numbers(text, digits, blocks, cuts);
    }
    if CASED && mixed_case != 0 {
        scan_o200k::cut_mixed_case(text.len(), blocks, cased, cuts);
    }
    if END && last {
        join_end(blocks, cuts, text.len());
    }
}

/// Undoes the cut before a gap that ends at the newline `at`, if newlines precede the gap that no run of O
/// has taken.
#[inline(never)]
fn rejoin_blank_line(blocks: &[ClassBlock], cuts: &mut [u64], at: usize) {
    let gap = run_start(|w| blocks[w].space & !blocks[w].newline, at);
    let newlines = run_start(|w| blocks[w].newline, gap);
    let taken = newlines > 0 && has(|w| blocks[w].other, newlines - 1);
    if newlines < gap && !taken {
        cuts[gap / 64] &= !(1 << (gap % 64));
    }
}

/// Cuts runs of numbers every `digits` characters.
#[inline(never)]
fn group_numbers(text: &[u8], digits: usize, blocks: &[ClassBlock], cuts: &mut [u64]) {
    let mut past = 0;
    for w in 0..blocks.len() - 1 {
        let (now, next) = (blocks[w].number, blocks[w + 1].number);
        let more = after(now, next) & (now >> 2 | next << 62);
        for i in bits(now & !before(now, past) & more) {
            let mut at = w * 64 + i;
            let end = run_end(|w| blocks[w].number, at);
            loop {
                for _ in 0..digits {
                    at += if at < end { char_len(text[at]) } else { 0 };
                }
                if at >= end {
                    break;
                }
                cuts[at / 64] |= 1 << (at % 64);
            }
        }
        past = now;
    }
}

/// Joins the white space that ends the document (`\s++$`) into one pre-token, except for newlines that a run
/// of O takes.
#[inline(never)]
fn join_end(blocks: &[ClassBlock], cuts: &mut [u64], len: usize) {
    let mut start = run_start(|w| blocks[w].space, len);
    if start > 0 && has(|w| blocks[w].other, start - 1) {
        start = run_end(|w| blocks[w].newline, start);
    }
    for at in start + 1..len {
        cuts[at / 64] &= !(1 << (at % 64));
    }
}

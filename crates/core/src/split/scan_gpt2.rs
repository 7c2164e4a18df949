//! Scan for gpt2, and for `whitespace`, which is gpt2 with one class for everything that is not white space.
//!
//! A pre-token ends where the class changes, with two exceptions: the last white-space character of a run
//! that does not end the document begins a pre-token of its own (`\s+(?!\S)` gives it back), and if it is a
//! blank (0x20) it joins what follows it. Contractions are handled one by one. That `\s++$` comes first in
//! tiktoken's pattern changes nothing here: at the end of the document `\s+(?!\S)` takes the same run.
//!
//! Cost: a few dozen instructions per 64 bytes; apostrophes before letters cost some more each.

use super::bitmap::{ClassBlock, char_before};
use super::bits::{Amend, after, before, bits, contraction};
use super::scan::Masks;

#[inline(always)]
pub fn cut<const WORDS: bool>(text: &[u8], masks: &mut Masks) {
    let (blocks, cuts) = (&masks.blocks[..], &mut masks.cuts[..]);
    let solid = |b: &ClassBlock| b.letter | b.number | b.other;
    let mut past = ClassBlock::default();
    let mut amend = Amend { clear: 0, set: 1 };
    for w in 0..blocks.len() - 1 {
        let (now, next) = (&blocks[w], &blocks[w + 1]);
        let mut change = now.space ^ before(now.space, past.space);
        if WORDS {
            change |= now.letter ^ before(now.letter, past.letter);
            change |= now.number ^ before(now.number, past.number);
        }
        let joined = before(now.blank, past.blank) & solid(now);
        let given_back = now.space & after(solid(now), solid(next));
        let mut cut = change & !joined | given_back & !now.inner;
        if WORDS {
            // An apostrophe begins a pre-token unless it continues a run or a blank joins it.
            let starts = now.quote & (cut | amend.set as u64) & after(now.letter, next.letter);
            for i in bits(starts) {
                let len = contraction::<false>(text, w * 64 + i);
                if len > 0 {
                    amend.clear |= 1 << (i + 1);
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
        past = *now;
    }
}

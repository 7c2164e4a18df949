//! Cuts: the characters between which any text can be cut.
//!
//! A *cut* is a pair of characters. Wherever a text has them side by side, its ids are those of the part before and
//! those of the rest, whatever the parts are. Every stage has its reasons, and all of them must agree:
//!
//! | stage | a cut between `a` and `b` |
//! |---|---|
//! | added tokens | no token has `a` and `b` side by side, ends with `a`, or takes white space across (`added/apart.rs`) |
//! | normalize | `a` and `b` become two characters whatever is around them (`Normalizer::across`) |
//! | pre-tokenize | no match contains both or depends on both, and a pre-token ends there (`split/neighbors.rs`) |
//! | merge | or, if the pre-token may continue, no token contains both (`merge/boundaries.rs`) |
//!
//! The proof is in `docs/how-bpe-works.md`, "Growing text". What is not proven is no cut.
//!
//! Cost: some microseconds for a pair; the last 4,096 different ones are kept. All threads share them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Pipeline, Tokenizer};
use crate::key::mix;

/// How many pairs are kept; a power of two.
const KEPT: usize = 1 << 12;

/// Says that a place is taken.
const TAKEN: u64 = 1 << 63;

pub(super) struct Cuts {
    /// The characters that are side by side in special tokens.
    special: HashSet<(char, char)>,
    /// The characters that never become the unknown token, if several of those in a row become one id.
    known: Option<HashSet<char>>,
    /// The pair in the lowest 42 bits, then whether it is a cut.
    kept: Box<[AtomicU64]>,
}

impl Cuts {
    fn new(tokenizer: &Tokenizer) -> Cuts {
        let pairs = |(token, _): &(String, u32)| token.chars().zip(token.chars().skip(1)).collect::<Vec<_>>();
        let known = |pipeline: &Pipeline| {
            let unknown = pipeline.fused?;
            let tokens = pipeline.source.tokens.iter();
            let texts = tokens.filter_map(|(token, id)| Some((str::from_utf8(token).ok()?, *id)));
            let single = texts.clone().map(|(text, _)| text).filter(|text| text.chars().count() == 1);
            let mut known: HashSet<char> = single.flat_map(str::chars).collect();
            // A text may also spell the unknown token.
            let spelled = texts.filter(|&(_, id)| id == unknown).flat_map(|(text, _)| text.chars());
            known = &known - &spelled.collect();
            Some(known)
        };
        Cuts {
            special: tokenizer.specials.iter().flat_map(pairs).collect(),
            known: tokenizer.pipeline().and_then(known),
            kept: (0..KEPT).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn holds(&self, tokenizer: &Tokenizer, before: char, after: char) -> bool {
        match tokenizer.pipeline() {
            None => !self.special.contains(&(before, after)) && tokenizer.splitter.parts(before, after),
            Some(pipeline) => self.holds_through(pipeline, before, after).unwrap_or(false),
        }
    }

    fn holds_through(&self, pipeline: &Pipeline, before: char, after: char) -> Option<bool> {
        if !pipeline.added.keep_apart(before, after, false) {
            return None;
        }
        let (before, after) = pipeline.normalizer.across(before, after)?;
        if !pipeline.added.keep_apart(before, after, true) {
            return None;
        }
        let (is_end, before, after) = pipeline.pretokenizer.across(before, after)?;
        let fuses = || {
            let is_known = |c: char| self.known.as_ref().is_none_or(|known| known.contains(&c));
            !is_known(before) && !is_known(after)
        };
        let may_merge = || pipeline.boundaries.as_ref().is_none_or(|them| them.may_cross(before, after));
        Some(is_end || !may_merge() && !fuses())
    }
}

impl Tokenizer {
    /// Whether every text with these two characters side by side can be cut between them.
    pub(crate) fn is_cut(&self, before: char, after: char) -> bool {
        let cuts = self.cuts.get_or_init(|| Arc::new(Cuts::new(self)));
        let pair = (before as u64) << 21 | after as u64;
        let place = &cuts.kept[mix(pair, 0x9E37_79B9_7F4A_7C15) as usize & (KEPT - 1)];
        let entry = place.load(Relaxed);
        if entry & !(1 << 42) == TAKEN | pair {
            return entry >> 42 & 1 != 0;
        }
        let holds = cuts.holds(self, before, after);
        place.store(TAKEN | u64::from(holds) << 42 | pair, Relaxed);
        holds
    }
}

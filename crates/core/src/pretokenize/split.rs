//! Split: one stage that cuts pieces by a pattern.
//!
//! Cost: that of the matcher. Where matches are rare, pieces without one are copied in bulk.

use super::Pieces;
use super::behavior::Behavior;
use crate::split::{Budget, Matcher, Segments, Splitter, Zone};
use crate::{Result, split};

pub struct Split {
    pub matcher: Matcher,
    pub behavior: Behavior,
    /// Whether gaps count as matches, and matches as gaps.
    pub invert: bool,
    /// Whether the text is matched as the printable characters of its bytes.
    pub printable: bool,
}

/// Buffers of one stage, which the next can use again.
#[derive(Default)]
pub struct Scratch {
    split: split::Scratch,
    ends: Vec<u32>,
    gaps: Vec<u32>,
}

impl Split {
    /// Returns the splitter with the same result on every text, if there is one.
    pub fn splitter(&self) -> Result<Option<Splitter>> {
        let alike = match self.behavior {
            Behavior::Isolated | Behavior::MergedWithPrevious | Behavior::MergedWithNext => true,
            Behavior::Removed => self.invert,
            Behavior::Contiguous => false,
        };
        if !alike || self.printable || self.matcher.has_zones() || !self.matcher.covers() {
            return Ok(None);
        }
        // A bare word would be taken for the name of a preset; but no word covers all text.
        Splitter::new(self.matcher.pattern()).map(Some)
    }

    /// Returns the zones that it isolates, if it does nothing else.
    pub fn zone(&self) -> Option<Zone> {
        if self.isolates() { self.matcher.zone() } else { None }
    }

    /// Returns the split with the same result as isolating these zones before, if one scan can do that.
    pub fn in_zones(&self, zones: &[Zone]) -> Option<Split> {
        if zones.is_empty() || !self.isolates() || self.matcher.is_literal() {
            return None;
        }
        let matcher = Matcher::zoned(zones, self.matcher.pattern())?;
        Some(Split { matcher, behavior: Behavior::Isolated, invert: false, printable: false })
    }

    /// Whether characters may be removed.
    pub fn removes(&self) -> bool {
        self.behavior == Behavior::Removed && !(self.invert && self.matcher.covers())
    }

    fn isolates(&self) -> bool {
        self.behavior == Behavior::Isolated && !self.invert && !self.printable
    }

    pub fn run(&self, text: &str, from: &Pieces, to: &mut Pieces, scratch: &mut Scratch) -> Result<()> {
        let mut budget = Budget::of(text);
        // Whether a piece without a match is kept as it is.
        let keeps = !(self.invert && self.behavior == Behavior::Removed);
        let mut dropped = from.dropped.iter().map(|&at| at as usize).peekable();
        let (mut i, mut start) = (0, 0);
        while i < from.ends.len() {
            if keeps && let Some(at) = self.matcher.candidate(text.as_bytes(), start) {
                let next = i + from.ends[i..].iter().take_while(|&&end| end as usize <= at).count();
                while let Some(at) = dropped.next_if(|&at| at < next) {
                    to.dropped.push((to.ends.len() + at - i) as u32);
                }
                to.ends.extend_from_slice(&from.ends[i..next]);
                start = if next == 0 { 0 } else { from.ends[next - 1] as usize };
                i = next;
                if i == from.ends.len() {
                    break;
                }
            }
            let end = from.ends[i];
            if dropped.next_if_eq(&i).is_some() {
                to.drop_until(end);
            } else {
                self.cut(text, (start, end as usize), &mut budget, to, scratch)?;
            }
            (i, start) = (i + 1, end as usize);
        }
        Ok(())
    }

    /// Appends the pieces of one piece.
    fn cut(
        &self,
        text: &str,
        span: (usize, usize),
        budget: &mut Budget,
        to: &mut Pieces,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { split, ends, gaps } = scratch;
        gaps.clear();
        match self.behavior {
            Behavior::Isolated => {
                let mut found = Segments { ends: &mut to.ends, gaps };
                self.matcher.find(text, span, budget, split, &mut found)
            }
            Behavior::Removed if self.invert => {
                let mut found = Segments { ends: &mut to.ends, gaps: &mut to.dropped };
                self.matcher.find(text, span, budget, split, &mut found)
            }
            _ => {
                ends.clear();
                self.matcher.find(text, span, budget, split, &mut Segments { ends, gaps })?;
                self.behavior.apply(ends, gaps, self.invert, to);
                Ok(())
            }
        }
    }
}

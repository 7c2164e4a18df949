//! Behavior: what a split does with the matches of a pattern and the gaps between them.
//!
//! On "The-final--countdown", split at `-`:
//!
//! | behavior | pieces |
//! |---|---|
//! | `Removed` | The, final, countdown |
//! | `Isolated` | The, -, final, -, -, countdown |
//! | `Contiguous` | The, -, final, --, countdown |
//! | `MergedWithPrevious` | The-, final-, -, countdown |
//! | `MergedWithNext` | The, -final, -, -countdown |
//!
//! All but the first are rules for the boundary between two neighbors, so one pass decides them.

use super::Pieces;
use crate::split::{Meeting, Role};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    Removed,
    Isolated,
    Contiguous,
    MergedWithPrevious,
    MergedWithNext,
}

impl Behavior {
    pub fn named(name: &str) -> Option<Behavior> {
        Some(match name {
            "Removed" => Behavior::Removed,
            "Isolated" => Behavior::Isolated,
            "Contiguous" => Behavior::Contiguous,
            "MergedWithPrevious" => Behavior::MergedWithPrevious,
            "MergedWithNext" => Behavior::MergedWithNext,
            _ => return None,
        })
    }

    /// Whether two neighbors become one piece; each is a match or a gap.
    fn joins(self, before: bool, after: bool) -> bool {
        match self {
            Behavior::Removed | Behavior::Isolated => false,
            Behavior::Contiguous => before == after,
            Behavior::MergedWithPrevious => !before && after,
            Behavior::MergedWithNext => before && !after,
        }
    }

    /// Whether what is before and after a cut are two pieces, judging by what each is part of: surely, and maybe.
    pub fn parts(self, meeting: &Meeting, invert: bool) -> (bool, bool) {
        let may_be = |role: Role, matched: bool| role == Role::Either || (role == Role::Match) == matched;
        let (mut surely, mut maybe) = (true, false);
        for (before, after) in [(false, false), (false, true), (true, false), (true, true)] {
            if may_be(meeting.before, before) && may_be(meeting.after, after) {
                // Two gaps are one.
                let joined = !(before || after) || self.joins(before != invert, after != invert);
                surely &= !joined;
                maybe |= !joined;
            }
        }
        (surely, maybe)
    }

    /// Appends the pieces of segments, of which those in `gaps` are gaps. If `invert`, gaps count as matches.
    pub fn apply(self, ends: &[u32], gaps: &[u32], invert: bool, pieces: &mut Pieces) {
        let mut gaps = gaps.iter().peekable();
        let mut before = None;
        for (i, &end) in ends.iter().enumerate() {
            let gap = gaps.next_if(|&&at| at as usize == i).is_some();
            let matched = gap == invert;
            match pieces.ends.last_mut() {
                Some(last) if before.is_some_and(|before| self.joins(before, matched)) => *last = end,
                _ if matched && self == Behavior::Removed => pieces.drop_until(end),
                _ => pieces.ends.push(end),
            }
            before = Some(matched);
        }
    }
}

//! Matcher: where a pattern matches, and the gaps between the matches.
//!
//! [`Splitter`](super::Splitter) makes every unmatched character a pre-token; other libraries treat a whole
//! unmatched stretch as one. A matcher reports both kinds of segments, each stretch as one *gap*. A segment
//! depends on the bytes of the stretch searched alone: look-around sees nothing before or after it.
//!
//! | kind | patterns | cost |
//! |---|---|---|
//! | [`Kind::Literal`] | a string | `memchr` |
//! | [`Kind::Scanner`] | the presets, which leave no gaps | as the scanner; short stretches run on a DFA |
//! | [`Kind::Dfa`] | regular ones | as below |
//! | [`Kind::LookAround`] | all others | as in [`Tier::LookAround`](super::Tier) |
//!
//! A DFA searches in one of two ways. *Sparse*, if no lower-case ASCII letter begins a match: bytes that begin
//! none are skipped. *Dense* otherwise: the fast table of `dfa.rs` splits the stretch, and then the pre-tokens of
//! one character that may be gaps are matched again.

use std::sync::OnceLock;

use memchr::memmem::Finder;
use regex_syntax::hir::{ClassUnicode, Dot};

use super::bitmap::char_len;
use super::dfa::{Budget, Dfa, char_at};
use super::lookaround::LookAround;
use super::neighbors::Neighbors;
use super::presets::Scanner;
use super::rewrite::{self, Regular};
use super::zones::{Zone, Zoned, contains, zoned};
use super::{Origin, Scratch, printable, scan};
use crate::Result;

/// Stretches shorter than this are not worth a scanner's blocks of 64 bytes.
const SHORT: usize = 192;

/// The segments of a stretch of text, appended to two lists.
pub struct Segments<'a> {
    /// Where they end.
    pub ends: &'a mut Vec<u32>,
    /// The indices in `ends` of those that are gaps, ascending.
    pub gaps: &'a mut Vec<u32>,
}

impl Segments<'_> {
    fn push_gap(&mut self, end: usize) {
        self.gaps.push(self.ends.len() as u32);
        self.ends.push(end as u32);
    }
}

/// A compiled pattern.
pub struct Matcher {
    pattern: String,
    kind: Kind,
    /// Whether it matches the bytes of the text as their printable characters; see `printable.rs`.
    printable: bool,
    /// Found when first asked for; none if the pattern looks behind.
    neighbors: OnceLock<Option<Neighbors>>,
}

/// What a character is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Match,
    Gap,
    /// One or the other, depending on the text.
    Either,
}

/// What the two characters around a cut are part of, where no match contains both.
pub struct Meeting {
    pub before: Role,
    pub after: Role,
}

enum Kind {
    Literal(Box<Finder<'static>>),
    Scanner(Scanner, OnceLock<Option<Box<GapDfa>>>),
    Dfa(Box<GapDfa>),
    LookAround(Box<LookAround>),
}

/// A DFA that distinguishes gaps.
struct GapDfa {
    dfa: Dfa,
    /// The bytes that can begin a match.
    begins: [bool; 256],
    /// The bytes that can begin a gap.
    gaps: [bool; 256],
    sparse: bool,
    /// Gaps in two of these do not join; see `zones.rs`.
    zones: Vec<ClassUnicode>,
}

impl Matcher {
    /// Compiles a regular expression. (The name of a preset is one that matches the name.)
    pub fn new(pattern: &str) -> Result<Matcher> {
        let kind = match Scanner::of(pattern) {
            Some(scanner) => Kind::Scanner(scanner, OnceLock::new()),
            None => match rewrite::regular(pattern)?.and_then(|r| GapDfa::new(pattern, &r, Dot::AnyChar)) {
                Some(dfa) => Kind::Dfa(Box::new(dfa)),
                None => Kind::LookAround(Box::new(LookAround::new(pattern, Origin::File)?)),
            },
        };
        Ok(Matcher { pattern: pattern.into(), kind, printable: false, neighbors: OnceLock::new() })
    }

    /// Matches a string, which is not empty.
    pub fn literal(text: &str) -> Matcher {
        let kind = Kind::Literal(Box::new(Finder::new(text.as_bytes()).into_owned()));
        Matcher { pattern: text.into(), kind, printable: false, neighbors: OnceLock::new() }
    }

    /// Compiles a pattern that is matched against the printable characters that stand for the bytes of a text,
    /// though the text given is the bytes. A segment may end inside a character.
    pub fn printable(pattern: &str) -> Result<Matcher> {
        let regular = rewrite::regular(pattern)?.and_then(|regular| printable::bytes_of(&regular));
        let kind = match regular.and_then(|r| GapDfa::new(pattern, &r, Dot::AnyByte)) {
            Some(dfa) => Kind::Dfa(Box::new(dfa)),
            None => Kind::LookAround(Box::new(LookAround::new(pattern, Origin::File)?)),
        };
        Ok(Matcher { pattern: pattern.into(), kind, printable: true, neighbors: OnceLock::new() })
    }

    /// Compiles a pattern that is matched in each of several zones alone; `None` if one scan cannot do that.
    pub fn zoned(zones: &[Zone], pattern: &str) -> Option<Matcher> {
        let Zoned { regular, classes } = zoned(zones, pattern)?;
        let mut dfa = GapDfa::new(pattern, &regular, Dot::AnyChar)?;
        (dfa.zones, dfa.sparse) = (classes, false);
        let neighbors = OnceLock::from(Neighbors::of_regular(&regular));
        Some(Matcher { pattern: pattern.into(), kind: Kind::Dfa(Box::new(dfa)), printable: false, neighbors })
    }

    /// Returns the regular expression.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns the zones of a text that it isolates, if it does nothing else.
    pub fn zone(&self) -> Option<Zone> {
        if self.is_literal() || self.printable { None } else { Zone::of(&self.pattern) }
    }

    /// Whether it matches a string instead of a regular expression.
    pub fn is_literal(&self) -> bool {
        matches!(self.kind, Kind::Literal(_))
    }

    /// Whether it matches in zones, so that its pattern alone would be another one.
    pub fn has_zones(&self) -> bool {
        matches!(&self.kind, Kind::Dfa(dfa) if !dfa.zones.is_empty())
    }

    /// Whether it leaves no gaps, whatever the text.
    pub fn covers(&self) -> bool {
        match &self.kind {
            Kind::Scanner(..) => true,
            Kind::Dfa(dfa) => dfa.covers(),
            Kind::Literal(_) | Kind::LookAround(_) => false,
        }
    }

    /// Returns what two characters that are side by side are part of, if the segments of every text that contains
    /// them are those of the text before and of the text after, each alone; two gaps are then one. `None` if that
    /// is not proven.
    pub fn meeting(&self, before: char, after: char) -> Option<Meeting> {
        if let Kind::Literal(finder) = &self.kind {
            return literal_meeting(std::str::from_utf8(finder.needle()).ok()?, before, after);
        }
        if let Kind::Scanner(scanner, _) = &self.kind {
            let covered = Meeting { before: Role::Match, after: Role::Match };
            return scan::is_safe(*scanner, before, after).then_some(covered);
        }
        let neighbors = self.neighbors.get_or_init(|| Neighbors::of_pattern(&self.pattern)).as_ref()?;
        // What the pattern sees of the two, and the first byte of each.
        let (left, right, bytes) = if self.printable {
            let (mut one, mut other) = ([0; 4], [0; 4]);
            let last = before.encode_utf8(&mut one).bytes().next_back()?;
            let first = after.encode_utf8(&mut other).bytes().next()?;
            (printable::char_of(last), printable::char_of(first), [last, first])
        } else {
            let first = |c: char| c.encode_utf8(&mut [0; 4]).as_bytes()[0];
            (before, after, [first(before), first(after)])
        };
        if neighbors.may_meet(left, right) {
            return None;
        }
        let (mut roles, seen) = ([Role::Either; 2], [neighbors.may_match(left), neighbors.may_match(right)]);
        for (i, role) in roles.iter_mut().enumerate() {
            let byte = usize::from(bytes[i]);
            match &self.kind {
                // Wherever it is tried here, it matches: so this is part of that match, or of one before.
                Kind::Dfa(dfa) if !dfa.gaps[byte] => *role = Role::Match,
                // No match goes across the cut, and none begins after it.
                Kind::Dfa(dfa) if i == 1 && !dfa.begins[byte] => *role = Role::Gap,
                _ if !seen[i] => *role = Role::Gap,
                _ => {}
            }
        }
        Some(Meeting { before: roles[0], after: roles[1] })
    }

    /// Returns the first offset at or after `from` where a match may begin, even if `text` is cut into
    /// stretches there; its length if there is none. `None` if looking for it does not pay.
    pub fn candidate(&self, text: &[u8], from: usize) -> Option<usize> {
        match &self.kind {
            Kind::Dfa(dfa) if dfa.sparse => Some(dfa.candidate(text, from)),
            _ => None,
        }
    }

    /// Appends the segments of `text[from..to]`. The budget is that of the whole text.
    pub fn find(
        &self,
        text: &str,
        (from, to): (usize, usize),
        budget: &mut Budget,
        scratch: &mut Scratch,
        found: &mut Segments<'_>,
    ) -> Result<()> {
        match &self.kind {
            Kind::Literal(finder) => {
                let (mut at, len) = (from, finder.needle().len());
                for start in finder.find_iter(&text.as_bytes()[from..to]) {
                    if from + start > at {
                        found.push_gap(from + start);
                    }
                    at = from + start + len;
                    found.ends.push(at as u32);
                }
                if at < to {
                    found.push_gap(to);
                }
                Ok(())
            }
            Kind::Scanner(scanner, short) => {
                if to - from < SHORT
                    && let Some(dfa) = short.get_or_init(|| self.as_dfa())
                {
                    return dfa.find(text.as_bytes(), from, to, budget, found);
                }
                let first = found.ends.len();
                scan::split(*scanner, &text[from..to], &mut scratch.masks, found.ends);
                found.ends[first..].iter_mut().for_each(|end| *end += from as u32);
                Ok(())
            }
            Kind::Dfa(dfa) => dfa.find(text.as_bytes(), from, to, budget, found),
            Kind::LookAround(regex) if self.printable => {
                let bytes = &text.as_bytes()[from..to];
                let (mapped, offsets) = printable::of_bytes(bytes);
                look_around(regex, &mapped, found, |at| from + offsets[at] as usize)
            }
            Kind::LookAround(regex) => look_around(regex, &text[from..to], found, |at| from + at),
        }
    }

    /// The same matcher on a DFA.
    fn as_dfa(&self) -> Option<Box<GapDfa>> {
        let regular = rewrite::regular(&self.pattern).ok()??;
        GapDfa::new(&self.pattern, &regular, Dot::AnyChar).map(Box::new)
    }
}

/// [`Matcher::meeting`] of a string.
fn literal_meeting(needle: &str, before: char, after: char) -> Option<Meeting> {
    if needle.chars().zip(needle.chars().skip(1)).any(|pair| pair == (before, after)) {
        return None;
    }
    let is_char = needle.chars().nth(1).is_none();
    let role = |end: Option<char>, c: char| match end == Some(c) {
        true if is_char => Role::Match,
        true => Role::Either,
        false => Role::Gap,
    };
    Some(Meeting {
        before: role(needle.chars().next_back(), before),
        after: role(needle.chars().next(), after),
    })
}

/// Appends the segments of `text`; `offset` translates the offsets in it.
fn look_around(
    regex: &LookAround,
    text: &str,
    found: &mut Segments<'_>,
    offset: impl Fn(usize) -> usize,
) -> Result<()> {
    let mut at = 0;
    regex.matches(text, |start, end| {
        if start > at {
            found.push_gap(offset(start));
        }
        found.ends.push(offset(end) as u32);
        at = end;
    })?;
    if at < text.len() {
        found.push_gap(offset(text.len()));
    }
    Ok(())
}

impl GapDfa {
    fn new(pattern: &str, regular: &Regular, unit: Dot) -> Option<GapDfa> {
        let dfa = Dfa::with_gaps(pattern, regular, Some(unit))?;
        let (begins, mut gaps) = dfa.table.first_bytes();
        if let Some(without) = &dfa.without {
            let (_, more) = without.first_bytes();
            gaps.iter_mut().zip(more).for_each(|(gap, more)| *gap |= more);
        }
        let sparse = !begins[usize::from(b'a')..=usize::from(b'z')].contains(&true);
        Some(GapDfa { dfa, begins, gaps, sparse, zones: Vec::new() })
    }

    fn covers(&self) -> bool {
        let covers = |table: &super::dfa_table::DfaTable| !table.has_gaps();
        covers(&self.dfa.table) && self.dfa.without.as_ref().is_none_or(covers)
    }

    #[inline(always)]
    fn candidate(&self, text: &[u8], from: usize) -> usize {
        let rest = text[from..].iter().position(|&byte| self.begins[usize::from(byte)]);
        rest.map_or(text.len(), |at| from + at)
    }

    fn find(
        &self,
        text: &[u8],
        from: usize,
        to: usize,
        budget: &mut Budget,
        found: &mut Segments<'_>,
    ) -> Result<()> {
        let text = &text[..to];
        if self.sparse {
            return self.find_sparse(text, from, budget, found);
        }
        let first = found.ends.len();
        self.dfa.split_fast(text, from, to, true, budget, found.ends)?;
        self.join_gaps(text, from, first, budget, found)
    }

    /// Matches only at the bytes that can begin a match.
    fn find_sparse(
        &self,
        text: &[u8],
        from: usize,
        budget: &mut Budget,
        found: &mut Segments<'_>,
    ) -> Result<()> {
        let (mut start, mut at) = (from, from);
        loop {
            at = self.candidate(text, at);
            if at == text.len() {
                break;
            }
            let matched = self.dfa.match_at(text, at, budget)?;
            if !matched.gap {
                if at > start {
                    found.push_gap(at);
                }
                found.ends.push(matched.end as u32);
                start = matched.end;
            }
            at = matched.end;
        }
        if start < text.len() {
            found.push_gap(text.len());
        }
        Ok(())
    }

    /// Returns the zone of the character at `at`; the last zone is that of all others.
    fn zone_of(&self, text: &[u8], at: usize) -> usize {
        let c = if self.zones.is_empty() { None } else { char_at(text, at) };
        let zone = c.and_then(|c| self.zones.iter().position(|class| contains(class, c)));
        zone.unwrap_or(self.zones.len())
    }

    /// Joins the units from segment `first` on that were not matched; the segments begin at `from`.
    fn join_gaps(
        &self,
        text: &[u8],
        from: usize,
        first: usize,
        budget: &mut Budget,
        found: &mut Segments<'_>,
    ) -> Result<()> {
        let (mut start, mut last, mut kept, mut in_gap) = (from, from, first, false);
        for i in first..found.ends.len() {
            let end = found.ends[i] as usize;
            let lead = usize::from(text[start]);
            let gap = self.gaps[lead]
                && end - start <= char_len(text[start])
                && (!self.begins[lead] || self.dfa.match_at(text, start, budget)?.gap);
            if gap && in_gap && self.zone_of(text, start) == self.zone_of(text, last) {
                kept -= 1;
            } else if gap {
                found.gaps.push(kept as u32);
            }
            found.ends[kept] = end as u32;
            kept += 1;
            (last, start, in_gap) = (start, end, gap);
        }
        found.ends.truncate(kept);
        Ok(())
    }
}

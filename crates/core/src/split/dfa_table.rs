//! DFA table: the transition tables of the DFA tier.
//!
//! `regex-automata` compiles the alternatives (and a last one for any single character) to one anchored,
//! leftmost-first automaton. Its states are then renumbered so that the number of a state says what it is: 0
//! is dead, states from `matching` up report a match, states from `giving_back` up a match of the alternative
//! that gives back its last character (see `rewrite.rs`). A match is known one byte late, or at the end of
//! the text.
//!
//! Most pre-tokens end in one way: the byte after them leads to a state that reports the match and has no way
//! out. For those a second, fast table says at once "a pre-token ends before this byte, and the next one
//! begins with it".
//!
//! Cost: tens of milliseconds and up to some megabytes per pattern.

use std::collections::HashMap;

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::look::Look;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::{Dot, Hir};

/// The limit of the automaton, and of the memory to build it, in bytes.
const SIZE: usize = 64 << 20;

/// In a fast table: a pre-token ends before this byte.
pub const ENDS: u32 = 1 << 31;
/// In a fast table: match this pre-token with the full table.
pub const CARE: u32 = 1 << 30;

/// The tables of one automaton.
///
/// Loops look states up without bounds checks. That is sound because [`DfaTable::lay_out`] guarantees that a
/// state plus a class is an index of both tables: `start`, every entry of `next`, and every entry of `fast`
/// without [`CARE`], once [`ENDS`] is removed, are multiples of the width (the number of classes) below the
/// length of both tables, and every class is below the width.
pub struct DfaTable {
    /// The fast table: as `next`, but never dead; see [`ENDS`] and [`CARE`].
    pub fast: Vec<u32>,
    /// The full table: the next state by state and class of byte; states are premultiplied by the number of
    /// classes.
    pub next: Vec<u32>,
    pub class: [u8; 256],
    end_class: u32,
    pub start: u32,
    matching: u32,
    pub giving_back: u32,
    /// States from here up report that no alternative matches, in a table that distinguishes that.
    pub gap: u32,
}

/// The result of one match attempt.
pub struct DfaMatch {
    pub end: usize,
    pub state: u32,
    /// One past the last byte examined; the end of the text counts as a byte.
    pub looked: usize,
    /// Whether the automaton died before the end of the text, so that nothing that follows could change the
    /// match.
    pub decided: bool,
}

impl DfaTable {
    /// Compiles the alternatives; `None` if the automaton would be too large, or looks behind. Where none of
    /// them matches, `gaps` matches one unit, which the table distinguishes; without it, one character, which
    /// it does not.
    pub fn new(alternatives: &[Hir], gives_back: Option<usize>, gaps: Option<Dot>) -> Option<DfaTable> {
        let mut all = alternatives.to_vec();
        all.push(Hir::dot(gaps.unwrap_or(Dot::AnyChar)));
        let nfa = thompson::Compiler::new()
            .configure(thompson::Config::new().which_captures(WhichCaptures::None).nfa_size_limit(Some(SIZE)))
            .build_many_from_hir(&all)
            .ok()?;
        if nfa.look_set_any().iter().any(|look| look != Look::End) {
            return None;
        }
        let dfa = dense::Builder::new()
            .configure(
                dense::Config::new()
                    .match_kind(MatchKind::LeftmostFirst)
                    .start_kind(StartKind::Anchored)
                    .accelerate(false)
                    .dfa_size_limit(Some(SIZE))
                    .determinize_size_limit(Some(SIZE)),
            )
            .build_from_nfa(&nfa)
            .ok()?;
        DfaTable::lay_out(&dfa, gives_back, gaps.map(|_| alternatives.len()))
    }

    fn lay_out(
        dfa: &dense::DFA<Vec<u32>>,
        gives_back: Option<usize>,
        gap: Option<usize>,
    ) -> Option<DfaTable> {
        let classes = dfa.byte_classes();
        let end_class = classes.eoi().as_usize();
        let start = dfa.start_state(&start::Config::new().anchored(Anchored::Yes)).ok()?;

        // Every reachable state, with its transitions.
        let mut number = HashMap::from([(start, 0usize)]);
        let mut found = vec![start];
        let mut next = Vec::new();
        let mut done = 0;
        while done < found.len() {
            let state = found[done];
            done += 1;
            for unit in classes.representatives(..) {
                let to = match unit.as_u8() {
                    Some(byte) => dfa.next_state(state, byte),
                    None => dfa.next_eoi_state(state),
                };
                if dfa.is_quit_state(to) {
                    return None;
                }
                next.push(*number.entry(to).or_insert_with(|| {
                    found.push(to);
                    found.len() - 1
                }));
            }
        }

        // In the order that makes the number of a state say what it is.
        let rank = |i: &usize| {
            let state = found[*i];
            let alternative = || Some(dfa.match_pattern(state, 0).as_usize());
            if dfa.is_dead_state(state) {
                0
            } else if !dfa.is_match_state(state) {
                1
            } else if alternative() == gap {
                4
            } else if alternative() == gives_back {
                3
            } else {
                2
            }
        };
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_by_key(rank);
        if rank(&order[0]) != 0 || rank(order.get(1)?) == 0 {
            return None;
        }
        let width = end_class + 1;
        let mut renumbered = vec![0u32; found.len()];
        for (i, &state) in order.iter().enumerate() {
            renumbered[state] = (i * width) as u32;
        }
        let first = |least: i32| (order.iter().filter(|i| rank(i) < least).count() * width) as u32;
        let mut class = [0; 256];
        for byte in 0..=255 {
            class[byte as usize] = classes.get(byte);
        }
        let next: Vec<u32> =
            order.iter().flat_map(|&s| &next[s * width..][..width]).map(|&to| renumbered[to]).collect();
        let (start, matching, giving_back, gap) = (renumbered[0], first(2), first(3), first(4));

        // A state that reports a match and leads nowhere: the pre-token ends, and the byte begins the next
        // one.
        let is_last = |to: u32| to >= matching && next[to as usize..][..width].iter().all(|&to| to == 0);
        let faster = |(i, &to): (usize, &u32)| match to {
            0 => CARE,
            _ if !is_last(to) => to,
            _ if to >= giving_back => CARE,
            _ => ENDS | next[start as usize + i % width],
        };
        let fast = next.iter().enumerate().map(faster).collect();
        Some(DfaTable { fast, next, class, end_class: end_class as u32, start, matching, giving_back, gap })
    }

    /// Whether some text begins with a character that no alternative matches.
    pub fn has_gaps(&self) -> bool {
        (self.gap as usize) < self.next.len()
    }

    /// Returns which bytes can begin a match, and which a gap; more than these at most.
    pub fn first_bytes(&self) -> ([bool; 256], [bool; 256]) {
        let width = self.end_class as usize + 1;
        let states = self.next.len() / width;
        // The states from which a match can be reached, by the states that lead to them.
        let mut before = vec![Vec::new(); states];
        for (i, &to) in self.next.iter().enumerate() {
            before[to as usize / width].push(i / width);
        }
        let mut live = vec![false; states];
        let mut reached: Vec<usize> = (self.matching as usize / width..self.gap as usize / width).collect();
        while let Some(state) = reached.pop() {
            if !std::mem::replace(&mut live[state], true) {
                reached.append(&mut before[state]);
            }
        }
        let after = |byte: usize| self.next[self.start as usize + self.class[byte] as usize] as usize;
        let begins = std::array::from_fn(|byte| live[after(byte) / width]);
        // Of longer characters the first byte does not decide.
        let ends = |state: usize| self.next[state..][..width].iter().any(|&to| to >= self.gap);
        let gaps = std::array::from_fn(|byte| self.has_gaps() && (byte >= 0x80 || ends(after(byte))));
        (begins, gaps)
    }

    /// Returns the match at `from`; there always is one, as any character matches by itself.
    #[inline(always)]
    pub fn find(&self, text: &[u8], from: usize) -> DfaMatch {
        let (mut state, mut at) = (self.start, from);
        let mut found = DfaMatch { end: from, state: 0, looked: from, decided: true };
        while at < text.len() {
            // SAFETY: `at` is below the length of the text. `state` is the start state or came from the
            // table, so it is a multiple of the width below the length of the table; a class is below the
            // width.
            state = unsafe {
                let class = *self.class.get_unchecked(*text.get_unchecked(at) as usize);
                *self.next.get_unchecked(state as usize + class as usize)
            };
            if state >= self.matching {
                (found.end, found.state) = (at, state);
            }
            if state == 0 {
                found.looked = at + 1;
                return found;
            }
            at += 1;
        }
        state = self.next[(state + self.end_class) as usize];
        if state >= self.matching {
            (found.end, found.state) = (at, state);
        }
        DfaMatch { looked: at + 1, decided: false, ..found }
    }
}

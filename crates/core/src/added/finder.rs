//! Finder: the leftmost token in a text and, of several there, the longest.
//!
//! Few tokens are left to an automaton, which skips to their first bytes by vectors. Many tokens leave it no
//! such way, and it then takes 10 ns per byte. But their first two bytes are few: Gemma 3 has 6,410 tokens that
//! begin with `<` and a letter, or with two spaces, and the like. A bit map of these pairs is read at each byte,
//! about 1 ns, and the automaton only where a token may begin.
//!
//! When it loses: on text that is full of such pairs. Then the automaton is tried at each of them, for as many
//! bytes as the longest token has; tokens longer than [`LONGEST`] bytes are left to one pass of the automaton,
//! so that the time stays linear.

use std::ops::Range;

use aho_corasick::{AhoCorasick, Anchored, FindIter, Input};

use crate::automaton::{anchored_automaton, automaton};
use crate::{Error, Result};

/// Fewer tokens are left to the automaton. (Not as few in tests, so that both ways are taken.)
const MANY: usize = if cfg!(test) { 2 } else { 100 };

/// Longer tokens, in bytes, are left to the automaton.
const LONGEST: usize = 64;

pub(super) struct Finder {
    automaton: AhoCorasick,
    /// By the first two bytes of what may be a token, one bit each; if that is how tokens are looked for.
    beginnings: Option<Box<[u64; 1024]>>,
    /// The index of the token of each pattern.
    token: Vec<u32>,
}

impl Finder {
    /// Builds a finder of patterns and the token of each, or none if there are no patterns.
    pub(super) fn new(patterns: &[String], token: Vec<u32>) -> Result<Option<Finder>> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let pays = patterns.len() > MANY && patterns.iter().all(|pattern| pattern.len() <= LONGEST);
        let automaton = if pays { anchored_automaton(patterns) } else { automaton(patterns) };
        let automaton = automaton.map_err(|error| Error::BadTokenizer {
            reason: format!("its added tokens are too long together: {error}"),
        })?;
        let beginnings = pays.then(|| {
            let mut bits = Box::new([0; 1024]);
            for pattern in patterns {
                match *pattern.as_bytes() {
                    [first, second, ..] => set(&mut bits, first, second),
                    [first] => (0..=255).for_each(|second| set(&mut bits, first, second)),
                    [] => {}
                }
            }
            bits
        });
        Ok(Some(Finder { automaton, beginnings, token }))
    }

    pub(super) fn find_iter<'a>(&'a self, text: &'a str) -> Found<'a> {
        let places = match &self.beginnings {
            Some(beginnings) => Places::Beginnings { beginnings, text, at: 0 },
            None => Places::All(self.automaton.find_iter(text)),
        };
        Found { finder: self, places }
    }
}

fn set(bits: &mut [u64; 1024], first: u8, second: u8) {
    let bit = index(first, second);
    bits[bit / 64] |= 1 << (bit % 64);
}

#[inline(always)]
fn index(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

/// An iterator over the tokens in a text: the index of each, and where it is.
pub(super) struct Found<'a> {
    finder: &'a Finder,
    places: Places<'a>,
}

enum Places<'a> {
    All(FindIter<'a, 'a>),
    Beginnings { beginnings: &'a [u64; 1024], text: &'a str, at: usize },
}

impl Iterator for Found<'_> {
    type Item = (u32, Range<usize>);

    fn next(&mut self) -> Option<(u32, Range<usize>)> {
        let found = match &mut self.places {
            Places::All(found) => found.next()?,
            Places::Beginnings { beginnings, text, at } => loop {
                *at = next_beginning(beginnings, text.as_bytes(), *at)?;
                let here = Input::new(*text).range(*at..).anchored(Anchored::Yes);
                match self.finder.automaton.find(here) {
                    Some(found) => {
                        *at = found.end();
                        break found;
                    }
                    None => *at += 1,
                }
            },
        };
        Some((self.finder.token[found.pattern()], found.range()))
    }
}

/// Returns the first offset from `at` on where a token may begin.
fn next_beginning(beginnings: &[u64; 1024], text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let begins = |two: &[u8]| {
        let bit = index(two[0], two[1]);
        beginnings[bit / 64] >> (bit % 64) & 1 != 0
    };
    match rest.windows(2).position(begins) {
        Some(found) => Some(at + found),
        // The last byte has none after it, and may be a token by itself.
        None => (!rest.is_empty()).then(|| text.len() - 1),
    }
}

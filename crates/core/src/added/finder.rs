//! Finder: the leftmost token in a text and, of several there, the longest.
//!
//! Tokens mostly begin with `<`. Where they begin with at most three bytes that are rare in text, these are
//! searched by vectors, in no measurable time. (An automaton chooses rare bytes by a table of its own, and stops at
//! every Chinese comma for DeepSeek's `｜`.) Otherwise few tokens are left to an automaton, and of many the first
//! two bytes are looked for: Gemma 3 has 6,410 tokens that begin with `<` and a letter, or with two spaces, and the
//! like. A bit map of these pairs is read at each byte, about 1 ns, and the automaton only where a token may
//! begin; with 6,410 tokens it takes 10 ns per byte.
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
    /// How tokens are looked for, unless the automaton does it.
    beginnings: Option<Beginnings>,
    /// What is looked for, and the index of the token of each.
    patterns: Vec<String>,
    token: Vec<u32>,
}

/// Where a token may begin.
struct Beginnings {
    /// The first bytes, if they are few and rare in text.
    first: Vec<u8>,
    /// By the first two bytes, one bit each.
    two: Box<[u64; 1024]>,
}

impl Finder {
    /// Builds a finder of patterns and the token of each, or none if there are no patterns.
    pub(super) fn new(patterns: Vec<String>, token: Vec<u32>) -> Result<Option<Finder>> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let beginnings = Beginnings::new(&patterns);
        let pays = (patterns.len() > MANY || !beginnings.first.is_empty())
            && patterns.iter().all(|pattern| pattern.len() <= LONGEST);
        let automaton = if pays { anchored_automaton(&patterns) } else { automaton(&patterns) };
        let automaton = automaton.map_err(|error| Error::BadTokenizer {
            reason: format!("its added tokens are too long together: {error}"),
        })?;
        let beginnings = pays.then_some(beginnings);
        Ok(Some(Finder { automaton, beginnings, patterns, token }))
    }

    /// Returns what is looked for, with the index of the token of each.
    pub(super) fn patterns(&self) -> impl Iterator<Item = (&str, u32)> {
        self.patterns.iter().map(String::as_str).zip(self.token.iter().copied())
    }

    pub(super) fn find_iter<'a>(&'a self, text: &'a str) -> Found<'a> {
        let places = match &self.beginnings {
            Some(beginnings) => Places::Beginnings { beginnings, text, at: 0 },
            None => Places::All(self.automaton.find_iter(text)),
        };
        Found { finder: self, places }
    }
}

impl Beginnings {
    fn new(patterns: &[String]) -> Beginnings {
        let mut two = Box::new([0; 1024]);
        for pattern in patterns {
            match *pattern.as_bytes() {
                [first, second, ..] => set(&mut two, first, second),
                [first] => (0..=255).for_each(|second| set(&mut two, first, second)),
                [] => {}
            }
        }
        let mut first: Vec<u8> = patterns.iter().filter_map(|pattern| pattern.bytes().next()).collect();
        first.sort_unstable();
        first.dedup();
        let is_common = |byte: &u8| byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace();
        if first.len() > 3 || first.iter().any(is_common) {
            first.clear();
        }
        Beginnings { first, two }
    }

    /// Returns the first offset from `at` on where a token may begin.
    fn next(&self, text: &[u8], mut at: usize) -> Option<usize> {
        loop {
            let rest = text.get(at..)?;
            let found = match self.first[..] {
                [a] => memchr::memchr(a, rest)?,
                [a, b] => memchr::memchr2(a, b, rest)?,
                [a, b, c] => memchr::memchr3(a, b, c, rest)?,
                // The last byte has none after it, and may be a token by itself.
                _ => rest.windows(2).position(|two| self.has(two)).or(rest.len().checked_sub(1))?,
            };
            match rest.get(found..found + 2) {
                Some(two) if !self.has(two) => at += found + 1,
                _ => return Some(at + found),
            }
        }
    }

    #[inline(always)]
    fn has(&self, two: &[u8]) -> bool {
        let bit = index(two[0], two[1]);
        self.two[bit / 64] >> (bit % 64) & 1 != 0
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
    Beginnings { beginnings: &'a Beginnings, text: &'a str, at: usize },
}

impl Iterator for Found<'_> {
    type Item = (u32, Range<usize>);

    fn next(&mut self) -> Option<(u32, Range<usize>)> {
        let found = match &mut self.places {
            Places::All(found) => found.next()?,
            Places::Beginnings { beginnings, text, at } => loop {
                *at = beginnings.next(text.as_bytes(), *at)?;
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

//! Automaton: finds several strings in one pass, the leftmost first and of several there the longest.
//!
//! Cost: linear in the length of the strings to build, and in the text to search. A DFA is the fastest to search,
//! but to build it every state follows all of its failures, which is quadratic for a long periodic string (100,000
//! times the letter "a" took 24 s), so strings of that length get an automaton that follows them as it searches.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind, StartKind};

use crate::{Error, Result};

/// Longer strings are not compiled to a DFA.
const LONG: usize = 256;

/// The limit of a special token or separator in bytes. Where text may be cut next to one is found by comparing it
/// at every offset nearby.
const LONGEST: usize = 1 << 16;

pub fn automaton<T: AsRef<[u8]>>(strings: &[T]) -> Result<AhoCorasick> {
    built(strings, StartKind::Unanchored)
}

/// Builds an automaton that can also search at one offset only.
pub fn anchored_automaton<T: AsRef<[u8]>>(strings: &[T]) -> Result<AhoCorasick> {
    built(strings, StartKind::Both)
}

fn built<T: AsRef<[u8]>>(strings: &[T], starts: StartKind) -> Result<AhoCorasick> {
    let long = strings.iter().any(|string| string.as_ref().len() > LONG);
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .start_kind(starts)
        .kind(long.then_some(AhoCorasickKind::ContiguousNFA))
        .build(strings)
        .map_err(|error| Error::BadSetting {
            reason: format!("the special tokens are too long together: {error}"),
        })
}

/// Refuses a special token or separator that is too long.
pub fn check_length(string: &str) -> Result<()> {
    if string.len() <= LONGEST {
        return Ok(());
    }
    let beginning = &string[..string.floor_char_boundary(40)];
    Err(Error::BadSpecial {
        token: format!("{beginning}…"),
        reason: "is longer than 65,536 bytes; choose a shorter one",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_periodic_string_is_found() {
        // With a DFA this took hours.
        let long = "ab".repeat(1 << 20);
        let automaton = automaton(&[&long, "ba", "b"]).unwrap();
        let text = format!("a{long}b");
        let found: Vec<_> = automaton.find_iter(&text).map(|found| found.range()).collect();
        assert_eq!(found, [1..1 + long.len(), 1 + long.len()..text.len()]);
    }
}

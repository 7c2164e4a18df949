//! Finder: where special tokens occur in a text.
//!
//! An Aho-Corasick automaton reports the leftmost special token and, of several that start at the same byte,
//! the longest. The tokenizer keeps one for all of its special tokens; encoding builds small ones for the
//! tokens that a caller allows or disallows.
//!
//! Cost: some microseconds to build, and one pass over the text to search it.

use aho_corasick::{AhoCorasick, MatchKind};

use crate::{Error, Result};

/// Builds the automaton that finds `tokens`, or none where there are none to find.
pub(crate) fn finder<T: AsRef<[u8]>>(tokens: &[T]) -> Result<Option<AhoCorasick>> {
    if tokens.is_empty() {
        return Ok(None);
    }
    let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(tokens);
    built.map(Some).map_err(|error| Error::BadSetting {
        reason: format!("the special tokens are too long together: {error}"),
    })
}

//! Finder: where special tokens occur in a text.
//!
//! An Aho-Corasick automaton reports the leftmost special token and, of several that start at the same byte,
//! the longest. The tokenizer keeps one for all of its special tokens; encoding builds small ones for the
//! tokens that a caller allows or disallows.
//!
//! Cost: some microseconds to build, and one pass over the text to search it.

use aho_corasick::AhoCorasick;

use crate::Result;
use crate::automaton::automaton;

/// Builds the automaton that finds `tokens`, or none where there are none to find.
pub(crate) fn finder<T: AsRef<[u8]>>(tokens: &[T]) -> Result<Option<AhoCorasick>> {
    if tokens.is_empty() { Ok(None) } else { automaton(tokens).map(Some) }
}

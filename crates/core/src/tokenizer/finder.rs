//! Finder: where special tokens occur in a text.
//!
//! An Aho-Corasick automaton reports the leftmost special token and, of several that begin at one byte, the
//! longest. The tokenizer keeps one for all of its special tokens; encoding builds small ones for the tokens
//! that a caller allows or disallows.
//!
//! Cost: building takes some microseconds per token, finding one pass over the text, which the prefilter of the
//! `aho-corasick` crate takes at several gigabytes per second where no special token begins.

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

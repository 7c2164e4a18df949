//! Special: text that may hold special tokens becomes ids.
//!
//! The policy is tiktoken's. A special token in text is an error unless the caller allows it or declares
//! it harmless, because text from strangers must not steer a model. Special tokens are found leftmost
//! first, of several at one place the longest; the text between two of them is split and encoded on its
//! own.
//!
//! Cost: one pass of an Aho-Corasick automaton over the text. Only where a special token is really there
//! (or a caller asks about strings that are no special tokens) small automata of what is allowed and
//! disallowed are built, some microseconds each.
//!
//! Where tiktoken leaves the choice between two special tokens, one a prefix of the other, to the order
//! of a hash set, ours is the longest.

use aho_corasick::{AhoCorasick, MatchKind};

use crate::{Error, Result, Tokenizer};

/// A choice among the special tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    None,
    All,
    /// These and no others. A name that is no special token is never found as an allowed one, but is an
    /// error as a disallowed one wherever the text holds it, as in tiktoken.
    Only(Vec<String>),
}

impl Allowed {
    fn holds(&self, token: &str) -> bool {
        match self {
            Allowed::None => false,
            Allowed::All => true,
            Allowed::Only(tokens) => tokens.iter().any(|allowed| allowed == token),
        }
    }
}

/// An automaton that finds the leftmost of `tokens`, and of those the longest.
pub(crate) fn finder<T: AsRef<[u8]>>(tokens: &[T]) -> Result<Option<AhoCorasick>> {
    if tokens.is_empty() {
        return Ok(None);
    }
    let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(tokens);
    built.map(Some).map_err(|error| Error::BadSetting { reason: format!("too much special text: {error}") })
}

impl Tokenizer {
    /// Text to ids. `allowed` special tokens in it become their ids. `disallowed` ones are an error:
    /// `All` means all that are not allowed. What is neither is encoded as plain text.
    ///
    /// `encode(text, &Allowed::None, &Allowed::All)` is the safe choice for text from strangers.
    pub fn encode(&self, text: &str, allowed: &Allowed, disallowed: &Allowed) -> Result<Vec<u32>> {
        let foreign = match disallowed {
            Allowed::Only(tokens) => tokens.iter().any(|token| self.special_id(token).is_none()),
            _ => false,
        };
        let any_special = self.special_finder().is_some_and(|finder| finder.is_match(text));
        if !any_special && !foreign {
            return self.encode_ordinary(text);
        }

        let specials = self.special_tokens();
        let refused: Vec<&str> = match disallowed {
            Allowed::None => Vec::new(),
            Allowed::Only(tokens) => tokens.iter().map(String::as_str).collect(),
            Allowed::All => specials.iter().map(|(t, _)| t.as_str()).filter(|t| !allowed.holds(t)).collect(),
        };
        if let Some(finder) = finder(&refused)?
            && let Some(found) = finder.find(text)
        {
            return Err(Error::SpecialInText { token: refused[found.pattern()].into(), at: found.start() });
        }

        let wanted: Vec<&(String, u32)> = specials.iter().filter(|(token, _)| allowed.holds(token)).collect();
        let names: Vec<&str> = wanted.iter().map(|(token, _)| token.as_str()).collect();
        let mut ids = Vec::new();
        let mut start = 0;
        if let Some(finder) = finder(&names)? {
            for found in finder.find_iter(text) {
                self.encode_into(&text[start..found.start()], &mut ids)?;
                ids.push(wanted[found.pattern()].1);
                start = found.end();
            }
        }
        self.encode_into(&text[start..], &mut ids)?;
        Ok(ids)
    }
}

//! Special: text that may contain special tokens becomes ids.
//!
//! The policy is tiktoken's. A special token in text is an error unless the caller allows it or declares it
//! harmless, because untrusted text must not control a model. Special tokens are found leftmost first and, of
//! several at the same offset, the longest; the text between two of them is split and encoded on its own.
//!
//! Cost: one pass of an Aho-Corasick automaton over the text. Only where a special token actually occurs (or
//! a caller asks about strings that are no special tokens) small automata of the allowed and disallowed
//! tokens are built, some microseconds each.
//!
//! Where tiktoken leaves the choice between two special tokens, one a prefix of the other, to the order of a
//! hash set, merganser takes the longest.

use crate::tokenizer::finder;
use crate::{Error, Progress, Result, Tokenizer};

/// A choice among the special tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    None,
    All,
    /// These and no others. A name that is no special token is never found as an allowed one, but is an error
    /// as a disallowed one wherever the text contains it, as in tiktoken.
    Only(Vec<String>),
}

impl Allowed {
    pub(super) fn holds(&self, token: &str) -> bool {
        match self {
            Allowed::None => false,
            Allowed::All => true,
            Allowed::Only(tokens) => tokens.iter().any(|allowed| allowed == token),
        }
    }
}

/// How documents are encoded.
#[derive(Clone, Debug)]
pub struct Options {
    /// Special tokens that become their ids where they occur in text.
    pub allowed: Allowed,
    /// Special tokens that are an error in text: `All` means all that are not allowed. Tokens that are
    /// neither allowed nor disallowed are encoded as plain text.
    pub disallowed: Allowed,
    /// The ids before and after each document.
    pub prepend: Vec<u32>,
    pub append: Vec<u32>,
}

impl Options {
    /// Special tokens are plain text.
    pub const ORDINARY: Options = Options {
        allowed: Allowed::None,
        disallowed: Allowed::None,
        prepend: Vec::new(),
        append: Vec::new(),
    };

    /// The safe choice for untrusted text: a special token in it is an error.
    pub const SAFE: Options =
        Options { allowed: Allowed::None, disallowed: Allowed::All, prepend: Vec::new(), append: Vec::new() };
}

impl Tokenizer {
    /// Encodes text and appends the ids; on an error nothing is appended.
    pub fn encode_with(&self, text: &str, options: &Options, ids: &mut Vec<u32>) -> Result<()> {
        self.encode_with_while(text, options, None, ids)
    }

    /// Does the work of [`Tokenizer::encode_with`], unless asked to stop.
    pub(crate) fn encode_with_while(
        &self,
        text: &str,
        options: &Options,
        progress: Option<&Progress>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let before = ids.len();
        ids.extend_from_slice(&options.prepend);
        let done = match self.pipeline() {
            Some(pipeline) => self
                .check_disallowed(text, options)
                .and_then(|()| self.encode_stages(pipeline, text, &options.allowed, progress, ids)),
            None => self.for_each_stretch(text, options, |stretch| match stretch {
                Stretch::Text(text) => self.encode_while(text, progress, ids),
                Stretch::Special(id) => {
                    ids.push(id);
                    Ok(())
                }
            }),
        };
        match done {
            Ok(()) => ids.extend_from_slice(&options.append),
            Err(_) => ids.truncate(before),
        }
        done
    }

    /// Refuses a text that contains a disallowed special token.
    pub(super) fn check_disallowed(&self, text: &str, options: &Options) -> Result<()> {
        let Options { disallowed, .. } = options;
        let is_free = || !self.special_finder().is_some_and(|finder| finder.is_match(text));
        if *disallowed == Allowed::None || *disallowed == Allowed::All && is_free() {
            return Ok(());
        }
        let refused = refused(self, options);
        match finder(&refused)?.and_then(|finder| finder.find(text)) {
            Some(found) => {
                Err(Error::SpecialInText { token: refused[found.pattern()].into(), at: found.start() })
            }
            None => Ok(()),
        }
    }

    /// Calls `visit` with the allowed special tokens of a text and the text between them, in order.
    pub(crate) fn for_each_stretch<'a>(
        &self,
        text: &'a str,
        options: &Options,
        mut visit: impl FnMut(Stretch<'a>) -> Result<()>,
    ) -> Result<()> {
        let Options { allowed, disallowed, .. } = options;
        let foreign = match disallowed {
            Allowed::Only(tokens) => tokens.iter().any(|token| self.special_id(token).is_none()),
            Allowed::None if *allowed == Allowed::None => return visit(Stretch::Text(text)),
            _ => false,
        };
        let any_special = self.special_finder().is_some_and(|finder| finder.is_match(text));
        if !any_special && !foreign {
            return visit(Stretch::Text(text));
        }

        self.check_disallowed(text, options)?;
        let specials = self.special_tokens();
        let wanted: Vec<&(String, u32)> = specials.iter().filter(|(token, _)| allowed.holds(token)).collect();
        let names: Vec<&str> = wanted.iter().map(|(token, _)| token.as_str()).collect();
        let mut start = 0;
        if let Some(finder) = finder(&names)? {
            for found in finder.find_iter(text) {
                visit(Stretch::Text(&text[start..found.start()]))?;
                visit(Stretch::Special(wanted[found.pattern()].1))?;
                start = found.end();
            }
        }
        visit(Stretch::Text(&text[start..]))
    }
}

/// Returns the strings that a text must not contain.
pub(super) fn refused<'a>(tokenizer: &'a Tokenizer, options: &'a Options) -> Vec<&'a str> {
    let Options { allowed, disallowed, .. } = options;
    match disallowed {
        Allowed::None => Vec::new(),
        Allowed::Only(tokens) => tokens.iter().map(String::as_str).collect(),
        Allowed::All => {
            let names = tokenizer.special_tokens().iter().map(|(token, _)| token.as_str());
            names.filter(|token| !allowed.holds(token)).collect()
        }
    }
}

/// A part of a text.
pub(crate) enum Stretch<'a> {
    Text(&'a str),
    Special(u32),
}

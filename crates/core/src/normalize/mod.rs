//! Normalize: a text becomes the text that is tokenized, as the tokenizer's file says.
//!
//! The contract: a [`Normalizer`] is read from Hugging Face's JSON object, and its result equals that of
//! Hugging Face tokenizers 0.23.3, text and origins, for every text; type `SentencePiece` is ours, and equals
//! SentencePiece 0.2.2. No text and no file makes it panic, and time is linear in the text (n log n for n
//! marks in a row, and patterns have a limit).
//!
//! Text that does not change is borrowed, and is scanned rather than decoded where it is ASCII:
//!
//! | normalizer | file | cost if nothing changes |
//! |---|---|---|
//! | NFC, NFD, NFKC, NFKD | `forms.rs` | ASCII at memory speed, one look-up per other character |
//! | Lowercase, StripAccents, Nmt, ByteLevel, BertNormalizer | `chars.rs` | a comparison per character |
//! | Replace | `replace.rs` | memmem, or a regular expression |
//! | Precompiled | `precompiled.rs`, `charsmap.rs` | two look-ups per character |
//! | SentencePiece | `sentencepiece.rs` | a copy |
//! | Strip, Prepend, Sequence | here | nothing |
//!
//! A sequence is run in turn; one that does nothing has no steps.

mod aligned;
mod chars;
mod charsmap;
mod forms;
mod json;
mod precompiled;
mod replace;
mod sentencepiece;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

pub use aligned::Aligned;
use aligned::{Output, Realigned, Rewritten};
use chars::Rule;
use forms::Form;
use precompiled::Precompiled;
use replace::Replace;
use sentencepiece::SentencePiece;

use crate::{Error, Result};

/// What happens to a text before it is split; cheap to clone, shared between threads.
#[derive(Clone, Default)]
pub struct Normalizer(Arc<[Step]>);

enum Step {
    Form(Form),
    Chars(Rule),
    Strip { left: bool, right: bool },
    Prepend(String),
    Replace(Replace),
    Precompiled(Precompiled),
    SentencePiece(SentencePiece),
}

impl Normalizer {
    /// Reads Hugging Face's `normalizer` object; null is no normalizer.
    ///
    /// Patterns of `Replace` are in the syntax of split patterns, not in Oniguruma's.
    pub fn from_json(value: &serde_json::Value) -> Result<Normalizer> {
        let mut steps = Vec::new();
        json::steps(value, &mut steps)?;
        Ok(Normalizer(steps.into()))
    }

    /// Reads the same object as text.
    pub fn from_text(json: &str) -> Result<Normalizer> {
        let value = serde_json::from_str(json)
            .map_err(|error| Error::BadSetting { reason: format!("the normalizer is not JSON: {error}") })?;
        Normalizer::from_json(&value)
    }

    /// Whether no text is changed.
    pub fn is_identity(&self) -> bool {
        self.0.is_empty()
    }

    /// Normalizes a text; one that does not change is borrowed.
    pub fn normalize<'a>(&self, text: &'a str) -> Result<Cow<'a, str>> {
        self.run(text, true)
    }

    /// Normalizes the part of a text after a cut; see [`Normalizer::across`].
    pub fn normalize_rest<'a>(&self, text: &'a str) -> Result<Cow<'a, str>> {
        self.run(text, false)
    }

    /// Returns what two characters become, if every text that contains them side by side can be cut between them:
    /// it becomes what the part before becomes, and then what the rest does (`normalize_rest`). The new
    /// characters are then side by side, or nothing of the rest is left. `None` if that is not proven.
    pub fn across(&self, before: char, after: char) -> Option<(char, char)> {
        self.0.iter().try_fold((before, after), |(before, after), step| step.across(before, after))
    }

    /// Returns how many characters are put before a text, and the one that it begins with then, if every character
    /// of the text becomes one character and nothing else happens. `None` if that is not so, or for an empty text.
    pub fn prefix(&self, text: &str) -> Option<(u32, char)> {
        let given = text.chars().next()?;
        let by_character = |(count, first): (u32, char), step: &Step| match step {
            Step::Prepend(prefix) => {
                let mut prefix = prefix.chars();
                let only = prefix.next().filter(|_| prefix.next().is_none())?;
                Some((count + 1, only))
            }
            Step::Replace(replace) => {
                let (old, new) = replace.character()?;
                Some((count, if first == old { new } else { first }))
            }
            _ => None,
        };
        self.0.iter().try_fold((0, given), by_character).or_else(|| {
            let same =
                matches!(self.normalize(text), Ok(Cow::Borrowed(normal)) if normal.len() == text.len());
            same.then_some((0, given))
        })
    }

    fn run<'a>(&self, text: &'a str, begins: bool) -> Result<Cow<'a, str>> {
        let mut text = Cow::Borrowed(text);
        for step in &*self.0 {
            let result = match &text {
                Cow::Borrowed(text) => step.normalize(text, begins)?,
                Cow::Owned(owned) => match step.normalize(owned, begins)? {
                    // The part of the text that is left, if it got shorter at an end.
                    Cow::Borrowed(part) if part.len() == owned.len() => continue,
                    part => Cow::Owned(part.into_owned()),
                },
            };
            text = result;
        }
        Ok(text)
    }

    /// Normalizes a text and keeps the origin of every byte.
    pub fn normalize_aligned(&self, text: &Aligned) -> Result<Aligned> {
        let mut result = Cow::Borrowed(text);
        for step in &*self.0 {
            result = Cow::Owned(step.normalize_aligned(&result)?);
        }
        Ok(result.into_owned())
    }
}

impl Step {
    fn across(&self, before: char, after: char) -> Option<(char, char)> {
        let is_kept = match self {
            Step::Form(form) => form.keeps_apart(before, after),
            Step::Chars(rule) => {
                return Some((
                    rule.of_char(before).chars().next_back()?,
                    rule.of_char(after).chars().next()?,
                ));
            }
            Step::Strip { .. } => !before.is_whitespace(),
            Step::Prepend(_) => true,
            Step::Replace(replace) => return replace.across(before, after),
            Step::Precompiled(precompiled) => precompiled.keeps_apart(before, after),
            Step::SentencePiece(normalizer) => normalizer.keeps_apart(before, after),
        };
        is_kept.then_some((before, after))
    }

    fn normalize<'a>(&self, text: &'a str, begins: bool) -> Result<Cow<'a, str>> {
        match self {
            Step::Strip { left, right } => Ok(Cow::Borrowed(strip(text, *left && begins, *right))),
            Step::Prepend(_) if !begins => Ok(Cow::Borrowed(text)),
            Step::SentencePiece(normalizer) => Ok(normalizer.normalize(text, begins)),
            _ => {
                let mut out = Rewritten::of(text);
                self.write(text, &mut out)?;
                Ok(out.finish())
            }
        }
    }

    fn normalize_aligned(&self, source: &Aligned) -> Result<Aligned> {
        if let Step::SentencePiece(normalizer) = self {
            return Ok(normalizer.normalize_aligned(source));
        }
        let mut out = Realigned::of(source);
        self.write(&source.text, &mut out)?;
        Ok(out.finish())
    }

    fn write(&self, text: &str, out: &mut impl Output) -> Result<()> {
        match self {
            Step::Form(form) => form.normalize(text, out),
            Step::Chars(rule) => rule.normalize(text, out),
            Step::Strip { left, right } => {
                let rest = strip(text, *left, *right);
                let start = rest.as_ptr() as usize - text.as_ptr() as usize;
                out.skip(0..start);
                out.keep(start..start + rest.len());
            }
            Step::Prepend(prefix) => {
                // The first character shares its origin with the prefix.
                if let Some(first) = text.chars().next() {
                    out.put_str(prefix, |i| usize::from(i == 0));
                    out.put(first, 0);
                    out.keep(first.len_utf8()..text.len());
                }
            }
            Step::Replace(replace) => replace.normalize(text, out)?,
            Step::Precompiled(precompiled) => precompiled.normalize(text, out),
            Step::SentencePiece(_) => unreachable!("it has origins of its own"),
        }
        Ok(())
    }
}

fn strip(text: &str, left: bool, right: bool) -> &str {
    let text = if left { text.trim_start() } else { text };
    if right { text.trim_end() } else { text }
}

//! Decoder: how the tokens of a pipeline are joined to text.
//!
//! The bytes of a token are known by its id, spaces in place; what remains depends on where a token is: a
//! space before the first that the normalizer has put there, a word end after the last, or a space between
//! any two. Hugging Face writes this as a list of decoders, of which these forms occur with BPE.

use serde_json::Value;

use super::bad;
use crate::Result;

/// What stands for a run of byte tokens that is not UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ByteRuns {
    /// U+FFFD for each byte of the run, as in Hugging Face tokenizers.
    #[default]
    Whole,
    /// U+FFFD for each byte that is not part of a character, as in SentencePiece.
    Characters,
}

/// The tokens of SentencePiece that lose the space that they begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Beginning {
    #[default]
    Kept,
    /// The first token of a text.
    First,
    /// All tokens until there is text.
    UntilText,
}

/// What happens to joined tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decoder {
    /// How many spaces are removed before the first token, and after the last.
    pub strip_left: usize,
    pub strip_right: usize,
    /// Whether a space is put between two tokens.
    pub spaced: bool,
    pub beginning: Beginning,
    /// What marks a token that continues a word, shown where there is no word before it.
    pub continued: String,
    pub byte_runs: ByteRuns,
    /// Whether byte tokens are joined to characters.
    pub has_bytes: bool,
}

impl Decoder {
    /// Reads the object of a `tokenizer.json`, or null.
    pub(crate) fn from_json(json: &Value) -> Result<Decoder> {
        if json.is_null() {
            return Ok(Decoder { spaced: true, ..Decoder::default() });
        }
        let mut decoder = Decoder::default();
        decoder.add(json)?;
        Ok(decoder)
    }

    fn add(&mut self, json: &Value) -> Result<()> {
        match json["type"].as_str().unwrap_or_default() {
            // Their work is done: the bytes of the tokens are the decoded ones.
            "ByteLevel" | "Fuse" | "Replace" => {}
            "ByteFallback" => self.has_bytes = true,
            "SentencePiece" => {
                self.beginning = match (&json["remove_extra_whitespaces"], &json["add_dummy_prefix"]) {
                    (Value::Bool(true), _) => Beginning::UntilText,
                    (_, Value::Bool(true)) => Beginning::First,
                    _ => Beginning::Kept,
                };
                self.byte_runs = ByteRuns::Characters;
                self.has_bytes = true;
            }
            "Metaspace" => {
                let never = json["prepend_scheme"] == "never" || json["add_prefix_space"] == false;
                self.strip_left = usize::from(!never);
            }
            "BPEDecoder" => self.strip_right = 1,
            "WordPiece" => {
                self.strip_left = 1;
                self.continued = json["prefix"].as_str().unwrap_or_default().into();
            }
            "Strip" if json["content"] == " " => {
                let count = |name: &str| json[name].as_u64().unwrap_or(0) as usize;
                (self.strip_left, self.strip_right) = (count("start"), count("stop"));
            }
            "Sequence" => {
                let steps = json["decoders"].as_array().into_iter().flatten();
                return steps.into_iter().try_for_each(|step| self.add(step));
            }
            other => return bad(format!("its decoder {other:?} is not supported")),
        }
        Ok(())
    }

    /// Whether joined tokens are the text.
    pub(crate) fn is_plain(&self) -> bool {
        *self == Decoder::default()
    }

    /// Returns what comes before the first token of a text.
    pub(crate) fn before_first(&self, token: &[u8]) -> &[u8] {
        if token.starts_with(b" ") { &[] } else { self.continued.as_bytes() }
    }

    /// Returns what a token adds to a text, and records whether the text has `begun`.
    pub(crate) fn at_beginning<'a>(&self, token: &'a [u8], begun: &mut bool) -> &'a [u8] {
        if *begun || self.beginning == Beginning::Kept {
            return token;
        }
        let rest = token.strip_prefix(b" ").unwrap_or(token);
        *begun = !rest.is_empty() || (rest.len() < token.len() && self.beginning == Beginning::First);
        rest
    }

    /// Removes the spaces at the ends of a whole text.
    pub(crate) fn trim(&self, text: &mut Vec<u8>) {
        let right = text.iter().rev().take(self.strip_right).take_while(|&&byte| byte == b' ').count();
        text.truncate(text.len() - right);
        let left = text.iter().take(self.strip_left).take_while(|&&byte| byte == b' ').count();
        text.drain(..left);
    }
}

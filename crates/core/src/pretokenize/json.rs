//! JSON: the objects of Hugging Face's `tokenizer.json` as stages.

use serde_json::Value;

use super::Stage;
use super::behavior::Behavior;
use super::classes::{NUMERIC, PUNCTUATION, SPACE};
use super::insert::{Insert, Scheme};
use super::split::Split;
use crate::split::Matcher;
use crate::{Error, Result};

/// The pattern of `ByteLevel` with `use_regex`.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// Returns the stages of a pre-tokenizer; null has none.
pub fn stages(value: &Value) -> Result<Vec<Stage>> {
    let mut stages = Stages { done: Vec::new(), printable: false };
    if !value.is_null() {
        stages.add(value)?;
    }
    Ok(stages.done)
}

struct Stages {
    done: Vec<Stage>,
    /// Whether the stages so far turned the text into the printable characters of its bytes.
    printable: bool,
}

impl Stages {
    fn add(&mut self, value: &Value) -> Result<()> {
        let kind = field(value, "type", Value::as_str)?;
        match kind {
            "Sequence" => {
                for member in field(value, "pretokenizers", Value::as_array)? {
                    self.add(member)?;
                }
                Ok(())
            }
            "Split" => {
                let pattern = field(value, "pattern", Some)?;
                let invert = field(value, "invert", Value::as_bool)?;
                let behavior = behavior(value)?;
                let matcher = match (pattern.get("String"), pattern.get("Regex")) {
                    (Some(Value::String(text)), None) if text.is_empty() => {
                        return Err(bad("Split has an empty pattern, which matches nothing".into()));
                    }
                    (Some(Value::String(text)), None) if !self.printable => Matcher::literal(text),
                    (Some(Value::String(text)), None) => self.matcher(&regex_syntax::escape(text))?,
                    (None, Some(Value::String(pattern))) => self.matcher(pattern)?,
                    _ => {
                        return Err(bad(format!("Split has the pattern {pattern}, not a String or a Regex")));
                    }
                };
                self.split(matcher, behavior, invert);
                Ok(())
            }
            "ByteLevel" => self.byte_level(value),
            "Digits" => {
                let individual = field(value, "individual_digits", Value::as_bool)?;
                let repeat = if individual { "" } else { "+" };
                self.cut(&format!("{NUMERIC}{repeat}"), Behavior::Isolated, false)
            }
            "Punctuation" => {
                match value.get("behavior").map_or(Ok(Behavior::Isolated), |_| behavior(value))? {
                    Behavior::Contiguous => self.cut(&format!("{PUNCTUATION}+"), Behavior::Isolated, false),
                    behavior => self.cut(PUNCTUATION, behavior, false),
                }
            }
            "Whitespace" => self.cut(r"\w+|[^\w\s]+", Behavior::Removed, true),
            "WhitespaceSplit" => self.cut(&format!("{SPACE}+"), Behavior::Removed, false),
            "BertPreTokenizer" => {
                self.cut(&format!("{SPACE}+"), Behavior::Removed, false)?;
                self.cut(PUNCTUATION, Behavior::Isolated, false)
            }
            "CharDelimiterSplit" => {
                let delimiter = field(value, "delimiter", Value::as_str)?;
                self.cut(&regex_syntax::escape(delimiter), Behavior::Removed, false)
            }
            "Metaspace" => self.metaspace(value),
            "FixedLength" => {
                let units = value.get("length").map_or(Some(5), Value::as_u64).unwrap_or(0) as usize;
                if units == 0 {
                    return Err(bad("FixedLength has a length that is not positive".into()));
                }
                self.done.push(Stage::FixedLength { units, bytes: self.printable });
                Ok(())
            }
            other => Err(bad(format!(
                "its pre-tokenizer {other:?} is not supported; load the file with Hugging Face tokenizers"
            ))),
        }
    }

    fn byte_level(&mut self, value: &Value) -> Result<()> {
        if self.printable {
            return Err(bad("ByteLevel occurs twice, so that its tokens are bytes of bytes".into()));
        }
        if field(value, "add_prefix_space", Value::as_bool)? {
            self.done.push(Stage::Insert(Insert { prefix: ' ', scheme: Scheme::Always, replaces: false }));
        }
        if value.get("use_regex").is_none_or(|used| used != false) {
            self.cut(GPT2, Behavior::Isolated, false)?;
        }
        self.printable = true;
        Ok(())
    }

    fn metaspace(&mut self, value: &Value) -> Result<()> {
        if self.printable {
            return Err(bad("Metaspace comes after ByteLevel, whose result has no spaces".into()));
        }
        let replacement = field(value, "replacement", Value::as_str)?;
        let mut chars = replacement.chars();
        let (Some(prefix), None) = (chars.next(), chars.next()) else {
            return Err(bad(format!("Metaspace has the replacement {replacement:?}, not one character")));
        };
        let scheme = match value.get("prepend_scheme").map(|name| name.as_str().unwrap_or("")) {
            _ if value.get("add_prefix_space") == Some(&Value::Bool(false)) => Scheme::Never,
            None | Some("always") => Scheme::Always,
            Some("first") => Scheme::First,
            Some("never") => Scheme::Never,
            Some(other) => return Err(bad(format!("Metaspace has the prepend_scheme {other:?}"))),
        };
        self.done.push(Stage::Insert(Insert { prefix, scheme, replaces: true }));
        if value.get("split").is_none_or(|split| split != false) {
            self.split(Matcher::literal(replacement), Behavior::MergedWithNext, false);
        }
        Ok(())
    }

    fn cut(&mut self, pattern: &str, behavior: Behavior, invert: bool) -> Result<()> {
        let matcher = self.matcher(pattern)?;
        self.split(matcher, behavior, invert);
        Ok(())
    }

    fn split(&mut self, matcher: Matcher, behavior: Behavior, invert: bool) {
        let split = Split { matcher, behavior, invert, printable: self.printable };
        self.done.push(Stage::Split(Box::new(split)));
    }

    fn matcher(&self, pattern: &str) -> Result<Matcher> {
        if self.printable { Matcher::printable(pattern) } else { Matcher::new(pattern) }
    }
}

fn behavior(value: &Value) -> Result<Behavior> {
    let name = field(value, "behavior", Value::as_str)?;
    Behavior::named(name).ok_or_else(|| bad(format!("its pre-tokenizer has the behavior {name:?}")))
}

/// Returns a required field of an object.
fn field<'a, T>(value: &'a Value, name: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<T> {
    let found = value.get(name).and_then(read);
    found.ok_or_else(|| {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or("without a type");
        bad(format!("its pre-tokenizer {kind} has no valid {name:?}; get a fresh copy of the file"))
    })
}

fn bad(reason: String) -> Error {
    Error::BadTokenizer { reason }
}

//! Json: Hugging Face's `normalizer` object becomes steps.
//!
//! A file that holds something else is refused with the name of what is wrong: a normalizer that is skipped
//! would give other ids.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::Step;
use super::chars::Rule;
use super::charsmap::Charsmap;
use super::forms::Form;
use super::precompiled::Precompiled;
use super::replace::Replace;
use super::sentencepiece::{SentencePiece, Settings, UserDefined};
use crate::{Error, Result};

/// Appends the steps of a normalizer.
pub fn steps(value: &Value, steps: &mut Vec<Step>) -> Result<()> {
    if value.is_null() {
        return Ok(());
    }
    let fields = Fields { name: text_of(value, "type").ok_or_else(|| bad("has no type"))?, value };
    match fields.name {
        "Sequence" => {
            let inner = value.get("normalizers").and_then(Value::as_array);
            for value in inner.ok_or_else(|| fields.bad("normalizers"))? {
                self::steps(value, steps)?;
            }
        }
        "NFC" => steps.push(Step::Form(Form::Nfc)),
        "NFD" => steps.push(Step::Form(Form::Nfd)),
        "NFKC" => steps.push(Step::Form(Form::Nfkc)),
        "NFKD" => steps.push(Step::Form(Form::Nfkd)),
        "Lowercase" => steps.push(Step::Chars(Rule::Lowercase)),
        "StripAccents" => steps.push(Step::Chars(Rule::StripAccents)),
        "ByteLevel" => steps.push(Step::Chars(Rule::ByteLevel)),
        "Nmt" => steps.extend([Rule::NmtControls, Rule::NmtSpaces].map(Step::Chars)),
        "BertNormalizer" => bert(&fields, steps)?,
        "Strip" => {
            let (left, right) = (fields.flag("strip_left")?, fields.flag("strip_right")?);
            if left || right {
                steps.push(Step::Strip { left, right });
            }
        }
        "Prepend" => {
            let prefix = fields.text("prepend")?;
            if !prefix.is_empty() {
                steps.push(Step::Prepend(prefix.into()));
            }
        }
        "Replace" => {
            let content = fields.text("content")?;
            let pattern = value.get("pattern").unwrap_or(&Value::Null);
            steps.push(Step::Replace(match (text_of(pattern, "String"), text_of(pattern, "Regex")) {
                (Some(text), None) => Replace::text(text, content)?,
                (None, Some(pattern)) => Replace::regex(pattern, content)?,
                _ => return Err(fields.bad("pattern")),
            }));
        }
        "Precompiled" => {
            steps.push(Step::Precompiled(Precompiled::new(charsmap(&fields, "precompiled_charsmap")?)))
        }
        "SentencePiece" => steps.push(Step::SentencePiece(sentencepiece(&fields)?)),
        name => {
            return Err(bad(&format!(
                "{name:?} is unknown; open the file with Hugging Face tokenizers, or update merganser"
            )));
        }
    }
    Ok(())
}

/// BertNormalizer is a sequence of these, in this order.
fn bert(fields: &Fields, steps: &mut Vec<Step>) -> Result<()> {
    let lowercase = fields.flag("lowercase")?;
    if fields.flag("clean_text")? {
        steps.extend([Rule::BertControls, Rule::BertSpaces].map(Step::Chars));
    }
    if fields.flag("handle_chinese_chars")? {
        steps.push(Step::Chars(Rule::BertChinese));
    }
    if fields.optional_flag("strip_accents")?.unwrap_or(lowercase) {
        steps.extend([Step::Form(Form::Nfd), Step::Chars(Rule::BertAccents)]);
    }
    if lowercase {
        steps.push(Step::Chars(Rule::Lowercase));
    }
    Ok(())
}

fn sentencepiece(fields: &Fields) -> Result<SentencePiece> {
    let has_map = fields.value.get("charsmap").is_some_and(|map| !map.is_null());
    let symbols = match fields.value.get("user_defined") {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(list) => list.as_array().and_then(|list| list.iter().map(Value::as_str).collect()),
    };
    let symbols = symbols.ok_or_else(|| fields.bad("user_defined"))?;
    Ok(SentencePiece::new(Settings {
        charsmap: has_map.then(|| charsmap(fields, "charsmap")).transpose()?,
        add_dummy_prefix: fields.flag("add_dummy_prefix")?,
        remove_extra_whitespaces: fields.flag("remove_extra_whitespaces")?,
        suffix_whitespace: fields.optional_flag("suffix_whitespace")?.unwrap_or(false),
        user_defined: (!symbols.is_empty()).then(|| UserDefined::new(&symbols)).transpose()?,
    }))
}

fn charsmap(fields: &Fields, field: &str) -> Result<Charsmap> {
    let bytes = STANDARD.decode(fields.text(field)?).map_err(|_| fields.bad(field))?;
    Charsmap::from_bytes(&bytes)
}

fn text_of<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str()
}

fn bad(what: &str) -> Error {
    Error::BadTokenizer { reason: format!("its normalizer {what}") }
}

/// The fields of one normalizer.
struct Fields<'a> {
    name: &'a str,
    value: &'a Value,
}

impl<'a> Fields<'a> {
    fn bad(&self, field: &str) -> Error {
        let value = self.value.get(field).unwrap_or(&Value::Null).to_string();
        let start: String = value.chars().take(40).collect();
        bad(&format!("{} has a bad value for {field}: {start}; get a fresh copy of the file", self.name))
    }

    fn text(&self, field: &str) -> Result<&'a str> {
        text_of(self.value, field).ok_or_else(|| self.bad(field))
    }

    fn flag(&self, field: &str) -> Result<bool> {
        self.optional_flag(field)?.ok_or_else(|| self.bad(field))
    }

    fn optional_flag(&self, field: &str) -> Result<Option<bool>> {
        match self.value.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_bool().map(Some).ok_or_else(|| self.bad(field)),
        }
    }
}

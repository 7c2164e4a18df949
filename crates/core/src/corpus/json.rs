//! JSON: where a value ends, which the reader needs, and the text in it, which the workers extract.

use std::cell::Cell;
use std::fmt;

use memchr::memchr2;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// The maximum number of keys that an error message lists.
const MOST_KEYS: usize = 20;

/// Returns the end of the value that begins at `at`, or None if the text ends first. Does not validate what
/// is inside brackets.
pub fn value_end(text: &[u8], at: usize, is_all: bool) -> Option<usize> {
    let mut depth = 0;
    let mut now = at;
    loop {
        match text.get(now)? {
            b'"' => now = string_end(text, now)?,
            b'{' | b'[' => {
                depth += 1;
                now += 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                now += 1;
            }
            _ if depth > 0 => {
                now += 1;
                continue;
            }
            // A number or a literal, up to the first byte that cannot be part of one.
            _ => {
                let rest = &text[now..];
                let len = rest.iter().position(|byte| b" \t\r\n,[]{}\"".contains(byte));
                return len.or(is_all.then_some(rest.len())).map(|len| now + len);
            }
        }
        if depth == 0 {
            return Some(now);
        }
    }
}

fn string_end(text: &[u8], at: usize) -> Option<usize> {
    let mut now = at + 1;
    loop {
        now += memchr2(b'"', b'\\', text.get(now..)?)?;
        if text[now] == b'"' {
            return Some(now + 1);
        }
        now += 2;
    }
}

/// Why a value is invalid, and on which of its lines, counted from 1.
pub struct InvalidValue {
    pub line: u64,
    pub reason: String,
}

/// Appends the text of a value to `out`: a string, or the value of `key` in an object.
pub fn text_of(value: &[u8], key: &str, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    let mut json = serde_json::Deserializer::from_slice(value);
    let (start, missing) = (out.len(), Cell::new(None));
    let text = Text { key, top: true, missing: &missing, out };
    let read = text.deserialize(&mut json).and_then(|()| json.end());
    read.or_else(|error| {
        out.truncate(start);
        // An earlier one of duplicate keys may be wrong; a parsed value has only the last.
        let parsed: Option<Value> = if error.is_data() { serde_json::from_slice(value).ok() } else { None };
        let text = Text { key, top: true, missing: &Cell::new(None), out };
        parsed.ok_or(()).and_then(|parsed| text.deserialize(parsed).map_err(drop)).map_err(|()| error)
    })
    .map_err(|error| {
        if let Some(missing) = missing.get() {
            let before = key.strip_suffix(missing).unwrap_or_default();
            return InvalidValue { line: 1, reason: no_key(value, before, missing) };
        }
        let text = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        let reason = match text.strip_suffix(&position).unwrap_or(&text) {
            "unexpected end of hex escape" | "lone leading surrogate in hex escape" => "a lone surrogate",
            reason => reason,
        };
        let reason = if error.is_data() {
            reason.into()
        } else {
            format!("not valid JSON, {reason} (column {})", error.column())
        };
        InvalidValue { line: error.line().max(1) as u64, reason }
    })
}

/// Lists the keys of an object that lacks `missing`. Parses the value again, because only errors need it.
fn no_key(value: &[u8], before: &str, missing: &str) -> String {
    let parsed = serde_json::from_slice(value).unwrap_or_default();
    let keys = keys_at(&parsed, before.trim_end_matches('.'));
    let shown: Vec<String> = keys.iter().take(MOST_KEYS).map(|key| format!("{key:?}")).collect();
    let there = match keys.len() {
        0 => "there are none".into(),
        more if more > MOST_KEYS => {
            format!("the keys are {} and {} more", shown.join(", "), more - MOST_KEYS)
        }
        1 => format!("the only key is {}", shown[0]),
        _ => format!("the keys are {}", shown.join(", ")),
    };
    format!(
        "there is no key {missing:?}, {there}; name the one that holds the text with text_key (--text-key)"
    )
}

/// Returns the keys of the object at `path`, a path with dots between keys, which may contain dots
/// themselves.
fn keys_at<'a>(value: &'a Value, path: &str) -> Vec<&'a str> {
    let Value::Object(object) = value else { return Vec::new() };
    if path.is_empty() {
        return object.keys().map(String::as_str).collect();
    }
    let mut inside = object.iter().filter_map(|(key, value)| {
        let rest = path.strip_prefix(key.as_str())?;
        Some(keys_at(value, if rest.is_empty() { rest } else { rest.strip_prefix('.')? }))
    });
    inside.next_back().unwrap_or_default()
}

/// Deserializes a string, or an object with a string at `key`.
struct Text<'a, 'out> {
    /// The rest of the path to the text; empty if the value must be a string.
    key: &'a str,
    top: bool,
    /// Set to the key that an object lacks, if that is the error.
    missing: &'a Cell<Option<&'a str>>,
    out: &'out mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for Text<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match (self.top, self.key) {
            (true, key) => write!(f, "a string, or an object with the key {key:?}"),
            (false, "") => f.write_str("a string as the text"),
            (false, key) => write!(f, "an object with the key {key:?}"),
        }
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        if !self.top && !self.key.is_empty() {
            return Err(E::invalid_type(serde::de::Unexpected::Str(text), &self));
        }
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        if !self.top && self.key.is_empty() {
            return Err(M::Error::invalid_type(serde::de::Unexpected::Map, &self));
        }
        let start = self.out.len();
        let mut found = false;
        while let Some(path) = map.next_key_seed(KeyPath(self.key))? {
            let Some(key) = path else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            // Of duplicate keys the last one wins, as in Python.
            self.out.truncate(start);
            map.next_value_seed(Text { key, top: false, missing: self.missing, out: &mut *self.out })?;
            found = true;
        }
        if found {
            return Ok(());
        }
        self.missing.set(Some(self.key));
        Err(M::Error::custom("a key is missing"))
    }
}

/// The rest of a path after the next key: empty if the key is the whole path, None if it is not on the path.
struct KeyPath<'a>(&'a str);

impl<'de, 'a> DeserializeSeed<'de> for KeyPath<'a> {
    type Value = Option<&'a str>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for KeyPath<'a> {
    type Value = Option<&'a str>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let rest = self.0.strip_prefix(key);
        Ok(rest.and_then(|rest| if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }))
    }
}

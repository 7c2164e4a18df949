//! JSON: where a value ends, which is all that the reader needs to know, and the text in it, which workers
//! find.

use std::cell::Cell;
use std::fmt;

use memchr::memchr2;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// How many keys of a record an error names.
const MOST_KEYS: usize = 20;

/// The end of the value that begins at `at`; none where the text ends before it. What is in brackets is not
/// checked.
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
            // A number or a word, up to whatever cannot be part of one.
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

/// What is wrong with a value, and on which of its lines, from 1.
pub struct Wrong {
    pub line: u64,
    pub reason: String,
}

/// Adds the text of a value to `out`: of a string, or of what an object has at `key`.
pub fn text_of(value: &[u8], key: &str, out: &mut Vec<u8>) -> Result<(), Wrong> {
    let mut json = serde_json::Deserializer::from_slice(value);
    let missing = Cell::new(None);
    let text = Text { key, top: true, missing: &missing, out };
    let read = text.deserialize(&mut json).and_then(|()| json.end());
    read.map_err(|error| {
        if let Some(missing) = missing.get() {
            let before = key.strip_suffix(missing).unwrap_or_default();
            return Wrong { line: 1, reason: no_key(value, before, missing) };
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
        Wrong { line: error.line().max(1) as u64, reason }
    })
}

/// Says which keys there are where `missing` is not among them. Parses the value again, as only errors need
/// it.
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

/// The keys of the object that `way` leads to, which has dots between keys that may have dots themselves.
fn keys_at<'a>(value: &'a Value, way: &str) -> Vec<&'a str> {
    let Value::Object(object) = value else { return Vec::new() };
    if way.is_empty() {
        return object.keys().map(String::as_str).collect();
    }
    let mut inside = object.iter().filter_map(|(key, value)| {
        let rest = way.strip_prefix(key.as_str())?;
        Some(keys_at(value, if rest.is_empty() { rest } else { rest.strip_prefix('.')? }))
    });
    inside.next_back().unwrap_or_default()
}

/// A string, or an object that has one at `key`.
struct Text<'a, 'out> {
    /// What is left of the way to the text; empty where it must be a string.
    key: &'a str,
    top: bool,
    /// The key that an object lacks, where that is what is wrong.
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
        while let Some(way) = map.next_key_seed(Way(self.key))? {
            let Some(key) = way else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            // Of keys that come twice the last one counts, as in Python.
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

/// What is left of a way behind the next key: nothing where that is the whole way, none where it leads
/// elsewhere.
struct Way<'a>(&'a str);

impl<'de, 'a> DeserializeSeed<'de> for Way<'a> {
    type Value = Option<&'a str>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Way<'a> {
    type Value = Option<&'a str>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let rest = self.0.strip_prefix(key);
        Ok(rest.and_then(|rest| if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }))
    }
}

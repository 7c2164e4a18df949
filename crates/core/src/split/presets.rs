//! Presets: the patterns known by name, each with a hand-written scanner.
//!
//! The patterns of gpt2, gpt4 and o200k are those of tiktoken (`r50k_base`, `cl100k_base`, `o200k_base`),
//! that of nanochat is nanochat's, those of qwen2 and llama3 are the ones in the models' `tokenizer.json`.
//! They differ in more than speed: `\s++$` takes the white space that ends a document whole, where the others
//! split it after the last newline.

use crate::Error;

/// A pattern known by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    Gpt2,
    Gpt4,
    O200k,
    Nanochat,
    Qwen2,
    Llama3,
    Whitespace,
}

/// The settings of a scanner: the preset, and the largest number of digits in a pre-token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scanner {
    pub preset: Preset,
    pub digits: usize,
}

pub const NAMES: [&str; 7] = ["gpt2", "gpt4", "o200k", "nanochat", "qwen2", "llama3", "whitespace"];

/// Other names of these patterns, without separators.
const OTHER_NAMES: [(&str, Preset); 10] = [
    ("r50kbase", Preset::Gpt2),
    ("p50kbase", Preset::Gpt2),
    ("gpt3", Preset::Gpt2),
    ("cl100kbase", Preset::Gpt4),
    ("cl100k", Preset::Gpt4),
    ("o200kbase", Preset::O200k),
    ("gpt4o", Preset::O200k),
    ("qwen", Preset::Qwen2),
    ("llama", Preset::Llama3),
    ("llama31", Preset::Llama3),
];

const ALL: [Preset; 7] = [
    Preset::Gpt2,
    Preset::Gpt4,
    Preset::O200k,
    Preset::Nanochat,
    Preset::Qwen2,
    Preset::Llama3,
    Preset::Whitespace,
];

pub const GPT2_AS_PUBLISHED: &str =
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

impl Preset {
    pub fn named(name: &str) -> Option<Preset> {
        ALL.into_iter().find(|p| p.name() == name)
    }

    /// Returns the preset with exactly this regular expression.
    pub fn with_pattern(pattern: &str) -> Option<Preset> {
        ALL.into_iter().find(|p| p.pattern() == pattern)
    }

    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    pub fn pattern(self) -> &'static str {
        match self {
            Preset::Gpt2 => {
                r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
            }
            Preset::Gpt4 => concat!(
                r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|",
                r" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
            ),
            Preset::O200k => concat!(
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
                r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ),
            Preset::Nanochat => concat!(
                r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}|",
                r" ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
            ),
            Preset::Qwen2 => concat!(
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|",
                r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ),
            Preset::Llama3 => concat!(
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|",
                r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ),
            Preset::Whitespace => r" ?\S+|\s+(?!\S)|\s+",
        }
    }
}

impl Scanner {
    /// Returns the scanner that splits every text as this pattern does: the pattern of a preset, the same
    /// with another number of digits (`\p{N}{1,4}`), or GPT-2's as published, which many repeat. The latter
    /// has contractions in another order, no possessive marks, and at the end of the document `\s+(?!\S)`
    /// takes the run that `\s++$` takes.
    pub fn of(pattern: &str) -> Option<Scanner> {
        if pattern == GPT2_AS_PUBLISHED {
            return Some(Scanner { preset: Preset::Gpt2, digits: 1 });
        }
        let (wording, digits) = without_digits(pattern);
        let preset = ALL.into_iter().find(|preset| without_digits(preset.pattern()).0 == wording)?;
        Some(Scanner { preset, digits })
    }
}

/// Returns the error for a name that no preset has, with the presets that it may be a misspelling of.
pub fn unknown(name: &str) -> Error {
    let similar: Vec<String> = similar_to(name).iter().map(|name| format!("{name:?}")).collect();
    let start =
        if similar.is_empty() { "the".into() } else { format!("did you mean {}? The", similar.join(" or ")) };
    let remedy = format!(
        "{start} presets are {}. To use a single word as a regular expression, put it in parentheses: ({name})",
        NAMES.join(", ")
    );
    Error::UnknownPreset { name: name.into(), remedy }
}

/// Returns the presets that `name`, which none of them has, is most similar to; maybe none.
pub fn similar_to(name: &str) -> Vec<&'static str> {
    let plain: String =
        name.to_lowercase().chars().filter(|&c| c != '-' && c != '_' && c != '.').take(32).collect();
    if let Some((_, preset)) = OTHER_NAMES.iter().find(|(other, _)| *other == plain) {
        return vec![preset.name()];
    }
    let far = |preset: &str| {
        let starts = plain.len() > 2 && preset.starts_with(&plain);
        if starts { 0 } else { distance(&plain, preset) }
    };
    let nearest = NAMES.into_iter().map(far).min().unwrap_or(usize::MAX);
    let limit = if plain.len() < 4 { 1 } else { 2 };
    NAMES.into_iter().filter(|&preset| nearest <= limit && far(preset) == nearest).collect()
}

/// Returns the Levenshtein distance of two words.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (nth, left) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = nth + 1;
        for (column, right) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}

/// Returns a pattern with the number of digits removed from `\p{N}{1,3}`, and that number; `\p{N}` alone is
/// one.
fn without_digits(pattern: &str) -> (String, usize) {
    const NUMBER: &str = r"|\p{N}";
    let whole = || (pattern.to_string(), 1);
    let Some((before, after)) = pattern.split_once(NUMBER) else { return whole() };
    let (digits, after) = match after.strip_prefix("{1,").and_then(|rest| rest.split_once('}')) {
        None if after.starts_with('|') => (1, after),
        None => return whole(),
        Some((digits, after)) => match digits.parse() {
            Ok(digits @ 1..=1000) => (digits, after),
            _ => return whole(),
        },
    };
    (format!("{before}{NUMBER}#{after}"), digits)
}

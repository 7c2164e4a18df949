//! Every stage against an oracle that copies each piece to a string of its own, as Hugging Face does.

use std::borrow::Cow;

use fancy_regex::Regex;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::classes::{NUMERIC, PUNCTUATION};
use super::*;
use crate::split::printable;

fn pieces(config: &Value, text: &str) -> Vec<Vec<u8>> {
    pieces_of(&Pretokenizer::from_json(config).unwrap(), text)
}

fn pieces_of(pretokenizer: &Pretokenizer, text: &str) -> Vec<Vec<u8>> {
    let (mut scratch, mut pieces) = (Scratch::default(), Pieces::default());
    let text = pretokenizer.pretokenize(Cow::Borrowed(text), true, &mut scratch, &mut pieces).unwrap();
    assert_eq!(pieces.ends.last().map_or(0, |&end| end as usize), text.len());
    assert!(pieces.ends.is_sorted() && pieces.dropped.is_sorted());
    pieces.ranges().map(|range| text.as_bytes()[range].to_vec()).collect()
}

fn strings(config: &Value, text: &str) -> Vec<String> {
    pieces(config, text).into_iter().map(|piece| String::from_utf8_lossy(&piece).into_owned()).collect()
}

/// So simple that it is unlikely to be incorrect: pieces are strings, after `ByteLevel` of printable
/// characters.
struct Oracle {
    pieces: Vec<String>,
    printable: bool,
}

impl Oracle {
    fn run(config: &Value, text: &str) -> Vec<Vec<u8>> {
        let mut oracle = Oracle { pieces: vec![text.into()], printable: false };
        oracle.apply(config);
        let byte = |c: char| (0..=255).find(|&byte| printable::char_of(byte) == c).unwrap();
        let pieces = oracle.pieces.into_iter().filter(|piece| !piece.is_empty());
        pieces
            .map(|p| if oracle.printable { p.chars().map(byte).collect() } else { p.into_bytes() })
            .collect()
    }

    fn apply(&mut self, config: &Value) {
        let flag = |name: &str| config[name].as_bool().unwrap();
        match config["type"].as_str().unwrap() {
            "Sequence" => config["pretokenizers"].as_array().unwrap().iter().for_each(|c| self.apply(c)),
            "Split" => {
                let pattern = match &config["pattern"] {
                    Value::Object(p) if p.contains_key("String") => {
                        fancy_regex::escape(p["String"].as_str().unwrap()).into_owned()
                    }
                    p => p["Regex"].as_str().unwrap().to_string(),
                };
                self.split(&pattern, config["behavior"].as_str().unwrap(), flag("invert"));
            }
            "ByteLevel" => {
                if flag("add_prefix_space") {
                    self.prefix(' ');
                }
                if flag("use_regex") {
                    let gpt2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
                    self.split(gpt2, "Isolated", false);
                }
                for piece in &mut self.pieces {
                    *piece = piece.bytes().map(printable::char_of).collect();
                }
                self.printable = true;
            }
            "Digits" if flag("individual_digits") => self.split(NUMERIC, "Isolated", false),
            "Digits" => self.split(NUMERIC, "Contiguous", false),
            "Punctuation" => self.split(PUNCTUATION, config["behavior"].as_str().unwrap(), false),
            "Whitespace" => self.split(r"\w+|[^\w\s]+", "Removed", true),
            "WhitespaceSplit" => self.split(r"\s", "Removed", false),
            "BertPreTokenizer" => {
                self.split(r"\s", "Removed", false);
                self.split(PUNCTUATION, "Isolated", false);
            }
            "CharDelimiterSplit" => {
                self.split(&fancy_regex::escape(config["delimiter"].as_str().unwrap()), "Removed", false);
            }
            "Metaspace" => {
                let replacement = config["replacement"].as_str().unwrap();
                for piece in &mut self.pieces {
                    *piece = piece.replace(' ', replacement);
                }
                let prefix = replacement.chars().next().unwrap();
                // It is the first stage, so there is one piece.
                if config["prepend_scheme"] != "never" {
                    self.prefix(prefix);
                }
                if flag("split") {
                    self.split(&fancy_regex::escape(replacement), "MergedWithNext", false);
                }
            }
            "FixedLength" => {
                let length = config["length"].as_u64().unwrap() as usize;
                let pieces = std::mem::take(&mut self.pieces);
                for piece in pieces {
                    let chars: Vec<char> = piece.chars().collect();
                    self.pieces.extend(chars.chunks(length).map(|chunk| chunk.iter().collect::<String>()));
                }
            }
            other => panic!("{other}"),
        }
    }

    fn prefix(&mut self, prefix: char) {
        for piece in &mut self.pieces {
            if !piece.is_empty() && !piece.starts_with(prefix) {
                piece.insert(0, prefix);
            }
        }
    }

    fn split(&mut self, pattern: &str, behavior: &str, invert: bool) {
        let regex = Regex::new(pattern).unwrap();
        for piece in std::mem::take(&mut self.pieces) {
            let mut segments: Vec<(bool, &str)> = Vec::new();
            let mut end = 0;
            for found in regex.find_iter(&piece).map(|found| found.unwrap()) {
                if found.start() > end {
                    segments.push((invert, &piece[end..found.start()]));
                }
                segments.push((!invert, found.as_str()));
                end = found.end();
            }
            if end < piece.len() {
                segments.push((invert, &piece[end..]));
            }
            let mut result: Vec<String> = Vec::new();
            match behavior {
                "Removed" => result.extend(segments.iter().filter(|(is, _)| !is).map(|(_, s)| s.to_string())),
                "Isolated" => result.extend(segments.iter().map(|(_, s)| s.to_string())),
                "Contiguous" => {
                    for group in segments.chunk_by(|a, b| a.0 == b.0) {
                        result.push(group.iter().map(|(_, s)| *s).collect());
                    }
                }
                "MergedWithPrevious" => {
                    let mut before = true;
                    for (is, s) in segments {
                        if is && !before {
                            result.last_mut().unwrap().push_str(s)
                        } else {
                            result.push(s.into())
                        }
                        before = is;
                    }
                }
                "MergedWithNext" => {
                    let mut after = true;
                    for (is, s) in segments.into_iter().rev() {
                        if is && !after {
                            result.last_mut().unwrap().insert_str(0, s)
                        } else {
                            result.push(s.into())
                        }
                        after = is;
                    }
                    result.reverse();
                }
                other => panic!("{other}"),
            }
            self.pieces.append(&mut result);
        }
    }
}

fn split_by(pattern: &str, behavior: &str, invert: bool) -> Value {
    json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert})
}

const BEHAVIORS: [&str; 5] = ["Removed", "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext"];

/// Patterns of every kind of matcher: rare matches and frequent ones, with and without gaps, with look-around.
const PATTERNS: [&str; 14] = [
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[\r\n]",
    r"\s?\p{L}+",
    r"[0-9][0-9][0-9]",
    r"[a-m]+n?|\s\S",
    r"\S+|\s+(?!\S)",
    r"\p{L}+(?!\P{L})|Ġ",
    r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?<=a)b+|\d",
    r"the|ing",
    r"Ġ?\p{L}+|Ã.",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
];

fn stage() -> impl Strategy<Value = Value> {
    let behavior = proptest::sample::select(&BEHAVIORS[..]);
    let split = (proptest::sample::select(&PATTERNS[..]), behavior, any::<bool>())
        .prop_map(|(pattern, behavior, invert)| split_by(pattern, behavior, invert));
    let other = proptest::sample::select(vec![
        json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithNext", "invert": false}),
        json!({"type": "Split", "pattern": {"String": "a."}, "behavior": "Removed", "invert": true}),
        json!({"type": "Digits", "individual_digits": true}),
        json!({"type": "Digits", "individual_digits": false}),
        json!({"type": "Punctuation", "behavior": "Contiguous"}),
        json!({"type": "Punctuation", "behavior": "MergedWithPrevious"}),
        json!({"type": "Whitespace"}),
        json!({"type": "WhitespaceSplit"}),
        json!({"type": "BertPreTokenizer"}),
        json!({"type": "CharDelimiterSplit", "delimiter": "é"}),
        json!({"type": "FixedLength", "length": 3}),
    ]);
    prop_oneof![split, other]
}

/// A stage that changes text, which cannot follow `ByteLevel`.
fn changing() -> impl Strategy<Value = Option<Value>> {
    let metaspace = (proptest::sample::select(vec!["▁", " "]), proptest::sample::select(vec!["always", "first", "never"]), any::<bool>())
        .prop_map(|(replacement, scheme, split)| {
            json!({"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": split})
        });
    proptest::option::of(metaspace)
}

fn config() -> impl Strategy<Value = Value> {
    let byte_level = (any::<bool>(), any::<bool>()).prop_map(
        |(prefix, regex)| json!({"type": "ByteLevel", "add_prefix_space": prefix, "use_regex": regex}),
    );
    let stages = || proptest::collection::vec(stage(), 0..3);
    (changing(), stages(), proptest::option::of(byte_level), stages()).prop_map(
        |(first, a, byte_level, b)| {
            let all = first.into_iter().chain(a).chain(byte_level).chain(b);
            json!({"type": "Sequence", "pretokenizers": all.collect::<Vec<_>>()})
        },
    )
}

/// Characters and strings on which stages differ.
const ALPHABET: [&str; 48] = [
    "a",
    "b",
    "n",
    "the",
    "ing",
    "A",
    "é",
    "ж",
    "中",
    "あ",
    "ー",
    "\u{301}",
    "0",
    "1",
    "7",
    "1234",
    "٣",
    "½",
    "²",
    "\u{11DE0}",
    "'",
    "'s",
    "'S",
    " ",
    " ",
    "  ",
    "\t",
    "\u{A0}",
    "\u{3000}",
    "\r",
    "\n",
    "\r\n",
    "!",
    ".",
    "a.",
    "/",
    "_",
    "-",
    "<",
    "$",
    "😀",
    "\u{200D}",
    "\0",
    "\u{7F}",
    "▁",
    "Ġ",
    "Ã",
    "。",
];

fn text(length: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(&ALPHABET[..]), 0..length)
        .prop_map(|parts| parts.concat())
}

proptest! {
    // Compiling the patterns takes most of the time.
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn stages_give_the_pieces_of_the_oracle(config in config(), texts in proptest::collection::vec(text(40), 16)) {
        let pretokenizer = Pretokenizer::from_json(&config).unwrap();
        for text in texts {
            prop_assert_eq!(pieces_of(&pretokenizer, &text), Oracle::run(&config, &text), "{} on {:?}", config, text);
        }
    }
}

/// Patterns that isolate runs of characters; the classes of some overlap.
const ZONES: [&str; 7] = [
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ\x{3097}]+",
    r"\p{N}",
    r"[\s0-9]+",
    r"[\p{P}\x00]+",
    r"[a-n]{1,2}",
    r"[\n\r]",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn zones_in_one_scan_give_the_pieces_of_the_oracle(
        zones in proptest::collection::vec(proptest::sample::select(&ZONES[..]), 1..4),
        pattern in proptest::sample::select(&PATTERNS[..]),
        texts in proptest::collection::vec(text(40), 16),
    ) {
        let all = zones.iter().chain([&pattern]).map(|pattern| split_by(pattern, "Isolated", false));
        let config = json!({"type": "Sequence", "pretokenizers": all.collect::<Vec<_>>()});
        let pretokenizer = Pretokenizer::from_json(&config).unwrap();
        for text in texts.iter().cloned().chain([texts.concat().repeat(20)]) {
            prop_assert_eq!(pieces_of(&pretokenizer, &text), Oracle::run(&config, &text), "{} on {:?}", config, text);
        }
    }
}

#[test]
fn isolated_classes_and_a_pattern_are_one_stage() {
    let stages = |patterns: &[&str]| {
        let all: Vec<Value> = patterns.iter().map(|pattern| split_by(pattern, "Isolated", false)).collect();
        let config = json!({"type": "Sequence", "pretokenizers": all});
        Pretokenizer::from_json(&config).unwrap().0.stages.len()
    };
    assert_eq!(stages(&[PATTERNS[0], PATTERNS[1], PATTERNS[8]]), 1, "DeepSeek V3");
    assert_eq!(stages(&[r"\p{N}", PATTERNS[13]]), 1, "StarCoder");
    assert_eq!(stages(&[PATTERNS[0], PATTERNS[13]]), 2, "runs of three that the pattern might split");
    assert_eq!(stages(&[r"\p{N}", PATTERNS[3], PATTERNS[13]]), 2, "one pattern in zones, then another");
}

#[test]
fn long_texts_are_split_as_short_ones() {
    // Long enough for scanners, lanes and bulk copies of pieces.
    let line = "The quick brown fox, 1234 times; don't stop   中文 and あア!\r\n\n\tlet x = a.b[12345]; // 😀😀\0\0é ";
    let text = line.repeat(400);
    for pattern in PATTERNS {
        for behavior in BEHAVIORS {
            let digits = json!({"type": "Digits", "individual_digits": true});
            let config =
                json!({"type": "Sequence", "pretokenizers": [digits, split_by(pattern, behavior, false)]});
            assert_eq!(pieces(&config, &text), Oracle::run(&config, &text), "{config}");
            let config = split_by(pattern, behavior, true);
            assert_eq!(pieces(&config, &text), Oracle::run(&config, &text), "{config}");
        }
    }
}

#[test]
fn a_gap_is_one_piece() {
    assert_eq!(strings(&split_by(r"\p{L}+", "Isolated", false), "ab 12, cd"), ["ab", " 12, ", "cd"]);
}

#[test]
fn stages_after_byte_level_see_printable_characters() {
    // The bytes of é are Ã and ©, those of ½ are Â and ½, which is a number.
    let digits = json!({"type": "Digits", "individual_digits": false});
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false});
    let config = json!({"type": "Sequence", "pretokenizers": [byte_level, digits]});
    assert_eq!(pieces(&config, "é½1"), [vec![0xC3, 0xA9, 0xC2], vec![0xBD, b'1']]);
}

#[test]
fn metaspace_first_marks_the_piece_at_the_beginning_of_the_users_text() {
    let metaspace =
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true});
    let config = json!({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]});
    assert_eq!(strings(&config, "ab cd"), ["▁ab", "cd"]);
    assert_eq!(strings(&config, " ab cd"), ["ab", "cd"]);
    let pretokenizer = Pretokenizer::from_json(&config).unwrap();
    let (mut scratch, mut found) = (Scratch::default(), Pieces::default());
    let text = pretokenizer.pretokenize(Cow::Borrowed("ab cd"), false, &mut scratch, &mut found).unwrap();
    assert_eq!(text, "ab cd");
    assert_eq!(found, Pieces { ends: vec![2, 3, 5], dropped: vec![1] });
}

#[test]
fn one_covering_pattern_is_a_splitter() {
    let splitter =
        |config: &Value| Pretokenizer::from_json(config).unwrap().splitter().map(|s| s.pattern().to_string());
    let byte_level =
        |regex: bool| json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": regex});
    let sequence = |stages: &[Value]| json!({"type": "Sequence", "pretokenizers": stages});
    assert!(splitter(&byte_level(true)).is_some());
    let llama = split_by(PATTERNS[9], "Isolated", false);
    assert!(splitter(&sequence(&[llama.clone(), byte_level(false)])).is_some());
    assert!(splitter(&split_by(PATTERNS[9], "Removed", true)).is_some());
    assert!(splitter(&split_by(r"\p{L}+|\P{L}", "Isolated", false)).is_some());
    // Gaps, removed text, several stages.
    assert!(splitter(&split_by(r"\p{L}+", "Isolated", false)).is_none());
    assert!(splitter(&split_by(PATTERNS[9], "Removed", false)).is_none());
    assert!(splitter(&split_by(PATTERNS[9], "Contiguous", false)).is_none());
    assert!(splitter(&sequence(&[llama, byte_level(true)])).is_none());
    assert!(splitter(&split_by(r"\S+|\s+(?!\S)", "Isolated", false)).is_none());
}

#[test]
fn unusable_configurations_are_errors() {
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false});
    let metaspace = json!({"type": "Metaspace", "replacement": "▁"});
    for (config, reason) in [
        (json!({"type": "UnknownStage"}), "UnknownStage"),
        (json!({}), "type"),
        (json!("Digits"), "type"),
        (json!({"type": "Digits"}), "individual_digits"),
        (json!({"type": "Sequence", "pretokenizers": [byte_level, byte_level]}), "twice"),
        (json!({"type": "Sequence", "pretokenizers": [byte_level, metaspace]}), "after ByteLevel"),
        (json!({"type": "Metaspace", "replacement": "__"}), "__"),
        (json!({"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"}), "last"),
        (json!({"type": "FixedLength", "length": 0}), "positive"),
        (split_by("a", "Sideways", false), "Sideways"),
        (split_by("a(", "Isolated", false), "a("),
        (split_by("a*", "Isolated", false), "empty"),
        (
            json!({"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": false}),
            "empty",
        ),
        (json!({"type": "Split", "pattern": "a", "behavior": "Isolated", "invert": false}), "Regex"),
    ] {
        let error = Pretokenizer::from_json(&config).err().unwrap().to_string();
        assert!(error.contains(reason), "{config}: {error}");
    }
}

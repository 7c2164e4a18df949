//! Every tier against the oracle: the pattern in a plain find loop, as tiktoken runs it.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use fancy_regex::Regex;
use proptest::prelude::*;

use super::presets::{GPT2_AS_PUBLISHED, NAMES, Preset, Scanner};
use super::*;

/// So simple that it is unlikely to be incorrect.
fn oracle(pattern: &str, text: &str) -> Vec<u32> {
    static COMPILED: LazyLock<Mutex<HashMap<String, Regex>>> = LazyLock::new(Mutex::default);
    let compile = || Regex::new(pattern).unwrap();
    let regex = COMPILED.lock().unwrap().entry(pattern.into()).or_insert_with(compile).clone();
    let (mut at, mut ends) = (0, vec![]);
    while at < text.len() {
        let (start, end) = match regex.find_from_pos(text, at).unwrap() {
            Some(m) => (m.start(), m.end()),
            None => (text.len(), text.len()),
        };
        ends.extend(text[at..start].char_indices().map(|(i, c)| (at + i + c.len_utf8()) as u32));
        if end > start {
            ends.push(end as u32);
        }
        at = end;
    }
    ends
}

fn split(splitter: &Splitter, text: &str) -> Vec<u32> {
    let mut ends = vec![];
    splitter.split(text, &mut Scratch::default(), &mut ends).unwrap();
    ends
}

fn pretokens<'a>(text: &'a str, ends: &[u32]) -> Vec<&'a str> {
    let mut at = 0;
    ends.iter().map(|&end| &text[std::mem::replace(&mut at, end as usize)..end as usize]).collect()
}

/// Patterns of users, each a different path through `rewrite.rs`.
const CUSTOM: [&str; 24] = [
    r"\w+|\W",
    r"\p{L}+|\p{N}+|[^\p{L}\p{N}]+",
    r" ?\p{L}++| ?\p{N}{1,2}+|\s+(?!\S)|\s|.",
    r"[a-z]+?ing|[a-z]+",
    r"(?i)the|[a-z]+| ",
    r"\s+(?!\S)|\s*\S+",
    r"\s+(?!\S)| ?\p{Lu}\p{Ll}*|\p{Ll}+|\p{N}",
    r"(?:ab|a)(?:c|bcd)",
    r"a{2,3}|b{2}|[ab]",
    r"[\r\n]+|[^\r\n]+",
    r"\s++$|\S+| ",
    r"\d{1,3}(?=(?:\d{3})*\b)|\D",
    r"(?<=a)b+|[^b]+",
    r"(\w)\1|\w",
    r"\bfoo\b|\w|\s+",
    r"^\s+|\S+",
    r"(?>ab|a)c|.",
    r"[^\s\p{L}]++\p{L}|\p{L}++\p{L}|\s",
    r"中文|[\p{Han}]|\p{Hangul}+",
    r"(?m)^.+$|\n",
    r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]",
    r"(?x) \p{L}+ # words
       | \p{N}+ ",
    r"e\p{M}*|\p{L}\p{M}*+|.",
    r"\p{L}+(?!\P{L})|\p{L}|\s",
];

/// Characters and strings on which split patterns differ.
const ALPHABET: [&str; 88] = [
    "a", "b", "s", "t", "l", "re", "ing", "A", "B", "S", "T", "é", "É", "ǅ", "ʰ", "ª", "ж", "Ж", "中", "文",
    "한", "あ", "ا", "ไ", "Ꟛꟛ", "𐐀", "𐐨", "𝒜", "𠀀", "\u{301}", "\u{64B}", "\u{E31}", "\u{903}", "\u{20DD}",
    "\u{FE0F}", "0", "1", "7", "٣", "Ⅷ", "½", "²", "𝟗", "〇", "'", "'s", "'S", "'ſ", "'t", "'ll", "'lL",
    "'Re", "'vE", "'d", "'M", "'l", "’", " ", " ", " ", "  ", "\t", "\u{A0}", "\u{85}", "\u{2028}",
    "\u{3000}", "\u{B}", "\r", "\n", "\n", "\r\n", "!", ".", "/", "//", "_", "-", "(", "❤", "😀", "\u{200D}",
    "\u{FFFD}", "\u{0}", "。", "ſ", "K", "ß", "ŉ",
];

fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::collection::vec(prop::sample::select(&ALPHABET), 0..60).prop_map(|v| v.concat()),
        1 => prop::collection::vec(prop::sample::select(vec![" ", "\n", "\t", "!", "/", "\u{A0}", "a", "\u{301}"]), 0..200)
            .prop_map(|v| v.concat()),
        1 => prop::collection::vec(prop::sample::select(vec!["a", "A", "中", "\u{301}", "'s", "1", "'"]), 0..200)
            .prop_map(|v| v.concat()),
        1 => any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn scanners_agree_with_the_oracle(text in hostile()) {
        let twin = Splitter::new(GPT2_AS_PUBLISHED).unwrap();
        prop_assert_eq!(split(&twin, &text), oracle(GPT2_AS_PUBLISHED, &text));
        for name in NAMES {
            let preset = Preset::named(name).unwrap();
            let splitter = Splitter::new(name).unwrap();
            let expected = oracle(preset.pattern(), &text);
            let got = split(&splitter, &text);
            prop_assert_eq!(pretokens(&text, &got), pretokens(&text, &expected), "{}", name);
            let mut portable = vec![];
            scan::tests::split_portable(Scanner::of(preset.pattern()).unwrap(), &text, &mut portable);
            prop_assert_eq!(&portable, &expected, "{} without AVX2", name);
        }
    }
}

proptest! {
    #[test]
    fn any_number_of_digits_agrees_with_the_oracle(text in hostile(), digits in 1..6usize) {
        for (name, own) in [("gpt4", "{1,3}"), ("o200k", "{1,3}"), ("nanochat", "{1,2}"), ("llama3", "{1,3}")] {
            let pattern = Preset::named(name).unwrap().pattern().replace(own, &format!("{{1,{digits}}}"));
            let splitter = Splitter::new(&pattern).unwrap();
            prop_assert_eq!(splitter.tier(), Tier::Scanner);
            prop_assert_eq!(split(&splitter, &text), oracle(&pattern, &text), "{}", pattern);
        }
    }
}

/// Longer than a segment of the scanners, and than a block of the automaton.
#[test]
fn long_documents_split_as_the_oracle_does() {
    let mut random = 1u64;
    let mut text = String::new();
    while text.len() < 300_000 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        text += ALPHABET[(random >> 33) as usize % ALPHABET.len()];
    }
    for name in NAMES {
        let expected = oracle(Preset::named(name).unwrap().pattern(), &text);
        for tier in [Tier::Scanner, Tier::Dfa] {
            let splitter = Splitter::with_engine(name, tier).unwrap();
            assert!(split(&splitter, &text) == expected, "{name} {tier:?}");
            assert!(splitter.split_parallel(&text, 4).unwrap() == expected, "{name} {tier:?} in parallel");
        }
    }
}

/// Compiling takes tens of milliseconds, so it is done once for all cases.
fn compiled(tier: Tier) -> Vec<(&'static str, Splitter)> {
    NAMES.map(|n| (Preset::named(n).unwrap().pattern(), Splitter::with_engine(n, tier).unwrap())).into()
}

fn custom() -> Vec<(&'static str, Splitter)> {
    CUSTOM.map(|p| (p, Splitter::new(p).unwrap())).into()
}

#[test]
fn the_other_tiers_agree_with_the_oracle() {
    let mut all = compiled(Tier::Dfa);
    assert!(all.iter().all(|(_, s)| s.tier() == Tier::Dfa));
    all.extend(compiled(Tier::LookAround));
    all.extend(custom());
    let regular = all.iter().filter(|(_, s)| s.tier() == Tier::Dfa).count();
    assert_eq!(regular, 7 + 15, "patterns for the automaton");
    proptest!(ProptestConfig::with_cases(600), |(text in hostile())| {
        for (pattern, splitter) in &all {
            let expected = oracle(pattern, &text);
            prop_assert_eq!(pretokens(&text, &split(splitter, &text)), pretokens(&text, &expected), "{}", pattern);
        }
    });
}

#[test]
fn parallel_is_serial() {
    let mut all = compiled(Tier::Scanner);
    all.extend(compiled(Tier::Dfa));
    all.extend(custom());
    proptest!(ProptestConfig::with_cases(300), |(text in hostile(), parts in 1usize..9)| {
        for (pattern, splitter) in &all {
            let ends = parallel::split_in(&splitter.0.engine, &text, parts).unwrap();
            prop_assert_eq!(ends, split(splitter, &text), "{}", pattern);
        }
    });
    let long = "word  \n\n\t 12345 it's !!\n /x\u{A0}中文ABC ".repeat(20_000);
    for (pattern, splitter) in &all {
        if splitter.tier() != Tier::LookAround {
            assert!(splitter.split_parallel(&long, 3).unwrap() == split(splitter, &long), "{pattern}");
        }
    }
}

#[test]
fn a_beginning_is_split_as_every_continuation_splits_it() {
    let mut all = compiled(Tier::Scanner);
    all.extend(compiled(Tier::Dfa));
    all.extend(custom());
    proptest!(ProptestConfig::with_cases(1000), |(text in hostile(), more in hostile())| {
        for (pattern, splitter) in &all {
            let mut ends = vec![];
            let Some(at) = splitter.split_beginning(&text, &mut Scratch::default(), &mut ends) else {
                prop_assert!(splitter.tier() == Tier::LookAround);
                continue;
            };
            prop_assert_eq!(at.unwrap(), ends.last().copied().unwrap_or(0) as usize);
            let whole = split(splitter, &(text.clone() + &more));
            prop_assert_eq!(&ends[..], &whole[..ends.len()], "{}", pattern);
        }
    });
}

#[test]
fn both_sides_of_a_safe_cut_split_alone() {
    let all = compiled(Tier::Scanner);
    proptest!(ProptestConfig::with_cases(3000), |(before in hostile(), text in hostile(), after in hostile())| {
        for (pattern, splitter) in &all {
            let Some(cut) = splitter.last_cut(&text) else { continue };
            prop_assert!(cut > 0 && cut < text.len());
            let whole = format!("{before}{text}{after}");
            let (left, right) = whole.split_at(before.len() + cut);
            let mut ends = split(splitter, left);
            ends.extend(split(splitter, right).iter().map(|end| end + left.len() as u32));
            prop_assert_eq!(ends, split(splitter, &whole), "{}", pattern);
        }
    });
}

#[derive(Debug)]
struct Case {
    pattern: String,
    text: String,
    pretokens: Vec<String>,
}

fn cases() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/split.toml");
    let table: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let string = |v: &toml::Value| v.as_str().unwrap().to_owned();
    let case = |c: &toml::Value| Case {
        pattern: string(&c["pattern"]),
        text: string(&c["text"]),
        pretokens: c["pretokens"].as_array().unwrap().iter().map(string).collect(),
    };
    table["case"].as_array().unwrap().iter().map(case).collect()
}

#[test]
fn cases_hold_in_every_tier() {
    for case in cases() {
        for tier in [Tier::Scanner, Tier::Dfa, Tier::LookAround] {
            let Ok(splitter) = Splitter::with_engine(&case.pattern, tier) else { continue };
            assert_eq!(
                pretokens(&case.text, &split(&splitter, &case.text)),
                case.pretokens,
                "{tier:?} {case:?}"
            );
        }
        let splitter = Splitter::new(&case.pattern).unwrap();
        assert_eq!(pretokens(&case.text, &split(&splitter, &case.text)), case.pretokens, "{case:?}");
    }
}

fn corpora(most: usize) -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora/");
    ["english.txt", "code.txt", "multilingual.txt", "tinyshakespeare.txt"]
        .iter()
        .filter_map(|name| std::fs::read_to_string(format!("{folder}{name}")).ok())
        .map(|text| text[..scan::floor_char(&text, most.min(text.len()))].to_owned())
        .collect()
}

fn check_corpora(most: usize, tiers: &[Tier]) {
    for text in corpora(most) {
        for name in NAMES {
            let expected = oracle(Preset::named(name).unwrap().pattern(), &text);
            for &tier in tiers {
                let got = split(&Splitter::with_engine(name, tier).unwrap(), &text);
                assert!(got == expected, "{name} {tier:?}");
            }
        }
    }
}

#[test]
fn corpora_split_as_the_oracle_does() {
    check_corpora(200_000, &[Tier::Scanner, Tier::Dfa]);
}

/// `cargo test --release -p merganser-core whole_corpora -- --ignored`, some minutes.
#[test]
#[ignore = "takes minutes"]
fn whole_corpora_split_as_the_oracle_does() {
    check_corpora(usize::MAX, &[Tier::Scanner, Tier::Dfa]);
}

#[test]
fn catastrophically_repetitive() {
    for unit in [
        " ", "\n", " \n", "a", "A", "1", "'", "!", "/", "\u{301}", "!\u{301}", "中A", "\u{3000}", "'s",
        "!\n/", "é",
    ] {
        for tail in ["", "a", " ", "\n"] {
            let text = unit.repeat(1_000_000) + tail;
            for name in NAMES {
                let ends = split(&Splitter::new(name).unwrap(), &text);
                assert_eq!(ends.last().copied(), Some(text.len() as u32), "{name} {unit:?}");
            }
        }
    }
}

#[test]
fn presets_are_known_by_name_and_by_pattern() {
    for &name in preset_names() {
        let by_name = Splitter::new(name).unwrap();
        let by_pattern = Splitter::new(by_name.pattern()).unwrap();
        assert_eq!((by_pattern.name(), by_pattern.tier()), (Some(name), Tier::Scanner));
        assert_eq!(by_pattern.pattern(), by_name.pattern());
    }
    assert_eq!(Splitter::new(r"\w+").unwrap().name(), None);
    let twin = Splitter::new(GPT2_AS_PUBLISHED).unwrap();
    assert_eq!((twin.name(), twin.tier(), twin.pattern()), (None, Tier::Scanner, GPT2_AS_PUBLISHED));
}

#[test]
fn unknown_presets_are_refused() {
    for name in ["gpt5", "gpt-4", "my_preset"] {
        assert!(matches!(Splitter::new(name), Err(Error::UnknownPreset { .. })), "{name}");
    }
}

#[test]
fn misspelled_presets_are_recognized() {
    for (name, similar) in [
        ("gpt5", &["gpt2", "gpt4"][..]),
        ("gpt-4", &["gpt4"]),
        ("GPT4", &["gpt4"]),
        ("gtp4", &["gpt4"]),
        ("cl100k_base", &["gpt4"]),
        ("o200k_base", &["o200k"]),
        ("llama-3", &["llama3"]),
        ("white", &["whitespace"]),
        ("nanochatt", &["nanochat"]),
        ("my_preset", &[]),
        ("日本語", &[]),
        ("-", &[]),
    ] {
        assert_eq!(presets::similar_to(name), similar, "{name}");
    }
    let message = Splitter::new("gpt5").err().unwrap().to_string();
    assert!(message.contains(r#"did you mean "gpt2" or "gpt4"? The presets are gpt2, "#), "{message}");
    assert!(message.ends_with("put it in parentheses: (gpt5)"), "{message}");
}

#[test]
fn bad_patterns_are_refused() {
    let bad =
        [r"(", r"\p{Nope}+", r"a*", r"|a", r"", r"\s+|$", r"\Ga", r"a\Kb", r"a|(?=b)*", r"(?!\S)*", r"a??"];
    for pattern in bad {
        let refused = Splitter::new(pattern);
        assert!(matches!(refused, Err(Error::BadPattern { .. })), "{pattern}");
    }
    assert!(matches!(Splitter::with_engine(r"\w+", Tier::Scanner), Err(Error::BadPattern { .. })));
    assert!(matches!(Splitter::with_engine(r"(?<=a)b", Tier::Dfa), Err(Error::BadPattern { .. })));
}

#[test]
fn documents_beyond_4_gib_are_refused() {
    let bytes = vec![0u8; (1 << 32) + 1];
    // SAFETY: zeros are ASCII, and so UTF-8. To check them would make the system provide 4 GiB, which neither
    // this test nor the code under test touches.
    let text = unsafe { std::str::from_utf8_unchecked(&bytes) };
    let splitter = Splitter::new("gpt2").unwrap();
    let (mut scratch, mut ends) = (Scratch::default(), vec![]);
    let too_long =
        |r: Result<()>| matches!(r, Err(Error::TooLong { what: "document", bytes: 0x1_0000_0001 }));
    assert!(too_long(splitter.split(text, &mut scratch, &mut ends)));
    assert!(too_long(splitter.split_beginning(text, &mut scratch, &mut ends).unwrap().map(|_| ())));
    assert!(too_long(splitter.split_parallel(text, 2).map(|_| ())));
}

#[test]
fn empty_matches_are_an_error() {
    let splitter = Splitter::new(r"(?=b)|a").unwrap();
    let e = splitter.split("aab", &mut Scratch::default(), &mut vec![]);
    assert!(matches!(e, Err(Error::EmptyMatch { at: 2, .. })), "{e:?}");
}

#[test]
fn endless_rescans_are_an_error_also_in_parallel() {
    let splitter = Splitter::new(r"\p{L}*ing|.").unwrap();
    assert_eq!(splitter.tier(), Tier::Dfa);
    let text = "a".repeat(1 << 20);
    let e = splitter.split(&text, &mut Scratch::default(), &mut vec![]);
    assert!(matches!(e, Err(Error::StepLimit { .. })), "{e:?}");
    assert!(matches!(splitter.split_parallel(&text, 2), Err(Error::StepLimit { .. })));

    let splitter = Splitter::new(r"(?:a|aa)+(?<=b)c|.").unwrap();
    assert_eq!(splitter.tier(), Tier::LookAround);
    let e = splitter.split(&text, &mut Scratch::default(), &mut vec![]);
    assert!(matches!(e, Err(Error::StepLimit { .. })), "{e:?}");
}

#[test]
fn automata_that_grow_too_large_fall_back() {
    let splitter = Splitter::new(r"[01]*1[01]{24}|.").unwrap();
    assert_eq!(splitter.tier(), Tier::LookAround);
    assert_eq!(split(&splitter, "00100"), oracle(r"[01]*1[01]{24}|.", "00100"));
}

#[test]
fn a_look_ahead_over_the_whole_document_stops_at_a_limit() {
    let splitter = Splitter::new(r"(?=.*x)\w|.").unwrap();
    let text = "a".repeat(2_000_000);
    let error = splitter.split(&text, &mut Scratch::default(), &mut Vec::new()).unwrap_err();
    assert!(matches!(error, Error::StepLimit { .. }), "{error}");
}

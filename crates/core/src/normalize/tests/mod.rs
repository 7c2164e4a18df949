//! Each normalizer against a slow version that follows its definition, and against results of Hugging Face
//! tokenizers 0.23.3 and SentencePiece 0.2.2, written down.

mod cases;
mod charsmaps;
mod slow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::charsmap::Charsmap;
use super::{Aligned, Normalizer};
use crate::Error;

/// Texts of characters that normalizers care about, and of any.
fn texts() -> impl Strategy<Value = String> {
    let characters = "abAB z1é▁ﬁ½ÅΩ각ㅏ가İßΣ\t\n\r\0\u{1e}中文①Ａｶﾞか…™👨👩🇩🇪\
        \u{301}\u{323}\u{327}\u{f71}\u{f72}\u{f73}\u{f74}\u{344}\u{1100}\u{1161}\u{11a8}\u{a0}\u{200b}\u{200d}\
        \u{feff}\u{fffd}\u{3099}\u{e33}\u{958}\u{9c7}\u{9be}\u{94d}\u{1e9b}\u{2adc}\u{fb1d}\u{600}\u{d4e}\
        \u{1d15e}\u{16d67}\u{16d63}\u{897}\u{1e6ee}";
    let listed = proptest::sample::select(characters.chars().collect::<Vec<_>>());
    let character = prop_oneof![8 => listed, 2 => any::<char>()];
    proptest::collection::vec(character, 0..24).prop_map(|chars| chars.into_iter().collect())
}

fn normalizer(value: Value) -> Normalizer {
    Normalizer::from_json(&value).unwrap()
}

/// Normalizes, and checks that both ways agree and that origins are in order.
fn normalized(normalizer: &Normalizer, text: &str) -> Aligned {
    let aligned = normalizer.normalize_aligned(&Aligned::of(text).unwrap()).unwrap();
    assert_eq!(aligned.text, normalizer.normalize(text).unwrap(), "{text:?}");
    assert_eq!(aligned.text.len(), aligned.origins.len());
    assert!(aligned.origins.iter().all(|(start, end)| start <= end && *end as usize <= text.len()));
    assert!(aligned.origins.is_sorted_by_key(|origin| origin.0), "{text:?} {:?}", aligned.origins);
    aligned
}

fn error(value: Value) -> String {
    match Normalizer::from_json(&value) {
        Err(Error::BadTokenizer { reason }) => reason,
        Err(e) => panic!("{e}"),
        Ok(_) => panic!("{value} is accepted"),
    }
}

proptest! {
    #[test]
    fn forms_equal_the_definition(text in texts()) {
        for (name, form) in slow::FORMS {
            let result = normalized(&normalizer(json!({"type": name})), &text);
            prop_assert_eq!(result.text, form(&text), "{}", name);
        }
    }

    #[test]
    fn a_sequence_is_its_parts_in_turn(text in texts()) {
        let names = ["Lowercase", "NFKD", "StripAccents", "Nmt", "NFC"];
        let parts: Vec<Value> = names.iter().map(|name| json!({"type": name})).collect();
        let whole = normalized(&normalizer(json!({"type": "Sequence", "normalizers": parts})), &text);
        let mut in_turn = Aligned::of(&text).unwrap();
        for part in parts {
            in_turn = normalizer(part).normalize_aligned(&in_turn).unwrap();
        }
        prop_assert_eq!(whole, in_turn);
    }

    #[test]
    fn rules_equal_the_definition(text in texts()) {
        for (name, rule) in slow::RULES {
            let result = normalized(&normalizer(json!({"type": name})), &text);
            prop_assert_eq!(result.text, rule(&text), "{}", name);
        }
    }

    #[test]
    fn replace_equals_the_definition(text in texts(), pattern in "[ab ]{1,2}", content in "[x ]{0,2}") {
        let replace = json!({"type": "Replace", "pattern": {"String": pattern}, "content": content});
        prop_assert_eq!(normalized(&normalizer(replace), &text).text, text.replace(&pattern, &content));
        let replace = json!({"type": "Replace", "pattern": {"Regex": pattern}, "content": content});
        prop_assert_eq!(normalized(&normalizer(replace), &text).text, text.replace(&pattern, &content));
    }

    #[test]
    fn patterns_equal_the_engine(text in texts(), spaces in "[ \\na]{0,9}") {
        let text = text + &spaces;
        for pattern in [r"\s+", r"\s", " {2,}", "[a-z]{1,2}", "a{2,3}", "é", "[^\\S ]+", r"\s*\n", "a(?!b)"] {
            let replace = json!({"type": "Replace", "pattern": {"Regex": pattern}, "content": " "});
            let engine = fancy_regex::Regex::new(pattern).unwrap();
            let want = engine.replace_all(&text, fancy_regex::NoExpand(" "));
            prop_assert_eq!(normalized(&normalizer(replace), &text).text, want, "{}", pattern);
        }
    }

    #[test]
    fn precompiled_equals_the_definition(text in texts()) {
        let map = charsmaps::small();
        let result = normalized(&normalizer(json!({"type": "Precompiled", "precompiled_charsmap": map})), &text);
        prop_assert_eq!(result.text, slow::precompiled(&charsmaps::SMALL, &text));
    }

    #[test]
    fn sentencepiece_equals_the_definition(
        text in texts(), spaces in "[ ▁]{0,3}", prefix: bool, extra: bool, suffix: bool, mapped: bool, symbols: bool,
    ) {
        let text = format!("{spaces}{text}{spaces}{spaces}a{spaces}");
        let symbols: &[&str] = if symbols { &["ab", "▁▁", "é▁", "中", "中文", "a "] } else { &[] };
        let keys: &[(&str, &str)] = if mapped { &charsmaps::SMALL } else { &[] };
        let value = json!({
            "type": "SentencePiece", "charsmap": mapped.then(charsmaps::small), "add_dummy_prefix": prefix,
            "remove_extra_whitespaces": extra, "suffix_whitespace": suffix, "user_defined": symbols,
        });
        let (want, starts) = slow::sentencepiece(keys, symbols, prefix, extra, suffix, &text);
        let result = normalized(&normalizer(value), &text);
        prop_assert_eq!(&result.text, &want);
        let origins: Vec<(u32, u32)> = starts.windows(2).map(|pair| (pair[0], pair[1])).collect();
        prop_assert_eq!(result.origins, origins);
    }

    #[test]
    fn corrupt_charsmaps_are_refused_or_harmless(
        units in proptest::collection::vec(any::<u32>(), 0..600), small: bool, text in texts(), len: Option<u32>,
    ) {
        // Small numbers reach valid units more often.
        let units: Vec<u32> = units.into_iter().map(|unit| if small { unit & 0x7ff } else { unit }).collect();
        let bytes = charsmaps::bytes(&units, len.unwrap_or(units.len() as u32 * 4), "a\0é\0中文\0");
        if let Ok(map) = Charsmap::from_bytes(&bytes) {
            for (at, _) in text.char_indices() {
                map.shortest(&text[at..]);
                map.longest(&text[at..]);
            }
        }
    }

    #[test]
    fn changed_bytes_of_a_charsmap_are_harmless(changes: Vec<(u16, u8)>, text in texts()) {
        let mut bytes = charsmaps::bytes_of(&charsmaps::SMALL);
        for (at, byte) in changes {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        let map = charsmaps::base64(&bytes);
        for value in [
            json!({"type": "Precompiled", "precompiled_charsmap": map}),
            json!({"type": "SentencePiece", "charsmap": map, "add_dummy_prefix": true,
                "remove_extra_whitespaces": true}),
        ] {
            if let Ok(normalizer) = Normalizer::from_json(&value) {
                normalized(&normalizer, &text);
            }
        }
    }
}

#[test]
fn normal_text_is_borrowed() {
    for name in ["NFC", "NFKC"] {
        for text in ["", "plain text\n", "größer 中文, かな हिन्दी ไทย עִברית 한국어"]
        {
            let normalizer = normalizer(json!({"type": name}));
            assert!(matches!(normalizer.normalize(text).unwrap(), std::borrow::Cow::Borrowed(_)), "{text}");
        }
    }
}

#[test]
fn a_million_marks_are_sorted_and_kept() {
    let marks = "\u{301}\u{323}".repeat(500_000);
    for name in ["NFC", "NFD", "NFKC", "NFKD"] {
        let result = normalizer(json!({"type": name}));
        let result = result.normalize(&marks).unwrap().into_owned();
        assert_eq!(result, ["\u{323}".repeat(500_000), "\u{301}".repeat(500_000)].concat());
    }
}

#[test]
fn clusters_of_a_million_characters_are_replaced() {
    let map = charsmaps::small();
    let normalizer = normalizer(json!({"type": "Precompiled", "precompiled_charsmap": map}));
    for part in ["\u{301}", "🇩", "\u{1100}", "👨\u{200d}", "क्", "ﬁ\u{301}", "\r"] {
        let text = part.repeat(1_000_000 / part.len());
        assert_eq!(normalizer.normalize(&text).unwrap(), slow::precompiled(&charsmaps::SMALL, &text));
    }
}

#[test]
fn a_cyclic_trie_ends() {
    // Unit 0 leads to units 0x61 ^ 0 and so on; unit 0x61 has label `a` and offset 0x61 ^ 0, back to the root.
    let mut units = vec![0; 256];
    units[0x61] = 0x61 | 0x61 << 10;
    let map = Charsmap::from_bytes(&charsmaps::bytes(&units, 1024, "x\0")).unwrap();
    assert_eq!(map.longest(&"a".repeat(1 << 20)), None);
}

#[test]
fn a_pattern_that_backtracks_too_long_is_an_error() {
    let replace = json!({"type": "Replace", "pattern": {"Regex": "(a|aa)+(?<=c)b"}, "content": ""});
    let result = normalizer(replace).normalize(&"a".repeat(100)).map(|text| text.len());
    assert!(matches!(result, Err(Error::StepLimit { .. })), "{result:?}");
}

#[test]
fn nothing_is_no_step() {
    let strip = json!({"type": "Strip", "strip_left": false, "strip_right": false});
    let nothing = json!([{"type": "Sequence", "normalizers": []}, strip, {"type": "Prepend", "prepend": ""}]);
    assert!(normalizer(Value::Null).is_identity());
    assert!(normalizer(json!({"type": "Sequence", "normalizers": nothing})).is_identity());
    assert!(!normalizer(json!({"type": "NFC"})).is_identity());
}

#[test]
fn a_normalizer_that_is_not_understood_is_named() {
    assert!(error(json!({"type": "Transliterate"})).contains(r#"normalizer "Transliterate" is unknown"#));
    assert!(error(json!({"type": "Sequence", "normalizers": [{"type": "X"}]})).contains(r#""X""#));
    assert!(error(json!({})).contains("has no type"));
    assert!(error(json!("NFC")).contains("has no type"));
    assert!(error(json!({"type": "Sequence"})).contains("bad value for normalizers"));
    assert!(error(json!({"type": "Strip", "strip_left": 1})).contains("strip_left: 1"));
    assert!(error(json!({"type": "Replace", "content": "", "pattern": "x"})).contains("pattern"));
    assert!(
        error(json!({"type": "Precompiled", "precompiled_charsmap": "?"})).contains("precompiled_charsmap")
    );
    assert!(error(json!({"type": "Precompiled", "precompiled_charsmap": "AAA="})).contains("too short"));
    assert!(
        error(json!({"type": "Precompiled", "precompiled_charsmap": "/////w=="})).contains("ends inside")
    );
    assert!(error(json!({"type": "Precompiled", "precompiled_charsmap": "AAAAAP8="})).contains("not UTF-8"));
    let bad = Normalizer::from_json(&json!({"type": "Replace", "content": "", "pattern": {"Regex": "("}}));
    assert!(matches!(bad.err(), Some(Error::BadPattern { .. })));
}

#[test]
fn slices_keep_their_origins() {
    let aligned = Aligned::of("aé中").unwrap();
    assert_eq!(aligned.origins, [(0, 1), (1, 3), (1, 3), (3, 6), (3, 6), (3, 6)]);
    let part = aligned.slice(1..6).unwrap();
    assert_eq!((part.text.as_str(), part.origin(0..5)), ("é中", Some((1, 6))));
    assert_eq!(part.origin(2..2), None);
    assert_eq!(aligned.slice(0..2), None);
}

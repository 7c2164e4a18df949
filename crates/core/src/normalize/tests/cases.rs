//! Results of Hugging Face tokenizers 0.23.3, measured: the text that a text becomes, and the origin of each of
//! its characters (the offsets of a tokenizer whose tokens are characters).

use super::{normalized, normalizer};

type Case = (&'static str, &'static str, &'static str, &'static [(u32, u32)]);

#[rustfmt::skip]
const CASES: &[Case] = &[
    (r#"{"type": "NFC"}"#, "e\u{301}x", "éx", &[(0, 1), (3, 4)]),
    (r#"{"type": "NFC"}"#, "e\u{323}\u{301}\u{301}", "\u{1eb9}\u{301}\u{301}", &[(0, 1), (3, 5), (5, 7)]),
    (r#"{"type": "NFC"}"#, "\u{1100}\u{1161}\u{11a8}", "\u{ac01}", &[(0, 3)]),
    (r#"{"type": "NFC"}"#, "\u{212b}A", "ÅA", &[(0, 3), (3, 4)]),
    (r#"{"type": "NFC"}"#, "\u{f74}\u{f73}", "\u{f71}\u{f72}\u{f74}", &[(0, 3), (0, 3), (3, 6)]),
    (r#"{"type": "NFC"}"#, "\u{958}", "\u{915}\u{93c}", &[(0, 3), (0, 3)]),
    (r#"{"type": "NFC"}"#, "\u{11d68}\u{301}", "\u{11d68}\u{301}", &[(0, 4), (4, 6)]),
    (r#"{"type": "NFD"}"#, "éa", "e\u{301}a", &[(0, 2), (0, 2), (2, 3)]),
    (r#"{"type": "NFD"}"#, "\u{ac01}\u{323}", "\u{1100}\u{1161}\u{11a8}\u{323}", &[(0, 3), (0, 3), (0, 3), (3, 5)]),
    (r#"{"type": "NFD"}"#, "\u{1ead}\u{323}", "a\u{323}\u{323}\u{302}", &[(0, 3), (0, 3), (3, 5), (3, 5)]),
    (r#"{"type": "NFKC"}"#, "\u{fb01}\u{301}", "fí", &[(0, 3), (3, 5)]),
    (r#"{"type": "NFKC"}"#, "\u{bd}", "1\u{2044}2", &[(0, 2), (0, 2), (0, 2)]),
    (r#"{"type": "NFKC"}"#, "\u{ff76}\u{ff9e}", "\u{30ac}", &[(0, 3)]),
    (r#"{"type": "NFKC"}"#, "\u{2460}a\u{323}\u{302}", "1\u{1ead}", &[(0, 3), (3, 4)]),
    (r#"{"type": "NFKD"}"#, "\u{2026}\u{1ead}", "...a\u{323}\u{302}", &[(0, 3), (0, 3), (0, 3), (3, 6), (3, 6), (3, 6)]),
    (r#"{"type": "NFKD"}"#, "\u{1e9b}\u{323}", "s\u{323}\u{307}", &[(0, 3), (3, 5), (3, 5)]),
    (r#"{"type": "NFKD"}"#, "\u{344}\u{323}", "\u{323}\u{308}\u{301}", &[(0, 2), (2, 4), (2, 4)]),
    (r#"{"type": "Lowercase"}"#, "A\u{130}b", "ai\u{307}b", &[(0, 1), (1, 3), (1, 3), (3, 4)]),
    (r#"{"type": "Lowercase"}"#, "\u{391}\u{3a3}", "\u{3b1}\u{3c3}", &[(0, 2), (2, 4)]),
    (r#"{"type": "StripAccents"}"#, "\u{301}e\u{304}\u{304}o", "eo", &[(2, 3), (7, 8)]),
    (r#"{"type": "Nmt"}"#, "\u{1}a\u{e}\u{9}b\u{200b}\u{2581}", "a b  ", &[(1, 2), (3, 4), (4, 5), (5, 8), (8, 11)]),
    (r#"{"type": "ByteLevel"}"#, "a é\u{4e2d}", "a\u{120}Ã\u{a9}ä\u{b8}\u{143}", &[(0, 1), (1, 2), (2, 4), (2, 4), (4, 7), (4, 7), (4, 7)]),
    (r#"{"type": "Strip", "strip_left": true, "strip_right": true}"#, " \u{3000}ab \u{a}", "ab", &[(4, 5), (5, 6)]),
    (r#"{"type": "Strip", "strip_left": true, "strip_right": true}"#, "  ", "", &[]),
    (r#"{"type": "Prepend", "prepend": "▁x"}"#, "é", "\u{2581}xé", &[(0, 2), (0, 2), (0, 2)]),
    (r#"{"type": "Prepend", "prepend": "▁x"}"#, "", "", &[]),
    (r#"{"type": "Replace", "pattern": {"String": "ab"}, "content": "xyz"}"#, "aabb ab", "axyzb xyz", &[(0, 1), (2, 3), (2, 3), (2, 3), (3, 4), (4, 5), (6, 7), (6, 7), (6, 7)]),
    (r#"{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}"#, "a b", "a\u{2581}b", &[(0, 1), (1, 2), (2, 3)]),
    (r#"{"type": "Replace", "pattern": {"String": "a"}, "content": ""}"#, "abaé", "bé", &[(1, 2), (3, 5)]),
    (r#"{"type": "Replace", "pattern": {"String": ""}, "content": "-"}"#, "aé", "-a-é-", &[(0, 0), (0, 1), (0, 1), (1, 3), (1, 3)]),
    (r#"{"type": "Replace", "pattern": {"Regex": "a*"}, "content": "<>"}"#, "baab", "<>b<>b<>", &[(0, 0), (0, 0), (0, 1), (2, 3), (2, 3), (3, 4), (3, 4), (3, 4)]),
    (r#"{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true}"#, "\0A\u{4e2d}é\u{ad}\u{9}", "a \u{4e2d} e ", &[(1, 2), (2, 5), (2, 5), (2, 5), (5, 7), (9, 10)]),
    (r#"{"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"}]}"#, "É \u{a}\u{9}E\u{301}", "é é", &[(0, 2), (4, 5), (5, 6)]),
];

#[test]
fn results_and_origins_are_those_of_hugging_face() {
    for (json, text, want, origins) in CASES {
        let result = normalized(&normalizer(serde_json::from_str(json).unwrap()), text);
        assert_eq!(result.text, *want, "{json} {text:?}");
        let found: Vec<_> = result.text.char_indices().map(|(at, _)| result.origins[at]).collect();
        assert_eq!(found, *origins, "{json} {text:?}");
    }
}

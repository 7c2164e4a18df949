//! Tokenizers with a pipeline: whatever the stages cut, the ids are those of the oracle.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::encode::{Allowed, Invalid, Options, Stream};
use crate::merge::symbols::tests::{oracle, vocabularies};
use crate::merge::symbols::{Order, Unit, Vocabulary};
use crate::{Progress, Result, Tokenizer};

fn tokenizer(vocabulary: &Vocabulary, stages: Value) -> Result<Tokenizer> {
    let mut definition = json!({
        "unit": if vocabulary.unit == Unit::Bytes { "bytes" } else { "characters" },
        "byte_tokens": vocabulary.byte_tokens,
        "unknown": vocabulary.unknown,
        "suffix": vocabulary.suffix,
        "prefix": vocabulary.first,
        "decoder": {"type": "Fuse"},
    });
    for (name, stage) in stages.as_object().unwrap() {
        definition[name] = stage.clone();
    }
    let (merges, scores) = match &vocabulary.order {
        Order::Ids => (None, None),
        Order::Ranks(ranks) => (None, Some(ranks.iter().map(|&rank| -(rank as f32)).collect())),
        Order::Merges(merges) => (Some(merges.clone()), None),
    };
    Tokenizer::from_definition(vocabulary.tokens.clone(), merges, scores, &definition.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn cutting_a_text_without_pretokens_changes_nothing(
        vocabulary in vocabularies(),
        text in "[abé中🙂c文 ]{0,60}",
    ) {
        // With ids as ranks, a whole text that is a token is that token.
        prop_assume!(!matches!(vocabulary.order, Order::Ids) && !text.is_empty());
        let tokenizer = tokenizer(&vocabulary, json!({})).unwrap();
        let expected = oracle(&vocabulary, &text);
        // Twice: the second time, the cache knows the parts.
        for _ in 0..2 {
            prop_assert_eq!(&tokenizer.encode_ordinary(&text).unwrap(), &expected);
        }
        let (ids, spans) = tokenizer.encode_stage_spans(&text, &Options::ORDINARY).unwrap().unwrap();
        prop_assert_eq!(ids, expected);
        prop_assert!(spans.bytes.iter().all(|&(start, end)| start <= end && end <= text.len()));
        let batch = tokenizer.encode_batch(&[&text, &text], &Options::ORDINARY, 2, &Progress::new()).unwrap();
        prop_assert_eq!(batch.ids.len(), 2 * spans.bytes.len());
    }
}

/// Stages with which each character becomes one, and others.
fn stages() -> impl Strategy<Value = Value> {
    let normalizer = prop::sample::select(vec![
        json!(null),
        json!({"type": "NFC"}),
        json!({"type": "Lowercase"}),
        json!({"type": "Strip", "strip_left": true, "strip_right": false}),
        json!({"type": "Prepend", "prepend": " "}),
        json!({"type": "Prepend", "prepend": "ab"}),
        json!({"type": "Replace", "pattern": {"String": "c"}, "content": "é"}),
        json!({"type": "Replace", "pattern": {"String": "ab"}, "content": "c"}),
        json!({"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "c"},
            {"type": "Replace", "pattern": {"String": "c"}, "content": " "},
        ]}),
    ]);
    let metaspace = |scheme: &str, split: bool| json!({"type": "Metaspace", "replacement": " ", "prepend_scheme": scheme, "split": split});
    let split = |behavior: &str, invert: bool| json!({"type": "Split", "pattern": {"Regex": "c+|é"}, "behavior": behavior, "invert": invert});
    let pretokenizer = prop::sample::select(vec![
        json!(null),
        metaspace("first", false),
        metaspace("always", true),
        metaspace("never", true),
        json!({"type": "ByteLevel", "add_prefix_space": true, "use_regex": true}),
        json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}),
        json!({"type": "FixedLength", "length": 2}),
        split("Isolated", false),
        split("Removed", false),
        split("Removed", true),
        json!({"type": "Sequence", "pretokenizers": [split("Isolated", false), metaspace("first", false)]}),
        json!({"type": "Sequence", "pretokenizers": [split("MergedWithNext", false), metaspace("always", false)]}),
        json!({"type": "Sequence", "pretokenizers": [metaspace("always", false), split("Contiguous", false)]}),
    ]);
    let added = prop::sample::select(vec![
        json!([]),
        json!([{"id": 900, "content": "ca", "special": true, "lstrip": true}, {"id": 901, "content": "文", "normalized": true}]),
    ]);
    (normalizer, pretokenizer, added, any::<bool>()).prop_map(|(normalizer, pretokenizer, added, fuses)| {
        json!({"normalizer": normalizer, "pre_tokenizer": pretokenizer, "added_tokens": added, "fuse_unknown": fuses})
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn offsets_that_ids_tell_are_those_of_the_stages(
        vocabulary in vocabularies(),
        stages in stages(),
        text in "[abé中🙂c文 ]{0,20}",
        trims in prop::option::of(any::<bool>()),
    ) {
        let Ok(tokenizer) = tokenizer(&vocabulary, stages) else { return Ok(()) };
        let details = tokenizer.encode_details(&text, &Allowed::All).unwrap();
        let mut spans = vec![(7, 7)];
        if tokenizer.offsets_of_ids(&text, &details.ids, trims, &mut spans) {
            let expected = trims.map_or_else(|| details.chars.clone(), |prefixed| tokenizer.trimmed(&details, prefixed));
            prop_assert_eq!(spans, expected);
        }
    }
}

#[test]
fn ids_tell_the_offsets_of_usual_texts() {
    let tokenizer = small();
    let told = |text: &str| {
        let details = tokenizer.encode_details(text, &Allowed::All).unwrap();
        let mut spans = Vec::new();
        let known = tokenizer.offsets_of_ids(text, &details.ids, None, &mut spans);
        assert!(!known || spans == details.chars, "{text}");
        known.then_some(spans)
    };
    assert_eq!(told("low lower"), Some(vec![(0, 3), (3, 7), (7, 9)]));
    // A character of two bytes belongs to both, and the space before the text to the first character.
    assert_eq!(told("é"), Some(vec![(0, 1), (0, 1), (0, 1)]));
    assert_eq!(told(""), Some(vec![]));
    let mut spans = Vec::new();
    for ids in [&[][..], &[305][..], &[306, 306][..], &[u32::MAX][..]] {
        assert!(!tokenizer.offsets_of_ids("low", ids, None, &mut spans), "ids of another text: {ids:?}");
    }
}

/// Characters with byte fallback and a space before the text, as Llama 2.
fn small() -> Tokenizer {
    let tokens = [" ", "l", "o", "w", "lo", "low", " low", "e", "r", "er"];
    let tokens: Vec<_> = tokens.iter().map(|token| token.as_bytes().to_vec()).zip(300..).collect();
    let merges = vec![(301, 302, 304), (304, 303, 305), (300, 305, 306), (307, 308, 309)];
    let definition = json!({
        "unit": "characters",
        "byte_tokens": (0..256).collect::<Vec<u32>>(),
        "added_tokens": [
            {"content": "<s>", "id": 310, "special": true},
            {"content": "lower case", "id": 311, "special": false},
        ],
        "normalizer": {"type": "Prepend", "prepend": " "},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ]},
    });
    Tokenizer::from_definition(tokens, Some(merges), None, &definition.to_string()).unwrap()
}

#[test]
fn stages_run_in_order_and_back() {
    let tokenizer = small();
    let all = Options { allowed: Allowed::All, ..Options::SAFE };
    let ids = tokenizer.encode("lower <s>é lower case", &all).unwrap();
    assert_eq!(ids, [306, 309, 300, 310, 300, 0xc3, 0xa9, 300, 311]);
    assert_eq!(tokenizer.decode_whole(&ids, false, false).unwrap(), "lower <s> é lower case".as_bytes());
    assert_eq!(tokenizer.decode_whole(&ids, false, true).unwrap(), "lower  é lower case".as_bytes());
    let mut stream = Stream::new(Invalid::Refuse, false);
    let streamed: String = ids.iter().map(|&id| stream.push(&tokenizer, &[id]).unwrap()).collect();
    assert_eq!(streamed, "lower <s> é lower case");
    assert!(tokenizer.encode("<s>", &Options::SAFE).is_err());
    assert_eq!(tokenizer.encode("<s>", &Options::ORDINARY).unwrap()[0], 300);
}

#[test]
fn bytes_that_form_no_character_are_replaced_one_by_one() {
    let tokenizer = small();
    assert_eq!(
        tokenizer.decode_whole(&[301, 0xe4, 0xb8, 302], true, false).unwrap(),
        "l\u{fffd}\u{fffd}o".as_bytes()
    );
    assert_eq!(tokenizer.decode_whole(&[0xc3, 0xa9], true, false).unwrap(), "é".as_bytes());
}

#[test]
fn a_tokenizer_with_stages_is_neither_truncated_nor_a_base() {
    assert!(small().truncated(300).unwrap_err().to_string().contains("stages of another library"));
    assert!(small().check_base().is_err());
}

#[test]
fn damaged_definitions_are_refused() {
    for definition in [
        "",
        "{}",
        r#"{"unit": "bytes", "byte_tokens": [1]}"#,
        r#"{"unit": "bytes", "decoder": {"type": "No"}}"#,
    ] {
        assert!(Tokenizer::from_definition(vec![(b"a".to_vec(), 1)], None, None, definition).is_err());
    }
    let definition = r#"{"unit": "bytes"}"#;
    assert!(Tokenizer::from_definition(vec![(vec![], 1)], None, None, definition).is_err());
    assert!(Tokenizer::from_definition(vec![(b"a".to_vec(), u32::MAX)], None, None, definition).is_err());
}

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

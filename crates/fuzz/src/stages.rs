//! Stages: normalizers, pre-tokenizers and decoders from any file, on any text.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use merganser_core::Tokenizer;
use merganser_core::encode::Options;
use merganser_core::normalize::{Aligned, Normalizer};
use merganser_core::pretokenize::{Pieces, Pretokenizer, Scratch};
use serde_json::{Value, json};

use crate::bytes::{take_u16, text};

/// Checks that the origins of a text are in the text that the user gave.
fn check_origins(aligned: &Aligned, given: &str) {
    assert_eq!(aligned.origins.len(), aligned.text.len());
    for &(start, end) in &aligned.origins {
        assert!(start <= end && end as usize <= given.len(), "{start}..{end} of {}", given.len());
        assert!(given.is_char_boundary(start as usize) && given.is_char_boundary(end as usize));
    }
}

fn check_normalizer(normalizer: &Normalizer, text: &str) {
    let Ok(plain) = normalizer.normalize(text) else { return };
    let aligned = normalizer.normalize_aligned(&Aligned::of(text).unwrap()).unwrap();
    assert_eq!(aligned.text, plain);
    check_origins(&aligned, text);
}

/// Normalizer, pre-tokenizer and decoder as JSON, and the text; separated by zero bytes.
pub fn stages(data: &[u8]) {
    let mut parts = data.splitn(4, |&byte| byte == 0);
    let mut json = || serde_json::from_slice::<Value>(parts.next()?).ok();
    let (Some(normalizer), Some(pretokenizer), Some(decoder)) = (json(), json(), json()) else { return };
    let text = text(parts.next().unwrap_or_default());
    if text.len() > 1 << 12 {
        return;
    }
    if let Ok(normalizer) = Normalizer::from_json(&normalizer) {
        check_normalizer(&normalizer, &text);
    }
    if let Ok(pretokenizer) = Pretokenizer::from_json(&pretokenizer) {
        let (mut pieces, mut same) = (Pieces::default(), Pieces::default());
        let given = Cow::Borrowed(&text[..]);
        if let Ok(changed) = pretokenizer.pretokenize(given, true, &mut Scratch::default(), &mut pieces) {
            assert_eq!(pieces.ends.last().map_or(0, |&end| end as usize), changed.len());
            assert!(pieces.ends.is_sorted_by(|a, b| a < b));
            assert!(pieces.dropped.iter().all(|&at| (at as usize) < pieces.ends.len()));
            let aligned =
                pretokenizer.pretokenize_aligned(&Aligned::of(&text).unwrap(), true, &mut same).unwrap();
            assert_eq!((aligned.text.as_str(), &same), (&*changed, &pieces));
            check_origins(&aligned, &text);
        }
    }
    for unit in ["bytes", "characters"] {
        let tokens: Vec<(Vec<u8>, u32)> = match unit {
            "bytes" => {
                (0..=255).map(|byte| vec![byte]).chain([b"ab".to_vec(), b" a".to_vec()]).zip(0..).collect()
            }
            _ => ["a", "b", " ", "▁", "ab", "▁a", "潜"]
                .iter()
                .map(|token| token.as_bytes().to_vec())
                .zip(0..)
                .collect(),
        };
        let definition = json!({
            "unit": unit,
            "unknown": 3,
            "normalizer": normalizer,
            "pre_tokenizer": pretokenizer,
            "decoder": decoder,
            "added_tokens": [
                {"id": 300, "content": "<s>", "special": true},
                {"id": 301, "content": "ba", "normalized": true, "lstrip": true},
            ],
        });
        let Ok(tokenizer) = Tokenizer::from_definition(tokens, None, None, &definition.to_string()) else {
            return;
        };
        let Ok(ids) = tokenizer.encode(&text, &Options::ORDINARY) else { continue };
        assert_eq!(tokenizer.encode(&text, &Options::ORDINARY).unwrap(), ids);
        let (same, _) = tokenizer.encode_stage_spans(&text, &Options::ORDINARY).unwrap().unwrap();
        assert_eq!(same, ids);
        let _ = tokenizer.decode(&ids);
    }
}

/// The length of a precompiled character map, the map, and the text.
pub fn charsmap(mut data: &[u8]) {
    let len = take_u16(&mut data).min(data.len());
    let (map, rest) = data.split_at(len);
    let text = text(rest);
    let map = BASE64_STANDARD.encode(map);
    let precompiled = json!({"type": "Precompiled", "precompiled_charsmap": map});
    if let Ok(normalizer) = Normalizer::from_json(&precompiled) {
        check_normalizer(&normalizer, &text);
    }
}

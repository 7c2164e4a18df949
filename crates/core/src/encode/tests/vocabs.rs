//! Real vocabularies on real text. Skipped where `../shared` is missing: its files may not be redistributed.

use std::collections::HashMap;
use std::path::PathBuf;

use super::{check_pretoken, encode_pretoken, rank_map, splitter};
use crate::Tokenizer;
use crate::merge::naive;

fn shared(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(path);
    path.exists().then_some(path)
}

fn base64(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for digit in text.bytes().filter_map(|c| digits.iter().position(|&d| d == c)) {
        bits = bits << 6 | digit as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

fn load(name: &str) -> Option<Tokenizer> {
    let file = std::fs::read_to_string(shared(&format!("vocabs/{name}.tiktoken"))?).unwrap();
    let rank = |line: &str| line.split_once(' ').map(|(token, id)| (base64(token), id.parse().unwrap()));
    let ranks = file.lines().filter_map(rank).collect();
    Some(Tokenizer::from_ranks(ranks, splitter(), vec![]).unwrap())
}

/// (name, tokens, whole-pre-token only, formed from tokens that rank after them)
const VOCABULARIES: [(&str, usize, usize, usize); 5] = [
    ("gpt2", 50_256, 0, 0),
    ("cl100k_base", 100_256, 0, 0),
    ("o200k_base", 199_998, 0, 0),
    ("llama3", 128_000, 588, 90),
    ("qwen3", 151_643, 0, 0),
];

#[test]
fn every_token_has_its_merge_or_is_known_not_to() {
    for (name, tokens, whole, backwards) in VOCABULARIES {
        let Some(tokenizer) = load(name) else { continue };
        assert_eq!(tokenizer.vocab_size(), tokens, "{name}");
        assert_eq!(tokenizer.whole_pretoken_only().len(), whole, "{name}");
        assert_eq!(tokenizer.merges().len(), tokens - 256 - whole, "{name}");
        let parts: HashMap<u32, (u32, u32)> = tokenizer.merges().iter().map(|m| (m.2, (m.0, m.1))).collect();
        fn latest(id: u32, parts: &HashMap<u32, (u32, u32)>) -> u32 {
            parts.get(&id).map_or(id, |&(left, right)| id.max(latest(left, parts)).max(latest(right, parts)))
        }
        let found = parts.keys().filter(|&&id| latest(id, &parts) > id).count();
        assert_eq!(found, backwards, "{name}");
    }
}

/// Words with the white space before them, the shape of most pre-tokens; and whole lines as long ones.
fn pretokens(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.split_inclusive('\n').filter(|line| line.len() < 2000).step_by(29);
    text.split_inclusive(char::is_whitespace).take(8_000).chain(lines.take(12))
}

#[test]
fn real_text_encodes_as_the_oracle_says() {
    for (name, ..) in VOCABULARIES {
        let Some(tokenizer) = load(name) else { continue };
        let ranks = rank_map(&tokenizer);
        for file in ["english.txt", "multilingual.txt", "code.txt", "frankenstein_raw.txt"] {
            let Some(path) = shared(&format!("corpora/{file}")) else { continue };
            let bytes = std::fs::read(path).unwrap();
            let middle = bytes.len() / 3;
            let text = String::from_utf8_lossy(&bytes[middle..(middle + 300_000).min(bytes.len())]);
            for pretoken in pretokens(&text) {
                let pretoken = pretoken.as_bytes();
                assert_eq!(
                    encode_pretoken(&tokenizer, pretoken),
                    naive::encode_pretoken(pretoken, &ranks),
                    "{name} {file}"
                );
            }
        }
        for unit in ["a", " ", "\n", "=", "的", "e\u{301}", "ab "] {
            check_pretoken(&tokenizer, &ranks, unit.repeat(150).as_bytes());
            let long = unit.repeat(200_000 / unit.len());
            assert_eq!(tokenizer.decode(&encode_pretoken(&tokenizer, long.as_bytes())).unwrap(), long);
        }
    }
}

//! Encode: any vocabulary and any text against merging by definition.

use std::collections::HashMap;

use merganser_core::encode::{Allowed, Options};
use merganser_core::split::{Scratch, Splitter};
use merganser_core::{Progress, Tokenizer, unpack_ranks};

use crate::bytes::{choose, take, text};

const PATTERNS: [&str; 4] = ["gpt2", "gpt4", "o200k", r"[a-c ]+|\s+|."];
const SPECIALS: [&str; 3] = ["<|end|>", "<|e", "ab"];

/// Joins the pair that is the token of the lowest rank, leftmost first, until there is none.
fn merged(pretoken: &[u8], ranks: &HashMap<Vec<u8>, u32>) -> Vec<u32> {
    if let Some(&id) = ranks.get(pretoken) {
        return vec![id];
    }
    let mut parts: Vec<Vec<u8>> = pretoken.iter().map(|&byte| vec![byte]).collect();
    let rank = |pair: &[Vec<u8>]| ranks.get(&pair.concat()).copied();
    while let Some((_, at)) = parts.windows(2).zip(0..).filter_map(|(pair, at)| Some((rank(pair)?, at))).min()
    {
        let right = parts.remove(at + 1);
        parts[at].extend(right);
    }
    parts.iter().map(|part| ranks[part]).collect()
}

/// Reads a vocabulary: each pair of bytes joins two tokens, of which bytes from 0xE0 on mean the newest.
fn vocabulary(data: &mut &[u8]) -> Vec<(Vec<u8>, u32)> {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    for _ in 0..take(data) % 64 {
        let [left, right] = [take(data), take(data)].map(|byte| match byte {
            0xE0.. if tokens.len() > 256 => {
                let back = (byte - 0xE0) as usize % (tokens.len() - 256);
                tokens[tokens.len() - 1 - back].clone()
            }
            _ => vec![byte],
        });
        let token = [left, right].concat();
        if token.len() <= 64 && !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    tokens.into_iter().zip(0..).collect()
}

/// A vocabulary, a choice of pattern, and the text.
pub fn encode(mut data: &[u8]) {
    let ranks = vocabulary(&mut data);
    let pattern = choose(&mut data, &PATTERNS);
    let text = text(data);
    let splitter = Splitter::new(pattern).unwrap();
    let first = ranks.len() as u32;
    let specials = SPECIALS.iter().zip(first..).map(|(&token, id)| (token.into(), id)).collect();
    let by_bytes: HashMap<_, _> = ranks.iter().cloned().collect();
    // A token can be both an ordinary and a special one, which is an error.
    let Ok(tokenizer) = Tokenizer::from_ranks(ranks, splitter, specials) else {
        assert!(SPECIALS.iter().any(|token| by_bytes.contains_key(token.as_bytes())));
        return;
    };

    let ordinary = |text: &str| -> Vec<u32> {
        let mut ends = vec![];
        tokenizer.splitter().split(text, &mut Scratch::default(), &mut ends).unwrap();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let pretokens = starts.zip(&ends).map(|(start, &end)| &text.as_bytes()[start as usize..end as usize]);
        pretokens.flat_map(|pretoken| merged(pretoken, &by_bytes)).collect()
    };
    let expected = ordinary(&text);
    // Twice: the second time, pre-tokens are in the cache.
    for _ in 0..2 {
        assert_eq!(tokenizer.encode_ordinary(&text).unwrap(), expected);
    }
    assert_eq!(tokenizer.decode_bytes(&expected).unwrap(), text.as_bytes());

    let options = Options { allowed: Allowed::All, ..Options::ORDINARY };
    let mut with_specials = vec![];
    let (mut at, mut from) = (0, 0);
    while at < text.len() {
        let found = SPECIALS.iter().zip(first..).filter(|(token, _)| text[at..].starts_with(**token));
        match found.max_by_key(|(token, _)| token.len()) {
            Some((token, id)) => {
                with_specials.extend(ordinary(&text[from..at]));
                with_specials.push(id);
                at += token.len();
                from = at;
            }
            None => at += text[at..].chars().next().unwrap().len_utf8(),
        }
    }
    with_specials.extend(ordinary(&text[from..]));
    assert_eq!(tokenizer.encode(&text, &options).unwrap(), with_specials);
    let lines: Vec<&str> = text.split('\n').collect();
    let batch = tokenizer.encode_batch(&lines, &Options::ORDINARY, 1, &Progress::new()).unwrap();
    let each: Vec<u32> = lines.iter().flat_map(|line| ordinary(line)).collect();
    assert_eq!(batch.ids, each);
}

/// Packed ranks, as `.merganser` files hold them.
pub fn ranks(data: &[u8]) {
    let Ok(ranks) = unpack_ranks(data) else { return };
    let splitter = Splitter::new("gpt2").unwrap();
    if let Ok(tokenizer) = Tokenizer::from_ranks(ranks.clone(), splitter, vec![]) {
        assert_eq!(tokenizer.ranks().count(), ranks.len());
        let again = unpack_ranks(&tokenizer.packed_ranks()).unwrap();
        assert!(tokenizer.ranks().eq(again.iter().map(|(token, id)| (&token[..], *id))));
        let text = "the merganser dives, 潜水\n";
        assert_eq!(tokenizer.decode(&tokenizer.encode_ordinary(text).unwrap()).unwrap(), text);
    }
}

//! The encoders against each other, against hand-checked cases and against real vocabularies.

mod batch;
mod cases;
mod counted;
mod decode;
mod document;
mod laws;
mod pipeline;
mod runs;
mod special;
mod trainer;
mod vocabs;

use std::collections::HashMap;

use crate::Tokenizer;
use crate::merge::naive;
use crate::split::Splitter;

fn splitter() -> Splitter {
    Splitter::new("gpt2").unwrap()
}

/// The 256 bytes, then these tokens.
fn ranks_of<T: AsRef<[u8]>>(tokens: &[T]) -> Vec<(Vec<u8>, u32)> {
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    bytes.chain(tokens.iter().map(|token| token.as_ref().to_vec())).zip(0..).collect()
}

fn tokenizer_of<T: AsRef<[u8]>>(tokens: &[T]) -> Tokenizer {
    Tokenizer::from_ranks(ranks_of(tokens), splitter(), vec![]).unwrap()
}

fn with_specials() -> Tokenizer {
    let specials =
        [("<|a|>", 257), ("<|a|>b", 258), ("<|c|>", 259)].map(|(token, id)| (token.to_string(), id));
    Tokenizer::from_ranks(ranks_of(&["ab"]), splitter(), specials.to_vec()).unwrap()
}

fn rank_map(tokenizer: &Tokenizer) -> HashMap<Vec<u8>, u32> {
    tokenizer.ranks().map(|(bytes, id)| (bytes.to_vec(), id)).collect()
}

fn encode_pretoken(tokenizer: &Tokenizer, pretoken: &[u8]) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer.encode_pretoken(pretoken, &mut ids);
    ids
}

/// Checks what holds for every tokenizer, trained or imported: the fast encoder, naive merging by bytes and
/// naive merging by the derived pairs agree, and decoding returns the pre-token. Returns the ids.
fn check_pretoken(tokenizer: &Tokenizer, ranks: &HashMap<Vec<u8>, u32>, pretoken: &[u8]) -> Vec<u32> {
    let ids = encode_pretoken(tokenizer, pretoken);
    assert_eq!(ids, naive::encode_pretoken(pretoken, ranks), "{:?}", pretoken.escape_ascii().to_string());
    let merged = naive::by_bytes(pretoken, ranks);
    assert_eq!(merged, naive::by_pairs(pretoken, tokenizer.pairs().byte_ids(), tokenizer.merges()));
    let mut fast = Vec::new();
    tokenizer.pairs().merge(pretoken, &mut fast);
    assert_eq!(fast, merged);
    assert_eq!(tokenizer.decode_bytes(&ids).unwrap(), pretoken);
    ids
}

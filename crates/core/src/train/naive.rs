//! Naive: the oracle of training, which follows the definition and is so simple that it is unlikely to be
//! wrong.
//!
//! Every merge counts all pairs of all pre-tokens again, so it costs merges × corpus. It shares no code with
//! the fast trainer except the settings.

use std::collections::HashMap;

use super::{Merges, TieBreak, TrainSettings};
use crate::count::Counts;
use crate::merge::naive::encode_pretoken;

/// Merges every `left`, `right` in `tokens`, leftmost first: [1, 2, 3, 1, 2] with (1, 2) → 4 gives [4, 3, 4].
fn merge(tokens: &[u32], left: u32, right: u32, new: u32) -> Vec<u32> {
    let mut merged = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        if tokens[i..].starts_with(&[left, right]) {
            merged.push(new);
            i += 2;
        } else {
            merged.push(tokens[i]);
            i += 1;
        }
    }
    merged
}

/// The bytes in the order of Hugging Face's alphabet, found by building that alphabet.
fn huggingface_order() -> Vec<u8> {
    let visible = (b'!'..=b'~').chain(0xA1..=0xAC).chain(0xAE..=0xFF);
    let mut order: Vec<u8> = visible.collect();
    order.extend((0..=255).filter(|byte| !order.contains(byte)).collect::<Vec<u8>>());
    order
}

pub fn train(counts: &Counts, settings: &TrainSettings) -> Merges {
    let mut bytes: HashMap<u32, Vec<u8>> = match settings.base {
        Some(base) => base.ranks().map(|(bytes, id)| (id, bytes.to_vec())).collect(),
        None => (0..=255u8).map(|byte| (byte as u32, vec![byte])).collect(),
    };
    let ranks = bytes.iter().map(|(&id, bytes)| (bytes.clone(), id)).collect();
    let kept = counts.iter().filter(|&(_, count)| count >= settings.min_pretoken_count);
    let mut pretokens: Vec<(Vec<u32>, u64)> =
        kept.map(|(pretoken, count)| (encode_pretoken(pretoken, &ranks), count)).collect();
    let alphabet = huggingface_order();
    let mut merges = Merges::default();

    while merges.pairs.len() < settings.merges {
        let mut pairs: HashMap<(u32, u32), u64> = HashMap::new();
        let mut firsts: HashMap<(u32, u32), usize> = HashMap::new();
        for (tokens, count) in &pretokens {
            for pair in tokens.windows(2) {
                let seen = firsts.len();
                firsts.entry((pair[0], pair[1])).or_insert(seen);
                *pairs.entry((pair[0], pair[1])).or_default() += count;
            }
        }
        pairs.retain(|&(left, right), &mut count| {
            let token = [&bytes[&left][..], &bytes[&right]].concat();
            count >= settings.min_frequency.max(1)
                && token.len() <= settings.max_token_bytes.unwrap_or(usize::MAX)
                && !settings.forbidden.contains(&token)
        });
        let rank = |id: u32| match (settings.tie_break, &bytes[&id][..]) {
            (TieBreak::HuggingFace, &[byte]) => (0, alphabet.iter().position(|&b| b == byte).unwrap() as u32),
            _ => (1, id),
        };
        let best = pairs.into_iter().reduce(|a, b| {
            let ((l1, r1), (l2, r2)) = (a.0, b.0);
            let b_first = match settings.tie_break {
                TieBreak::First => firsts[&b.0] < firsts[&a.0],
                TieBreak::Bytes => (&bytes[&l2], &bytes[&r2]) > (&bytes[&l1], &bytes[&r1]),
                _ => (rank(l2), rank(r2)) < (rank(l1), rank(r1)),
            };
            if b.1 > a.1 || (b.1 == a.1 && b_first) { b } else { a }
        });
        let Some(((left, right), count)) = best else { break };
        let new = settings.first_id + merges.pairs.len() as u32;
        let token = [&bytes[&left][..], &bytes[&right]].concat();
        assert!(!bytes.values().any(|known| *known == token), "a witnessed merge never makes a token twice");
        bytes.insert(new, token);
        for (tokens, _) in &mut pretokens {
            *tokens = merge(tokens, left, right, new);
        }
        merges.pairs.push((left, right));
        merges.counts.push(count);
    }
    merges
}

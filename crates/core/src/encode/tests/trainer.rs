//! A trainer so simple that it is unlikely to be wrong: recounts every pair after every merge.

use std::collections::HashMap;

use crate::merge::naive::sweep;
use crate::train::TieBreak;

/// Counts of all pairs, overlaps included: `aaa` has two `a a`.
pub fn count_pairs(words: &[(Vec<u32>, u64)]) -> HashMap<(u32, u32), u64> {
    let mut counts = HashMap::new();
    for (ids, count) in words {
        for pair in ids.windows(2) {
            *counts.entry((pair[0], pair[1])).or_insert(0) += count;
        }
    }
    counts
}

/// At most `merges` merges, each of the most frequent pair; stops when no pair is left.
pub fn train(pretokens: &[(Vec<u8>, u64)], merges: usize, tie: TieBreak) -> Vec<(u32, u32)> {
    let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    let ids = |pretoken: &[u8]| pretoken.iter().map(|&byte| byte as u32).collect();
    let mut words: Vec<(Vec<u32>, u64)> =
        pretokens.iter().map(|(pretoken, count)| (ids(pretoken), *count)).collect();
    let mut learned = Vec::new();
    for new in (256..).take(merges) {
        let best = count_pairs(&words).into_iter().max_by(|&(a, n), &(b, m)| {
            n.cmp(&m).then_with(|| match tie {
                TieBreak::Ids => b.cmp(&a),
                TieBreak::HuggingFace => (hf(b.0), hf(b.1)).cmp(&(hf(a.0), hf(a.1))),
                TieBreak::Bytes => {
                    let bytes = |pair: (u32, u32)| (&tokens[pair.0 as usize], &tokens[pair.1 as usize]);
                    bytes(a).cmp(&bytes(b))
                }
                TieBreak::First | TieBreak::SentencePiece => unreachable!("they have oracles of their own"),
            })
        });
        let Some((pair, _)) = best else { break };
        tokens.push([&tokens[pair.0 as usize][..], &tokens[pair.1 as usize][..]].concat());
        learned.push(pair);
        for (ids, _) in &mut words {
            *ids = sweep(ids, pair, new);
        }
    }
    learned
}

/// The order of Hugging Face's byte alphabet: bytes that map to themselves, then the others.
fn hf(id: u32) -> u32 {
    let itself = |byte: &u32| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    match id {
        0..256 if itself(&id) => (0..id).filter(itself).count() as u32,
        0..256 => 188 + (0..id).filter(|byte| !itself(byte)).count() as u32,
        _ => id,
    }
}

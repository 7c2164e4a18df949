//! Naive: three ways to encode a pre-token, so simple that they are unlikely to be wrong. The oracle of every
//! other encoder.
//!
//! Each scans the whole pre-token for every single merge: O(n²) look-ups for n bytes, with an allocation at
//! each.
//!
//! Where they come from: [`by_bytes`] is how tiktoken encodes, [`by_pairs`] is how Hugging Face tokenizers
//! does, [`by_training_order`] is what training does to its own pre-tokens. For a trained vocabulary the
//! three agree; `docs/how-bpe-works.md` proves it.

use std::collections::HashMap;

/// Encodes a pre-token as tiktoken does: a pre-token that is itself a token is that token; any other is
/// merged [`by_bytes`].
pub fn encode_pretoken(pretoken: &[u8], ranks: &HashMap<Vec<u8>, u32>) -> Vec<u32> {
    match ranks.get(pretoken) {
        Some(&id) => vec![id],
        None => by_bytes(pretoken, ranks),
    }
}

/// Merges any two neighbors whose joined bytes are a token: lowest rank first, leftmost first.
///
/// With `ab` = 256 and `bc` = 257, `abc` becomes `ab c`: [256, 99].
pub fn by_bytes(pretoken: &[u8], ranks: &HashMap<Vec<u8>, u32>) -> Vec<u32> {
    let mut tokens: Vec<Vec<u8>> = pretoken.iter().map(|&byte| vec![byte]).collect();
    loop {
        let mut best = None;
        for i in 1..tokens.len() {
            let joined = [&tokens[i - 1][..], &tokens[i][..]].concat();
            if let Some(&rank) = ranks.get(&joined)
                && best.is_none_or(|(lowest, _)| rank < lowest)
            {
                best = Some((rank, i));
            }
        }
        let Some((_, i)) = best else { break };
        let right = tokens.remove(i);
        tokens[i - 1].extend(right);
    }
    tokens.iter().map(|token| ranks[token]).collect()
}

/// Merges only the listed pairs `(left, right, new)`: lowest `new` first, leftmost first.
pub fn by_pairs(pretoken: &[u8], byte_ids: &[u32; 256], merges: &[(u32, u32, u32)]) -> Vec<u32> {
    let made: HashMap<(u32, u32), u32> =
        merges.iter().map(|&(left, right, new)| ((left, right), new)).collect();
    let mut ids = ids_of_bytes(pretoken, byte_ids);
    loop {
        let mut best = None;
        for i in 1..ids.len() {
            if let Some(&new) = made.get(&(ids[i - 1], ids[i]))
                && best.is_none_or(|(lowest, _)| new < lowest)
            {
                best = Some((new, i));
            }
        }
        let Some((new, i)) = best else { break };
        ids[i - 1] = new;
        ids.remove(i);
    }
    ids
}

/// Applies each merge once, in the order given, wherever it fits from left to right; never returns to an
/// earlier one.
pub fn by_training_order(pretoken: &[u8], byte_ids: &[u32; 256], merges: &[(u32, u32, u32)]) -> Vec<u32> {
    let mut ids = ids_of_bytes(pretoken, byte_ids);
    for &(left, right, new) in merges {
        ids = sweep(&ids, (left, right), new);
    }
    ids
}

/// Replaces a pair by a new token, from left to right: `[1, 2, 3, 1, 2]` with (1, 2) → 4 gives `[4, 3, 4]`,
/// and `[1, 1, 1]` with (1, 1) → 5 gives `[5, 1]`.
pub fn sweep(ids: &[u32], pair: (u32, u32), new: u32) -> Vec<u32> {
    let mut out = Vec::new();
    let mut i = 0;
    while i < ids.len() {
        if i + 1 < ids.len() && (ids[i], ids[i + 1]) == pair {
            out.push(new);
            i += 2;
        } else {
            out.push(ids[i]);
            i += 1;
        }
    }
    out
}

fn ids_of_bytes(pretoken: &[u8], byte_ids: &[u32; 256]) -> Vec<u32> {
    pretoken.iter().map(|&byte| byte_ids[byte as usize]).collect()
}

//! Derive: ranked tokens become merges.
//!
//! A vocabulary stored as ranks does not say which two tokens form a third. It need not: left alone, the
//! bytes of a token merge step by step until two tokens remain, and no other two can ever form it (the lemma
//! in `docs/how-bpe-works.md`). So the bytes of every token are encoded with the tokens shorter than it. If
//! two ids remain, they are its merge; if more remain, no merge forms it and it is *whole-pre-token only*: it
//! occurs only where the entire pre-token is that token.
//!
//! Shorter, not lower-ranked: an imported vocabulary may rank `abc` below `ab`, and tiktoken still builds
//! `abc` out of `ab` and `c`. For a trained vocabulary the two orders give the same result.
//!
//! Cost: one encoding per token, about 0.1 s for the 200,000 of o200k. Hugging Face's converters recover
//! merges from tiktoken files in a similar way. When it loses: a token of many megabytes, as a corpus of one
//! endlessly repeated character yields, is encoded like a text of that size.

use super::pairs::Pairs;

/// The merges of a vocabulary, as a list and as a table.
pub(crate) struct Derived {
    pub pairs: Pairs,
    /// (left, right, new), lowest new id first.
    pub merges: Vec<(u32, u32, u32)>,
    /// The ids of tokens that no merge forms, lowest first.
    pub whole_pretoken_only: Vec<u32>,
}

/// Derives the merges of a vocabulary; `ranks` holds every token once.
pub(crate) fn derive(byte_ids: [u32; 256], ranks: &[(Vec<u8>, u32)]) -> Derived {
    let tokens = ranks.iter().map(|(bytes, id)| (&bytes[..], *id));
    let mut longer: Vec<(&[u8], u32)> = tokens.filter(|(bytes, _)| bytes.len() > 1).collect();
    longer.sort_unstable_by_key(|&(bytes, id)| (bytes.len(), id));
    let mut pairs = Pairs::new(byte_ids, longer.len());
    let mut merges = Vec::with_capacity(longer.len());
    let mut whole_pretoken_only = Vec::new();
    let mut ids = Vec::new();
    for (bytes, id) in longer {
        ids.clear();
        pairs.merge(bytes, &mut ids);
        if let [left, right] = ids[..] {
            pairs.insert(left, right, id);
            merges.push((left, right, id));
        } else {
            whole_pretoken_only.push(id);
        }
    }
    merges.sort_unstable_by_key(|&(_, _, new)| new);
    whole_pretoken_only.sort_unstable();
    Derived { pairs, merges, whole_pretoken_only }
}

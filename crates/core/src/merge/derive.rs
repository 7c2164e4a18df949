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
//! Cost: one encoding per token, about 40 ms for the 200,000 of o200k on one thread. Hugging Face's converters recover
//! merges from tiktoken files in a similar way. When it loses: a token of many megabytes, as a corpus of one
//! endlessly repeated character yields, is encoded like a text of that size.

//!
//! A file may state where each token divides. [`divide`] proves it in a fifth of the time, or refuses it:
//!
//! > Let a token t = l r, and every token that it is made of, have a higher id than its own merged parts. It is formed
//! > by the merge (l, r) if and only if l and r are formed by theirs, and no merge crosses the boundary between them
//! > before. Left alone, l and r each form in the order of ids. So the two tokens at the boundary are known at all
//! > times: go back from (l, r), each time undoing the newer of the two, of equal ones the right one, because the
//! > leftmost merge goes first. A pair (a, b) at the boundary, until a token c that contains a or b forms, must not form
//! > a token lower than c, nor c itself if c contains b.
//!
//! This is the test of the `bpe` crate for two neighboring tokens. The few tokens of imported vocabularies that are
//! ranked below their parts, and those made of them, are merged: all their bytes must become that token.

use std::ops::Range;

use super::pairs::{NONE, Pairs};
use crate::threads::{map, thread_count};

/// The merges of a vocabulary, as a list and as a table.
pub(crate) struct Derived {
    pub pairs: Pairs,
    /// (left, right, new), lowest new id first.
    pub merges: Vec<(u32, u32, u32)>,
    /// The ids of tokens that no merge forms, lowest first.
    pub whole_pretoken_only: Vec<u32>,
}

/// Derives the merges of a vocabulary; `ranks` holds every token once.
pub(crate) fn derive(byte_ids: [u32; 256], ranks: &[(&[u8], u32)]) -> Derived {
    let mut longer: Vec<_> = ranks.iter().copied().filter(|(bytes, _)| bytes.len() > 1).collect();
    longer.sort_unstable_by_key(|&(bytes, id)| (bytes.len(), id));
    let mut pairs = Pairs::new(byte_ids, longer.len());
    let mut merges = Vec::with_capacity(longer.len());
    let mut whole_pretoken_only = Vec::new();
    // Tokens of one length are not part of each other, so threads share them.
    for same in longer.chunk_by(|(one, _), (other, _)| one.len() == other.len()) {
        let found = shared(same.len(), |range| {
            let mut ids = Vec::new();
            let two = |&(bytes, _): &(&[u8], u32)| {
                ids.clear();
                pairs.merge(bytes, &mut ids);
                if let [left, right] = ids[..] { (left, right) } else { UNFORMED }
            };
            same[range].iter().map(two).collect::<Vec<_>>()
        });
        for (&(_, id), (left, right)) in same.iter().zip(found.into_iter().flatten()) {
            if (left, right) == UNFORMED {
                whole_pretoken_only.push(id);
            } else {
                pairs.insert(left, right, id);
                merges.push((left, right, id));
            }
        }
    }
    merges.sort_unstable_by_key(|&(_, _, new)| new);
    whole_pretoken_only.sort_unstable();
    Derived { pairs, merges, whole_pretoken_only }
}

/// The two tokens that a merge joins; [`NONE`] for bytes and tokens that no merge forms.
type Parts = (u32, u32);
const UNFORMED: Parts = (NONE, NONE);

/// From this many tokens on, threads share the work.
const MANY: usize = 1 << 12;

/// Takes the merges from `lefts`, the length of the left part of each token, 0 where no merge forms it; or returns the
/// index of a token for which that is not what [`derive`] finds. `ranks` are sorted by id and hold
/// every token once, and `find` returns the id of a token.
pub(crate) fn divide(
    byte_ids: [u32; 256],
    ranks: &[(&[u8], u32)],
    lefts: &[u32],
    find: &(dyn Fn(&[u8]) -> Option<u32> + Sync),
) -> Result<Derived, usize> {
    let found = shared(ranks.len(), |range| {
        range
            .map(|at| divided(ranks[at].0, lefts[at] as usize, find).ok_or(at))
            .collect::<Result<Vec<_>, _>>()
    });

    let mut pairs = Pairs::new(byte_ids, ranks.len());
    let end = ranks.last().map_or(0, |&(_, id)| id as usize + 1);
    let mut parts = vec![UNFORMED; end];
    // Whether a token and all that it is made of have higher ids than their merged parts.
    let mut in_order = vec![false; end];
    byte_ids.iter().for_each(|&id| in_order[id as usize] = true);
    let mut merges = Vec::with_capacity(ranks.len());
    let mut whole = Vec::new();
    let mut at = 0;
    for found in found {
        for (left, right) in found? {
            let (bytes, id) = ranks[at];
            if lefts[at] > 0 {
                pairs.insert(left, right, id);
                let is_before =
                    |part: u32| in_order[part as usize] && (part < id || parts[part as usize] == UNFORMED);
                in_order[id as usize] = is_before(left) && is_before(right);
                parts[id as usize] = (left, right);
                merges.push((left, right, id));
            } else if bytes.len() > 1 {
                whole.push(at);
            }
            at += 1;
        }
    }

    let wrong = shared(ranks.len(), |mut range| {
        let mut ids = Vec::new();
        range.find(|&at| {
            let (bytes, id) = ranks[at];
            if lefts[at] == 0 {
                return false;
            }
            if in_order[id as usize] {
                return !holds(&pairs, &parts, id);
            }
            ids.clear();
            pairs.merge(bytes, &mut ids);
            ids != [id]
        })
    });
    if let Some(at) = wrong.into_iter().flatten().next() {
        return Err(at);
    }
    let mut ids = Vec::new();
    for &at in &whole {
        ids.clear();
        pairs.merge(ranks[at].0, &mut ids);
        if ids.len() < 3 {
            return Err(at);
        }
    }
    let whole_pretoken_only = whole.into_iter().map(|at| ranks[at].1).collect();
    Ok(Derived { pairs, merges, whole_pretoken_only })
}

/// Returns the parts of a token of which the left one has this length, if both are tokens.
fn divided(bytes: &[u8], left: usize, find: &(dyn Fn(&[u8]) -> Option<u32> + Sync)) -> Option<Parts> {
    if left == 0 {
        return Some(UNFORMED);
    }
    let (left, right) = bytes.split_at_checked(left)?;
    find(left).zip(find(right))
}

/// Whether the bytes of a token in order merge to its two parts, given that this holds for all shorter ones.
fn holds(pairs: &Pairs, parts: &[Parts], id: u32) -> bool {
    let (mut before, mut after) = parts[id as usize];
    loop {
        let (left, right) = (parts[before as usize], parts[after as usize]);
        // When each was formed; 0 for bytes. No branches: which one is newer cannot be predicted.
        let when = |id: u32, parts: Parts| if parts == UNFORMED { 0 } else { id + 1 };
        let (formed_left, formed_right) = (when(before, left), when(after, right));
        if formed_left | formed_right == 0 {
            return true;
        }
        let is_left = formed_left > formed_right;
        before = if is_left { left.1 } else { before };
        after = if is_left { after } else { right.0 };
        let allowed = if is_left { formed_left - 1 } else { formed_right };
        if pairs.get(before, after) < allowed {
            return false;
        }
    }
}

/// Calls `work` with parts of 0..len, on threads where that pays, and returns the results in order.
fn shared<T: Send>(len: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let threads = if len < MANY { 1 } else { thread_count(0).min(len / (MANY / 2)).min(8) };
    if threads == 1 {
        return vec![work(0..len)];
    }
    let bound = |n: usize| len * n / threads;
    map(0..threads, |n| work(bound(n)..bound(n + 1)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// The bytes, then tokens of `a` and `b`, each the two that `joins` chooses of those before it; in the order of
    /// `shuffled` where that is not empty.
    fn vocabulary(joins: &[(u8, u8)], shuffled: &[u16]) -> Vec<(Vec<u8>, u32)> {
        let mut tokens: Vec<Vec<u8>> = vec![b"a".to_vec(), b"b".to_vec()];
        for &(left, right) in joins {
            let at = |choice: u8| &tokens[choice as usize % tokens.len()];
            let token = [&at(left)[..], at(right)].concat();
            if token.len() <= 9 && !tokens.contains(&token) {
                tokens.push(token);
            }
        }
        let mut longer = tokens.split_off(2);
        if !shuffled.is_empty() {
            let mut keys = shuffled.iter().cycle();
            longer.sort_by_cached_key(|_| keys.next());
        }
        (0..=255u8).map(|byte| vec![byte]).chain(longer).zip(0..).collect()
    }

    fn check(ranks: &[(Vec<u8>, u32)]) {
        let ranks: Vec<(&[u8], u32)> = ranks.iter().map(|(bytes, id)| (&bytes[..], *id)).collect();
        let ids: HashMap<&[u8], u32> = ranks.iter().copied().collect();
        let find = |bytes: &[u8]| ids.get(bytes).copied();
        let byte_ids = std::array::from_fn(|byte| byte as u32);
        let derived = derive(byte_ids, &ranks);
        let mut lefts = vec![0; ranks.len()];
        let len = |id: u32| ranks[id as usize].0.len();
        derived.merges.iter().for_each(|&(left, _, new)| lefts[new as usize] = len(left) as u32);

        let divided = divide(byte_ids, &ranks, &lefts, &find).ok().unwrap();
        assert_eq!(divided.merges, derived.merges);
        assert_eq!(divided.whole_pretoken_only, derived.whole_pretoken_only);
        // What is stated wrongly of any token is refused.
        for (at, (bytes, _)) in ranks.iter().enumerate().skip(256) {
            for wrong in (0..=bytes.len() as u32 + 1).chain([u32::MAX]).filter(|&wrong| wrong != lefts[at]) {
                let mut lefts = lefts.clone();
                lefts[at] = wrong;
                assert!(divide(byte_ids, &ranks, &lefts, &find).is_err(), "{bytes:?} at {wrong}");
            }
        }
        lefts[97] = 1;
        assert!(divide(byte_ids, &ranks, &lefts, &find).is_err(), "a byte is no merge");
    }

    proptest! {
        #[test]
        fn stated_parts_are_accepted_if_and_only_if_they_are_derived(joins in prop::collection::vec(any::<(u8, u8)>(), 0..25)) {
            check(&vocabulary(&joins, &[]));
        }

        #[test]
        fn in_any_order_of_ids_too(
            joins in prop::collection::vec(any::<(u8, u8)>(), 0..20),
            shuffled in prop::collection::vec(any::<u16>(), 1..20),
        ) {
            check(&vocabulary(&joins, &shuffled));
        }
    }

    #[test]
    fn threads_share_many_tokens() {
        // Every token of up to 14 letters: each is merged from a shorter one and a letter, or not at all.
        let words = (1..=13).flat_map(|len| (0..1u32 << len).map(move |bits| (len, bits)));
        let spelled = words.map(|(len, bits)| (0..=len).map(|at| b'a' + (bits >> at & 1) as u8).collect());
        let ranks: Vec<(Vec<u8>, u32)> = (0..=255u8).map(|byte| vec![byte]).chain(spelled).zip(0..).collect();
        let mut seen = std::collections::HashSet::new();
        let ranks: Vec<_> = ranks.into_iter().filter(|(token, _)| seen.insert(token.clone())).collect();
        let tokens: Vec<(&[u8], u32)> = ranks.iter().map(|(bytes, id)| (&bytes[..], *id)).collect();
        assert!(tokens.len() > MANY);
        let ids: HashMap<&[u8], u32> = tokens.iter().copied().collect();
        let byte_ids = std::array::from_fn(|byte| byte as u32);
        let derived = derive(byte_ids, &tokens);
        let by_id: HashMap<u32, &[u8]> = tokens.iter().map(|&(bytes, id)| (id, bytes)).collect();
        let left: HashMap<u32, usize> =
            derived.merges.iter().map(|&(left, _, new)| (new, by_id[&left].len())).collect();
        let lefts: Vec<u32> = tokens.iter().map(|(_, id)| left.get(id).map_or(0, |&n| n as u32)).collect();
        let find = |bytes: &[u8]| ids.get(bytes).copied();
        let divided = divide(byte_ids, &tokens, &lefts, &find).ok().unwrap();
        assert_eq!(divided.merges, derived.merges);
        assert_eq!(divided.whole_pretoken_only, derived.whole_pretoken_only);
        let last = tokens.len() - 1;
        let wrong = [&lefts[..last], &[lefts[last] % 13 + 1]].concat();
        assert_eq!(divide(byte_ids, &tokens, &wrong, &find).err(), Some(last));
    }
}

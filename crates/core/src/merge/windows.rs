//! Windows: merging a pre-token of any length a few kilobytes at a time.
//!
//! Merging a pre-token at once takes n log n steps, whose memory exceeds every cache once the pre-token is long: twice
//! the text took up to three times as long. A window fits in the cache, so the time is linear.
//!
//! Why the ids are the same: a sequence of tokens is the encoding of its bytes if and only if each two neighbors are
//! the encoding of theirs (`docs/how-bpe-works.md`). The tokens of a window are an encoding, and so is any prefix of
//! them. If the next window begins where such a prefix ends, the two last tokens that meet there are all that is left
//! to check. At the end of a window, tokens may differ from those of the whole text, so the next window begins a few
//! tokens earlier.
//!
//! When it loses: where no place to join is found, the pre-token is merged at once. That has not been seen outside tests.

use super::pairs::Pairs;

/// The bytes of a window.
pub(super) const WINDOW: usize = 1 << 13;

/// The part of a window, from its end, that the next one repeats at least; if the two do not join there, the next part.
const OVERLAP: [usize; 3] = [128, 8, 2];

/// A token of a window and the index of its first byte in the window.
type Placed = (u32, usize);

impl Pairs {
    /// Appends the ids of `pretoken`, merging `window` bytes at a time.
    pub(super) fn merge_windows(&self, pretoken: &[u8], window: usize, ids: &mut Vec<u32>) {
        let before = ids.len();
        let (mut tokens, mut following, mut pair) = (Vec::new(), Vec::new(), Vec::new());
        let mut current = 0..pretoken.len().min(window);
        self.merge_placed(&pretoken[current.clone()], &mut tokens);
        while current.end < pretoken.len() {
            let joined = OVERLAP.iter().find_map(|&part| {
                let latest = current.len() - current.len() / part;
                // At least one token is kept, so every window makes progress.
                let kept = tokens
                    .partition_point(|&(_, at)| at <= latest)
                    .checked_sub(1)
                    .filter(|&kept| kept > 0)?;
                let start = current.start + tokens[kept].1;
                let next = start..pretoken.len().min(start + window);
                self.merge_placed(&pretoken[next.clone()], &mut following);
                let (last, at) = tokens[kept - 1];
                let end = following.get(1).map_or(next.end, |&(_, second)| start + second);
                pair.clear();
                self.merge_and_report(&pretoken[current.start + at..end], &mut pair, |_, _, _| ());
                (pair == [last, following[0].0]).then_some((kept, next))
            });
            let Some((kept, next)) = joined else {
                // From the beginning: the first token of this window, which joins the one before, may change.
                ids.truncate(before);
                return self.merge_whole(pretoken, ids);
            };
            ids.extend(tokens[..kept].iter().map(|&(id, _)| id));
            std::mem::swap(&mut tokens, &mut following);
            current = next;
        }
        ids.extend(tokens.iter().map(|&(id, _)| id));
    }

    fn merge_placed(&self, window: &[u8], tokens: &mut Vec<Placed>) {
        tokens.clear();
        self.merge_queued(window, |_, _, _| (), |id, at| tokens.push((id, at)));
    }

    fn merge_whole(&self, pretoken: &[u8], ids: &mut Vec<u32>) {
        self.merge_queued(pretoken, |_, _, _| (), |id, _| ids.push(id));
    }
}

#[cfg(test)]
mod tests {
    use crate::merge::symbols::{compile, tests::vocabularies};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn windows_give_the_ids_of_the_whole(
            vocabulary in vocabularies(),
            pretoken in "[abé中🙂c文]{1,60}|(ab?é?){20,60}|(a{1,3}b){5,30}",
            window in 1..24usize,
        ) {
            let pairs = compile(&vocabulary).unwrap().pairs;
            let (mut whole, mut windows) = (Vec::new(), Vec::new());
            pairs.merge_whole(pretoken.as_bytes(), &mut whole);
            pairs.merge_windows(pretoken.as_bytes(), window, &mut windows);
            prop_assert_eq!(windows, whole);
        }
    }
}

//! The certificate against trainings on all pre-tokens.

use proptest::prelude::*;

use super::super::tests::{TIES, counts, fast, pretokens, settings};
use super::*;
use crate::Error;
use crate::split::Splitter;

/// How many of the first merges two trainings share.
fn shared(a: &Merges, b: &Merges) -> usize {
    a.pairs.iter().zip(&b.pairs).take_while(|(a, b)| a == b).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn the_certificate_is_exactly_right(
        first in pretokens(),
        then in pretokens(),
        merges in 0..60usize,
        tie in 0..3usize,
        threads in 1..4usize,
        based: bool,
        min_frequency in 1..4u64,
        min_pretoken_count in 1..6u64,
        max_token_bytes in proptest::option::of(1..8usize),
        forbidden in proptest::collection::vec(proptest::collection::vec(Just(b'a'), 2..5), 0..2),
        most_notes in prop_oneof![Just(usize::MAX), 0..60usize],
    ) {
        let splitter = Splitter::new("gpt2").unwrap();
        let learned = fast(&counts(first), &settings(12, TIES[tie])).pairs;
        let base = Tokenizer::trained(None, &learned, 256, splitter, vec![]).unwrap();
        let settings = TrainSettings {
            threads,
            min_frequency,
            min_pretoken_count,
            max_token_bytes,
            forbidden: &forbidden,
            base: based.then_some(&base),
            first_id: base.next_id() + 5,
            ..settings(merges, TIES[tie])
        };
        let counts = counts(then);
        let pruned = fast(&counts, &settings);
        let truth = fast(&counts, &TrainSettings { min_pretoken_count: 1, ..settings });
        let shared = shared(&pruned, &truth);
        let found = certify_within(most_notes, &Source::Memory(&counts), &settings, &pruned, &Progress::new()).unwrap();
        if most_notes == usize::MAX {
            prop_assert_eq!(found.proven, shared);
            prop_assert_eq!(found.checked, pruned.pairs.len().min(shared + 1));
        } else {
            prop_assert!(found.proven <= shared && found.proven <= found.checked);
            if found.proven < found.checked {
                prop_assert_eq!(found.proven, shared);
            }
            let alone = TrainSettings { threads: 1, ..settings };
            let again = certify_within(most_notes, &Source::Memory(&counts), &alone, &pruned, &Progress::new()).unwrap();
            prop_assert_eq!(found, again);
        }
    }

    #[test]
    fn a_base_with_whole_pretoken_only_tokens_is_certified(
        then in pretokens(), tie in 0..3usize, min_pretoken_count in 2..6u64,
    ) {
        let bytes = (0..=255u8).map(|byte| (vec![byte], byte as u32));
        let whole = [&b"aba"[..], b"bab", b" a"].into_iter().map(<[u8]>::to_vec).zip(300..);
        let splitter = Splitter::new("gpt2").unwrap();
        let base = Tokenizer::from_ranks(bytes.chain(whole).collect(), splitter, vec![]).unwrap();
        let settings = TrainSettings {
            min_pretoken_count, base: Some(&base), first_id: 303, ..settings(30, TIES[tie])
        };
        let counts = counts(then);
        let pruned = fast(&counts, &settings);
        let truth = fast(&counts, &TrainSettings { min_pretoken_count: 1, ..settings });
        let found = certify(&Source::Memory(&counts), &settings, &pruned, None, &Progress::new()).unwrap();
        prop_assert_eq!(found.proven, shared(&pruned, &truth));
    }
}

#[test]
fn pretokens_that_change_nothing_leave_all_merges_proven() {
    let counts = counts([("ab", 9), ("cd", 5), ("ef", 1)]);
    let settings = TrainSettings { min_pretoken_count: 2, ..settings(2, TIES[0]) };
    let found =
        certify(&Source::Memory(&counts), &settings, &fast(&counts, &settings), None, &Progress::new())
            .unwrap();
    assert_eq!(found, Certificate { proven: 2, checked: 2 });
}

#[test]
fn a_request_to_stop_is_obeyed() {
    let counts = counts([("ab", 9), ("cd", 1)]);
    let settings = TrainSettings { min_pretoken_count: 2, ..settings(2, TIES[0]) };
    let merges = fast(&counts, &settings);
    let progress = Progress::new();
    progress.cancel();
    assert!(matches!(
        certify(&Source::Memory(&counts), &settings, &merges, None, &progress),
        Err(Error::Cancelled)
    ));
}

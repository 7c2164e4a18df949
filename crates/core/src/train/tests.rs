//! The fast trainer against the oracle: every tie rule, thread count and setting.

use proptest::prelude::*;

use super::*;
use crate::count::CountSettings;
use crate::split::Splitter;

pub const TIES: [TieBreak; 3] = [TieBreak::Ids, TieBreak::HuggingFace, TieBreak::Bytes];

pub fn counts<P: AsRef<[u8]>>(pretokens: impl IntoIterator<Item = (P, u64)>) -> Counts {
    let splitter = Splitter::new("gpt2").unwrap();
    Counts::from_pretokens(CountSettings { splitter, special_tokens: vec![], separator: None }, pretokens)
        .unwrap()
}

pub fn settings(merges: usize, tie_break: TieBreak) -> TrainSettings<'static> {
    TrainSettings {
        merges,
        tie_break,
        min_frequency: 1,
        max_token_bytes: None,
        max_token_characters: None,
        whole_characters: false,
        min_pretoken_count: 1,
        forbidden: &[],
        base: None,
        first_id: 256,
        threads: 1,
    }
}

pub fn fast(counts: &Counts, settings: &TrainSettings) -> Merges {
    train(&Source::Memory(counts), settings, None, None, &Progress::new()).unwrap()
}

/// Few letters and small counts make ties, overlaps and touching merges common. 0x00, a space and 0xAD have
/// other ranks in Hugging Face's alphabet than among the bytes.
pub fn pretokens() -> impl Strategy<Value = Vec<(Vec<u8>, u64)>> {
    let byte = prop_oneof![Just(b'a'), Just(b'b'), Just(b' '), Just(0u8), Just(0xAD)];
    let pretoken = prop_oneof![
        proptest::collection::vec(byte, 1..24),
        proptest::collection::vec(Just(b'a'), 1..40),
        (1..12usize).prop_map(|n| b"ab".repeat(n)),
    ];
    proptest::collection::vec((pretoken, 1..5u64), 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn merges_equal_the_oracle(
        pretokens in pretokens(),
        merges in 0..60usize,
        tie in 0..3usize,
        threads in 1..4usize,
        min_frequency in 1..4u64,
        min_pretoken_count in 1..4u64,
        max_token_bytes in proptest::option::of(1..8usize),
        forbidden in proptest::collection::vec(proptest::collection::vec(Just(b'a'), 2..5), 0..2),
    ) {
        let counts = counts(pretokens);
        let settings = TrainSettings {
            min_frequency,
            min_pretoken_count,
            max_token_bytes,
            forbidden: &forbidden,
            threads,
            ..settings(merges, TIES[tie])
        };
        prop_assert_eq!(fast(&counts, &settings), naive::train(&counts, &settings));
    }

    #[test]
    fn continuing_from_a_base_equals_the_oracle(
        first in pretokens(), then in pretokens(), merges in 1..30usize, tie in 0..3usize, gap in 0..9u32,
    ) {
        let splitter = Splitter::new("gpt2").unwrap();
        let learned = fast(&counts(first), &settings(merges, TIES[tie])).pairs;
        let base = Tokenizer::trained(None, &learned, 256, splitter, vec![]).unwrap();
        let counts = counts(then);
        let settings =
            TrainSettings { base: Some(&base), first_id: base.next_id() + gap, ..settings(merges, TIES[tie]) };
        prop_assert_eq!(fast(&counts, &settings), naive::train(&counts, &settings));
    }

    #[test]
    fn training_out_of_core_equals_the_oracle(
        pretokens in pretokens(),
        merges in 0..60usize,
        tie in 0..3usize,
        threads in 1..4usize,
        min_frequency in 1..4u64,
        min_pretoken_count in 1..3u64,
        max_token_bytes in proptest::option::of(1..8usize),
        forbidden in proptest::collection::vec(proptest::collection::vec(Just(b'a'), 2..5), 0..2),
        slots in 0..200usize,
        bits in 1..8u32,
        // Large counts, so that a bucket holds several and can be split.
        scale in prop_oneof![Just(1u64), 5..50u64, Just(1 << 40)],
    ) {
        let counts = counts(pretokens.into_iter().map(|(pretoken, count)| (pretoken, count * scale)));
        let settings = TrainSettings {
            min_frequency: min_frequency * scale,
            min_pretoken_count,
            max_token_bytes,
            forbidden: &forbidden,
            threads,
            ..settings(merges, TIES[tie])
        };
        let plan = MemoryPlan { slots, bits, folder: &std::env::temp_dir() };
        let out_of_core = train_out_of_core(&Source::Memory(&counts), &settings, None, plan, &Progress::new()).unwrap();
        prop_assert_eq!(out_of_core, naive::train(&counts, &settings));
    }

    #[test]
    fn fewer_merges_are_a_prefix_of_more(pretokens in pretokens(), few in 0..20usize, more in 20..60usize) {
        let counts = counts(pretokens);
        let more = fast(&counts, &settings(more, TieBreak::Ids)).pairs;
        let few = fast(&counts, &settings(few, TieBreak::Ids)).pairs;
        prop_assert_eq!(&few[..], &more[..few.len()]);
    }
}

#[test]
fn overlapping_pairs_are_counted_each_and_merged_from_the_left() {
    let merges = fast(&counts([("aaa", 1)]), &settings(5, TieBreak::Ids));
    assert_eq!(merges, Merges { pairs: vec![(97, 97), (256, 97)], counts: vec![2, 1] });
}

#[test]
fn counts_beyond_32_bits_are_right() {
    let merges =
        fast(&counts([("ab", 1u64 << 40), ("abc", 1 << 41), ("xy", 5)]), &settings(3, TieBreak::Ids));
    assert_eq!(merges.counts, [3 << 40, 1 << 41, 5]);
}

#[test]
fn counts_that_would_overflow_are_an_error() {
    let counts = counts([("abc", u64::MAX / 2)]);
    let error = train(&Source::Memory(&counts), &settings(1, TieBreak::Ids), None, None, &Progress::new())
        .unwrap_err();
    assert!(matches!(error, Error::CountOverflow), "{error}");
}

#[test]
fn no_pairs_give_no_merges() {
    assert_eq!(fast(&counts([("a", 3), ("b", 2)]), &settings(10, TieBreak::Ids)), Merges::default());
    assert_eq!(fast(&counts([] as [(&str, u64); 0]), &settings(10, TieBreak::Ids)), Merges::default());
}

#[test]
fn a_request_to_stop_is_obeyed() {
    let progress = Progress::new();
    progress.cancel();
    let error =
        train(&Source::Memory(&counts([("abc", 1)])), &settings(2, TieBreak::Ids), None, None, &progress)
            .unwrap_err();
    assert!(matches!(error, Error::Cancelled));
}

#[test]
fn a_long_run_of_one_letter_is_quick() {
    let run = vec![b'a'; 1 << 20];
    let merges = fast(&counts([(&run, 1)]), &settings(100, TieBreak::Ids));
    assert_eq!(merges.pairs.len(), 20);
    assert_eq!(merges.counts[..2], [(1 << 20) - 1, (1 << 19) - 1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn first_seen_pairs_equal_the_oracle(
        pretokens in pretokens(),
        merges in 0..60usize,
        min_frequency in 0..4u64,
        max_token_bytes in proptest::option::of(1..8usize),
        forbidden in proptest::collection::vec(proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'b')], 1..4), 0..2),
    ) {
        let counts = counts(pretokens);
        let settings = TrainSettings {
            min_frequency,
            max_token_bytes,
            forbidden: &forbidden,
            ..settings(merges, TieBreak::First)
        };
        prop_assert_eq!(fast(&counts, &settings), naive::train(&counts, &settings));
    }
}

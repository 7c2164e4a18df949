//! The theorems of `docs/how-bpe-works.md`, tested on thousands of random vocabularies.

use std::time::Instant;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::trainer::train;
use super::{check_pretoken, encode_pretoken, rank_map, splitter, tokenizer_of};
use crate::Tokenizer;
use crate::merge::naive;
use crate::train::TieBreak;

fn word(letters: &'static [u8], longest: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(proptest::sample::select(letters), 0..longest)
}

fn tie() -> impl Strategy<Value = TieBreak> {
    prop_oneof![Just(TieBreak::Ids), Just(TieBreak::HuggingFace), Just(TieBreak::Bytes)]
}

fn corpus() -> impl Strategy<Value = Vec<(Vec<u8>, u64)>> {
    let letters: &[u8] = b"abc";
    vec((word(letters, 12), 1..9u64), 1..12)
}

/// Distinct tokens in any order of ranks.
fn imported(longest: usize, most: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let token = vec(proptest::sample::select(&b"abc"[..]), 2..longest);
    btree_set(token, 0..most).prop_map(|set| set.into_iter().collect::<Vec<_>>()).prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The theorem: for a trained vocabulary, three ways to encode and the fast one agree on any string.
    #[test]
    fn trained_vocabularies_encode_alike_every_way(
        corpus in corpus(), tie in tie(), pretokens in vec(word(b"abcd", 40), 20),
    ) {
        let merges = train(&corpus, 40, tie);
        let tokenizer = Tokenizer::from_merges(None, &merges, 256, splitter(), vec![]).unwrap();
        prop_assert!(tokenizer.whole_pretoken_only().is_empty());
        let ranks = rank_map(&tokenizer);
        for pretoken in pretokens.iter().chain(corpus.iter().map(|(pretoken, _)| pretoken)) {
            let ids = check_pretoken(&tokenizer, &ranks, pretoken);
            let trained = naive::by_training_order(pretoken, tokenizer.pairs().byte_ids(), tokenizer.merges());
            prop_assert_eq!(&ids, &trained);
            prop_assert_eq!(ids, naive::by_bytes(pretoken, &ranks));
        }
    }

    /// The merges that training chose can be derived from the ranks alone.
    #[test]
    fn ranks_and_merges_make_the_same_tokenizer(corpus in corpus(), tie in tie()) {
        let merges = train(&corpus, 40, tie);
        let special = vec![("<|end|>".to_string(), 256 + merges.len() as u32)];
        let one = Tokenizer::from_merges(None, &merges, 256, splitter(), special.clone()).unwrap();
        let ranks = one.ranks().map(|(bytes, id)| (bytes.to_vec(), id)).collect();
        let two = Tokenizer::from_ranks(ranks, splitter(), special).unwrap();
        prop_assert_eq!(one.merges(), two.merges());
        prop_assert_eq!(one, two);
    }

    /// Truncating equals training with a smaller size.
    #[test]
    fn truncated_is_trained_smaller(corpus in corpus(), tie in tie(), size in 0..40usize) {
        let make = |merges: &[(u32, u32)]| {
            let end = 256 + merges.len() as u32;
            let specials = vec![("<|a|>".to_string(), end), ("<|b|>".to_string(), end + 1)];
            Tokenizer::from_merges(None, merges, 256, splitter(), specials).unwrap()
        };
        let merges = train(&corpus, 40, tie);
        let size = size.min(merges.len());
        prop_assert_eq!(make(&merges).truncated(258 + size).unwrap(), make(&train(&corpus, size, tie)));
    }

    /// Any set of ranked tokens: parts missing, ranked later than the whole, or not formed by any merge.
    #[test]
    fn imported_vocabularies_encode_as_tiktoken_would(
        tokens in imported(6, 25),
        pretokens in vec(word(b"abcd", 30), 20),
    ) {
        let tokenizer = tokenizer_of(&tokens);
        prop_assert_eq!(tokenizer.merges().len() + tokenizer.whole_pretoken_only().len(), tokens.len());
        let ranks = rank_map(&tokenizer);
        for pretoken in &pretokens {
            check_pretoken(&tokenizer, &ranks, pretoken);
        }
        for &id in tokenizer.whole_pretoken_only() {
            let token = tokenizer.token_bytes(id).unwrap();
            prop_assert!(naive::by_bytes(token, &ranks).len() > 2);
        }
    }

    /// New tokens that stay out of `forbidden_when_continued` leave the merges of the base alone; merging in
    /// training order on top of the base's encoding then equals the whole tokenizer.
    #[test]
    fn continuing_from_any_base_keeps_the_theorem(
        tokens in imported(5, 12),
        corpus in corpus(), pretokens in vec(word(b"abcd", 30), 10),
    ) {
        let base = tokenizer_of(&tokens);
        let forbidden = base.forbidden_when_continued();
        let encode = |pretoken: &[u8]| encode_pretoken(&base, pretoken);
        let mut words: Vec<(Vec<u32>, u64)> = corpus.iter().map(|(p, n)| (encode(p), *n)).collect();
        let first = base.next_id();
        let mut all: Vec<Vec<u8>> = base.ranks().map(|(bytes, _)| bytes.to_vec()).collect();
        let mut merges = Vec::new();
        for new in (first..).take(20) {
            let joined = |pair: (u32, u32)| [&all[pair.0 as usize][..], &all[pair.1 as usize]].concat();
            let counts = super::trainer::count_pairs(&words);
            let allowed = counts.into_iter().filter(|&(pair, _)| !forbidden.contains(&joined(pair)));
            let Some((pair, _)) = allowed.max_by_key(|&(pair, n)| (n, pair)) else { break };
            all.push(joined(pair));
            merges.push(pair);
            for (ids, _) in &mut words {
                *ids = naive::sweep(ids, pair, new);
            }
        }
        let more = Tokenizer::from_merges(Some(&base), &merges, first, splitter(), vec![]).unwrap();
        prop_assert_eq!(more.whole_pretoken_only(), base.whole_pretoken_only());
        let ranks = rank_map(&more);
        for pretoken in pretokens.iter().chain(corpus.iter().map(|(pretoken, _)| pretoken)) {
            let mut expected = encode(pretoken);
            for (&pair, new) in merges.iter().zip(first..) {
                expected = naive::sweep(&expected, pair, new);
            }
            prop_assert_eq!(check_pretoken(&more, &ranks, pretoken), expected);
        }
    }

    /// Decoding returns any bytes unchanged.
    #[test]
    fn decode_gives_the_bytes_back(pretoken in vec(any::<u8>(), 0..300), text in any::<String>()) {
        let tokenizer = tokenizer_of(&["th", "the", " the", "\u{e9}", "aa", "aaa"]);
        prop_assert_eq!(tokenizer.decode_bytes(&encode_pretoken(&tokenizer, &pretoken)).unwrap(), pretoken);
        let ids = tokenizer.encode_ordinary(&text).unwrap();
        prop_assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    }
}

proptest! {
    // The oracle is quadratic: fewer cases.
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Pre-tokens too long for the stack array, with a trained vocabulary and with one whose ranks fall and
    /// rise.
    #[test]
    fn long_pretokens_merge_like_short_ones(
        corpus in corpus(), tokens in imported(7, 40),
        pretoken in vec(proptest::sample::select(&b"aaabc"[..]), 100..400),
    ) {
        let merges = train(&corpus, 40, TieBreak::Ids);
        let trained = Tokenizer::from_merges(None, &merges, 256, splitter(), vec![]).unwrap();
        for tokenizer in [trained, tokenizer_of(&tokens)] {
            check_pretoken(&tokenizer, &rank_map(&tokenizer), &pretoken);
        }
    }
}

#[test]
fn a_merge_that_no_text_applies_is_refused() {
    let merges = [(97, 98), (98, 99), (97, 257)];
    let error = Tokenizer::from_merges(None, &merges, 256, splitter(), vec![]).unwrap_err().to_string();
    assert!(error.contains("no text merges 97 and 257 into \"abc\" (id 258)"), "{error}");
}

#[test]
fn a_base_token_completed_by_new_merges_is_refused() {
    let base = tokenizer_of(&["abc"]);
    assert_eq!(base.forbidden_when_continued(), [b"ab".to_vec(), b"bc".to_vec()]);
    let error =
        Tokenizer::from_merges(Some(&base), &[(98, 99)], 257, splitter(), vec![]).unwrap_err().to_string();
    assert!(error.contains("produce the token \"abc\" (id 256)"), "{error}");
}

#[test]
fn catastrophically_repetitive_pretokens_take_linear_logarithmic_time() {
    let tokenizer = tokenizer_of(&["aa", "aaa", "aaaa", "  ", "ab", "ba", "abab"]);
    for unit in ["a", " ", "ab", "xa", "aab"] {
        let started = Instant::now();
        let pretoken = unit.repeat(1_000_000 / unit.len());
        let ids = encode_pretoken(&tokenizer, pretoken.as_bytes());
        assert_eq!(tokenizer.decode(&ids).unwrap(), pretoken);
        // Quadratic work would take hours; this limit only has to distinguish the two on a busy machine.
        assert!(started.elapsed().as_secs() < 20, "{unit}");
        let short = &pretoken[..3000];
        assert_eq!(
            encode_pretoken(&tokenizer, short.as_bytes()),
            naive::encode_pretoken(short.as_bytes(), &rank_map(&tokenizer))
        );
    }
}

#[test]
fn one_tokenizer_serves_many_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let tokenizer = tokenizer_of(&["ab", "abc"]);
    shared(&tokenizer);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(encode_pretoken(&tokenizer, b"xabc"), [120, 257]));
        }
    });
}

#[test]
fn a_token_that_doubles_with_each_merge_is_derived_in_time() {
    let merges: Vec<(u32, u32)> =
        (0..21).map(|i| if i == 0 { (97, 97) } else { (255 + i, 255 + i) }).collect();
    let started = Instant::now();
    let tokenizer = Tokenizer::from_merges(None, &merges, 256, splitter(), vec![]).unwrap();
    assert_eq!(tokenizer.token_bytes(276).map(<[u8]>::len), Some(1 << 21));
    assert!(started.elapsed().as_secs() < 20);
}

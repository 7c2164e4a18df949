//! Many documents at once, on any number of threads, cut or not, with a cache in any state: the ids equal
//! those of the oracle.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use proptest::prelude::*;

use super::{rank_map, trainer};
use crate::encode::{Allowed, Options};
use crate::merge::naive;
use crate::split::{Scratch, Splitter};
use crate::train::TieBreak;
use crate::{Error, Progress, Tokenizer};

const PATTERNS: [&str; 4] = ["gpt4", "o200k", r" ?\p{L}+|\s+|[^\s\p{L}]{1,4}", r"\w+(?<!x)|\s+|."];

fn tokenizer(pattern: &str) -> Tokenizer {
    let specials = vec![("<|a|>".into(), 1000), ("<|ab|>".into(), 1002)];
    let words =
        "the cat sat on the mat that is 1234 that 你好你好 naïve naïve incomprehensible sensibilities";
    let pretokens: Vec<_> = words.split_inclusive(' ').map(|word| (word.as_bytes().to_vec(), 1)).collect();
    let merges = trainer::train(&pretokens, 60, TieBreak::Ids);
    Tokenizer::from_merges(None, &merges, 256, Splitter::new(pattern).unwrap(), specials).unwrap()
}

/// One document, slowly.
pub fn oracle(tokenizer: &Tokenizer, ranks: &HashMap<Vec<u8>, u32>, text: &str) -> Vec<u32> {
    let mut ends = Vec::new();
    tokenizer.splitter().split(text, &mut Scratch::default(), &mut ends).unwrap();
    let starts = [0].into_iter().chain(ends.iter().copied());
    let pretokens = starts.zip(&ends).map(|(start, &end)| &text.as_bytes()[start as usize..end as usize]);
    pretokens.flat_map(|pretoken| naive::encode_pretoken(pretoken, ranks)).collect()
}

fn documents() -> impl Strategy<Value = Vec<String>> {
    let words = prop::sample::select(vec![
        "the",
        " cat",
        " that",
        "1234567",
        "\n\n",
        "  ",
        "你好",
        "naïve",
        "'s",
        "<|a|>",
        "<|ab|>",
        "x",
        "é",
        "🙂",
        ";;",
        " incomprehensibilities",
        "aaaaaaaaaaaaaaaaaaaaaaaa",
    ]);
    let document = prop::collection::vec(words, 0..60).prop_map(|words| words.concat());
    prop::collection::vec(document, 0..12)
}

proptest! {
    #[test]
    fn a_batch_is_its_documents(documents in documents(), threads in 1..5usize, which in 0..PATTERNS.len()) {
        let tokenizer = tokenizer(PATTERNS[which]);
        let ranks = rank_map(&tokenizer);
        let texts: Vec<&str> = documents.iter().map(String::as_str).collect();
        for allowed in [Allowed::None, Allowed::All] {
            let options =
                Options { allowed, disallowed: Allowed::None, prepend: vec![1000], append: vec![1002, 1000] };
            let mut expected = Vec::new();
            let mut offsets = vec![0];
            for text in &texts {
                expected.push(1000);
                let mut rest = *text;
                while options.allowed == Allowed::All
                    && let Some((at, token, id)) = ["<|a|>", "<|ab|>"]
                        .into_iter()
                        .zip([1000, 1002])
                        .filter_map(|(token, id)| rest.find(token).map(|at| (at, token, id)))
                        .min()
                {
                    expected.extend(oracle(&tokenizer, &ranks, &rest[..at]));
                    expected.push(id);
                    rest = &rest[at + token.len()..];
                }
                expected.extend(oracle(&tokenizer, &ranks, rest));
                expected.extend([1002, 1000]);
                offsets.push(expected.len() as i64);
            }
            // Twice: the second time from the cache.
            for _ in 0..2 {
                let batch = tokenizer.encode_batch(&texts, &options, threads, &Progress::new()).unwrap();
                prop_assert_eq!(&batch.ids, &expected);
                prop_assert_eq!(&batch.offsets, &offsets);
            }
            let counts = tokenizer.count_batch(&texts, &options, threads, &Progress::new()).unwrap();
            let lengths: Vec<usize> = offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize).collect();
            prop_assert_eq!(counts, lengths);
        }
    }
}

#[test]
fn the_first_error_is_reported_on_any_number_of_threads() {
    let tokenizer = tokenizer("gpt4");
    let mut texts = vec!["the cat sat on the mat. ".repeat(50); 40];
    texts[7].push_str("<|ab|>");
    texts[30] = "<|a|>".into();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for threads in 1..5 {
        match tokenizer.encode_batch(&texts, &Options::SAFE, threads, &Progress::new()) {
            Err(Error::SpecialInText { token, .. }) => assert_eq!(token, "<|ab|>"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_batch_stops_when_asked_to() {
    let progress = Progress::new();
    progress.cancel();
    let stopped = tokenizer("gpt4").encode_batch(&["the cat"; 100], &Options::SAFE, 2, &progress);
    assert!(matches!(stopped, Err(Error::Cancelled)));
}

/// Enough unique pre-tokens that the cache grows to its limit and starts over, under many threads.
#[test]
fn a_full_cache_starts_over_and_stays_right() {
    let tokenizer = tokenizer("gpt4");
    let ranks = rank_map(&tokenizer);
    let next = AtomicUsize::new(0);
    let first = tokenizer.cache().table().seed;
    tokenizer.encode_ordinary(&(0..100).map(|n| format!(" {n}")).collect::<String>()).unwrap();
    let seed = tokenizer.cache().table().seed;
    assert_ne!(seed, first, "the tokens never moved in");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..40 {
                    let start = next.fetch_add(1, Relaxed) % 200 * 500;
                    let letters = |n: usize| {
                        (0..4 + n % 20).map(move |i| char::from(b'a' + (n >> (i % 16) & 15) as u8))
                    };
                    let text: String =
                        (start..start + 500).flat_map(|n| [' '].into_iter().chain(letters(n))).collect();
                    assert_eq!(tokenizer.encode_ordinary(&text).unwrap(), oracle(&tokenizer, &ranks, &text));
                }
            });
        }
    });
    assert_ne!(tokenizer.cache().table().seed, seed, "it never started over");
}

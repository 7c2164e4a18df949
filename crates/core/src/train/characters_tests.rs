//! Character-level training against counting by definition, for every rule, mark and budget.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::super::tests::counts;
use super::*;
use crate::corpus::Cutters;
use crate::count::{Counts, PartBuffers};
use crate::normalize::Normalizer;

/// Merges characters by definition: all pairs are counted again after every merge.
fn oracle(counts: &Counts, job: &CharacterJob) -> Vec<(String, String)> {
    let shown = |unit: &[u8]| match unit.split_last() {
        Some((&SUFFIX_MARK, rest)) => format!("{}$", std::str::from_utf8(rest).unwrap()),
        _ => std::str::from_utf8(unit).unwrap().into(),
    };
    let mut totals: HashMap<char, u64> = HashMap::new();
    for (pretoken, count) in counts.iter() {
        let visit = |part: &[u8]| {
            let part = part.strip_suffix(&[SUFFIX_MARK]).unwrap_or(part);
            std::str::from_utf8(part).unwrap().chars().for_each(|c| *totals.entry(c).or_default() += count);
        };
        job.preparation.for_each_part(pretoken, &mut PartBuffers::default(), visit).unwrap();
    }
    let mut ordered: Vec<_> = totals.iter().map(|(&c, &n)| (std::cmp::Reverse(n), c)).collect();
    ordered.sort();
    let (all, mut covered) = (totals.values().sum::<u64>(), 0);
    let mut alphabet: HashSet<char> = HashSet::new();
    for (std::cmp::Reverse(n), c) in ordered {
        if covered as f32 / all as f32 >= job.coverage
            || job.max_alphabet.is_some_and(|most| alphabet.len() >= most)
        {
            break;
        }
        covered += n;
        alphabet.insert(c);
    }
    let preparation =
        Preparation { alphabet: Some(alphabet.iter().copied().collect()), ..job.preparation.clone() };
    let mut words: Vec<(Vec<String>, u64)> = vec![];
    for (pretoken, count) in counts.iter() {
        let visit = |part: &[u8]| {
            let text = shown(part);
            let mut units: Vec<String> = text.chars().map(String::from).collect();
            if part.last() == Some(&SUFFIX_MARK) {
                units.pop();
                units.last_mut().unwrap().push('$');
            }
            words.push((units, count));
        };
        preparation.for_each_part(pretoken, &mut PartBuffers::default(), visit).unwrap();
    }
    let units: HashSet<&String> = words.iter().flat_map(|(word, _)| word).collect();
    let endings = units.iter().filter(|unit| unit.ends_with('$')).count();
    let limit = job.tokens - alphabet.len() - endings;
    let mut merges = vec![];
    while merges.len() < limit {
        let mut pairs: HashMap<(String, String), u64> = HashMap::new();
        for (word, count) in &words {
            for pair in word.windows(2) {
                *pairs.entry((pair[0].clone(), pair[1].clone())).or_default() += count;
            }
        }
        let longest = job.max_token_characters.unwrap_or(usize::MAX);
        pairs.retain(|(left, right), count| {
            *count >= job.min_frequency && (left.clone() + right).chars().count() <= longest
        });
        let order = |((left, right), count): &((String, String), u64)| {
            let joined = left.clone() + right;
            (std::cmp::Reverse(*count), joined.chars().count(), joined.replace('$', "\u{10FFFF}"))
        };
        let Some((best, _)) = pairs.into_iter().min_by_key(order) else { break };
        for (word, _) in &mut words {
            let mut at = 0;
            while at + 1 < word.len() {
                if word[at] == best.0 && word[at + 1] == best.1 {
                    let right = word.remove(at + 1);
                    word[at].push_str(&right);
                }
                at += 1;
            }
        }
        merges.push(best);
    }
    merges
}

fn job(tokens: usize, mark: WordMark) -> CharacterJob<'static> {
    CharacterJob {
        tokens,
        preparation: Preparation {
            normalizer: Normalizer::default(),
            splitter: None,
            mark,
            split_scripts: true,
            split_digits: false,
            literals: Cutters::new(&[], None).unwrap().into(),
            alphabet: None,
        },
        coverage: 1.0,
        max_alphabet: None,
        tie_break: TieBreak::SentencePiece,
        min_frequency: 1,
        max_token_characters: None,
        forbidden: vec![],
        threads: 1,
        limit: None,
        log: None,
    }
}

fn learned(counts: &Counts, job: CharacterJob) -> Vec<(String, String)> {
    let shown = |unit: Vec<u8>| match unit.split_last() {
        Some((&SUFFIX_MARK, rest)) => format!("{}$", std::str::from_utf8(rest).unwrap()),
        _ => String::from_utf8(unit).unwrap(),
    };
    let trained = train_characters(&Source::Memory(counts), job, &Progress::new()).unwrap();
    trained.merges.into_iter().map(|(left, right)| (shown(left), shown(right))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn merges_equal_those_of_the_definition(
        words in proptest::collection::vec(("[abé字ー1ж ]{1,9}", 1..40u64), 1..12),
        suffix: bool, digits: bool, scripts: bool,
        coverage in prop_oneof![Just(1.0f32), 0.5f32..1.0],
        max_alphabet in proptest::option::of(2..6usize),
        longest in proptest::option::of(2..6usize),
        min_frequency in 1..4u64,
        threads in 1..3usize,
        budget: bool,
    ) {
        let counts = counts(words);
        let make = || {
            let mut job = job(60, if suffix { WordMark::Suffix } else { WordMark::Space });
            job.preparation.split_digits = digits;
            job.preparation.split_scripts = scripts;
            CharacterJob { coverage, max_alphabet, max_token_characters: longest, min_frequency, threads, ..job }
        };
        let folder = std::env::temp_dir();
        let limit = budget.then_some(Limit { memory: 1 << 20, folder: &folder });
        prop_assert_eq!(learned(&counts, CharacterJob { limit, ..make() }), oracle(&counts, &make()));
    }
}

#[test]
fn a_vocabulary_smaller_than_the_alphabet_is_an_error() {
    let counts = counts([("abcdef", 1)]);
    let error = train_characters(&Source::Memory(&counts), job(3, WordMark::Space), &Progress::new());
    assert!(
        error
            .err()
            .unwrap()
            .to_string()
            .contains("the alphabet has 7 characters, but only 3 tokens are left")
    );
}

#[test]
fn the_alphabet_is_ordered_by_count_and_then_by_code_point() {
    let counts = counts([("ba", 2), ("c", 1)]);
    let trained =
        train_characters(&Source::Memory(&counts), job(9, WordMark::Suffix), &Progress::new()).unwrap();
    let shown: Vec<_> =
        trained.alphabet.iter().map(|(unit, n)| (unit.escape_ascii().to_string(), *n)).collect();
    let expected = [("a", 2), ("b", 2), ("c", 1), ("a\\xff", 0), ("c\\xff", 0)];
    assert_eq!(shown, expected.map(|(unit, n)| (unit.to_string(), n)));
    assert_eq!(trained.merges, [(b"b".to_vec(), b"a\xff".to_vec())]);
}

//! Totals and frequencies from counts, against encoding each pre-token alone.

use std::collections::HashMap;

use proptest::prelude::*;

use crate::count::{CountSettings, Counts, Source};
use crate::encode::{TokenTotals, token_frequencies, token_totals};
use crate::split::Splitter;
use crate::{Error, Progress, Tokenizer};

/// `whole` is a token that no merge reaches, and a bare byte may be any id.
fn tokenizer(tokens: &[&str]) -> Tokenizer {
    let bytes = (0..=255u8).map(|byte| (vec![byte], 255 - byte as u32));
    let more = tokens.iter().zip(300..).map(|(token, id)| (token.as_bytes().to_vec(), id));
    let splitter = Splitter::new("gpt2").unwrap();
    Tokenizer::from_ranks(bytes.chain(more).collect(), splitter, vec![("<s>".into(), 256)]).unwrap()
}

fn counts(pretokens: &HashMap<Vec<u8>, u64>) -> Counts {
    let settings = CountSettings::new(Splitter::new("gpt2").unwrap(), vec![], None).unwrap();
    Counts::from_pretokens(settings, pretokens.iter().map(|(pretoken, &count)| (pretoken, count))).unwrap()
}

proptest! {
    #[test]
    fn totals_and_frequencies_are_those_of_encoding_everything(
        pretokens in proptest::collection::hash_map(
            prop_oneof![
                "[ab c\u{E9}]{1,6}".prop_map(String::into_bytes),
                Just("whole".into()),
                (0x80..=0xFFu8).prop_map(|byte| vec![byte]),
            ],
            1..1000u64,
            0..40,
        ),
        threads in 1..4usize,
    ) {
        let tokenizers = [tokenizer(&["ab", " a", "abc", "é", "whole"]), tokenizer(&["bc", "ca"])];
        let mut expected = TokenTotals { bytes: 0, tokens: vec![0, 0] };
        let mut frequencies = vec![0; tokenizers[0].next_id() as usize];
        for (pretoken, &count) in &pretokens {
            expected.bytes += (pretoken.len() as u64 * count) as u128;
            for (tokens, tokenizer) in expected.tokens.iter_mut().zip(&tokenizers) {
                let mut ids = Vec::new();
                tokenizer.encode_pretoken(pretoken, &mut ids);
                *tokens += (ids.len() as u64 * count) as u128;
            }
            let mut ids = Vec::new();
            tokenizers[0].encode_pretoken(pretoken, &mut ids);
            ids.iter().for_each(|&id| frequencies[id as usize] += count);
        }
        let counts = counts(&pretokens);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.counts");
        counts.save(&path, &Progress::new()).unwrap();
        for source in [Source::Memory(&counts), Source::file(&path).unwrap()] {
            let progress = Progress::new();
            let both: Vec<&Tokenizer> = tokenizers.iter().collect();
            prop_assert_eq!(&token_totals(&both, &source, threads, &progress).unwrap(), &expected);
            let (_, done, total) = progress.snapshot();
            prop_assert_eq!((done, total), (pretokens.len() as u64, pretokens.len() as u64));
            prop_assert_eq!(&token_frequencies(both[0], &source, threads, &progress).unwrap(), &frequencies);
        }
    }
}

#[test]
fn a_frequency_beyond_64_bits_is_an_error_and_a_total_is_not() {
    // As many tokens as this are in no corpus, but in counts that somebody wrote.
    let counts = counts(&HashMap::from([(b"aa".to_vec(), u64::MAX)]));
    let (tokenizer, source) = (tokenizer(&[]), Source::Memory(&counts));
    let totals = token_totals(&[&tokenizer], &source, 1, &Progress::new()).unwrap();
    assert_eq!((totals.bytes, &totals.tokens[..]), (2 * u64::MAX as u128, &[2 * u64::MAX as u128][..]));
    let overflow = token_frequencies(&tokenizer, &source, 1, &Progress::new());
    assert!(matches!(overflow, Err(Error::CountOverflow)));
}

#[test]
fn cancelled_work_ends() {
    let progress = Progress::new();
    progress.cancel();
    let counts = counts(&HashMap::from([(b"a".to_vec(), 1)]));
    let stopped = token_totals(&[&tokenizer(&[])], &Source::Memory(&counts), 1, &progress);
    assert!(matches!(stopped, Err(Error::Cancelled)));
}

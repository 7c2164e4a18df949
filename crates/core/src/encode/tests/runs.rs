//! Clauses without spaces are encoded run by run: the ids equal those of the whole pre-token, whatever tokens
//! cross or begin inside characters, and whichever of them no merge forms.

use proptest::prelude::*;

use super::batch::oracle;
use super::{rank_map, trainer};
use crate::Tokenizer;
use crate::split::Splitter;
use crate::train::TieBreak;

fn text(longest: usize) -> impl Strategy<Value = String> {
    let chars = prop::sample::select(vec!['你', '好', '吗', '中', 'é', 'a', ' ', '🙂', '。', 'д']);
    prop::collection::vec(chars, 0..longest).prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #[test]
    fn trained_vocabularies(corpus in prop::collection::vec(text(8), 1..12), merges in 0..40usize, text in text(60)) {
        let pretokens: Vec<_> =
            corpus.iter().filter(|word| !word.is_empty()).map(|word| (word.as_bytes().to_vec(), 1)).collect();
        let merges = trainer::train(&pretokens, merges, TieBreak::Ids);
        for pattern in ["gpt4", "(?s).+"] {
            let splitter = Splitter::new(pattern).unwrap();
            let tokenizer = Tokenizer::from_merges(None, &merges, 256, splitter, vec![]).unwrap();
            let ranks = rank_map(&tokenizer);
            prop_assert_eq!(tokenizer.encode_ordinary(&text).unwrap(), oracle(&tokenizer, &ranks, &text));
        }
    }

    /// Tokens taken from anywhere in a text, also from inside characters, in any order of ranks; many are
    /// whole-pre-token only.
    #[test]
    fn imported_vocabularies(
        tokens in prop::collection::hash_set((text(8), 0..12usize, 2..9usize), 0..30),
        text in text(60),
    ) {
        let mut ranks: Vec<(Vec<u8>, u32)> = (0..=255u8).map(|byte| (vec![byte], byte as u32)).collect();
        for (text, start, len) in tokens {
            let bytes = text.as_bytes();
            let token = bytes.get(start..bytes.len().min(start + len)).unwrap_or_default();
            if token.len() > 1 && ranks.iter().all(|(other, _)| other != token) {
                ranks.push((token.to_vec(), ranks.len() as u32));
            }
        }
        for pattern in ["gpt4", "(?s).+"] {
            let tokenizer = Tokenizer::from_ranks(ranks.clone(), Splitter::new(pattern).unwrap(), vec![]).unwrap();
            let expected = oracle(&tokenizer, &rank_map(&tokenizer), &text);
            prop_assert_eq!(tokenizer.encode_ordinary(&text).unwrap(), expected);
        }
    }
}

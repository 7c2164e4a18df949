//! The tokenizer as a value: which input is rejected, which ids are kept, what truncation does.

use crate::split::Splitter;
use crate::{Error, Result, Tokenizer};

fn splitter() -> Splitter {
    Splitter::new("gpt2").unwrap()
}

/// The 256 bytes, then these tokens.
fn ranks_of<T: AsRef<[u8]>>(tokens: &[T]) -> Vec<(Vec<u8>, u32)> {
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    bytes.chain(tokens.iter().map(|token| token.as_ref().to_vec())).zip(0..).collect()
}

fn tokenizer_of<T: AsRef<[u8]>>(tokens: &[T]) -> Tokenizer {
    Tokenizer::from_ranks(ranks_of(tokens), splitter(), vec![]).unwrap()
}

fn special(token: &str, id: u32) -> (String, u32) {
    (token.to_string(), id)
}

fn refused(ranks: Vec<(Vec<u8>, u32)>, specials: Vec<(String, u32)>) -> String {
    match Tokenizer::from_ranks(ranks, splitter(), specials) {
        Err(Error::BadTokenizer { reason }) => reason,
        Err(Error::BadSpecial { token, reason }) => format!("{token:?} {reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_bad_tokenizer_is_refused_with_its_reason() {
    let good = ranks_of(&["ab"]);
    let with = |token: &[u8], id: u32| [&good[..], &[(token.to_vec(), id)]].concat();
    let without = |id: usize| [&good[..id], &good[id + 1..]].concat();
    for (ranks, specials, reason) in [
        (without(65), vec![], "the single byte 0x41 is missing; all 256 must be tokens"),
        (vec![], vec![], "the single byte 0x00 is missing; all 256 must be tokens"),
        (with(b"ab", 300), vec![], "ids 256 and 300 are both the token \"ab\""),
        (with(b"cd", 256), vec![], "id 256 is given to both \"ab\" and \"cd\""),
        (with(b"", 300), vec![], "the token with id 300 is empty"),
        (with(b"cd", 1 << 21), vec![], "id 2097152 is too high; ids must be below 2097152"),
        (
            good.clone(),
            vec![special("<|x|>", u32::MAX)],
            "id 4294967295 is too high; ids must be below 2097152",
        ),
        (good.clone(), vec![special("<|x|>", 256)], "id 256 is given to both \"ab\" and \"<|x|>\""),
        (
            good.clone(),
            vec![special("a", 300)],
            "\"a\" is also an ordinary token; choose another text for it",
        ),
        (
            good.clone(),
            vec![special("ab", 300)],
            "\"ab\" is also an ordinary token; choose another text for it",
        ),
        (good.clone(), vec![special("", 300)], "\"\" is empty; give it a text"),
        (
            good.clone(),
            vec![special("<|x|>", 300), special("<|x|>", 301)],
            "\"<|x|>\" is given twice; name it once",
        ),
    ] {
        assert_eq!(refused(ranks, specials), reason);
    }
}

#[test]
fn each_bad_list_of_merges_is_refused_with_its_reason() {
    let base = tokenizer_of(&["ab"]);
    let with_special =
        Tokenizer::from_ranks(ranks_of(&["ab"]), splitter(), vec![special("<|x|>", 257)]).unwrap();
    let doubling: Vec<(u32, u32)> =
        (0..40).map(|i| if i == 0 { (97, 97) } else { (255 + i, 255 + i) }).collect();
    for (base, merges, first, reason) in [
        (None, &[(97, 98)][..], 255, "merges start at id 255, but ids below 256 are taken"),
        (Some(&base), &[(97, 99)], 256, "merges start at id 256, but ids below 257 are taken"),
        (None, &[(97, 256)], 256, "merge 0 joins 97 and 256, but no earlier token has id 256"),
        (None, &[(97, 98), (256, 999)], 256, "merge 1 joins 256 and 999, but no earlier token has id 999"),
        (Some(&with_special), &[(97, 257)], 258, "merge 0 joins 97 and 257, but no earlier token has id 257"),
        (None, &[(97, 98), (97, 98)], 256, "ids 256 and 257 are both the token \"ab\""),
        (None, &doubling, 256, "the tokens together are longer than 1 GiB"),
        (None, &[(97, 98)], u32::MAX, "id 4294967295 is too high; ids must be below 2097152"),
        (None, &[(97, 98), (98, 97)], u32::MAX, "id 4294967295 is too high; ids must be below 2097152"),
    ] {
        match Tokenizer::from_merges(base, merges, first, splitter(), vec![]) {
            Err(Error::BadTokenizer { reason: given }) => assert_eq!(given, reason),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn gaps_and_any_order_of_ids_are_fine() {
    let mut ranks: Vec<(Vec<u8>, u32)> =
        (0..=255u8).map(|byte| (vec![byte], 1000 - 2 * byte as u32)).collect();
    ranks.push((b"ab".to_vec(), 5));
    let tokenizer =
        Tokenizer::from_ranks(ranks, splitter(), vec![special("<|b|>", 7), special("<|a|>", 2000)]).unwrap();
    assert_eq!(tokenizer.merges(), [(1000 - 2 * 97, 1000 - 2 * 98, 5)]);
    assert_eq!((tokenizer.vocab_size(), tokenizer.next_id()), (259, 2001));
    assert_eq!(tokenizer.special_tokens(), [special("<|b|>", 7), special("<|a|>", 2000)]);
    assert_eq!((tokenizer.token_bytes(5), tokenizer.id_of(b"ab")), (Some(&b"ab"[..]), Some(5)));
    assert_eq!(
        (tokenizer.token_bytes(6), tokenizer.token_bytes(7), tokenizer.token_bytes(9999)),
        (None, None, None)
    );
    assert_eq!((tokenizer.special_id("<|a|>"), tokenizer.id_of(b"<|a|>")), (Some(2000), None));
    assert_eq!(tokenizer.ranks().next(), Some((&b"ab"[..], 5)));
    assert!(tokenizer.ranks().is_sorted_by_key(|(_, id)| id));
}

#[test]
fn a_base_keeps_every_id() {
    let base =
        Tokenizer::from_merges(None, &[(97, 98)], 256, splitter(), vec![special("<|x|>", 257)]).unwrap();
    let new = vec![special("<|y|>", 259)];
    let more = Tokenizer::from_merges(Some(&base), &[(256, 99)], 258, splitter(), new.clone()).unwrap();
    assert_eq!(more.merges(), [(97, 98, 256), (256, 99, 258)]);
    assert_eq!(more.special_tokens(), [special("<|x|>", 257), special("<|y|>", 259)]);
    let named_again = [base.special_tokens(), &new].concat();
    assert_eq!(
        Tokenizer::from_merges(Some(&base), &[(256, 99)], 258, splitter(), named_again).unwrap(),
        more
    );
}

#[test]
fn truncation_keeps_what_came_from_a_base() {
    let base =
        Tokenizer::from_merges(None, &[(97, 98)], 256, splitter(), vec![special("<|x|>", 257)]).unwrap();
    let make = |merges: &[(u32, u32)]| {
        let specials = vec![special("<|y|>", 258 + merges.len() as u32)];
        Tokenizer::from_merges(Some(&base), merges, 258, splitter(), specials).unwrap()
    };
    let all = [(256, 99), (258, 100), (100, 100)];
    let full = make(&all);
    for kept in 0..=3 {
        assert_eq!(full.truncated(259 + kept).unwrap(), make(&all[..kept]));
    }
    assert!(matches!(full.truncated(258), Err(Error::VocabTooSmall { asked: 258, least: 259 })));
}

#[test]
fn truncation_refuses_what_is_no_training() {
    let reason = |result: Result<Tokenizer>| match result {
        Err(Error::BadSetting { reason }) => reason,
        other => panic!("{other:?}"),
    };
    let trained =
        Tokenizer::from_merges(None, &[(97, 98)], 256, splitter(), vec![special("<|x|>", 257)]).unwrap();
    assert!(matches!(trained.truncated(256), Err(Error::VocabTooSmall { asked: 256, least: 257 })));
    assert_eq!(trained.truncated(257).unwrap().special_tokens(), [special("<|x|>", 256)]);
    assert_eq!(trained.truncated(258).unwrap(), trained);
    assert!(reason(trained.truncated(259)).contains("at most 258"));
    let gap = Tokenizer::from_ranks(ranks_of(&["ab"]), splitter(), vec![special("<|x|>", 258)]).unwrap();
    assert!(reason(gap.truncated(257)).contains("gaps"));
    let imported = tokenizer_of(&["abc", "ab"]);
    assert!(reason(imported.truncated(257)).contains("need later ones"));
}

#[test]
fn a_fingerprint_distinguishes_tokenizers() {
    let make = |pattern: &str, tokens: &[&str], specials| {
        let splitter = Splitter::new(pattern).unwrap();
        Tokenizer::from_ranks(ranks_of(tokens), splitter, specials).unwrap().fingerprint()
    };
    let (named, moved) = (vec![special("<s>", 300)], vec![special("<s>", 301)]);
    let same = make("gpt2", &["ab"], named.clone());
    assert_eq!(same, make("gpt2", &["ab"], named.clone()));
    assert_eq!(same.len(), 64);
    assert_ne!(same, make("gpt4", &["ab"], named.clone()));
    assert_ne!(same, make("gpt2", &["ab"], moved));
    assert_ne!(same, make("gpt2", &["ab"], vec![]));
    assert_ne!(same, make("gpt2", &["ac"], named));
}

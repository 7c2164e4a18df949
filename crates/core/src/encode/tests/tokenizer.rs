//! The tokenizer as a value: what is refused, what is kept, what truncation does. Specials and decoding.

use super::{encode_pretoken, ranks_of, splitter, tokenizer_of};
use crate::encode::{Allowed, Options, Stream};
use crate::{Error, Result, Tokenizer};

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
        (with(b"ab", 300), vec![], "ids 256 and 300 both stand for \"ab\""),
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
        (None, &[(97, 98), (97, 98)], 256, "ids 256 and 257 both stand for \"ab\""),
        (None, &doubling, 256, "the tokens hold more than 1 GiB together"),
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
    assert_eq!(encode_pretoken(&tokenizer, b"abc"), [5, 1000 - 2 * 99]);
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
    assert!(reason(trained.truncated(259)).contains("has 258 tokens"));
    let gap = Tokenizer::from_ranks(ranks_of(&["ab"]), splitter(), vec![special("<|x|>", 258)]).unwrap();
    assert!(reason(gap.truncated(257)).contains("gaps"));
    let imported = tokenizer_of(&["abc", "ab"]);
    assert!(reason(imported.truncated(257)).contains("need later ones"));
}

fn with_specials() -> Tokenizer {
    let specials = vec![special("<|a|>", 257), special("<|a|>b", 258), special("<|c|>", 259)];
    Tokenizer::from_ranks(ranks_of(&["ab"]), splitter(), specials).unwrap()
}

fn only(tokens: &[&str]) -> Allowed {
    Allowed::Only(tokens.iter().map(|token| token.to_string()).collect())
}

#[test]
fn specials_in_text_follow_the_policy() {
    let tokenizer = with_specials();
    let text = "x<|c|>y<|a|>b";
    let plain = tokenizer.encode_ordinary(text).unwrap();
    assert!(plain.iter().all(|&id| id < 257));
    let encode = |allowed: &Allowed, disallowed: &Allowed| {
        let (allowed, disallowed) = (allowed.clone(), disallowed.clone());
        tokenizer.encode(text, &Options { allowed, disallowed, prepend: None, append: None })
    };
    let refused = |allowed: &Allowed, disallowed: &Allowed| match encode(allowed, disallowed) {
        Err(Error::SpecialInText { token, at }) => (token, at),
        other => panic!("{other:?}"),
    };
    let (none, all) = (&Allowed::None, &Allowed::All);
    assert_eq!(refused(none, all), ("<|c|>".into(), 1));
    assert_eq!(refused(&only(&["<|c|>"]), all), ("<|a|>b".into(), 7));
    assert_eq!(
        refused(&only(&["<|c|>", "<|a|>b"]), all),
        ("<|a|>".into(), 7),
        "as tiktoken: the search is blind to what is allowed"
    );
    assert_eq!(
        refused(all, &only(&["<|c|>"])),
        ("<|c|>".into(), 1),
        "named in both: disallowed, as in tiktoken"
    );
    assert_eq!(refused(none, &only(&["y<"])), ("y<".into(), 6), "any text can be disallowed, as in tiktoken");
    assert_eq!(encode(all, all).unwrap(), [120, 259, 121, 258]);
    assert_eq!(encode(all, none).unwrap(), [120, 259, 121, 258]);
    assert_eq!(encode(&only(&["<|a|>"]), none).unwrap().last_chunk(), Some(&[121, 257, 98]));
    assert_eq!(encode(none, none).unwrap(), plain);
    assert_eq!(encode(&only(&["unheard of"]), none).unwrap(), plain);
    assert_eq!(
        tokenizer.encode("no specials", &Options::SAFE).unwrap(),
        tokenizer.encode_ordinary("no specials").unwrap()
    );
    assert!(tokenizer.encode("", &Options::SAFE).unwrap().is_empty());
    assert_eq!(
        tokenizer.encode("<|c|><|c|>", &Options { allowed: Allowed::All, ..Options::ORDINARY }).unwrap(),
        [259, 259]
    );
}

#[test]
fn decode_is_strict_unless_asked() {
    let tokenizer = with_specials();
    assert_eq!(tokenizer.decode(&[256, 259, 98]).unwrap(), "ab<|c|>b");
    assert!(matches!(tokenizer.decode_bytes(&[97, 260]), Err(Error::UnknownId { id: 260, at: 1 })));
    assert!(matches!(tokenizer.decode_lossy(&[u32::MAX]), Err(Error::UnknownId { id: u32::MAX, at: 0 })));
    assert!(matches!(tokenizer.decode(&[97, 0xe9, 97]), Err(Error::NotUtf8 { at: 1 })));
    assert_eq!(tokenizer.decode_lossy(&[97, 0xe9, 97]).unwrap(), "a\u{fffd}a");
    assert_eq!(tokenizer.decode(&[]).unwrap(), "");
}

#[test]
fn tokens_of_every_length_are_copied_whole() {
    let long: Vec<Vec<u8>> = (2..40).map(|length| (0..length).map(|nth| b'a' + nth % 7).collect()).collect();
    let tokenizer = Tokenizer::from_ranks(ranks_of(&long), splitter(), vec![special("<|é|>", 400)]).unwrap();
    // So that every token is among the last, where no slot fits any more, and among the first.
    let all: Vec<u32> = (250..294).chain([400]).collect();
    for start in 0..all.len() {
        for ids in [&all[start..], &all[..start]] {
            let expected = ids.iter().flat_map(|&id| tokenizer.bytes_or_special(id).unwrap()).copied();
            assert_eq!(tokenizer.decode_bytes(ids).unwrap(), expected.collect::<Vec<u8>>());
        }
    }
    for (unknown, at) in [(294, 0), (399, 1), (401, 44)] {
        let mut ids = all.clone();
        ids.insert(at, unknown);
        let error = tokenizer.decode_bytes(&ids).unwrap_err();
        assert!(matches!(error, Error::UnknownId { id, at: place } if (id, place) == (unknown, at)));
    }
}

#[test]
fn what_no_longer_fits_is_left_out() {
    let tokenizer = tokenizer_of(&["abc", "twenty bytes of token"]);
    for room in 0..60 {
        let mut out = vec![std::mem::MaybeUninit::new(0); room];
        let filled = tokenizer.decode_into([256, 257, 256, 256].into_iter(), &mut out).unwrap();
        assert!([0, 3, 24, 27, 30].contains(&filled) && filled <= room);
    }
}

#[test]
fn offsets_point_at_characters_or_bytes() {
    let tokenizer = with_specials();
    let ids = [256, 0xe4, 0xb8, 0xad, 259, 0xc3, 0xa9];
    let text = "ab中<|c|>é".to_string();
    assert_eq!(tokenizer.decode_with_offsets(&ids).unwrap(), (text.clone(), vec![0, 2, 2, 2, 3, 8, 8]));
    assert_eq!(tokenizer.decode_with_byte_offsets(&ids).unwrap(), (text, vec![0, 2, 3, 4, 5, 10, 11]));
    assert!(matches!(tokenizer.decode_with_offsets(&[97, 0xe4]), Err(Error::NotUtf8 { at: 1 })));
}

#[test]
fn a_stream_holds_back_what_is_not_whole() {
    let tokenizer = with_specials();
    let mut stream = Stream::new(false, false);
    assert_eq!(stream.push(&tokenizer, &[256, 0xe4]).unwrap(), "ab");
    assert_eq!(stream.push(&tokenizer, &[0xb8]).unwrap(), "");
    assert_eq!(stream.held(), [0xe4, 0xb8]);
    assert!(matches!(stream.push(&tokenizer, &[97]), Err(Error::NotUtf8 { at: 2 })));
    assert_eq!(stream.push(&tokenizer, &[0xad, 259]).unwrap(), "中<|c|>");
    assert_eq!(stream.finish().unwrap(), "");
    stream.push(&tokenizer, &[0xe4]).unwrap();
    assert!(matches!(stream.finish(), Err(Error::NotUtf8 { at: 0 })));

    let mut lossy = Stream::new(true, true);
    assert_eq!(lossy.push(&tokenizer, &[0xe4, 97, 0xff, 0xe4, 259]).unwrap(), "\u{fffd}a\u{fffd}");
    assert_eq!(lossy.finish().unwrap(), "\u{fffd}");
}

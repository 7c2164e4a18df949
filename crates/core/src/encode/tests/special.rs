//! The policy on special tokens in text.

use super::with_specials;
use crate::Error;
use crate::encode::{Allowed, Options};

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
        tokenizer.encode(text, &Options { allowed, disallowed, prepend: Vec::new(), append: Vec::new() })
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
fn a_byte_that_is_not_text_is_a_pretoken() {
    let tokenizer = with_specials();
    let encode = |bytes: &[u8], options: &Options| {
        let mut ids = vec![1];
        tokenizer.encode_bytes_with(bytes, options, None, &mut ids).map(|()| ids)
    };
    let all = Options { allowed: Allowed::All, prepend: vec![2], append: vec![3], ..Options::SAFE };
    assert_eq!(
        encode(b"ab\xffab<|a|>b\xe4\xb8<|c|>", &all).unwrap(),
        [1, 2, 256, 255, 256, 258, 0xe4, 0xb8, 259, 3]
    );
    assert_eq!(encode("ab中".as_bytes(), &Options::SAFE).unwrap(), [1, 256, 0xe4, 0xb8, 0xad]);
    assert_eq!(encode(b"", &all).unwrap(), [1, 2, 3]);
    let error = encode(b"ab\xffab<|a|>", &Options::SAFE).unwrap_err();
    assert!(matches!(error, Error::SpecialInText { at: 5, .. }), "{error:?}");
}

//! Ids to bytes and text, at once and as a stream.

use super::{ranks_of, splitter, tokenizer_of, with_specials};
use crate::encode::{Invalid, Stream};
use crate::{Error, Tokenizer};

#[test]
fn decode_is_strict_unless_asked() {
    let tokenizer = with_specials();
    assert_eq!(tokenizer.decode(&[256, 259, 98]).unwrap(), "ab<|c|>b");
    assert!(matches!(tokenizer.decode_bytes(&[97, 260]), Err(Error::UnknownId { id: 260, at: 1 })));
    assert!(matches!(tokenizer.decode(&[u32::MAX]), Err(Error::UnknownId { id: u32::MAX, at: 0 })));
    assert!(matches!(tokenizer.decode(&[97, 0xe9, 97]), Err(Error::NotUtf8 { at: 1 })));
    assert_eq!(Stream::new(Invalid::Replace, false).push(&tokenizer, &[97, 0xe9, 97]).unwrap(), "a\u{fffd}a");
    assert_eq!(tokenizer.decode(&[]).unwrap(), "");
}

#[test]
fn tokens_of_every_length_are_copied_whole() {
    let long: Vec<Vec<u8>> = (2..40).map(|length| (0..length).map(|nth| b'a' + nth % 7).collect()).collect();
    let tokenizer = Tokenizer::from_ranks(ranks_of(&long), splitter(), vec![("<|é|>".into(), 400)]).unwrap();
    // Every token is among the last, where a whole slot no longer fits, and among the first.
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
    let mut stream = Stream::new(Invalid::Refuse, false);
    assert_eq!(stream.push(&tokenizer, &[256, 0xe4]).unwrap(), "ab");
    assert_eq!(stream.push(&tokenizer, &[0xb8]).unwrap(), "");
    assert_eq!(stream.held(), [0xe4, 0xb8]);
    assert!(matches!(stream.push(&tokenizer, &[97]), Err(Error::NotUtf8 { at: 2 })));
    assert_eq!(stream.push(&tokenizer, &[0xad, 259]).unwrap(), "中<|c|>");
    assert_eq!(stream.finish().unwrap(), "");
    stream.push(&tokenizer, &[0xe4]).unwrap();
    assert!(matches!(stream.finish(), Err(Error::NotUtf8 { at: 0 })));

    let mut lossy = Stream::new(Invalid::Replace, true);
    assert_eq!(lossy.push(&tokenizer, &[0xe4, 97, 0xff, 0xe4, 259]).unwrap(), "\u{fffd}a\u{fffd}");
    assert_eq!(lossy.finish().unwrap(), "\u{fffd}");

    let mut ignoring = Stream::new(Invalid::Ignore, true);
    assert_eq!(ignoring.push(&tokenizer, &[0xe4, 97, 0xff, 98, 0xe4, 259]).unwrap(), "ab");
    let (state, mut other) = (ignoring.state().clone(), Stream::new(Invalid::Ignore, true));
    assert_eq!(ignoring.finish().unwrap(), "");
    other.restore(state);
    assert_eq!(other.push(&tokenizer, &[0xb8, 0xad]).unwrap(), "中");
}

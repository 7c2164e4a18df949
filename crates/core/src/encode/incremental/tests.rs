//! Texts that grow, shrink and fork, against encoding the whole text each time.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::*;
use crate::encode::Allowed;
use crate::merge::symbols::tests::vocabularies;
use crate::merge::symbols::{Order, Unit, Vocabulary};
use crate::split::{Splitter, preset_names};

/// What happens to a text.
#[derive(Clone, Debug)]
enum Edit {
    Append(String),
    /// Keep this part of the text, in thousandths.
    Truncate(usize),
    /// Continue with a fork; the original gets this text.
    Fork(String),
}

/// Characters that the stages treat differently, and pieces of special tokens.
fn text(longest: usize) -> impl Strategy<Value = String> {
    let common = select(&["a", "b", "ab", " ", "a b", "ba ", "the ", " of", "\n", ".", "a, ", "B"][..]);
    let rare = select(
        &[
            "  ", "\r\n", "\t", "'", "'s", "'S ", "1", "23 ", "é", "e\u{301}", "\u{301}", "\u{338}", "=",
            "中", "文。", "🙂", "\u{200d}", "▁", "한", "\u{1100}", "\u{1161}", "\u{11a8}", "ﬁ", "Ａ",
            "\u{a0}", "_", "x", "c", "\u{600}", "/", "-",
        ][..],
    );
    let special =
        select(&["<|a|>", "<|a", "|>", "<", "|", "a|>b", "<|a|>b", "lower case", "low", "er c"][..]);
    let piece = prop_oneof![6 => common, 3 => rare, 1 => special];
    proptest::collection::vec(piece, 0..longest).prop_map(|pieces| pieces.concat())
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        6 => text(30).prop_map(Edit::Append),
        3 => text(3).prop_map(Edit::Append),
        3 => (0..1001usize).prop_map(Edit::Truncate),
        1 => text(6).prop_map(Edit::Fork),
    ];
    proptest::collection::vec(edit, 1..12)
}

fn options() -> impl Strategy<Value = Options> {
    let some = || {
        prop_oneof![
            Just(Allowed::None),
            Just(Allowed::All),
            Just(Allowed::Only(vec!["<|a|>".into()])),
            Just(Allowed::Only(vec!["er c".into(), "<|a|>b".into()])),
        ]
    };
    (some(), some(), any::<bool>()).prop_map(|(allowed, disallowed, prepended)| {
        let prepend = if prepended { vec![7, 8] } else { vec![] };
        Options { allowed, disallowed, prepend, append: vec![] }
    })
}

/// Encodes the appended texts as chunks, and compares with the whole.
fn check_stream(tokenizer: &Arc<Tokenizer>, options: &Options, edits: &[Edit]) {
    let options = Options { append: vec![9], ..options.clone() };
    let mut stream = StreamEncoder::new(tokenizer.clone(), &options).unwrap();
    for _ in 0..2 {
        let (mut text, mut ids) = (String::new(), Vec::new());
        for edit in edits {
            let (Edit::Append(more) | Edit::Fork(more)) = edit else { continue };
            match stream.push(more, None) {
                Ok(settled) => {
                    text.push_str(more);
                    ids.extend(settled);
                }
                Err(error) => {
                    let whole = tokenizer.encode(&format!("{text}{more}"), &options).unwrap_err();
                    assert_eq!(error.to_string(), whole.to_string());
                }
            }
        }
        ids.extend(stream.finish(None).unwrap());
        assert_eq!(ids, tokenizer.encode(&text, &options).unwrap(), "{edits:?}");
        assert_eq!(stream.pending(), 0);
    }
}

#[test]
fn a_stream_keeps_only_what_may_change() {
    let tokenizer = Arc::new(plain("gpt4"));
    let mut stream = StreamEncoder::new(tokenizer.clone(), &Options::SAFE).unwrap();
    let (mut ids, line) = (Vec::new(), "a line of words, and another\n");
    for _ in 0..1000 {
        ids.extend(stream.push(line, None).unwrap());
        assert!(stream.pending() < line.len(), "{}", stream.pending());
    }
    ids.extend(stream.finish(None).unwrap());
    assert_eq!(ids, tokenizer.encode_ordinary(&line.repeat(1000)).unwrap());
}

/// Applies the edits and compares with the whole; returns how many parts were closed.
fn check(tokenizer: &Tokenizer, options: &Options, edits: &[Edit]) -> usize {
    let tokenizer = Arc::new(tokenizer.clone());
    check_stream(&tokenizer, options, edits);
    let mut encoder = Incremental::new(tokenizer.clone(), options).unwrap();
    let mut text = String::new();
    let (mut forks, mut closed) = (vec![], 0);
    for edit in edits {
        let before = encoder.ids(0..usize::MAX).unwrap();
        let mut new = text.clone();
        let outcome = match edit {
            Edit::Append(more) => {
                new.push_str(more);
                encoder.append(more, None)
            }
            Edit::Truncate(share) => {
                let chars = text.chars().count() * share / 1000;
                new.truncate(offset_of(&text, chars));
                encoder.truncate(chars, None)
            }
            Edit::Fork(more) => {
                let mut fork = encoder.clone();
                std::mem::swap(&mut fork, &mut encoder);
                let appended = fork.append(more, None).is_ok();
                forks.push((fork, if appended { format!("{text}{more}") } else { text.clone() }));
                Ok(0)
            }
        };
        match (outcome, tokenizer.encode(&new, options)) {
            (Ok(kept), Ok(ids)) => {
                assert_eq!(before[..kept], ids[..kept], "{edit:?}");
                assert!(
                    !matches!(edit, Edit::Append(_))
                        || kept == ids.len()
                        || before.get(kept) != ids.get(kept)
                );
                text = new;
            }
            (Err(ours), Err(theirs)) => assert_eq!(ours.to_string(), theirs.to_string()),
            (ours, theirs) => panic!("{ours:?} {theirs:?} {new:?}"),
        }
        compare(&encoder, &tokenizer, options, &text);
        closed = closed.max(encoder.closed.len());
    }
    for (fork, text) in forks {
        compare(&fork, &tokenizer, options, &text);
    }
    closed
}

fn compare(encoder: &Incremental, tokenizer: &Tokenizer, options: &Options, text: &str) {
    let ids = tokenizer.encode(text, options).unwrap();
    assert_eq!(encoder.ids(0..usize::MAX).unwrap(), ids, "{text:?}");
    assert_eq!((encoder.text().unwrap().as_str(), encoder.count()), (text, ids.len()));
    assert_eq!(encoder.chars(), text.chars().count());
    let (from, to) = (ids.len() / 3, ids.len() - ids.len() / 4);
    assert_eq!(encoder.ids(from..to).unwrap(), ids[from..to]);
    assert_eq!(encoder.ids(to..from).unwrap(), [0; 0]);
}

/// Compares the counts of prefixes, and whether they fit.
fn check_prefixes(tokenizer: &Tokenizer, options: &Options, text: &str, ends: &[usize]) {
    let prefix = |chars: usize| &text[..offset_of(text, chars)];
    let each: Result<Vec<usize>> =
        ends.iter().map(|&end| Ok(tokenizer.encode(prefix(end), options)?.len())).collect();
    let counts = tokenizer.count_prefixes(text, ends, options, None);
    match (counts, each) {
        (Ok(counts), Ok(each)) => assert_eq!(counts, each, "{text:?} {ends:?}"),
        (Err(_), Err(_)) => {}
        (ours, theirs) => panic!("{ours:?} {theirs:?} {text:?}"),
    }
    if let Ok(ids) = tokenizer.encode(text, options) {
        for most in [0, ids.len().saturating_sub(1), ids.len(), ids.len() + 1, usize::MAX] {
            assert_eq!(
                tokenizer.fits(text, most, options, None).unwrap(),
                ids.len() <= most,
                "{text:?} {most}"
            );
        }
    }
}

/// Cuts a text wherever it can be cut, and compares the ids of the parts with those of the whole. Returns how many
/// cuts there are.
fn check_cuts(tokenizer: &Tokenizer, options: &Options, text: &str) -> usize {
    let options = Options { disallowed: Allowed::None, prepend: vec![], ..options.clone() };
    let rules = Rules::new(tokenizer, &options).unwrap();
    let whole = tokenizer.encode(text, &options).unwrap();
    let mut cuts = 0;
    for ((_, before), (at, after)) in text.char_indices().zip(text.char_indices().skip(1)) {
        if tokenizer.is_cut(before, after) {
            let mut ids = tokenizer.encode(&text[..at], &options).unwrap();
            rules.encode_part(tokenizer, &text[at..], Start::Cut, None, &mut ids).unwrap();
            assert_eq!(ids, whole, "{text:?} at {at}");
            cuts += 1;
        }
    }
    cuts
}

#[test]
fn common_tokenizers_have_cuts() {
    let text = "The quick brown fox's, it jumps. 中文，文字\n";
    for pattern in preset_names() {
        assert!(check_cuts(&plain(pattern), &Options::ORDINARY, text) > 5, "{pattern}");
    }
    let letters = "the quickbrownfxsjmp. 中文，字T'▁".chars().map(|c| c.to_string().into_bytes());
    let vocabulary = Vocabulary {
        unit: Unit::Characters,
        tokens: letters.zip(300..).collect(),
        order: Order::Merges(vec![]),
        byte_tokens: Some((0..256).map(Some).collect()),
        unknown: None,
        suffix: false,
        first: false,
    };
    let is_unproven = |stage: &Value| {
        let text = stage.to_string();
        ["(?=", "(?<=", "FixedLength", "\"suffix_whitespace\":true", "a \""]
            .iter()
            .any(|part| text.contains(part))
    };
    for normalizer in normalizers().into_iter().filter(|it| !is_unproven(it)) {
        for pretokenizer in pretokenizers().into_iter().filter(|it| !is_unproven(it)) {
            // Without spaces, or with letters that are bytes, they have no words to cut between.
            if normalizer["content"] == "" || normalizer["type"] == "ByteLevel" {
                continue;
            }
            let stages = (normalizer.clone(), pretokenizer.clone(), json!([]));
            let tokenizer = staged(&vocabulary, stages, false, false).unwrap();
            let cuts = check_cuts(&tokenizer, &Options::ORDINARY, text);
            assert!(cuts > 3, "{cuts} {normalizer} {pretokenizer}");
        }
    }
}

#[test]
fn text_without_cuts_is_divided_after_special_tokens() {
    let tokenizer = plain(r"(?<=a)b|\w+|\s+");
    let all = Options { allowed: Allowed::All, ..Options::SAFE };
    let edits =
        vec![Edit::Append("ab ab<|a|> ba".repeat(20)), Edit::Append("<|".into()), Edit::Truncate(700)];
    assert!(check(&tokenizer, &all, &edits) > 5);
    assert_eq!(check(&tokenizer, &Options::ORDINARY, &edits), 0);
}

/// Patterns of every tier, with cuts and without.
fn patterns() -> Vec<&'static str> {
    let others = [
        r" ?\w+|\s+(?!\S)|[^\w]",
        r"[^\s]+ *|\s",
        r"\p{L}+(?=\s|$)|\p{L}|\s+|.",
        r"(?:a|ab)(?!c)|[a-z]+|\s+(?!\S)|\s",
        r"\p{Lu}?\p{Ll}+|(?>ab|a)b|\d{1,2}+\d|.",
        r"(?s:.{1,7})",
        r"(?<=a)b|\w+|\s+",
        r"\ba+\b|\w|\s+",
        r"a+$|[ab]|\s*[\r\n]+|\s+",
        r"[a-z]*ing|[a-z]|the of",
        r"(\w)\1|\w+|\s",
        r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+|x",
    ];
    preset_names().iter().copied().chain(others).collect()
}

fn plain(pattern: &str) -> Tokenizer {
    let tokens = ["ab", "the", " the", " a", "abab", "a b", ". ", "中文", "  ", "ba "];
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let ranks = bytes.chain(tokens.iter().map(|token| token.as_bytes().to_vec())).zip(0..).collect();
    let specials = [("<|a|>", 400), ("<|a|>b", 401), ("er c", 402)].map(|(name, id)| (name.into(), id));
    Tokenizer::from_ranks(ranks, Splitter::new(pattern).unwrap(), specials.to_vec()).unwrap()
}

fn normalizers() -> Vec<Value> {
    let replace = |key: &str, pattern: &str, content: &str| json!({"type": "Replace", "pattern": {key: pattern}, "content": content});
    let sequence = |all: &[Value]| json!({"type": "Sequence", "normalizers": all});
    let piece = |prefix: bool, removes: bool, suffix: bool, symbols: &[&str]| {
        json!({"type": "SentencePiece", "add_dummy_prefix": prefix, "remove_extra_whitespaces": removes,
               "suffix_whitespace": suffix, "user_defined": symbols})
    };
    let prepend = json!({"type": "Prepend", "prepend": "▁"});
    let strip = |left: bool, right: bool| json!({"type": "Strip", "strip_left": left, "strip_right": right});
    vec![
        json!(null),
        json!({"type": "NFC"}),
        json!({"type": "NFD"}),
        json!({"type": "NFKC"}),
        json!({"type": "NFKD"}),
        json!({"type": "Lowercase"}),
        json!({"type": "Nmt"}),
        strip(true, true),
        sequence(&[strip(true, false), json!({"type": "NFKC"}), json!({"type": "StripAccents"})]),
        sequence(&[prepend.clone(), replace("String", " ", "▁")]),
        sequence(&[json!({"type": "NFC"}), replace("Regex", r"\s+", " "), json!({"type": "Lowercase"})]),
        replace("String", "ab", "x"),
        replace("String", " ", ""),
        replace("Regex", " {2,}", " "),
        replace("Regex", "a(?=b)", "c"),
        json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
               "lowercase": true}),
        piece(true, true, false, &[]),
        piece(true, false, false, &["ab", "  ", "\n"]),
        piece(false, true, false, &["a b"]),
        piece(true, true, true, &[]),
        piece(false, false, false, &[]),
        json!({"type": "ByteLevel"}),
    ]
}

fn pretokenizers() -> Vec<Value> {
    let sequence = |all: &[Value]| json!({"type": "Sequence", "pretokenizers": all});
    let level = |prefix: bool, regex: bool| json!({"type": "ByteLevel", "add_prefix_space": prefix, "use_regex": regex});
    let meta = |scheme: &str, split: bool| json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split});
    let split = |key: &str, pattern: &str, behavior: &str, invert: bool| json!({"type": "Split", "pattern": {key: pattern}, "behavior": behavior, "invert": invert});
    let digits = |individual: bool| json!({"type": "Digits", "individual_digits": individual});
    let llama = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
    vec![
        json!(null),
        json!(null),
        level(false, true),
        level(true, true),
        meta("always", true),
        meta("first", false),
        meta("never", true),
        json!({"type": "Whitespace"}),
        json!({"type": "WhitespaceSplit"}),
        json!({"type": "BertPreTokenizer"}),
        json!({"type": "Punctuation", "behavior": "Contiguous"}),
        json!({"type": "CharDelimiterSplit", "delimiter": " "}),
        json!({"type": "FixedLength", "length": 3}),
        sequence(&[json!({"type": "WhitespaceSplit"}), json!({"type": "FixedLength", "length": 2})]),
        sequence(&[split("Regex", llama, "Isolated", false), level(false, false)]),
        sequence(&[split("Regex", llama, "Removed", true), level(true, false)]),
        sequence(&[
            json!({"type": "Punctuation", "behavior": "Contiguous"}),
            level(false, true),
            digits(false),
            split("Regex", "[0-9][0-9]", "Isolated", false),
        ]),
        sequence(&[
            split("Regex", r"\p{N}{1,3}", "Isolated", false),
            split("Regex", "[一-龥]+", "Isolated", false),
            split("Regex", r"[!-/]\w+|\s?\p{L}+|\s+(?!\S)|\s+", "Isolated", false),
            level(false, false),
        ]),
        sequence(&[digits(true), meta("always", true)]),
        sequence(&[
            split("String", "a ", "MergedWithPrevious", false),
            split("String", "b", "MergedWithNext", true),
        ]),
        split("String", " ", "MergedWithPrevious", false),
        split("Regex", r"<a>|'s|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "Removed", true),
        split("Regex", r"\w+(?=\s)|\s", "Contiguous", false),
        split("Regex", r"(?<=a)b", "Isolated", false),
        split("Regex", "[ab]+", "Contiguous", true),
    ]
}

fn added() -> impl Strategy<Value = Value> {
    let flag = || prop::bool::weighted(0.2);
    let flags = (any::<bool>(), flag(), flag(), flag(), flag());
    let content = select(&["<|a|>", "<|a|>b", "lower case", "low", "  ", "中", "AB", " of", "\n"][..]);
    let token = (content, flags).prop_map(|(content, (special, left, right, word, normalized))| {
        json!({"content": content, "special": special, "lstrip": left, "rstrip": right, "single_word": word,
               "normalized": normalized})
    });
    proptest::collection::vec(token, 0..4).prop_map(|mut tokens| {
        tokens.iter_mut().enumerate().for_each(|(i, token)| token["id"] = json!(2000 + i));
        json!(tokens)
    })
}

fn staged(
    vocabulary: &Vocabulary,
    stages: (Value, Value, Value),
    fuses: bool,
    ignores: bool,
) -> Result<Tokenizer> {
    let (normalizer, pretokenizer, added) = stages;
    let definition = json!({
        "unit": if vocabulary.unit == Unit::Bytes { "bytes" } else { "characters" },
        "byte_tokens": vocabulary.byte_tokens,
        "unknown": vocabulary.unknown,
        "fuse_unknown": fuses,
        "ignore_merges": ignores,
        "suffix": vocabulary.suffix,
        "prefix": vocabulary.first,
        "normalizer": normalizer,
        "pre_tokenizer": pretokenizer,
        "added_tokens": added,
        "decoder": {"type": "Fuse"},
    });
    let (merges, scores) = match &vocabulary.order {
        Order::Ids => (None, None),
        Order::Ranks(ranks) => (None, Some(ranks.iter().map(|&rank| -(rank as f32)).collect())),
        Order::Merges(merges) => (Some(merges.clone()), None),
    };
    Tokenizer::from_definition(vocabulary.tokens.clone(), merges, scores, &definition.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn plain_tokenizers_encode_growing_text_as_the_whole(
        pattern in select(patterns()), options in options(), edits in edits(),
    ) {
        check(&plain(pattern), &options, &edits);
    }

    #[test]
    fn prefixes_are_counted_as_encoded(
        pattern in select(patterns()), options in options(), text in text(60),
        ends in proptest::collection::vec(0..150usize, 0..6),
    ) {
        let tokenizer = plain(pattern);
        check_prefixes(&tokenizer, &options, &text, &ends);
        check_cuts(&tokenizer, &options, &text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn stages_encode_growing_text_as_the_whole(
        vocabulary in vocabularies(), normalizer in select(normalizers()), pretokenizer in select(pretokenizers()),
        added in added(), fuses in any::<bool>(), ignores in any::<bool>(),
        options in options(), edits in edits(), text in text(60),
        ends in proptest::collection::vec(0..150usize, 0..6),
    ) {
        let tokenizer = staged(&vocabulary, (normalizer, pretokenizer, added), fuses, ignores);
        prop_assume!(tokenizer.is_ok());
        let tokenizer = tokenizer.unwrap();
        check(&tokenizer, &options, &edits);
        check_prefixes(&tokenizer, &options, &text, &ends);
        check_cuts(&tokenizer, &options, &text);
    }
}

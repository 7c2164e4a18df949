//! The segments against an oracle that tries every token at every offset.

use proptest::prelude::*;

use super::*;

fn token(id: u32, content: &str, flags: &str) -> AddedToken {
    AddedToken {
        id,
        content: content.into(),
        special: flags.contains('s'),
        lstrip: flags.contains('l'),
        rstrip: flags.contains('r'),
        single_word: flags.contains('w'),
        normalized: flags.contains('n'),
    }
}

fn lower(text: &str) -> Result<String> {
    Ok(text.to_lowercase())
}

fn raw(tokens: Vec<AddedToken>, text: &str) -> Vec<Segment> {
    AddedTokens::new(tokens, lower).unwrap().raw(text, |_| true).collect()
}

/// So simple that it is unlikely to be incorrect.
fn oracle(tokens: &[AddedToken], text: &str, wanted: impl Fn(&AddedToken) -> bool) -> Vec<Segment> {
    let is_word = fancy_regex::Regex::new(r"\w").unwrap();
    let is_word = |c: Option<char>| c.is_some_and(|c| is_word.is_match(&c.to_string()).unwrap());
    let (mut segments, mut done, mut at) = (vec![], 0, 0);
    while at < text.len() {
        let here = tokens.iter().filter(|t| text.as_bytes()[at..].starts_with(t.content.as_bytes()));
        // The first of the longest.
        let Some(token) = here.rev().max_by_key(|token| token.content.len()) else {
            at += 1;
            continue;
        };
        let (mut start, mut end) = (at, at + token.content.len());
        at = end;
        let (before, after) = (&text[..start], &text[end..]);
        let in_word = is_word(before.chars().next_back()) || is_word(after.chars().next());
        if token.special && !wanted(token) || token.single_word && in_word {
            continue;
        }
        if token.lstrip {
            start = before.trim_end().len().max(done);
        }
        if token.rstrip {
            end = text.len() - after.trim_start().len();
        }
        if done < start {
            segments.push(Segment::Text(done..start));
        }
        if start < end {
            segments.push(Segment::Token(token.id, start..end));
            done = end;
        }
    }
    if done < text.len() {
        segments.push(Segment::Text(done..text.len()));
    }
    segments
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn segments_are_those_of_the_oracle(
        tokens in proptest::collection::vec(("[ab<é ]{1,3}", "[slrw]{0,3}"), 0..6),
        text in "[ab<é\u{2009} ,]{0,20}",
        all in any::<bool>(),
        rare in any::<bool>(),
    ) {
        // Tokens that begin with bytes that are rare in text are searched for by these.
        let first = |content: &str| if !rare { "" } else if content.contains('é') { "<" } else { "," };
        let tokens = tokens.iter().enumerate();
        let tokens: Vec<AddedToken> = tokens
            .map(|(i, (content, flags))| token(i as u32, &format!("{}{content}", first(content)), flags))
            .collect();
        let mut unique: Vec<AddedToken> = vec![];
        for token in tokens.iter().filter(|t| t.special).chain(tokens.iter().filter(|t| !t.special)) {
            if unique.iter().all(|other| other.content != token.content) {
                unique.push(token.clone());
            }
        }
        let found: Vec<Segment> = AddedTokens::new(tokens, lower).unwrap().raw(&text, |_| all).collect();
        prop_assert_eq!(found, oracle(&unique, &text, |_| all));
    }
}

#[test]
fn the_longest_token_wins() {
    let tokens = vec![token(1, "<a>", ""), token(2, "<a><b>", ""), token(3, "<b>", "")];
    let segments = raw(tokens, "x<a><b><a>");
    assert_eq!(segments, [Segment::Text(0..1), Segment::Token(2, 1..7), Segment::Token(1, 7..10)]);
}

#[test]
fn tokens_take_the_white_space_around_them() {
    let segments = raw(vec![token(1, "<m>", "l"), token(2, "<r>", "r")], "a \u{3000}<m> <r>\n b");
    let expected = [
        Segment::Text(0..1),
        Segment::Token(1, 1..8),
        Segment::Text(8..9),
        Segment::Token(2, 9..14),
        Segment::Text(14..15),
    ];
    assert_eq!(segments, expected);
}

#[test]
fn a_token_of_which_nothing_is_left_is_dropped() {
    let segments = raw(vec![token(1, "  ", "lr")], "a    b");
    assert_eq!(segments, [Segment::Text(0..1), Segment::Token(1, 1..5), Segment::Text(5..6)]);
}

#[test]
fn a_token_within_the_white_space_of_another_is_reported_all_the_same() {
    let segments = raw(vec![token(1, "<r>", "r"), token(2, "  ", "")], "<r>   b");
    assert_eq!(segments, [Segment::Token(1, 0..6), Segment::Token(2, 3..5), Segment::Text(5..7)]);
}

#[test]
fn normalized_tokens_are_found_by_their_normalized_content() {
    let tokens = vec![token(1, "Day", "n"), token(2, "DAY", "n"), token(3, "Day", "")];
    let added = AddedTokens::new(tokens, lower).unwrap();
    assert!(added.any_normalized());
    let found: Vec<Segment> = added.normalized("a day", |_| true).collect();
    assert_eq!(found, [Segment::Text(0..2), Segment::Token(1, 2..5)]);
    let found: Vec<Segment> = added.raw("Day day", |_| true).collect();
    assert_eq!(found, [Segment::Token(3, 0..3), Segment::Text(3..7)]);
}

#[test]
fn unwanted_special_tokens_are_text() {
    let added = AddedTokens::new(vec![token(1, "<s>", "s"), token(2, "<u>", "")], lower).unwrap();
    let found: Vec<Segment> = added.raw("<s><u>", |token| token.id != 1).collect();
    assert_eq!(found, [Segment::Text(0..3), Segment::Token(2, 3..6)]);
}

#[test]
fn texts_without_tokens_are_one_segment() {
    assert_eq!(raw(vec![], "ab"), [Segment::Text(0..2)]);
    assert_eq!(raw(vec![token(1, "x", "")], ""), []);
}

#[test]
fn a_run_of_white_space_is_read_once() {
    // Quadratic, this would take minutes.
    let text = " ".repeat(300_000);
    assert_eq!(raw(vec![token(1, " ", "r")], &text).len(), 300_000);
    assert_eq!(raw(vec![token(1, " ", "l")], &text).len(), 300_000);
    assert_eq!(raw(vec![token(1, " ", "w")], &text).len(), 300_000);
}

//! Every example in `docs/how-bpe-works.md`, run.
//!
//! An example is a block of lines `what: words`. A word in quotes may contain spaces and `\n`.

use std::collections::HashMap;

use super::trainer::{count_pairs, train};
use super::{check_pretoken, rank_map, splitter, tokenizer_of};
use crate::Tokenizer;
use crate::merge::naive;
use crate::train::TieBreak;

const PAGE: &str = include_str!("../../../../../docs/how-bpe-works.md");

fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut open) = (Vec::new(), String::new(), false, false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => (quoted, open) = (!quoted, true),
            '\\' => word.push(if chars.next() == Some('n') { '\n' } else { panic!("only \\n in {line}") }),
            ' ' if !quoted => {
                if open {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            c => {
                word.push(c);
                open = true;
            }
        }
    }
    if open {
        words.push(word);
    }
    words
}

/// `a+b b+c` as ids: single bytes, then each pair's token.
fn pairs(words: &[String]) -> Vec<(u32, u32)> {
    let mut ids: HashMap<String, u32> = HashMap::new();
    let mut pairs = Vec::new();
    for (word, new) in words.iter().zip(256..) {
        let (left, right) = word.split_once('+').unwrap();
        let id = |token: &str| if token.len() == 1 { token.as_bytes()[0] as u32 } else { ids[token] };
        pairs.push((id(left), id(right)));
        ids.insert(format!("{left}{right}"), new);
    }
    pairs
}

fn joined(words: &[String]) -> Vec<String> {
    words.iter().map(|word| word.replacen('+', "", 1)).collect()
}

/// The matches of the pattern, and each character outside a match.
fn split(pattern: &str, text: &str) -> Vec<String> {
    let mut pretokens = Vec::new();
    let mut end = 0;
    for found in fancy_regex::Regex::new(pattern).unwrap().find_iter(text) {
        let found = found.unwrap();
        pretokens.extend(text[end..found.start()].chars().map(String::from));
        pretokens.push(found.as_str().into());
        end = found.end();
    }
    pretokens.extend(text[end..].chars().map(String::from));
    pretokens
}

fn run(block: &str) {
    let lines: Vec<(&str, &str)> = block.lines().map(|line| line.split_once(':').expect(line)).collect();
    let find = |what: &str| lines.iter().find(|line| line.0 == what).map(|line| line.1);
    let corpus: Vec<(Vec<u8>, u64)> = words(find("pretokens").unwrap_or(""))
        .iter()
        .map(|word| word.split_once('×').unwrap())
        .map(|(pretoken, count)| (pretoken.as_bytes().to_vec(), count.parse().unwrap()))
        .collect();
    let merges = words(find("merges").unwrap_or(""));
    let tokens = if merges.is_empty() { words(find("tokens").unwrap_or("")) } else { joined(&merges) };
    let tokenizer = tokenizer_of(&tokens);
    let ranks = rank_map(&tokenizer);
    let bytes = tokenizer.pairs().byte_ids();
    let listed: Vec<_> = pairs(&merges).into_iter().zip(256..).map(|((l, r), new)| (l, r, new)).collect();
    let show = |ids: Vec<u32>| -> Vec<String> {
        ids.into_iter().map(|id| tokenizer.decode(&[id]).unwrap()).collect()
    };

    for &(what, rest) in &lines {
        if matches!(what, "pretokens" | "tokens" | "pattern") || what == "merges" && corpus.is_empty() {
            continue;
        }
        let expected = words(rest);
        let learns = |tie| assert_eq!(train(&corpus, expected.len(), tie), pairs(&expected), "{what}:{rest}");
        let verbs = ["encode", "by training order", "by pairs", "by bytes", "split"];
        let verb = verbs.into_iter().find(|verb| what.starts_with(verb)).unwrap_or(what);
        let text = words(&what[verb.len()..]).concat();
        let pretoken = text.as_bytes();
        let got = match verb {
            "merges" | "merges by ids" => {
                learns(TieBreak::Ids);
                continue;
            }
            "merges by huggingface" => {
                learns(TieBreak::HuggingFace);
                continue;
            }
            "merges by bytes" => {
                learns(TieBreak::Bytes);
                continue;
            }
            "pair counts" => {
                let wide =
                    |(pretoken, n): &(Vec<u8>, u64)| (pretoken.iter().map(|&b| b as u32).collect(), *n);
                let counts = count_pairs(&corpus.iter().map(wide).collect::<Vec<_>>());
                let name = |id: u32| char::from(id as u8);
                let mut counts: Vec<_> =
                    counts.iter().map(|(p, n)| format!("{}+{}={n}", name(p.0), name(p.1))).collect();
                counts.sort();
                counts
            }
            "whole-pre-token only" => show(tokenizer.whole_pretoken_only().to_vec()),
            "derived merges" => {
                let name = |id| tokenizer.decode(&[id]).unwrap();
                tokenizer.merges().iter().map(|m| format!("{}+{}", name(m.0), name(m.1))).collect()
            }
            "encode" => {
                let ids = check_pretoken(&tokenizer, &ranks, pretoken);
                if !merges.is_empty() {
                    assert_eq!(naive::by_training_order(pretoken, bytes, &listed), ids, "{what}");
                    assert_eq!(naive::by_pairs(pretoken, bytes, &listed), ids, "{what}");
                    let trained = Tokenizer::from_merges(None, &pairs(&merges), 256, splitter(), vec![]);
                    assert_eq!(trained.unwrap(), tokenizer);
                }
                show(ids)
            }
            "by training order" => show(naive::by_training_order(pretoken, bytes, &listed)),
            "by pairs" => show(naive::by_pairs(pretoken, bytes, &listed)),
            "by bytes" => show(naive::by_bytes(pretoken, &ranks)),
            "split" => split(find("pattern").unwrap().trim(), &text),
            _ => panic!("what is {what:?}?"),
        };
        assert_eq!(got, expected, "{what} in\n{block}");
    }
}

#[test]
fn every_example_on_the_page_is_true() {
    let blocks: Vec<&str> =
        PAGE.split("```example\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect();
    assert!(blocks.len() > 8, "the page lost its examples");
    blocks.into_iter().for_each(run);
}

#[test]
fn the_page_states_the_unicode_version_in_use() {
    // U+1C89 is a letter since Unicode 16; U+A7CE is one since Unicode 17.
    let letter = fancy_regex::Regex::new(r"^\p{L}$").unwrap();
    assert!(PAGE.contains("Unicode 16.0.0"));
    assert!(letter.is_match("\u{1c89}").unwrap() && !letter.is_match("\u{a7ce}").unwrap());
}

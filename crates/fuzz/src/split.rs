//! Split: every tier against the pattern in a plain find loop.

use std::sync::LazyLock;

use fancy_regex::{Regex, RegexBuilder};
use merganser_core::split::{Scratch, Splitter, Tier, preset_names};

use crate::bytes::{choose, take, text};

const TIERS: [Tier; 3] = [Tier::Scanner, Tier::Dfa, Tier::LookAround];

/// Patterns that are no presets, each another path through the rewriting to a DFA.
const CUSTOM: [&str; 10] = [
    r"\w+|\W",
    r" ?\p{L}++| ?\p{N}{1,2}+|\s+(?!\S)|\s|.",
    r"[a-z]+?ing|[a-z]+",
    r"\s+(?!\S)|\s*\S+",
    r"\d{1,3}(?=(?:\d{3})*\b)|\D",
    r"(?<=a)b+|[^b]+",
    r"(\w)\1|\w",
    r"(?m)^.+$|\n",
    r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]",
    r"(?>ab|a)c|.",
];

struct Engines {
    oracle: Regex,
    tiers: Vec<Splitter>,
}

impl Engines {
    fn of(pattern: &str) -> Option<Engines> {
        let tiers: Vec<_> =
            TIERS.iter().filter_map(|&tier| Splitter::with_engine(pattern, tier).ok()).collect();
        let oracle = RegexBuilder::new(tiers.first()?.pattern()).backtrack_limit(20_000).build().ok()?;
        Some(Engines { oracle, tiers })
    }

    /// The ends of pre-tokens, as a plain loop finds them; `None` if that takes too long.
    fn expected(&self, text: &str) -> Option<Vec<u32>> {
        let (mut at, mut ends) = (0, vec![]);
        while at < text.len() {
            let (start, end) = match self.oracle.find_from_pos(text, at).ok()? {
                Some(found) => (found.start(), found.end()),
                None => (text.len(), text.len()),
            };
            ends.extend(text[at..start].char_indices().map(|(i, c)| (at + i + c.len_utf8()) as u32));
            if end > start {
                ends.push(end as u32);
            } else if start < text.len() {
                // An empty match: the loop would go on at the next character.
                let next = text[start..].chars().next().unwrap().len_utf8();
                ends.push((start + next) as u32);
                at = start + next;
                continue;
            }
            at = end;
        }
        Some(ends)
    }

    fn check(&self, text: &str, beginning: usize) {
        let Some(expected) = self.expected(text) else { return };
        for splitter in &self.tiers {
            let mut scratch = Scratch::default();
            let (mut ends, mut stepwise) = (vec![], vec![]);
            // A pattern that rescans too much is an error on some tiers.
            let Ok(()) = splitter.split(text, &mut scratch, &mut ends) else { continue };
            let context = || format!("{:?}, {}", splitter.tier(), splitter.pattern());
            assert_eq!(ends, expected, "split, {}", context());
            let visit = |ends: &[u32]| {
                stepwise.extend_from_slice(ends);
                Ok(())
            };
            splitter.split_stepwise(text, &mut scratch, visit).unwrap();
            assert_eq!(stepwise, expected, "split_stepwise, {}", context());

            let beginning =
                (0..=beginning.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap();
            let mut settled = vec![];
            if let Some(Ok(end)) = splitter.split_beginning(&text[..beginning], &mut scratch, &mut settled) {
                assert_eq!(settled, expected[..settled.len()], "split_beginning, {}", context());
                assert_eq!(settled.last().map_or(0, |&last| last as usize), end, "{}", context());
            }
            for cut in [splitter.first_cut(text), splitter.last_cut(text)].into_iter().flatten() {
                let mut parts = vec![];
                splitter.split(&text[..cut], &mut scratch, &mut parts).unwrap();
                let mut rest = vec![];
                splitter.split(&text[cut..], &mut scratch, &mut rest).unwrap();
                parts.extend(rest.iter().map(|end| end + cut as u32));
                assert_eq!(parts, expected, "cut at {cut}, {}", context());
            }
        }
    }
}

/// A choice of pattern, where to cut the beginning, and the text.
pub fn split(mut data: &[u8]) {
    static ALL: LazyLock<Vec<Engines>> = LazyLock::new(|| {
        preset_names().iter().chain(&CUSTOM).map(|pattern| Engines::of(pattern).unwrap()).collect()
    });
    let engines = choose(&mut data, &ALL);
    let beginning = take(&mut data) as usize;
    engines.check(&text(data), beginning);
}

/// A pattern, a zero byte, and the text.
pub fn pattern(data: &[u8]) {
    let mut parts = data.splitn(2, |&byte| byte == 0);
    let pattern = text(parts.next().unwrap_or_default());
    let text = text(parts.next().unwrap_or_default());
    let is_name = pattern.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if pattern.len() > 60 || is_name {
        return;
    }
    if let Some(engines) = Engines::of(&pattern) {
        engines.check(&text, text.len() / 2);
    }
}

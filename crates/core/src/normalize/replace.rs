//! Replace: every match of a string or of a pattern becomes a given text.
//!
//! A string is found with memmem: text without it is scanned at memory speed and borrowed. A pattern that is a
//! class, or a run of one (`\s+`), is found with a look-up per character. Any other pattern runs on
//! `fancy-regex`, in the syntax of merganser's split patterns (`formats/oniguruma.py` translates Hugging
//! Face's); it comes from a file, so the time is bounded as in `split/lookaround.rs`: by the number of
//! backtracks per match and by the time per text.
//!
//! Matches are those of Oniguruma's iterator: an empty match where the last match ended does not count.

use std::time::{Duration, Instant};

use fancy_regex::{Regex, RegexBuilder};
use memchr::memmem::Finder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::aligned::Output;
use super::table::{Bytes, Table, add_first_byte, find_byte};
use crate::{Error, Result};

/// How many backtracks one match may take.
const BACKTRACKS: usize = 1_000_000;

/// A text may take this long, plus the time that half a megabyte per second takes.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });
const PATIENCE_PER_BYTE: Duration = Duration::from_micros(2);

pub struct Replace {
    pattern: Pattern,
    content: String,
}

enum Pattern {
    Text(Box<Finder<'static>>),
    Runs(Box<Runs>),
    Regex(Box<Regex>),
}

/// Runs of `min` to `max` characters of a class, as long as possible.
struct Runs {
    class: Table,
    /// The bytes that characters of the class begin with.
    first_bytes: Bytes,
    min: usize,
    max: usize,
}

impl Replace {
    pub fn text(text: &str, content: &str) -> Result<Replace> {
        if text.is_empty() {
            return Replace::regex("", content);
        }
        let pattern = Pattern::Text(Box::new(Finder::new(text).into_owned()));
        Ok(Replace { pattern, content: content.into() })
    }

    pub fn regex(pattern: &str, content: &str) -> Result<Replace> {
        let regex = RegexBuilder::new(pattern).backtrack_limit(BACKTRACKS).build();
        let regex =
            regex.map_err(|e| Error::BadPattern { pattern: pattern.into(), reason: e.to_string() })?;
        let runs = regex_syntax::parse(pattern).ok().and_then(|hir| Runs::of(&hir));
        let pattern =
            runs.map_or_else(|| Pattern::Regex(Box::new(regex)), |runs| Pattern::Runs(Box::new(runs)));
        Ok(Replace { pattern, content: content.into() })
    }

    /// Returns the one character that is replaced, and the one that it becomes.
    pub fn character(&self) -> Option<(char, char)> {
        let Pattern::Text(finder) = &self.pattern else { return None };
        let only = |text: &str| {
            let mut chars = text.chars();
            chars.next().filter(|_| chars.next().is_none())
        };
        Some((only(std::str::from_utf8(finder.needle()).ok()?)?, only(&self.content)?))
    }

    /// Returns what two characters that are side by side become, if no match contains both and if it depends on
    /// nothing else what they become; `None` if that is not so, or not known.
    pub fn across(&self, before: char, after: char) -> Option<(char, char)> {
        // Whether a character is always replaced; `None` if it depends.
        let (before_is, after_is) = match &self.pattern {
            Pattern::Text(finder) => {
                let text = std::str::from_utf8(finder.needle()).ok()?;
                if text.chars().zip(text.chars().skip(1)).any(|pair| pair == (before, after)) {
                    return None;
                }
                let is_char = text.chars().nth(1).is_none();
                let replaced = |end: Option<char>, c: char| match end == Some(c) {
                    true if !is_char => None,
                    is => Some(is),
                };
                (replaced(text.chars().next_back(), before)?, replaced(text.chars().next(), after)?)
            }
            Pattern::Runs(runs) => {
                let is = |c: char| runs.class.get(c) != 0;
                if is(before) && is(after) || (is(before) || is(after)) && runs.min > 1 {
                    return None;
                }
                (is(before), is(after))
            }
            Pattern::Regex(_) => return None,
        };
        let new_before = if before_is { self.content.chars().next_back()? } else { before };
        let new_after = if after_is { self.content.chars().next()? } else { after };
        Some((new_before, new_after))
    }

    pub fn normalize<O: Output>(&self, text: &str, out: &mut O) -> Result<()> {
        let is_char = self.content.chars().count() == 1;
        let mut kept = 0;
        let mut replace = |start: usize, end: usize| {
            // A character that is replaced by itself stays, and its origin too.
            if text[start..end] != self.content || O::ALIGNS && !is_char {
                out.keep(kept..start);
                out.skip(start..end);
                out.put_str(&self.content, |_| 0);
                kept = end;
            }
        };
        match &self.pattern {
            Pattern::Text(finder) => {
                for start in finder.find_iter(text.as_bytes()) {
                    replace(start, start + finder.needle().len());
                }
            }
            Pattern::Runs(runs) => runs.matches(text, replace),
            Pattern::Regex(regex) => matches(regex, text, replace)?,
        }
        out.keep(kept..text.len());
        Ok(())
    }
}

impl Runs {
    /// The runs that a pattern matches, if it matches nothing else.
    fn of(hir: &Hir) -> Option<Runs> {
        let (class, min, max) = match hir.kind() {
            HirKind::Repetition(run) if run.greedy && run.min > 0 => (&*run.sub, run.min, run.max),
            _ => (hir, 1, Some(1)),
        };
        let characters: Vec<char> = match class.kind() {
            HirKind::Class(Class::Unicode(class)) => {
                // A negated class would fill the table, and finds something everywhere.
                let size: u32 = class.iter().map(|range| range.end() as u32 - range.start() as u32 + 1).sum();
                if size > 0x1000 {
                    return None;
                }
                class.iter().flat_map(|range| range.start()..=range.end()).collect()
            }
            HirKind::Literal(literal) => str::from_utf8(&literal.0).ok()?.chars().collect(),
            _ => return None,
        };
        if matches!(class.kind(), HirKind::Literal(_)) && characters.len() != 1 {
            return None;
        }
        let (mut class, mut first_bytes) = (Table::new(), [false; 256]);
        for c in characters {
            class.add(c, 1);
            add_first_byte(&mut first_bytes, c);
        }
        let max = max.map_or(usize::MAX, |max| max as usize);
        Some(Runs { class, first_bytes, min: min as usize, max })
    }

    fn matches(&self, text: &str, mut visit: impl FnMut(usize, usize)) {
        let mut at = 0;
        loop {
            let start = find_byte::<true>(text.as_bytes(), at, &self.first_bytes);
            if start == text.len() {
                break;
            }
            let class = text[start..].chars().take_while(|c| self.class.get(*c) != 0).take(self.max);
            let (mut chars, mut len) = (0, 0);
            class.for_each(|c| (chars, len) = (chars + 1, len + c.len_utf8()));
            at = start + len;
            if chars == 0 {
                at += text[start..].chars().next().map_or(0, char::len_utf8);
            } else if chars >= self.min {
                visit(start, at);
            }
        }
    }
}

/// Calls `visit` with the start and end of every match.
fn matches(regex: &Regex, text: &str, mut visit: impl FnMut(usize, usize)) -> Result<()> {
    let begun = Instant::now();
    let patience = PATIENCE + PATIENCE_PER_BYTE * text.len().try_into().unwrap_or(u32::MAX);
    let tired = |at| Error::StepLimit { pattern: regex.as_str().into(), at };
    let mut at = 0;
    let mut last_end = None;
    // Oniguruma's caller does not search in an empty text.
    while at <= text.len() && !text.is_empty() {
        if begun.elapsed() > patience {
            return Err(tired(at));
        }
        let Some(found) = regex.find_from_pos(text, at).map_err(|_| tired(at))? else { break };
        if found.start() == found.end() && last_end == Some(found.end()) {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        } else {
            visit(found.start(), found.end());
            at = found.end();
            last_end = Some(at);
        }
    }
    Ok(())
}

//! Pre-tokenize: the pre-tokenizers of Hugging Face's `tokenizer.json`, run as stages over one text.
//!
//! The contract: the pieces are those of tokenizers 0.23.3, in the same order, for every text. Each stage
//! sees each piece of the stage before alone. `ByteLevel` does not translate the text: the stages after it
//! match patterns over bytes instead (`split/printable.rs`), and only they can end a piece inside a character.
//!
//! Almost every stage is a [`split::Matcher`](crate::split) and a rule for what to do with its matches and the
//! gaps between them (`behavior.rs`): `Digits`, `Punctuation`, `Whitespace` and others are patterns
//! (`classes.rs`). Two stages change text (`insert.rs`): the prefix space and `Metaspace`.
//!
//! Cost: one pass over the text for each stage, with reused buffers and nothing allocated per piece. Stages that
//! isolate characters of a class become one with the pattern that follows, if that is provably the same
//! (`split/zones.rs`). A stage whose matches are rare (digits, CJK) skips to the next byte that can begin one and
//! copies the pieces before. A text goes through at the speed of its patterns: see `split/matcher.rs`.

mod behavior;
mod classes;
mod insert;
mod json;
mod split;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::normalize::Aligned;
use crate::split::Splitter;
use crate::{Error, Result};
use insert::{Insert, Origins, Scheme};
use split::Split;

/// A compiled pre-tokenizer; cheap to clone, shared between threads.
#[derive(Clone)]
pub struct Pretokenizer(Arc<Compiled>);

struct Compiled {
    stages: Vec<Stage>,
    splitter: Option<Splitter>,
    /// Whether a stage puts a prefix before every piece of a stage that leaves no gaps. Then text is cut where a
    /// piece ends before that stage, and otherwise where none does.
    prefixes_pieces: bool,
}

enum Stage {
    Split(Box<Split>),
    Insert(Insert),
    FixedLength { units: usize, bytes: bool },
}

/// The pieces of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    /// Where they end; together they cover the text.
    pub ends: Vec<u32>,
    /// The indices of those that were removed, ascending.
    pub dropped: Vec<u32>,
}

/// Buffers that one thread reuses from text to text.
#[derive(Default)]
pub struct Scratch {
    previous: Pieces,
    matching: split::Scratch,
}

impl Pretokenizer {
    /// Compiles the object of a `tokenizer.json`, or null; its patterns are in our syntax.
    pub fn from_json(value: &Value) -> Result<Pretokenizer> {
        let stages = fused(json::stages(value)?);
        let splitter = match &stages[..] {
            [Stage::Split(split)] => split.splitter()?,
            _ => None,
        };
        let prefixes_pieces = prefixes_pieces(&stages);
        Ok(Pretokenizer(Arc::new(Compiled { stages, splitter, prefixes_pieces })))
    }

    /// Whether every text is one piece.
    pub fn is_identity(&self) -> bool {
        self.0.stages.is_empty()
    }

    /// Returns the splitter that splits every text as this pre-tokenizer does, if there is one.
    pub fn splitter(&self) -> Option<&Splitter> {
        self.0.splitter.as_ref()
    }

    /// Replaces `pieces` by the pieces of `text` and returns the text they are pieces of, which differs if a
    /// stage inserts or replaces characters. `first` says that `text` begins the user's text.
    pub fn pretokenize<'a>(
        &self,
        text: Cow<'a, str>,
        first: bool,
        scratch: &mut Scratch,
        pieces: &mut Pieces,
    ) -> Result<Cow<'a, str>> {
        self.run(text, (first, false), scratch, pieces, None)
    }

    /// Does the work of [`Pretokenizer::pretokenize`] on the part of a text after a cut; see
    /// [`Pretokenizer::across`].
    pub fn pretokenize_rest<'a>(
        &self,
        text: Cow<'a, str>,
        scratch: &mut Scratch,
        pieces: &mut Pieces,
    ) -> Result<Cow<'a, str>> {
        self.run(text, (false, !self.0.prefixes_pieces), scratch, pieces, None)
    }

    /// Returns whether every text can be cut between these two characters: its pieces are then those of the part
    /// before and those of the rest (`pretokenize_rest`). Says whether a piece surely ends there (otherwise the
    /// last one and the first one may be one piece), and what the characters become. `None` if that is not
    /// proven.
    pub fn across(&self, mut before: char, mut after: char) -> Option<(bool, char, char)> {
        let (mut surely, mut maybe) = (false, false);
        for stage in &self.0.stages {
            match stage {
                // Each side is split on its own already.
                Stage::Split(_) | Stage::FixedLength { .. } if surely => {}
                Stage::Split(split) => {
                    let meeting = split.matcher.meeting(before, after)?;
                    let (here, here_maybe) = split.behavior.parts(&meeting, split.invert);
                    (surely, maybe) = (here, maybe | here_maybe);
                }
                // The rest gets a prefix if it is surely a piece of its own by then, or surely none.
                Stage::Insert(insert)
                    if insert.scheme == Scheme::Always
                        && if self.0.prefixes_pieces { !surely } else { maybe } =>
                {
                    return None;
                }
                Stage::Insert(insert) => {
                    (before, after) = (insert.replaced(before), insert.replaced(after));
                }
                Stage::FixedLength { .. } => return None,
            }
        }
        Some((surely, before, after))
    }

    /// Returns how many characters are put before a whole text that begins with `first`, if every character of the
    /// text becomes one character and is in a piece. `None` if that is not so, or not known.
    pub fn prefix(&self, mut first: char) -> Option<u32> {
        let mut count = 0;
        let mut is_split = false;
        for stage in &self.0.stages {
            match stage {
                Stage::Split(split) if split.removes() => return None,
                Stage::Split(_) | Stage::FixedLength { .. } => is_split = true,
                Stage::Insert(insert) if insert.scheme == Scheme::Always && is_split => return None,
                Stage::Insert(insert) => {
                    first = insert.replaced(first);
                    if insert.scheme != Scheme::Never && first != insert.prefix {
                        (count, first) = (count + 1, insert.prefix);
                    }
                }
            }
        }
        Some(count)
    }

    /// Does the work of [`Pretokenizer::pretokenize`] on a text that knows where its bytes come from.
    pub fn pretokenize_aligned(&self, text: &Aligned, first: bool, pieces: &mut Pieces) -> Result<Aligned> {
        let mut origins = text.origins.clone();
        let given = Cow::Borrowed(&text.text[..]);
        let changed = self.run(given, (first, false), &mut Scratch::default(), pieces, Some(&mut origins))?;
        Ok(Aligned { text: changed.into_owned(), origins })
    }

    fn run<'a>(
        &self,
        mut text: Cow<'a, str>,
        place: (bool, bool),
        scratch: &mut Scratch,
        pieces: &mut Pieces,
        mut origins: Option<&mut Origins>,
    ) -> Result<Cow<'a, str>> {
        pieces.clear();
        check_len(text.len())?;
        if text.is_empty() {
            return Ok(text);
        }
        pieces.ends.push(text.len() as u32);
        let Scratch { previous, matching } = scratch;
        for stage in &self.0.stages {
            std::mem::swap(previous, pieces);
            pieces.clear();
            match stage {
                Stage::Split(split) => split.run(&text, previous, pieces, matching)?,
                Stage::Insert(insert) => {
                    match insert.run(&text, place, previous, pieces, origins.as_deref_mut()) {
                        Some(changed) => {
                            check_len(changed.len())?;
                            text = Cow::Owned(changed);
                        }
                        None => std::mem::swap(previous, pieces),
                    }
                }
                &Stage::FixedLength { units, bytes } => {
                    previous.each(pieces, |(from, to), pieces| {
                        fixed_length(&text.as_bytes()[from..to], units, bytes, |end| {
                            pieces.ends.push((from + end) as u32);
                        });
                        Ok(())
                    })?;
                }
            }
        }
        Ok(text)
    }
}

fn prefixes_pieces(stages: &[Stage]) -> bool {
    let always = |stage: &Stage| matches!(stage, Stage::Insert(insert) if insert.scheme == Scheme::Always);
    let before = stages.iter().rposition(always).map_or(&[][..], |last| &stages[..last]);
    before.iter().any(|stage| matches!(stage, Stage::Split(split) if split.matcher.covers()))
}

/// Replaces splits in sequence by one split where the pieces are the same: see `split/zones.rs`.
fn fused(stages: Vec<Stage>) -> Vec<Stage> {
    let mut done: Vec<Stage> = Vec::new();
    // The last stages of `done` that isolate zones, and the zones.
    let mut zones = Vec::new();
    for stage in stages {
        let Stage::Split(split) = stage else {
            zones.clear();
            done.push(stage);
            continue;
        };
        if let Some(zone) = split.zone() {
            zones.push(zone);
        } else if let Some(one) = split.in_zones(&zones) {
            done.truncate(done.len() - zones.len());
            zones.clear();
            done.push(Stage::Split(Box::new(one)));
            continue;
        } else {
            zones.clear();
        }
        done.push(Stage::Split(split));
    }
    done
}

impl Pieces {
    fn clear(&mut self) {
        self.ends.clear();
        self.dropped.clear();
    }

    /// Returns the ranges of the pieces that were not removed.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let mut dropped = self.dropped.iter().peekable();
        let mut start = 0;
        self.ends.iter().enumerate().filter_map(move |(i, &end)| {
            let range = std::mem::replace(&mut start, end as usize)..end as usize;
            dropped.next_if(|&&at| at as usize == i).is_none().then_some(range)
        })
    }

    /// Replaces `joined` by the pieces that were not removed, and `ends` by where they end in it. Returns false
    /// if there is no need, because none was removed, or no way, because one is part of a character.
    pub fn join(&self, text: &str, joined: &mut String, ends: &mut Vec<u32>) -> bool {
        if self.dropped.is_empty() {
            return false;
        }
        joined.clear();
        ends.clear();
        for range in self.ranges() {
            let Some(piece) = text.get(range) else { return false };
            joined.push_str(piece);
            ends.push(joined.len() as u32);
        }
        true
    }

    /// Passes every piece that was not removed to `visit`, which appends its result to `to`.
    fn each(
        &self,
        to: &mut Pieces,
        mut visit: impl FnMut((usize, usize), &mut Pieces) -> Result<()>,
    ) -> Result<()> {
        let mut dropped = self.dropped.iter().peekable();
        let mut start = 0;
        for (i, &end) in self.ends.iter().enumerate() {
            if dropped.next_if(|&&at| at as usize == i).is_some() {
                to.drop_until(end);
            } else {
                visit((start, end as usize), to)?;
            }
            start = end as usize;
        }
        Ok(())
    }

    fn drop_until(&mut self, end: u32) {
        self.dropped.push(self.ends.len() as u32);
        self.ends.push(end);
    }
}

/// Reports the end of every `units` characters, or bytes, and of the rest.
fn fixed_length(piece: &[u8], units: usize, bytes: bool, mut visit: impl FnMut(usize)) {
    let mut count = 0;
    for (at, byte) in piece.iter().enumerate() {
        if bytes || byte & 0xC0 != 0x80 {
            if count == units {
                visit(at);
                count = 0;
            }
            count += 1;
        }
    }
    visit(piece.len());
}

fn check_len(bytes: usize) -> Result<()> {
    if bytes > u32::MAX as usize {
        return Err(Error::TooLong { what: "document", bytes: bytes as u64 });
    }
    Ok(())
}

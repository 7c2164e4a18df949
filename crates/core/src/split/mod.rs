//! Split: a document becomes pre-tokens, and merges never cross the end of a pre-token.
//!
//! The contract: the pre-tokens joined are the document, whatever the pattern. A character at which the
//! pattern does not match becomes a separate pre-token, as if the pattern ended in `|(?s:.)`. Matching
//! depends on the whole document and the position, and on nothing else.
//!
//! Three tiers implement it, from fast to general; the pattern decides which:
//!
//! | tier | patterns | cost |
//! |---|---|---|
//! | [`Tier::Scanner`] (`scan*.rs`) | the presets, with any number of digits | 1.2–2 GB/s on English, 0.6–1 on mixed scripts; always linear |
//! | [`Tier::Dfa`] (`rewrite.rs`, `dfa.rs`) | regular ones, and `\s+(?!\S)` | 450–800 MB/s; may rescan, up to a limit |
//! | [`Tier::LookAround`] (`lookaround.rs`) | all others | 5–50 MB/s; may backtrack, up to a limit |
//!
//! All three take their classes from one Unicode version ([`unicode_version`]), that of tiktoken's engine.

mod bitmap;
mod bits;
mod classes;
mod dfa;
mod dfa_table;
mod lanes;
mod lookaround;
mod matcher;
mod neighbors;
mod parallel;
mod presets;
pub(crate) mod printable;
mod rewrite;
mod scan;
mod scan_gpt2;
mod scan_gpt4;
mod scan_o200k;
#[cfg(test)]
mod tests;
mod zones;

use std::sync::{Arc, OnceLock};

pub use classes::unicode_version;
pub(crate) use dfa::Budget;
pub(crate) use matcher::{Matcher, Meeting, Role, Segments};
pub(crate) use zones::Zone;

use crate::{Error, Result};
use dfa::Dfa;
use lookaround::LookAround;
use neighbors::Neighbors;
use presets::{Preset, Scanner};

/// Returns the names of the presets.
pub fn preset_names() -> &'static [&'static str] {
    &presets::NAMES
}

/// A compiled split pattern; cheap to clone, shared between threads.
#[derive(Clone)]
pub struct Splitter(Arc<Compiled>);

struct Compiled {
    pattern: String,
    preset: Option<Preset>,
    engine: Engine,
    /// Found when first asked for; none if the pattern looks behind.
    neighbors: OnceLock<Option<Neighbors>>,
}

enum Engine {
    Scanner(Scanner),
    Dfa(Box<Dfa>),
    LookAround(Box<LookAround>),
}

/// How a pattern is matched; see the table above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    Scanner,
    Dfa,
    LookAround,
}

/// Where a pattern comes from, which decides how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The caller, who can be trusted to want it.
    Caller,
    /// A file, which may be an attack.
    File,
}

/// Buffers that one thread reuses from call to call.
#[derive(Default)]
pub struct Scratch {
    masks: scan::Masks,
    ends: Vec<u32>,
}

/// How many bytes the DFA splits at a time in [`Splitter::split_stepwise`].
const STEP: usize = 16 << 10;

impl Splitter {
    /// Compiles the name of a preset or a regular expression that the caller wrote.
    pub fn new(pattern: &str) -> Result<Splitter> {
        Splitter::from(pattern, Origin::Caller)
    }

    /// Compiles a pattern, with the limits of its origin.
    pub fn from(pattern: &str, origin: Origin) -> Result<Splitter> {
        let (pattern, preset) = resolve(pattern)?;
        let engine = match Scanner::of(pattern) {
            Some(scanner) => Engine::Scanner(scanner),
            None => match rewrite::regular(pattern)?.and_then(|regular| Dfa::new(pattern, &regular)) {
                Some(dfa) => Engine::Dfa(Box::new(dfa)),
                None => Engine::LookAround(Box::new(LookAround::new(pattern, origin)?)),
            },
        };
        Ok(Splitter(Arc::new(Compiled {
            pattern: pattern.into(),
            preset,
            engine,
            neighbors: OnceLock::new(),
        })))
    }

    /// Compiles a pattern for a given tier, for tests and benchmarks: a preset runs on any, another pattern
    /// on those that it is fit for. The pre-tokens are the same.
    pub fn with_engine(pattern: &str, tier: Tier) -> Result<Splitter> {
        let (pattern, preset) = resolve(pattern)?;
        let unfit = |reason: &str| Error::BadPattern { pattern: pattern.into(), reason: reason.into() };
        let regular = rewrite::regular(pattern)?;
        let engine = match tier {
            Tier::Scanner => Scanner::of(pattern)
                .map(Engine::Scanner)
                .ok_or_else(|| unfit("only presets have a scanner"))?,
            Tier::Dfa => regular
                .and_then(|regular| Dfa::new(pattern, &regular))
                .map(|dfa| Engine::Dfa(Box::new(dfa)))
                .ok_or_else(|| unfit("it is not regular, or its DFA is too large"))?,
            Tier::LookAround => Engine::LookAround(Box::new(LookAround::new(pattern, Origin::Caller)?)),
        };
        Ok(Splitter(Arc::new(Compiled {
            pattern: pattern.into(),
            preset,
            engine,
            neighbors: OnceLock::new(),
        })))
    }

    /// Returns the regular expression, also for presets.
    pub fn pattern(&self) -> &str {
        &self.0.pattern
    }

    /// Returns the name of the preset.
    pub fn name(&self) -> Option<&'static str> {
        self.0.preset.map(Preset::name)
    }

    /// Returns how this pattern is matched.
    pub fn tier(&self) -> Tier {
        match self.0.engine {
            Engine::Scanner(_) => Tier::Scanner,
            Engine::Dfa(_) => Tier::Dfa,
            Engine::LookAround(_) => Tier::LookAround,
        }
    }

    /// Appends the end of every pre-token of `text`, a whole document of less than 4 GiB.
    pub fn split(&self, text: &str, scratch: &mut Scratch, ends: &mut Vec<u32>) -> Result<()> {
        check_len(text)?;
        match &self.0.engine {
            Engine::Scanner(scanner) => scan::split(*scanner, text, &mut scratch.masks, ends),
            Engine::Dfa(dfa) => dfa.split(text, ends)?,
            Engine::LookAround(regex) => regex.split_from(text, 0, ends, |_| true)?,
        }
        Ok(())
    }

    /// Does the work of [`Splitter::split`] in steps of some thousand bytes: `visit` receives the ends of the
    /// next pre-tokens while they and their text are still in the nearest cache. (A pattern with look-around
    /// takes one step.)
    pub fn split_stepwise(
        &self,
        text: &str,
        scratch: &mut Scratch,
        mut visit: impl FnMut(&[u32]) -> Result<()>,
    ) -> Result<()> {
        check_len(text)?;
        let Scratch { masks, ends } = scratch;
        let mut budget = dfa::Budget::of(text);
        let mut at = 0;
        while at < text.len() {
            ends.clear();
            at = match &self.0.engine {
                Engine::Scanner(scanner) => scan::split_segment(*scanner, text, at, masks, ends),
                Engine::Dfa(dfa) => {
                    dfa.split_fast(text.as_bytes(), at, text.len().min(at + STEP), true, &mut budget, ends)?
                }
                Engine::LookAround(regex) => {
                    regex.split_from(text, 0, ends, |_| true)?;
                    text.len()
                }
            };
            visit(ends)?;
        }
        Ok(())
    }

    /// Returns the last offset in `text` at which the document can be cut in two parts that, each on its own,
    /// split into the same pre-tokens as the whole, whatever comes before and after `text`. `None` if there
    /// is no such offset, or if the pattern is not a preset.
    pub fn last_cut(&self, text: &str) -> Option<usize> {
        match self.0.engine {
            Engine::Scanner(scanner) => scan::last_cut(scanner, text),
            _ => None,
        }
    }

    /// Whether safe cuts can be found: for presets.
    pub fn has_safe_cuts(&self) -> bool {
        self.tier() == Tier::Scanner
    }

    /// Returns the first offset in `text` at which the document can be cut, as [`Splitter::last_cut`].
    pub fn first_cut(&self, text: &str) -> Option<usize> {
        match self.0.engine {
            Engine::Scanner(scanner) => scan::first_cut(scanner, text),
            _ => None,
        }
    }

    /// Whether every text that contains these two characters side by side can be cut between them in two parts
    /// that, each on its own, split into the same pre-tokens as the whole. False where that is not proven.
    pub fn parts(&self, before: char, after: char) -> bool {
        match &self.0.engine {
            Engine::Scanner(scanner) => scan::is_safe(*scanner, before, after),
            _ => {
                let neighbors = self.0.neighbors.get_or_init(|| Neighbors::of_pattern(&self.0.pattern));
                neighbors.as_ref().is_some_and(|neighbors| !neighbors.may_meet(before, after))
            }
        }
    }

    /// Splits the beginning of a document that continues after `text`: appends only pre-tokens that no
    /// continuation can change and returns where they end. `None` if this pattern must see the whole document
    /// (it looks behind).
    pub fn split_beginning(
        &self,
        text: &str,
        scratch: &mut Scratch,
        ends: &mut Vec<u32>,
    ) -> Option<Result<usize>> {
        if let Err(e) = check_len(text) {
            return Some(Err(e));
        }
        match &self.0.engine {
            Engine::Scanner(scanner) => {
                let cut = scan::last_cut(*scanner, text).unwrap_or(0);
                scan::split(*scanner, &text[..cut], &mut scratch.masks, ends);
                Some(Ok(cut))
            }
            Engine::Dfa(dfa) => Some(dfa.split_beginning(text, ends)),
            Engine::LookAround(_) => None,
        }
    }

    /// Does the work of [`Splitter::split`] with several threads on one document.
    pub fn split_parallel(&self, text: &str, threads: usize) -> Result<Vec<u32>> {
        check_len(text)?;
        parallel::split(&self.0.engine, text, threads)
    }
}

/// Returns the regular expression of a name or an expression, and the preset that it is.
fn resolve(pattern: &str) -> Result<(&str, Option<Preset>)> {
    if let Some(preset) = Preset::named(pattern).or_else(|| Preset::with_pattern(pattern)) {
        return Ok((preset.pattern(), Some(preset)));
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if !pattern.is_empty() && pattern.chars().all(is_word) {
        return Err(presets::unknown(pattern));
    }
    Ok((pattern, None))
}

fn check_len(text: &str) -> Result<()> {
    if text.len() > u32::MAX as usize {
        return Err(Error::TooLong { what: "document", bytes: text.len() as u64 });
    }
    Ok(())
}

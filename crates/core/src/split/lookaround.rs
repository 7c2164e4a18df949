//! Look-around: the tier for patterns that are not regular, on the backtracking engine of `fancy-regex`.
//!
//! Only patterns that need look-behind, true look-ahead, back-references or word boundaries come here. Cost:
//! 5–50 MB/s per core, without a guarantee of linear time: the engine counts its backtracks and gives up
//! after a million of them for one match, which becomes [`Error::StepLimit`]. A look-ahead over the whole
//! document (`(?=.*x)`) backtracks little and is slow all the same; the engine does not count that, so a
//! document also has a time limit, far above what any sound pattern needs, and a lower one if the pattern comes
//! from a file. The time is checked between attempts, each of which begins at one character: an attempt reads the
//! document once, and once more for each of its backtracks and each look-around in a loop.

use std::time::{Duration, Instant};

use fancy_regex::{CompileError, Regex, RegexBuilder, RegexInput};

use super::Origin;
use crate::{Error, Result};

/// The engine's default, but stated.
const BACKTRACKS: usize = 1_000_000;

/// A document may take this long, plus the time that half a megabyte per second takes.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });
const PATIENCE_PER_BYTE: Duration = Duration::from_micros(2);

/// What takes the place of [`PATIENCE`] for patterns from files, which may be an attack.
const PATIENCE_WITH_FILES: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 1000 });

/// A pattern compiled for backtracking.
pub struct LookAround {
    regex: Regex,
    patience: Duration,
}

impl LookAround {
    pub fn new(pattern: &str, origin: Origin) -> Result<LookAround> {
        let bad = |reason: String| Error::BadPattern { pattern: pattern.into(), reason };
        let regex = RegexBuilder::new(pattern)
            .backtrack_limit(BACKTRACKS)
            .build()
            .map_err(|e| bad(reason(&e, pattern)))?;
        if regex.is_match("").unwrap_or(false) {
            return Err(bad(
                "it matches the empty string; every alternative must consume at least one character".into(),
            ));
        }
        let patience = match origin {
            Origin::Caller => PATIENCE,
            Origin::File => PATIENCE_WITH_FILES,
        };
        Ok(LookAround { regex, patience })
    }

    /// Appends the ends of pre-tokens from `at` on, which is a boundary of the whole document, until `go_on`
    /// returns false.
    pub fn split_from(
        &self,
        text: &str,
        mut at: usize,
        ends: &mut Vec<u32>,
        mut go_on: impl FnMut(usize) -> bool,
    ) -> Result<()> {
        let begun = Instant::now();
        let patience = self.patience + PATIENCE_PER_BYTE * (text.len() - at) as u32;
        let tired = |at| Error::StepLimit { pattern: self.regex.as_str().into(), at };
        while at < text.len() {
            if begun.elapsed() > patience {
                return Err(tired(at));
            }
            let attempt = RegexInput::new(text).from_pos(at).anchored(true);
            at = match self.regex.find_input(attempt).map_err(|_| tired(at))? {
                Some(found) if found.end() == at => {
                    return Err(Error::EmptyMatch { pattern: self.regex.as_str().into(), at });
                }
                Some(found) => found.end(),
                None => text.ceil_char_boundary(at + 1),
            };
            ends.push(at as u32);
            if !go_on(at) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reports the matches in `text`, a whole document, to `visit`.
    pub fn matches(&self, text: &str, mut visit: impl FnMut(usize, usize)) -> Result<()> {
        let begun = Instant::now();
        let patience = self.patience + PATIENCE_PER_BYTE * text.len() as u32;
        let mut at = 0;
        while at < text.len() {
            let tired = || Error::StepLimit { pattern: self.regex.as_str().into(), at };
            if begun.elapsed() > patience {
                return Err(tired());
            }
            let Some(found) = self.regex.find_from_pos(text, at).map_err(|_| tired())? else { break };
            if found.start() == found.end() {
                return Err(Error::EmptyMatch { pattern: self.regex.as_str().into(), at });
            }
            visit(found.start(), found.end());
            at = found.end();
        }
        Ok(())
    }
}

/// Says why a pattern cannot be compiled; the engine's own message leaves that to the error within.
fn reason(error: &fancy_regex::Error, pattern: &str) -> String {
    let within = match error {
        fancy_regex::Error::CompileError(error) => match &**error {
            CompileError::InnerError(error) => error.syntax_error(),
            _ => None,
        },
        _ => None,
    };
    let (kind, rewritten, span) = match within {
        Some(regex_syntax::Error::Parse(error)) => (error.kind().to_string(), error.pattern(), error.span()),
        Some(regex_syntax::Error::Translate(error)) => {
            (error.kind().to_string(), error.pattern(), error.span())
        }
        _ => return error.to_string(),
    };
    let part = rewritten.get(span.start.offset..span.end.offset).unwrap_or(rewritten);
    // The engine writes names in lowercase.
    let is_it = |own: &&str| own.eq_ignore_ascii_case(part);
    let own = (0..pattern.len()).find_map(|at| pattern.get(at..at + part.len()).filter(is_it));
    let part = own.unwrap_or(part);
    format!("{kind}: {part}")
}

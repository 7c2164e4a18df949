//! Look-around: the tier for patterns that are not regular, on the backtracking engine of `fancy-regex`.
//!
//! Only patterns that need look-behind, true look-ahead, back-references or word boundaries come here. Cost:
//! 5–50 MB/s per core, without a guarantee of linear time: the engine counts its backtracks and gives up
//! after a million of them for one match, which becomes [`Error::StepLimit`]. A look-ahead over the whole
//! document (`(?=.*x)`) backtracks little and is slow all the same; the engine does not count that, so a
//! document also has a time limit, far above what any sound pattern needs.

use std::time::{Duration, Instant};

use fancy_regex::{Regex, RegexBuilder};

use crate::{Error, Result};

/// The engine's default, but stated.
const BACKTRACKS: usize = 1_000_000;

/// A document may take this long, plus the time that half a megabyte per second takes.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });
const PATIENCE_PER_BYTE: Duration = Duration::from_micros(2);

/// A pattern compiled for backtracking.
pub struct LookAround {
    regex: Regex,
}

impl LookAround {
    pub fn new(pattern: &str) -> Result<LookAround> {
        let bad = |reason: String| Error::BadPattern { pattern: pattern.into(), reason };
        let regex =
            RegexBuilder::new(pattern).backtrack_limit(BACKTRACKS).build().map_err(|e| bad(e.to_string()))?;
        if regex.is_match("").unwrap_or(false) {
            return Err(bad(
                "it matches the empty string; every alternative must consume at least one character".into(),
            ));
        }
        Ok(LookAround { regex })
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
        let patience = PATIENCE + PATIENCE_PER_BYTE * (text.len() - at) as u32;
        let tired = |at| Error::StepLimit { pattern: self.regex.as_str().into(), at };
        while at < text.len() {
            if begun.elapsed() > patience {
                return Err(tired(at));
            }
            let found = self.regex.find_from_pos(text, at).map_err(|_| tired(at))?;
            let (start, end) = found.map_or((text.len(), text.len()), |m| (m.start(), m.end()));
            for c in text[at..start].chars() {
                at += c.len_utf8();
                ends.push(at as u32);
                if !go_on(at) {
                    return Ok(());
                }
            }
            if found.is_some() {
                if start == end {
                    return Err(Error::EmptyMatch { pattern: self.regex.as_str().into(), at });
                }
                at = end;
                ends.push(at as u32);
                if !go_on(at) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Reports the matches in `text`, a whole document, to `visit`.
    pub fn matches(&self, text: &str, mut visit: impl FnMut(usize, usize)) -> Result<()> {
        let begun = Instant::now();
        let patience = PATIENCE + PATIENCE_PER_BYTE * text.len() as u32;
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

//! Parallel: one document on several threads, with the same pre-tokens.
//!
//! The document of a preset is cut at safe cuts (`scan.rs`) and the parts are split independently. For other
//! patterns no cut is safe, but matching depends only on the whole document and the position: so every worker
//! sees the whole document and starts at a guess. True boundaries are then followed from worker to worker:
//! once the true boundary is one that the next worker also found, everything that it found from there on is
//! true; until then matching continues on its own, and a worker that is overtaken is ignored.
//!
//! Cost: wrong guesses usually synchronize within a few pre-tokens. It loses on patterns with very long
//! pre-tokens, which gain nothing.
//!
//! The step limit holds: the work of all threads together counts, and where a worker fails or the sum is too
//! much, a serial run decides, so that the errors are those of `split`.

use super::Engine;
use super::dfa::Budget;
use super::scan::{self, Masks, first_cut, floor_char};
use crate::{Result, threads};

/// Below this many bytes per thread, starting threads costs more than it saves.
const LEAST: usize = 64 << 10;

/// Splits a whole document on up to `threads` threads.
pub fn split(engine: &Engine, text: &str, threads: usize) -> Result<Vec<u32>> {
    split_in(engine, text, threads.min(text.len() / LEAST).max(1))
}

/// Does the work of [`split`] in this many parts, even if they are small.
pub fn split_in(engine: &Engine, text: &str, parts: usize) -> Result<Vec<u32>> {
    let mut guesses: Vec<usize> = (0..=parts).map(|k| floor_char(text, text.len() * k / parts)).collect();
    guesses.dedup();
    if guesses.len() > 2 {
        if let Engine::Scanner(scanner) = engine {
            // A guess is moved to the first safe cut after it, or dropped.
            let moved =
                guesses.windows(3).filter_map(|w| Some(w[1] + first_cut(*scanner, &text[w[1]..w[2]])?));
            let cuts: Vec<usize> = [0].into_iter().chain(moved).chain([text.len()]).collect();
            return Ok(at_cuts(&cuts, |part, ends| {
                scan::split(*scanner, &text[part], &mut Masks::default(), ends)
            }));
        }
        if let Some(ends) = speculate(engine, text, &guesses) {
            return Ok(ends);
        }
    }
    let mut ends = Vec::new();
    match engine {
        Engine::Scanner(scanner) => scan::split(*scanner, text, &mut Masks::default(), &mut ends),
        Engine::Dfa(dfa) => dfa.split(text, &mut ends)?,
        Engine::LookAround(regex) => regex.split_from(text, 0, &mut ends, |_| true)?,
    }
    Ok(ends)
}

/// Splits the parts between safe cuts, each on its own thread.
fn at_cuts(cuts: &[usize], split: impl Fn(std::ops::Range<usize>, &mut Vec<u32>) + Sync) -> Vec<u32> {
    let parts = threads::map(cuts.windows(2), |w| {
        let mut ends = Vec::new();
        split(w[0]..w[1], &mut ends);
        ends.iter_mut().for_each(|end| *end += w[0] as u32);
        ends
    });
    let mut parts = parts.into_iter();
    // The first part grows in place: fresh memory costs more than splitting does.
    let mut ends = parts.next().unwrap_or_default();
    parts.for_each(|part| ends.extend_from_slice(&part));
    ends
}

/// Splits from guesses; `None` if the serial run must decide.
fn speculate(engine: &Engine, text: &str, guesses: &[usize]) -> Option<Vec<u32>> {
    let mut budget = Budget::of(text);
    let total = budget.0;
    // Appends the boundaries from `from` on until `go_on` returns false, and returns the work done.
    let run = |from: usize, left: u64, ends: &mut Vec<u32>, go_on: &mut dyn FnMut(usize) -> bool| {
        let mut budget = Budget(left);
        match engine {
            Engine::Scanner(_) => unreachable!("scanners cut at safe cuts"),
            Engine::Dfa(dfa) => dfa.split_from(text, from, &mut budget, ends, go_on).ok()?,
            Engine::LookAround(regex) => regex.split_from(text, from, ends, go_on).ok()?,
        }
        Some(left - budget.0)
    };
    let found: Vec<Option<(Vec<u32>, u64)>> = threads::map(guesses.windows(2), |w| {
        let (from, until) = (w[0], w[1]);
        let (mut ends, mut budget) = (Vec::new(), Budget(total));
        if let Engine::Dfa(dfa) = engine {
            dfa.split_fast(text.as_bytes(), from, until, true, &mut budget, &mut ends).ok()?;
            return Some((ends, total - budget.0));
        }
        let work = run(from, total, &mut ends, &mut |at| at < until)?;
        Some((ends, work))
    });

    let mut ends: Vec<u32> = Vec::new();
    for (k, found) in found.into_iter().enumerate() {
        let (theirs, work) = found?;
        budget.0 = budget.0.checked_sub(work)?;
        let at = ends.last().copied().unwrap_or(0);
        // Where the true boundaries meet theirs; `guesses[k]` is where they began.
        let meets = |at: u32| -> Option<usize> {
            if at as usize == guesses[k] {
                return Some(0);
            }
            theirs.binary_search(&at).ok().map(|i| i + 1)
        };
        let mut met = meets(at);
        let until = guesses[k + 1];
        if met.is_none() && (at as usize) < until {
            let work = run(at as usize, budget.0, &mut ends, &mut |at| {
                met = meets(at as u32);
                met.is_none() && at < until
            })?;
            budget.0 = budget.0.checked_sub(work)?;
        }
        if let Some(i) = met {
            ends.extend_from_slice(&theirs[i..]);
        }
    }
    Some(ends)
}

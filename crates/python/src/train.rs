//! Training: counts become a tokenizer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use merganser_core::train::{Limit, MergeLog, Source, TieBreak, TrainSettings};
use merganser_core::{Progress, Tokenizer as Trained};
use pyo3::prelude::*;

use crate::counts::Counts;
use crate::errors::raise;
use crate::interrupt::run_interruptible;
use crate::tokenizer::{Model, Tokenizer};

/// Counts in memory, or a file of them.
enum Given {
    Counts(Arc<merganser_core::count::Counts>),
    File(PathBuf),
}

/// How many pre-tokens were dropped, and how often they were seen.
type Dropped = (u64, u64);

/// How many merges are proven, and how many were checked.
type Certified = (usize, usize);

/// Learns at most `merges` merges; ids go on after those of `base`, and the new special tokens follow.
///
/// `counts` are in memory or in a file. What does not fit in `memory` bytes goes to `folder`. With a `log` it
/// goes on after the merges that stand there, unless it is to start `afresh`. Also gives how often each merge
/// was seen, what was dropped and, if asked, how many of them are proven and how many were checked.
#[pyfunction]
#[pyo3(signature = (
    counts, merges, special_tokens, *, tie_break, min_frequency, max_token_bytes, min_pretoken_count, certify, base,
    threads, memory, folder, log, afresh, checkpoint_every, progress
))]
#[allow(clippy::too_many_arguments)] // the settings of training, by name
pub fn train(
    py: Python<'_>,
    counts: &Bound<'_, PyAny>,
    merges: usize,
    special_tokens: Vec<String>,
    tie_break: &str,
    min_frequency: u64,
    max_token_bytes: Option<usize>,
    min_pretoken_count: u64,
    certify: bool,
    base: Option<&Tokenizer>,
    threads: usize,
    memory: Option<u64>,
    folder: PathBuf,
    log: Option<PathBuf>,
    afresh: bool,
    checkpoint_every: f64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Model, Vec<u64>, Dropped, Option<Certified>)> {
    let tie_break = match tie_break {
        "ids" => TieBreak::Ids,
        "huggingface" => TieBreak::HuggingFace,
        "bytes" => TieBreak::Bytes,
        other => {
            let message = format!("tie_break is \"ids\", \"huggingface\" or \"bytes\", not {other:?}");
            return Err(raise(py, "SettingsError", message));
        }
    };
    let given = match counts.cast::<Counts>() {
        Ok(counts) => Given::Counts(Arc::clone(&counts.get().0)),
        Err(_) => Given::File(counts.extract()?),
    };
    let base = base.map(|base| &*base.0);
    let first_id = base.map_or(256, Trained::next_id);
    let every = Duration::from_secs_f64(checkpoint_every);

    let (trained, seen, dropped, certificate) =
        run_interruptible(py, progress, &Progress::new(), |progress| {
            let source = match &given {
                Given::Counts(counts) => Source::Memory(counts),
                Given::File(path) => Source::file(path)?,
            };
            let special_bytes =
                source.settings().special_tokens.iter().map(|token| token.clone().into_bytes());
            let forbidden: Vec<Vec<u8>> = special_bytes.collect();
            let settings = TrainSettings {
                merges,
                tie_break,
                min_frequency,
                max_token_bytes,
                min_pretoken_count,
                forbidden: &forbidden,
                base,
                first_id,
                threads,
            };
            let log = match log {
                Some(path) => Some(MergeLog::open(&path, &source, &settings, afresh, every)?),
                None => None,
            };
            let limit = memory.map(|memory| Limit { memory, folder: &folder });
            let learned = merganser_core::train::train(&source, &settings, log, limit, progress)?;
            let dropped = match min_pretoken_count {
                0 | 1 => (0, 0),
                least => source.rarer_than(least, progress)?,
            };
            let certificate = match certify {
                true => Some(merganser_core::train::certify(&source, &settings, &learned, memory, progress)?),
                false => None,
            };
            let specials = special_tokens.into_iter().zip(first_id + learned.pairs.len() as u32..).collect();
            let splitter = source.settings().splitter.clone();
            let trained = Trained::trained(base, &learned.pairs, first_id, splitter, specials)?;
            Ok((trained, learned.counts, dropped, certificate.map(|found| (found.proven, found.checked))))
        })?;
    Ok((Model(Arc::new(trained)), seen, dropped, certificate))
}

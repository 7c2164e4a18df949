//! Training: counts become a tokenizer.

use std::sync::Arc;

use merganser_core::train::{TieBreak, TrainSettings};
use merganser_core::{Progress, Tokenizer as Trained};
use pyo3::prelude::*;

use crate::counts::Counts;
use crate::errors::raise;
use crate::interrupt::run_interruptible;
use crate::tokenizer::{Model, Tokenizer};

/// Learns at most `merges` merges; ids go on after those of `base`, and the new special tokens follow.
/// Also gives how often each merge was seen.
#[pyfunction]
#[pyo3(signature = (counts, merges, special_tokens, *, tie_break, min_frequency, max_token_bytes, base, threads, progress))]
#[allow(clippy::too_many_arguments)] // the settings of training, by name
pub fn train(
    py: Python<'_>,
    counts: &Counts,
    merges: usize,
    special_tokens: Vec<String>,
    tie_break: &str,
    min_frequency: u64,
    max_token_bytes: Option<usize>,
    base: Option<&Tokenizer>,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Model, Vec<u64>)> {
    let tie_break = match tie_break {
        "ids" => TieBreak::Ids,
        "huggingface" => TieBreak::HuggingFace,
        "bytes" => TieBreak::Bytes,
        other => {
            let message = format!("tie_break is \"ids\", \"huggingface\" or \"bytes\", not {other:?}");
            return Err(raise(py, "SettingsError", message));
        }
    };
    let counts = &*counts.0;
    let base = base.map(|base| &*base.0);
    let first_id = base.map_or(256, Trained::next_id);
    let special_bytes = counts.settings.special_tokens.iter().map(|token| token.clone().into_bytes());
    let forbidden: Vec<Vec<u8>> = special_bytes.collect();

    let (trained, seen) = run_interruptible(py, progress, &Progress::new(), |progress| {
        let settings = TrainSettings {
            merges,
            tie_break,
            min_frequency,
            max_token_bytes,
            forbidden: &forbidden,
            base,
            first_id,
            threads,
        };
        let learned = merganser_core::train::train(counts, &settings, progress)?;
        let specials = special_tokens.into_iter().zip(first_id + learned.pairs.len() as u32..).collect();
        let splitter = counts.settings.splitter.clone();
        let trained = Trained::trained(base, &learned.pairs, first_id, splitter, specials)?;
        Ok((trained, learned.counts))
    })?;
    Ok((Model(Arc::new(trained)), seen))
}

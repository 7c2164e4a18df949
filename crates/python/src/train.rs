//! Training: from counts to a tokenizer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use merganser_core::Progress;
use merganser_core::train::{Limit, LogSettings, TieBreak, TrainingJob, train_tokenizer};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::counts::GivenCounts;
use crate::errors::raise;
use crate::interrupt::{Callback, run_interruptible};
use crate::tokenizer::{Model, Tokenizer};

/// The keyword arguments of `train`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct TrainingArguments {
    tie_break: String,
    min_frequency: u64,
    max_token_bytes: Option<usize>,
    min_pretoken_count: u64,
    certify: bool,
    threads: usize,
    memory: Option<u64>,
    folder: PathBuf,
    log: Option<PathBuf>,
    restart: bool,
    checkpoint_every: f64,
}

fn tie_break(py: Python<'_>, name: &str) -> PyResult<TieBreak> {
    match name {
        "ids" => Ok(TieBreak::Ids),
        "huggingface" => Ok(TieBreak::HuggingFace),
        "bytes" => Ok(TieBreak::Bytes),
        other => {
            let message = format!("tie_break must be \"ids\", \"huggingface\" or \"bytes\", got {other:?}");
            Err(raise(py, "SettingsError", message))
        }
    }
}

/// A trained tokenizer, and what is known about its training.
#[pyclass(frozen, get_all, module = "merganser._core")]
pub struct Training {
    /// The tokenizer.
    model: Py<Model>,
    /// How often each merged pair occurred, by the id of the new token.
    merge_counts: Py<PyDict>,
    /// How many unique pre-tokens were dropped before training.
    dropped_pretokens: u64,
    /// How often the dropped pre-tokens occurred in all.
    dropped_total: u64,
    /// How many of the first merges are proven to be those of all pre-tokens; None if not checked.
    proven_merges: Option<usize>,
    /// How many of the first merges were checked.
    checked_merges: Option<usize>,
}

/// Train a tokenizer on counts.
///
/// Parameters
/// ----------
/// counts
///     Counts, or the path of a `.counts` file.
/// merges
///     The maximum number of merges.
/// special_tokens
///     Special tokens, whose ids follow the merges in this order. Those of `base` keep their ids.
/// base
///     A tokenizer to continue from.
/// progress
///     Called with "merge" or "certify", how much is done, and the total.
/// tie_break
///     Which of several equally frequent pairs comes first: "ids", "huggingface" or "bytes".
/// min_frequency
///     Pairs that occur less often are not merged.
/// max_token_bytes
///     The maximum length of a token, or None.
/// min_pretoken_count
///     Pre-tokens that occur less often are dropped before training.
/// certify
///     Whether to determine which merges that has not changed.
/// threads
///     The number of threads; 0 for one per core.
/// memory
///     How many bytes to use, or None for no limit; pre-tokens that do not fit are kept in `folder`.
/// folder
///     A folder for temporary files.
/// log
///     A file that merges are logged to, so that an interrupted training can be resumed; or None.
/// restart
///     Whether to ignore what `log` holds.
/// checkpoint_every
///     How often to write to `log`, in seconds.
///
/// Raises
/// ------
/// SettingsError
///     If `tie_break` is none of these.
/// CountsError
///     If the counts are corrupt, or too large for 64 bits.
/// CheckpointError
///     If `log` belongs to another training, or is in use.
#[pyfunction]
#[pyo3(signature = (counts, merges, special_tokens, *, base, progress, **settings))]
pub fn train(
    py: Python<'_>,
    counts: GivenCounts,
    merges: usize,
    special_tokens: Vec<String>,
    base: Option<&Tokenizer>,
    progress: Callback<'_, '_>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Training> {
    let settings: TrainingArguments = settings.unwrap_or(&PyDict::new(py)).extract()?;
    let job = TrainingJob {
        merges,
        tie_break: tie_break(py, &settings.tie_break)?,
        min_frequency: settings.min_frequency,
        max_token_bytes: settings.max_token_bytes,
        min_pretoken_count: settings.min_pretoken_count,
        certify: settings.certify,
        base: base.map(|base| &*base.0),
        special_tokens,
        threads: settings.threads,
        limit: settings.memory.map(|memory| Limit { memory, folder: &settings.folder }),
        log: settings.log.as_ref().map(|path| LogSettings {
            path,
            restart: settings.restart,
            every: Duration::from_secs_f64(settings.checkpoint_every),
        }),
    };
    let trained = run_interruptible(py, progress, &Progress::new(), |progress| {
        train_tokenizer(&counts.source()?, job, progress)
    })?;
    let merge_counts = PyDict::new(py);
    for (id, count) in (trained.first_id..).zip(&trained.merge_counts) {
        merge_counts.set_item(id, count)?;
    }
    Ok(Training {
        model: Py::new(py, Model(Arc::new(trained.tokenizer)))?,
        merge_counts: merge_counts.unbind(),
        dropped_pretokens: trained.dropped.pretokens,
        dropped_total: trained.dropped.total,
        proven_merges: trained.certificate.map(|certificate| certificate.proven),
        checked_merges: trained.certificate.map(|certificate| certificate.checked),
    })
}

//! Training: from counts to a tokenizer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use merganser_core::Progress;
use merganser_core::corpus::Cutters;
use merganser_core::count::{Preparation, WordMark};
use merganser_core::normalize::Normalizer;
use merganser_core::split::Splitter;
use merganser_core::train::{
    CharacterJob, Leaders, Limit, LogSettings, TieBreak, TrainingJob, leading_pairs as replay,
    train_characters as train_on_characters, train_tokenizer,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::counts::{Counts, GivenCounts};
use crate::errors::{raise, to_python};
use crate::interrupt::{Callback, run_interruptible};
use crate::tokenizer::{Model, Tokenizer};

/// The keyword arguments of both trainings that say where they run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Resources {
    threads: usize,
    memory: Option<u64>,
    folder: PathBuf,
    log: Option<PathBuf>,
    restart: bool,
    checkpoint_every: f64,
}

impl Resources {
    fn limit(&self) -> Option<Limit<'_>> {
        self.memory.map(|memory| Limit { memory, folder: &self.folder })
    }

    fn log(&self) -> Option<LogSettings<'_>> {
        self.log.as_ref().map(|path| LogSettings {
            path,
            restart: self.restart,
            every: Duration::from_secs_f64(self.checkpoint_every),
        })
    }
}

/// The other keyword arguments of `train`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct TrainingArguments {
    normalizer: Option<String>,
    pattern: Option<String>,
    tie_break: String,
    min_frequency: u64,
    max_token_bytes: Option<usize>,
    min_pretoken_count: u64,
    certify: bool,
}

fn tie_break(py: Python<'_>, name: &str) -> PyResult<TieBreak> {
    match name {
        "ids" => Ok(TieBreak::Ids),
        "huggingface" => Ok(TieBreak::HuggingFace),
        "bytes" => Ok(TieBreak::Bytes),
        "sentencepiece" => Ok(TieBreak::SentencePiece),
        "first" => Ok(TieBreak::First),
        other => {
            let message = format!(
                "tie_break must be \"ids\", \"huggingface\", \"bytes\", \"sentencepiece\" or \"first\", got {other:?}"
            );
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
/// normalizer
///     A normalizer of a tokenizer.json, as JSON, for what was counted; or None.
/// pattern
///     What splits the normalized text; None without a normalizer.
/// tie_break
///     Which of several equally frequent pairs comes first: "ids", "huggingface", "bytes", "sentencepiece" or
///     "first"; the last needs counts in the order of the corpus.
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
    let none = PyDict::new(py);
    let given = settings.unwrap_or(&none);
    let (settings, resources): (TrainingArguments, Resources) = (given.extract()?, given.extract()?);
    let preparation = settings.normalizer.as_deref().map(|normalizer| {
        prepared(normalizer, settings.pattern.as_deref(), WordMark::None, false, false, &[])
    });
    let job = TrainingJob {
        preparation: preparation.transpose().map_err(|error| to_python(py, error))?,
        merges,
        tie_break: tie_break(py, &settings.tie_break)?,
        min_frequency: settings.min_frequency,
        max_token_bytes: settings.max_token_bytes,
        min_pretoken_count: settings.min_pretoken_count,
        certify: settings.certify,
        base: base.map(|base| &*base.0),
        special_tokens,
        threads: resources.threads,
        limit: resources.limit(),
        log: resources.log(),
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

fn prepared(
    normalizer: &str,
    pattern: Option<&str>,
    mark: WordMark,
    split_scripts: bool,
    split_digits: bool,
    literals: &[String],
) -> merganser_core::Result<Preparation> {
    Ok(Preparation {
        normalizer: Normalizer::from_text(normalizer)?,
        splitter: pattern.map(Splitter::new).transpose()?,
        mark,
        split_scripts,
        split_digits,
        literals: Arc::new(Cutters::new(literals, None)?),
        alphabet: None,
    })
}

/// The other keyword arguments of `train_characters`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct CharacterArguments {
    normalizer: String,
    pattern: Option<String>,
    mark: String,
    split_scripts: bool,
    split_digits: bool,
    coverage: f32,
    max_alphabet: Option<usize>,
    tie_break: String,
    min_frequency: u64,
    max_token_characters: Option<usize>,
    forbidden: Vec<String>,
}

type Bytes = Vec<u8>;
/// The alphabet with counts, the merges, and how often each occurred.
type TrainedOnCharacters = (Vec<(Bytes, u64)>, Vec<(Bytes, Bytes)>, Vec<u64>);

/// Train on the characters of counted words.
///
/// Parameters
/// ----------
/// counts
///     Counts, or the path of a `.counts` file.
/// tokens
///     The maximum number of tokens: the alphabet and the merges.
/// progress
///     Called with "merge", how much is done, and the total.
/// normalizer
///     A normalizer of a tokenizer.json, as JSON.
/// pattern
///     What splits normalized words further, or None; only with the mark "suffix".
/// mark
///     "space" if `▁` begins words, "suffix" if the byte 0xFF ends them, or "none".
/// split_scripts, split_digits
///     Whether tokens end where scripts meet, and whether digits are never merged.
/// coverage
///     The part of the text that the alphabet covers.
/// max_alphabet
///     The maximum number of characters in the alphabet, or None.
/// tie_break, min_frequency, threads, memory, folder, log, restart, checkpoint_every
///     As in `train`.
/// max_token_characters
///     The maximum length of a token, or None.
/// forbidden
///     Strings that are left out of words, and that no merge forms.
///
/// Returns
/// -------
/// tuple
///     The alphabet with counts, the two halves of each merge, and how often each merge occurred.
#[pyfunction]
#[pyo3(signature = (counts, tokens, *, progress, **settings))]
pub fn train_characters(
    py: Python<'_>,
    counts: GivenCounts,
    tokens: usize,
    progress: Callback<'_, '_>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<TrainedOnCharacters> {
    let none = PyDict::new(py);
    let given = settings.unwrap_or(&none);
    let (settings, resources): (CharacterArguments, Resources) = (given.extract()?, given.extract()?);
    let mark = match &settings.mark[..] {
        "space" => WordMark::Space,
        "suffix" => WordMark::Suffix,
        _ => WordMark::None,
    };
    let pattern = settings.pattern.as_deref();
    let preparation = prepared(
        &settings.normalizer,
        pattern,
        mark,
        settings.split_scripts,
        settings.split_digits,
        &settings.forbidden,
    );
    let job = CharacterJob {
        tokens,
        preparation: preparation.map_err(|error| to_python(py, error))?,
        coverage: settings.coverage,
        max_alphabet: settings.max_alphabet,
        tie_break: tie_break(py, &settings.tie_break)?,
        min_frequency: settings.min_frequency,
        max_token_characters: settings.max_token_characters,
        forbidden: settings.forbidden.iter().map(|text| text.clone().into_bytes()).collect(),
        threads: resources.threads,
        limit: resources.limit(),
        log: resources.log(),
    };
    let trained = run_interruptible(py, progress, &Progress::new(), |progress| {
        train_on_characters(&counts.source()?, job, progress)
    })?;
    Ok((trained.alphabet, trained.merges, trained.merge_counts))
}

/// Return the most frequent pairs before each merge of a training by bytes.
///
/// Parameters
/// ----------
/// counts
///     The counts that it was trained on.
/// merges
///     The pairs of ids that were merged, from the first on; merge `i` has the id 256 + `i`.
/// most
///     The number of pairs to return for each merge.
/// progress
///     Called with "merge", the merges done, and the total.
///
/// Returns
/// -------
/// list of list of tuple
///     For each merge, pairs with their counts: by descending count, then by ids.
///
/// Raises
/// ------
/// SettingsError
///     If a merge joins a token that does not exist yet.
#[pyfunction]
#[pyo3(signature = (counts, merges, most, *, progress = None))]
pub fn leading_pairs(
    py: Python<'_>,
    counts: &Counts,
    merges: Vec<(u32, u32)>,
    most: usize,
    progress: Callback<'_, '_>,
) -> PyResult<Vec<Leaders>> {
    run_interruptible(py, progress, &Progress::new(), |progress| replay(&counts.0, &merges, most, progress))
}

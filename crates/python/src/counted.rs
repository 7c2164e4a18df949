//! Tokens from counts: how many, and how often each occurs.

use merganser_core::{Progress, encode};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::counts::GivenCounts;
use crate::interrupt::{Callback, run_interruptible};
use crate::tokenizer::Tokenizer;

/// Return how large a corpus is, from the counts of its pre-tokens.
///
/// Every unique pre-token is encoded once; the result is that of encoding the corpus.
///
/// Parameters
/// ----------
/// tokenizers
///     Tokenizers, all with the pattern of the counts.
/// counts
///     Counts, or the path of a `.counts` file, which is read once.
/// threads
///     The number of threads; 0 for one per core.
/// progress
///     Called with "pretokens", the pre-tokens done, and the total.
///
/// Returns
/// -------
/// tuple
///     The size in bytes, and the number of tokens that each tokenizer makes of it.
#[pyfunction]
#[pyo3(signature = (tokenizers, counts, *, threads = 0, progress = None))]
pub fn token_totals(
    py: Python<'_>,
    tokenizers: Vec<PyRef<'_, Tokenizer>>,
    counts: GivenCounts,
    threads: usize,
    progress: Callback<'_, '_>,
) -> PyResult<(u128, Vec<u128>)> {
    let tokenizers: Vec<_> = tokenizers.iter().map(|tokenizer| &*tokenizer.0).collect();
    let totals = run_interruptible(py, progress, &Progress::new(), |progress| {
        encode::token_totals(&tokenizers, &counts.source()?, threads, progress)
    })?;
    Ok((totals.bytes, totals.tokens))
}

/// Return how often each token occurs in a corpus, from the counts of its pre-tokens.
///
/// Parameters
/// ----------
/// tokenizer
///     A tokenizer with the pattern of the counts.
/// counts
///     Counts, or the path of a `.counts` file.
/// threads
///     The number of threads; 0 for one per core.
/// progress
///     Called with "pretokens", the pre-tokens done, and the total.
///
/// Returns
/// -------
/// numpy.ndarray
///     The frequency of each id, up to the highest.
///
/// Raises
/// ------
/// CountsError
///     If a frequency does not fit in 64 bits.
#[pyfunction]
#[pyo3(signature = (tokenizer, counts, *, threads = 0, progress = None))]
pub fn token_frequencies<'py>(
    py: Python<'py>,
    tokenizer: &Tokenizer,
    counts: GivenCounts,
    threads: usize,
    progress: Callback<'_, '_>,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    // The numpy crate panics if numpy cannot be imported.
    py.import("numpy")?;
    let frequencies = run_interruptible(py, progress, &Progress::new(), |progress| {
        encode::token_frequencies(&tokenizer.0, &counts.source()?, threads, progress)
    })?;
    Ok(frequencies.into_pyarray(py))
}

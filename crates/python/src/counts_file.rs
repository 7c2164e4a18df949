//! `.counts` files, which are never loaded as a whole.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use merganser_core::Progress;
use merganser_core::count::{self, CountsReader as Reader, CountsTotals};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::raise;
use crate::interrupt::{Callback, run, run_interruptible};

/// Documents, invalid bytes, unique pre-tokens, and the sum of all counts.
pub type TotalsTuple = (u64, u64, u64, u64);

/// A pre-token and its count.
type Entry<'py> = (Bound<'py, PyBytes>, u64);

pub fn as_tuple(numbers: CountsTotals) -> TotalsTuple {
    (numbers.documents, numbers.invalid_bytes, numbers.pretokens, numbers.total)
}

/// Add up `.counts` files.
///
/// Parameters
/// ----------
/// paths
///     The files to add up.
/// outs
///     The files to write: one, or several among which pre-tokens are distributed by their hash.
/// scratch
///     A folder for intermediate files.
/// progress
///     Called with "combine", the entries read, and the total.
/// threads
///     The number of threads; 0 means one per core.
///
/// Returns
/// -------
/// tuple of int
///     Documents, invalid bytes, unique pre-tokens, and the sum of all counts.
///
/// Raises
/// ------
/// CountsError
///     If a file is corrupt, or the settings of two files differ.
#[pyfunction]
#[pyo3(signature = (paths, outs, scratch, progress = None, threads = 1))]
pub fn merge_counts(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    outs: Vec<PathBuf>,
    scratch: PathBuf,
    progress: Callback<'_, '_>,
    threads: usize,
) -> PyResult<TotalsTuple> {
    let merged = run_interruptible(py, progress, &Progress::new(), |progress| {
        count::merge_files(&paths, &outs, &scratch, threads, progress)
    })?;
    Ok(as_tuple(merged))
}

/// Return the `n` most frequent pre-tokens of a `.counts` file; ties are in the order of their bytes.
#[pyfunction]
pub fn top_counts(py: Python<'_>, path: PathBuf, n: usize) -> PyResult<Vec<Entry<'_>>> {
    let pretokens = run_interruptible(py, None, &Progress::new(), |progress| count::top(&path, n, progress))?;
    Ok(pretokens.into_iter().map(|(pretoken, count)| (PyBytes::new(py, &pretoken), count)).collect())
}

/// Reads a `.counts` file from beginning to end, without holding it in memory.
#[pyclass(frozen, module = "merganser._core")]
pub struct CountsReader(Mutex<Reader>);

#[pymethods]
impl CountsReader {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(CountsReader(Mutex::new(run(py, || Reader::open(&path))?)))
    }

    /// Return the next pre-tokens and their counts, at most `n`; an empty list at the end.
    fn read<'py>(&self, py: Python<'py>, n: usize) -> PyResult<Vec<Entry<'py>>> {
        let reader = &mut *self.lock(py)?;
        let batch = run(py, || {
            let mut batch: Vec<(Vec<u8>, u64)> = Vec::new();
            while batch.len() < n && reader.advance()? {
                batch.push((reader.pretoken().to_vec(), reader.count()));
            }
            Ok(batch)
        })?;
        Ok(batch.into_iter().map(|(pretoken, count)| (PyBytes::new(py, &pretoken), count)).collect())
    }

    /// The regular expression that split the text.
    #[getter]
    fn pattern(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.lock(py)?.settings_text().pattern.clone())
    }

    /// The name of the preset, if the pattern is one.
    #[getter]
    fn pattern_name(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        let reader = &*self.lock(py)?;
        Ok(run(py, || reader.settings())?.splitter.name())
    }

    /// The special tokens that were cut out of the text.
    #[getter]
    fn special_tokens(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.lock(py)?.settings_text().special_tokens.clone())
    }

    /// The string between documents.
    #[getter]
    fn separator(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.lock(py)?.settings_text().separator.clone())
    }

    /// Documents, invalid bytes, unique pre-tokens, and the sum of all counts.
    ///
    /// As stored in the file; reading it to the end verifies them.
    #[getter]
    fn totals(&self, py: Python<'_>) -> PyResult<TotalsTuple> {
        Ok(as_tuple(self.lock(py)?.totals()))
    }
}

impl CountsReader {
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Reader>> {
        let busy = |_| raise(py, "InternalError", "this reader is in use on another thread");
        self.0.try_lock().map_err(busy)
    }
}

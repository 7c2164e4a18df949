//! Reading: settings, binary files, and what was skipped.

use std::path::PathBuf;

use merganser_core::corpus::{self, OnError, Skipped};
use pyo3::prelude::*;

use crate::errors::raise;
use crate::interrupt::run;

/// Settings of reading.
///
/// Parameters
/// ----------
/// text_key
///     Where the text of a record is: a key of JSON objects, `a.b` for nested ones, or a column of CSV.
/// on_error
///     What to do with unreadable input: "stop" raises an error, "skip" leaves it out.
/// max_ratio
///     The maximum ratio of decompressed to compressed size.
/// max_size
///     The maximum decompressed size of a file, in bytes.
/// max_window
///     The maximum memory that decompression may use, in bytes.
///
/// Raises
/// ------
/// SettingsError
///     If a value is out of range.
#[pyclass(frozen, module = "merganser._core")]
pub struct Reading(pub corpus::Reading);

#[pymethods]
impl Reading {
    #[new]
    #[pyo3(signature = (*, text_key, on_error, max_ratio, max_size, max_window))]
    fn new(
        py: Python<'_>,
        text_key: String,
        on_error: &str,
        max_ratio: u64,
        max_size: u64,
        max_window: u64,
    ) -> PyResult<Self> {
        let on_error = match on_error {
            "stop" => OnError::Stop,
            "skip" => OnError::Skip,
            other => {
                let message = format!("on_error must be \"stop\" or \"skip\", got {other:?}");
                return Err(raise(py, "SettingsError", message));
            }
        };
        if [max_ratio, max_size, max_window].contains(&0) {
            let message = "max_ratio, max_size and max_window must be at least 1";
            return Err(raise(py, "SettingsError", message));
        }
        Ok(Reading(corpus::Reading { text_key, on_error, max_ratio, max_size, max_window }))
    }
}

/// How many records and how many files were skipped, and why the first of them were.
pub type SkippedTuple = (u64, u64, Vec<String>);

pub fn skipped(skipped: Skipped) -> SkippedTuple {
    (skipped.records, skipped.files, skipped.first)
}

/// Return why a file is binary, judged by its first 64 KB after decompression, or None if it is text.
#[pyfunction]
pub fn judge_file(py: Python<'_>, path: PathBuf, reading: &Reading) -> PyResult<Option<String>> {
    let found = run(py, || Ok(corpus::judge_file(&path, &reading.0)))?;
    Ok(found.map(|binary| binary.to_string()))
}

/// Return why a stream is binary, judged by its first bytes, or None if it is text.
#[pyfunction]
pub fn judge_beginning(
    py: Python<'_>,
    beginning: &[u8],
    name: PathBuf,
    reading: &Reading,
) -> PyResult<Option<String>> {
    let found = run(py, || Ok(corpus::judge_beginning(beginning, &name, &reading.0)))?;
    Ok(found.map(|binary| binary.to_string()))
}

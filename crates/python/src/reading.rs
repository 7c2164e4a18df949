//! How a corpus is read, and what was skipped.

use merganser_core::corpus::{self, OnError, Skipped};
use pyo3::prelude::*;

use crate::errors::raise;

/// Settings of reading, checked.
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
                let message = format!("on_error is \"stop\" or \"skip\", not {other:?}");
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

/// How many records, how many files, and what was wrong with the first of them.
pub fn skipped(skipped: Skipped) -> (u64, u64, Vec<String>) {
    (skipped.records, skipped.files, skipped.first)
}

//! Writing a corpus as files of ids.

use std::path::PathBuf;

use merganser_core::Progress;
use merganser_core::corpus::Position;
use merganser_core::tokens::{self, IdWidth, TokenFormat, TokenSettings};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use crate::errors::raise;
use crate::feed::Fed;
use crate::interrupt::{run, run_interruptible};
use crate::reading::{Reading, SkippedTuple};
use crate::tokenizer::Tokenizer;

/// The same for equal tokenizers, and for no others.
#[pyfunction]
pub fn fingerprint(py: Python<'_>, tokenizer: &Tokenizer) -> PyResult<String> {
    run(py, || Ok(tokenizer.0.fingerprint()))
}

/// Encodes documents and writes them to a folder until `finish`.
#[pyclass(frozen, module = "merganser._core")]
pub struct TokenWriter(Fed<tokens::TokenWriter>);

#[pymethods]
impl TokenWriter {
    /// `dtype` is "auto", "uint16" or "uint32".
    #[new]
    #[pyo3(signature = (
        tokenizer, folder, *, format, dtype, separator, prepend, append, allowed_special, shard_tokens,
        threads, progress
    ))]
    #[allow(clippy::too_many_arguments)] // the settings, by name
    fn new(
        py: Python<'_>,
        tokenizer: &Tokenizer,
        folder: PathBuf,
        format: &str,
        dtype: &str,
        separator: Option<String>,
        prepend: Option<u32>,
        append: Option<u32>,
        allowed_special: Vec<String>,
        shard_tokens: u64,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let width = match dtype {
            "auto" => IdWidth::least(&tokenizer.0),
            "uint16" => IdWidth::Two,
            "uint32" => IdWidth::Four,
            other => {
                let message = format!("dtype is \"auto\", \"uint16\" or \"uint32\", not {other:?}");
                return Err(raise(py, "SettingsError", message));
            }
        };
        let settings = TokenSettings {
            format: run(py, || TokenFormat::named(format))?,
            width,
            separator,
            prepend,
            append,
            allowed_special,
            shard_tokens,
            threads,
        };
        let tokenizer = tokenizer.0.clone();
        let writer = run_interruptible(py, None, &Progress::new(), |progress| {
            tokens::TokenWriter::new(tokenizer, settings, &folder, progress)
        })?;
        Ok(TokenWriter(Fed::new(writer, progress, "writer")))
    }

    fn start_at(&self, py: Python<'_>, shard: u64, part: u64, offset: u64, within: u64) -> PyResult<()> {
        self.0.with(py, |writer| writer.start_at(shard, Position { part, offset, within }))
    }

    fn add_documents(&self, py: Python<'_>, documents: &Bound<'_, PyList>) -> PyResult<()> {
        self.0.add_documents(py, documents)
    }

    fn add_files(&self, py: Python<'_>, paths: Vec<PathBuf>, reading: &Reading) -> PyResult<()> {
        self.0.add_files(py, &paths, reading)
    }

    fn add_stream(
        &self,
        py: Python<'_>,
        chunks: &Bound<'_, PyIterator>,
        name: &str,
        reading: &Reading,
    ) -> PyResult<()> {
        self.0.add_stream(py, chunks, name, reading)
    }

    fn skipped(&self, py: Python<'_>) -> PyResult<SkippedTuple> {
        self.0.skipped(py)
    }

    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        self.0.abandon(py)
    }

    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.0.finish(py, |writer, progress| writer.finish(progress))
    }
}

//! Writing token files.

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

/// Return a SHA-256 that two tokenizers share if and only if they are equal.
#[pyfunction]
pub fn fingerprint(py: Python<'_>, tokenizer: &Tokenizer) -> PyResult<String> {
    run(py, || Ok(tokenizer.0.fingerprint()))
}

/// Encodes a corpus that is added input by input, and writes the ids to a folder of shards.
///
/// Parameters
/// ----------
/// tokenizer
///     The tokenizer to encode with.
/// folder
///     An existing folder, which is locked.
/// format
///     "bin", "npy", "llmc" or "megatron".
/// dtype
///     "auto", "uint16" or "uint32".
/// separator
///     The string between documents; it is not encoded.
/// prepend, append
///     Ids to put before and after each document.
/// allowed_special
///     Special tokens that are encoded as such; all others are plain text.
/// shard_tokens
///     A shard ends with the document that brings it to this many tokens.
/// threads
///     The number of threads; 0 for one per core.
/// progress
///     Called with "encode", the bytes read, and the total or 0.
///
/// Raises
/// ------
/// SettingsError
///     If a setting is invalid, or ids do not fit in `dtype`.
/// TokensError
///     If another process writes to the folder.
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
                let message = format!("dtype must be \"auto\", \"uint16\" or \"uint32\", got {other:?}");
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

    /// Resume with this shard, at the position where the previous one ended.
    fn start_at(&self, py: Python<'_>, shard: u64, part: u64, offset: u64, within: u64) -> PyResult<()> {
        self.0.with(py, |writer| writer.start_at(shard, Position { part, offset, within }))
    }

    /// Encode documents in memory; none is copied.
    fn add_documents(&self, py: Python<'_>, documents: &Bound<'_, PyList>) -> PyResult<()> {
        self.0.add_documents(py, documents)
    }

    /// Encode files. The format of each follows from its name, its compression from its first bytes.
    fn add_files(&self, py: Python<'_>, paths: Vec<PathBuf>, reading: &Reading) -> PyResult<()> {
        self.0.add_files(py, &paths, reading)
    }

    /// Encode a stream, given as an iterator of chunks. Its format follows from `name`.
    fn add_stream(
        &self,
        py: Python<'_>,
        chunks: &Bound<'_, PyIterator>,
        name: &str,
        reading: &Reading,
    ) -> PyResult<()> {
        self.0.add_stream(py, chunks, name, reading)
    }

    /// Refuse records, and stretches of text without a safe cut, that are longer than this.
    fn limit_records(&self, py: Python<'_>, bytes: u64) -> PyResult<()> {
        self.0.limit_records(py, bytes)
    }

    /// Return how many records and files were skipped, and why the first of them were.
    fn skipped(&self, py: Python<'_>) -> PyResult<SkippedTuple> {
        self.0.skipped(py)
    }

    /// Remove the unfinished shard and unlock the folder.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        self.0.abandon(py)
    }

    /// Write the last shard.
    ///
    /// Raises
    /// ------
    /// CorpusError
    ///     If there was no text.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.0.finish(py, |writer, progress| writer.finish(progress))
    }
}

//! Writing a corpus as files of ids.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use merganser_core::Progress;
use merganser_core::corpus::Place;
use merganser_core::tokens::{Format, Settings, Width, Writer};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use crate::errors::raise;
use crate::interrupt::{run, run_interruptible};
use crate::reading::{Reading, skipped};
use crate::stream::run_on_stream;
use crate::text::borrow_document;
use crate::tokenizer::Tokenizer;

/// The same for equal tokenizers, and for no others.
#[pyfunction]
pub fn fingerprint(py: Python<'_>, tokenizer: &Tokenizer) -> PyResult<String> {
    run(py, || Ok(tokenizer.0.fingerprint()))
}

/// Encodes documents and writes them to a folder until `finish`.
#[pyclass(frozen, module = "merganser._core")]
pub struct TokenWriter {
    writer: Mutex<Option<Writer>>,
    progress: Progress,
    callback: Option<Py<PyAny>>,
}

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
            "auto" => Width::least(&tokenizer.0),
            "uint16" => Width::Two,
            "uint32" => Width::Four,
            other => {
                let message = format!("dtype is \"auto\", \"uint16\" or \"uint32\", not {other:?}");
                return Err(raise(py, "SettingsError", message));
            }
        };
        let settings = Settings {
            format: run(py, || Format::named(format))?,
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
            Writer::new(tokenizer, settings, &folder, progress)
        })?;
        Ok(TokenWriter { writer: Mutex::new(Some(writer)), progress: Progress::new(), callback: progress })
    }

    /// Begins with this shard, `offset` bytes into the first of what is added, which is the part `part`;
    /// where a record is there, `within` bytes into its text.
    fn start_at(&self, py: Python<'_>, shard: u64, part: u64, offset: u64, within: u64) -> PyResult<()> {
        let mut guard = self.lock(py)?;
        guard.as_mut().ok_or_else(|| unusable(py))?.start_at(shard, Place { part, offset, within });
        Ok(())
    }

    /// Each `str` or `bytes` is a document of its own; none is copied.
    fn add_documents(&self, py: Python<'_>, documents: &Bound<'_, PyList>) -> PyResult<()> {
        // The list may change while the GIL is released, so what it holds is kept alive here.
        let documents: Vec<Bound<'_, PyAny>> = documents.iter().collect();
        let texts = documents.iter().map(borrow_document).collect::<PyResult<Vec<&[u8]>>>()?;
        self.with_writer(py, |writer, progress| writer.add_documents(&texts, progress))
    }

    fn add_files(&self, py: Python<'_>, paths: Vec<PathBuf>, reading: &Reading) -> PyResult<()> {
        self.with_writer(py, |writer, progress| writer.add_files(&paths, &reading.0, progress))
    }

    /// A stream, as an iterator of `bytes`; its name says what it holds.
    fn add_stream(
        &self,
        py: Python<'_>,
        chunks: &Bound<'_, PyIterator>,
        name: String,
        reading: &Reading,
    ) -> PyResult<()> {
        let mut guard = self.lock(py)?;
        let writer = guard.as_mut().ok_or_else(|| unusable(py))?;
        let callback = self.callback.as_ref().map(|callback| callback.bind(py));
        run_on_stream(py, callback, &self.progress, chunks, |stream, progress| {
            writer.add_reader(stream, name.as_ref(), &reading.0, progress)
        })
    }

    /// Records, files, and what was wrong with the first of them.
    fn skipped(&self, py: Python<'_>) -> PyResult<(u64, u64, Vec<String>)> {
        Ok(skipped(self.lock(py)?.as_ref().ok_or_else(|| unusable(py))?.skipped()))
    }

    /// Takes away what is not finished and gives the folder free, now and not when Python gets around to it.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        let writer = self.lock(py)?.take();
        py.detach(|| drop(writer));
        Ok(())
    }

    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let writer = self.lock(py)?.take().ok_or_else(|| unusable(py))?;
        let callback = self.callback.as_ref().map(|callback| callback.bind(py));
        run_interruptible(py, callback, &self.progress, |progress| writer.finish(progress))
    }
}

impl TokenWriter {
    /// Never waits: whoever has the lock may be waiting for the GIL.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<Writer>>> {
        self.writer.try_lock().map_err(|_| unusable(py))
    }

    fn with_writer(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Writer, &Progress) -> merganser_core::Result<()> + Send,
    ) -> PyResult<()> {
        let mut guard = self.lock(py)?;
        let writer = guard.as_mut().ok_or_else(|| unusable(py))?;
        let callback = self.callback.as_ref().map(|callback| callback.bind(py));
        run_interruptible(py, callback, &self.progress, |progress| work(writer, progress))
    }
}

fn unusable(py: Python<'_>) -> PyErr {
    raise(py, "InternalError", "this writer is finished, or at work on another thread")
}

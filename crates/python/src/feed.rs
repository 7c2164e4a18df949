//! The binding of the core's driver: what counting and writing token files have in common.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use merganser_core::corpus::Consumer;
use merganser_core::{Progress, Result};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use crate::errors::raise;
use crate::interrupt::run_interruptible;
use crate::reading::{Reading, SkippedTuple, skipped};
use crate::stream::run_on_stream;
use crate::text::borrow_document;

/// A consumer of a corpus that Python feeds, until it is finished or abandoned.
pub struct Fed<C> {
    consumer: Mutex<Option<C>>,
    progress: Progress,
    callback: Option<Py<PyAny>>,
    /// What the consumer is called in messages.
    name: &'static str,
}

impl<C: Consumer + Send> Fed<C> {
    pub fn new(consumer: C, callback: Option<Py<PyAny>>, name: &'static str) -> Fed<C> {
        Fed { consumer: Mutex::new(Some(consumer)), progress: Progress::new(), callback, name }
    }

    /// Each `str` or `bytes` of the list is a document; none is copied.
    pub fn add_documents(&self, py: Python<'_>, documents: &Bound<'_, PyList>) -> PyResult<()> {
        // The list may change while the GIL is released, so its items are kept alive here.
        let documents: Vec<Bound<'_, PyAny>> = documents.iter().collect();
        let texts = documents.iter().map(borrow_document).collect::<PyResult<Vec<&[u8]>>>()?;
        self.run(py, |consumer, progress| consumer.add_documents(&texts, progress))
    }

    pub fn add_files(&self, py: Python<'_>, paths: &[PathBuf], reading: &Reading) -> PyResult<()> {
        self.run(py, |consumer, progress| consumer.add_files(paths, &reading.0, progress))
    }

    pub fn add_range(
        &self,
        py: Python<'_>,
        path: &Path,
        start: u64,
        end: u64,
        in_document: bool,
        reading: &Reading,
    ) -> PyResult<()> {
        self.run(py, |consumer, progress| {
            consumer.add_range(path, start, end, in_document, &reading.0, progress)
        })
    }

    pub fn add_stream(
        &self,
        py: Python<'_>,
        chunks: &Bound<'_, PyIterator>,
        name: &str,
        reading: &Reading,
    ) -> PyResult<()> {
        let mut guard = self.lock(py)?;
        let consumer = guard.as_mut().ok_or_else(|| self.unusable(py))?;
        let callback = self.callback.as_ref().map(|callback| callback.bind(py));
        run_on_stream(py, callback, &self.progress, chunks, |stream, progress| {
            consumer.add_reader(stream, name.as_ref(), &reading.0, progress)
        })
    }

    pub fn limit_records(&self, py: Python<'_>, bytes: u64) -> PyResult<()> {
        self.with(py, |consumer| consumer.feed_mut().limit_records(bytes))
    }

    pub fn skipped(&self, py: Python<'_>) -> PyResult<SkippedTuple> {
        self.with(py, |consumer| skipped(consumer.skipped()))
    }

    /// Drops the consumer now, and not when Python collects it: its folder is unlocked.
    pub fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        let consumer = self.lock(py)?.take();
        py.detach(|| drop(consumer));
        Ok(())
    }

    /// Calls `work` without releasing the GIL, for what takes no time.
    pub fn with<T>(&self, py: Python<'_>, work: impl FnOnce(&mut C) -> T) -> PyResult<T> {
        Ok(work(self.lock(py)?.as_mut().ok_or_else(|| self.unusable(py))?))
    }

    /// Runs `work` on another thread, reporting progress and watching for Ctrl-C.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut C, &Progress) -> Result<T> + Send,
    ) -> PyResult<T> {
        let mut guard = self.lock(py)?;
        let consumer = guard.as_mut().ok_or_else(|| self.unusable(py))?;
        let callback = self.callback.as_ref().map(|callback| callback.bind(py));
        run_interruptible(py, callback, &self.progress, |progress| work(consumer, progress))
    }

    /// Like [`Fed::run`], for the last call.
    pub fn finish<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(C, &Progress) -> Result<T> + Send,
    ) -> PyResult<T> {
        let consumer = self.lock(py)?.take().ok_or_else(|| self.unusable(py))?;
        let callback = self.callback.as_ref().map(|callback| callback.bind(py));
        run_interruptible(py, callback, &self.progress, |progress| work(consumer, progress))
    }

    /// Never waits, because the thread that holds the lock may be waiting for the GIL.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<C>>> {
        self.consumer.try_lock().map_err(|_| self.unusable(py))
    }

    fn unusable(&self, py: Python<'_>) -> PyErr {
        let message = format!("this {} is finished, or in use on another thread", self.name);
        raise(py, "InternalError", message)
    }
}

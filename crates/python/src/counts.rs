//! Counting, and the counts that come of it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use merganser_core::Progress;
use merganser_core::corpus::{self, Cutters, Place, ShardCut};
use merganser_core::count::{self, Settings, Spill};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList};

use crate::counts_file::{FileNumbers, as_tuple};
use crate::errors::raise;
use crate::interrupt::{run, run_interruptible};
use crate::reading::{Reading, skipped};
use crate::stream::run_on_stream;
use crate::text::{borrow_document, splitter};

fn settings(
    py: Python<'_>,
    pattern: &str,
    special_tokens: Vec<String>,
    separator: Option<String>,
) -> PyResult<Settings> {
    let splitter = splitter(py, pattern)?;
    run(py, || Settings::new(splitter, special_tokens, separator))
}

/// Pre-tokens and how often each occurred, with the settings that made them.
#[pyclass(frozen, module = "merganser._core")]
pub struct Counts(pub Arc<count::Counts>);

#[pymethods]
impl Counts {
    #[new]
    fn new(
        py: Python<'_>,
        pretokens: &Bound<'_, PyDict>,
        pattern: &str,
        special_tokens: Vec<String>,
        separator: Option<String>,
        invalid_bytes: u64,
        documents: u64,
    ) -> PyResult<Self> {
        let settings = settings(py, pattern, special_tokens, separator)?;
        let mut borrowed = Vec::with_capacity(pretokens.len());
        for (pretoken, count) in pretokens.iter() {
            let Ok(count) = count.extract::<u64>() else {
                let message =
                    format!("the count of {pretoken} must be a whole number below 2^64, not {count}");
                return Err(raise(py, "CountsError", message));
            };
            let Ok(pretoken) = pretoken.cast_into::<PyBytes>() else {
                return Err(raise(
                    py,
                    "CountsError",
                    "the pre-tokens of counts are bytes, as in {b\"ab\": 3}",
                ));
            };
            borrowed.push((pretoken, count));
        }
        let pretokens: Vec<(&[u8], u64)> = borrowed.iter().map(|(p, count)| (p.as_bytes(), *count)).collect();
        let mut counts = run(py, || count::Counts::from_pretokens(settings, pretokens))?;
        counts.invalid_bytes = invalid_bytes;
        counts.documents = documents;
        Ok(Counts(Arc::new(counts)))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let counts =
            run_interruptible(py, None, &Progress::new(), |progress| count::Counts::load(&path, progress))?;
        Ok(Counts(Arc::new(counts)))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        run_interruptible(py, None, &Progress::new(), |progress| self.0.save(&path, progress))
    }

    fn plus(&self, py: Python<'_>, other: &Counts) -> PyResult<Self> {
        let sum = run_interruptible(py, None, &Progress::new(), |_| self.0.plus(&other.0))?;
        Ok(Counts(Arc::new(sum)))
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let pretokens = PyDict::new(py);
        for (pretoken, count) in self.0.iter() {
            pretokens.set_item(PyBytes::new(py, pretoken), count)?;
        }
        Ok(pretokens)
    }

    /// The most frequent first; equals in the order of their bytes.
    fn most_common<'py>(&self, py: Python<'py>, n: usize) -> Vec<(Bound<'py, PyBytes>, u64)> {
        let mut pretokens: Vec<(&[u8], u64)> = self.0.iter().collect();
        let order = |a: &(&[u8], u64), b: &(&[u8], u64)| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0));
        if n < pretokens.len() {
            pretokens.select_nth_unstable_by(n, order);
            pretokens.truncate(n);
        }
        pretokens.sort_unstable_by(order);
        pretokens.into_iter().map(|(pretoken, count)| (PyBytes::new(py, pretoken), count)).collect()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
    #[getter]
    fn total(&self) -> u64 {
        self.0.total()
    }

    #[getter]
    fn pattern(&self) -> &str {
        self.0.settings.splitter.pattern()
    }

    #[getter]
    fn pattern_name(&self) -> Option<&'static str> {
        self.0.settings.splitter.name()
    }

    #[getter]
    fn special_tokens(&self) -> Vec<String> {
        self.0.settings.special_tokens.clone()
    }

    #[getter]
    fn separator(&self) -> Option<&str> {
        self.0.settings.separator.as_deref()
    }

    #[getter]
    fn invalid_bytes(&self) -> u64 {
        self.0.invalid_bytes
    }

    #[getter]
    fn documents(&self) -> u64 {
        self.0.documents
    }
}

/// Where a file of plain text can be cut into ranges of about `size` bytes, and whether that is inside a
/// document.
#[pyfunction]
pub fn shard_cuts(
    py: Python<'_>,
    path: PathBuf,
    size: u64,
    pattern: &str,
    special_tokens: Vec<String>,
    separator: Option<String>,
) -> PyResult<Vec<ShardCut>> {
    let settings = settings(py, pattern, special_tokens, separator)?;
    run_interruptible(py, None, &Progress::new(), |progress| {
        let cutters = Cutters::new(&settings.special_tokens, settings.separator.as_deref());
        corpus::shard_cuts(&path, size, &settings.splitter, &cutters, progress)
    })
}

/// Adds documents up until `finish`.
#[pyclass(frozen, module = "merganser._core")]
pub struct Counter {
    counter: Mutex<Option<count::Counter>>,
    progress: Progress,
    callback: Option<Py<PyAny>>,
}

#[pymethods]
impl Counter {
    #[new]
    fn new(
        py: Python<'_>,
        pattern: &str,
        special_tokens: Vec<String>,
        separator: Option<String>,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let settings = settings(py, pattern, special_tokens, separator)?;
        let counter = run(py, || Ok(count::Counter::new(settings, threads)))?;
        Ok(Counter { counter: Mutex::new(Some(counter)), progress: Progress::new(), callback: progress })
    }

    /// Each `str` or `bytes` is a document of its own; none is copied.
    fn add_documents(&self, py: Python<'_>, documents: &Bound<'_, PyList>) -> PyResult<()> {
        // The list may change while the GIL is released, so what it holds is kept alive here.
        let documents: Vec<Bound<'_, PyAny>> = documents.iter().collect();
        let texts = documents.iter().map(borrow_document).collect::<PyResult<Vec<&[u8]>>>()?;
        self.with_counter(py, |counter, progress| counter.add_documents(&texts, progress))
    }

    fn add_files(&self, py: Python<'_>, paths: Vec<PathBuf>, reading: &Reading) -> PyResult<()> {
        self.with_counter(py, |counter, progress| counter.add_files(&paths, &reading.0, progress))
    }

    /// A range of a file that `shard_cuts` has cut.
    fn add_range(
        &self,
        py: Python<'_>,
        path: PathBuf,
        start: u64,
        end: u64,
        in_document: bool,
    ) -> PyResult<()> {
        self.with_counter(py, |counter, progress| counter.add_range(&path, start, end, in_document, progress))
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
        let counter = guard.as_mut().ok_or_else(|| unusable(py))?;
        let callback = self.callback.as_ref().map(|callback| callback.bind(py));
        run_on_stream(py, callback, &self.progress, chunks, |stream, progress| {
            counter.add_reader(stream, name.as_ref(), &reading.0, progress)
        })
    }

    /// Records, files, and what was wrong with the first of them.
    fn skipped(&self, py: Python<'_>) -> PyResult<(u64, u64, Vec<String>)> {
        Ok(skipped(self.lock(py)?.as_ref().ok_or_else(|| unusable(py))?.skipped()))
    }

    /// Writes to `folder` what does not fit in `memory` bytes, and at least every `seconds` if given; `job`
    /// goes into the folder. It is made when it is needed; if it is there, it is locked now.
    fn spill_to(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        memory: usize,
        seconds: Option<f64>,
        job: String,
    ) -> PyResult<()> {
        let every = seconds.map(Duration::from_secs_f64);
        self.with_counter(py, move |counter, progress| {
            let mut spill = Spill::new(&folder, memory, every, job);
            spill.lock(progress)?;
            counter.spill_to(spill);
            Ok(())
        })
    }

    /// Goes on where the last line of the log in the work folder says; of the log, `log_len` bytes are good.
    #[allow(clippy::too_many_arguments)] // what a line of the log says, by name
    fn resume(
        &self,
        py: Python<'_>,
        runs: Vec<String>,
        log_len: u64,
        part: u64,
        offset: u64,
        within: u64,
        in_document: bool,
    ) -> PyResult<()> {
        self.with_counter(py, move |counter, _| {
            counter.resume(&runs, log_len, Place { part, offset, within }, in_document);
            Ok(())
        })
    }

    /// Whether some of the counts are on disk, or too many in memory to add them up there.
    #[getter]
    fn needs_disk(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.as_ref().ok_or_else(|| unusable(py))?.needs_disk())
    }

    /// Puts the counts in a file, with those of other files; gives its numbers.
    fn finish_to(&self, py: Python<'_>, out: PathBuf, others: Vec<PathBuf>) -> PyResult<FileNumbers> {
        let counter = self.lock(py)?.take().ok_or_else(|| unusable(py))?;
        let callback = self.callback.as_ref().map(|callback| callback.bind(py));
        let numbers = run_interruptible(py, callback, &self.progress, |progress| {
            counter.finish_to(&out, &others, progress)
        })?;
        Ok(as_tuple(numbers))
    }

    /// Gives the work folder free, now and not when Python gets around to it.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        let counter = self.lock(py)?.take();
        py.detach(|| drop(counter));
        Ok(())
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Counts> {
        let counter = self.lock(py)?.take().ok_or_else(|| unusable(py))?;
        let counts = run_interruptible(py, None, &self.progress, |progress| counter.finish(progress))?;
        Ok(Counts(Arc::new(counts)))
    }
}

impl Counter {
    /// Never waits: whoever has the lock may be waiting for the GIL.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<count::Counter>>> {
        self.counter.try_lock().map_err(|_| unusable(py))
    }

    fn with_counter(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut count::Counter, &Progress) -> merganser_core::Result<()> + Send,
    ) -> PyResult<()> {
        let mut guard = self.lock(py)?;
        let counter = guard.as_mut().ok_or_else(|| unusable(py))?;
        let callback = self.callback.as_ref().map(|callback| callback.bind(py));
        run_interruptible(py, callback, &self.progress, |progress| work(counter, progress))
    }
}

fn unusable(py: Python<'_>) -> PyErr {
    raise(py, "InternalError", "this counter is finished, or at work on another thread")
}

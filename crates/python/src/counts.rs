//! Counts, and counting.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use merganser_core::Progress;
use merganser_core::corpus::{self, Cutters, Position, ShardCut};
use merganser_core::count::{self, CountSettings, FolderLock, Source, Spill};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList};

use crate::counts_file::{TotalsTuple, as_tuple};
use crate::errors::raise;
use crate::feed::Fed;
use crate::interrupt::{run, run_interruptible};
use crate::reading::{Reading, SkippedTuple};
use crate::text::splitter;

fn settings(
    py: Python<'_>,
    pattern: &str,
    special_tokens: Vec<String>,
    separator: Option<String>,
) -> PyResult<CountSettings> {
    let splitter = splitter(py, pattern)?;
    run(py, || CountSettings::new(splitter, special_tokens, separator))
}

/// Pre-tokens and how often each occurs, with the settings they were counted with.
///
/// Parameters
/// ----------
/// pretokens
///     The count of each pre-token.
/// pattern
///     The preset or regular expression that splits text.
/// special_tokens
///     Special tokens, which are cut out of text before it is split.
/// separator
///     The string between documents, cut out likewise.
/// invalid_bytes
///     How many bytes of the corpus were not valid UTF-8.
/// documents
///     How many documents the corpus had.
///
/// Raises
/// ------
/// CountsError
///     If a pre-token is not `bytes`, or a count does not fit in 64 bits.
#[pyclass(frozen, weakref, module = "merganser._core")]
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
                let message = format!("the count of {pretoken} must be an integer below 2^64, got {count}");
                return Err(raise(py, "CountsError", message));
            };
            let Ok(pretoken) = pretoken.cast_into::<PyBytes>() else {
                return Err(raise(py, "CountsError", "pre-tokens must be bytes, as in {b\"ab\": 3}"));
            };
            borrowed.push((pretoken, count));
        }
        let pretokens: Vec<(&[u8], u64)> = borrowed.iter().map(|(p, count)| (p.as_bytes(), *count)).collect();
        let mut counts = run(py, || count::Counts::from_pretokens(settings, pretokens))?;
        counts.invalid_bytes = invalid_bytes;
        counts.documents = documents;
        Ok(Counts(Arc::new(counts)))
    }

    /// Read a `.counts` file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let counts =
            run_interruptible(py, None, &Progress::new(), |progress| count::Counts::load(&path, progress))?;
        Ok(Counts(Arc::new(counts)))
    }

    /// Write a `.counts` file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        run_interruptible(py, None, &Progress::new(), |progress| self.0.save(&path, progress))
    }

    /// Return the sum of two counts.
    ///
    /// Raises
    /// ------
    /// CountsError
    ///     If their settings differ, or a sum does not fit in 64 bits.
    fn plus(&self, py: Python<'_>, other: &Counts) -> PyResult<Self> {
        let sum = run_interruptible(py, None, &Progress::new(), |_| self.0.plus(&other.0))?;
        Ok(Counts(Arc::new(sum)))
    }

    /// Return the count of each pre-token.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let pretokens = PyDict::new(py);
        for (pretoken, count) in self.0.iter() {
            pretokens.set_item(PyBytes::new(py, pretoken), count)?;
        }
        Ok(pretokens)
    }

    /// Return the `n` most frequent pre-tokens; ties are in the order of their bytes.
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
    /// The sum of all counts.
    #[getter]
    fn total(&self) -> u64 {
        self.0.total()
    }

    /// The regular expression that split the text.
    #[getter]
    fn pattern(&self) -> &str {
        self.0.settings.splitter.pattern()
    }

    /// The name of the preset, if the pattern is one.
    #[getter]
    fn pattern_name(&self) -> Option<&'static str> {
        self.0.settings.splitter.name()
    }

    /// The special tokens that were cut out of the text.
    #[getter]
    fn special_tokens(&self) -> Vec<String> {
        self.0.settings.special_tokens.clone()
    }

    /// The string between documents.
    #[getter]
    fn separator(&self) -> Option<&str> {
        self.0.settings.separator.as_deref()
    }

    /// How many bytes of the corpus were not valid UTF-8; each is a pre-token.
    #[getter]
    fn invalid_bytes(&self) -> u64 {
        self.0.invalid_bytes
    }

    /// How many documents the corpus had.
    #[getter]
    fn documents(&self) -> u64 {
        self.0.documents
    }
}

/// Counts in memory, or the path of a `.counts` file.
pub enum GivenCounts {
    Memory(Arc<count::Counts>),
    File(PathBuf),
}

impl<'a, 'py> FromPyObject<'a, 'py> for GivenCounts {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<Counts>() {
            Ok(counts) => Ok(GivenCounts::Memory(Arc::clone(&counts.get().0))),
            Err(_) => Ok(GivenCounts::File(given.extract()?)),
        }
    }
}

impl GivenCounts {
    pub fn source(&self) -> merganser_core::Result<Source<'_>> {
        match self {
            GivenCounts::Memory(counts) => Ok(Source::Memory(counts)),
            GivenCounts::File(path) => Source::file(path),
        }
    }
}

/// Return where a plain text or JSON lines file can be cut into ranges of about `size` bytes.
///
/// Returns
/// -------
/// list of tuple
///     The offset of each cut, and whether it is inside a document.
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
        let cutters = Cutters::new(&settings.special_tokens, settings.separator.as_deref())?;
        corpus::shard_cuts(&path, size, &settings.splitter, &cutters, progress)
    })
}

/// Counts the pre-tokens of a corpus that is added input by input.
///
/// Parameters
/// ----------
/// pattern
///     A preset or a regular expression.
/// special_tokens
///     Special tokens, which are cut out of the text and not counted.
/// separator
///     The string between documents, cut out likewise.
/// threads
///     The number of threads; 0 for one per core.
/// progress
///     Called with the stage, the bytes read, and the total or 0.
/// first_seen
///     Whether to keep the counts in the order in which pre-tokens first occur: on one thread, in memory.
#[pyclass(frozen, module = "merganser._core")]
pub struct Counter(Fed<count::Counter>, Mutex<Option<FolderLock>>);

#[pymethods]
impl Counter {
    #[new]
    #[pyo3(signature = (pattern, special_tokens, separator, threads, progress, *, first_seen = false))]
    fn new(
        py: Python<'_>,
        pattern: &str,
        special_tokens: Vec<String>,
        separator: Option<String>,
        threads: usize,
        progress: Option<Py<PyAny>>,
        first_seen: bool,
    ) -> PyResult<Self> {
        let settings = settings(py, pattern, special_tokens, separator)?;
        let counter = run(py, || match first_seen {
            false => count::Counter::new(settings, threads),
            true => count::Counter::in_first_seen_order(settings),
        })?;
        Ok(Counter(Fed::new(counter, progress, "counter"), Mutex::default()))
    }

    /// Count documents in memory; none is copied.
    fn add_documents(&self, py: Python<'_>, documents: &Bound<'_, PyList>) -> PyResult<()> {
        self.0.add_documents(py, documents)
    }

    /// Count files. The format of each follows from its name, its compression from its first bytes.
    fn add_files(&self, py: Python<'_>, paths: Vec<PathBuf>, reading: &Reading) -> PyResult<()> {
        self.0.add_files(py, &paths, reading)
    }

    /// Count a range of a plain text or JSON lines file that `shard_cuts` has found.
    fn add_range(
        &self,
        py: Python<'_>,
        path: PathBuf,
        start: u64,
        end: u64,
        in_document: bool,
        reading: &Reading,
    ) -> PyResult<()> {
        self.0.add_range(py, &path, start, end, in_document, reading)
    }

    /// Count a stream, given as an iterator of chunks. Its format follows from `name`.
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

    /// Write counts to disk if they do not fit in memory.
    ///
    /// Parameters
    /// ----------
    /// folder
    ///     The work folder. It is created when needed; if it exists, it is locked now.
    /// memory
    ///     How many bytes of counts to keep in memory.
    /// seconds
    ///     Write at least this often, so that no more work is lost; None for never.
    /// job
    ///     The content of `job.json` in the folder, which says what is counted.
    ///
    /// Returns
    /// -------
    /// bool
    ///     Whether the folder exists.
    fn spill_to(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        memory: usize,
        seconds: Option<f64>,
        job: String,
    ) -> PyResult<bool> {
        let every = seconds.map(Duration::from_secs_f64);
        self.0.run(py, move |counter, progress| {
            let mut spill = Spill::new(&folder, memory, every, job);
            let exists = spill.lock(progress)?;
            counter.spill_to(spill);
            Ok(exists)
        })
    }

    /// Resume from a line of the log in the work folder, of which `log_len` bytes are valid, and have the
    /// checksum `log_crc32`.
    #[allow(clippy::too_many_arguments)] // the fields of a line of the log, by name
    fn resume(
        &self,
        py: Python<'_>,
        runs: Vec<String>,
        log_len: u64,
        log_crc32: u32,
        part: u64,
        offset: u64,
        within: u64,
        in_document: bool,
    ) -> PyResult<()> {
        let position = Position { part, offset, within };
        self.0.with(py, |counter| counter.resume(&runs, log_len, log_crc32, position, in_document))
    }

    /// Whether counts are on disk, or too large to be added up in memory.
    #[getter]
    fn needs_disk(&self, py: Python<'_>) -> PyResult<bool> {
        self.0.with(py, |counter| counter.needs_disk())
    }

    /// Write the counts, and those of other files, to a `.counts` file.
    ///
    /// The work folder stays locked until `abandon` is called, so that it can be removed.
    ///
    /// Returns
    /// -------
    /// tuple of int
    ///     Documents, invalid bytes, unique pre-tokens, and the sum of all counts.
    fn finish_to(&self, py: Python<'_>, out: PathBuf, others: Vec<PathBuf>) -> PyResult<TotalsTuple> {
        let finished = self.0.finish(py, |counter, progress| {
            *self.1.lock().unwrap() = counter.lock_handle();
            counter.finish_to(&out, &others, progress)
        });
        finished.map(as_tuple)
    }

    /// Drop what was counted and unlock the work folder.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        *self.1.lock().unwrap() = None;
        self.0.abandon(py)
    }

    /// Return the counts.
    fn finish(&self, py: Python<'_>) -> PyResult<Counts> {
        let counts = self.0.finish(py, |counter, progress| counter.finish(progress))?;
        Ok(Counts(Arc::new(counts)))
    }
}

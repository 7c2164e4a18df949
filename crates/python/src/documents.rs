//! Documents: the texts of a corpus, as `bytes`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use merganser_core::corpus;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use crate::errors::{bytes_of, raise};
use crate::interrupt::run;
use crate::reading::{Reading, SkippedTuple, skipped};
use crate::stream::{Failure, Source, Stream, raise_failure};
use crate::text::borrow_document;

/// A batch of documents.
type Batch<'py> = Bound<'py, PyList>;

/// Reads the documents of a corpus, input by input.
///
/// Parameters
/// ----------
/// separator
///     A string that ends a document wherever the text holds it, or None.
///
/// Raises
/// ------
/// SettingsError
///     If the separator is empty.
#[pyclass(frozen, module = "merganser._core")]
pub struct Documents(Mutex<corpus::Documents>);

#[pymethods]
impl Documents {
    #[new]
    fn new(py: Python<'_>, separator: Option<&str>) -> PyResult<Self> {
        Ok(Documents(Mutex::new(run(py, || corpus::Documents::new(separator))?)))
    }

    /// Return the documents of files. Files are opened one after the other, as they are read.
    fn read_files(
        &self,
        py: Python<'_>,
        paths: Vec<PathBuf>,
        reading: &Reading,
    ) -> PyResult<DocumentBatches> {
        let batches = lock(py, &self.0)?.files(paths, &reading.0);
        Ok(DocumentBatches::new(batches, Arc::default()))
    }

    /// Return the documents of a stream, an iterator of chunks. Its format follows from `name`.
    fn read_stream(
        &self,
        py: Python<'_>,
        chunks: Py<PyIterator>,
        name: &str,
        reading: &Reading,
    ) -> PyResult<DocumentBatches> {
        let failure = Failure::default();
        let chunks = Stream::new(Source::Pulled(chunks, Arc::clone(&failure)));
        let documents = &mut *lock(py, &self.0)?;
        // Reads the first bytes, to see how the stream is compressed.
        let opened = run(py, || documents.stream(chunks, name.as_ref(), &reading.0));
        raise_failure(&failure)?;
        Ok(DocumentBatches::new(opened?, failure))
    }

    /// Return the documents of texts in memory: each text, or what the separator makes of it.
    fn split<'py>(&self, py: Python<'py>, texts: &Bound<'py, PyList>) -> PyResult<Batch<'py>> {
        // The list may change while the GIL is released, so its items are kept alive here.
        let texts: Vec<Bound<'_, PyAny>> = texts.iter().collect();
        let borrowed = texts.iter().map(borrow_document).collect::<PyResult<Vec<&[u8]>>>()?;
        let documents = &mut *lock(py, &self.0)?;
        let batches = run(py, || {
            let mut batches = documents.in_memory(&borrowed);
            while batches.read()? {}
            Ok(batches)
        })?;
        PyList::new(py, batches.batch().map(|text| bytes_of(py, text)).collect::<PyResult<Vec<_>>>()?)
    }

    /// Return how many records and files were skipped, and why the first of them were.
    fn skipped(&self, py: Python<'_>) -> PyResult<SkippedTuple> {
        Ok(skipped(lock(py, &self.0)?.skipped()))
    }

    /// How many bytes of the inputs were read so far, as they are stored.
    #[getter]
    fn bytes_read(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(lock(py, &self.0)?.bytes_read())
    }
}

/// An iterator over the documents of one input, in batches of about 1 MB. Empty documents are left out.
#[pyclass(frozen, module = "merganser._core")]
pub struct DocumentBatches {
    batches: Mutex<corpus::DocumentBatches<'static>>,
    failure: Failure,
}

impl DocumentBatches {
    fn new(batches: corpus::DocumentBatches<'static>, failure: Failure) -> DocumentBatches {
        DocumentBatches { batches: Mutex::new(batches), failure }
    }
}

#[pymethods]
impl DocumentBatches {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Batch<'py>>> {
        let batches = &mut *lock(py, &self.batches)?;
        // Block by block, so that Ctrl-C is noticed inside a long document.
        while !batches.is_full() {
            let more = run(py, || batches.read());
            raise_failure(&self.failure)?;
            py.check_signals()?;
            if !more? {
                break;
            }
        }
        let batch =
            PyList::new(py, batches.batch().map(|text| bytes_of(py, text)).collect::<PyResult<Vec<_>>>()?)?;
        batches.clear();
        Ok((!batch.is_empty()).then_some(batch))
    }
}

/// Never waits, because the thread that holds the lock may be waiting for the GIL.
fn lock<'a, T>(py: Python<'_>, value: &'a Mutex<T>) -> PyResult<MutexGuard<'a, T>> {
    value.try_lock().map_err(|_| raise(py, "InternalError", "these documents are in use on another thread"))
}

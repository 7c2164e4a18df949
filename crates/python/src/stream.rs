//! Streams that Python reads and the core consumes, such as standard input.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

use merganser_core::{Progress, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator};

use crate::interrupt::{Callback, run, run_fed, take};

/// Runs `work` on another thread, while the calling thread feeds it the chunks of a Python iterator of
/// `bytes`. If no thread can be started, the work pulls the chunks itself.
pub fn run_on_stream<T: Send>(
    py: Python<'_>,
    callback: Callback<'_, '_>,
    progress: &Progress,
    chunks: &Bound<'_, PyIterator>,
    work: impl FnOnce(Stream, &Progress) -> Result<T> + Send,
) -> PyResult<T> {
    let (sender, receiver) = sync_channel::<Vec<u8>>(4);
    let work = Mutex::new(Some(work));
    let outcome = run_fed(
        py,
        callback,
        progress,
        move |look_around| {
            for chunk in chunks {
                let chunk = chunk?.cast::<PyBytes>()?.as_bytes().to_vec();
                // A worker that hung up has failed, and its outcome says why.
                if py.detach(|| sender.send(chunk)).is_err() {
                    break;
                }
                look_around()?;
            }
            Ok(())
        },
        |progress| take(&work)(Stream::new(Source::Fed(receiver)), progress),
    );
    outcome.unwrap_or_else(|| {
        let failure = Failure::default();
        let pulled = Source::Pulled(chunks.clone().unbind(), Arc::clone(&failure));
        let outcome = run(py, || take(&work)(Stream::new(pulled), progress));
        raise_failure(&failure)?;
        outcome
    })
}

/// The exception that ended a Python iterator of chunks.
pub type Failure = Arc<Mutex<Option<PyErr>>>;

pub fn raise_failure(failure: &Failure) -> PyResult<()> {
    failure.lock().unwrap().take().map_or(Ok(()), Err)
}

/// Where the chunks of a stream come from.
pub enum Source {
    /// The calling thread, which runs the Python iterator.
    Fed(Receiver<Vec<u8>>),
    /// The iterator itself, run on the thread that reads.
    Pulled(Py<PyIterator>, Failure),
}

impl Source {
    fn next(&self) -> Option<Vec<u8>> {
        match self {
            Source::Fed(chunks) => chunks.recv().ok(),
            Source::Pulled(chunks, failure) => pull(chunks).unwrap_or_else(|error| {
                // The stream ends here for the core; the caller raises the exception.
                *failure.lock().unwrap() = Some(error);
                None
            }),
        }
    }
}

fn pull(chunks: &Py<PyIterator>) -> PyResult<Option<Vec<u8>>> {
    Python::attach(|py| match chunks.bind(py).clone().next() {
        Some(chunk) => Ok(Some(chunk?.cast::<PyBytes>()?.as_bytes().to_vec())),
        None => Ok(None),
    })
}

/// Chunks, read as one stream.
pub struct Stream {
    source: Source,
    chunk: io::Cursor<Vec<u8>>,
}

impl Stream {
    pub fn new(source: Source) -> Stream {
        Stream { source, chunk: io::Cursor::default() }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.chunk.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            match self.source.next() {
                Some(chunk) => self.chunk = io::Cursor::new(chunk),
                None => return Ok(0),
            }
        }
    }
}

//! Streams that Python reads and the core consumes, such as standard input.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, sync_channel};

use merganser_core::{Progress, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator};

use crate::interrupt::{Callback, run_fed};

/// Runs `work` on another thread, while the calling thread feeds it the chunks of a Python iterator of
/// `bytes`.
pub fn run_on_stream<T: Send>(
    py: Python<'_>,
    callback: Callback<'_, '_>,
    progress: &Progress,
    chunks: &Bound<'_, PyIterator>,
    work: impl FnOnce(Stream, &Progress) -> Result<T> + Send,
) -> PyResult<T> {
    let (sender, receiver) = sync_channel::<Vec<u8>>(4);
    let stream = Stream { chunks: receiver, chunk: io::Cursor::new(Vec::new()) };
    run_fed(
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
        |progress| work(stream, progress),
    )
}

/// The chunks of the calling thread, read as one stream by the worker.
pub struct Stream {
    chunks: Receiver<Vec<u8>>,
    chunk: io::Cursor<Vec<u8>>,
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.chunk.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            match self.chunks.recv() {
                Ok(chunk) => self.chunk = io::Cursor::new(chunk),
                Err(_) => return Ok(0),
            }
        }
    }
}

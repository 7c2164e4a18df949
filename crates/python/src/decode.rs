//! Decoding, as Python sees it. The methods of `Tokenizer` come here in one line each.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use merganser_core::encode::{Stream, utf16};
use merganser_core::{Error, Result, Tokenizer};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString};

use crate::errors::{raise, to_python};
use crate::ids::{Ids, Walk, one};
use crate::interrupt::{run, run_attached};

/// Fewer ids than this, some 20 µs of work, are not worth giving the GIL away for.
const FEW: usize = 1 << 13;

/// A batch is decoded in groups of about so many ids, some 10 ms of work; Ctrl-C is looked for in between.
const GROUP: usize = 1 << 20;

pub fn decode<'py>(
    tokenizer: &Tokenizer,
    ids: &Bound<'py, PyAny>,
    errors: &str,
) -> PyResult<Bound<'py, PyString>> {
    let py = ids.py();
    let lossy = is_lossy(py, errors)?;
    let ids = Ids::of(ids)?;
    let walk = ids.walk();
    let mut decoded = SPARE.take();
    let filled = run_sized(py, ids.len(), || Ok(decoded.fill(tokenizer, walk)))?;
    filled.map_err(|error| ids.raise(py, error))?;
    let text = decoded.to_str(py, lossy);
    decoded.keep();
    text
}

pub fn decode_bytes<'py>(tokenizer: &Tokenizer, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = ids.py();
    let ids = Ids::of(ids)?;
    let walk = ids.walk();
    let length = run_sized(py, ids.len(), || Ok(tokenizer.decoded_len(walk)))?;
    let length = length.map_err(|error| ids.raise(py, error))?;
    // SAFETY: without bytes to copy, this makes new ones to be filled in, and it is owned or null.
    let bytes = unsafe {
        let made = ffi::PyBytes_FromStringAndSize(std::ptr::null(), length as isize);
        Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked::<PyBytes>()
    };
    // SAFETY: `length` bytes lie there, and nobody else knows of them yet.
    let room = unsafe {
        let first = ffi::PyBytes_AsString(bytes.as_ptr()).cast::<MaybeUninit<u8>>();
        std::slice::from_raw_parts_mut(first, length)
    };
    let filled = run_sized(py, ids.len(), || Ok(tokenizer.decode_into(walk, room)))?;
    if filled.map_err(|error| ids.raise(py, error))? == length {
        Ok(bytes)
    } else {
        Err(raise(py, "DecodeError", "the array was changed while it was decoded; wait for the end"))
    }
}

pub fn decode_batch<'py>(
    tokenizer: &Tokenizer,
    batch: &Bound<'py, PyAny>,
    errors: &str,
    threads: Option<isize>,
) -> PyResult<Bound<'py, PyList>> {
    let py = batch.py();
    let lossy = is_lossy(py, errors)?;
    let threads = match threads {
        None => std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        Some(threads) if threads > 0 => threads as usize,
        Some(threads) => {
            let message = format!("{threads} threads cannot work; give a number from 1 on, or None");
            return Err(raise(py, "SettingsError", message));
        }
    };
    let texts = PyList::empty(py);
    let mut sequences = batch.try_iter()?;
    loop {
        let (mut group, mut size) = (Vec::new(), 0);
        while size < GROUP
            && let Some(sequence) = sequences.next()
        {
            let sequence = sequence?;
            let ids = Ids::of(&sequence).map_err(|error| in_batch(py, error, texts.len() + group.len()))?;
            // An empty sequence is some work too.
            size += ids.len() + 1;
            group.push(ids);
        }
        if group.is_empty() {
            return Ok(texts);
        }
        let walks: Vec<Walk> = group.iter().map(Ids::walk).collect();
        let decoded = run_sized(py, size, || Ok(decode_group(tokenizer, &walks, size, threads)))?;
        for (text, ids) in decoded.into_iter().zip(&group) {
            let text = text.map_err(|error| ids.raise(py, error)).and_then(|text| text.to_str(py, lossy));
            texts.append(text.map_err(|error| in_batch(py, error, texts.len()))?)?;
        }
        py.check_signals()?;
    }
}

/// Every sequence on some thread, in the order given. What takes less than a thread takes to start stays on this one.
fn decode_group(tokenizer: &Tokenizer, walks: &[Walk], size: usize, threads: usize) -> Vec<Result<Decoded>> {
    let threads = threads.min(walks.len()).min(1 + size / (1 << 16));
    if threads == 1 {
        return walks.iter().map(|&walk| Decoded::of(tokenizer, walk)).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let at = next.fetch_add(1, Relaxed)
            && let Some(&walk) = walks.get(at)
        {
            done.push((at, Decoded::of(tokenizer, walk)));
        }
        done
    };
    let mut texts = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut texts = work();
        for other in others {
            texts.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        texts
    });
    texts.sort_unstable_by_key(|&(at, _)| at);
    texts.into_iter().map(|(_, text)| text).collect()
}

/// The same exception, which also says where in the batch.
fn in_batch(py: Python<'_>, error: PyErr, at: usize) -> PyErr {
    let class = error.get_type(py);
    let message = format!("sequence {at} of the batch: {}", error.value(py));
    if !class.name().is_ok_and(|name| name == "DecodeError" || name == "TypeError") {
        return error;
    }
    class.call1((message,)).map_or_else(|error| error, PyErr::from_value)
}

pub fn decode_with_offsets<'py>(
    tokenizer: &Tokenizer,
    ids: &Bound<'py, PyAny>,
    unit: &str,
) -> PyResult<(Bound<'py, PyString>, Vec<usize>)> {
    let py = ids.py();
    let in_bytes = match unit {
        "characters" => false,
        "bytes" => true,
        other => {
            let message = format!("unit is \"characters\" or \"bytes\", not {other:?}");
            return Err(raise(py, "SettingsError", message));
        }
    };
    let ids = Ids::of(ids)?;
    let walk = ids.walk();
    let decoded = run_sized(py, ids.len(), || {
        let ids: Vec<u32> = walk.collect();
        Ok(if in_bytes { tokenizer.decode_with_byte_offsets(&ids) } else { tokenizer.decode_with_offsets(&ids) })
    })?;
    let (text, offsets) = decoded.map_err(|error| ids.raise(py, error))?;
    Ok((PyString::new(py, &text), offsets))
}

pub fn token_bytes<'py>(tokenizer: &Tokenizer, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = id.py();
    let number = one(id, 0)?;
    match tokenizer.bytes_or_special(number) {
        Some(bytes) => Ok(PyBytes::new(py, bytes)),
        None => Err(to_python(py, Error::UnknownId { id: number, at: 0 })),
    }
}

/// Decodes ids as they come; `merganser.StreamDecoder` inherits from it.
#[pyclass(frozen, subclass, module = "merganser._core")]
pub struct StreamDecoder {
    tokenizer: Arc<Tokenizer>,
    stream: Mutex<Stream>,
}

#[pymethods]
impl StreamDecoder {
    #[new]
    #[pyo3(signature = (tokenizer, errors = "strict", *, skip_special = false))]
    fn new(tokenizer: &Bound<'_, crate::tokenizer::Tokenizer>, errors: &str, skip_special: bool) -> PyResult<Self> {
        let stream = Stream::new(is_lossy(tokenizer.py(), errors)?, skip_special);
        Ok(StreamDecoder { tokenizer: tokenizer.get().0.clone(), stream: Mutex::new(stream) })
    }

    /// The text that the next id, or the next few, complete: whole characters, or nothing yet.
    fn push<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let py = ids.py();
        if ids.is_exact_instance_of::<PyInt>() {
            return self.push_ids(py, &[one(ids, 0)?]);
        }
        // A number of numpy's is not iterable, but an index.
        if let Ok(id) = ids.extract::<u32>() {
            return self.push_ids(py, &[id]);
        }
        let ids = Ids::of(ids)?;
        self.push_ids(py, &ids.walk().collect::<Vec<u32>>())
    }

    /// Ends the text: if a character is not whole, "strict" is an error and "replace" puts U+FFFD. Then the decoder
    /// is as new.
    fn finish(&self, py: Python<'_>) -> PyResult<&'static str> {
        run_attached(py, || self.lock().finish())
    }

    /// The bytes that wait for the rest of their character, three at most.
    #[getter]
    fn pending<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.lock().held())
    }
}

impl StreamDecoder {
    fn push_ids<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyString>> {
        let text = run_attached(py, || self.lock().push(&self.tokenizer, ids))?;
        Ok(PyString::new(py, &text))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What ids were decoded to.
#[derive(Default)]
struct Decoded {
    utf8: Vec<u8>,
    /// The same, if it is text and not ASCII: of this Python makes a `str` several times faster.
    utf16: Vec<u16>,
}

/// A thread keeps no more room for decoding than this, in bytes. Fresh memory costs as much as the work itself.
const KEPT: usize = 8 << 20;

thread_local! {
    /// The room of the last decoding on this thread.
    static SPARE: Cell<Decoded> = Cell::default();
}

impl Decoded {
    fn of(tokenizer: &Tokenizer, ids: Walk) -> Result<Decoded> {
        let mut decoded = Decoded::default();
        decoded.fill(tokenizer, ids)?;
        Ok(decoded)
    }

    fn fill(&mut self, tokenizer: &Tokenizer, ids: Walk) -> Result<()> {
        self.utf8.clear();
        self.utf16.clear();
        tokenizer.decode_onto(ids, &mut self.utf8)?;
        utf16(&self.utf8, &mut self.utf16);
        Ok(())
    }

    fn to_str<'py>(&self, py: Python<'py>, lossy: bool) -> PyResult<Bound<'py, PyString>> {
        // SAFETY: Python reads as many bytes as we say; what it makes is an owned `str`, or null with an exception.
        let text = unsafe {
            let text = if self.utf16.is_empty() {
                let errors = if lossy { c"replace".as_ptr() } else { std::ptr::null() };
                ffi::PyUnicode_DecodeUTF8(self.utf8.as_ptr().cast(), self.utf8.len() as isize, errors)
            } else {
                // Told the order, it takes U+FEFF for the character that it is.
                let mut order = if cfg!(target_endian = "little") { -1 } else { 1 };
                let length = size_of_val(&self.utf16[..]) as isize;
                ffi::PyUnicode_DecodeUTF16(self.utf16.as_ptr().cast(), length, std::ptr::null(), &mut order)
            };
            Bound::from_owned_ptr_or_err(py, text).map(|text| text.cast_into_unchecked())
        };
        text.map_err(|error| match std::str::from_utf8(&self.utf8) {
            Err(invalid) if !lossy => to_python(py, Error::NotUtf8 { at: invalid.valid_up_to() }),
            _ => error,
        })
    }

    fn keep(self) {
        if self.utf8.capacity() + 2 * self.utf16.capacity() <= KEPT {
            SPARE.set(self);
        }
    }
}

fn is_lossy(py: Python<'_>, errors: &str) -> PyResult<bool> {
    match errors {
        "strict" => Ok(false),
        "replace" => Ok(true),
        other => {
            let message = format!("errors is \"strict\" or \"replace\", not {other:?}");
            Err(raise(py, "DecodeError", message))
        }
    }
}

/// Runs `work` on `size` ids, without the GIL if they are many.
fn run_sized<T: Send>(py: Python<'_>, size: usize, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    if size < FEW { run_attached(py, work) } else { run(py, work) }
}

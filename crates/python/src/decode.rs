//! Decoding. The methods of `Tokenizer` call these functions.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use merganser_core::encode::{Invalid, Place, Stream, StreamState};
use merganser_core::{Error, Result, Tokenizer, start_in, thread_count};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString, PyTuple};

use crate::errors::{bytes_of, raise, to_python};
use crate::ids::{Ids, Shared, for_each_part, one, read};
use crate::interrupt::{run, run_attached};
use crate::string::to_str;

/// For fewer ids than this, some 20 µs of work, the GIL is not released.
const FEW: usize = 1 << 13;

/// A batch is decoded in groups of about this many ids, some 10 ms of work; signals are checked in between.
const GROUP: usize = 1 << 20;

/// The maximum size in bytes of the buffer that a thread keeps for its next decoding.
const KEPT: usize = 32 << 20;

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

pub fn decode<'py>(
    tokenizer: &Tokenizer,
    ids: &Bound<'py, PyAny>,
    errors: &str,
    skip_special: bool,
) -> PyResult<Bound<'py, PyString>> {
    let py = ids.py();
    let invalid = invalid(py, errors)?;
    if skip_special || tokenizer.decodes_whole_texts() {
        let lossy = invalid == Invalid::Replace;
        return to_str(py, &decode_whole(tokenizer, ids, lossy, skip_special)?, invalid);
    }
    in_spare_room(|utf8| {
        if let Ok(list) = ids.cast_exact::<PyList>() {
            decode_list(tokenizer, list, utf8)?;
        } else {
            let ids = Ids::of(ids)?;
            let shared = ids.shared();
            let decoded = run_sized(py, ids.len(), || Ok(tokenizer.decode_onto(read(shared), utf8)))?;
            decoded.map_err(|error| ids.raise(py, error))?;
        }
        to_str(py, utf8, invalid)
    })
}

/// Decodes ids that are not simply joined.
fn decode_whole(
    tokenizer: &Tokenizer,
    ids: &Bound<'_, PyAny>,
    lossy: bool,
    skip_special: bool,
) -> PyResult<Vec<u8>> {
    let py = ids.py();
    let ids = Ids::of(ids)?;
    let shared = ids.shared();
    let decoded = run_sized(py, ids.len(), || {
        let ids: Vec<u32> = read(shared).collect();
        Ok(tokenizer.decode_whole(&ids, lossy, skip_special))
    })?;
    decoded.map_err(|error| ids.raise(py, error))
}

/// Runs `work` with an empty vector, whose memory the thread keeps unless it is too large.
fn in_spare_room<T>(work: impl FnOnce(&mut Vec<u8>) -> PyResult<T>) -> PyResult<T> {
    let mut room = SPARE.take();
    room.clear();
    let outcome = work(&mut room);
    if room.capacity() <= KEPT {
        SPARE.set(room);
    }
    outcome
}

/// Decodes ids as they are read, part by part, with the GIL: reading takes longer than decoding, and needs
/// it.
fn decode_list(tokenizer: &Tokenizer, list: &Bound<'_, PyList>, utf8: &mut Vec<u8>) -> PyResult<()> {
    let mut before = 0;
    for_each_part(list, |part| {
        let decoded = run_attached(list.py(), || {
            tokenizer.decode_onto(part.iter().copied(), utf8).map_err(|error| match error {
                Error::UnknownId { id, at } => Error::UnknownId { id, at: before + at },
                other => other,
            })
        });
        before += part.len();
        decoded
    })
}

pub fn decode_bytes<'py>(tokenizer: &Tokenizer, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = ids.py();
    if tokenizer.decodes_whole_texts() {
        return Ok(PyBytes::new(py, &decode_whole(tokenizer, ids, false, false)?));
    }
    if let Ok(list) = ids.cast_exact::<PyList>() {
        return in_spare_room(|bytes| {
            decode_list(tokenizer, list, bytes)?;
            bytes_of(py, bytes)
        });
    }
    let ids = Ids::of(ids)?;
    let shared = ids.shared();
    let length = run_sized(py, ids.len(), || Ok(tokenizer.decoded_len(read(shared))))?;
    let length = length.map_err(|error| ids.raise(py, error))?;
    // SAFETY: given null, the call copies nothing and allocates `length` bytes. It returns a new reference to
    // `bytes`, or null with an exception set: what `from_owned_ptr_or_err` takes.
    let bytes = unsafe {
        let made = ffi::PyBytes_FromStringAndSize(std::ptr::null(), length as isize);
        Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked::<PyBytes>()
    };
    // SAFETY: `bytes` was allocated above with `length` bytes, which no other code has seen, so nobody reads
    // or writes them while `room` is used; `MaybeUninit` needs no initial value.
    let room = unsafe {
        let first = ffi::PyBytes_AsString(bytes.as_ptr()).cast::<MaybeUninit<u8>>();
        std::slice::from_raw_parts_mut(first, length)
    };
    let filled = run_sized(py, ids.len(), || Ok(tokenizer.decode_into(read(shared), room)))?;
    if filled.map_err(|error| ids.raise(py, error))? == length {
        Ok(bytes)
    } else {
        Err(raise(
            py,
            "DecodeError",
            "the array was modified while it was being decoded; modify it afterwards",
        ))
    }
}

pub fn decode_batch<'py>(
    tokenizer: &Tokenizer,
    batch: &Bound<'py, PyAny>,
    errors: &str,
    threads: Option<isize>,
) -> PyResult<Bound<'py, PyList>> {
    let py = batch.py();
    let invalid = invalid(py, errors)?;
    let threads = match threads {
        None => thread_count(0),
        Some(threads) if threads > 0 => threads as usize,
        Some(threads) => {
            let message = format!("threads must be at least 1, or None for one per core, got {threads}");
            return Err(raise(py, "SettingsError", message));
        }
    };
    let texts = PyList::empty(py);
    let mut items = batch.try_iter()?;
    loop {
        let (mut group, mut size) = (Vec::new(), 0);
        while size < GROUP
            && let Some(sequence) = items.next()
        {
            let sequence = sequence?;
            let ids = Ids::of(&sequence).map_err(|error| in_batch(py, error, texts.len() + group.len()))?;
            // An empty sequence is work too.
            size += ids.len() + 1;
            group.push(ids);
        }
        if group.is_empty() {
            return Ok(texts);
        }
        let sequences: Vec<Shared> = group.iter().map(Ids::shared).collect();
        let decoded =
            run_sized(py, size, || Ok(decode_group(tokenizer, &sequences, size, threads, invalid)))?;
        for (text, ids) in decoded.into_iter().zip(&group) {
            let text = text.map_err(|error| ids.raise(py, error)).and_then(|utf8| to_str(py, &utf8, invalid));
            texts.append(text.map_err(|error| in_batch(py, error, texts.len()))?)?;
        }
        py.check_signals()?;
    }
}

/// Decodes each sequence on some thread, and returns them in order. Work that is shorter than starting a
/// thread stays on this one.
fn decode_group(
    tokenizer: &Tokenizer,
    sequences: &[Shared<'_>],
    size: usize,
    threads: usize,
    invalid: Invalid,
) -> Vec<Result<Vec<u8>>> {
    let lossy = invalid == Invalid::Replace;
    let threads = threads.min(sequences.len()).min(1 + size / (1 << 16));
    if threads == 1 {
        return sequences.iter().map(|ids| decode_utf8(tokenizer, ids, lossy)).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let at = next.fetch_add(1, Relaxed)
            && let Some(ids) = sequences.get(at)
        {
            done.push((at, decode_utf8(tokenizer, ids, lossy)));
        }
        done
    };
    let mut texts = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map_while(|_| start_in(scope, work)).collect();
        let mut texts = work();
        for other in others {
            texts.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        texts
    });
    texts.sort_unstable_by_key(|&(at, _)| at);
    texts.into_iter().map(|(_, text)| text).collect()
}

/// Names the sequence of the batch in the message of an exception.
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
    let shared = ids.shared();
    let decoded = run_sized(py, ids.len(), || {
        let ids: Vec<u32> = read(shared).collect();
        Ok(if in_bytes {
            tokenizer.decode_with_byte_offsets(&ids)
        } else {
            tokenizer.decode_with_offsets(&ids)
        })
    })?;
    let (text, offsets) = decoded.map_err(|error| ids.raise(py, error))?;
    Ok((PyString::from_bytes(py, text.as_bytes())?, offsets))
}

pub fn token_bytes<'py>(tokenizer: &Tokenizer, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = id.py();
    let number = one(id, 0)?;
    match tokenizer.bytes_or_special(number) {
        Some(bytes) => Ok(PyBytes::new(py, bytes)),
        None => Err(to_python(py, Error::UnknownId { id: number, at: 0 })),
    }
}

pub fn decode_tokens_bytes<'py>(
    tokenizer: &Tokenizer,
    ids: &Bound<'py, PyAny>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let py = ids.py();
    let ids = Ids::of(ids)?;
    let token = |(at, id)| match tokenizer.bytes_or_special(id) {
        Some(bytes) => Ok(PyBytes::new(py, bytes)),
        None => Err(ids.raise(py, Error::UnknownId { id, at })),
    };
    read(ids.shared()).enumerate().map(token).collect()
}

/// Decodes ids as they arrive; `merganser.StreamDecoder` inherits from it.
#[pyclass(frozen, subclass, weakref, module = "merganser._core")]
pub struct StreamDecoder {
    object: Py<crate::tokenizer::Tokenizer>,
    tokenizer: Arc<Tokenizer>,
    stream: Mutex<Stream>,
}

/// The arguments of a decoder: the tokenizer and `errors`, and those that are passed by name.
type Arguments<'py> = ((Py<crate::tokenizer::Tokenizer>, &'static str), Bound<'py, PyDict>);

/// The state of a decoder as Python keeps it: the bytes of an incomplete character, the number of bytes that have
/// become text, and the five fields of [`Place`].
type State = (Vec<u8>, usize, (bool, bool, bool, usize, usize));

#[pymethods]
impl StreamDecoder {
    #[new]
    #[pyo3(signature = (tokenizer, errors = "strict", *, skip_special = false))]
    fn new(
        tokenizer: &Bound<'_, crate::tokenizer::Tokenizer>,
        errors: &str,
        skip_special: bool,
    ) -> PyResult<Self> {
        let stream = Mutex::new(Stream::new(invalid(tokenizer.py(), errors)?, skip_special));
        let object = tokenizer.clone().unbind();
        Ok(StreamDecoder { object, tokenizer: tokenizer.get().0.clone(), stream })
    }

    /// Return the text that the next ids complete, in whole characters.
    ///
    /// Parameters
    /// ----------
    /// ids
    ///     One id, or several.
    ///
    /// Raises
    /// ------
    /// DecodeError
    ///     If an id is unknown, or if the bytes are not valid UTF-8 and `errors` is "strict". Nothing has
    ///     changed then.
    fn push<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let py = ids.py();
        // A numpy integer is an index too.
        let text = if ids.is_exact_instance_of::<PyInt>() || ids.extract::<u32>().is_ok() {
            let id = one(ids, 0)?;
            run_attached(py, || self.lock().push(&self.tokenizer, &[id]))?
        } else {
            let ids = Ids::of(ids)?;
            let all: Vec<u32> = read(ids.shared()).collect();
            let pushed = run_attached(py, || Ok(self.lock().push(&self.tokenizer, &all)))?;
            pushed.map_err(|error| ids.raise(py, error))?
        };
        PyString::from_bytes(py, text.as_bytes())
    }

    /// End the text and reset the decoder.
    ///
    /// Returns
    /// -------
    /// str
    ///     U+FFFD if a character is incomplete and `errors` is "replace", else the empty string.
    ///
    /// Raises
    /// ------
    /// DecodeError
    ///     If a character is incomplete and `errors` is "strict".
    fn finish(&self, py: Python<'_>) -> PyResult<&'static str> {
        run_attached(py, || self.lock().finish())
    }

    /// The bytes of an incomplete character, at most three.
    #[getter]
    fn pending<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.lock().held())
    }

    /// Return the arguments to construct the decoder with, for `copy` and `pickle`.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<Arguments<'py>> {
        let (invalid, skip_special) = {
            let stream = self.lock();
            (stream.invalid, stream.skip_special)
        };
        let errors = match invalid {
            Invalid::Refuse => "strict",
            Invalid::Replace => "replace",
            Invalid::Ignore => "ignore",
        };
        let named = PyDict::new(py);
        named.set_item("skip_special", skip_special)?;
        Ok(((self.object.clone_ref(py), errors), named))
    }

    /// Return what was pushed and has not become text yet.
    fn __getstate__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let StreamState { held, passed, place } = self.lock().state().clone();
        let Place { follows, begun, has_text, stripped, trailing } = place;
        let place = (follows, begun, has_text, stripped, trailing);
        (PyBytes::new(py, &held), passed, place).into_pyobject(py)
    }

    /// Continue from a state that `__getstate__` returned.
    fn __setstate__(&self, state: State) {
        let (held, passed, (follows, begun, has_text, stripped, trailing)) = state;
        let place = Place { follows, begun, has_text, stripped, trailing };
        self.lock().restore(StreamState { held, passed, place });
    }
}

impl StreamDecoder {
    fn lock(&self) -> std::sync::MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn decode_utf8(tokenizer: &Tokenizer, ids: Shared<'_>, lossy: bool) -> Result<Vec<u8>> {
    if tokenizer.decodes_whole_texts() {
        return tokenizer.decode_whole(&read(ids).collect::<Vec<u32>>(), lossy, false);
    }
    let mut utf8 = Vec::new();
    tokenizer.decode_onto(read(ids), &mut utf8)?;
    Ok(utf8)
}

fn invalid(py: Python<'_>, errors: &str) -> PyResult<Invalid> {
    match errors {
        "strict" => Ok(Invalid::Refuse),
        "replace" => Ok(Invalid::Replace),
        "ignore" => Ok(Invalid::Ignore),
        other => {
            let message = format!("errors must be \"strict\", \"replace\" or \"ignore\", got {other:?}");
            Err(raise(py, "DecodeError", message))
        }
    }
}

/// Runs `work` on `size` ids, without the GIL if they are many.
fn run_sized<T: Send>(py: Python<'_>, size: usize, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    if size < FEW { run_attached(py, work) } else { run(py, work) }
}

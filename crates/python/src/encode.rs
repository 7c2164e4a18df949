//! Encoding: text to lists and arrays of ids, numbers of tokens, and offsets.
//!
//! Short strings determine the shape of this file: for five letters, everything around the encoder costs more
//! than the encoder. A text below [`SHORT`] is therefore encoded without releasing the GIL, into a buffer
//! that the thread keeps, and the elements of a list are ints that the tokenizer keeps
//! ([`Ints`](crate::int_list::Ints)). Work above [`LONG`] can be interrupted with Ctrl-C, which costs a
//! thread.

use std::cell::RefCell;

use merganser_core::encode::{Batch, Options};
use merganser_core::{Progress, Result};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::arguments::{ORDINARY, Policy, Texts, Threads};
use crate::errors::raise;
use crate::interrupt::{run, run_attached, run_interruptible};
use crate::text::borrow_str;
use crate::tokenizer::Tokenizer;

/// Texts below this many bytes take less time than another thread needs to acquire the GIL.
const SHORT: usize = 4 << 10;

/// From this many bytes on, the work can be interrupted.
const LONG: usize = 1 << 20;

pub fn encode<'py>(
    tokenizer: &Tokenizer,
    text: &Bound<'py, PyString>,
    policy: Policy<'_, 'py>,
) -> PyResult<Bound<'py, PyList>> {
    policy.resolve(tokenizer, |options| {
        with_ids(tokenizer, text, options, |ids| tokenizer.1.list(text.py(), ids))
    })
}

pub fn encode_ordinary<'py>(
    tokenizer: &Tokenizer,
    text: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyList>> {
    with_ids(tokenizer, text, &ORDINARY, |ids| tokenizer.1.list(text.py(), ids))
}

/// Returns bytes as a text, if they are one; otherwise their ids.
#[cold]
#[inline(never)]
pub fn text_or_ids<'py>(
    tokenizer: &Tokenizer,
    bytes: &Bound<'py, PyBytes>,
    options: impl FnOnce() -> PyResult<Options>,
) -> PyResult<std::result::Result<Bound<'py, PyString>, Vec<u32>>> {
    let (py, core) = (bytes.py(), &*tokenizer.0);
    let bytes = bytes.as_bytes();
    let invalid = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(Ok(PyString::new(py, text))),
        Err(error) => error.valid_up_to(),
    };
    if core.definition().is_some() {
        let message = format!(
            "the bytes are not valid UTF-8 at byte {invalid}, and this tokenizer has stages that are defined for text \
             only; decode them first: data.decode(errors=\"replace\")"
        );
        return Err(raise(py, "EncodeError", message));
    }
    let options = options()?;
    let ids = run_sized(py, bytes.len(), |progress| {
        let mut ids = Vec::new();
        core.encode_bytes_with(bytes, &options, Some(progress), &mut ids).map(|()| ids)
    })?;
    Ok(Err(ids))
}

/// The ids of all texts, and the offsets of each text.
pub type Flat<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<i64>>);

pub fn encode_flat<'py>(
    tokenizer: &Tokenizer,
    texts: &Bound<'py, PyAny>,
    policy: Policy<'_, 'py>,
    threads: Threads,
) -> PyResult<Flat<'py>> {
    let py = texts.py();
    // The numpy crate panics if numpy cannot be imported.
    py.import("numpy")?;
    let Batch { ids, offsets } = flat(tokenizer, texts, policy, threads)?;
    Ok((ids.into_pyarray(py), offsets.into_pyarray(py)))
}

pub fn count_tokens<'py>(
    tokenizer: &Tokenizer,
    texts: &Bound<'py, PyAny>,
    policy: Policy<'_, 'py>,
    threads: Threads,
) -> PyResult<Bound<'py, PyAny>> {
    let py = texts.py();
    let core = &*tokenizer.0;
    if let Ok(text) = texts.cast::<PyString>() {
        let count = policy.resolve(tokenizer, |options| {
            let borrowed = borrow_str(text, "EncodeError")?;
            if borrowed.len() < LONG {
                return with_ids(tokenizer, text, options, |ids| Ok(ids.len()));
            }
            let counts = run_interruptible(py, None, &Progress::new(), |progress| {
                core.count_batch(&[borrowed], options, threads.0, progress)
            })?;
            Ok(counts[0])
        })?;
        return Ok(count.into_pyobject(py)?.into_any());
    }
    if let Ok(bytes) = texts.cast::<PyBytes>() {
        return match text_or_ids(tokenizer, bytes, || policy.options(tokenizer))? {
            Ok(text) => count_tokens(tokenizer, text.as_any(), policy, threads),
            Err(ids) => Ok(ids.len().into_pyobject(py)?.into_any()),
        };
    }
    let options = policy.options(tokenizer)?;
    let texts = Texts::new(texts)?;
    let borrowed = texts.borrow()?;
    let counts = run_sized(py, size(&borrowed), |progress| {
        core.count_batch(&borrowed, &options, threads.0, progress)
    })?;
    Ok(PyList::new(py, counts)?.into_any())
}

/// Returns a `merganser.Spans`.
pub fn encode_with_offsets<'py>(
    tokenizer: &Tokenizer,
    text: &Bound<'py, PyString>,
    policy: Policy<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = text.py();
    let options = policy.options(tokenizer)?;
    let core = &*tokenizer.0;
    let class = py.import("merganser.tokenizer")?.getattr("Spans")?;
    let whole = borrow_str(text, "EncodeError")?;
    if let Some(encoded) = run(py, || core.encode_stage_spans(whole, &options).transpose())? {
        let (ids, spans) = encoded;
        return class.call1((tokenizer.1.list(py, &ids)?, spans.chars, spans.bytes));
    }
    with_ids(tokenizer, text, &options, |ids| {
        let spans = run(py, || core.spans(ids, &options))?;
        class.call1((tokenizer.1.list(py, ids)?, spans.chars, spans.bytes))
    })
}

/// Encodes one text and calls `use_ids` with its ids.
#[inline]
pub fn with_ids<'py, T>(
    tokenizer: &Tokenizer,
    text: &Bound<'py, PyString>,
    options: &Options,
    use_ids: impl FnOnce(&[u32]) -> PyResult<T>,
) -> PyResult<T> {
    let py = text.py();
    let text = borrow_str(text, "EncodeError")?;
    let core = &*tokenizer.0;
    if text.len() >= LONG {
        let batch = run_interruptible(py, None, &Progress::new(), |progress| {
            core.encode_batch(&[text], options, 0, progress)
        })?;
        return use_ids(&batch.ids);
    }
    BUFFER.with(|buffer| {
        // The buffer is in use if a signal handler encodes while a list is built.
        let (mut kept, mut own) = (buffer.try_borrow_mut(), Vec::new());
        let ids = kept.as_deref_mut().unwrap_or(&mut own);
        ids.clear();
        if text.len() < SHORT {
            run_attached(py, || core.encode_with(text, options, ids))?;
        } else {
            run(py, || core.encode_with(text, options, ids))?;
        }
        use_ids(ids)
    })
}

thread_local! {
    /// At most one id for each byte of a text below [`LONG`].
    static BUFFER: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

fn flat<'py>(
    tokenizer: &Tokenizer,
    texts: &Bound<'py, PyAny>,
    policy: Policy<'_, 'py>,
    threads: Threads,
) -> PyResult<Batch> {
    let options = policy.options(tokenizer)?;
    let kept = Texts::new(texts)?;
    let borrowed = kept.borrow()?;
    let core = &*tokenizer.0;
    run_sized(texts.py(), size(&borrowed), |progress| {
        core.encode_batch(&borrowed, &options, threads.0, progress)
    })
}

/// Runs `work` without the GIL; interruptible if there is much to do.
pub fn run_sized<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce(&Progress) -> Result<T> + Send,
) -> PyResult<T> {
    let progress = Progress::new();
    if bytes < LONG { run(py, || work(&progress)) } else { run_interruptible(py, None, &progress, work) }
}

fn size(texts: &[&str]) -> usize {
    texts.iter().map(|text| text.len()).sum()
}

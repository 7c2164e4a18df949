//! The incremental encoder, and the methods of `Tokenizer` that encode no more than is needed.
//!
//! An encoder may be used by several threads: each call takes its lock, and one that has to wait for it releases
//! the GIL first.

use std::sync::{Mutex, PoisonError, TryLockError};

use merganser_core::encode::{self, Incremental, Options};
use merganser_core::{Progress, Result};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyString};

use crate::arguments::{OneText, Policy};
use crate::errors::raise;
use crate::interrupt::{run, run_attached, run_interruptible};
use crate::text::borrow_str;
use crate::tokenizer::Tokenizer;

/// Texts below this many bytes take less time than another thread needs to acquire the GIL.
const SHORT: usize = 4 << 10;

/// From this many bytes on, the work can be interrupted.
const LONG: usize = 1 << 20;

/// Encodes a text that grows, without encoding it again.
///
/// At any time, `ids` are those of `Tokenizer.encode` on the whole text, for every tokenizer. Created by
/// `Tokenizer.incremental`. Safe to use from several threads, one call after the other.
///
/// Examples
/// --------
/// >>> import merganser
/// >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
/// >>> encoder = tokenizer.incremental()
/// >>> encoder.append("low low")
/// 0
/// >>> encoder.ids
/// [257, 258]
/// >>> kept = encoder.append("est")
/// >>> kept, encoder[kept:], encoder.count
/// (1, [259, 115, 116], 4)
/// >>> fork = encoder.fork()
/// >>> encoder.truncate_to(3)
/// 1
/// >>> encoder.text, fork.text
/// ('low', 'low lowest')
#[pyclass(frozen, weakref, module = "merganser._core")]
pub struct IncrementalEncoder {
    tokenizer: Py<Tokenizer>,
    encoder: Mutex<Incremental>,
}

#[pymethods]
impl IncrementalEncoder {
    /// Append text to the end.
    ///
    /// Parameters
    /// ----------
    /// text
    ///     The text to append. It may continue a word, a character with marks, or a special token.
    ///
    /// Returns
    /// -------
    /// int
    ///     How many of the first ids are the same as before: `encoder[kept:]` are the new ones.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     If the whole text now contains a disallowed special token, or `text` a lone surrogate. Nothing has
    ///     changed then.
    fn append(&self, text: OneText<'_, '_>) -> PyResult<usize> {
        let py = text.0.py();
        let text = borrow_str(&text.0, "EncodeError")?;
        self.change(py, text.len(), |encoder, progress| encoder.append(text, progress))
    }

    /// Keep the first characters of the text, and forget the rest.
    ///
    /// Parameters
    /// ----------
    /// characters
    ///     How many to keep; if the text has no more, nothing changes.
    ///
    /// Returns
    /// -------
    /// int
    ///     How many of the first ids are the same as before.
    fn truncate_to(&self, py: Python<'_>, characters: &Bound<'_, PyAny>) -> PyResult<usize> {
        let characters = number(characters, "characters")?;
        self.change(py, SHORT, |encoder, progress| encoder.truncate(characters, progress))
    }

    /// Return an independent encoder with the same text. The two share what they have in common.
    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        let encoder = self.change(py, 0, |encoder, _| Ok(encoder.clone()))?;
        Ok(IncrementalEncoder { tokenizer: self.tokenizer.clone_ref(py), encoder: Mutex::new(encoder) })
    }

    /// The ids of the text: a new list at each access.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, 0..usize::MAX)
    }

    /// The number of ids.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<usize> {
        self.change(py, 0, |encoder, _| Ok(encoder.count()))
    }

    /// The text: a new string at each access.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let text = self.change(py, 0, |encoder, _| encoder.text())?;
        PyString::from_bytes(py, text.as_bytes())
    }

    /// The tokenizer.
    #[getter]
    fn tokenizer(&self, py: Python<'_>) -> Py<Tokenizer> {
        self.tokenizer.clone_ref(py)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.count(py)
    }

    /// Return one id, or the ids of a slice: only those are copied.
    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        let count = self.count(py)? as isize;
        if let Ok(slice) = key.cast::<PySlice>() {
            let part = slice.indices(count)?;
            if part.step == 1 {
                let (start, stop) = (part.start.max(0) as usize, part.stop.max(0) as usize);
                return Ok(self.list(py, start..stop)?.into_any());
            }
            return self.ids(py)?.as_any().get_item(slice);
        }
        let Ok(index) = key.extract::<isize>() else {
            let kind = key.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "ids are numbered by int, or taken by a slice, not {kind}"
            )));
        };
        let index = if index < 0 { index + count } else { index };
        if !(0..count).contains(&index) {
            return Err(PyIndexError::new_err(format!("there are {count} ids, so there is none at {key}")));
        }
        self.list(py, index as usize..index as usize + 1)?.as_any().get_item(0)
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.fork(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.fork(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.change(py, 0, |encoder, _| {
            Ok(format!("<IncrementalEncoder: {} characters, {} ids>", encoder.chars(), encoder.count()))
        })
    }
}

impl IncrementalEncoder {
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        bytes: usize,
        work: impl FnOnce(&mut Incremental, Option<&Progress>) -> Result<T> + Send,
    ) -> PyResult<T> {
        locked(py, &self.encoder, bytes, work)
    }

    fn list<'py>(&self, py: Python<'py>, range: std::ops::Range<usize>) -> PyResult<Bound<'py, PyList>> {
        let ids = self.change(py, 0, |encoder, _| encoder.ids(range))?;
        self.tokenizer.get().1.list(py, &ids)
    }
}

/// Runs `work` on an encoder; without the GIL if it takes long or has to wait.
fn locked<E: Send, T: Send>(
    py: Python<'_>,
    encoder: &Mutex<E>,
    bytes: usize,
    work: impl FnOnce(&mut E, Option<&Progress>) -> Result<T> + Send,
) -> PyResult<T> {
    // What a panic left behind is as it was before.
    let lock = || encoder.lock().unwrap_or_else(PoisonError::into_inner);
    if bytes >= LONG {
        return run_interruptible(py, None, &Progress::new(), |progress| work(&mut lock(), Some(progress)));
    }
    if bytes < SHORT {
        match encoder.try_lock() {
            Ok(mut encoder) => return run_attached(py, || work(&mut encoder, None)),
            Err(TryLockError::Poisoned(error)) => {
                return run_attached(py, || work(&mut error.into_inner(), None));
            }
            Err(TryLockError::WouldBlock) => {}
        }
    }
    run(py, || work(&mut lock(), None))
}

/// Encodes the chunks of a text; `Tokenizer.encode_iterable` uses it.
#[pyclass(frozen, weakref, module = "merganser._core")]
pub struct StreamEncoder {
    tokenizer: Py<Tokenizer>,
    encoder: Mutex<encode::StreamEncoder>,
}

#[pymethods]
impl StreamEncoder {
    /// Append text, and return the ids that no continuation changes.
    ///
    /// Parameters
    /// ----------
    /// text
    ///     The next chunk. It may begin and end inside a word or a special token.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     If the whole text now contains a disallowed special token, or `text` a lone surrogate. Nothing has
    ///     changed then.
    fn push<'py>(&self, text: OneText<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        let py = text.0.py();
        let text = borrow_str(&text.0, "EncodeError")?;
        let ids = locked(py, &self.encoder, text.len(), |encoder, progress| encoder.push(text, progress))?;
        self.tokenizer.get().1.list(py, &ids)
    }

    /// End the text, return the ids that are left, and reset the encoder.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let pending = self.pending(py)?;
        let ids = locked(py, &self.encoder, pending, |encoder, progress| encoder.finish(progress))?;
        self.tokenizer.get().1.list(py, &ids)
    }

    /// How many bytes of the text are kept.
    #[getter]
    fn pending(&self, py: Python<'_>) -> PyResult<usize> {
        locked(py, &self.encoder, 0, |encoder, _| Ok(encoder.pending()))
    }
}

pub fn stream_encoder(tokenizer: Bound<'_, Tokenizer>, policy: Policy<'_, '_>) -> PyResult<StreamEncoder> {
    let core = tokenizer.get().0.clone();
    let encoder = policy.resolve(tokenizer.get(), |options| {
        run_attached(tokenizer.py(), || encode::StreamEncoder::new(core, options))
    })?;
    Ok(StreamEncoder { tokenizer: tokenizer.unbind(), encoder: Mutex::new(encoder) })
}

pub fn incremental(tokenizer: Bound<'_, Tokenizer>, policy: Policy<'_, '_>) -> PyResult<IncrementalEncoder> {
    let core = tokenizer.get().0.clone();
    let encoder = policy.resolve(tokenizer.get(), |options| {
        run_attached(tokenizer.py(), || Incremental::new(core, options))
    })?;
    Ok(IncrementalEncoder { tokenizer: tokenizer.unbind(), encoder: Mutex::new(encoder) })
}

pub fn fits<'py>(
    tokenizer: &Tokenizer,
    text: &Bound<'py, PyString>,
    max_tokens: &Bound<'py, PyAny>,
    policy: Policy<'_, 'py>,
) -> PyResult<bool> {
    let most = number(max_tokens, "max_tokens")?;
    with_text(tokenizer, text, policy, |text, options, progress| {
        tokenizer.0.fits(text, most, options, progress)
    })
}

pub fn count_prefixes<'py>(
    tokenizer: &Tokenizer,
    text: &Bound<'py, PyString>,
    ends: &Bound<'py, PyAny>,
    policy: Policy<'_, 'py>,
) -> PyResult<Vec<usize>> {
    let ends = ends.try_iter()?.map(|end| number(&end?, "an end")).collect::<PyResult<Vec<usize>>>()?;
    with_text(tokenizer, text, policy, |text, options, progress| {
        tokenizer.0.count_prefixes(text, &ends, options, progress)
    })
}

fn with_text<'py, T: Send>(
    tokenizer: &Tokenizer,
    text: &Bound<'py, PyString>,
    policy: Policy<'_, 'py>,
    work: impl FnOnce(&str, &Options, Option<&Progress>) -> Result<T> + Send,
) -> PyResult<T> {
    let py = text.py();
    let text = borrow_str(text, "EncodeError")?;
    policy.resolve(tokenizer, |options| match text.len() {
        ..SHORT => run_attached(py, || work(text, options, None)),
        SHORT..LONG => run(py, || work(text, options, None)),
        _ => run_interruptible(py, None, &Progress::new(), |progress| work(text, options, Some(progress))),
    })
}

/// Extracts a number that is not negative; one that is too large stands for the largest.
fn number(given: &Bound<'_, PyAny>, name: &str) -> PyResult<usize> {
    match given.extract::<i128>() {
        Ok(number) if number >= 0 => Ok(usize::try_from(number).unwrap_or(usize::MAX)),
        _ => {
            let message = format!("{name} must be a number that is not negative, got {}", given.repr()?);
            Err(raise(given.py(), "ArgumentError", message))
        }
    }
}

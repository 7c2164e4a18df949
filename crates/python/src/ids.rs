//! Ids from Python: lists in one sweep, numpy arrays where they lie, anything else one by one.

use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use merganser_core::{Error, unknown_id};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::{raise, to_python};
use crate::layout::layout;

/// After so many ids of a list, some milliseconds, Ctrl-C is looked for.
const PATIENCE: usize = 1 << 20;

/// So many ids of a list are read at a time.
const PART: usize = 1 << 12;

pub struct Ids<'py> {
    /// Where the ids are not used as they lie.
    owned: Vec<AtomicU32>,
    array: Option<Bound<'py, PyUntypedArray>>,
    len: usize,
}

/// Ids that another Python thread may write while they are read without the GIL: each is the old or the new
/// number.
pub type Shared<'a> = &'a [AtomicU32];

pub fn read(ids: Shared<'_>) -> impl ExactSizeIterator<Item = u32> + Clone {
    ids.iter().map(|id| id.load(Relaxed))
}

impl<'py> Ids<'py> {
    pub fn of(ids: &Bound<'py, PyAny>) -> PyResult<Ids<'py>> {
        if let Ok(list) = ids.cast_exact::<PyList>() {
            return Ok(Ids::owned(from_list(list)?));
        }
        // Asked first because `cast` imports numpy, and that takes a while.
        if ids.get_type().hasattr("__array_interface__")?
            && let Ok(array) = ids.cast::<PyUntypedArray>()
        {
            return Ids::of_array(array);
        }
        let Ok(items) = ids.try_iter() else {
            let kind = ids.get_type().name()?;
            let message = format!("ids are a list, a numpy array or another iterable of int, not {kind}");
            return Err(PyTypeError::new_err(message));
        };
        let id = |(at, item): (usize, PyResult<Bound<'_, PyAny>>)| one(&item?, at).map(AtomicU32::new);
        let all: PyResult<Vec<AtomicU32>> = items.enumerate().map(id).collect();
        Ok(Ids::owned(all?))
    }

    fn of_array(array: &Bound<'py, PyUntypedArray>) -> PyResult<Ids<'py>> {
        let py = array.py();
        if array.ndim() != 1 {
            let message = format!(
                "ids have one dimension, this array has {}; decode_batch takes the rows of two",
                array.ndim()
            );
            return Err(raise(py, "DecodeError", message));
        }
        if array.is_empty() {
            return Ok(Ids::owned(Vec::new()));
        }
        let dtype = array.dtype();
        let (kind, size) = (dtype.kind(), dtype.itemsize());
        if !matches!(kind, b'u' | b'i' | b'O') {
            let message = format!(
                "an array of {dtype} holds no ids; if they are whole numbers, use .astype(\"uint32\")"
            );
            return Err(raise(py, "DecodeError", message));
        }
        let native = kind != b'O' && dtype.is_native_byteorder() != Some(false) && array.is_aligned();
        let owned = match (kind, size) {
            (_, 4) if native && array.is_c_contiguous() => Vec::new(),
            (_, 4) if native => gather::<AtomicU32>(array),
            (b'u', 2) if native => gather::<AtomicU16>(array),
            (b'i', 8) if native => gather::<AtomicI64>(array),
            (b'u', 8) if native => gather::<AtomicU64>(array),
            _ => from_list(array.call_method0("tolist")?.cast::<PyList>()?)?,
        };
        Ok(Ids { owned, array: Some(array.clone()), len: array.len() })
    }

    fn owned(owned: Vec<AtomicU32>) -> Ids<'py> {
        Ids { len: owned.len(), owned, array: None }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn shared(&self) -> Shared<'_> {
        match &self.array {
            Some(array) if self.owned.is_empty() && self.len > 0 => {
                // SAFETY: `owned` is empty only where `of_array` has checked that the array has one dimension
                // and is contiguous, and that its `len` elements are aligned and have 32 bits. Our reference
                // to the array keeps its memory: NumPy does not resize an array that others refer to. Another
                // thread may write to it, which is why the elements are atomics.
                unsafe {
                    let first = (*array.as_array_ptr()).fields.data.cast_const();
                    std::slice::from_raw_parts(first.cast::<AtomicU32>(), self.len)
                }
            }
            _ => &self.owned,
        }
    }

    /// The exception for an error of the core, with the id as it was given.
    pub fn raise(&self, py: Python<'_>, error: Error) -> PyErr {
        if let (Error::UnknownId { at, .. }, Some(array)) = (&error, &self.array)
            && let Ok(id) = array.get_item(*at)
        {
            return unknown(&id, *at);
        }
        to_python(py, error)
    }
}

/// An element of an array: an atomic integer, because NumPy may write to the array on another thread without
/// holding the GIL. An id that does not fit becomes one that no token has, and so does a negative id of 32
/// bits.
trait Element {
    fn id(&self) -> u32;
}

impl Element for AtomicU16 {
    fn id(&self) -> u32 {
        self.load(Relaxed).into()
    }
}

impl Element for AtomicU32 {
    fn id(&self) -> u32 {
        self.load(Relaxed)
    }
}

impl Element for AtomicI64 {
    fn id(&self) -> u32 {
        self.load(Relaxed).try_into().unwrap_or(u32::MAX)
    }
}

impl Element for AtomicU64 {
    fn id(&self) -> u32 {
        self.load(Relaxed).try_into().unwrap_or(u32::MAX)
    }
}

/// Copies the elements of a one-dimensional array in native byte order.
fn gather<T: Element>(array: &Bound<'_, PyUntypedArray>) -> Vec<AtomicU32> {
    assert!(array.ndim() == 1 && array.is_aligned() && array.dtype().itemsize() == size_of::<T>());
    let stride = array.strides()[0];
    // SAFETY: a `PyUntypedArray` points to a NumPy array, whose fields can be read while our reference
    // exists.
    let first = unsafe { (*array.as_array_ptr()).fields.data }.cast_const().cast::<T>();
    let id = |at: usize| {
        // SAFETY: `at` is below the length of the array, so NumPy keeps an element at this offset. It has the
        // size and alignment of `T` by the assertion above, and any bit pattern is an integer.
        unsafe { &*first.byte_offset(at as isize * stride) }.id()
    };
    (0..array.len()).map(|at| AtomicU32::new(id(at))).collect()
}

fn from_list(list: &Bound<'_, PyList>) -> PyResult<Vec<AtomicU32>> {
    let mut ids = Vec::with_capacity(list.len());
    for_each_part(list, |part| {
        ids.extend(part.iter().copied().map(AtomicU32::new));
        Ok(())
    })?;
    Ok(ids)
}

/// Hands over the ids of a list, not too many at a time to stay in the cache.
pub fn for_each_part(
    list: &Bound<'_, PyList>,
    mut use_part: impl FnMut(&[u32]) -> PyResult<()>,
) -> PyResult<()> {
    let (py, length) = (list.py(), list.len());
    let mut part = Vec::with_capacity(length.min(PART));
    let mut done = 0;
    while done < length {
        let until = length.min(done + PART);
        part.clear();
        while done < until {
            // Code of an id may have changed the list.
            if let Some(layout) = layout(py)
                && until <= list.len()
            {
                // SAFETY: `list` is a list by its type, and `layout` found that lists keep a pointer to their
                // items; it has just been checked that there are at least `until`. The list cannot change
                // before `items` is last used below, because we hold the GIL and call nothing of Python.
                let items = unsafe { std::slice::from_raw_parts(layout.items(list.as_ptr()), until) };
                for &item in &items[done..until] {
                    // SAFETY: a list that Python code can see has an object in every place, and holds a
                    // reference to it.
                    let Some(id) = (unsafe { layout.small(item) }) else { break };
                    part.push(id);
                    done += 1;
                }
            }
            if done < until {
                part.push(from_item(list, done)?);
                done += 1;
            }
        }
        use_part(&part)?;
        if done.is_multiple_of(PATIENCE) {
            py.check_signals()?;
        }
    }
    Ok(())
}

#[inline(always)]
fn from_item(list: &Bound<'_, PyList>, at: usize) -> PyResult<u32> {
    // SAFETY: `list` is a list by its type. The call checks the index: past the end, where `__index__` of an
    // earlier item has shortened the list, it returns null with an exception set.
    let item = unsafe { ffi::PyList_GetItem(list.as_ptr(), at as isize) };
    if item.is_null() {
        return Err(PyErr::fetch(list.py()));
    }
    // SAFETY: `item` is not null, and the list keeps it alive: no Python code runs between the two calls. The
    // call checks the type. For other objects, and for negative or too large numbers, it returns the highest
    // number with an exception set.
    let number = unsafe { ffi::PyLong_AsUnsignedLong(item) };
    if number < u32::MAX.into() {
        return Ok(number as u32);
    }
    PyErr::take(list.py());
    one(&list.get_item(at)?, at)
}

/// An id that may be anything.
pub fn one(item: &Bound<'_, PyAny>, at: usize) -> PyResult<u32> {
    item.extract::<u32>().map_err(|error| {
        let py = item.py();
        if error.is_instance_of::<PyOverflowError>(py) {
            return unknown(item, at);
        }
        let shown = item.repr().map(|shown| shown.to_string()).unwrap_or_default();
        let message = format!("{shown} (position {at}) is not an id; ids are whole numbers");
        raise(py, "DecodeError", message)
    })
}

fn unknown(id: &Bound<'_, PyAny>, at: usize) -> PyErr {
    let shown = id.str().map(|shown| shown.to_string()).unwrap_or_default();
    raise(id.py(), "DecodeError", unknown_id(shown, at))
}

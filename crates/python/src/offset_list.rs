//! Offset list: offsets as Python lists of pairs of ints.
//!
//! Offsets of short texts are few: a token rarely begins after character 2,047 or has more than 15 characters. The
//! pairs of these are created once and shared, as CPython does with small ints. Then a pair costs a reference instead
//! of an object, and is no reason for the garbage collector to run, which in a program with many objects takes longer
//! than all else.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};

use crate::int_list::CollectorPaused;
use crate::new_list::NewList;

/// How many first characters, and how many lengths, have shared pairs: 256 KB, and 3 MB if all are used.
const STARTS: usize = 1 << 11;
const LENGTHS: usize = 1 << 4;

type Slot = AtomicPtr<ffi::PyObject>;

/// The shared pairs; null until first use, then a reference that is never given up.
static SHARED: OnceLock<Box<[Slot]>> = OnceLock::new();

/// The last int that was created. A token mostly begins where the one before ends, so that their pairs share an int.
type Last<'py> = (u32, Bound<'py, PyInt>);

/// A list that is being built.
pub struct Offsets<'py> {
    list: NewList<'py>,
    shared: &'static [Slot],
    last: Last<'py>,
}

impl<'py> Offsets<'py> {
    pub fn new(py: Python<'py>, len: usize) -> PyResult<Offsets<'py>> {
        let shared = SHARED.get_or_init(|| (0..STARTS * LENGTHS).map(|_| Slot::default()).collect());
        Ok(Offsets { list: NewList::new(py, len)?, shared, last: (0, 0u32.into_pyobject(py)?) })
    }

    /// Appends pairs.
    pub fn extend(&mut self, spans: &[(u32, u32)]) -> PyResult<()> {
        let Offsets { list, shared, last } = self;
        let mut own = None;
        let pair = |n: usize| {
            let (start, end) = spans[n];
            let length = end.wrapping_sub(start) as usize;
            if (start as usize) < STARTS && length < LENGTHS {
                let slot = &shared[start as usize * LENGTHS + length];
                let pair = slot.load(Ordering::Acquire);
                return if pair.is_null() { share(slot, last, start, end) } else { Ok(pair) };
            }
            Ok(own.insert(new_pair(last, start, end)?).as_ptr())
        };
        // SAFETY: the table has references to shared pairs, and `own` to the others.
        unsafe { list.fill(spans.len(), pair) }
    }

    /// Appends empty pairs at 0, as tokens have that are not in the text.
    pub fn nowhere(&mut self, count: usize) -> PyResult<()> {
        (0..count).try_for_each(|_| self.extend(&[(0, 0)]))
    }

    pub fn finish(self) -> Bound<'py, PyList> {
        self.list.finish()
    }
}

/// Puts a new pair into the table.
#[cold]
fn share(slot: &Slot, last: &mut Last<'_>, start: u32, end: u32) -> PyResult<*mut ffi::PyObject> {
    let pair = new_pair(last, start, end)?;
    match slot.compare_exchange(std::ptr::null_mut(), pair.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Ok(pair.into_ptr()),
        Err(others) => Ok(others),
    }
}

fn new_pair<'py>(last: &mut Last<'py>, start: u32, end: u32) -> PyResult<Bound<'py, PyTuple>> {
    let py = last.1.py();
    let mut int = |number: u32| -> PyResult<Bound<'py, PyInt>> {
        if last.0 != number {
            *last = (number, number.into_pyobject(py)?);
        }
        Ok(last.1.clone())
    };
    let start = int(start)?;
    let pair = PyTuple::new(py, [start, int(end)?])?;
    // SAFETY: `pair` is a tuple that nobody else has seen. It holds only ints, so no cycle can include it. The
    // collector would find that out by itself, and take half as long again as building all pairs.
    unsafe { ffi::PyObject_GC_UnTrack(pair.as_ptr().cast()) };
    Ok(pair)
}

/// Builds a list of pairs.
pub fn offset_list<'py>(py: Python<'py>, spans: &[(u32, u32)]) -> PyResult<Bound<'py, PyList>> {
    let _paused = CollectorPaused::new(py);
    let mut list = Offsets::new(py, spans.len())?;
    list.extend(spans)?;
    Ok(list.finish())
}

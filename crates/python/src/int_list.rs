//! Lists of ids as Python lists of ints.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};

use crate::layout::{layout, prefetch};

/// A list of this many ids takes some milliseconds; signals are looked at after each such step.
pub const STEP: usize = 1 << 18;

/// The int that comes so many later in a list is asked for.
const AHEAD: usize = 16;

/// The Python int of every id, made when it is first used, so that an element of a list costs a reference
/// count and not an object. Takes 8 bytes per id, and 32 for each that was used: 8 MB for all 200,000 of
/// o200k.
pub struct Ints {
    len: usize,
    /// Null until used; else a reference that this table owns.
    table: OnceLock<Box<[AtomicPtr<ffi::PyObject>]>>,
}

impl Ints {
    pub fn new(len: usize) -> Ints {
        Ints { len, table: OnceLock::new() }
    }

    #[inline]
    pub fn list<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
        let list = empty_list(py, ids.len())?;
        let mut at = 0;
        for step in ids.chunks(STEP) {
            if at > 0 {
                py.check_signals()?;
            }
            self.fill(&list, at, step)?;
            at += step.len();
        }
        Ok(list)
    }

    fn fill(&self, list: &Bound<'_, PyList>, at: usize, ids: &[u32]) -> PyResult<()> {
        match layout(list.py()) {
            Some(layout) => {
                // SAFETY: it is a list.
                let room = unsafe { layout.items(list.as_ptr()).add(at) };
                // SAFETY: the int lives; the list is new and has room for all; each place is null, and is
                // written once.
                self.fill_with(list, ids, |n, int| unsafe {
                    layout.add_reference(int);
                    room.add(n).write(int);
                })
            }
            // SAFETY: the same.
            None => self.fill_with(list, ids, |n, int| unsafe {
                ffi::Py_INCREF(int);
                ffi::PyList_SetItem(list.as_ptr(), (at + n) as isize, int);
            }),
        }
    }

    /// `put` puts one more reference to an int, which the table keeps alive, at a place of the list.
    #[inline(always)]
    fn fill_with(
        &self,
        list: &Bound<'_, PyList>,
        ids: &[u32],
        put: impl Fn(usize, *mut ffi::PyObject),
    ) -> PyResult<()> {
        let table = self.table.get_or_init(|| (0..self.len).map(|_| AtomicPtr::default()).collect());
        for (n, &id) in ids.iter().enumerate() {
            // Places of the table and counts of ints lie all over memory, and each would be waited for.
            if let Some(&later) = ids.get(n + 2 * AHEAD) {
                prefetch(&raw const table[later as usize]);
                prefetch(table[ids[n + AHEAD] as usize].load(Ordering::Acquire));
            }
            let mut int = table[id as usize].load(Ordering::Acquire);
            if int.is_null() {
                int = make(list.py(), &table[id as usize], id)?;
            }
            put(n, int);
        }
        Ok(())
    }
}

#[cold]
fn make(py: Python<'_>, slot: &AtomicPtr<ffi::PyObject>, id: u32) -> PyResult<*mut ffi::PyObject> {
    let int: Bound<'_, PyInt> = id.into_pyobject(py)?;
    match slot.compare_exchange(std::ptr::null_mut(), int.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Ok(int.into_ptr()),
        Err(others) => Ok(others),
    }
}

impl Drop for Ints {
    fn drop(&mut self) {
        // Python frees objects with the GIL held; where it no longer runs, there is nothing left to free.
        let table = self.table.take().unwrap_or_default();
        Python::try_attach(|_| {
            for slot in table {
                // SAFETY: the table owned this reference, and is gone.
                unsafe { ffi::Py_XDECREF(slot.into_inner()) };
            }
        });
    }
}

fn empty_list<'py>(py: Python<'py>, len: usize) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: PyList_New gives a new reference to a list, or null with an exception set.
    unsafe { Ok(Bound::from_owned_ptr_or_err(py, ffi::PyList_New(len as isize))?.cast_into_unchecked()) }
}

/// No garbage collection while thousands of lists are made that hold nothing but ints: each of its runs would
/// walk all of them.
pub struct CollectorPaused(bool);

impl CollectorPaused {
    pub fn new() -> CollectorPaused {
        // SAFETY: called with the GIL held, as everything here is.
        CollectorPaused(unsafe { ffi::PyGC_Disable() } != 0)
    }
}

impl Drop for CollectorPaused {
    fn drop(&mut self) {
        if self.0 {
            // SAFETY: as above.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}

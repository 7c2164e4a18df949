//! Int lists: ids as Python lists of ints.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};

use crate::layout::{layout, prefetch};

/// A list of this many ids takes some milliseconds; signals are checked after each such step.
pub const STEP: usize = 1 << 18;

/// How many elements ahead ints are prefetched.
const AHEAD: usize = 16;

/// The Python int of every id, created on first use, so that an element of a list costs a reference and not
/// an object. Takes 8 bytes per id, and 32 for each used one: 8 MB for all 200,000 ids of o200k.
pub struct Ints {
    len: usize,
    /// Null until first use, then a reference that this table owns.
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
                // SAFETY: `list` is a `PyList`, so `items` returns its array of items; `at` is at most its
                // length, because `list` calls this with consecutive steps of the ids it was created for.
                let room = unsafe { layout.items(list.as_ptr()).add(at) };
                // SAFETY: the table keeps the int alive; `empty_list` created the list with room for all ids,
                // nobody else has seen it, and each of its items is null and is written once.
                self.fill_with(list, ids, |n, int| unsafe {
                    layout.add_reference(int);
                    room.add(n).write(int);
                })
            }
            // SAFETY: as above; `PyList_SetItem` takes over the new reference.
            None => self.fill_with(list, ids, |n, int| unsafe {
                ffi::Py_INCREF(int);
                ffi::PyList_SetItem(list.as_ptr(), (at + n) as isize, int);
            }),
        }
    }

    /// Calls `put` with each index and its int, which the table keeps alive.
    #[inline(always)]
    fn fill_with(
        &self,
        list: &Bound<'_, PyList>,
        ids: &[u32],
        put: impl Fn(usize, *mut ffi::PyObject),
    ) -> PyResult<()> {
        let table = self.table.get_or_init(|| (0..self.len).map(|_| AtomicPtr::default()).collect());
        for (n, &id) in ids.iter().enumerate() {
            // Slots of the table and reference counts are scattered over memory, and each access would miss
            // the cache.
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
        // Objects must be freed with the GIL held; after Python has shut down there is nothing left to free.
        let table = self.table.take().unwrap_or_default();
        Python::try_attach(|_| {
            for slot in table {
                // SAFETY: the table owned this reference, or the slot is null, and the table was taken above.
                unsafe { ffi::Py_XDECREF(slot.into_inner()) };
            }
        });
    }
}

fn empty_list<'py>(py: Python<'py>, len: usize) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: `PyList_New` returns a new reference to a list, or null with an exception set.
    unsafe { Ok(Bound::from_owned_ptr_or_err(py, ffi::PyList_New(len as isize))?.cast_into_unchecked()) }
}

/// Pauses the garbage collector while thousands of lists are created that hold only ints: each collection
/// would traverse all of them.
pub struct CollectorPaused<'py> {
    was_enabled: bool,
    /// The proof that the GIL is held from `new` to `drop`.
    _py: Python<'py>,
}

impl<'py> CollectorPaused<'py> {
    pub fn new(py: Python<'py>) -> CollectorPaused<'py> {
        // SAFETY: the call needs only the GIL, which `py` stands for.
        CollectorPaused { was_enabled: unsafe { ffi::PyGC_Disable() } != 0, _py: py }
    }
}

impl Drop for CollectorPaused<'_> {
    fn drop(&mut self) {
        if self.was_enabled {
            // SAFETY: the call needs only the GIL, which `self._py` stands for.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}

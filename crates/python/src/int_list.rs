//! Int lists: ids as Python lists of ints.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};

use crate::layout::prefetch;
use crate::new_list::NewList;

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
        let mut list = NewList::new(py, ids.len())?;
        self.extend(&mut list, ids)?;
        Ok(list.finish())
    }

    /// Appends the ints of ids to a list.
    #[inline(always)]
    pub fn extend(&self, list: &mut NewList<'_>, ids: &[u32]) -> PyResult<()> {
        let table = &**self.table.get_or_init(|| (0..self.len).map(|_| AtomicPtr::default()).collect());
        let py = list.py();
        for (number, step) in ids.chunks(STEP).enumerate() {
            if number > 0 {
                py.check_signals()?;
            }
            let int = |n: usize| {
                // Slots of the table and reference counts are scattered over memory, and each access would miss the
                // cache.
                if let Some(&later) = step.get(n + 2 * AHEAD) {
                    prefetch(&raw const table[later as usize]);
                    prefetch(table[step[n + AHEAD] as usize].load(Ordering::Acquire));
                }
                let slot = &table[step[n] as usize];
                let int = slot.load(Ordering::Acquire);
                if int.is_null() { make(py, slot, step[n]) } else { Ok(int) }
            };
            // SAFETY: the table keeps the ints alive.
            unsafe { list.fill(step.len(), int)? };
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

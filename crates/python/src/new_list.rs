//! New list: a list that is filled from its first item to its last with references to objects that exist.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::layout::{Layout, layout};

type Object = *mut ffi::PyObject;

/// A list that nobody else has seen. Items that were not written yet are null, which Python allows in a list that it
/// frees or traverses.
pub struct NewList<'py> {
    list: Bound<'py, PyList>,
    /// The first item, if it is known where lists keep them.
    room: Option<(Layout, *mut Object)>,
    len: usize,
    at: usize,
}

impl<'py> NewList<'py> {
    #[inline(always)]
    pub fn new(py: Python<'py>, len: usize) -> PyResult<NewList<'py>> {
        // SAFETY: `PyList_New` returns a new reference to a list, or null with an exception set.
        let list = unsafe {
            Bound::from_owned_ptr_or_err(py, ffi::PyList_New(len as isize))?.cast_into_unchecked::<PyList>()
        };
        // SAFETY: it is a list. Nobody else can see it, so it is not resized.
        let room = layout(py).map(|layout| (layout, unsafe { layout.items(list.as_ptr()) }));
        Ok(NewList { list, room, len, at: 0 })
    }

    #[inline(always)]
    pub fn py(&self) -> Python<'py> {
        self.list.py()
    }

    /// Appends references to `count` objects, which are asked for by number.
    ///
    /// # Safety
    /// `object` returns objects that are alive until the next call.
    #[inline(always)]
    pub unsafe fn fill(
        &mut self,
        count: usize,
        mut object: impl FnMut(usize) -> PyResult<Object>,
    ) -> PyResult<()> {
        assert!(count <= self.len - self.at, "a list is not longer than it was created");
        match self.room {
            Some((layout, items)) => {
                // SAFETY: `at` is at most the length of the list.
                let room = unsafe { items.add(self.at) };
                for n in 0..count {
                    let object = object(n)?;
                    // SAFETY: the list was created with room for `len` items, of which this one is null; the caller
                    // guarantees the object, and `self.list` stands for the GIL.
                    unsafe {
                        layout.add_reference(object);
                        room.add(n).write(object);
                    }
                }
            }
            None => {
                for n in 0..count {
                    let object = object(n)?;
                    // SAFETY: as above; `PyList_SetItem` takes over the new reference.
                    unsafe {
                        ffi::Py_INCREF(object);
                        ffi::PyList_SetItem(self.list.as_ptr(), (self.at + n) as isize, object);
                    }
                }
            }
        }
        self.at += count;
        Ok(())
    }

    /// Appends `count` references to an object.
    #[inline]
    pub fn repeat<T>(&mut self, object: &Bound<'py, T>, count: usize) -> PyResult<()> {
        // SAFETY: `object` is a reference to it.
        unsafe { self.fill(count, |_| Ok(object.as_ptr())) }
    }

    #[inline(always)]
    pub fn finish(self) -> Bound<'py, PyList> {
        assert!(self.at == self.len, "a list has as many items as it was created for");
        self.list
    }
}

//! Where CPython keeps the items of a list and the number of an int, so that millions of them need no call each.
//!
//! Through the stable ABI every item costs a call with its checks, and those are most of the price of a list. The
//! places themselves have been the same in CPython 3.10 to 3.14: after the head of two words, a list has its length and
//! the address of its items, an int a word of signs and sizes and its digits of 30 bits. Nobody promises it, so
//! it is looked at once, in objects whose contents are known; in other versions, or where it is not as expected, the
//! calls do the work.

use std::sync::OnceLock;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};

type Object = *mut ffi::PyObject;

/// Versions whose objects are known.
const KNOWN: std::ops::RangeInclusive<(u8, u8)> = (3, 10)..=(3, 14);

/// Words before the length of a list, and before the first word of an int.
const HEAD: usize = 2;

/// The word that ints from 1 to 2^30 - 1 begin with; `None` where the layout is not the known one.
pub type Layout = Option<usize>;

pub fn layout(py: Python<'_>) -> Layout {
    static FOUND: OnceLock<Layout> = OnceLock::new();
    *FOUND.get_or_init(|| find(py).ok().flatten())
}

/// The items of a list: as many as it is long, null where none was put yet.
///
/// # Safety
/// There is a [`Layout`], and `list` is a list.
#[inline(always)]
pub unsafe fn items(list: Object) -> *mut Object {
    // SAFETY: a list is longer than that, and has the address there.
    unsafe { list.cast::<*mut Object>().add(HEAD + 1).read() }
}

/// The number of an int from 1 to 2^30 - 1; `None` for other objects.
///
/// # Safety
/// `one` is the [`Layout`], and `item` an object.
#[inline(always)]
pub unsafe fn small(one: usize, item: Object) -> Option<u32> {
    // SAFETY: an int has a word after its head, and with this one a digit follows.
    unsafe {
        let exact = ffi::Py_TYPE(item) == &raw mut ffi::PyLong_Type;
        (exact && item.cast::<usize>().add(HEAD).read() == one)
            .then(|| item.cast::<usize>().add(HEAD + 1).cast::<u32>().read())
    }
}

fn find(py: Python<'_>) -> PyResult<Layout> {
    let version = py.version_info();
    let name: String = py.import("sys")?.getattr("implementation")?.getattr("name")?.extract()?;
    let size = |class: Bound<'_, PyAny>, part: &str| class.getattr(part)?.extract::<usize>();
    let word = size_of::<usize>();
    let (list, int) = (py.get_type::<PyList>().into_any(), py.get_type::<PyInt>().into_any());
    // A head of another size, as in some debugging builds, makes all objects longer.
    if name != "cpython"
        || !KNOWN.contains(&(version.major, version.minor))
        || size(list, "__basicsize__")? != (HEAD + 3) * word
        || size(int.clone(), "__basicsize__")?.next_multiple_of(word) > (HEAD + 2) * word
        || size(int, "__itemsize__")? != size_of::<u32>()
    {
        return Ok(None);
    }
    let numbers = [1, 7, 255, 256, 65_537, 0x1234_5678, (1 << 30) - 1];
    let list = PyList::new(py, numbers)?;
    // SAFETY: objects of these versions and sizes are laid out so.
    unsafe {
        let given = items(list.as_ptr());
        let one = list.get_item(0)?.as_ptr().cast::<usize>().add(HEAD).read();
        let alike = numbers.iter().enumerate().all(|(at, &number)| {
            let item = given.add(at).read();
            item == ffi::PyList_GetItem(list.as_ptr(), at as isize) && small(one, item) == Some(number)
        });
        // The word must tell these from the others.
        let others = PyList::new(py, [0, -1, -255, 1 << 30, 1 << 40, -(1 << 30), i64::MAX])?;
        let unlike = others.iter().all(|other| small(one, other.as_ptr()).is_none());
        let long = list.as_ptr().cast::<usize>().add(HEAD).read() == numbers.len();
        Ok((alike && unlike && long).then_some(one))
    }
}

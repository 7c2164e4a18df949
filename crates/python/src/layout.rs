//! Where CPython keeps the items of a list and the number of an int, so that millions of them need no call
//! each.
//!
//! Through the stable ABI every item costs a call with its checks, and those are most of the price of a list.
//! The places themselves have been the same in CPython 3.10 to 3.14: after the head of two words, a list has
//! its length and the address of its items, an int a word of signs and sizes and its digits of 30 bits.
//! Nobody promises it, so it is looked at once, in objects whose contents are known; in other versions, or
//! where it is not as expected, the calls do the work.

use std::sync::OnceLock;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};

type Object = *mut ffi::PyObject;

/// Versions whose objects are known.
const KNOWN: std::ops::RangeInclusive<(u8, u8)> = (3, 10)..=(3, 14);

/// Words before the length of a list, and before the first word of an int.
const HEAD: usize = 2;

/// From this version on, a reference count has 32 bits, and those of objects that live for ever have the
/// highest set.
const IMMORTAL: (u8, u8) = (3, 12);

/// The proof that objects are laid out as this module expects: only [`layout`] creates one, after [`find`]
/// has checked the version, the sizes and some objects of this process.
#[derive(Clone, Copy)]
pub struct Layout {
    /// The word that ints from 1 to 2^30 - 1 begin with.
    one: usize,
    /// Whether some objects live for ever.
    immortal: bool,
}

pub fn layout(py: Python<'_>) -> Option<Layout> {
    static FOUND: OnceLock<Option<Layout>> = OnceLock::new();
    *FOUND.get_or_init(|| find(py).ok().flatten())
}

impl Layout {
    /// The items of a list: as many as it is long, null where none was put yet.
    ///
    /// # Safety
    /// `list` is a list.
    #[inline(always)]
    pub unsafe fn items(self, list: Object) -> *mut Object {
        // SAFETY: the caller guarantees a list. `find` has checked that lists have `HEAD + 3` words and that
        // the pointer to the items is word `HEAD + 1`.
        unsafe { list.cast::<*mut Object>().add(HEAD + 1).read() }
    }

    /// The number of an int from 1 to 2^30 - 1; `None` for other objects.
    ///
    /// # Safety
    /// `item` is an object.
    #[inline(always)]
    pub unsafe fn small(self, item: Object) -> Option<u32> {
        // SAFETY: the caller guarantees an object, so it has a type. If that is `int`, `find` has checked
        // that the word after the head exists, and that ints that have `one` there continue with one digit.
        unsafe {
            let exact = ffi::Py_TYPE(item) == &raw mut ffi::PyLong_Type;
            (exact && item.cast::<usize>().add(HEAD).read() == self.one)
                .then(|| item.cast::<usize>().add(HEAD + 1).cast::<u32>().read())
        }
    }

    /// Adds a reference.
    ///
    /// # Safety
    /// `object` is an object that is not freed meanwhile, and we hold the GIL, which guards its count.
    #[inline(always)]
    pub unsafe fn add_reference(self, object: Object) {
        // SAFETY: the caller guarantees an object that nobody else changes. `find` has checked that objects
        // begin with their count, in the width and with the rule for immortal objects that `immortal` stands
        // for.
        unsafe {
            if self.immortal {
                let count = object.cast::<u32>();
                if (*count as i32) >= 0 {
                    *count += 1;
                }
            } else {
                *object.cast::<usize>() += 1;
            }
        }
    }
}

/// Asks for memory that will be looked at soon.
#[inline(always)]
pub fn prefetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint: it accesses no memory that the program can observe, and is ignored for an
    // address that cannot be read.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

fn find(py: Python<'_>) -> PyResult<Option<Layout>> {
    let version = py.version_info();
    let sys = py.import("sys")?;
    let name: String = sys.getattr("implementation")?.getattr("name")?.extract()?;
    let size = |class: Bound<'_, PyAny>, part: &str| class.getattr(part)?.extract::<usize>();
    let word = size_of::<usize>();
    let (list, int) = (py.get_type::<PyList>().into_any(), py.get_type::<PyInt>().into_any());
    // A head of another size, as in some debugging builds, makes all objects longer; others count all
    // references.
    if cfg!(not(all(target_pointer_width = "64", target_endian = "little")))
        || name != "cpython"
        || sys.hasattr("gettotalrefcount")?
        || !KNOWN.contains(&(version.major, version.minor))
        || size(list, "__basicsize__")? != (HEAD + 3) * word
        || size(int.clone(), "__basicsize__")?.next_multiple_of(word) > (HEAD + 2) * word
        || size(int, "__itemsize__")? != size_of::<u32>()
    {
        return Ok(None);
    }
    let numbers = [1, 7, 255, 256, 65_537, 0x1234_5678, (1 << 30) - 1];
    let list = PyList::new(py, numbers)?;
    // SAFETY: the version, the implementation and the sizes that were checked above allow only layouts in
    // which these words exist; CPython 3.10 to 3.14 have this layout in their headers. `list` and `others`
    // are alive, hold objects only, and we hold the GIL (`py`).
    unsafe {
        let one = list.get_item(0)?.as_ptr().cast::<usize>().add(HEAD).read();
        let layout = Layout { one, immortal: (version.major, version.minor) >= IMMORTAL };
        let given = layout.items(list.as_ptr());
        let alike = numbers.iter().enumerate().all(|(at, &number)| {
            let item = given.add(at).read();
            item == ffi::PyList_GetItem(list.as_ptr(), at as isize) && layout.small(item) == Some(number)
        });
        // The word must tell these from the others.
        let others = PyList::new(py, [0, -1, -255, 1 << 30, 1 << 40, -(1 << 30), i64::MAX])?;
        let unlike = others.iter().all(|other| layout.small(other.as_ptr()).is_none());
        let long = list.as_ptr().cast::<usize>().add(HEAD).read() == numbers.len();
        // One is immortal, if any is.
        let counted = list.iter().all(|item| {
            let references = || ffi::Py_REFCNT(item.as_ptr());
            let before = references();
            layout.add_reference(item.as_ptr());
            let added = references() - before;
            ffi::Py_DecRef(item.as_ptr());
            references() == before && (added == 1 || added == 0 && layout.immortal)
        });
        Ok((alike && unlike && long && counted).then_some(layout))
    }
}

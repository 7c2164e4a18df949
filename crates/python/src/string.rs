//! UTF-8 to `str`.
//!
//! After the first character that is not ASCII, CPython decodes UTF-8 one character at a time, and copies
//! everything when it meets a wider one: 3 ns per byte. We know the number of characters and the widest one
//! beforehand, and can fill a `str` in place. The stable ABI has no function that creates a `str` to be
//! filled; CPython itself has always had `PyUnicode_New`, which is looked up by name. If it is not found, or
//! strings are not laid out as expected, the stable function is used.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use merganser_core::encode::{Invalid, measure, widen};
use merganser_core::{Error, Result};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::to_python;
use crate::interrupt::{run, run_attached};

/// Shorter texts do not benefit.
const SHORT: usize = 128;

/// From this many bytes on, some 100 µs of work, the GIL is released.
const LONG: usize = 1 << 17;

/// Decodes with `errors="strict"`, `"replace"` or `"ignore"`.
pub fn to_str<'py>(py: Python<'py>, utf8: &[u8], invalid: Invalid) -> PyResult<Bound<'py, PyString>> {
    if utf8.len() >= SHORT
        && !utf8.is_ascii()
        && let Some(wide) = Wide::get(py)
        && let Some(text) = wide.string(py, utf8)?
    {
        return Ok(text);
    }
    let errors = match invalid {
        Invalid::Refuse => std::ptr::null(),
        Invalid::Replace => c"replace".as_ptr(),
        Invalid::Ignore => c"ignore".as_ptr(),
    };
    // SAFETY: pointer and length are those of `utf8`, and `errors` is null or a C string. The call returns a
    // new reference to a `str`, or null with an exception set: what `from_owned_ptr_or_err` takes.
    let text = unsafe {
        let text = ffi::PyUnicode_DecodeUTF8(utf8.as_ptr().cast(), utf8.len() as isize, errors);
        Bound::from_owned_ptr_or_err(py, text).map(|text| text.cast_into_unchecked())
    };
    text.map_err(|error| match std::str::from_utf8(utf8) {
        Err(error) if invalid == Invalid::Refuse => to_python(py, Error::NotUtf8 { at: error.valid_up_to() }),
        _ => error,
    })
}

/// `PyUnicode_New`: creates a `str` with this many characters, none above the given one, to be filled in.
type New = unsafe extern "C" fn(isize, u32) -> *mut ffi::PyObject;

/// How a `str` that is not ASCII is created and filled.
#[derive(Clone, Copy)]
struct Wide {
    new: New,
    /// The offset of the characters in the object.
    head: usize,
}

impl Wide {
    fn get(py: Python<'_>) -> Option<Wide> {
        static FOUND: OnceLock<Option<Wide>> = OnceLock::new();
        *FOUND.get_or_init(|| Wide::find(py).ok().flatten())
    }

    fn find(py: Python<'_>) -> PyResult<Option<Wide>> {
        let Some(new) = symbol(c"PyUnicode_New") else { return Ok(None) };
        // SAFETY: `symbol` found the function that this process calls `PyUnicode_New`. CPython has it with
        // this signature since 3.3, and has no other of this name.
        let new = unsafe { std::mem::transmute::<*mut std::ffi::c_void, New>(new) };
        let mut heads = Vec::new();
        for (sample, width) in [("é", 1), ("中", 2), ("🦆", 4)] {
            for count in [3, 40] {
                let text = PyString::new(py, &sample.repeat(count));
                // The object consists of its header, its characters, and a terminating zero.
                let size: usize = text.call_method0("__sizeof__")?.extract()?;
                let head = size.checked_sub((count + 1) * width).filter(|head| head % align_of::<u32>() == 0);
                let Some(head) = head else { return Ok(None) };
                // SAFETY: `size` is the size of the object in bytes, and `head` is at most that.
                let bytes =
                    unsafe { std::slice::from_raw_parts(text.as_ptr().cast::<u8>().add(head), size - head) };
                let number = u32::from(sample.chars().next().unwrap_or_default()).to_ne_bytes();
                let number =
                    if cfg!(target_endian = "little") { &number[..width] } else { &number[4 - width..] };
                if !bytes[..count * width].chunks(width).all(|character| character == number) {
                    return Ok(None);
                }
                heads.push(head);
            }
        }
        let head = heads[0];
        if heads.iter().any(|&other| other != head) {
            return Ok(None);
        }
        let wide = Wide { new, head };
        // The result must equal what Python creates.
        for text in ["é and a", "中 and a", "🦆 and a, 中, é"] {
            let text = text.repeat(20);
            match wide.string(py, text.as_bytes())? {
                Some(made) if made.compare(PyString::new(py, &text))?.is_eq() => {}
                _ => return Ok(None),
            }
        }
        Ok(Some(wide))
    }

    /// Returns the `str`, which is not ASCII, or `None` if the bytes are not valid UTF-8.
    fn string<'py>(self, py: Python<'py>, utf8: &[u8]) -> PyResult<Option<Bound<'py, PyString>>> {
        let (count, highest) = run_sized(py, utf8, || Ok(measure(utf8)))?;
        // SAFETY: we hold the GIL (`py`). `PyUnicode_New` returns a new reference to a `str`, or null with an
        // exception set: what `from_owned_ptr_or_err` takes.
        let made = unsafe { Bound::from_owned_ptr_or_err(py, (self.new)(count as isize, highest))? };
        let first = Characters(made.as_ptr().cast::<u8>().wrapping_add(self.head));
        let filled = run_sized(py, utf8, move || {
            // SAFETY: `made` has room for `count` characters of the width that `highest` requires, `head`
            // bytes after its start: `find` has checked this for each width, and that `head` is a multiple of
            // four, as the address of every object is. Nobody else has seen `made`, which lives until the end
            // of this function.
            Ok(unsafe {
                match highest {
                    0..=0xff => widen(utf8, first.room::<u8>(count), |char| char as u8),
                    0x100..=0xffff => widen(utf8, first.room::<u16>(count), |char| char as u16),
                    _ => widen(utf8, first.room::<u32>(count), |char| char),
                }
            })
        })?;
        // SAFETY: `PyUnicode_New` creates nothing but `str`.
        Ok(filled.then(|| unsafe { made.cast_into_unchecked() }))
    }
}

/// The characters of a new `str`.
struct Characters(*mut u8);

// SAFETY: only `string` creates one, of a `str` that no other thread has seen, and waits until the thread
// that fills it has finished.
unsafe impl Send for Characters {}

impl Characters {
    /// # Safety
    /// The pointer is aligned for `T` and has room for `count` of them, which nobody else uses during `'a`.
    unsafe fn room<'a, T>(self, count: usize) -> &'a mut [MaybeUninit<T>] {
        // SAFETY: the caller guarantees room, alignment and exclusive use; `MaybeUninit` needs no initial
        // value.
        unsafe { std::slice::from_raw_parts_mut(self.0.cast(), count) }
    }
}

fn run_sized<T: Send>(py: Python<'_>, utf8: &[u8], work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    if utf8.len() < LONG { run_attached(py, work) } else { run(py, work) }
}

/// Looks up a function of the running process.
#[cfg(unix)]
fn symbol(name: &CStr) -> Option<*mut std::ffi::c_void> {
    // SAFETY: `name` is a C string. The call only looks the name up, and returns null if there is none.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

#[cfg(not(unix))]
fn symbol(_: &CStr) -> Option<*mut std::ffi::c_void> {
    None
}

//! Memory: prefetching and huge pages, which the hot loops need and safe Rust does not offer; and large
//! allocations, which may fail.
//!
//! Rust aborts the process when memory runs out. So whatever grows with the input is reserved here first, and a
//! refusal becomes [`Error::OutOfMemory`]: returned, or, from the inner loops that return nothing, as the payload
//! of a panic, which the bindings turn into the same `MemoryError`.
//!
//! Cost: a prefetch is one instruction. Huge pages make fresh memory cheaper to map and random reads of large
//! tables free of most TLB misses; they lose where little of a table is touched, because pages come in 2 MB.

use std::panic::resume_unwind;

use bytemuck::Zeroable;

use crate::{Error, Result};

/// Prefetches the cache line of `slice[index]`; does nothing past the end.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if index < slice.len() {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: `index` was checked, so the address is inside the slice. A prefetch is a hint that accesses
        // no memory as far as the program can observe.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().add(index).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// Returns `len` zeros, in huge pages where the system has them: otherwise a table of hundreds of megabytes
/// that is read at random spends its time in TLB misses. The system maps the pages when they are first
/// touched, which is expensive (about a second per gigabyte on a virtual machine), so threads should touch
/// their own parts themselves.
///
/// `T` must not be aligned to more than 16 bytes: such memory is zeroed by hand, before the advice.
pub fn zeroed_in_huge_pages<T: Zeroable>(len: usize) -> Vec<T> {
    const { assert!(align_of::<T>() <= 16) };
    let vec: Vec<T> = bytemuck::try_zeroed_vec(len).unwrap_or_else(|()| refuse::<T>(len, "a table"));
    advise_huge_pages(vec.as_ptr(), vec.capacity());
    vec
}

/// Returns an empty vector with capacity `len` if there is memory for it, in huge pages where the system has them.
pub fn reserved_in_huge_pages<T>(len: usize) -> Vec<T> {
    let mut vec: Vec<T> = Vec::new();
    // It grows where this was refused: usually less is needed.
    let _ = vec.try_reserve_exact(len);
    advise_huge_pages(vec.as_ptr(), vec.capacity());
    vec
}

/// Asks the system for huge pages for memory that has not been touched yet.
pub fn advise_huge_pages<T>(first: *const T, len: usize) {
    #[cfg(target_os = "linux")]
    {
        const HUGE: usize = 2 << 20;
        let start = (first as usize).next_multiple_of(HUGE);
        let end = (first as usize + len * size_of::<T>()) / HUGE * HUGE;
        if start < end {
            // SAFETY: the range is within the memory that the caller passed, and the advice changes no
            // content.
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (first, len);
}

/// Makes room for `more` elements, or returns an error that says how much memory was refused for `what`.
#[inline]
pub fn reserve<T>(vec: &mut Vec<T>, more: usize, what: &'static str) -> Result<()> {
    vec.try_reserve(more).map_err(|_| out_of_memory::<T>(more, what))
}

/// Like [`reserve`], where no error can be returned: unwinds with it.
#[inline]
pub fn grow<T>(vec: &mut Vec<T>, more: usize, what: &'static str) {
    if vec.try_reserve(more).is_err() {
        refuse::<T>(more, what);
    }
}

/// Unwinds with an error unless `bytes` bytes can be allocated now, for loops that are about to allocate them in
/// several parts.
pub fn check_room(bytes: usize, what: &'static str) {
    let mut room: Vec<u8> = Vec::new();
    grow(&mut room, bytes, what);
    std::hint::black_box(&mut room);
}

/// Unwinds with the error for `len` elements that were refused.
#[cold]
pub fn refuse<T>(len: usize, what: &'static str) -> ! {
    // Not `panic_any`: a hook would report a bug.
    resume_unwind(Box::new(out_of_memory::<T>(len, what)))
}

#[cold]
fn out_of_memory<T>(len: usize, what: &'static str) -> Error {
    Error::OutOfMemory { what, bytes: len.saturating_mul(size_of::<T>()) }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    const TOO_MUCH: usize = 1 << 60;

    #[test]
    fn a_refusal_is_an_error_that_names_the_figure() {
        let error = reserve(&mut Vec::<u8>::new(), TOO_MUCH, "a record").unwrap_err();
        assert!(
            error.to_string().starts_with("no memory for a record: 1152921504606846976 bytes"),
            "{error}"
        );
    }

    #[test]
    fn a_refusal_in_an_inner_loop_unwinds_with_that_error() {
        for refused in [
            catch_unwind(|| zeroed_in_huge_pages::<u8>(TOO_MUCH)),
            catch_unwind(|| {
                let mut vec = Vec::new();
                grow(&mut vec, TOO_MUCH, "the ids");
                vec
            }),
        ] {
            let error = refused.unwrap_err().downcast::<Error>().unwrap();
            assert!(matches!(*error, Error::OutOfMemory { bytes: TOO_MUCH, .. }));
        }
    }
}

//! Memory: prefetching and huge pages, which the hot loops need and safe Rust does not offer.
//!
//! Cost: a prefetch is one instruction. Huge pages make fresh memory cheaper to map and random reads of large
//! tables free of most TLB misses; they lose where little of a table is touched, because pages come in 2 MB.

use bytemuck::Zeroable;

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
    let vec: Vec<T> = bytemuck::zeroed_vec(len);
    advise_huge_pages(vec.as_ptr(), vec.capacity());
    vec
}

/// Returns an empty vector with capacity `len`, in huge pages where the system has them.
pub fn reserved_in_huge_pages<T>(len: usize) -> Vec<T> {
    let vec: Vec<T> = Vec::with_capacity(len);
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

//! Two words to the memory system that the hot loops need and safe Rust has no name for.

use bytemuck::Zeroable;

/// Asks for the cache line that holds `slice[index]`; does nothing past the end.
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

/// Zeros, in huge pages where the system has them: a table of hundreds of megabytes that is read at random
/// otherwise spends its time in TLB misses. The pages come from the system when they are first touched, which
/// is dear (about a second per gigabyte on a virtual machine), so threads should touch their own parts
/// themselves.
///
/// `T` must not be aligned to more than 16 bytes: such memory is zeroed by hand, before the advice.
pub fn zeroed_in_huge_pages<T: Zeroable>(len: usize) -> Vec<T> {
    const { assert!(align_of::<T>() <= 16) };
    let vec: Vec<T> = bytemuck::zeroed_vec(len);
    advise_huge_pages(vec.as_ptr(), vec.capacity());
    vec
}

/// Room for `len`, in huge pages where the system has them.
pub fn reserved_in_huge_pages<T>(len: usize) -> Vec<T> {
    let vec: Vec<T> = Vec::with_capacity(len);
    advise_huge_pages(vec.as_ptr(), vec.capacity());
    vec
}

/// Huge pages for memory that will be touched for the first time, where the system has them.
pub fn advise_huge_pages<T>(first: *const T, len: usize) {
    #[cfg(target_os = "linux")]
    {
        const HUGE: usize = 2 << 20;
        let start = (first as usize).next_multiple_of(HUGE);
        let end = (first as usize + len * size_of::<T>()) / HUGE * HUGE;
        if start < end {
            // SAFETY: this advice changes neither the content of memory nor the access to it, so it is
            // harmless for any address; where the system refuses it, the error is ignored.
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (first, len);
}

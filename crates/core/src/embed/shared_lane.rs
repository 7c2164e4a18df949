//! Sixteen numbers that threads read and write at the same time.
//!
//! Rust calls a race on plain `f32` undefined behavior, so every access here is a relaxed atomic access to one
//! number: a thread sees the value of one of the writers, never a mixture of two. Compilers do not combine
//! relaxed loads into vector loads, and sixteen loads of four bytes would cost several times as much as one of
//! 64. So the instructions are written out as inline assembly, where one vector instruction stands for sixteen
//! relaxed accesses.
//!
//! That is sound because an assembly block may do whatever Rust code could do, and sixteen relaxed accesses in
//! any order is what the hardware does: an aligned vector access may be divided, but never inside an aligned
//! number of four bytes. (Arm states it; on x86 every Java virtual machine relies on it, since Java promises the
//! same for the elements of a `float[]` and vectorizes loops over them.)
//!
//! Tools that do not see into assembly get the atomics themselves: Miri always, others with
//! `RUSTFLAGS="--cfg plain_atomics"`. The results are the same.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The numbers in a lane: as many as the widest register holds.
pub const LANE: usize = 16;

/// Sixteen numbers in shared memory, each of them the bits of an `f32`.
#[repr(C, align(64))]
pub struct SharedLane([AtomicU32; LANE]);

impl SharedLane {
    #[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), allow(dead_code))]
    #[inline(always)]
    fn load_each(&self) -> [f32; LANE] {
        self.0.each_ref().map(|number| f32::from_bits(number.load(Relaxed)))
    }

    #[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), allow(dead_code))]
    #[inline(always)]
    fn store_each(&self, values: [f32; LANE]) {
        for (number, value) in self.0.iter().zip(values) {
            number.store(value.to_bits(), Relaxed);
        }
    }
}

/// A kind of processor that the kernel is compiled for. A value of the type is the proof that this machine is
/// of that kind: only the type's own `detect` creates one.
pub trait Processor: Copy {
    /// Whether a multiplication and an addition are one instruction that rounds once.
    const FMA: bool;

    /// Reads all numbers, each with a relaxed load.
    fn load(self, lane: &SharedLane) -> [f32; LANE];

    /// Writes all numbers, each with a relaxed store.
    fn store(self, lane: &SharedLane, values: [f32; LANE]);
}

/// What every processor of the target has: SSE2 on x86-64, NEON on 64-bit Arm, one number at a time elsewhere.
#[derive(Clone, Copy)]
pub struct Baseline;

#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(miri, plain_atomics)))))]
impl Processor for Baseline {
    const FMA: bool = cfg!(target_arch = "aarch64");

    #[inline(always)]
    fn load(self, lane: &SharedLane) -> [f32; LANE] {
        lane.load_each()
    }

    #[inline(always)]
    fn store(self, lane: &SharedLane, values: [f32; LANE]) {
        lane.store_each(values);
    }
}

#[cfg(all(target_arch = "aarch64", not(any(miri, plain_atomics))))]
mod arm {
    use std::arch::aarch64::float32x4_t;
    use std::arch::asm;

    use super::{Baseline, LANE, Processor, SharedLane};

    impl Processor for Baseline {
        /// Every 64-bit Arm processor fuses them.
        const FMA: bool = true;

        #[inline(always)]
        fn load(self, lane: &SharedLane) -> [f32; LANE] {
            let (a, b, c, d): (float32x4_t, float32x4_t, float32x4_t, float32x4_t);
            // SAFETY: reads the 64 bytes that the reference guarantees, as sixteen relaxed loads would.
            unsafe {
                asm!(
                    "ldp {0:q}, {1:q}, [{4}]",
                    "ldp {2:q}, {3:q}, [{4}, #32]",
                    out(vreg) a, out(vreg) b, out(vreg) c, out(vreg) d, in(reg) lane,
                    options(pure, readonly, nostack, preserves_flags),
                );
            }
            // SAFETY: both types are sixteen `f32` without padding, and all bit patterns are valid.
            unsafe { std::mem::transmute::<[float32x4_t; 4], [f32; LANE]>([a, b, c, d]) }
        }

        #[inline(always)]
        fn store(self, lane: &SharedLane, values: [f32; LANE]) {
            // SAFETY: both types are sixteen `f32` without padding, and all bit patterns are valid.
            let [a, b, c, d] = unsafe { std::mem::transmute::<[f32; LANE], [float32x4_t; 4]>(values) };
            // SAFETY: writes the 64 bytes that the reference guarantees, as sixteen relaxed stores would; they
            // are atomics, so a shared reference suffices.
            unsafe {
                asm!(
                    "stp {0:q}, {1:q}, [{4}]",
                    "stp {2:q}, {3:q}, [{4}, #32]",
                    in(vreg) a, in(vreg) b, in(vreg) c, in(vreg) d, in(reg) lane,
                    options(nostack, preserves_flags),
                );
            }
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(any(miri, plain_atomics))))]
pub use x86::{Avx2, Avx512};

#[cfg(all(target_arch = "x86_64", not(any(miri, plain_atomics))))]
mod x86 {
    use std::arch::asm;
    use std::arch::x86_64::{__m128, __m256, __m512};
    use std::mem::transmute;

    use super::{Baseline, LANE, Processor, SharedLane};

    impl Processor for Baseline {
        /// Only processors with AVX2 fuse them.
        const FMA: bool = false;

        #[inline(always)]
        fn load(self, lane: &SharedLane) -> [f32; LANE] {
            let (a, b, c, d): (__m128, __m128, __m128, __m128);
            // SAFETY: reads the 64 bytes that the reference guarantees, aligned, as sixteen relaxed loads would.
            unsafe {
                asm!(
                    "movaps {0}, [{4}]",
                    "movaps {1}, [{4} + 16]",
                    "movaps {2}, [{4} + 32]",
                    "movaps {3}, [{4} + 48]",
                    out(xmm_reg) a, out(xmm_reg) b, out(xmm_reg) c, out(xmm_reg) d, in(reg) lane,
                    options(pure, readonly, nostack, preserves_flags),
                );
            }
            // SAFETY: both types are sixteen `f32` without padding, and all bit patterns are valid.
            unsafe { transmute::<[__m128; 4], [f32; LANE]>([a, b, c, d]) }
        }

        #[inline(always)]
        fn store(self, lane: &SharedLane, values: [f32; LANE]) {
            // SAFETY: both types are sixteen `f32` without padding, and all bit patterns are valid.
            let [a, b, c, d] = unsafe { transmute::<[f32; LANE], [__m128; 4]>(values) };
            // SAFETY: writes the 64 bytes that the reference guarantees, aligned, as sixteen relaxed stores would;
            // they are atomics, so a shared reference suffices.
            unsafe {
                asm!(
                    "movaps [{4}], {0}",
                    "movaps [{4} + 16], {1}",
                    "movaps [{4} + 32], {2}",
                    "movaps [{4} + 48], {3}",
                    in(xmm_reg) a, in(xmm_reg) b, in(xmm_reg) c, in(xmm_reg) d, in(reg) lane,
                    options(nostack, preserves_flags),
                );
            }
        }
    }

    /// A processor with AVX2 and FMA.
    #[derive(Clone, Copy)]
    pub struct Avx2(());

    impl Avx2 {
        #[inline(always)]
        pub fn detect() -> Option<Avx2> {
            (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Avx2(()))
        }
    }

    impl Processor for Avx2 {
        const FMA: bool = true;

        #[inline(always)]
        fn load(self, lane: &SharedLane) -> [f32; LANE] {
            // SAFETY: `self` comes from `detect`, which has found AVX2.
            unsafe { load_avx2(lane) }
        }

        #[inline(always)]
        fn store(self, lane: &SharedLane, values: [f32; LANE]) {
            // SAFETY: `self` comes from `detect`, which has found AVX2.
            unsafe { store_avx2(lane, values) }
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load_avx2(lane: &SharedLane) -> [f32; LANE] {
        let (low, high): (__m256, __m256);
        // SAFETY: reads the 64 bytes that the reference guarantees, aligned, as sixteen relaxed loads would.
        unsafe {
            asm!(
                "vmovaps {0}, [{2}]",
                "vmovaps {1}, [{2} + 32]",
                out(ymm_reg) low, out(ymm_reg) high, in(reg) lane,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        // SAFETY: both types are sixteen `f32` without padding, and all bit patterns are valid.
        unsafe { transmute::<[__m256; 2], [f32; LANE]>([low, high]) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store_avx2(lane: &SharedLane, values: [f32; LANE]) {
        // SAFETY: both types are sixteen `f32` without padding, and all bit patterns are valid.
        let [low, high] = unsafe { transmute::<[f32; LANE], [__m256; 2]>(values) };
        // SAFETY: writes the 64 bytes that the reference guarantees, aligned, as sixteen relaxed stores would;
        // they are atomics, so a shared reference suffices.
        unsafe {
            asm!(
                "vmovaps [{2}], {0}",
                "vmovaps [{2} + 32], {1}",
                in(ymm_reg) low, in(ymm_reg) high, in(reg) lane,
                options(nostack, preserves_flags),
            );
        }
    }

    /// A processor with AVX-512.
    #[derive(Clone, Copy)]
    pub struct Avx512(());

    impl Avx512 {
        #[inline(always)]
        pub fn detect() -> Option<Avx512> {
            let found = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl");
            (found && Avx2::detect().is_some()).then_some(Avx512(()))
        }
    }

    impl Processor for Avx512 {
        const FMA: bool = true;

        #[inline(always)]
        fn load(self, lane: &SharedLane) -> [f32; LANE] {
            // SAFETY: `self` comes from `detect`, which has found AVX-512.
            unsafe { load_avx512(lane) }
        }

        #[inline(always)]
        fn store(self, lane: &SharedLane, values: [f32; LANE]) {
            // SAFETY: `self` comes from `detect`, which has found AVX-512.
            unsafe { store_avx512(lane, values) }
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load_avx512(lane: &SharedLane) -> [f32; LANE] {
        let values: __m512;
        // SAFETY: reads the 64 bytes that the reference guarantees, aligned, as sixteen relaxed loads would.
        unsafe {
            asm!(
                "vmovaps {0}, [{1}]",
                out(zmm_reg) values, in(reg) lane,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        // SAFETY: both types are sixteen `f32` without padding, and all bit patterns are valid.
        unsafe { transmute::<__m512, [f32; LANE]>(values) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store_avx512(lane: &SharedLane, values: [f32; LANE]) {
        // SAFETY: both types are sixteen `f32` without padding, and all bit patterns are valid.
        let values = unsafe { transmute::<[f32; LANE], __m512>(values) };
        // SAFETY: writes the 64 bytes that the reference guarantees, aligned, as sixteen relaxed stores would;
        // they are atomics, so a shared reference suffices.
        unsafe {
            asm!(
                "vmovaps [{1}], {0}",
                in(zmm_reg) values, in(reg) lane,
                options(nostack, preserves_flags),
            );
        }
    }
}

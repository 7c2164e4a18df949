//! Lanes of sixteen numbers that threads read and write at the same time, and vectors of them in registers.
//!
//! Rust calls a race on plain `f32` undefined behavior, so every access here is a relaxed atomic access to
//! one number: a thread sees the value of one of the writers, never a mixture of two. Compilers do not
//! combine relaxed loads into vector loads, and sixteen loads of four bytes would cost several times as much
//! as one of 64. So the instructions are written out as inline assembly, where one vector instruction stands
//! for sixteen relaxed accesses.
//!
//! That is sound because an assembly block may do whatever Rust code could do, and sixteen relaxed accesses
//! in any order is what the hardware does: it may divide an aligned vector access, but never inside an
//! aligned number of four bytes. Arm's manual states it. On x86 the HotSpot compiler relies on it too: Java
//! guarantees the same for the elements of a `float[]`, and HotSpot vectorizes loops over them.
//!
//! Tools that do not see into assembly get the atomics themselves: Miri always, others with
//! `RUSTFLAGS="--cfg plain_atomics"`. The kernel then computes as on a [`Baseline`] processor.

use std::sync::atomic::AtomicU32;
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(miri, plain_atomics)))))]
use std::sync::atomic::Ordering::Relaxed;

use bytemuck::Pod;

/// The numbers in a lane: as many as the widest register holds.
pub const LANE: usize = 16;

/// Sixteen numbers in shared memory, each of them the bits of an `f32`.
#[repr(C, align(64))]
pub struct SharedLane([AtomicU32; LANE]);

/// A kind of processor that the kernel is compiled for. A value of the type is the proof that this machine is
/// of that kind: only the type's own `detect` creates one.
pub trait Processor: Copy {
    /// Whether a multiplication and an addition are one instruction that rounds once.
    const FMA: bool;

    /// The sixteen numbers of a lane in registers.
    type Vector: Pod;

    /// Reads all numbers, each with a relaxed load.
    fn load(self, lane: &SharedLane) -> Self::Vector;

    /// Reads all numbers of two lanes, each with a relaxed load.
    #[inline(always)]
    fn load_two(self, lanes: &[SharedLane; 2]) -> [Self::Vector; 2] {
        lanes.each_ref().map(|lane| self.load(lane))
    }

    /// Reads all numbers of four lanes, each with a relaxed load.
    #[inline(always)]
    fn load_four(self, lanes: &[SharedLane; 4]) -> [Self::Vector; 4] {
        lanes.each_ref().map(|lane| self.load(lane))
    }

    /// Writes all numbers, each with a relaxed store.
    fn store(self, lane: &SharedLane, values: Self::Vector);

    /// Computes `a * b + c`.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;

    /// Computes `row * lane + sum`. It reads the lane with relaxed loads, as operands of the multiplication
    /// where the processor can.
    #[inline(always)]
    fn add_product(self, row: Self::Vector, lane: &SharedLane, sum: Self::Vector) -> Self::Vector {
        self.mul_add(row, self.load(lane), sum)
    }

    /// Adds the products of four rows and lanes, one after the other.
    #[inline(always)]
    fn add_products(
        self,
        rows: [Self::Vector; 4],
        lanes: &[SharedLane; 4],
        sum: Self::Vector,
    ) -> Self::Vector {
        let mut sum = sum;
        for k in 0..4 {
            sum = self.add_product(rows[k], &lanes[k], sum);
        }
        sum
    }
}

/// What every processor of the target has: SSE2 on x86-64, NEON on 64-bit Arm, one number at a time
/// elsewhere.
#[derive(Clone, Copy)]
pub struct Baseline;

#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(miri, plain_atomics)))))]
impl Processor for Baseline {
    const FMA: bool = false;
    type Vector = [f32; LANE];

    #[inline(always)]
    fn load(self, lane: &SharedLane) -> [f32; LANE] {
        lane.0.each_ref().map(|number| f32::from_bits(number.load(Relaxed)))
    }

    #[inline(always)]
    fn store(self, lane: &SharedLane, values: [f32; LANE]) {
        for (number, value) in lane.0.iter().zip(values) {
            number.store(value.to_bits(), Relaxed);
        }
    }

    #[inline(always)]
    fn mul_add(self, a: [f32; LANE], b: [f32; LANE], c: [f32; LANE]) -> [f32; LANE] {
        std::array::from_fn(|k| a[k] * b[k] + c[k])
    }
}

#[cfg(all(target_arch = "aarch64", not(any(miri, plain_atomics))))]
mod arm {
    use std::arch::aarch64::{float32x4_t, vfmaq_f32};
    use std::arch::asm;

    use super::{Baseline, Processor, SharedLane};

    impl Processor for Baseline {
        /// Every 64-bit Arm processor fuses them.
        const FMA: bool = true;
        type Vector = [float32x4_t; 4];

        #[inline(always)]
        fn load(self, lane: &SharedLane) -> [float32x4_t; 4] {
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
            [a, b, c, d]
        }

        #[inline(always)]
        fn store(self, lane: &SharedLane, [a, b, c, d]: [float32x4_t; 4]) {
            // SAFETY: writes the 64 bytes that the reference guarantees, as sixteen relaxed stores would;
            // they are atomics, so a shared reference suffices.
            unsafe {
                asm!(
                    "stp {0:q}, {1:q}, [{4}]",
                    "stp {2:q}, {3:q}, [{4}, #32]",
                    in(vreg) a, in(vreg) b, in(vreg) c, in(vreg) d, in(reg) lane,
                    options(nostack, preserves_flags),
                );
            }
        }

        #[inline(always)]
        fn mul_add(self, a: [float32x4_t; 4], b: [float32x4_t; 4], c: [float32x4_t; 4]) -> [float32x4_t; 4] {
            // SAFETY: every 64-bit Arm processor that Rust's standard library supports has NEON.
            std::array::from_fn(|k| unsafe { vfmaq_f32(c[k], a[k], b[k]) })
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(any(miri, plain_atomics))))]
pub use x86::{Avx2, Avx512};

#[cfg(all(target_arch = "x86_64", not(any(miri, plain_atomics))))]
mod x86 {
    use std::arch::asm;
    use std::arch::x86_64::{
        __m128, __m256, __m512, _mm_add_ps, _mm_mul_ps, _mm256_fmadd_ps, _mm512_fmadd_ps,
    };

    use super::{Baseline, Processor, SharedLane};

    impl Processor for Baseline {
        /// Only processors with AVX2 fuse them.
        const FMA: bool = false;
        type Vector = [__m128; 4];

        #[inline(always)]
        fn load(self, lane: &SharedLane) -> [__m128; 4] {
            let (a, b, c, d): (__m128, __m128, __m128, __m128);
            // SAFETY: reads the 64 bytes that the reference guarantees, aligned, as sixteen relaxed loads
            // would.
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
            [a, b, c, d]
        }

        #[inline(always)]
        fn store(self, lane: &SharedLane, [a, b, c, d]: [__m128; 4]) {
            // SAFETY: writes the 64 bytes that the reference guarantees, aligned, as sixteen relaxed stores
            // would; they are atomics, so a shared reference suffices.
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

        #[inline(always)]
        fn mul_add(self, a: [__m128; 4], b: [__m128; 4], c: [__m128; 4]) -> [__m128; 4] {
            // SAFETY: every x86-64 processor has SSE.
            std::array::from_fn(|k| unsafe { _mm_add_ps(_mm_mul_ps(a[k], b[k]), c[k]) })
        }
    }

    /// A processor with AVX2 and FMA.
    #[derive(Clone, Copy)]
    pub struct Avx2(());

    impl Avx2 {
        #[inline(always)]
        pub fn detect() -> Option<Avx2> {
            (crate::cpu::has_avx2() && is_x86_feature_detected!("fma")).then_some(Avx2(()))
        }
    }

    impl Processor for Avx2 {
        const FMA: bool = true;
        type Vector = [__m256; 2];

        #[inline(always)]
        fn load(self, lane: &SharedLane) -> [__m256; 2] {
            // SAFETY: `self` comes from `detect`, which has found AVX2.
            unsafe { load_avx2::<0, 1>(std::array::from_ref(lane)) }
        }

        #[inline(always)]
        fn load_two(self, lanes: &[SharedLane; 2]) -> [[__m256; 2]; 2] {
            // SAFETY: `self` comes from `detect`, which has found AVX2.
            unsafe { [load_avx2::<0, 2>(lanes), load_avx2::<1, 2>(lanes)] }
        }

        #[inline(always)]
        fn load_four(self, lanes: &[SharedLane; 4]) -> [[__m256; 2]; 4] {
            // SAFETY: `self` comes from `detect`, which has found AVX2.
            unsafe {
                [
                    load_avx2::<0, 4>(lanes),
                    load_avx2::<1, 4>(lanes),
                    load_avx2::<2, 4>(lanes),
                    load_avx2::<3, 4>(lanes),
                ]
            }
        }

        #[inline(always)]
        fn store(self, lane: &SharedLane, values: [__m256; 2]) {
            // SAFETY: `self` comes from `detect`, which has found AVX2.
            unsafe { store_avx2(lane, values) }
        }

        #[inline(always)]
        fn mul_add(self, a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
            // SAFETY: `self` comes from `detect`, which has found FMA.
            unsafe { [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])] }
        }

        #[inline(always)]
        fn add_product(self, row: [__m256; 2], lane: &SharedLane, sum: [__m256; 2]) -> [__m256; 2] {
            // SAFETY: `self` comes from `detect`, which has found AVX2 and FMA.
            unsafe { add_product_avx2::<0, 1>(row, std::array::from_ref(lane), sum) }
        }

        #[inline(always)]
        fn add_products(
            self,
            rows: [[__m256; 2]; 4],
            lanes: &[SharedLane; 4],
            sum: [__m256; 2],
        ) -> [__m256; 2] {
            // SAFETY: `self` comes from `detect`, which has found AVX2 and FMA.
            unsafe {
                let sum = add_product_avx2::<0, 4>(rows[0], lanes, sum);
                let sum = add_product_avx2::<1, 4>(rows[1], lanes, sum);
                let sum = add_product_avx2::<2, 4>(rows[2], lanes, sum);
                add_product_avx2::<3, 4>(rows[3], lanes, sum)
            }
        }
    }

    // The registers of an assembly block need a function that enables them. The index of the lane is a
    // constant, so that neighboring lanes share an address register.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn load_avx2<const AT: usize, const OF: usize>(lanes: &[SharedLane; OF]) -> [__m256; 2] {
        const { assert!(AT < OF) };
        let (low, high): (__m256, __m256);
        // SAFETY: reads the 64 bytes of `lanes[AT]`, aligned, as sixteen relaxed loads would.
        unsafe {
            asm!(
                "vmovaps {0}, [{2} + {3}]",
                "vmovaps {1}, [{2} + {3} + 32]",
                out(ymm_reg) low, out(ymm_reg) high, in(reg) lanes, const AT * size_of::<SharedLane>(),
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        [low, high]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store_avx2(lane: &SharedLane, [low, high]: [__m256; 2]) {
        // SAFETY: writes the 64 bytes that the reference guarantees, aligned, as sixteen relaxed stores
        // would; they are atomics, so a shared reference suffices.
        unsafe {
            asm!(
                "vmovaps [{2}], {0}",
                "vmovaps [{2} + 32], {1}",
                in(ymm_reg) low, in(ymm_reg) high, in(reg) lane,
                options(nostack, preserves_flags),
            );
        }
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn add_product_avx2<const AT: usize, const OF: usize>(
        row: [__m256; 2],
        lanes: &[SharedLane; OF],
        [mut low, mut high]: [__m256; 2],
    ) -> [__m256; 2] {
        const { assert!(AT < OF) };
        // SAFETY: reads the 64 bytes of `lanes[AT]`, aligned, as sixteen relaxed loads would.
        unsafe {
            asm!(
                "vfmadd231ps {0}, {2}, [{4} + {5}]",
                "vfmadd231ps {1}, {3}, [{4} + {5} + 32]",
                inout(ymm_reg) low, inout(ymm_reg) high, in(ymm_reg) row[0], in(ymm_reg) row[1],
                in(reg) lanes, const AT * size_of::<SharedLane>(),
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        [low, high]
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
        type Vector = __m512;

        #[inline(always)]
        fn load(self, lane: &SharedLane) -> __m512 {
            // SAFETY: `self` comes from `detect`, which has found AVX-512.
            unsafe { load_avx512::<0, 1>(std::array::from_ref(lane)) }
        }

        #[inline(always)]
        fn load_two(self, lanes: &[SharedLane; 2]) -> [__m512; 2] {
            // SAFETY: `self` comes from `detect`, which has found AVX-512.
            unsafe { [load_avx512::<0, 2>(lanes), load_avx512::<1, 2>(lanes)] }
        }

        #[inline(always)]
        fn load_four(self, lanes: &[SharedLane; 4]) -> [__m512; 4] {
            // SAFETY: `self` comes from `detect`, which has found AVX-512.
            unsafe {
                [
                    load_avx512::<0, 4>(lanes),
                    load_avx512::<1, 4>(lanes),
                    load_avx512::<2, 4>(lanes),
                    load_avx512::<3, 4>(lanes),
                ]
            }
        }

        #[inline(always)]
        fn store(self, lane: &SharedLane, values: __m512) {
            // SAFETY: `self` comes from `detect`, which has found AVX-512.
            unsafe { store_avx512(lane, values) }
        }

        #[inline(always)]
        fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
            // SAFETY: `self` comes from `detect`, which has found AVX-512.
            unsafe { _mm512_fmadd_ps(a, b, c) }
        }

        #[inline(always)]
        fn add_product(self, row: __m512, lane: &SharedLane, sum: __m512) -> __m512 {
            // SAFETY: `self` comes from `detect`, which has found AVX-512.
            unsafe { add_product_avx512::<0, 1>(row, std::array::from_ref(lane), sum) }
        }

        #[inline(always)]
        fn add_products(self, rows: [__m512; 4], lanes: &[SharedLane; 4], sum: __m512) -> __m512 {
            // SAFETY: `self` comes from `detect`, which has found AVX-512.
            unsafe {
                let sum = add_product_avx512::<0, 4>(rows[0], lanes, sum);
                let sum = add_product_avx512::<1, 4>(rows[1], lanes, sum);
                let sum = add_product_avx512::<2, 4>(rows[2], lanes, sum);
                add_product_avx512::<3, 4>(rows[3], lanes, sum)
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load_avx512<const AT: usize, const OF: usize>(lanes: &[SharedLane; OF]) -> __m512 {
        const { assert!(AT < OF) };
        let values;
        // SAFETY: reads the 64 bytes of `lanes[AT]`, aligned, as sixteen relaxed loads would.
        unsafe {
            asm!(
                "vmovaps {0}, [{1} + {2}]",
                out(zmm_reg) values, in(reg) lanes, const AT * size_of::<SharedLane>(),
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        values
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store_avx512(lane: &SharedLane, values: __m512) {
        // SAFETY: writes the 64 bytes that the reference guarantees, aligned, as sixteen relaxed stores
        // would; they are atomics, so a shared reference suffices.
        unsafe {
            asm!(
                "vmovaps [{1}], {0}",
                in(zmm_reg) values, in(reg) lane,
                options(nostack, preserves_flags),
            );
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn add_product_avx512<const AT: usize, const OF: usize>(
        row: __m512,
        lanes: &[SharedLane; OF],
        mut sum: __m512,
    ) -> __m512 {
        const { assert!(AT < OF) };
        // SAFETY: reads the 64 bytes of `lanes[AT]`, aligned, as sixteen relaxed loads would.
        unsafe {
            asm!(
                "vfmadd231ps {0}, {1}, [{2} + {3}]",
                inout(zmm_reg) sum, in(zmm_reg) row, in(reg) lanes, const AT * size_of::<SharedLane>(),
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        sum
    }
}

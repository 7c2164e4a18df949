//! CPU: which instructions the hot loops may use.
//!
//! Each is written once and compiled twice, for any processor and for x86-64 with AVX2, or uses a vector type that
//! every processor has. `RUSTFLAGS="--cfg portable"` leaves only the former, for tests: what then runs on x86-64 with
//! SSE2 is the source that runs on ARM with NEON.

/// Whether the processor has AVX2: one load and one test.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn has_avx2() -> bool {
    !cfg!(portable) && is_x86_feature_detected!("avx2")
}

/// Whether it has AVX2 and the bit instructions that came with it.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2_and_bits() -> bool {
    has_avx2()
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

//! The hot loop: dot products, gradients and updates of a few rows.
//!
//! It is written once, over lanes of 16 numbers, and compiled for three kinds of processor: the compiler
//! makes one AVX-512 register of a lane, or two of AVX2, or four of SSE or NEON. The rows of the negatives
//! are read twice, but the second time from the nearest cache. Where `N` inputs share their targets, each
//! number that is read serves `N` times.

use bytemuck::Zeroable;

use super::weights::{LANE, Lane};

/// Inputs that are trained together at most.
pub const TOGETHER: usize = 4;

/// Room for the gradients, one row for each input, and for the products of which their sums are made.
pub struct Scratch {
    gradients: Vec<f32>,
    products: Vec<Lane>,
}

impl Scratch {
    pub fn new(targets: usize) -> Scratch {
        let size = TOGETHER * targets.next_multiple_of(LANE);
        Scratch { gradients: vec![0.0; size], products: vec![Lane::zeroed(); size] }
    }
}

#[inline(always)]
fn mul_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    // Without the instruction, `mul_add` would call a function.
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// One step for `inputs` against `targets`, of which the first is the right one; gives the loss before it.
///
/// # Safety
/// All pointers lead to rows of `width` lanes that stay where they are.
#[inline(always)]
pub unsafe fn learn<const FMA: bool, const N: usize>(
    inputs: [*mut Lane; N],
    targets: &[*mut Lane],
    width: usize,
    rate: f32,
    scratch: &mut Scratch,
) -> f32 {
    let stride = targets.len().next_multiple_of(LANE);
    // SAFETY: the caller's promise.
    unsafe { dots::<FMA, N>(inputs, targets, width, scratch, stride) };
    let gradients = &mut scratch.gradients[..N * stride];
    let mut loss = 0.0;
    for own in gradients.chunks_exact_mut(stride) {
        loss += logistic::<FMA>(own, targets.len(), rate);
    }
    // SAFETY: the caller's promise.
    unsafe { update::<FMA, N>(inputs, targets, width, gradients, stride) };
    loss
}

/// The same against all targets at once; `right` is the place of the right one.
///
/// # Safety
/// As for [`learn`].
#[inline(always)]
pub unsafe fn learn_softmax<const FMA: bool>(
    input: *mut Lane,
    targets: &[*mut Lane],
    right: usize,
    width: usize,
    rate: f32,
    scratch: &mut Scratch,
) -> f32 {
    let stride = targets.len().next_multiple_of(LANE);
    // SAFETY: the caller's promise.
    unsafe { dots::<FMA, 1>([input], targets, width, scratch, stride) };
    let gradients = &mut scratch.gradients[..stride];
    let scores = &mut gradients[..targets.len()];
    let highest = scores.iter().fold(f32::MIN, |a, &b| a.max(b));
    let right_score = scores[right] - highest;
    let mut total = 0.0;
    for score in scores.iter_mut() {
        *score = exp::<FMA>((*score - highest).max(-80.0));
        total += *score;
    }
    for score in scores.iter_mut() {
        *score *= -rate / total;
    }
    scores[right] += rate;
    // SAFETY: the caller's promise.
    unsafe { update::<FMA, 1>([input], targets, width, gradients, stride) };
    total.ln() - right_score
}

/// `gradients[n * stride + i]` becomes the product of input `n` and target `i`.
///
/// # Safety
/// As for [`learn`].
#[inline(always)]
unsafe fn dots<const FMA: bool, const N: usize>(
    inputs: [*mut Lane; N],
    targets: &[*mut Lane],
    width: usize,
    scratch: &mut Scratch,
    stride: usize,
) {
    let Scratch { gradients, products } = scratch;
    let (gradients, products) = (&mut gradients[..N * stride], &mut products[..N * stride]);
    for (i, &target) in targets.iter().enumerate() {
        let mut sums = [[0.0; LANE]; N];
        for at in 0..width {
            // SAFETY: the caller's promise.
            let row = unsafe { target.add(at).read() }.0;
            for n in 0..N {
                // SAFETY: the caller's promise.
                let input = unsafe { inputs[n].add(at).read() }.0;
                for k in 0..LANE {
                    sums[n][k] = mul_add::<FMA>(row[k], input[k], sums[n][k]);
                }
            }
        }
        for n in 0..N {
            products[n * stride + i] = Lane(sums[n]);
        }
    }
    // In a loop of its own: beside the one above, the compiler would take the lanes apart there already. And
    // with a fence, which costs nothing: without it, it would gather one number each of sixteen lanes.
    for (gradient, product) in gradients.iter_mut().zip(products) {
        *gradient = sum(product.0);
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }
}

/// Halves are added to halves.
#[inline(always)]
fn sum(lane: [f32; LANE]) -> f32 {
    let mut eight = [0.0; 8];
    for k in 0..8 {
        eight[k] = lane[k] + lane[k + 8];
    }
    let mut four = [0.0; 4];
    for k in 0..4 {
        four[k] = eight[k] + eight[k + 4];
    }
    (four[0] + four[2]) + (four[1] + four[3])
}

/// Adds to every input the targets, and to every target the inputs, each times its gradient.
///
/// # Safety
/// As for [`learn`].
#[inline(always)]
unsafe fn update<const FMA: bool, const N: usize>(
    inputs: [*mut Lane; N],
    targets: &[*mut Lane],
    width: usize,
    gradients: &[f32],
    stride: usize,
) {
    // Lane by lane, so that what the inputs are and what they become stays in registers.
    for at in 0..width {
        let mut old = [[0.0; LANE]; N];
        for n in 0..N {
            // SAFETY: the caller's promise.
            old[n] = unsafe { inputs[n].add(at).read() }.0;
        }
        let mut new = old;
        for (i, &target) in targets.iter().enumerate() {
            // SAFETY: the caller's promise.
            let before = unsafe { target.add(at).read() }.0;
            let mut row = before;
            for n in 0..N {
                let gradient = gradients[n * stride + i];
                for k in 0..LANE {
                    new[n][k] = mul_add::<FMA>(gradient, before[k], new[n][k]);
                    row[k] = mul_add::<FMA>(gradient, old[n][k], row[k]);
                }
            }
            // SAFETY: the caller's promise.
            unsafe { target.add(at).write(Lane(row)) };
        }
        for n in 0..N {
            // SAFETY: the caller's promise.
            unsafe { inputs[n].add(at).write(Lane(new[n])) };
        }
    }
}

/// Scores become gradients times the rate; gives the loss. The first score should be high, the others low.
#[inline(always)]
fn logistic<const FMA: bool>(scores: &mut [f32], targets: usize, rate: f32) -> f32 {
    let mut losses = [0.0; LANE];
    for (nth, lane) in scores.chunks_exact_mut(LANE).enumerate() {
        for k in 0..LANE {
            let place = nth * LANE + k;
            let label = if place == 0 { 1.0 } else { 0.0 };
            let counts = if place < targets { 1.0 } else { 0.0 };
            let score = lane[k];
            // e^−|s| never overflows, and gives both σ(s) and ln(1 + e^−|s|).
            let small = exp::<FMA>(-score.abs().min(80.0));
            let larger = 1.0 / (1.0 + small);
            let sigmoid = if score >= 0.0 { larger } else { small * larger };
            let wrong = if place == 0 { -score } else { score };
            losses[k] += counts * (wrong.max(0.0) + ln_1p::<FMA>(small));
            lane[k] = counts * rate * (label - sigmoid);
        }
    }
    sum(losses)
}

/// eˣ for −80 ≤ x ≤ 0, with an error of about 10⁻⁷ of it.
#[inline(always)]
fn exp<const FMA: bool>(x: f32) -> f32 {
    // eˣ = 2ⁿ · e^r with |r| ≤ ln 2 / 2, where seven terms of the series suffice.
    let n = (x * std::f32::consts::LOG2_E - 0.5).trunc();
    let r = mul_add::<FMA>(n, -std::f32::consts::LN_2, x);
    let mut series = 1.0 / 720.0;
    for factor in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        series = mul_add::<FMA>(series, r, factor);
    }
    // SAFETY: −116 ≤ n ≤ 0.
    let power = unsafe { n.to_int_unchecked::<i32>() } + 127;
    series * f32::from_bits((power as u32) << 23)
}

/// ln(1 + x) for 0 ≤ x ≤ 1: twice the area tangent of x / (2 + x), which is at most 1/3.
#[inline(always)]
fn ln_1p<const FMA: bool>(x: f32) -> f32 {
    let z = x / (2.0 + x);
    let square = z * z;
    let mut series = 1.0 / 13.0;
    for factor in [1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 0.2, 1.0 / 3.0, 1.0] {
        series = mul_add::<FMA>(series, square, factor);
    }
    2.0 * z * series
}

/// Asks for the lanes of a row, so that they are near when they are needed.
#[inline(always)]
pub fn fetch(row: *const Lane, width: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in 0..width {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: asking for an address reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (row, width);
}

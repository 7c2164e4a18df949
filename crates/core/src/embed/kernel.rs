//! The hot loop: dot products, gradients and updates of a few rows.
//!
//! It is written once, over lanes of 16 numbers, and compiled for every [`Processor`]: a lane becomes one
//! AVX-512 register, two AVX2 registers, or four SSE or NEON registers. The rows of the negatives are read
//! twice, the second time from the L1 cache. Where `N` inputs share their targets, each number that is read
//! is used `N` times.

use bytemuck::Zeroable;

use super::shared_lane::{LANE, Processor, SharedLane};
use super::weights::{Lane, Rows};

/// The most inputs that are trained together.
pub const TOGETHER: usize = 4;

/// Buffers of one thread: the gradients, one row for each input, and the lane-wise products whose sums they
/// start from.
pub struct Scratch {
    gradients: Vec<f32>,
    products: Vec<Lane>,
}

impl Scratch {
    /// Allocates buffers for up to `targets` targets.
    pub fn new(targets: usize) -> Scratch {
        let size = TOGETHER * targets.next_multiple_of(LANE);
        Scratch { gradients: vec![0.0; size], products: vec![Lane::zeroed(); size] }
    }
}

#[inline(always)]
fn mul_add<P: Processor>(a: f32, b: f32, c: f32) -> f32 {
    // Without the instruction, `mul_add` would call a function.
    if P::FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Makes one step for `inputs` against `targets`, of which the first is the right one, and returns the loss
/// before the step.
#[inline(always)]
pub fn learn<P: Processor, const N: usize>(
    processor: P,
    inputs: [&[SharedLane]; N],
    targets: Rows<'_>,
    rate: f32,
    scratch: &mut Scratch,
) -> f32 {
    let stride = targets.len().next_multiple_of(LANE);
    dots(processor, inputs, targets, scratch, stride);
    let gradients = &mut scratch.gradients[..N * stride];
    let mut loss = 0.0;
    for own in gradients.chunks_exact_mut(stride) {
        loss += logistic::<P>(own, targets.len(), rate);
    }
    update(processor, inputs, targets, gradients, stride);
    loss
}

/// Makes one step for `input` against all `targets` at once, of which `right` is the right one, and returns
/// the loss before the step.
#[inline(always)]
pub fn learn_softmax<P: Processor>(
    processor: P,
    input: &[SharedLane],
    targets: Rows<'_>,
    right: usize,
    rate: f32,
    scratch: &mut Scratch,
) -> f32 {
    let stride = targets.len().next_multiple_of(LANE);
    dots(processor, [input], targets, scratch, stride);
    let gradients = &mut scratch.gradients[..stride];
    let scores = &mut gradients[..targets.len()];
    let highest = scores.iter().fold(f32::MIN, |a, &b| a.max(b));
    let right_score = scores[right] - highest;
    let mut total = 0.0;
    for score in scores.iter_mut() {
        *score = exp::<P>((*score - highest).max(-80.0));
        total += *score;
    }
    for score in scores.iter_mut() {
        *score *= -rate / total;
    }
    scores[right] += rate;
    update(processor, [input], targets, gradients, stride);
    total.ln() - right_score
}

/// Sets `gradients[n * stride + i]` to the dot product of input `n` and target `i`.
#[inline(always)]
fn dots<P: Processor, const N: usize>(
    processor: P,
    inputs: [&[SharedLane]; N],
    targets: Rows<'_>,
    scratch: &mut Scratch,
    stride: usize,
) {
    let width = targets.width();
    let (gradients, products) = (&mut scratch.gradients[..N * stride], &mut scratch.products[..N * stride]);
    let inputs = inputs.map(|input| &input[..width]);
    // Four lanes at a time, then two, then one: the compiler does not unroll loops with assembly. And no
    // closures, which would be compiled without the features of this processor.
    let (fours, rests) =
        (inputs.map(|input| input.as_chunks::<4>().0), inputs.map(|input| input.as_chunks::<4>().1));
    for (i, target) in targets.iter().enumerate() {
        let mut sums = [P::Vector::zeroed(); N];
        let (target, rest) = target.as_chunks::<4>();
        for at in 0..target.len() {
            let rows = processor.load_four(&target[at]);
            for n in 0..N {
                sums[n] = processor.add_products(rows, &fours[n][at], sums[n]);
            }
        }
        let mut done = 0;
        if let Some(two) = rest.first_chunk::<2>() {
            let rows = processor.load_two(two);
            for n in 0..N {
                sums[n] = processor.add_product(rows[0], &rests[n][0], sums[n]);
                sums[n] = processor.add_product(rows[1], &rests[n][1], sums[n]);
            }
            done = 2;
        }
        if done < rest.len() {
            let row = processor.load(&rest[done]);
            for n in 0..N {
                sums[n] = processor.add_product(row, &rests[n][done], sums[n]);
            }
        }
        for n in 0..N {
            products[n * stride + i] = bytemuck::cast(sums[n]);
        }
    }
    // In a separate loop: inside the one above, the compiler would already split the lanes there. And with a
    // fence, which costs nothing: without it, the compiler would gather one number from each of sixteen
    // lanes.
    for (gradient, product) in gradients.iter_mut().zip(products) {
        *gradient = sum(product.0);
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }
}

/// Adds the numbers of a lane, one half to the other until one number is left.
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
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "the index runs over the columns of several arrays")]
fn update<P: Processor, const N: usize>(
    processor: P,
    inputs: [&[SharedLane]; N],
    targets: Rows<'_>,
    gradients: &[f32],
    stride: usize,
) {
    let width = targets.width();
    let inputs = inputs.map(|input| &input[..width]);
    let gradients: [&[f32]; N] = std::array::from_fn(|n| &gradients[n * stride..][..targets.len()]);
    // Lane by lane, so that the old and new inputs stay in registers.
    for at in 0..width {
        let mut old = [P::Vector::zeroed(); N];
        for n in 0..N {
            old[n] = processor.load(&inputs[n][at]);
        }
        let mut new = old;
        for (i, target) in targets.lanes_at(at).enumerate() {
            let before = processor.load(target);
            let mut row = before;
            for n in 0..N {
                // SAFETY: there are `targets.len()` gradients of each input, and as many lanes to enumerate.
                // The compiler keeps the checks, which cost 5%.
                let gradient = unsafe { *gradients[n].get_unchecked(i) };
                let gradient = bytemuck::cast([gradient; LANE]);
                new[n] = processor.mul_add(gradient, before, new[n]);
                row = processor.mul_add(gradient, old[n], row);
            }
            processor.store(target, row);
        }
        for n in 0..N {
            processor.store(&inputs[n][at], new[n]);
        }
    }
}

/// Replaces scores by gradients times the rate, and returns the loss. The first score should be high, the
/// others low.
#[inline(always)]
fn logistic<P: Processor>(scores: &mut [f32], targets: usize, rate: f32) -> f32 {
    let mut losses = [0.0; LANE];
    for (nth, lane) in scores.chunks_exact_mut(LANE).enumerate() {
        for k in 0..LANE {
            let target = nth * LANE + k;
            let label = if target == 0 { 1.0 } else { 0.0 };
            let counts = if target < targets { 1.0 } else { 0.0 };
            let score = lane[k];
            // e^−|s| never overflows, and gives both σ(s) and ln(1 + e^−|s|).
            let small = exp::<P>(-score.abs().min(80.0));
            let larger = 1.0 / (1.0 + small);
            let sigmoid = if score >= 0.0 { larger } else { small * larger };
            let wrong = if target == 0 { -score } else { score };
            losses[k] += counts * (wrong.max(0.0) + ln_1p::<P>(small));
            lane[k] = counts * rate * (label - sigmoid);
        }
    }
    sum(losses)
}

/// Returns eˣ for −80 ≤ x ≤ 0, with a relative error of about 10⁻⁷.
#[inline(always)]
fn exp<P: Processor>(x: f32) -> f32 {
    // eˣ = 2ⁿ · e^r with |r| ≤ ln 2 / 2, where seven terms of the series suffice.
    let n = (x * std::f32::consts::LOG2_E - 0.5).trunc();
    let r = mul_add::<P>(n, -std::f32::consts::LN_2, x);
    let mut series = 1.0 / 720.0;
    for factor in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        series = mul_add::<P>(series, r, factor);
    }
    // Numbers between 2²³ and 2²⁴ are whole, so the last bits of this sum are those of n + 127, the exponent
    // of 2ⁿ; the shift drops all others. One instruction less than a conversion to an integer.
    const WHOLE: f32 = 1.5 * (1 << 23) as f32;
    series * f32::from_bits((n + (WHOLE + 127.0)).to_bits() << 23)
}

/// Returns ln(1 + x) for 0 ≤ x ≤ 1, as twice the area tangent of x / (2 + x), which is at most 1/3.
#[inline(always)]
fn ln_1p<P: Processor>(x: f32) -> f32 {
    let z = x / (2.0 + x);
    let square = z * z;
    let mut series = 1.0 / 13.0;
    for factor in [1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 0.2, 1.0 / 3.0, 1.0] {
        series = mul_add::<P>(series, square, factor);
    }
    2.0 * z * series
}

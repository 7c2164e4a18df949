//! The pairs on which the loss is reported, drawn once with their negatives before the training starts.
//!
//! The mean loss of the pairs that are being trained cannot be compared between epochs. Each is measured
//! right after its neighbors in the text were learned, at the current rate: while the rate is high, the
//! vectors follow the text at hand, and that loss is lower than what they keep. As the rate falls they follow
//! less, so it can rise while the vectors improve. The same pairs with the same negatives have no such
//! advantage.
//!
//! Costs about 10 ms each time for 16,384 pairs, and draws from random numbers of its own: the training does
//! not notice.

use super::chance::{Noise, Random, at};
use super::text::Text;
use super::weights::{LANE, Lane, Weights};
use super::{Objective, Settings};

/// At most this many pairs; of a short text, half as many as it has tokens.
const PAIRS: usize = 1 << 14;
/// At most this many with the full softmax, where a pair costs as much as there are tokens.
const SOFTMAX_PAIRS: usize = 1 << 9;
/// Places in the text that are tried for each pair at most: some have no neighbors, or are left out.
const TRIES: usize = 8;

pub struct Sample {
    /// Neighbor and center, as rows.
    pairs: Vec<(u32, u32)>,
    /// Those of all pairs, one pair after the other; none for the softmax.
    negatives: Vec<u32>,
}

impl Sample {
    /// Pairs as the training would draw them, from all over the text.
    pub fn draw(text: &Text, noise: &Noise, settings: &Settings) -> Sample {
        let softmax = settings.objective == Objective::Softmax;
        let most = if softmax { SOFTMAX_PAIRS } else { PAIRS };
        let size = most.min(text.rows.len() / 2).max(1);
        let kept = at(!settings.seed, u64::MAX);
        let mut random = Random::new(at(settings.seed, u64::MAX));
        let (mut pairs, mut line) = (Vec::with_capacity(size), Vec::new());
        for _ in 0..TRIES * size {
            let place = (random.next() % text.rows.len() as u64) as usize;
            let (_, own) = text.line((place, place + 1), settings.window, kept, &mut line);
            for center in own {
                let reach = match settings.dynamic_window {
                    true => 1 + random.below(settings.window as u32) as usize,
                    false => settings.window,
                };
                let around = center.saturating_sub(reach)..line.len().min(center + 1 + reach);
                pairs.extend(around.filter(|&at| at != center).map(|at| (line[at], line[center])));
            }
            if pairs.len() >= size {
                break;
            }
        }
        pairs.truncate(size);
        let negatives = if softmax { 0 } else { pairs.len() * settings.negatives };
        let negatives = (0..negatives).map(|_| noise.draw(&mut random)).collect();
        Sample { pairs, negatives }
    }

    /// The mean loss of the pairs with these weights; none if the text has no pairs.
    pub fn mean_loss(&self, input: &Weights, output: &Weights) -> Option<f64> {
        let each = self.negatives.len() / self.pairs.len().max(1);
        let mut total = 0.0;
        for (nth, &(neighbor, center)) in self.pairs.iter().enumerate() {
            let vector = input.lanes(neighbor);
            let right = dot(vector, output.lanes(center));
            if each == 0 {
                total +=
                    log_sum_exp((0..output.len() as u32).map(|row| dot(vector, output.lanes(row)))) - right;
                continue;
            }
            total += softplus(-right);
            // One that is the right token is left out, as in training.
            let negatives = self.negatives[nth * each..][..each].iter().filter(|&&row| row != center);
            total += negatives.map(|&row| softplus(dot(vector, output.lanes(row)))).sum::<f64>();
        }
        (!self.pairs.is_empty()).then(|| total / self.pairs.len() as f64)
    }
}

fn dot(a: &[Lane], b: &[Lane]) -> f64 {
    let mut sums = [0.0_f32; LANE];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.0.iter().zip(&b.0)) {
            *sum += a * b;
        }
    }
    f64::from(sums.iter().sum::<f32>())
}

/// ln(1 + eˣ)
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn log_sum_exp(scores: impl Iterator<Item = f64>) -> f64 {
    let scores: Vec<f64> = scores.collect();
    let highest = scores.iter().copied().fold(f64::MIN, f64::max);
    highest + scores.iter().map(|score| (score - highest).exp()).sum::<f64>().ln()
}

//! Embeddings: one vector for every token, learned from the tokens around it (skip-gram, Mikolov et al.
//! 2013).
//!
//! For every token of the text and every neighbor within the window, the neighbor's vector `v` has to
//! distinguish the token, whose output vector is `u₀`, from some tokens `u₁ … uₖ` drawn at random:
//!
//! ```text
//! loss = −ln σ(u₀·v) − Σ ln σ(−uᵢ·v)
//! ```
//!
//! With this negative sampling, a pair costs `k + 1` dot products and as many updates, whatever the size of
//! the vocabulary. With the full softmax, kept for demonstration, a pair costs one of each for every token.
//!
//! | file | contents |
//! |---|---|
//! | `text.rs` | tokens as rows of the matrices, the most frequent first |
//! | `random.rs` | random numbers, and the distribution from which negatives are drawn |
//! | `shared_lane.rs` | vector loads and stores of numbers that threads share |
//! | `weights.rs` | the two matrices, which all threads share without locks |
//! | `kernel.rs` | dot products, gradients and updates, for three kinds of processor |
//! | `thread_tuner.rs` | the fastest number of threads |
//! | `loss_sample.rs` | the pairs on which the loss is reported |
//! | `trainer.rs` | which pairs there are, and which thread trains them when |
//! | `tsne.rs`, `quadtree.rs` | the vectors as points in the plane |
//!
//! Slow when the vocabulary is so large that its rows do not fit in the cache: each negative then is a cache
//! miss.

mod kernel;
mod loss_sample;
mod quadtree;
mod random;
mod shared_lane;
#[cfg(test)]
mod tests;
mod text;
mod thread_tuner;
mod trainer;
mod tsne;
mod weights;

pub use trainer::{Interval, Trainer};
pub use tsne::Tsne;

use crate::{Error, Result};

/// What a pair is trained against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// New negatives for every pair.
    Negatives,
    /// The same negatives for all neighbors of a token, so that their rows are read once for the whole
    /// window.
    SharedNegatives,
    /// All other tokens: exact, and slow.
    Softmax,
}

/// The settings of [`Trainer`].
#[derive(Clone, Debug)]
pub struct EmbedSettings {
    pub dimension: usize,
    /// Neighbors on each side.
    pub window: usize,
    /// Whether the window of each token is drawn from 1 to `window`, which gives near neighbors more weight.
    pub dynamic_window: bool,
    pub objective: Objective,
    /// Negatives for each pair, or for each token where they are shared.
    pub negatives: usize,
    pub epochs: u32,
    /// The first learning rate; it falls linearly to `last_rate`.
    pub rate: f32,
    pub last_rate: f32,
    /// The share of the text above which tokens are skipped at random; 0 keeps all tokens.
    pub subsample: f64,
    /// Negatives are drawn in proportion to their count to this power.
    pub noise_power: f64,
    /// Tokens that occur fewer times are removed from the text.
    pub min_count: u64,
    /// Tokens that a thread takes at a time; they share one learning rate.
    pub batch: usize,
    pub seed: u64,
    /// The most threads to use; 0 means one for each core.
    pub threads: usize,
}

impl EmbedSettings {
    fn check(&self) -> Result<()> {
        let refuse = |reason: String| Err(Error::BadSetting { reason });
        if !(1..=MAX_DIMENSION).contains(&self.dimension) {
            return refuse(format!("embedding_dim must be from 1 to 4,096, got {}", self.dimension));
        }
        if !(1..=MAX_WINDOW).contains(&self.window) {
            return refuse(format!("window_size must be from 1 to 1,000, got {}", self.window));
        }
        if !(1..=MAX_NEGATIVES).contains(&self.negatives) && self.objective != Objective::Softmax {
            return refuse(format!("num_negative_samples must be from 1 to 255, got {}", self.negatives));
        }
        if self.epochs == 0 || self.batch == 0 {
            let (epochs, batch) = (self.epochs, self.batch);
            return refuse(format!("epochs and batch_size must be at least 1, got {epochs} and {batch}"));
        }
        if !(self.rate > 0.0 && self.rate <= MAX_RATE && (0.0..=self.rate).contains(&self.last_rate)) {
            return refuse(format!(
                "learning_rate must be above 0 and at most 10, and the last rate between 0 and it, \
                 got {} and {}",
                self.rate, self.last_rate
            ));
        }
        if !(self.subsample >= 0.0 && self.subsample.is_finite()) {
            return refuse(format!(
                "subsample must be 0 or a share of the text such as 0.001, got {}",
                self.subsample
            ));
        }
        if !(0.0..=10.0).contains(&self.noise_power) {
            return refuse(format!(
                "noise_power must be from 0 to 10 (usually 0.75), got {}",
                self.noise_power
            ));
        }
        Ok(())
    }
}

const MAX_DIMENSION: usize = 4096;
const MAX_WINDOW: usize = 1000;
const MAX_NEGATIVES: usize = 255;
const MAX_RATE: f32 = 10.0;

//! Embeddings: a vector for every token, learned from the tokens around it (skip-gram, Mikolov et al. 2013).
//!
//! For every token of the text and every neighbour within the window, the neighbour's vector `v` has to tell
//! the token, whose other vector is `u₀`, from some tokens `u₁ … uₖ` that are drawn at random:
//!
//! ```text
//! loss = −ln σ(u₀·v) − Σ ln σ(−uᵢ·v)
//! ```
//!
//! One pair costs `k + 1` dot products and as many updates, whatever the size of the vocabulary; that is what
//! negative sampling is for. With the full softmax, kept to show it, a pair costs as many as there are
//! tokens.
//!
//! | file | what it knows |
//! |---|---|
//! | `text.rs` | tokens as rows of the matrices, the frequent ones first |
//! | `chance.rs` | random numbers, and the noise from which negatives are drawn |
//! | `weights.rs` | the two matrices, which all threads share without locks |
//! | `kernel.rs` | dot products, gradients and updates, for three kinds of processor |
//! | `pace.rs` | how many threads are the quickest |
//! | `sample.rs` | the pairs on which the loss is reported |
//! | `trainer.rs` | which pairs there are, and who works on them when |
//!
//! Loses where the vocabulary is so large that its rows lie in main memory: each negative then is a cache
//! miss.

mod chance;
mod kernel;
mod pace;
mod sample;
#[cfg(test)]
mod tests;
mod text;
mod trainer;
mod weights;

pub use trainer::{Interval, Trainer};

use crate::{Error, Result};

/// What a pair is trained against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Negatives of its own for every pair.
    Negatives,
    /// The same negatives for all neighbours of a token: their rows are read once for the whole window.
    SharedNegatives,
    /// All other tokens: exact, and slow.
    Softmax,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub dimension: usize,
    /// Neighbours on each side.
    pub window: usize,
    /// Whether the window of each token is drawn from 1 to `window`, so that near neighbours count more.
    pub dynamic_window: bool,
    pub objective: Objective,
    pub negatives: usize,
    pub epochs: u32,
    /// The learning rate falls in a straight line from the one to the other.
    pub rate: f32,
    pub last_rate: f32,
    /// Tokens above this share of the text are left out now and then; 0 keeps all.
    pub subsample: f64,
    /// Negatives are drawn by count to this power.
    pub noise_power: f64,
    /// Tokens seen less often are left out of the text.
    pub min_count: u64,
    /// Tokens that a thread takes at a time: they have one learning rate.
    pub batch: usize,
    pub seed: u64,
    /// 0 is one for each core.
    pub threads: usize,
}

impl Settings {
    fn check(&self) -> Result<()> {
        let refuse = |reason: &str| Err(Error::BadSetting { reason: reason.into() });
        if !(1..=MAX_DIMENSION).contains(&self.dimension) {
            return refuse("embedding_dim is from 1 to 4,096");
        }
        if !(1..=MAX_WINDOW).contains(&self.window) {
            return refuse("window_size is from 1 to 1,000");
        }
        if !(1..=MAX_NEGATIVES).contains(&self.negatives) && self.objective != Objective::Softmax {
            return refuse("num_negative_samples is from 1 to 255");
        }
        if self.epochs == 0 || self.batch == 0 {
            return refuse("epochs and batch_size are at least 1");
        }
        if !(self.rate > 0.0 && self.rate <= MAX_RATE && (0.0..=self.rate).contains(&self.last_rate)) {
            return refuse("learning_rate is above 0 and at most 10, and the last one between 0 and it");
        }
        if !(self.subsample >= 0.0 && self.subsample.is_finite()) {
            return refuse("subsample is 0 or a share of the text, such as 0.001");
        }
        if !(0.0..=10.0).contains(&self.noise_power) {
            return refuse("noise_power is from 0 to 10; 0.75 is usual");
        }
        Ok(())
    }
}

const MAX_DIMENSION: usize = 4096;
const MAX_WINDOW: usize = 1000;
const MAX_NEGATIVES: usize = 255;
const MAX_RATE: f32 = 10.0;

//! Which pairs there are, and which thread trains them when.
//!
//! The text of every epoch is divided into batches, and a thread takes the next batch when it has finished
//! its last one. Which tokens are skipped, how wide windows are and which negatives are drawn depends only on
//! the seed and the number of the batch. So one thread always computes the same vectors, and training that
//! was stopped resumes between two batches without a trace.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use super::kernel::{self, Scratch, TOGETHER};
use super::loss_sample::LossSample;
use super::random::{NoiseDistribution, Random, hash_at};
#[cfg(all(target_arch = "x86_64", not(any(miri, plain_atomics))))]
use super::shared_lane::{Avx2, Avx512};
use super::shared_lane::{Baseline, Processor};
use super::text::TrainingText;
use super::thread_tuner::ThreadTuner;
use super::weights::{Matrix, RowList, SharedMatrix};
use super::{EmbedSettings, Objective};
use crate::team::Team;
use crate::threads::thread_count;
use crate::{Error, Progress, Result, Stage};

/// Trains one vector for every token of a text.
pub struct Trainer {
    plan: Plan,
    sample: LossSample,
    input: Matrix,
    output: Matrix,
    /// Batches that are finished, counted over all epochs.
    done: u64,
    team: Team,
    tuner: ThreadTuner,
}

/// What training is made of: threads read it, and nobody writes it.
struct Plan {
    settings: EmbedSettings,
    text: TrainingText,
    noise: NoiseDistribution,
}

/// What some batches of training did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    pub batches: u64,
    /// Tokens of the text, including those that subsampling skipped.
    pub tokens: u64,
    pub pairs: u64,
    /// The sum of the losses of all pairs, each before its own step.
    pub loss: f64,
}

impl Interval {
    fn add(&mut self, other: Interval) {
        self.batches += other.batches;
        self.tokens += other.tokens;
        self.pairs += other.pairs;
        self.loss += other.loss;
    }
}

impl Trainer {
    /// Prepares training on `tokens`; `ends` holds the offset at which each document ends.
    pub fn new(tokens: &[u32], ends: &[usize], settings: EmbedSettings) -> Result<Trainer> {
        settings.check()?;
        if tokens.is_empty() {
            return Err(Error::EmptyCorpus);
        }
        assert_eq!(ends.last(), Some(&tokens.len()), "the last document ends with the text");
        let text = TrainingText::new(tokens, ends, settings.min_count, settings.subsample)?;
        let noise = NoiseDistribution::new(&text.counts, settings.noise_power);
        let sample = LossSample::draw(&text, &noise, &settings);
        let input = Matrix::random(text.ids.len(), settings.dimension, settings.seed);
        let output = Matrix::zeros(text.ids.len(), settings.dimension);
        let team = Team::new(thread_count(settings.threads));
        let tuner = ThreadTuner::new(team.size());
        Ok(Trainer { plan: Plan { settings, text, noise }, sample, input, output, done: 0, team, tuner })
    }

    /// Returns the tokens that have vectors, the most frequent first.
    pub fn ids(&self) -> &[u32] {
        &self.plan.text.ids
    }

    /// Returns how often each of [`ids`](Self::ids) occurs in the text.
    pub fn counts(&self) -> &[u64] {
        &self.plan.text.counts
    }

    /// Returns the vectors, one row for each of [`ids`](Self::ids).
    pub fn vectors(&self) -> Vec<f32> {
        self.input.to_vec()
    }

    /// Returns the output vectors, against which the vectors are trained.
    pub fn outputs(&self) -> Vec<f32> {
        self.output.to_vec()
    }

    /// Returns the mean loss of a fixed sample of pairs and negatives with the current vectors. It is
    /// comparable between all states of one training. `None` if the text has no pairs.
    pub fn mean_loss(&self) -> Option<f64> {
        self.sample.mean_loss(&self.input, &self.output)
    }

    pub fn batches_done(&self) -> u64 {
        self.done
    }

    pub fn batches_in_epoch(&self) -> u64 {
        self.plan.batches_in_epoch()
    }

    pub fn batches(&self) -> u64 {
        self.plan.batches()
    }

    /// Resumes from the state of another trainer with the same text and settings.
    pub fn restore(&mut self, vectors: &[f32], outputs: &[f32], batches_done: u64) -> Result<()> {
        let size = self.plan.text.ids.len() * self.plan.settings.dimension;
        let refuse = |reason: String| Err(Error::BadSetting { reason });
        if vectors.len() != size || outputs.len() != size || batches_done > self.batches() {
            return refuse(format!(
                "a checkpoint of this training holds {size} numbers and at most {} batches, not {} and {batches_done}; \
                 it belongs to another one",
                self.batches(),
                vectors.len(),
            ));
        }
        if let Some(bad) = vectors.iter().chain(outputs).find(|number| !number.is_finite()) {
            return refuse(format!("the checkpoint is damaged: it holds {bad}; start over"));
        }
        self.input.fill(vectors);
        self.output.fill(outputs);
        self.done = batches_done;
        Ok(())
    }

    /// Trains on the next `batches`. When cancelled, it returns between two batches and keeps what it has
    /// done.
    pub fn advance(&mut self, batches: u64, progress: &Progress) -> Result<Interval> {
        let end = self.done.saturating_add(batches).min(self.batches());
        progress.begin(Stage::Embed, end - self.done);
        let mut did = Interval::default();
        while self.done < end && !progress.is_cancelled() {
            let (threads, tokens) = self.tuner.next();
            let size = (tokens / self.plan.settings.batch as u64).max(threads as u64);
            let start = Instant::now();
            let run = self.run(end.min(self.done.saturating_add(size)), threads, progress);
            self.tuner.record(run.tokens, start.elapsed());
            self.done += run.batches;
            did.add(run);
        }
        if !did.loss.is_finite() || !self.input.are_finite() || !self.output.are_finite() {
            return Err(Error::BadSetting {
                reason: "the vectors grew beyond all numbers; use a smaller learning_rate".into(),
            });
        }
        Ok(did)
    }

    /// Trains on the batches up to `end` with the given number of threads.
    fn run(&mut self, end: u64, threads: usize, progress: &Progress) -> Interval {
        let (input, output) = (self.input.share(), self.output.share());
        let plan = &self.plan;
        let next = AtomicU64::new(self.done);
        let all = Mutex::new(Interval::default());
        self.team.run(&|member| {
            if member >= threads {
                return;
            }
            let mut worker = Worker::new(plan, input, output);
            while !progress.is_cancelled() {
                let batch = next.fetch_add(1, Relaxed);
                if batch >= end {
                    break;
                }
                worker.batch(batch);
                progress.advance(1);
            }
            all.lock().unwrap().add(worker.did);
        });
        all.into_inner().unwrap()
    }
}

impl Plan {
    fn batches_in_epoch(&self) -> u64 {
        self.text.rows.len().div_ceil(self.settings.batch) as u64
    }

    fn batches(&self) -> u64 {
        self.batches_in_epoch() * u64::from(self.settings.epochs)
    }

    /// Returns the learning rate of a batch.
    fn rate(&self, batch: u64) -> f32 {
        let EmbedSettings { rate, last_rate, .. } = self.settings;
        rate - (rate - last_rate) * (batch as f64 / self.batches() as f64) as f32
    }
}

/// The state of one thread.
struct Worker<'a> {
    plan: &'a Plan,
    input: SharedMatrix<'a>,
    /// The tokens of a batch and their neighbors.
    line: Vec<u32>,
    /// Rows of the output matrix: the right one first, then the negatives.
    targets: RowList<'a>,
    /// The negatives that come next.
    upcoming: RowList<'a>,
    scratch: Scratch,
    did: Interval,
}

impl<'a> Worker<'a> {
    fn new(plan: &'a Plan, input: SharedMatrix<'a>, output: SharedMatrix<'a>) -> Worker<'a> {
        let rows = plan.text.ids.len();
        let (mut targets, upcoming) = (RowList::new(output), RowList::new(output));
        let softmax = plan.settings.objective == Objective::Softmax;
        if softmax {
            (0..rows as u32).for_each(|row| targets.push(row));
        }
        let scratch = Scratch::new(if softmax { rows } else { plan.settings.negatives + 1 });
        Worker { plan, input, line: Vec::new(), targets, upcoming, scratch, did: Interval::default() }
    }

    fn batch(&mut self, number: u64) {
        #[cfg(all(target_arch = "x86_64", not(any(miri, plain_atomics))))]
        {
            if let Some(avx512) = Avx512::detect() {
                // SAFETY: `detect` has found all features that the function enables.
                return unsafe { self.batch_avx512(avx512, number) };
            }
            if let Some(avx2) = Avx2::detect() {
                // SAFETY: `detect` has found all features that the function enables.
                return unsafe { self.batch_avx2(avx2, number) };
            }
        }
        self.batch_on(Baseline, number);
    }

    #[cfg(all(target_arch = "x86_64", not(any(miri, plain_atomics))))]
    #[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
    fn batch_avx512(&mut self, avx512: Avx512, number: u64) {
        self.batch_on(avx512, number);
    }

    #[cfg(all(target_arch = "x86_64", not(any(miri, plain_atomics))))]
    #[target_feature(enable = "avx2,fma")]
    fn batch_avx2(&mut self, avx2: Avx2, number: u64) {
        self.batch_on(avx2, number);
    }

    #[inline(always)]
    fn batch_on<P: Processor>(&mut self, processor: P, number: u64) {
        let Plan { settings, text, .. } = self.plan;
        let in_epoch = self.plan.batches_in_epoch();
        let from = (number % in_epoch) as usize * settings.batch;
        let to = (from + settings.batch).min(text.rows.len());
        let rate = self.plan.rate(number);
        let mut random = Random::new(hash_at(settings.seed, number));
        if settings.objective != Objective::Softmax {
            self.draw(&mut random);
        }
        let mut line = std::mem::take(&mut self.line);
        let (mut start, epoch_seed) = (from, hash_at(!settings.seed, number / in_epoch));
        // Loops instead of closures: a closure would be compiled without the features of this processor.
        while start < to {
            let (end, own) = text.line((start, to), settings.window, epoch_seed, &mut line);
            start = end;
            for center in own {
                let reach = if settings.dynamic_window {
                    1 + random.below(settings.window as u32) as usize
                } else {
                    settings.window
                };
                let before = &line[center.saturating_sub(reach)..center];
                let after = &line[center + 1..line.len().min(center + 1 + reach)];
                self.did.pairs += (before.len() + after.len()) as u64;
                let neighbors = before.iter().chain(after).copied();
                self.did.loss += f64::from(match settings.objective {
                    Objective::Negatives => {
                        self.learn_apart(processor, line[center], neighbors, rate, &mut random)
                    }
                    Objective::SharedNegatives => {
                        self.learn_together(processor, line[center], neighbors, rate, &mut random)
                    }
                    Objective::Softmax => self.learn_softmax(processor, line[center], neighbors, rate),
                });
            }
        }
        self.line = line;
        self.did.batches += 1;
        self.did.tokens += (to - from) as u64;
    }

    /// Trains every pair with its own negatives.
    #[inline(always)]
    fn learn_apart<P: Processor>(
        &mut self,
        processor: P,
        right: u32,
        neighbors: impl Iterator<Item = u32>,
        rate: f32,
        random: &mut Random,
    ) -> f32 {
        let mut loss = 0.0;
        for neighbor in neighbors {
            self.aim(right, random);
            let input = [self.input.row(neighbor)];
            loss += kernel::learn(processor, input, self.targets.rows(), rate, &mut self.scratch);
        }
        loss
    }

    /// Trains all neighbors with the same negatives, up to four at a time.
    #[inline(always)]
    fn learn_together<P: Processor>(
        &mut self,
        processor: P,
        right: u32,
        mut neighbors: impl Iterator<Item = u32>,
        rate: f32,
        random: &mut Random,
    ) -> f32 {
        self.aim(right, random);
        let (matrix, targets, scratch) = (self.input, self.targets.rows(), &mut self.scratch);
        let mut loss = 0.0;
        loop {
            let mut rows = [&[][..]; TOGETHER];
            let mut n = 0;
            for neighbor in neighbors.by_ref().take(TOGETHER) {
                rows[n] = matrix.row(neighbor);
                n += 1;
            }
            let [a, b, c, d] = rows;
            loss += match n {
                0 => return loss,
                1 => kernel::learn(processor, [a], targets, rate, scratch),
                2 => kernel::learn(processor, [a, b], targets, rate, scratch),
                3 => kernel::learn(processor, [a, b, c], targets, rate, scratch),
                _ => kernel::learn(processor, [a, b, c, d], targets, rate, scratch),
            };
        }
    }

    /// Trains every pair against all tokens.
    #[inline(always)]
    fn learn_softmax<P: Processor>(
        &mut self,
        processor: P,
        right: u32,
        neighbors: impl Iterator<Item = u32>,
        rate: f32,
    ) -> f32 {
        let mut loss = 0.0;
        for neighbor in neighbors {
            let (input, targets, right) = (self.input.row(neighbor), self.targets.rows(), right as usize);
            loss += kernel::learn_softmax(processor, input, targets, right, rate, &mut self.scratch);
        }
        loss
    }

    /// Makes the right row and the negatives that were drawn last the targets, without those negatives that
    /// are the right row. Then draws the next negatives, so that their rows arrive in the cache meanwhile.
    #[inline(always)]
    fn aim(&mut self, right: u32, random: &mut Random) {
        std::mem::swap(&mut self.targets, &mut self.upcoming);
        self.targets.replace_first(right);
        self.draw(random);
    }

    #[inline(always)]
    fn draw(&mut self, random: &mut Random) {
        self.upcoming.clear();
        self.upcoming.push(0); // `aim` replaces it.
        for _ in 0..self.plan.settings.negatives {
            self.upcoming.push_prefetched(self.plan.noise.draw(random));
        }
    }
}

//! Which pairs there are, and who works on them when.
//!
//! The text of every epoch is cut into batches, and a thread takes the next one when it is done with its
//! last. What is left out, how wide windows are and which negatives are drawn follows from the seed and the
//! number of the batch alone. So one thread gives the same vectors every time, and a training that was
//! stopped goes on between two batches as if nothing had been.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use super::chance::{Noise, Random, at};
use super::kernel::{self, Scratch, TOGETHER};
use super::pace::Pace;
use super::sample::Sample;
use super::text::Text;
use super::weights::{Lane, Rows, Weights};
use super::{Objective, Settings};
use crate::team::{Team, thread_count};
use crate::{Error, Progress, Result, Stage};

pub struct Trainer {
    settings: Settings,
    text: Text,
    noise: Noise,
    sample: Sample,
    input: Weights,
    output: Weights,
    /// Batches of all epochs that are behind us.
    done: u64,
    team: Team,
    pace: Pace,
}

/// What a stretch of training did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    pub batches: u64,
    /// Tokens of the text, with those that chance left out.
    pub tokens: u64,
    pub pairs: u64,
    /// The losses of all pairs, each before its own step.
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
    /// `ends` says where in `tokens` each document ends.
    pub fn new(tokens: &[u32], ends: &[usize], settings: Settings) -> Result<Trainer> {
        settings.check()?;
        if tokens.is_empty() {
            return Err(Error::EmptyCorpus);
        }
        assert_eq!(ends.last(), Some(&tokens.len()), "the last document ends with the text");
        let text = Text::new(tokens, ends, settings.min_count, settings.subsample)?;
        let noise = Noise::new(&text.counts, settings.noise_power);
        let sample = Sample::draw(&text, &noise, &settings);
        let input = Weights::random(text.ids.len(), settings.dimension, settings.seed);
        let output = Weights::zeros(text.ids.len(), settings.dimension);
        let team = Team::new(thread_count(settings.threads));
        let pace = Pace::new(team.size());
        Ok(Trainer { settings, text, noise, sample, input, output, done: 0, team, pace })
    }

    /// The tokens that have vectors, the frequent ones first.
    pub fn ids(&self) -> &[u32] {
        &self.text.ids
    }

    /// How often each of them is in the text.
    pub fn counts(&self) -> &[u64] {
        &self.text.counts
    }

    /// The vectors, one row for each of [`ids`](Self::ids).
    pub fn vectors(&self) -> Vec<f32> {
        self.input.to_vec()
    }

    /// The vectors that they are trained against.
    pub fn outputs(&self) -> Vec<f32> {
        self.output.to_vec()
    }

    /// The mean loss of a fixed sample of pairs and negatives with the current vectors, comparable between
    /// all states of a training; none if the text has no pairs.
    pub fn mean_loss(&self) -> Option<f64> {
        self.sample.mean_loss(&self.input, &self.output)
    }

    pub fn batches_done(&self) -> u64 {
        self.done
    }

    pub fn batches_in_epoch(&self) -> u64 {
        self.text.rows.len().div_ceil(self.settings.batch) as u64
    }

    pub fn batches(&self) -> u64 {
        self.batches_in_epoch() * u64::from(self.settings.epochs)
    }

    /// Goes on where another trainer with the same text and settings was.
    pub fn restore(&mut self, vectors: &[f32], outputs: &[f32], batches_done: u64) -> Result<()> {
        let size = self.text.ids.len() * self.settings.dimension;
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
            return refuse(format!("the checkpoint is damaged: it holds {bad}; start afresh"));
        }
        self.input.fill(vectors);
        self.output.fill(outputs);
        self.done = batches_done;
        Ok(())
    }

    /// Trains on the next `batches`. Asked to stop, it ends between two batches: what it did is done.
    pub fn advance(&mut self, batches: u64, progress: &Progress) -> Result<Interval> {
        let end = self.done.saturating_add(batches).min(self.batches());
        progress.begin(Stage::Embed, end - self.done);
        let mut did = Interval::default();
        while self.done < end && !progress.is_cancelled() {
            let (threads, tokens) = self.pace.next();
            let size = (tokens / self.settings.batch as u64).max(threads as u64);
            let start = Instant::now();
            let stretch = self.stretch(end.min(self.done.saturating_add(size)), threads, progress);
            self.pace.saw(stretch.tokens, start.elapsed());
            self.done += stretch.batches;
            did.add(stretch);
        }
        if !did.loss.is_finite() || !self.input.are_finite() || !self.output.are_finite() {
            return Err(Error::BadSetting {
                reason: "the vectors grew beyond all numbers; use a smaller learning_rate".into(),
            });
        }
        Ok(did)
    }

    /// The batches up to `end`, by so many threads.
    fn stretch(&mut self, end: u64, threads: usize, progress: &Progress) -> Interval {
        let (input, output) = (self.input.rows(), self.output.rows());
        let next = AtomicU64::new(self.done);
        let all = Mutex::new(Interval::default());
        let this = &*self;
        this.team.run(&|member| {
            if member >= threads {
                return;
            }
            let mut worker = Worker::new(this, input, output);
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

    fn rate(&self, batch: u64) -> f32 {
        let Settings { rate, last_rate, .. } = self.settings;
        rate - (rate - last_rate) * (batch as f64 / self.batches() as f64) as f32
    }
}

/// What one thread needs for itself.
struct Worker<'a> {
    trainer: &'a Trainer,
    input: Rows,
    output: Rows,
    line: Vec<u32>,
    targets: Vec<*mut Lane>,
    upcoming: Vec<*mut Lane>,
    scratch: Scratch,
    did: Interval,
}

impl<'a> Worker<'a> {
    fn new(trainer: &'a Trainer, input: Rows, output: Rows) -> Worker<'a> {
        let rows = trainer.text.ids.len();
        let softmax = trainer.settings.objective == Objective::Softmax;
        let targets =
            if softmax { (0..rows as u32).map(|row| output.row(row)).collect() } else { Vec::new() };
        let scratch = Scratch::new(if softmax { rows } else { trainer.settings.negatives + 1 });
        let (line, upcoming, did) = (Vec::new(), Vec::new(), Interval::default());
        Worker { trainer, input, output, line, targets, upcoming, scratch, did }
    }

    fn batch(&mut self, number: u64) {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                // SAFETY: the processor has these instructions.
                return unsafe { self.batch_avx512(number) };
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                // SAFETY: the processor has these instructions.
                return unsafe { self.batch_avx2(number) };
            }
        }
        // Every 64-bit ARM fuses multiplication and addition; of x86, only what has AVX2.
        self.batch_as::<{ cfg!(target_arch = "aarch64") }>(number);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
    fn batch_avx512(&mut self, number: u64) {
        self.batch_as::<true>(number);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn batch_avx2(&mut self, number: u64) {
        self.batch_as::<true>(number);
    }

    #[inline(always)]
    fn batch_as<const FMA: bool>(&mut self, number: u64) {
        let Trainer { settings, text, .. } = self.trainer;
        let in_epoch = self.trainer.batches_in_epoch();
        let from = (number % in_epoch) as usize * settings.batch;
        let to = (from + settings.batch).min(text.rows.len());
        let rate = self.trainer.rate(number);
        let mut random = Random::new(at(settings.seed, number));
        if settings.objective != Objective::Softmax {
            self.draw(&mut random);
        }
        let mut line = std::mem::take(&mut self.line);
        let (mut start, epoch_seed) = (from, at(!settings.seed, number / in_epoch));
        // Loops and no closures: a closure would not be compiled for the processor that this is compiled for.
        while start < to {
            let (end, own) = text.line((start, to), settings.window, epoch_seed, &mut line);
            start = end;
            for centre in own {
                let reach = if settings.dynamic_window {
                    1 + random.below(settings.window as u32) as usize
                } else {
                    settings.window
                };
                let before = &line[centre.saturating_sub(reach)..centre];
                let behind = &line[centre + 1..line.len().min(centre + 1 + reach)];
                self.did.pairs += (before.len() + behind.len()) as u64;
                let neighbours = before.iter().chain(behind).copied();
                self.did.loss += f64::from(match settings.objective {
                    Objective::Negatives => self.apart::<FMA>(line[centre], neighbours, rate, &mut random),
                    Objective::SharedNegatives => {
                        self.together::<FMA>(line[centre], neighbours, rate, &mut random)
                    }
                    Objective::Softmax => self.softmax::<FMA>(line[centre], neighbours, rate),
                });
            }
        }
        self.line = line;
        self.did.batches += 1;
        self.did.tokens += (to - from) as u64;
    }

    /// Every pair has negatives of its own.
    #[inline(always)]
    fn apart<const FMA: bool>(
        &mut self,
        right: u32,
        neighbours: impl Iterator<Item = u32>,
        rate: f32,
        random: &mut Random,
    ) -> f32 {
        let mut loss = 0.0;
        for neighbour in neighbours {
            self.aim(right, random);
            let (input, width) = ([self.input.row(neighbour)], self.input.width);
            // SAFETY: rows of the matrices, which outlive this work.
            loss += unsafe { kernel::learn::<FMA, 1>(input, &self.targets, width, rate, &mut self.scratch) };
        }
        loss
    }

    /// All neighbours have the same negatives, and are learned up to four at a time.
    #[inline(always)]
    fn together<const FMA: bool>(
        &mut self,
        right: u32,
        mut neighbours: impl Iterator<Item = u32>,
        rate: f32,
        random: &mut Random,
    ) -> f32 {
        self.aim(right, random);
        let (rows, width, targets, scratch) =
            (self.input, self.input.width, &self.targets[..], &mut self.scratch);
        let mut loss = 0.0;
        loop {
            let mut some = [std::ptr::null_mut(); TOGETHER];
            let mut n = 0;
            for neighbour in neighbours.by_ref().take(TOGETHER) {
                some[n] = rows.row(neighbour);
                n += 1;
            }
            let [a, b, c, d] = some;
            // SAFETY: rows of the matrices, which outlive this work; only the first `n` are used.
            loss += unsafe {
                match n {
                    0 => return loss,
                    1 => kernel::learn::<FMA, 1>([a], targets, width, rate, scratch),
                    2 => kernel::learn::<FMA, 2>([a, b], targets, width, rate, scratch),
                    3 => kernel::learn::<FMA, 3>([a, b, c], targets, width, rate, scratch),
                    _ => kernel::learn::<FMA, 4>([a, b, c, d], targets, width, rate, scratch),
                }
            };
        }
    }

    #[inline(always)]
    fn softmax<const FMA: bool>(
        &mut self,
        right: u32,
        neighbours: impl Iterator<Item = u32>,
        rate: f32,
    ) -> f32 {
        let (rows, targets, scratch) = (self.input, &self.targets[..], &mut self.scratch);
        let mut loss = 0.0;
        for neighbour in neighbours {
            let (input, right) = (rows.row(neighbour), right as usize);
            // SAFETY: rows of the matrices, which outlive this work.
            loss += unsafe { kernel::learn_softmax::<FMA>(input, targets, right, rows.width, rate, scratch) };
        }
        loss
    }

    /// Makes the negatives that were drawn last the targets, behind the right one; one that is the right one
    /// is left out. Then draws those that come next, so that their rows are on their way meanwhile.
    #[inline(always)]
    fn aim(&mut self, right: u32, random: &mut Random) {
        std::mem::swap(&mut self.targets, &mut self.upcoming);
        let right = self.output.row(right);
        self.targets.retain(|&row| row != right);
        self.targets.insert(0, right);
        self.draw(random);
    }

    #[inline(always)]
    fn draw(&mut self, random: &mut Random) {
        self.upcoming.clear();
        for _ in 0..self.trainer.settings.negatives {
            let row = self.output.row(self.trainer.noise.draw(random));
            kernel::fetch(row, self.output.width);
            self.upcoming.push(row);
        }
    }
}

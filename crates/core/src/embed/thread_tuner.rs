//! The fastest number of threads, found by trial.
//!
//! Threads write to the same rows, and a row that one core has written must be transferred before another can
//! use it. Where cores share a cache, the transfer is fast and every thread helps. Where they do not, two
//! threads may take three times as long as one; and a virtual machine may be moved from the one kind to the
//! other while it runs. So about every second, and whenever training slows down, the tuner tries half the
//! current number of threads, the current number and twice that, for some thousands of tokens each. The
//! trials cost a few percent of the time.

use std::time::Duration;

/// Tokens per thread in a trial.
const TRIAL: u64 = 16_384;
/// Seconds for which the fastest number of threads is kept, and seconds between two checks of its speed.
const KEEP_SECONDS: f64 = 1.0;
const CHECK_SECONDS: f64 = 0.1;
/// The share of its measured speed below which it is not kept any longer.
const SLOW: f64 = 0.75;

/// Chooses the number of threads from the speed of past runs.
pub struct ThreadTuner {
    most: usize,
    best: usize,
    /// The speed of `best`, in tokens per second.
    speed: f64,
    /// Numbers of threads that are still to be tried.
    untried: Vec<usize>,
    /// The numbers that were tried, with their speeds.
    speeds: Vec<(usize, f64)>,
    /// Tokens for which `best` is still kept.
    kept: u64,
}

impl ThreadTuner {
    pub fn new(most: usize) -> ThreadTuner {
        let (untried, speeds) = (candidates(most, most), Vec::new());
        ThreadTuner { most, best: most, speed: 0.0, untried, speeds, kept: 0 }
    }

    /// Returns how many threads to use, and for how many tokens.
    pub fn next(&self) -> (usize, u64) {
        match self.untried.last() {
            _ if self.most == 1 => (1, u64::MAX),
            Some(&threads) => (threads, TRIAL * threads as u64),
            None => (self.best, self.kept.min((self.speed * CHECK_SECONDS) as u64)),
        }
    }

    /// Records how long the run that [`next`](Self::next) asked for took.
    pub fn record(&mut self, tokens: u64, took: Duration) {
        let speed = tokens as f64 / took.as_secs_f64().max(1e-9);
        let Some(threads) = self.untried.pop() else {
            self.kept = self.kept.saturating_sub(tokens);
            if self.kept == 0 || speed < SLOW * self.speed {
                self.untried = candidates(self.best, self.most);
            }
            return;
        };
        self.speeds.push((threads, speed));
        if self.untried.is_empty() {
            let fastest = self.speeds.drain(..).max_by(|a, b| a.1.total_cmp(&b.1));
            (self.best, self.speed) = fastest.expect("at least one number was tried");
            self.kept = (self.speed * KEEP_SECONDS) as u64;
        }
    }
}

/// Returns the numbers of threads to try: half of `best`, `best` itself and twice as many.
fn candidates(best: usize, most: usize) -> Vec<usize> {
    let mut candidates = vec![(best / 2).max(1), best, (best * 2).min(most)];
    candidates.sort_unstable();
    candidates.dedup();
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the share of the tokens of a long training that each number of threads got.
    fn shares(most: usize, speed: impl Fn(usize, f64) -> f64) -> Vec<f64> {
        let mut tuner = ThreadTuner::new(most);
        let (mut tokens, mut clock) = (vec![0.0; most + 1], 0.0);
        while clock < 100.0 {
            let (threads, size) = tuner.next();
            let size = size.min(1_000_000);
            let seconds = size as f64 / speed(threads, clock);
            tuner.record(size, Duration::from_secs_f64(seconds));
            tokens[threads] += size as f64;
            clock += seconds;
        }
        let all: f64 = tokens.iter().sum();
        tokens.iter().map(|own| own / all).collect()
    }

    #[test]
    fn all_threads_are_used_where_they_help() {
        assert!(shares(2, |threads, _| 8e5 * threads as f64)[2] > 0.95);
        assert!(shares(64, |threads, _| 8e5 * threads as f64)[64] > 0.8);
        assert!(shares(6, |threads, _| 8e5 * threads as f64)[6] > 0.9);
    }

    #[test]
    fn fewer_threads_are_used_where_more_are_slower() {
        assert!(shares(2, |threads, _| 8e5 / threads as f64)[1] > 0.95);
        assert!(shares(16, |threads, _| 8e5 / threads as f64)[1] > 0.9);
        assert!(shares(16, |threads, _| if threads == 4 { 2e6 } else { 8e5 })[4] > 0.9);
    }

    #[test]
    fn a_change_of_speed_is_noticed() {
        let moved = |threads: usize, clock: f64| match (threads, clock < 50.0) {
            (2, true) => 3e5,
            (2, false) => 15e5,
            _ => 8e5,
        };
        let shares = shares(2, moved);
        assert!((0.2..0.5).contains(&shares[1]) && shares[2] > 0.5, "{shares:?}");
    }

    #[test]
    fn one_thread_is_never_interrupted() {
        assert_eq!(ThreadTuner::new(1).next(), (1, u64::MAX));
    }
}

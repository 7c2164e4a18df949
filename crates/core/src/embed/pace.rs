//! How many threads are the quickest.
//!
//! Threads write to the same rows, and a row that another processor has written travels to this one before it
//! can be used. Where processors share a cache that is soon done, and every thread helps. Where they do not,
//! two threads may take three times as long as one; and a virtual machine may be moved from one to the other
//! while it works. So it is tried out, again about every second and whenever the work slows down: half as
//! many threads, as many, twice as many, for some thousands of tokens each. That costs a few hundredths of
//! the time.

use std::time::Duration;

/// Tokens of a trial.
const TRIAL: u64 = 16_384;
/// How long the quickest number of threads is kept, and how often it is looked at meanwhile.
const KEPT: f64 = 1.0;
const LOOKED: f64 = 0.1;
/// The part of its speed below which it is not kept any longer.
const SLOW: f64 = 0.75;

pub struct Pace {
    most: usize,
    best: usize,
    /// That of the best, in tokens a second.
    speed: f64,
    /// Numbers of threads that are still to be tried, and the speeds of those that were.
    untried: Vec<usize>,
    speeds: Vec<(usize, f64)>,
    /// Tokens for which the best is still kept.
    kept: u64,
}

impl Pace {
    pub fn new(most: usize) -> Pace {
        Pace { most, best: most, speed: 0.0, untried: tries(most, most), speeds: Vec::new(), kept: 0 }
    }

    /// How many threads to use, and for how many tokens.
    pub fn next(&self) -> (usize, u64) {
        match self.untried.last() {
            _ if self.most == 1 => (1, u64::MAX),
            Some(&threads) => (threads, TRIAL * threads as u64),
            None => (self.best, self.kept.min((self.speed * LOOKED) as u64)),
        }
    }

    /// Says what came of it.
    pub fn saw(&mut self, tokens: u64, took: Duration) {
        let speed = tokens as f64 / took.as_secs_f64().max(1e-9);
        let Some(threads) = self.untried.pop() else {
            self.kept = self.kept.saturating_sub(tokens);
            if self.kept == 0 || speed < SLOW * self.speed {
                self.untried = tries(self.best, self.most);
            }
            return;
        };
        self.speeds.push((threads, speed));
        if self.untried.is_empty() {
            let quickest = self.speeds.drain(..).max_by(|a, b| a.1.total_cmp(&b.1));
            (self.best, self.speed) = quickest.expect("something was tried");
            self.kept = (self.speed * KEPT) as u64;
        }
    }
}

/// What to compare `best` with, and itself.
fn tries(best: usize, most: usize) -> Vec<usize> {
    let mut tries = vec![(best / 2).max(1), best, (best * 2).min(most)];
    tries.sort_unstable();
    tries.dedup();
    tries
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of a long training's tokens that each number of threads got.
    fn shares(most: usize, speed: impl Fn(usize, f64) -> f64) -> Vec<f64> {
        let mut pace = Pace::new(most);
        let (mut tokens, mut clock) = (vec![0.0; most + 1], 0.0);
        while clock < 100.0 {
            let (threads, size) = pace.next();
            let size = size.min(1_000_000);
            let seconds = size as f64 / speed(threads, clock);
            pace.saw(size, Duration::from_secs_f64(seconds));
            tokens[threads] += size as f64;
            clock += seconds;
        }
        let all: f64 = tokens.iter().sum();
        tokens.iter().map(|own| own / all).collect()
    }

    #[test]
    fn where_threads_help_all_are_used() {
        assert!(shares(2, |threads, _| 8e5 * threads as f64)[2] > 0.95);
        assert!(shares(64, |threads, _| 8e5 * threads as f64)[64] > 0.8);
        assert!(shares(6, |threads, _| 8e5 * threads as f64)[6] > 0.9);
    }

    #[test]
    fn where_they_hinder_one_works() {
        assert!(shares(2, |threads, _| 8e5 / threads as f64)[1] > 0.95);
        assert!(shares(16, |threads, _| 8e5 / threads as f64)[1] > 0.9);
        assert!(shares(16, |threads, _| if threads == 4 { 2e6 } else { 8e5 })[4] > 0.9);
    }

    #[test]
    fn a_change_is_found_out() {
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
        assert_eq!(Pace::new(1).next(), (1, u64::MAX));
    }
}

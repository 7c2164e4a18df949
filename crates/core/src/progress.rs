//! Progress: how far long work has come, and the request to stop it: a few atomics shared with a watcher.
//!
//! The algorithms only add to numbers here; drawing bars is up to the watcher.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use crate::{Error, Result};

/// The current stage of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    Idle,
    /// Reading, splitting and counting; the unit is bytes of text.
    Count,
    /// Learning merges; the unit is merges.
    Merge,
    /// Turning text into ids; the unit is bytes of text.
    Encode,
    /// Checking merges against pre-tokens that were dropped; the unit is bytes of pre-tokens.
    Certify,
    /// Learning vectors; the unit is batches.
    Embed,
    /// Adding up sorted counts; the unit is entries read.
    Combine,
    /// Encoding unique pre-tokens; the unit is pre-tokens.
    Pretokens,
}

/// Written by the workers, read by a watcher on another thread. Clones share the same numbers.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    stage: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a stage; `total` is 0 where it is not known beforehand.
    pub fn begin(&self, stage: Stage, total: u64) {
        self.0.done.store(0, Relaxed);
        self.0.total.store(total, Relaxed);
        self.0.stage.store(stage as u8, Relaxed);
    }

    pub fn advance(&self, by: u64) {
        self.0.done.fetch_add(by, Relaxed);
    }

    /// Asks the work to stop; it ends with [`Error::Cancelled`] soon after.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Relaxed);
    }

    /// Whether the work was asked to stop. Inner loops break off where it is; their callers `check`.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Relaxed)
    }

    /// An error once the work was asked to stop. Workers call this many times a second.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Stage, done, total.
    pub fn snapshot(&self) -> (Stage, u64, u64) {
        let stage = match self.0.stage.load(Relaxed) {
            1 => Stage::Count,
            2 => Stage::Merge,
            3 => Stage::Encode,
            4 => Stage::Certify,
            5 => Stage::Embed,
            6 => Stage::Combine,
            7 => Stage::Pretokens,
            _ => Stage::Idle,
        };
        (stage, self.0.done.load(Relaxed), self.0.total.load(Relaxed))
    }
}

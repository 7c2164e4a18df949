//! In order: results that threads finish in any order, written in the order of the corpus.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex};

use super::PATIENCE;
use super::encoded::Encoded;
use super::output::Output;
use crate::{Progress, Result};

/// Writes results in the order of their numbers, whatever the order in which they arrive.
pub struct InOrder<'a> {
    turn: Mutex<Turn<'a>>,
    moved: Condvar,
    /// How far ahead of its turn a result may be.
    ahead: u64,
}

struct Turn<'a> {
    next: u64,
    early: BTreeMap<u64, Encoded>,
    /// Buffers to reuse.
    spare: Vec<Encoded>,
    output: &'a mut Output,
}

impl<'a> InOrder<'a> {
    pub fn new(output: &'a mut Output, ahead: u64) -> InOrder<'a> {
        let turn = Turn { next: 0, early: BTreeMap::new(), spare: Vec::new(), output };
        InOrder { turn: Mutex::new(turn), moved: Condvar::new(), ahead }
    }

    /// Writes `encoded` and all results that waited for it, or leaves it to the thread whose turn comes
    /// first.
    pub fn deliver(
        &self,
        number: u64,
        encoded: &mut Encoded,
        stopped: &impl Fn() -> bool,
        progress: &Progress,
    ) -> Result<()> {
        let mut turn = self.turn.lock().unwrap();
        while number > turn.next + self.ahead {
            if stopped() {
                return Ok(());
            }
            turn = self.moved.wait_timeout(turn, PATIENCE).unwrap().0;
        }
        if number != turn.next {
            let spare = turn.spare.pop().unwrap_or_default();
            turn.early.insert(number, std::mem::replace(encoded, spare));
            return Ok(());
        }
        let Turn { next, early, spare, output } = &mut *turn;
        output.write(encoded, progress)?;
        *next += 1;
        while let Some(encoded) = early.remove(next) {
            output.write(&encoded, progress)?;
            spare.push(encoded);
            *next += 1;
        }
        self.moved.notify_all();
        Ok(())
    }
}

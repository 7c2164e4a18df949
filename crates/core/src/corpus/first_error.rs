//! First error: of the errors on several threads, the one that comes first in the corpus.
//!
//! A thread finishes the block it has taken even if a later block has failed meanwhile. All blocks before the
//! earliest error have then been processed, so a corpus raises the same error on every run.

use std::sync::Mutex;

use super::Position;
use crate::{Error, Result};

#[derive(Default)]
pub struct FirstError(Mutex<Option<(Position, Error)>>);

impl FirstError {
    pub fn note(&self, position: Position, error: Error) {
        let first = &mut *self.0.lock().unwrap();
        if first.as_ref().is_none_or(|&(earlier, _)| position < earlier) {
            *first = Some((position, error));
        }
    }

    pub fn any(&self) -> bool {
        self.0.lock().unwrap().is_some()
    }

    pub fn into_result(self) -> Result<()> {
        self.0.into_inner().unwrap().map_or(Ok(()), |(_, error)| Err(error))
    }
}

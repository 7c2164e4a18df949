//! First error: of the errors that several threads meet, the one that comes first in the corpus.
//!
//! Whoever takes a block finishes it, also where a later one was found to be wrong meanwhile. So all blocks
//! before the earliest error have been looked at, and a corpus has the same error on every run.

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

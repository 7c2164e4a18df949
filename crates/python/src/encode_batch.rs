//! Batch encoding: many texts to lists of ids, which the calling thread builds while other threads encode.

use std::time::{Duration, Instant};

use merganser_core::Progress;
use merganser_core::encode::Part;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::arguments::{Policy, Texts, Threads};
use crate::errors::to_python;
use crate::int_list::{CollectorPaused, Ints, STEP};
use crate::interrupt::{Turns, run};
use crate::tokenizer::Tokenizer;

/// A thread that waits longer than this for the GIL competes with a busy one.
const BUSY: Duration = Duration::from_millis(1);

pub fn encode_batch<'py>(
    tokenizer: &Tokenizer,
    texts: &Bound<'py, PyAny>,
    policy: Policy<'_, 'py>,
    threads: Threads,
) -> PyResult<Bound<'py, PyList>> {
    let py = texts.py();
    let options = policy.options(tokenizer)?;
    let kept = Texts::new(texts)?;
    let borrowed = kept.borrow()?;
    let lists = PyList::empty(py);
    let mut maker = Lists {
        ints: &tokenizer.1,
        made: lists.clone().unbind(),
        held: Part::default(),
        enough: 0,
        turns: Turns::new(),
    };
    let outcome = run(py, || {
        let progress = Progress::new();
        Ok(tokenizer.0.encode_in_order(&borrowed, &options, threads.0, &progress, |part| maker.take(part)))
    })?;
    outcome.and_then(|()| maker.make_held()).map_err(|stop| match stop {
        Stop::Core(error) => to_python(py, error),
        Stop::Python(error) => error,
    })?;
    Ok(lists)
}

/// Builds lists of ids from the parts of a batch while it is being encoded. Acquires the GIL for each part,
/// and checks signals then.
struct Lists<'a> {
    ints: &'a Ints,
    made: Py<PyList>,
    /// Parts that are not lists yet: of a document that continues, or that arrived while the GIL was
    /// contended.
    held: Part,
    /// The minimum number of ids that is worth waiting for the GIL.
    enough: usize,
    /// A thread that waits for the GIL asks for it only after 5 ms in which nobody has released it, and here it is
    /// released for each part.
    turns: Turns,
}

/// Why a batch ends early.
enum Stop {
    Core(merganser_core::Error),
    Python(PyErr),
}

impl From<merganser_core::Error> for Stop {
    fn from(error: merganser_core::Error) -> Stop {
        Stop::Core(error)
    }
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Stop {
        Stop::Python(error)
    }
}

impl Lists<'_> {
    /// Takes a part. Called without the GIL.
    fn take(&mut self, part: &Part) -> std::result::Result<(), Stop> {
        if self.held.ends.is_empty() && !part.goes_on && part.ids.len() >= self.enough {
            return self.make(part);
        }
        let before = self.held.ids.len();
        if self.held.goes_on {
            // Its first document continues the last one that is held.
            self.held.ends.pop();
        }
        self.held.ids.extend_from_slice(&part.ids);
        self.held.ends.extend(part.ends.iter().map(|end| before + end));
        self.held.goes_on = part.goes_on;
        if part.goes_on || self.held.ids.len() < self.enough {
            return Python::attach(|py| py.check_signals()).map_err(Stop::Python);
        }
        self.make_held()
    }

    fn make_held(&mut self) -> std::result::Result<(), Stop> {
        let mut held = std::mem::take(&mut self.held);
        self.make(&held)?;
        held.ids.clear();
        held.ends.clear();
        self.held = held;
        Ok(())
    }

    fn make(&mut self, part: &Part) -> std::result::Result<(), Stop> {
        if self.turns.is_due() {
            self.turns.wait();
        }
        let asked = Instant::now();
        Python::attach(|py| {
            if asked.elapsed() > BUSY {
                self.enough = (2 * self.enough).clamp(STEP / 4, 16 * STEP);
            }
            py.check_signals()?;
            let _paused = CollectorPaused::new(py);
            let made = self.made.bind(py);
            let mut start = 0;
            for &end in &part.ends {
                made.append(self.ints.list(py, &part.ids[start..end])?)?;
                start = end;
            }
            Ok(())
        })
    }
}

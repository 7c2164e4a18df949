//! Interrupt: long work that Python can watch and stop.
//!
//! The work runs on a separate thread. The calling thread sleeps without the GIL and wakes every 20 ms to
//! check for Ctrl-C and to call the progress callback if something changed; both may stop the work. If the
//! system starts no thread, the work runs on the calling one, and Ctrl-C is noticed when it is done.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use merganser_core::{Error, Progress, Result, Stage, start_in, take_refusal};
use pyo3::prelude::*;

use crate::errors::{raise, to_python, warn};

const PATIENCE: Duration = Duration::from_millis(20);

/// A progress callback, called with `(stage, done, total)`.
pub type Callback<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// How often other Python threads get the GIL while one builds objects, and for how long it is left to them.
const TURN: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_micros(50);

/// When other threads last had a chance to get the GIL.
pub struct Turns(Instant);

impl Turns {
    pub fn new() -> Turns {
        Turns(Instant::now())
    }

    pub fn is_due(&self) -> bool {
        self.0.elapsed() > TURN
    }

    /// Waits, without the GIL.
    pub fn wait(&mut self) {
        std::thread::sleep(PAUSE);
        self.0 = Instant::now();
    }

    /// Releases the GIL, waits, and checks for Ctrl-C.
    pub fn give(&mut self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.wait());
        py.check_signals()
    }
}

/// Runs `work` on another thread until it is done, or until Ctrl-C or an exception in `callback` stops it.
pub fn run_interruptible<T: Send>(
    py: Python<'_>,
    callback: Callback<'_, '_>,
    progress: &Progress,
    work: impl FnOnce(&Progress) -> Result<T> + Send,
) -> PyResult<T> {
    let work = Mutex::new(Some(work));
    let call = |progress: &Progress| take(&work)(progress);
    match run_fed(py, callback, progress, |_| Ok(()), call) {
        Some(outcome) => outcome,
        None => run(py, || take(&work)(progress)),
    }
}

/// Takes work that another thread would have done.
pub fn take<W>(work: &Mutex<Option<W>>) -> W {
    work.lock().unwrap_or_else(PoisonError::into_inner).take().expect("work is done once")
}

/// Like [`run_interruptible`], while the calling thread feeds the work: `feed` runs first, and regularly
/// calls its argument to check for Ctrl-C. Returns `None`, having called neither, if no thread can be started.
pub fn run_fed<T: Send>(
    py: Python<'_>,
    callback: Callback<'_, '_>,
    progress: &Progress,
    feed: impl FnOnce(&mut dyn FnMut() -> PyResult<()>) -> PyResult<()>,
    work: impl FnOnce(&Progress) -> Result<T> + Send,
) -> Option<PyResult<T>> {
    let mut told = (Stage::Idle, 0, 0);
    let mut look_around = || {
        py.check_signals()?;
        let now = progress.snapshot();
        if let Some(callback) = callback
            && now != told
        {
            told = now;
            let stage = match now.0 {
                Stage::Idle => return Ok(()),
                Stage::Count => "count",
                Stage::Merge => "merge",
                Stage::Encode => "encode",
                Stage::Certify => "certify",
                Stage::Embed => "embed",
                Stage::Combine => "combine",
                Stage::Pretokens => "pretokens",
            };
            callback.call1((stage, now.1, now.2))?;
        }
        Ok(())
    };

    std::thread::scope(|scope| {
        let (sender, mut receiver) = channel();
        start_in(scope, move || {
            // The receiver outlives this thread.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(|| work(progress))));
        })?;
        let mut stop = feed(&mut look_around).err();
        if stop.is_some() {
            progress.cancel();
        }
        let outcome = loop {
            let receiver = &mut receiver;
            match py.detach(move || receiver.recv_timeout(PATIENCE)) {
                Ok(outcome) => break outcome,
                Err(RecvTimeoutError::Disconnected) => unreachable!("a worker always sends its outcome"),
                Err(RecvTimeoutError::Timeout) if stop.is_none() => {
                    stop = look_around().err();
                    if stop.is_some() {
                        progress.cancel();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        if let Some(error) = stop {
            return Some(Err(error));
        }
        Some(settle(py, outcome).and_then(|value| look_around().map(|()| value)))
    })
}

/// Runs short work on the calling thread, without the GIL.
pub fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    settle(py, outcome)
}

/// Runs work that is too short to release the GIL for.
#[inline]
pub fn run_attached<T>(py: Python<'_>, work: impl FnOnce() -> Result<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        // Errors are large; moving a success through their type costs some nanoseconds.
        Ok(Ok(value)) => Ok(value),
        outcome => settle(py, outcome),
    }
}

/// Turns an outcome into a result or an exception; never a panic, which `except Exception` would not catch. The
/// core unwinds with an error where memory runs out in an inner loop.
fn settle<T>(py: Python<'_>, outcome: std::result::Result<Result<T>, Box<dyn Any + Send>>) -> PyResult<T> {
    match outcome {
        Ok(Ok(value)) => match take_refusal() {
            None => Ok(value),
            Some(refusal) => warn_of_refusal(py, &refusal).map(|()| value),
        },
        Ok(Err(error)) => Err(to_python(py, error)),
        Err(panic) if panic.is::<Error>() => {
            Err(panic.downcast::<Error>().map_or_else(|_| unreachable!(), |error| to_python(py, *error)))
        }
        Err(_) => {
            let message = FIRST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
            let message = message.unwrap_or_else(|| "panic".into());
            Err(raise(
                py,
                "InternalError",
                format!("this is a bug in merganser, please report it: {message}"),
            ))
        }
    }
}

#[cold]
fn warn_of_refusal(py: Python<'_>, refusal: &std::io::Error) -> PyResult<()> {
    let message = format!(
        "a thread could not be started ({refusal}), so fewer are used; the result is the same, but takes longer. Raise \
         the limit on threads (ulimit -u, pids.max of the container) or on memory"
    );
    warn(py, &message)
}

/// The message of the first panic: later ones only say that some thread panicked.
static FIRST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Reports panics of this library in an exception instead of on standard error.
pub fn keep_panic_messages() {
    std::panic::set_hook(Box::new(|info| {
        let mut first = FIRST_PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| info.to_string());
    }));
}

/// Panic on a worker thread, to test that Python sees an exception.
#[pyfunction]
#[pyo3(name = "_panic_for_test")]
pub fn panic_for_test(py: Python<'_>) -> PyResult<()> {
    run_interruptible(py, None, &Progress::new(), |_| panic!("asked to panic"))
}

//! Faults on request, for tests; and what `merganser/files.py` shares with the core's files.

use std::path::PathBuf;

use merganser_core::faults::{self, Course, Fault, Operation};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

fn operation_of(name: &str) -> PyResult<Operation> {
    Operation::named(name).ok_or_else(|| PyValueError::new_err(format!("unknown operation {name}")))
}

/// Make an operation on files fail, for tests.
///
/// Parameters
/// ----------
/// operation
///     "open", "read", "write", "sync" or "rename"; None for any.
/// nth
///     Which of them fails, from 0.
/// fault
///     "fail", "short", "torn", "interrupt" or "crash".
/// lasting
///     Whether all later ones fail too.
#[pyfunction]
pub fn arm_fault(operation: Option<&str>, nth: u64, fault: &str, lasting: bool) -> PyResult<()> {
    let operation = operation.map(operation_of).transpose()?;
    let fault = Fault::named(fault).ok_or_else(|| PyValueError::new_err(format!("unknown fault {fault}")))?;
    faults::arm(operation, nth, fault, lasting);
    Ok(())
}

/// End the faults, and return how many operations there were.
#[pyfunction]
pub fn disarm_fault() -> u64 {
    faults::disarm()
}

/// Return how to do an operation: "short", "torn" or "crash"; None for normally.
///
/// Raises
/// ------
/// OSError
///     If it is to fail.
#[pyfunction]
pub fn course_of(py: Python<'_>, operation: &str) -> PyResult<Option<&'static str>> {
    match faults::course(operation_of(operation)?) {
        Ok(Course::Normal) => Ok(None),
        Ok(Course::Short) => Ok(Some("short")),
        Ok(Course::Torn) => Ok(Some("torn")),
        Ok(Course::Crash) => Ok(Some("crash")),
        Err(error) => Err(match error.raw_os_error() {
            Some(number) => {
                let reason = py.import("os")?.call_method1("strerror", (number,))?;
                PyOSError::new_err((number, reason.unbind()))
            }
            None => error.into(),
        }),
    }
}

/// Remove the temporary files of a target that killed processes have left.
#[pyfunction]
pub fn remove_stale(py: Python<'_>, target: PathBuf) {
    py.detach(|| merganser_core::remove_stale(&target));
}

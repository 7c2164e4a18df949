//! Faults: operations on files that fail on request, so that tests can show what a failure leaves behind.
//!
//! A test counts the operations of a whole run, then repeats the run once for each of them and makes that one
//! fail, as SQLite does. [`disk`](crate::disk) and `merganser/files.py` ask here before every operation.
//!
//! Cost in normal use: one relaxed load per system call.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Open,
    Read,
    Write,
    Sync,
    Rename,
}

impl Operation {
    pub fn named(name: &str) -> Option<Operation> {
        Some(match name {
            "open" => Operation::Open,
            "read" => Operation::Read,
            "write" => Operation::Write,
            "sync" => Operation::Sync,
            "rename" => Operation::Rename,
            _ => return None,
        })
    }
}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is done; the disk is full, or unreadable.
    Fail,
    /// Half is read or written, which is allowed: the caller asks for the rest.
    Short,
    /// Half is written before the disk is full; a file ends too early.
    Torn,
    /// A signal arrives first; the caller must try again.
    Interrupt,
    /// The process dies, after half is written.
    Crash,
}

impl Fault {
    pub fn named(name: &str) -> Option<Fault> {
        Some(match name {
            "fail" => Fault::Fail,
            "short" => Fault::Short,
            "torn" => Fault::Torn,
            "interrupt" => Fault::Interrupt,
            "crash" => Fault::Crash,
            _ => return None,
        })
    }
}

/// What to do with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    Normal,
    /// Do half of it.
    Short,
    /// Do half of it, then fail; or end the file here.
    Torn,
    /// Do half of it, then abort.
    Crash,
}

struct Plan {
    /// The operations that count; None for all.
    operation: Option<Operation>,
    /// The number of the first operation that fails.
    nth: u64,
    fault: Fault,
    /// Whether all later operations fail too.
    lasting: bool,
    seen: u64,
}

static ARMED: AtomicBool = AtomicBool::new(false);
static PLAN: Mutex<Plan> =
    Mutex::new(Plan { operation: None, nth: u64::MAX, fault: Fault::Fail, lasting: false, seen: 0 });

/// Makes operation number `nth` fail, counted from 0, and all later ones if the fault is `lasting`.
pub fn arm(operation: Option<Operation>, nth: u64, fault: Fault, lasting: bool) {
    *PLAN.lock().unwrap() = Plan { operation, nth, fault, lasting, seen: 0 };
    ARMED.store(true, Relaxed);
}

/// Ends the faults and returns how many operations there were.
pub fn disarm() -> u64 {
    ARMED.store(false, Relaxed);
    PLAN.lock().unwrap().seen
}

/// Returns what to do with an operation, or the error with which it fails.
#[inline]
pub fn course(operation: Operation) -> io::Result<Course> {
    if ARMED.load(Relaxed) { planned(operation) } else { Ok(Course::Normal) }
}

#[cold]
fn planned(operation: Operation) -> io::Result<Course> {
    let mut plan = PLAN.lock().unwrap();
    if plan.operation.is_some_and(|only| only != operation) {
        return Ok(Course::Normal);
    }
    let number = plan.seen;
    plan.seen += 1;
    if number < plan.nth || (number > plan.nth && !plan.lasting) {
        return Ok(Course::Normal);
    }
    let has_halves = matches!(operation, Operation::Read | Operation::Write);
    let full = || io::Error::from_raw_os_error(libc::ENOSPC);
    match plan.fault {
        Fault::Fail if operation == Operation::Read => Err(io::Error::from_raw_os_error(libc::EIO)),
        Fault::Fail => Err(full()),
        Fault::Torn if has_halves => Ok(Course::Torn),
        Fault::Torn => Err(full()),
        Fault::Short if has_halves => Ok(Course::Short),
        // A signal that keeps arriving would keep the caller trying for ever.
        Fault::Interrupt if has_halves && number == plan.nth => {
            Err(io::Error::from_raw_os_error(libc::EINTR))
        }
        Fault::Short | Fault::Interrupt => Ok(Course::Normal),
        Fault::Crash if operation == Operation::Write => Ok(Course::Crash),
        Fault::Crash => std::process::abort(),
    }
}

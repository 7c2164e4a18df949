//! Threads: how many to use, and starting them where the system may refuse.
//!
//! Containers and users have limits on threads, and a stack needs address space. Work that cannot get a thread
//! is done by fewer, down to the calling one; the results are the same. The first refusal is kept for the
//! caller to report.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, Builder, JoinHandle, Scope, ScopedJoinHandle};

/// Returns `threads`, or the number of cores if it is 0.
pub fn thread_count(threads: usize) -> usize {
    if threads > 0 { threads } else { thread::available_parallelism().map_or(1, |n| n.get()) }
}

/// Starts a thread; `None` if the system refuses, and `work` is dropped.
pub fn start<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<JoinHandle<T>> {
    Builder::new().spawn(work).map_err(note).ok()
}

/// Starts a thread that ends within `scope`; `None` if the system refuses, and `work` is dropped.
pub fn start_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).map_err(note).ok()
}

/// Calls `job` with each item, each on its own thread as far as the system starts them, and returns the results
/// in order.
pub fn map<I: Copy + Send, T: Send>(items: impl Iterator<Item = I>, job: impl Fn(I) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let job = &job;
        let started: Vec<_> = items.map(|item| (item, start_in(scope, move || job(item)))).collect();
        let result = |(item, thread): (I, Option<ScopedJoinHandle<'_, T>>)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => job(item),
        };
        started.into_iter().map(result).collect()
    })
}

/// Why the first thread could not be started.
static REFUSAL: Mutex<Option<io::Error>> = Mutex::new(None);
static REFUSED: AtomicBool = AtomicBool::new(false);

fn note(error: io::Error) {
    if !REFUSED.swap(true, Relaxed) {
        *REFUSAL.lock().unwrap() = Some(error);
    }
}

/// Returns why a thread could not be started, if one could not: once in the life of the process.
pub fn take_refusal() -> Option<io::Error> {
    if REFUSED.load(Relaxed) { REFUSAL.lock().unwrap().take() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        assert_eq!(map(0..20, |n| n * n), (0..20).map(|n| n * n).collect::<Vec<_>>());
    }
}

//! Threads: how many to use, and starting them where the system may refuse.
//!
//! Containers and users have limits on threads, and a stack needs address space. Work that cannot get a thread
//! is done by fewer, down to the calling one; the results are the same. The first refusal is kept for the
//! caller to report.
//!
//! No thread is started during a fork. glibc reuses the stacks of ended threads, and a new thread first frees the
//! thread-local memory of the old one. A child that is forked in the middle of that inherits a stack whose memory is
//! half freed, frees it again for a thread of its own, and aborts: 5 of 5,460 forks beside a loop of batches, before
//! [`forks`] kept them apart.

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
    let _no_fork = forks::wait();
    Builder::new().spawn(work).map_err(note).ok()
}

/// Starts a thread that ends within `scope`; `None` if the system refuses, and `work` is dropped.
pub fn start_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    let _no_fork = forks::wait();
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

/// A lock that is held while a thread starts, and by the forking thread during a fork.
mod forks {
    use std::sync::{Mutex, MutexGuard, Once, PoisonError};

    static LOCK: Mutex<()> = Mutex::new(());

    /// Waits until no fork is under way; none begins before the guard is dropped.
    pub fn wait() -> MutexGuard<'static, ()> {
        static REGISTER: Once = Once::new();
        REGISTER.call_once(register);
        lock()
    }

    fn lock() -> MutexGuard<'static, ()> {
        LOCK.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(unix)]
    fn register() {
        use std::cell::Cell;

        // The forking thread holds the guard from before the fork until after it, and only that thread lives on in
        // the child: a thread-local keeps it for both.
        thread_local! {
            static DURING_FORK: Cell<Option<MutexGuard<'static, ()>>> = const { Cell::new(None) };
        }
        extern "C" fn before() {
            let _ = DURING_FORK.try_with(|guard| guard.set(Some(lock())));
        }
        extern "C" fn after() {
            let _ = DURING_FORK.try_with(Cell::take);
        }
        // SAFETY: the handlers neither unwind nor fork. They stay loaded, as Python never unloads an extension.
        // The call fails only without memory, and then forks are as dangerous as without it.
        unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) };
    }

    #[cfg(not(unix))]
    fn register() {}
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

    #[test]
    #[cfg(unix)]
    fn a_fork_waits_for_a_thread_that_is_being_started() {
        let (send, held) = std::sync::mpsc::channel();
        let started = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _no_fork = forks::wait();
                send.send(()).unwrap();
                thread::sleep(std::time::Duration::from_millis(100));
                started.store(true, Relaxed);
            });
            held.recv().unwrap();
            // SAFETY: the child does nothing but end.
            let child = unsafe { libc::fork() };
            let waited = started.load(Relaxed);
            if child == 0 {
                // SAFETY: it runs no destructors, which belong to the parent.
                unsafe { libc::_exit(i32::from(!waited)) };
            }
            let mut status = -1;
            // SAFETY: `status` outlives the call.
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert!(waited && status == 0);
        });
        assert_eq!(start(|| 1).map(|thread| thread.join().unwrap()), Some(1));
    }
}

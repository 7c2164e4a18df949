//! Team: threads that can be called ten thousand times a second.
//!
//! One training makes tens of thousands of short parallel steps, some of 20 microseconds: spawning threads or
//! waking a general thread pool for each would cost more than it saves. The members spin briefly before they
//! sleep, so that back-to-back calls cost well under a microsecond. It loses where calls are rare: then
//! members are woken every time, and a plain scope of threads does as well.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::threads;

/// How long a member spins before it sleeps: about 20 microseconds.
const SPINS: u32 = 2_000;

type Job = &'static (dyn Fn(usize) + Sync);

#[derive(Default)]
struct Shared {
    /// The number of calls; a member works when it changes.
    call: AtomicUsize,
    /// The members that have not finished the current call.
    busy: AtomicUsize,
    job: Mutex<Option<Job>>,
    /// The payload of the first panic of a member.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    dismissed: AtomicBool,
}

/// A team. The caller is member 0; `size() - 1` threads wait beside it.
pub struct Team {
    shared: Arc<Shared>,
    members: Vec<JoinHandle<()>>,
}

impl Team {
    /// Starts a team of `size` members, or of fewer if the system starts no more threads.
    pub fn new(size: usize) -> Team {
        let shared = Arc::new(Shared::default());
        let start = |member| {
            let shared = Arc::clone(&shared);
            threads::start(move || serve(&shared, member))
        };
        let members = (1..size).map_while(start).collect();
        Team { shared, members }
    }

    pub fn size(&self) -> usize {
        self.members.len() + 1
    }

    /// Calls `job(member)` once on every member at the same time and returns when all have finished.
    pub fn run(&self, job: &(dyn Fn(usize) + Sync)) {
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes. No member holds the reference after this function: each one
        // drops it before it decreases `busy`, and this function waits for zero below even if its own share
        // panics.
        let job_for_members: Job = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), Job>(job) };
        *shared.job.lock().unwrap() = Some(job_for_members);
        shared.busy.store(self.members.len(), Relaxed);
        shared.call.fetch_add(1, Release);
        for member in &self.members {
            member.thread().unpark();
        }
        let own = catch_unwind(AssertUnwindSafe(|| job(0)));
        let mut spins = 0;
        while shared.busy.load(Acquire) > 0 {
            spins += 1;
            if spins < SPINS { std::hint::spin_loop() } else { thread::yield_now() }
        }
        if let Some(panic) = own.err().or_else(|| shared.panic.lock().unwrap().take()) {
            resume_unwind(panic);
        }
    }

    /// Calls `job` with every item, each on some member, and returns when all are done.
    pub fn for_each<T: Send>(&self, items: Vec<T>, job: impl Fn(T) + Sync) {
        let items = Mutex::new(items.into_iter());
        self.run(&|_| {
            loop {
                let Some(item) = items.lock().unwrap().next() else { break };
                job(item);
            }
        });
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.dismissed.store(true, Relaxed);
        self.shared.call.fetch_add(1, Release);
        for member in self.members.drain(..) {
            member.thread().unpark();
            let _ = member.join();
        }
    }
}

/// The loop of a member.
fn serve(shared: &Shared, member: usize) {
    let mut seen = 0;
    loop {
        let mut spins = 0;
        while shared.call.load(Acquire) == seen {
            spins += 1;
            if spins < SPINS { std::hint::spin_loop() } else { thread::park() }
        }
        seen = shared.call.load(Acquire);
        if shared.dismissed.load(Relaxed) {
            return;
        }
        let job = shared.job.lock().unwrap().expect("a call comes with a job");
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| job(member))) {
            shared.panic.lock().unwrap().get_or_insert(panic);
        }
        shared.busy.fetch_sub(1, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_works_once_per_call() {
        let team = Team::new(4);
        let hits: Vec<AtomicUsize> = (0..4).map(|_| AtomicUsize::new(0)).collect();
        for _ in 0..10_000 {
            team.run(&|member| {
                hits[member].fetch_add(1, Relaxed);
            });
        }
        assert!(hits.iter().all(|h| h.load(Relaxed) == 10_000));
    }

    #[test]
    fn every_item_is_done_once() {
        let sum = AtomicUsize::new(0);
        Team::new(3).for_each((0..1000).collect(), |i: usize| {
            sum.fetch_add(i, Relaxed);
        });
        assert_eq!(sum.into_inner(), 499_500);
    }

    #[test]
    #[should_panic(expected = "asked to panic")]
    fn a_panic_in_a_member_reaches_the_caller() {
        Team::new(2).run(&|member| assert!(member == 0, "asked to panic"));
    }
}

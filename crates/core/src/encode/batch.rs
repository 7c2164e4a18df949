//! Batch: many documents, or one long one, on several threads. The result does not depend on their number.
//!
//! The documents become shares of about [`SHARE`] bytes: some short documents, or a part of a long one, cut
//! where a cut changes nothing. Threads take the next share and encode it; the calling thread consumes the
//! results in order, and encodes while none is ready. So whatever it builds from the ids (an array, lists,
//! files) is built while the other threads work, and only a few shares are in memory at a time.
//!
//! Cost: threads are started for each call and not kept, about 30 microseconds, which leaves nothing behind
//! that a fork could break. When it loses: below about two shares of text, one thread is used.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread;
use std::time::Duration;

use super::Options;
use super::special::Stretch;
use crate::memory::{reserve, reserved_in_huge_pages};
use crate::threads::{start_in, thread_count};
use crate::{Progress, Result, Stage, Tokenizer};

/// How much text a thread takes at a time. (Small in tests, so that every document is cut.)
const SHARE: usize = if cfg!(test) { 64 } else { 128 << 10 };

/// Longer documents are always cut, so that the consumer does not wait long for a part.
const LONG: usize = 64 * SHARE;

/// How many shares per thread may be ahead of the consumer.
const AHEAD: usize = 8;

/// The ids of many documents in one array: those of document `i` are `ids[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, PartialEq, Eq)]
pub struct Batch {
    pub ids: Vec<u32>,
    /// One more than there are documents.
    pub offsets: Vec<i64>,
}

/// The ids of some documents, or of a part of one.
#[derive(Default)]
pub struct Part {
    pub ids: Vec<u32>,
    /// By document: where its ids end.
    pub ends: Vec<usize>,
    /// Whether the last document continues in the next part.
    pub goes_on: bool,
}

/// The unit of work of a thread.
enum Share<'a> {
    /// Whole documents.
    Documents(Range<usize>),
    /// A part of a document that splits and encodes independently.
    Text(&'a str),
    /// Pre-tokens of a document, which begin at `start` and end at `ends`.
    Pretokens { text: &'a str, start: usize, ends: Vec<u32> },
    /// A special token.
    Id(u32),
    /// The end of a document that was cut.
    End,
}

impl Tokenizer {
    /// Encodes each text as one document. `threads` = 0 means one per core.
    pub fn encode_batch(
        &self,
        texts: &[&str],
        options: &Options,
        threads: usize,
        progress: &Progress,
    ) -> Result<Batch> {
        let bytes = texts.iter().map(|text| text.len()).sum::<usize>();
        // Unused capacity is never touched. Where it is not enough, or was refused, the array grows.
        let mut ids: Vec<u32> = reserved_in_huge_pages(bytes / 4 * 3 + 2 * texts.len());
        let mut offsets = Vec::with_capacity(texts.len() + 1);
        offsets.push(0);
        if used_threads(texts, threads) == 1 && bytes <= LONG {
            progress.begin(Stage::Encode, bytes as u64);
            for text in texts {
                progress.check()?;
                self.encode_with_while(text, options, Some(progress), &mut ids)?;
                offsets.push(ids.len() as i64);
                progress.advance(text.len() as u64);
            }
        } else {
            self.encode_in_order(texts, options, threads, progress, |part| {
                let before = ids.len();
                reserve(&mut ids, part.ids.len(), "the ids")?;
                ids.extend_from_slice(&part.ids);
                let whole = part.ends.len() - part.goes_on as usize;
                offsets.extend(part.ends[..whole].iter().map(|end| (before + end) as i64));
                Ok(())
            })?;
        }
        Ok(Batch { ids, offsets })
    }

    /// Returns the number of ids of each text, without keeping them.
    pub fn count_batch(
        &self,
        texts: &[&str],
        options: &Options,
        threads: usize,
        progress: &Progress,
    ) -> Result<Vec<usize>> {
        let mut counts = Vec::with_capacity(texts.len());
        let mut open = 0;
        self.encode_in_order(texts, options, threads, progress, |part| {
            let mut start = 0;
            for (i, &end) in part.ends.iter().enumerate() {
                open += end - start;
                start = end;
                if i + 1 < part.ends.len() || !part.goes_on {
                    counts.push(std::mem::take(&mut open));
                }
            }
            Ok(())
        })?;
        Ok(counts)
    }

    /// Encodes each text as one document and passes the ids to `consume`, part by part, in order, on the
    /// calling thread. An error of `consume` ends the work.
    pub fn encode_in_order<E: From<crate::Error>>(
        &self,
        texts: &[&str],
        options: &Options,
        threads: usize,
        progress: &Progress,
        mut consume: impl FnMut(&Part) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        progress.begin(Stage::Encode, texts.iter().map(|text| text.len() as u64).sum());
        let threads = used_threads(texts, threads);
        let shares = self.shares(texts, options, threads)?;
        let job = Job {
            tokenizer: self,
            texts,
            options,
            progress,
            shares,
            ahead: AHEAD * threads,
            taken: AtomicUsize::new(0),
            consumed: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            done: Mutex::default(),
            spare: Mutex::default(),
        };
        thread::scope(|scope| {
            // This thread does the work of those that cannot be started.
            let started: Vec<_> = (1..threads).map_while(|_| start_in(scope, || job.work())).collect();
            let served = {
                // Also on a panic: the other threads must not wait for this one.
                let _over = Over(&job);
                job.serve(&mut consume)
            };
            // A thread that ran out of memory says so here; the scope would only say that it panicked.
            for thread in started {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
            served
        })
    }

    /// Divides the documents into shares.
    fn shares<'a>(&self, texts: &[&'a str], options: &Options, threads: usize) -> Result<Vec<Share<'a>>> {
        let mut shares = Vec::new();
        // Many documents need not be cut.
        let total: usize = texts.iter().map(|text| text.len()).sum();
        let long = if threads > 1 { (total / (8 * threads)).clamp(2 * SHARE, LONG) } else { LONG };
        let mut first = 0;
        let mut held = 0;
        for (document, &text) in texts.iter().enumerate() {
            // A pipeline sees whole documents.
            if text.len() >= long && self.pipeline().is_none() {
                shares.extend((first < document).then_some(Share::Documents(first..document)));
                self.share_out(text, options, threads, &mut shares)?;
                (first, held) = (document + 1, 0);
                continue;
            }
            held += text.len();
            if held >= SHARE {
                shares.push(Share::Documents(first..document + 1));
                (first, held) = (document + 1, 0);
            }
        }
        shares.extend((first < texts.len()).then_some(Share::Documents(first..texts.len())));
        Ok(shares)
    }

    /// Divides one long document into shares.
    fn share_out<'a>(
        &self,
        text: &'a str,
        options: &Options,
        threads: usize,
        shares: &mut Vec<Share<'a>>,
    ) -> Result<()> {
        let splitter = self.splitter();
        shares.extend(options.prepend.iter().copied().map(Share::Id));
        self.for_each_stretch(text, options, |stretch| {
            let text = match stretch {
                Stretch::Special(id) => {
                    shares.push(Share::Id(id));
                    return Ok(());
                }
                Stretch::Text(text) => text,
            };
            if splitter.has_safe_cuts() {
                let mut rest = text;
                while rest.len() >= 2 * SHARE {
                    let from = rest.floor_char_boundary(SHARE);
                    let Some(cut) = splitter.first_cut(&rest[from..]) else { break };
                    shares.push(Share::Text(&rest[..from + cut]));
                    rest = &rest[from + cut..];
                }
                shares.push(Share::Text(rest));
            } else {
                let mut start = 0;
                let mut ends = &splitter.split_parallel(text, threads)?[..];
                while !ends.is_empty() {
                    let (now, later) =
                        ends.split_at(ends.partition_point(|&end| (end as usize) < start + SHARE));
                    let (now, later) = if now.is_empty() { ends.split_at(1) } else { (now, later) };
                    shares.push(Share::Pretokens { text, start, ends: now.to_vec() });
                    start = now.last().map_or(start, |&end| end as usize);
                    ends = later;
                }
            }
            Ok(())
        })?;
        shares.extend(options.append.iter().copied().map(Share::Id));
        shares.push(Share::End);
        Ok(())
    }
}

/// Returns the number of threads that there is work for.
fn used_threads(texts: &[&str], threads: usize) -> usize {
    let most = texts.iter().map(|text| text.len()).sum::<usize>() / SHARE;
    // Asking for the number of cores takes 25 microseconds.
    if most < 2 { 1 } else { thread_count(threads).min(most) }
}

/// The state that the threads share.
struct Job<'a> {
    tokenizer: &'a Tokenizer,
    texts: &'a [&'a str],
    options: &'a Options,
    progress: &'a Progress,
    shares: Vec<Share<'a>>,
    ahead: usize,
    taken: AtomicUsize,
    consumed: AtomicUsize,
    /// Whether the work is to end.
    over: AtomicBool,
    done: Mutex<BTreeMap<usize, Result<Part>>>,
    /// Parts that were consumed: their memory is still in the cache.
    spare: Mutex<Vec<Part>>,
}

impl Job<'_> {
    /// Takes the next share, if there is one that is not too far ahead.
    fn take(&self) -> Option<usize> {
        let limit = self.shares.len().min(self.consumed.load(Acquire) + self.ahead);
        self.taken.fetch_update(Relaxed, Relaxed, |next| (next < limit).then_some(next + 1)).ok()
    }

    /// The loop of the other threads.
    fn work(&self) {
        while !self.over.load(Relaxed) && self.taken.load(Relaxed) < self.shares.len() {
            match self.take() {
                Some(share) => {
                    let part = self.encode(share);
                    self.done.lock().unwrap().insert(share, part);
                }
                None => thread::sleep(Duration::from_micros(20)),
            }
        }
    }

    /// The loop of the calling thread.
    fn serve<E: From<crate::Error>>(
        &self,
        consume: &mut impl FnMut(&Part) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        for share in 0..self.shares.len() {
            let part = loop {
                self.progress.check()?;
                if let Some(part) = self.done.lock().unwrap().remove(&share) {
                    break part?;
                }
                match self.take() {
                    Some(own) if own == share => break self.encode(own)?,
                    Some(other) => {
                        let part = self.encode(other);
                        self.done.lock().unwrap().insert(other, part);
                    }
                    None if self.over.load(Relaxed) => return Ok(()), // a thread panicked, and the scope will report it
                    None => std::hint::spin_loop(),
                }
            };
            consume(&part)?;
            self.consumed.store(share + 1, Release);
            self.spare.lock().unwrap().push(part);
        }
        Ok(())
    }

    fn encode(&self, share: usize) -> Result<Part> {
        let _over = OverIfPanicking(self);
        let mut part = self.spare.lock().unwrap().pop().unwrap_or_default();
        let Part { ids, ends, goes_on } = &mut part;
        ids.clear();
        ends.clear();
        *goes_on = !matches!(self.shares[share], Share::Documents(_) | Share::End);
        let mut bytes = 0;
        match &self.shares[share] {
            Share::Documents(documents) => {
                for &text in &self.texts[documents.clone()] {
                    self.tokenizer.encode_with_while(text, self.options, Some(self.progress), ids)?;
                    ends.push(ids.len());
                    bytes += text.len();
                }
            }
            Share::Text(text) => {
                self.tokenizer.encode_while(text, Some(self.progress), ids)?;
                bytes = text.len();
            }
            Share::Pretokens { text, start, ends } => {
                self.tokenizer.encode_pretokens(text, *start, ends, ids);
                bytes = ends.last().map_or(0, |&end| end as usize - start);
            }
            Share::Id(id) => ids.push(*id),
            Share::End => {}
        }
        if ends.is_empty() {
            ends.push(ids.len());
        }
        self.progress.advance(bytes as u64);
        Ok(part)
    }
}

/// Ends the work when dropped.
struct Over<'a>(&'a Job<'a>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Relaxed);
    }
}

/// Ends the work when dropped by a panic.
struct OverIfPanicking<'a>(&'a Job<'a>);

impl Drop for OverIfPanicking<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.over.store(true, Relaxed);
        }
    }
}

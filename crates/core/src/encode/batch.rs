//! Batch: many documents, or one long one, on several threads. The result does not depend on their number.
//!
//! The documents become shares of about [`SHARE`] bytes: some short documents, or a part of a long one, cut where
//! a cut changes nothing. Threads take the next share and append ids to a buffer of their own; in the end all
//! is copied in order to where it belongs. One thread alone writes to the result at once.
//!
//! Threads are started for each call and not kept: it costs some 30 microseconds, and leaves nothing behind
//! that a fork could break.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::thread;

use super::Options;
use super::special::Stretch;
use crate::memory::{reserved_in_huge_pages, zeroed_in_huge_pages};
use crate::team::thread_count;
use crate::{Error, Progress, Result, Stage, Tokenizer};

/// How much text a thread takes at a time. (Small in tests, so that every document is cut.)
const SHARE: usize = if cfg!(test) { 64 } else { 128 << 10 };

/// The ids of many documents in one array: those of document `i` are `ids[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, PartialEq, Eq)]
pub struct Batch {
    pub ids: Vec<u32>,
    /// One more than there are documents.
    pub offsets: Vec<i64>,
}

/// What a thread does at a time.
enum Share<'a> {
    /// Whole documents.
    Documents(Range<usize>),
    /// A part of a document that splits and encodes alone.
    Text { document: usize, text: &'a str },
    /// Pieces of a document, which begin at `start` and end where `ends` says.
    Pieces { document: usize, text: &'a str, start: usize, ends: Vec<u32> },
    /// A special token.
    Id { document: usize, id: u32 },
}

/// Where the ids of a share are: in whose buffer, and from where to where.
type Written = (usize, Range<usize>);

impl Tokenizer {
    /// Encodes each text as a document of its own. `threads` = 0 means one per core.
    pub fn encode_batch(
        &self,
        texts: &[&str],
        options: &Options,
        threads: usize,
        progress: &Progress,
    ) -> Result<Batch> {
        let bytes = texts.iter().map(|text| text.len()).sum::<usize>();
        let threads = thread_count(threads).min(bytes / SHARE).max(1);
        // Two bytes a token are few; where they are not enough, the buffer grows.
        let room = bytes / threads / 2 + texts.len();
        let job = Job::new(self, texts, options, threads, progress)?;
        let buffers = job.run(threads, progress, || reserved_in_huge_pages(room), |_| ())?;
        let offsets = job.offsets();
        let ids = match <[Vec<u32>; 1]>::try_from(buffers) {
            Ok([mut only]) => {
                only.shrink_to_fit();
                only
            }
            Err(buffers) => gather(&buffers, job.written.into_inner().unwrap(), threads),
        };
        Ok(Batch { ids, offsets })
    }

    /// The number of ids of each text, without keeping them.
    pub fn count_batch(
        &self,
        texts: &[&str],
        options: &Options,
        threads: usize,
        progress: &Progress,
    ) -> Result<Vec<usize>> {
        let bytes = texts.iter().map(|text| text.len()).sum::<usize>();
        let threads = thread_count(threads).min(bytes / SHARE).max(1);
        let job = Job::new(self, texts, options, threads, progress)?;
        job.run(threads, progress, Vec::new, Vec::clear)?;
        Ok(job.counts.into_iter().map(AtomicUsize::into_inner).collect())
    }

    /// Cuts the documents into shares.
    fn shares<'a>(&self, texts: &[&'a str], options: &Options, threads: usize) -> Result<Vec<Share<'a>>> {
        let mut shares = Vec::new();
        // Where documents are many, they need not be cut.
        let total: usize = texts.iter().map(|text| text.len()).sum();
        let long = (2 * SHARE).max(total / (8 * threads));
        let mut first = 0;
        let mut held = 0;
        for (document, &text) in texts.iter().enumerate() {
            if text.len() >= long && threads > 1 {
                shares.extend((first < document).then_some(Share::Documents(first..document)));
                self.share_out(document, text, options, threads, &mut shares)?;
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

    /// Cuts one long document into shares.
    fn share_out<'a>(
        &self,
        document: usize,
        text: &'a str,
        options: &Options,
        threads: usize,
        shares: &mut Vec<Share<'a>>,
    ) -> Result<()> {
        let splitter = self.splitter();
        shares.extend(options.prepend.map(|id| Share::Id { document, id }));
        self.for_each_stretch(text, options, |stretch| {
            let text = match stretch {
                Stretch::Special(id) => {
                    shares.push(Share::Id { document, id });
                    return Ok(());
                }
                Stretch::Text(text) => text,
            };
            if splitter.has_safe_cuts() {
                let mut rest = text;
                while rest.len() >= 2 * SHARE {
                    let from = rest.floor_char_boundary(SHARE);
                    let Some(cut) = splitter.first_cut(&rest[from..]) else { break };
                    shares.push(Share::Text { document, text: &rest[..from + cut] });
                    rest = &rest[from + cut..];
                }
                shares.push(Share::Text { document, text: rest });
            } else {
                let mut start = 0;
                let mut ends = &splitter.split_parallel(text, threads)?[..];
                while !ends.is_empty() {
                    let (now, later) =
                        ends.split_at(ends.partition_point(|&end| (end as usize) < start + SHARE));
                    let (now, later) = if now.is_empty() { ends.split_at(1) } else { (now, later) };
                    shares.push(Share::Pieces { document, text, start, ends: now.to_vec() });
                    start = now.last().map_or(start, |&end| end as usize);
                    ends = later;
                }
            }
            Ok(())
        })?;
        shares.extend(options.append.map(|id| Share::Id { document, id }));
        Ok(())
    }
}

/// All that the threads have in common.
struct Job<'a> {
    tokenizer: &'a Tokenizer,
    texts: &'a [&'a str],
    options: &'a Options,
    shares: Vec<Share<'a>>,
    next: AtomicUsize,
    /// The number of ids of each document.
    counts: Vec<AtomicUsize>,
    /// By share.
    written: Mutex<Vec<Written>>,
    /// The first share that failed; all before it are done, whoever works on them.
    failed: AtomicUsize,
    failure: Mutex<Option<(usize, Error)>>,
}

impl<'a> Job<'a> {
    fn new(
        tokenizer: &'a Tokenizer,
        texts: &'a [&'a str],
        options: &'a Options,
        threads: usize,
        progress: &Progress,
    ) -> Result<Job<'a>> {
        progress.begin(Stage::Encode, texts.iter().map(|text| text.len() as u64).sum());
        let shares = tokenizer.shares(texts, options, threads)?;
        Ok(Job {
            tokenizer,
            texts,
            options,
            next: AtomicUsize::new(0),
            counts: texts.iter().map(|_| AtomicUsize::new(0)).collect(),
            written: Mutex::new(vec![(0, 0..0); shares.len()]),
            failed: AtomicUsize::new(usize::MAX),
            failure: Mutex::new(None),
            shares,
        })
    }

    /// Encodes all shares and returns the threads' buffers. `after` is called with a buffer after each share.
    fn run(
        &self,
        threads: usize,
        progress: &Progress,
        buffer: impl Fn() -> Vec<u32> + Sync,
        after: impl Fn(&mut Vec<u32>) + Sync,
    ) -> Result<Vec<Vec<u32>>> {
        let work = |thread: usize| {
            let mut ids = buffer();
            let mut written = Vec::new();
            loop {
                let share = self.next.fetch_add(1, Relaxed);
                if share >= self.shares.len() || share > self.failed.load(Relaxed) || progress.is_cancelled()
                {
                    break;
                }
                let before = ids.len();
                if let Err(error) = self.encode(&self.shares[share], &mut ids, progress) {
                    self.failed.fetch_min(share, Relaxed);
                    let mut failure = self.failure.lock().unwrap();
                    if failure.as_ref().is_none_or(|(earlier, _)| share < *earlier) {
                        *failure = Some((share, error));
                    }
                    break;
                }
                written.push((share, before..ids.len()));
                after(&mut ids);
            }
            let mut all = self.written.lock().unwrap();
            written.into_iter().for_each(|(share, range)| all[share] = (thread, range));
            ids
        };
        let buffers = thread::scope(|scope| {
            let others: Vec<_> = (1..threads)
                .map(|thread| {
                    scope.spawn({
                        let work = &work;
                        move || work(thread)
                    })
                })
                .collect();
            let own = work(0);
            let others = others
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            [own].into_iter().chain(others).collect()
        });
        progress.check()?;
        match self.failure.lock().unwrap().take() {
            Some((_, error)) => Err(error),
            None => Ok(buffers),
        }
    }

    fn encode(&self, share: &Share<'_>, ids: &mut Vec<u32>, progress: &Progress) -> Result<()> {
        let note = |document: usize, ids: usize, bytes: usize| {
            self.counts[document].fetch_add(ids, Relaxed);
            progress.advance(bytes as u64);
        };
        let before = ids.len();
        match share {
            Share::Documents(documents) => {
                for document in documents.clone() {
                    let (text, before) = (self.texts[document], ids.len());
                    self.tokenizer.encode_with(text, self.options, ids)?;
                    note(document, ids.len() - before, text.len());
                }
            }
            Share::Text { document, text } => {
                self.tokenizer.encode_into(text, ids)?;
                note(*document, ids.len() - before, text.len());
            }
            Share::Pieces { document, text, start, ends } => {
                self.tokenizer.encode_pieces(text, *start, ends, ids);
                let bytes = ends.last().map_or(0, |&end| end as usize - start);
                note(*document, ids.len() - before, bytes);
            }
            Share::Id { document, id } => {
                ids.push(*id);
                note(*document, 1, 0);
            }
        }
        Ok(())
    }

    fn offsets(&self) -> Vec<i64> {
        let mut sum = 0;
        let counts = self.counts.iter().map(|count| {
            sum += count.load(Relaxed) as i64;
            sum
        });
        [0].into_iter().chain(counts).collect()
    }
}

/// All shares in order, in one array.
fn gather(buffers: &[Vec<u32>], written: Vec<Written>, threads: usize) -> Vec<u32> {
    let total = buffers.iter().map(Vec::len).sum();
    let mut ids = zeroed_in_huge_pages(total);
    // Each share with its room in the result; the threads fill them side by side.
    let mut rest = &mut ids[..];
    let mut copies = Vec::with_capacity(written.len());
    for (buffer, range) in written {
        let (room, later) = rest.split_at_mut(range.len());
        copies.push((&buffers[buffer][range], room));
        rest = later;
    }
    let per_thread = copies.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        for part in copies.chunks_mut(per_thread) {
            scope.spawn(move || {
                part.iter_mut().for_each(|(from, to)| {
                    to.copy_from_slice(from);
                })
            });
        }
    });
    ids
}

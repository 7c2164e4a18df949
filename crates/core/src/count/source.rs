//! Source: pre-tokens with their counts, from counts in memory or from a `.counts` file; or parts of them.
//!
//! Cost: a file is read from end to end on every pass, in batches, so it need not fit in memory.

use std::ops::Deref;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::prepared::PartBuffers;
use super::table::PretokenTable;
use crate::count::{CountSettings, Counts, CountsReader, Preparation};
use crate::threads::{self, thread_count};
use crate::{Progress, Result};

/// How many pre-tokens are read at a time. (Few in tests, so that every thread gets some.)
const BATCH: usize = if cfg!(test) { 3 } else { 1 << 14 };

/// Pre-tokens with their counts.
pub enum Source<'a> {
    Memory(&'a Counts),
    File {
        path: &'a Path,
        settings: CountSettings,
    },
    /// The parts of another source's pre-tokens. The same part may come several times.
    Prepared {
        from: &'a Source<'a>,
        preparation: &'a Preparation,
    },
}

/// Some pre-tokens and their counts, in one buffer.
#[derive(Default)]
pub struct PretokenBatch {
    bytes: Vec<u8>,
    pretokens: Vec<(usize, u64)>,
}

impl PretokenBatch {
    /// The maximum number of pre-tokens in a batch.
    pub const SIZE: usize = BATCH;

    fn clear(&mut self) {
        self.bytes.clear();
        self.pretokens.clear();
    }

    fn push(&mut self, pretoken: &[u8], count: u64) {
        self.bytes.extend_from_slice(pretoken);
        self.pretokens.push((self.bytes.len(), count));
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let mut start = 0;
        self.pretokens.iter().map(move |&(end, count)| {
            let pretoken = &self.bytes[start..end];
            start = end;
            (pretoken, count)
        })
    }
}

/// Fills a batch with the next pre-tokens; returns false at the end.
pub type PretokenBatches<'a> = Box<dyn FnMut(&mut PretokenBatch) -> Result<bool> + Send + 'a>;

/// The size of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceSize {
    pub pretokens: u64,
    pub bytes: u64,
    pub characters: u64,
}

/// Counts in memory: the caller's, or loaded from a file.
pub enum LoadedCounts<'a> {
    Borrowed(&'a Counts),
    Owned(Counts),
}

impl Deref for LoadedCounts<'_> {
    type Target = Counts;

    fn deref(&self) -> &Counts {
        match self {
            LoadedCounts::Borrowed(counts) => counts,
            LoadedCounts::Owned(counts) => counts,
        }
    }
}

impl<'a> Source<'a> {
    /// Opens a `.counts` file.
    pub fn file(path: &'a Path) -> Result<Source<'a>> {
        Ok(Source::File { path, settings: CountsReader::open(path)?.settings()? })
    }

    /// Returns the number of unique pre-tokens.
    pub fn pretokens(&self) -> Result<u64> {
        match self {
            Source::Memory(counts) => Ok(counts.len() as u64),
            Source::File { path, .. } => Ok(CountsReader::open(path)?.totals().pretokens),
            Source::Prepared { from, .. } => from.pretokens(),
        }
    }

    pub fn settings(&self) -> &CountSettings {
        match self {
            Source::Memory(counts) => &counts.settings,
            Source::File { settings, .. } => settings,
            Source::Prepared { from, .. } => from.settings(),
        }
    }

    /// Returns the pre-tokens in batches, from the first one on.
    pub fn batches(&self) -> Result<PretokenBatches<'_>> {
        match *self {
            Source::Memory(counts) => {
                let mut next = 0;
                Ok(Box::new(move |batch| {
                    batch.clear();
                    let end = counts.len().min(next + BATCH);
                    (next..end).for_each(|i| batch.push(counts.pretoken(i), counts.count(i)));
                    next = end;
                    Ok(!batch.pretokens.is_empty())
                }))
            }
            Source::File { path, .. } => {
                let mut reader = CountsReader::open(path)?;
                Ok(Box::new(move |batch| {
                    batch.clear();
                    while batch.pretokens.len() < BATCH && reader.advance()? {
                        batch.push(reader.pretoken(), reader.count());
                    }
                    Ok(!batch.pretokens.is_empty())
                }))
            }
            Source::Prepared { from, preparation } => {
                let (mut whole, mut batches) = (PretokenBatch::default(), from.batches()?);
                let mut buffers = PartBuffers::default();
                Ok(Box::new(move |batch| {
                    batch.clear();
                    while batch.pretokens.is_empty() && batches(&mut whole)? {
                        for (pretoken, count) in whole.iter() {
                            preparation
                                .for_each_part(pretoken, &mut buffers, |part| batch.push(part, count))?;
                        }
                    }
                    Ok(!batch.pretokens.is_empty())
                }))
            }
        }
    }

    /// Calls `visit(pre-token, count)` for every pre-token, in any order.
    pub fn for_each(
        &self,
        progress: &Progress,
        mut visit: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<()> {
        if let Source::Memory(counts) = *self {
            for (nth, (pretoken, count)) in counts.iter().enumerate() {
                if nth.is_multiple_of(BATCH) {
                    progress.check()?;
                }
                visit(pretoken, count)?;
            }
            return Ok(());
        }
        let (mut batches, mut batch) = (self.batches()?, PretokenBatch::default());
        while batches(&mut batch)? {
            progress.check()?;
            batch.iter().try_for_each(|(pretoken, count)| visit(pretoken, count))?;
        }
        Ok(())
    }

    /// Returns the number of pre-tokens with a count below `least`, and the sum of their counts.
    pub fn rarer_than(&self, least: u64, progress: &Progress) -> Result<(u64, u64)> {
        let (mut pretokens, mut total) = (0, 0);
        self.for_each(progress, |_, count| {
            if count < least {
                pretokens += 1;
                total += count;
            }
            Ok(())
        })?;
        Ok((pretokens, total))
    }

    /// Returns the size, without the pre-tokens with a count below `least`.
    pub fn size(&self, least: u64, progress: &Progress) -> Result<SourceSize> {
        let mut size = SourceSize::default();
        self.for_each(progress, |pretoken, count| {
            if count >= least {
                size.pretokens += 1;
                size.bytes += pretoken.len() as u64;
                size.characters += pretoken.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u64;
            }
            Ok(())
        })?;
        Ok(size)
    }

    /// Returns the counts, loaded if they are in a file, and added up if they are parts.
    pub fn in_memory(&self, threads: usize, progress: &Progress) -> Result<LoadedCounts<'_>> {
        match *self {
            Source::Memory(counts) => Ok(LoadedCounts::Borrowed(counts)),
            Source::File { path, .. } => Counts::load(path, progress).map(LoadedCounts::Owned),
            Source::Prepared { from, preparation } => {
                let counts = from.parts(preparation, threads, usize::MAX, progress)?;
                Ok(LoadedCounts::Owned(counts.expect("there is no limit")))
            }
        }
    }

    /// Adds up the parts of all pre-tokens, most of which repeat; `None` if that would take more than `limit`
    /// bytes.
    pub fn parts(
        &self,
        preparation: &Preparation,
        threads: usize,
        limit: usize,
        progress: &Progress,
    ) -> Result<Option<Counts>> {
        // A table for each thread takes more than one for all, because most parts are in all of them.
        let threads = thread_count(threads).min((limit >> 28).max(1));
        let batches = Mutex::new(self.batches()?);
        let stop = AtomicBool::new(false);
        let add_up = |_| -> Result<Option<PretokenTable>> {
            let (mut table, mut batch, mut buffers) =
                (PretokenTable::default(), PretokenBatch::default(), PartBuffers::default());
            // The rest is for the table that they are added to, or the counts.
            table.set_limit(limit / 5 * 3 / threads);
            while !stop.load(Relaxed) && (batches.lock().unwrap())(&mut batch)? {
                progress.check()?;
                for (pretoken, count) in batch.iter() {
                    preparation.for_each_part(pretoken, &mut buffers, |part| table.add(part, count))?;
                }
                if table.is_full() {
                    return Ok(None);
                }
            }
            Ok(Some(table))
        };
        let tables = threads::map(0..threads, |thread| {
            let added = add_up(thread);
            stop.fetch_or(!matches!(added, Ok(Some(_))), Relaxed);
            added
        });
        let tables: Option<Vec<PretokenTable>> = tables.into_iter().collect::<Result<_>>()?;
        let Some(mut tables) = tables else { return Ok(None) };
        tables.sort_by_key(PretokenTable::len);
        let mut sum = tables.pop().unwrap_or_default();
        for table in tables {
            sum.absorb(table, progress);
        }
        progress.check()?;
        sum.into_counts(self.settings().clone()).map(Some)
    }
}

//! Counter: counts blocks of text on all threads, each into its own table.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::file::LOOK;
use super::first_seen::FirstSeen;
use super::sorted::Sorted;
use super::table::PretokenTable;
use super::{CountSettings, Counts, CountsTotals, CountsWriter, FolderLock, Spill, merge};
use crate::corpus::{Block, BlockSource, Boundary, Consumer, Cutters, Feed, FirstError, Position};
use crate::split::{Scratch, Splitter, Tier};
use crate::team::Team;
use crate::threads::thread_count;
use crate::{Progress, Result, Stage};

/// Counts the pre-tokens of a corpus. [`Counter::finish`] returns the [`Counts`], [`Counter::finish_to`]
/// writes them to a file.
pub struct Counter {
    settings: CountSettings,
    cutters: Cutters,
    workers: Vec<Mutex<Worker>>,
    team: Team,
    feed: Feed,
    spill: Option<Spill>,
}

impl Counter {
    /// Creates a counter. `threads` = 0 means one per core.
    pub fn new(settings: CountSettings, threads: usize) -> Result<Counter> {
        let cutters = Cutters::new(&settings.special_tokens, settings.separator.as_deref())?;
        let team = Team::new(thread_count(threads));
        Ok(Counter {
            cutters,
            workers: (0..team.size()).map(|_| Mutex::default()).collect(),
            settings,
            team,
            feed: Feed::default(),
            spill: None,
        })
    }

    /// Creates a counter on one thread whose counts are in the order in which pre-tokens first occur, and stay in
    /// memory.
    pub fn in_first_seen_order(settings: CountSettings) -> Result<Counter> {
        let mut counter = Counter::new(settings, 1)?;
        counter.workers[0].get_mut().unwrap().first_seen = Some(FirstSeen::default());
        Ok(counter)
    }

    /// Writes counts that do not fit in memory to disk, from now on.
    pub fn spill_to(&mut self, spill: Spill) {
        let share = spill.memory / self.workers.len();
        for worker in &mut self.workers {
            worker.get_mut().unwrap().table.set_limit(share);
        }
        self.spill = Some(spill);
    }

    /// Resumes where an earlier counter stopped and left these runs (see [`Spill::resume`]). The next input
    /// must be number `position.part`, and its beginning up to `position.offset` is skipped.
    pub fn resume(
        &mut self,
        runs: &[String],
        log_len: u64,
        log_crc32: u32,
        position: Position,
        in_document: bool,
    ) {
        if let Some(spill) = &mut self.spill {
            spill.resume(runs, log_len, log_crc32);
        }
        self.feed.resume_at(position, in_document);
    }

    /// Returns whether counts are on disk, or too large to be added up in memory.
    pub fn needs_disk(&self) -> bool {
        let memory: usize = self.workers.iter().map(|worker| worker.lock().unwrap().table.memory()).sum();
        self.spill.as_ref().is_some_and(|spill| !spill.runs().is_empty() || memory > spill.memory / 3)
    }

    /// Counts until there is no more text or a table is full. In the latter case a block is waiting, and all
    /// blocks before it are counted.
    fn count_until_full(
        &self,
        progress: &Progress,
        source: &Mutex<BlockQueue<impl BlockSource>>,
    ) -> Result<()> {
        let (splitter, cutters) = (&self.settings.splitter, &self.cutters);
        let failure = FirstError::default();
        let full = AtomicBool::new(false);
        let work = |member: usize| -> Result<()> {
            let worker = &mut *self.workers[member].lock().unwrap();
            loop {
                progress.check()?;
                if failure.any() {
                    return Ok(());
                }
                // The lock is held only to take a block, so that the next thread can read while this one
                // counts.
                {
                    let BlockQueue { blocks, waiting } = &mut *source.lock().unwrap();
                    let stop = full.load(Relaxed);
                    match waiting.take() {
                        Some(block) => worker.block = block,
                        None if !blocks.next(&mut worker.block, splitter, cutters)? => return Ok(()),
                        None => {}
                    }
                    if stop {
                        *waiting = Some(std::mem::take(&mut worker.block));
                        return Ok(());
                    }
                }
                let position = worker.block.position;
                if let Err(error) = worker.count_block(splitter, cutters) {
                    failure.note(position, error);
                    return Ok(());
                }
                if self.spill.as_ref().is_some_and(|spill| worker.table.is_full() || spill.is_due()) {
                    full.store(true, Relaxed);
                }
            }
        };
        self.team.run(&|member| {
            if let Err(error) = work(member) {
                failure.note(Position::END, error);
            }
        });
        failure.into_result()
    }

    /// Writes all tables to disk, and notes in the log that counting resumes at `next`.
    fn spill(&mut self, next: Position, in_document: bool, progress: &Progress) -> Result<()> {
        let spill = self.spill.as_mut().expect("a table is full only if it can be written");
        spill.begin(progress)?;
        let written = Mutex::new(Ok(Vec::new()));
        self.team.run(&|member| {
            let worker = &mut *self.workers[member].lock().unwrap();
            let run = spill.create(member, &self.settings).and_then(|run| worker.write_run(run, progress));
            match (&mut *written.lock().unwrap(), run) {
                (Ok(runs), Ok(Some(totals))) => runs.push((member, totals)),
                (Err(_), _) | (_, Ok(None)) => {}
                (outcome, Err(error)) => *outcome = Err(error),
            }
        });
        spill.log(written.into_inner().unwrap()?, next, in_document)
    }

    /// Returns a handle that keeps the work folder locked after this counter is gone: whoever removes the
    /// folder must hold it.
    pub fn lock_handle(&self) -> Option<FolderLock> {
        self.spill.as_ref()?.lock_handle()
    }

    /// Writes the counts, and those of other files, to a sorted file. Counts on disk are never loaded as a
    /// whole.
    pub fn finish_to(mut self, out: &Path, others: &[PathBuf], progress: &Progress) -> Result<CountsTotals> {
        let outs = [out.to_path_buf()];
        if self.spill.as_ref().is_some_and(|spill| !spill.runs().is_empty()) {
            self.spill(self.feed.position(), self.feed.in_document(), progress)?;
            let Counter { settings, workers, team, spill, .. } = self;
            drop(workers);
            let spill = spill.expect("it has runs");
            let runs: Vec<PathBuf> = spill.runs().iter().chain(others).cloned().collect();
            let merged = merge::merge_with(
                &settings,
                &runs,
                vec![],
                CountsTotals::default(),
                &outs,
                spill.folder(),
                &team,
                progress,
            );
            return merged.map_err(|error| spill.blame(error));
        }
        let Counter { settings, workers, team, .. } = self;
        let mut workers: Vec<Worker> = workers.into_iter().map(|w| w.into_inner().unwrap()).collect();
        let totals = CountsTotals {
            documents: workers.iter().map(|worker| worker.documents).sum(),
            invalid_bytes: workers.iter().map(|worker| worker.invalid_bytes).sum(),
            ..CountsTotals::default()
        };
        let mut sorted: Vec<Option<Result<Sorted>>> = workers.iter().map(|_| None).collect();
        team.for_each(workers.iter_mut().zip(&mut sorted).collect(), |(worker, sorted)| {
            *sorted = Some(worker.table.sorted(progress));
        });
        let tables = sorted.into_iter().flatten().collect::<Result<_>>()?;
        let scratch = out.parent().unwrap_or(Path::new("."));
        merge::merge_with(&settings, others, tables, totals, &outs, scratch, &team, progress)
    }

    pub fn finish(self, progress: &Progress) -> Result<Counts> {
        let Counter { settings, workers, team, .. } = self;
        let mut workers: Vec<Worker> = workers.into_iter().map(|w| w.into_inner().unwrap()).collect();
        let documents = workers.iter().map(|worker| worker.documents).sum();
        let invalid_bytes = workers.iter().map(|worker| worker.invalid_bytes).sum();
        if let Some(first_seen) = workers[0].first_seen.take() {
            let mut counts = first_seen.into_counts(settings)?;
            (counts.documents, counts.invalid_bytes) = (documents, invalid_bytes);
            return Ok(counts);
        }
        // A tournament: in each round, one half of the tables absorbs the other half in parallel.
        let mut tables: Vec<PretokenTable> = workers.drain(..).map(|worker| worker.table).collect();
        while tables.len() > 1 {
            tables.sort_by_key(|table| std::cmp::Reverse(table.len()));
            let smaller = tables.split_off(tables.len().div_ceil(2));
            let pairs = tables.iter_mut().zip(smaller).collect();
            team.for_each(pairs, |(table, other): (&mut PretokenTable, PretokenTable)| {
                table.absorb(other, progress)
            });
            progress.check()?;
        }
        let mut counts = tables.pop().expect("a team has a member").into_counts(settings)?;
        counts.documents = documents;
        counts.invalid_bytes = invalid_bytes;
        Ok(counts)
    }
}

impl Consumer for Counter {
    const STAGE: Stage = Stage::Count;

    fn feed(&self) -> &Feed {
        &self.feed
    }

    fn feed_mut(&mut self) -> &mut Feed {
        &mut self.feed
    }

    /// Counts all blocks, on all threads. Whenever a table is full, all tables are written to disk.
    fn consume(&mut self, blocks: impl BlockSource, progress: &Progress) -> Result<()> {
        let mut source = Mutex::new(BlockQueue { blocks, waiting: None });
        loop {
            self.count_until_full(progress, &source)?;
            let Some(block) = &source.get_mut().unwrap().waiting else { return Ok(()) };
            let (position, in_document) = (block.position, !block.starts_document);
            self.spill(position, in_document, progress)?;
        }
    }
}

/// Where blocks come from, and the block that was taken while some table was full.
struct BlockQueue<S> {
    blocks: S,
    waiting: Option<Block>,
}

/// The state of one thread.
#[derive(Default)]
#[repr(align(128))] // so that threads do not write to the same cache line
struct Worker {
    block: Block,
    table: PretokenTable,
    /// Counts in the place of the table, if the order matters.
    first_seen: Option<FirstSeen>,
    documents: u64,
    invalid_bytes: u64,
    scratch: Scratch,
    ends: Vec<u32>,
}

impl Worker {
    /// Writes the counts of this thread to a file, unless there are none, and clears them.
    fn write_run(&mut self, mut writer: CountsWriter, progress: &Progress) -> Result<Option<CountsTotals>> {
        let (documents, invalid_bytes) = (self.documents, self.invalid_bytes);
        if self.table.len() == 0 && documents == 0 {
            return Ok(None);
        }
        let mut sorted = self.table.sorted(progress)?;
        let mut written = 0u64;
        while sorted.advance() {
            if written.is_multiple_of(LOOK) {
                progress.check()?;
            }
            written += 1;
            writer.push(sorted.pretoken(), sorted.count())?;
        }
        let totals = writer.finish(documents, invalid_bytes)?;
        self.table.clear();
        (self.documents, self.invalid_bytes) = (0, 0);
        Ok(Some(totals))
    }

    fn count_block(&mut self, splitter: &Splitter, cutters: &Cutters) -> Result<()> {
        let mut block = std::mem::take(&mut self.block);
        block.decode()?;
        for part in block.parts() {
            let mut fresh = part.starts_document;
            if let Some(ends) = &block.ends {
                self.tally(part.text, ends);
                self.documents += fresh as u64;
                continue;
            }
            cutters.for_each_stretch(part.text, |stretch, follows| {
                let something = !stretch.is_empty() || follows == Boundary::Special;
                self.documents += (fresh && something) as u64;
                fresh = follows == Boundary::Separator || (fresh && !something);
                self.count_stretch(stretch, splitter)
            })?;
        }
        self.block = block;
        Ok(())
    }

    /// Counts text without special tokens. A byte that is not valid UTF-8 is a pre-token, and the text on
    /// either side of it is split independently.
    fn count_stretch(&mut self, stretch: &[u8], splitter: &Splitter) -> Result<()> {
        if let Ok(text) = simdutf8::basic::from_utf8(stretch) {
            return self.count_text(text, splitter);
        }
        for chunk in stretch.utf8_chunks() {
            self.count_text(chunk.valid(), splitter)?;
            for byte in chunk.invalid() {
                match &mut self.first_seen {
                    None => self.table.add(&[*byte], 1),
                    Some(first_seen) => first_seen.add(&[*byte]),
                }
                self.invalid_bytes += 1;
            }
        }
        Ok(())
    }

    /// Counts valid text, in parts that stay in the cache between splitting and counting if the pattern has
    /// safe cuts.
    fn count_text(&mut self, mut text: &str, splitter: &Splitter) -> Result<()> {
        const PART: usize = 1 << 15;
        while text.len() > PART && splitter.tier() == Tier::Scanner {
            let Some(cut) = splitter.last_cut(&text[..text.floor_char_boundary(PART)]) else { break };
            let (part, rest) = text.split_at(cut);
            self.count_part(part, splitter)?;
            text = rest;
        }
        self.count_part(text, splitter)
    }

    fn count_part(&mut self, text: &str, splitter: &Splitter) -> Result<()> {
        let mut ends = std::mem::take(&mut self.ends);
        ends.clear();
        let split = splitter.split(text, &mut self.scratch, &mut ends);
        if split.is_ok() {
            self.tally(text.as_bytes(), &ends);
        }
        self.ends = ends;
        split
    }

    /// Counts the pre-tokens of `text`, whose ends are in `ends`.
    fn tally(&mut self, text: &[u8], ends: &[u32]) {
        match &mut self.first_seen {
            None => self.table.count(text, ends),
            Some(first_seen) => first_seen.count(text, ends),
        }
    }
}

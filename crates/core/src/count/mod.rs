//! Count: how often each pre-token occurs. Exact, in parallel, in 64 bits.
//!
//! Every thread takes the next block of text, splits it and counts into a table of its own; the tables are
//! added up at the end. The result does not depend on where blocks were cut or who counted them.
//!
//! Under a limit on memory (`spill`), tables that are full are sorted and written to disk as *runs*, and the
//! runs are merged at the end, pre-token by pre-token (`merge`). So the number of unique pre-tokens is
//! limited by the disk alone, and what was written need not be counted again.

mod counts;
mod file;
mod merge;
mod sorted;
mod spill;
mod table;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

pub use self::counts::Counts;
use self::file::LOOK;
pub use self::file::{Numbers, Reader, Writer, top};
pub use self::merge::{merge_files, part_of};
use self::sorted::Sorted;
pub use self::spill::Spill;
use self::table::Table;
use crate::corpus::{
    Block, Blocks, Boundary, Cutters, Documents, Files, FirstError, Place, Range, Reading, Skipped, Skips,
    Stream, Terms,
};
use crate::split::{Scratch, Splitter, Tier};
use crate::team::{Team, thread_count};
use crate::{Error, Progress, Result, Stage};

/// What decides which pre-tokens a corpus has. Counts carry it, and only like adds to like.
#[derive(Clone)]
pub struct Settings {
    pub splitter: Splitter,
    /// Cut out of the text before it is split, and never counted.
    pub special_tokens: Vec<String>,
    /// What stands between documents; cut out likewise.
    pub separator: Option<String>,
}

impl Settings {
    pub fn new(
        splitter: Splitter,
        special_tokens: Vec<String>,
        separator: Option<String>,
    ) -> Result<Settings> {
        if let Some(twice) = sorted(&special_tokens).windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::BadSpecial {
                token: twice[0].clone(),
                reason: "is given twice; name it once",
            });
        }
        let empty = special_tokens.iter().any(String::is_empty);
        if empty || separator.as_ref().is_some_and(String::is_empty) {
            let reason = "is empty; a special token or separator needs at least one character";
            return Err(Error::BadSpecial { token: String::new(), reason });
        }
        Ok(Settings { splitter, special_tokens, separator })
    }

    pub fn words(&self) -> Words {
        Words {
            pattern: self.splitter.pattern().into(),
            special_tokens: self.special_tokens.clone(),
            separator: self.separator.clone(),
        }
    }

    pub fn must_equal(&self, other: &Settings) -> Result<()> {
        self.words().must_equal(&other.words())
    }
}

/// Settings as a file has them: nothing is compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    pub pattern: String,
    pub special_tokens: Vec<String>,
    pub separator: Option<String>,
}

impl Words {
    /// An error that names the first difference.
    pub fn must_equal(&self, other: &Words) -> Result<()> {
        let unlike = |what, ours: &dyn std::fmt::Debug, theirs: &dyn std::fmt::Debug| {
            Err(Error::UnlikeCounts { what, ours: format!("{ours:?}"), theirs: format!("{theirs:?}") })
        };
        if self.pattern != other.pattern {
            return unlike("pattern", &self.pattern, &other.pattern);
        }
        if sorted(&self.special_tokens) != sorted(&other.special_tokens) {
            return unlike("special tokens", &self.special_tokens, &other.special_tokens);
        }
        if self.separator != other.separator {
            return unlike("separator", &self.separator, &other.separator);
        }
        Ok(())
    }
}

/// The order of special tokens decides their ids and nothing about the counts.
fn sorted(tokens: &[String]) -> Vec<&String> {
    let mut tokens: Vec<&String> = tokens.iter().collect();
    tokens.sort();
    tokens
}

/// Adds documents up; `finish` gives the [`Counts`], `finish_to` puts them in a file.
pub struct Counter {
    settings: Settings,
    cutters: Cutters,
    workers: Vec<Mutex<Worker>>,
    team: Team,
    skips: Arc<Skips>,
    /// Where what is added next begins, and whether that is inside a document.
    place: Place,
    in_document: bool,
    spill: Option<Spill>,
}

impl Counter {
    /// `threads` = 0 means one per core.
    pub fn new(settings: Settings, threads: usize) -> Counter {
        let team = Team::new(thread_count(threads));
        Counter {
            cutters: Cutters::new(&settings.special_tokens, settings.separator.as_deref()),
            workers: (0..team.size()).map(|_| Mutex::default()).collect(),
            settings,
            team,
            skips: Arc::default(),
            place: Place::default(),
            in_document: false,
            spill: None,
        }
    }

    /// Writes what does not fit in memory to disk, from now on.
    pub fn spill_to(&mut self, spill: Spill) {
        let share = spill.memory / self.workers.len();
        for worker in &mut self.workers {
            worker.get_mut().unwrap().table.set_limit(share);
        }
        self.spill = Some(spill);
    }

    /// Goes on where an earlier counter stopped that has left these runs (see [`Spill::resume`]): the first
    /// of what is added is the part `place.part`, and its beginning up to `place.offset` is skipped.
    pub fn resume(&mut self, runs: &[String], log_len: u64, place: Place, in_document: bool) {
        if let Some(spill) = &mut self.spill {
            spill.resume(runs, log_len);
        }
        self.place = place;
        self.in_document = in_document;
    }

    /// Whether some of the counts are on disk, or as many in memory as it takes to add them up.
    pub fn needs_disk(&self) -> bool {
        let memory: usize = self.workers.iter().map(|worker| worker.lock().unwrap().table.memory()).sum();
        self.spill.as_ref().is_some_and(|spill| !spill.runs().is_empty() || memory > spill.memory / 3)
    }

    /// Each slice is a document of its own.
    pub fn add_documents(&mut self, documents: &[&[u8]], progress: &Progress) -> Result<()> {
        let mut source = Documents::new(documents, self.place, progress);
        self.count(progress, move |block, splitter, cutters| source.next(block, splitter, cutters))?;
        self.skip_parts(documents.len());
        Ok(())
    }

    /// Each text file is a document of its own, or several where the separator stands in it; so is each
    /// record.
    pub fn add_files(&mut self, paths: &[PathBuf], reading: &Reading, progress: &Progress) -> Result<()> {
        let sizes = paths.iter().map(|path| path.metadata().map_or(0, |data| data.len()));
        progress.begin(Stage::Count, sizes.sum());
        let skips = Arc::clone(&self.skips);
        let terms = Terms { reading, skips: &skips, progress };
        let mut files = Files::new(paths, self.place, terms);
        self.count(progress, move |block, splitter, cutters| files.next(block, splitter, cutters))?;
        self.skip_parts(paths.len());
        Ok(())
    }

    /// A stream such as standard input; its name says what it holds.
    pub fn add_reader(
        &mut self,
        reader: impl Read + Send,
        name: &Path,
        reading: &Reading,
        progress: &Progress,
    ) -> Result<()> {
        let skips = Arc::clone(&self.skips);
        let terms = Terms { reading, skips: &skips, progress };
        begin(progress);
        let mut stream = Stream::new(reader, name, self.place, terms)?;
        self.count(progress, move |block, splitter, cutters| stream.next(block, splitter, cutters))?;
        self.skip_parts(1);
        Ok(())
    }

    /// What could not be read and was left out.
    pub fn skipped(&self) -> Skipped {
        self.skips.skipped()
    }

    /// The bytes of a file of plain text from `start` to `end`, which
    /// [`shard_cuts`](crate::corpus::shard_cuts) has found.
    pub fn add_range(
        &mut self,
        path: &Path,
        start: u64,
        end: u64,
        in_document: bool,
        progress: &Progress,
    ) -> Result<()> {
        self.place.offset = start;
        self.in_document = in_document;
        let mut blocks = Blocks::new(Range::open(path, start, end)?, path, self.place);
        self.count(progress, move |block, splitter, cutters| blocks.next(block, splitter, cutters))?;
        self.skip_parts(1);
        Ok(())
    }

    fn skip_parts(&mut self, parts: usize) {
        if parts > 0 {
            self.place = Place { part: self.place.part + parts as u64, ..Place::default() };
            self.in_document = false;
        }
    }

    /// Takes blocks from `next` until it says false, on all threads.
    fn count(
        &mut self,
        progress: &Progress,
        next: impl FnMut(&mut Block, &Splitter, &Cutters) -> Result<bool> + Send,
    ) -> Result<()> {
        begin(progress);
        let mut source = Mutex::new(Queue { next, waiting: None });
        loop {
            self.count_until_full(progress, &source)?;
            let Some(block) = &source.get_mut().unwrap().waiting else { return Ok(()) };
            let (place, in_document) = (block.place, !block.starts_document);
            self.spill(place, in_document, progress)?;
        }
    }

    /// Until there is no more text, or some table is full; then a block is waiting, and all before it are
    /// counted.
    fn count_until_full<N>(&self, progress: &Progress, source: &Mutex<Queue<N>>) -> Result<()>
    where
        N: FnMut(&mut Block, &Splitter, &Cutters) -> Result<bool> + Send,
    {
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
                // Taken apart from the work, so that the next thread can read while this one counts.
                {
                    let Queue { next, waiting } = &mut *source.lock().unwrap();
                    let stop = full.load(Relaxed);
                    match waiting.take() {
                        Some(block) => worker.block = block,
                        None if !next(&mut worker.block, splitter, cutters)? => return Ok(()),
                        None => {}
                    }
                    // Who goes on in the middle of a document has counted it already.
                    if self.in_document && worker.block.place == self.place {
                        worker.block.starts_document = false;
                    }
                    if stop {
                        *waiting = Some(std::mem::take(&mut worker.block));
                        return Ok(());
                    }
                }
                let place = worker.block.place;
                if let Err(error) = worker.count_block(splitter, cutters) {
                    failure.note(place, error);
                    return Ok(());
                }
                if self.spill.as_ref().is_some_and(|spill| worker.table.is_full() || spill.is_due()) {
                    full.store(true, Relaxed);
                }
            }
        };
        self.team.run(&|member| {
            if let Err(error) = work(member) {
                failure.note(Place::BEYOND, error);
            }
        });
        failure.into_result()
    }

    /// Writes all tables to disk, and into the log that counting goes on at `next`.
    fn spill(&mut self, next: Place, in_document: bool, progress: &Progress) -> Result<()> {
        let spill = self.spill.as_mut().expect("only who may write has a full table");
        spill.begin(progress)?;
        let written = Mutex::new(Ok(Vec::new()));
        self.team.run(&|member| {
            let worker = &mut *self.workers[member].lock().unwrap();
            let run = spill.create(member, &self.settings).and_then(|run| worker.write_run(run, progress));
            match (&mut *written.lock().unwrap(), run) {
                (Ok(runs), Ok(Some(numbers))) => runs.push((member, numbers)),
                (Err(_), _) | (_, Ok(None)) => {}
                (outcome, Err(error)) => *outcome = Err(error),
            }
        });
        spill.log(written.into_inner().unwrap()?, next, in_document)
    }

    /// Puts the counts in a file, sorted, and with them those of other files. What is on disk never comes
    /// back into memory as a whole.
    pub fn finish_to(mut self, out: &Path, others: &[PathBuf], progress: &Progress) -> Result<Numbers> {
        let outs = [out.to_path_buf()];
        if self.spill.as_ref().is_some_and(|spill| !spill.runs().is_empty()) {
            self.spill(self.place, self.in_document, progress)?;
            let Counter { settings, workers, spill, .. } = self;
            drop(workers);
            let spill = spill.expect("it has runs");
            let runs: Vec<PathBuf> = spill.runs().iter().chain(others).cloned().collect();
            let merged = merge::merge_with(
                &settings,
                &runs,
                vec![],
                Numbers::default(),
                &outs,
                spill.folder(),
                progress,
            );
            return merged.map_err(|error| spill.blame(error));
        }
        let Counter { settings, workers, team, .. } = self;
        let mut workers: Vec<Worker> = workers.into_iter().map(|w| w.into_inner().unwrap()).collect();
        let numbers = Numbers {
            documents: workers.iter().map(|worker| worker.documents).sum(),
            invalid_bytes: workers.iter().map(|worker| worker.invalid_bytes).sum(),
            ..Numbers::default()
        };
        let mut sorted: Vec<Option<Result<Sorted>>> = workers.iter().map(|_| None).collect();
        team.for_each(workers.iter_mut().zip(&mut sorted).collect(), |(worker, sorted)| {
            *sorted = Some(worker.table.sorted(progress));
        });
        let tables = sorted.into_iter().flatten().collect::<Result<_>>()?;
        let scratch = out.parent().unwrap_or(Path::new("."));
        merge::merge_with(&settings, others, tables, numbers, &outs, scratch, progress)
    }

    pub fn finish(self, progress: &Progress) -> Result<Counts> {
        let Counter { settings, workers, team, .. } = self;
        let mut workers: Vec<Worker> = workers.into_iter().map(|w| w.into_inner().unwrap()).collect();
        let documents = workers.iter().map(|worker| worker.documents).sum();
        let invalid_bytes = workers.iter().map(|worker| worker.invalid_bytes).sum();
        // A tournament: in each round half of the tables take in the other half, side by side.
        let mut tables: Vec<Table> = workers.drain(..).map(|worker| worker.table).collect();
        while tables.len() > 1 {
            tables.sort_by_key(|table| std::cmp::Reverse(table.len()));
            let smaller = tables.split_off(tables.len().div_ceil(2));
            let pairs = tables.iter_mut().zip(smaller).collect();
            team.for_each(pairs, |(table, other): (&mut Table, Table)| table.absorb(other, progress));
            progress.check()?;
        }
        let mut counts = tables.pop().expect("a team has a member").into_counts(settings)?;
        counts.documents = documents;
        counts.invalid_bytes = invalid_bytes;
        Ok(counts)
    }
}

/// Begins to count, unless that was begun already with a known total.
fn begin(progress: &Progress) {
    if progress.snapshot().0 != Stage::Count {
        progress.begin(Stage::Count, 0);
    }
}

/// Where blocks come from, and one that was taken while some table was full.
struct Queue<N> {
    next: N,
    waiting: Option<Block>,
}

/// What one thread counts into.
#[derive(Default)]
#[repr(align(128))] // so that threads do not write to the same cache line
struct Worker {
    block: Block,
    table: Table,
    documents: u64,
    invalid_bytes: u64,
    scratch: Scratch,
    ends: Vec<u32>,
}

impl Worker {
    /// Writes what it has counted to a file, if it has counted anything, and begins anew.
    fn write_run(&mut self, mut writer: Writer, progress: &Progress) -> Result<Option<Numbers>> {
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
        let numbers = writer.finish(documents, invalid_bytes)?;
        self.table.clear();
        (self.documents, self.invalid_bytes) = (0, 0);
        Ok(Some(numbers))
    }

    fn count_block(&mut self, splitter: &Splitter, cutters: &Cutters) -> Result<()> {
        let mut block = std::mem::take(&mut self.block);
        block.decode()?;
        for part in block.parts() {
            let mut fresh = part.starts_document;
            if let Some(ends) = &block.ends {
                self.table.count(part.text, ends);
                self.documents += fresh as u64;
                continue;
            }
            cutters.for_each_stretch(part.text, |stretch, behind| {
                let something = !stretch.is_empty() || behind == Boundary::Special;
                self.documents += (fresh && something) as u64;
                fresh = behind == Boundary::Separator || (fresh && !something);
                self.count_stretch(stretch, splitter)
            })?;
        }
        self.block = block;
        Ok(())
    }

    /// Text without special tokens. A byte that is not part of valid UTF-8 is a pre-token of its own, and the
    /// text on its two sides is split apart.
    fn count_stretch(&mut self, stretch: &[u8], splitter: &Splitter) -> Result<()> {
        if let Ok(text) = simdutf8::basic::from_utf8(stretch) {
            return self.count_text(text, splitter);
        }
        for chunk in stretch.utf8_chunks() {
            self.count_text(chunk.valid(), splitter)?;
            for byte in chunk.invalid() {
                self.table.add(&[*byte], 1);
                self.invalid_bytes += 1;
            }
        }
        Ok(())
    }

    /// In parts that stay in the cache from the split to the count, where the pattern has safe cuts.
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
        self.ends.clear();
        splitter.split(text, &mut self.scratch, &mut self.ends)?;
        self.table.count(text.as_bytes(), &self.ends);
        Ok(())
    }
}

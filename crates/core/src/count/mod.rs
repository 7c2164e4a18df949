//! Count: how often each piece occurs. Exact, in parallel, in 64 bits.
//!
//! Every thread takes the next block of text, splits it and counts into a table of its own; the tables are
//! added up at the end. The result does not depend on where blocks were cut or who counted them.

mod counts;
mod file;
mod table;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub use self::counts::Counts;
use self::table::Table;
use crate::corpus::{
    Block, Boundary, Cutters, Documents, Files, Place, Reading, Skipped, Skips, Stream, Terms,
};
use crate::split::{Scratch, Splitter, Tier};
use crate::team::{Team, thread_count};
use crate::{Error, Progress, Result, Stage};

/// What decides which pieces a corpus has. Counts carry it, and only like adds to like.
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

    /// An error that names the first difference.
    pub fn must_equal(&self, other: &Settings) -> Result<()> {
        let unlike = |what, ours: &dyn std::fmt::Debug, theirs: &dyn std::fmt::Debug| {
            Err(Error::UnlikeCounts { what, ours: format!("{ours:?}"), theirs: format!("{theirs:?}") })
        };
        if self.splitter.pattern() != other.splitter.pattern() {
            return unlike("pattern", &self.splitter.pattern(), &other.splitter.pattern());
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

/// Adds documents up; `finish` gives the [`Counts`].
pub struct Counter {
    settings: Settings,
    cutters: Cutters,
    workers: Vec<Mutex<Worker>>,
    team: Team,
    skips: Arc<Skips>,
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
        }
    }

    /// Each slice is a document of its own.
    pub fn add_documents(&mut self, documents: &[&[u8]], progress: &Progress) -> Result<()> {
        let mut documents = Documents::new(documents, Place::default(), progress);
        self.count(progress, move |block, splitter, cutters| documents.next(block, splitter, cutters))
    }

    /// Each text file is a document of its own, or several where the separator stands in it; so is each record.
    pub fn add_files(&mut self, paths: &[PathBuf], reading: &Reading, progress: &Progress) -> Result<()> {
        let sizes = paths.iter().map(|path| path.metadata().map_or(0, |data| data.len()));
        progress.begin(Stage::Count, sizes.sum());
        let terms = Terms { reading, skips: &self.skips, progress };
        let mut files = Files::new(paths, Place::default(), terms);
        self.count(progress, move |block, splitter, cutters| files.next(block, splitter, cutters))
    }

    /// A stream such as standard input; its name says what it holds.
    pub fn add_reader(
        &mut self,
        reader: impl Read + Send,
        name: &Path,
        reading: &Reading,
        progress: &Progress,
    ) -> Result<()> {
        let terms = Terms { reading, skips: &self.skips, progress };
        begin(progress);
        let mut stream = Stream::new(reader, name, Place::default(), terms)?;
        self.count(progress, move |block, splitter, cutters| stream.next(block, splitter, cutters))
    }

    /// What could not be read and was left out.
    pub fn skipped(&self) -> Skipped {
        self.skips.skipped()
    }

    /// Takes blocks from `next` until it says false, on all threads.
    fn count(
        &self,
        progress: &Progress,
        next: impl FnMut(&mut Block, &Splitter, &Cutters) -> Result<bool> + Send,
    ) -> Result<()> {
        begin(progress);
        let (splitter, cutters) = (&self.settings.splitter, &self.cutters);
        let next = Mutex::new(next);
        let failure = Mutex::new(None);
        let work = |member: usize| -> Result<()> {
            let worker = &mut *self.workers[member].lock().unwrap();
            loop {
                progress.check()?;
                if failure.lock().unwrap().is_some() {
                    return Ok(());
                }
                // Taken apart from the work, so that the next thread can read while this one counts.
                let more = (*next.lock().unwrap())(&mut worker.block, splitter, cutters)?;
                if !more {
                    return Ok(());
                }
                worker.count_block(splitter, cutters)?;
            }
        };
        self.team.run(&|member| {
            if let Err(error) = work(member) {
                failure.lock().unwrap().get_or_insert(error);
            }
        });
        failure.into_inner().unwrap().map_or(Ok(()), Err)
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

    /// Text without special tokens. A byte that is not part of valid UTF-8 is a piece of its own, and the
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

//! Spill: counts that do not fit in memory are written to a work folder, with a log.
//!
//! ```text
//! job.json            what is counted, as the caller describes it; written first
//! run-00000.counts    the counts of one thread when memory was full, or a checkpoint was due
//! log.jsonl           a line for each time: the runs, and the position at which counting resumes
//! ```
//!
//! A line ends with the CRC-32 of the log up to there, so that a changed, missing or repeated line is found.
//!
//! A line is written once its runs are on disk under their final names, and is flushed before counting
//! continues. After a crash, everything in the log is therefore complete; a torn last line, and runs that no
//! line names, were being written and are counted again. The folder is created and locked when there is
//! something to write.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{CountSettings, CountsTotals, CountsWriter};
use crate::corpus::Position;
use crate::disk::File;
use crate::durable::{Replacement, is_at, lock, sync_folder};
use crate::{Error, Progress, Result};

const JOB: &str = "job.json";
const LOG: &str = "log.jsonl";

/// Keeps a work folder locked as long as it exists.
pub struct FolderLock(#[expect(dead_code, reason = "unlocks when it is dropped")] File);

/// Where and when tables are written to disk.
pub struct Spill {
    folder: PathBuf,
    /// How many bytes all tables together may take.
    pub(super) memory: usize,
    /// Tables are written at least this often; None if the work will not be resumed.
    every: Option<Duration>,
    job: String,
    lock: Option<File>,
    begun: bool,
    runs: Vec<PathBuf>,
    /// The number of the next run.
    number: u64,
    /// How many bytes of the log are valid.
    log_len: u64,
    /// The checksum of those bytes.
    log_sum: crc32fast::Hasher,
    last: Instant,
}

impl Spill {
    /// Creates a spill. `job` is written to the folder verbatim, and says what is counted.
    pub fn new(folder: &Path, memory: usize, every: Option<Duration>, job: String) -> Spill {
        Spill {
            folder: folder.into(),
            memory,
            every,
            job,
            lock: None,
            begun: false,
            runs: Vec::new(),
            number: 0,
            log_len: 0,
            log_sum: crc32fast::Hasher::new(),
            last: Instant::now(),
        }
    }

    /// Continues the work of an earlier counter: its runs, by name, and the first `log_len` bytes of its log,
    /// whose checksum is `log_crc32`.
    pub fn resume(&mut self, runs: &[String], log_len: u64, log_crc32: u32) {
        let number = |name: &String| name.strip_prefix("run-")?.strip_suffix(".counts")?.parse::<u64>().ok();
        self.number = runs.iter().filter_map(number).max().map_or(0, |last| last + 1);
        self.runs = runs.iter().map(|name| self.folder.join(name)).collect();
        self.log_len = log_len;
        self.log_sum = crc32fast::Hasher::new_with_initial(log_crc32);
        self.begun = true;
    }

    /// Locks the folder. Returns false if it does not exist.
    pub fn lock(&mut self, progress: &Progress) -> Result<bool> {
        let exists = self.folder.is_dir();
        if self.lock.is_none() && exists {
            self.lock = lock(&self.folder, progress)?;
        }
        Ok(exists)
    }

    /// Returns a handle that keeps the folder locked after this spill is gone.
    pub fn lock_handle(&self) -> Option<FolderLock> {
        self.lock.as_ref()?.try_clone().ok().map(FolderLock)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn runs(&self) -> &[PathBuf] {
        &self.runs
    }

    pub(super) fn is_due(&self) -> bool {
        self.every.is_some_and(|every| self.last.elapsed() >= every)
    }

    /// Creates the folder, unless that was done.
    pub(super) fn begin(&mut self, progress: &Progress) -> Result<()> {
        if !self.begun {
            let path = self.folder.join(JOB);
            if self.lock.as_ref().is_some_and(|lock| !is_at(lock, &self.folder)) {
                self.lock = None; // of a folder that was removed
            }
            loop {
                let made = fs::create_dir_all(&self.folder);
                made.map_err(|source| Error::Write { path: self.folder.clone(), source })?;
                // Another process may remove the folder as long as it is not locked.
                if self.lock(progress)? && self.folder.is_dir() {
                    break;
                }
            }
            // The caller has removed the job that it found, so another process has begun since.
            if path.exists() {
                return Err(Error::BusyFolder { path: self.folder.clone() });
            }
            let written = Replacement::create(&path).and_then(|mut new| {
                new.file.write_all(self.job.as_bytes())?;
                new.finish(true)
            });
            written.map_err(|source| Error::Write { path, source })?;
            self.begun = true;
        }
        self.lock(progress).map(|_| ())
    }

    /// Creates the next run of a thread.
    pub(super) fn create(&self, member: usize, settings: &CountSettings) -> Result<CountsWriter> {
        let run = CountsWriter::create(&self.path(member), settings)?;
        Ok(if self.is_durable() { run } else { run.passing() })
    }

    /// Returns whether the work may be resumed.
    fn is_durable(&self) -> bool {
        self.every.is_some()
    }

    fn path(&self, member: usize) -> PathBuf {
        self.folder.join(format!("run-{:05}.counts", self.number + member as u64))
    }

    /// Logs the runs of these members; counting resumes at `next`.
    pub(super) fn log(
        &mut self,
        mut runs: Vec<(usize, CountsTotals)>,
        next: Position,
        in_document: bool,
    ) -> Result<()> {
        runs.sort_unstable_by_key(|&(member, _)| member);
        let mut line = String::from("{\"runs\": [");
        for (nth, (member, totals)) in runs.iter().enumerate() {
            let path = self.path(*member);
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let comma = if nth > 0 { ", " } else { "" };
            let bytes = path.metadata().map_or(0, |data| data.len());
            line += &format!(
                "{comma}{{\"name\": \"{name}\", \"bytes\": {bytes}, \"pretokens\": {}, \"total\": {}}}",
                totals.pretokens, totals.total
            );
        }
        line += &format!(
            "], \"next\": {{\"part\": {}, \"offset\": {}, \"within\": {}, \"in_document\": {in_document}}}",
            next.part, next.offset, next.within
        );
        self.append(line).map_err(|source| Error::Write { path: self.folder.join(LOG), source })?;
        let paths: Vec<PathBuf> = runs.iter().map(|&(member, _)| self.path(member)).collect();
        self.runs.extend(paths);
        self.number += runs.last().map_or(0, |&(member, _)| member as u64 + 1);
        self.last = Instant::now();
        Ok(())
    }

    /// Ends a line with its checksum and appends it to the log.
    fn append(&mut self, mut line: String) -> io::Result<()> {
        let mut sum = self.log_sum.clone();
        sum.update(line.as_bytes());
        let seal = format!(", \"log_crc32\": \"{:08x}\"}}\n", sum.clone().finalize());
        sum.update(seal.as_bytes());
        line += &seal;
        let mut log = File::with(OpenOptions::new().create(true).append(true), &self.folder.join(LOG))?;
        // Remove what a crash or a full disk has torn.
        log.set_len(self.log_len)?;
        log.write_all(line.as_bytes())?;
        if self.is_durable() {
            log.sync()?;
            if self.log_len == 0 {
                sync_folder(&self.folder);
            }
        }
        self.log_len += line.len() as u64;
        self.log_sum = sum;
        Ok(())
    }

    /// Names this folder in the error if one of its own runs is corrupt, and not a file of the caller.
    pub(super) fn blame(&self, error: Error) -> Error {
        match error {
            Error::BadCountsFile { path, reason } if self.runs.contains(&path) => {
                Error::BadRun { path, reason }
            }
            Error::Read { path, source }
                if self.runs.contains(&path) && source.kind() == io::ErrorKind::NotFound =>
            {
                Error::BadRun { path, reason: source.to_string() }
            }
            other => other,
        }
    }
}

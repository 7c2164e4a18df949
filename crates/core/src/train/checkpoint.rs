//! Checkpoint: a log of the merges on disk, so that a training that was killed resumes where it stopped.
//!
//! ```text
//! merganser merges 1⇥counts=…⇥tie_break=…⇥… 5d41402a       the settings that these merges belong to
//! 32 116 90210 9b1c0e77                                      left id, right id, count
//! ```
//! The log is text, for people too. Each line ends with the CRC-32 of everything up to there: a torn line and
//! everything after it is cut off, and training learns those merges again. A merge depends on the pre-tokens,
//! the rules and the merges before it, never on how many are to follow: so the log of a training serves any
//! number of merges.
//!
//! Cost: one line per merge, appended and flushed to the disk at the interval that the caller sets. Nothing
//! is written while a merge is applied.

use std::fs::{OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Merges, Source, TrainSettings};
use crate::disk::File;
use crate::durable::sync_folder;
use crate::key::{self, PACKED};
use crate::{Error, Progress, Result, Tokenizer};

const MAGIC: &str = "merganser merges 1";

/// The log of one training, locked against other processes. The file is created when there is something to
/// write.
pub struct MergeLog {
    path: PathBuf,
    file: Option<File>,
    /// The first line.
    header: String,
    sum: crc32fast::Hasher,
    /// The merges in the file.
    noted: Merges,
    every: Duration,
    last: Instant,
}

impl MergeLog {
    /// Opens the log of this training, if there is one. The log of another training is an error, unless
    /// `restart` is set: then it is emptied, whatever it holds.
    pub fn open(
        path: &Path,
        source: &Source,
        settings: &TrainSettings,
        restart: bool,
        every: Duration,
    ) -> Result<MergeLog> {
        let ours = identity(source, settings)?;
        let mut header = String::new();
        push_line(&mut header, &format!("{MAGIC}\t{}", ours.join("\t")), &mut crc32fast::Hasher::new());
        let mut log = MergeLog {
            path: path.into(),
            file: None,
            header,
            sum: crc32fast::Hasher::new(),
            noted: Merges::default(),
            every,
            last: Instant::now(),
        };
        if path.exists() {
            log.read(&ours, restart)?;
        }
        Ok(log)
    }

    fn read(&mut self, ours: &[String], restart: bool) -> Result<()> {
        let path = self.path.clone();
        let mut file = self.open_file()?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|source| Error::Read { path: path.clone(), source })?;
        self.file = Some(file);
        let mut lines = text.split_inclusive(|&byte| byte == b'\n');
        let first = lines.next().unwrap_or_default();
        // A part of our own header means that the very first write was torn.
        let torn = !first.ends_with(b"\n") && self.header.as_bytes().starts_with(first);
        if restart || torn {
            return self.begin();
        }
        let found = self.check(first).map(|line| line.split('\t').map(str::to_owned).collect());
        let found: Vec<String> = found.unwrap_or_default();
        let difference = match found.split_first() {
            Some((magic, theirs)) if magic == MAGIC => difference(ours, theirs),
            _ => Some("it is corrupt, or not a merge log".into()),
        };
        if let Some(reason) = difference {
            return Err(Error::OtherCheckpoint { path, reason });
        }
        let mut end = first.len();
        for line in lines {
            let Some((pair, count)) = self.check(line).and_then(parse) else { break };
            self.noted.pairs.push(pair);
            self.noted.counts.push(count);
            end += line.len();
        }
        self.cut(end)
    }

    fn open_file(&self) -> Result<File> {
        let mut open = OpenOptions::new();
        let file = File::with(open.read(true).write(true).create(true).truncate(false), &self.path);
        let file = file.map_err(|source| Error::Write { path: self.path.clone(), source })?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(Error::BusyCheckpoint { path: self.path.clone() }),
            _ => Ok(file),
        }
    }

    /// Empties the file and writes the header.
    fn begin(&mut self) -> Result<()> {
        if let Err(error) = self.cut(0) {
            self.file = None;
            return Err(error);
        }
        self.sum = crc32fast::Hasher::new();
        let header = self.header.clone();
        self.check(header.as_bytes());
        if let Err(error) = self.append(&header) {
            self.file = None; // the next write begins again, and no merge comes before the header
            return Err(error);
        }
        self.path.parent().into_iter().for_each(sync_folder);
        Ok(())
    }

    /// Whether there is a file.
    pub(super) fn is_begun(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the first merges of the log, at most `most`.
    pub(super) fn learned(&self, most: usize) -> Merges {
        let Merges { pairs, counts } = &self.noted;
        let n = pairs.len().min(most);
        Merges { pairs: pairs[..n].to_vec(), counts: counts[..n].to_vec() }
    }

    /// Writes the log if the interval has passed since the last write.
    pub(super) fn write_if_due(&mut self, merges: &Merges) -> Result<()> {
        if self.last.elapsed() >= self.every { self.write(merges) } else { Ok(()) }
    }

    /// Appends the merges that are not in the log yet.
    pub(super) fn write(&mut self, merges: &Merges) -> Result<()> {
        if self.file.is_none() {
            if let Some(folder) = self.path.parent() {
                let made = std::fs::create_dir_all(folder);
                made.map_err(|source| Error::Write { path: self.path.clone(), source })?;
            }
            self.file = Some(self.open_file()?);
            self.begin()?;
        }
        let mut lines = String::new();
        for i in self.noted.pairs.len()..merges.pairs.len() {
            let ((left, right), count) = (merges.pairs[i], merges.counts[i]);
            push_line(&mut lines, &format!("{left} {right} {count}"), &mut self.sum);
            self.noted.pairs.push((left, right));
            self.noted.counts.push(count);
        }
        self.last = Instant::now();
        if lines.is_empty() { Ok(()) } else { self.append(&lines) }
    }

    fn append(&mut self, lines: &str) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let written = file.write_all(lines.as_bytes()).and_then(|()| file.sync());
        written.map_err(|source| Error::Write { path: self.path.clone(), source })
    }

    /// Returns the text of a line if its checksum is right.
    fn check<'l>(&mut self, line: &'l [u8]) -> Option<&'l str> {
        let (text, sum) = std::str::from_utf8(line).ok()?.strip_suffix('\n')?.rsplit_once(' ')?;
        let mut whole = String::new();
        let mut next = self.sum.clone();
        push_line(&mut whole, text, &mut next);
        if whole.as_bytes() != line || sum.len() != 8 {
            return None;
        }
        self.sum = next;
        Some(text)
    }

    /// Truncates the file to `end` bytes.
    fn cut(&mut self, end: usize) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let cut = file.set_len(end as u64).and_then(|()| file.seek(SeekFrom::Start(end as u64)));
        cut.map(|_| ()).map_err(|source| Error::Write { path: self.path.clone(), source })
    }
}

/// Appends a line to `lines`, with the checksum of everything before it and of its own text.
fn push_line(lines: &mut String, text: &str, sum: &mut crc32fast::Hasher) {
    sum.update(text.as_bytes());
    lines.push_str(&format!("{text} {:08x}\n", sum.clone().finalize()));
}

fn parse(line: &str) -> Option<((u32, u32), u64)> {
    let mut numbers = line.split(' ');
    let (left, right) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    let count = numbers.next()?.parse().ok()?;
    numbers.next().is_none().then_some(((left, right), count))
}

/// Returns everything that decides which merges are learned, as `name=value`.
fn identity(source: &Source, settings: &TrainSettings) -> Result<Vec<String>> {
    let mut forbidden: Vec<_> = settings.forbidden.iter().map(|bytes| bytes.escape_ascii()).collect();
    forbidden.sort_by_key(|bytes| bytes.to_string());
    let forbidden: Vec<String> = forbidden.into_iter().map(|bytes| bytes.to_string()).collect();
    Ok([
        format!("counts={}", known_by(source)?),
        format!("special_tokens={forbidden:?}"),
        format!("base={}", settings.base.map_or("none".into(), Tokenizer::fingerprint)),
        format!("first_id={}", settings.first_id),
        format!("tie_break={:?}", settings.tie_break),
        format!("min_frequency={}", settings.min_frequency),
        format!("max_token_bytes={}", settings.max_token_bytes.map_or("none".into(), |n| n.to_string())),
        format!("min_pretoken_count={}", settings.min_pretoken_count),
    ]
    .into_iter()
    .chain(settings.max_token_characters.map(|most| format!("max_token_characters={most}")))
    .collect())
}

/// Returns a text that is equal for equal pre-tokens and counts, in whatever order they come.
fn known_by(source: &Source) -> Result<String> {
    let (mut different, mut total, mut sum) = (0u64, 0u64, 0u64);
    source.for_each(&Progress::new(), |pretoken, count| {
        let seed = 0x9E37_79B9;
        let hash = match pretoken.len() {
            ..=PACKED => key::hash(key::pack(pretoken, 0, pretoken.len()), seed),
            _ => key::hash_long(pretoken, seed),
        };
        different += 1;
        total += count;
        sum = sum.wrapping_add(key::mix(hash, count ^ 0x7F4A_7C15));
        Ok(())
    })?;
    Ok(format!("{different} unique pre-tokens, {total} in all, {sum:016x}"))
}

/// Returns the first setting that differs, as a reason; `None` if all are equal.
fn difference(ours: &[String], theirs: &[String]) -> Option<String> {
    let (ours, theirs) = match ours.iter().zip(theirs).find(|(ours, theirs)| ours != theirs) {
        Some(found) => found,
        None if ours.len() == theirs.len() => return None,
        None => return Some("another version of merganser wrote it".into()),
    };
    Some(format!("it was trained with {theirs}, not {ours}"))
}

#[cfg(test)]
#[path = "checkpoint_tests.rs"]
mod tests;

//! Reading: the caller's settings, and what was skipped.

use std::path::Path;
use std::sync::{Arc, Mutex};

use super::Position;
use crate::{Error, Progress, Result};

/// How many skipped inputs are described; the others are only counted.
const DESCRIBED: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Where the text of a record is: a key of JSON objects (`a.b` for `b` in the object `a`), or a column of
    /// CSV.
    pub text_key: String,
    pub on_error: OnError,
    /// The maximum ratio of decompressed to compressed size.
    pub max_ratio: u64,
    /// The maximum decompressed size in bytes.
    pub max_size: u64,
    /// The maximum window of compressed data, which is the memory that decompression takes.
    pub max_window: u64,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading {
            text_key: "text".into(),
            on_error: OnError::Stop,
            max_ratio: 1000,
            max_size: 1_000_000_000_000,
            max_window: 1 << 27,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    Stop,
    /// Skip the record, or the rest of a corrupt file, and continue.
    Skip,
}

/// What was skipped because it could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    pub records: u64,
    /// Files, or the rest of them.
    pub files: u64,
    /// The error messages of the first ones, in the order of the corpus.
    pub first: Vec<String>,
}

/// Records what all threads skip.
#[derive(Debug, Default)]
pub struct Skips(Mutex<(Skipped, Vec<Position>)>);

impl Skips {
    pub fn skipped(&self) -> Skipped {
        self.0.lock().unwrap().0.clone()
    }

    fn note(&self, error: &Error, position: Position) {
        let (skipped, positions) = &mut *self.0.lock().unwrap();
        match error {
            Error::BadRecord { .. } => skipped.records += 1,
            _ => skipped.files += 1,
        }
        let at = positions.partition_point(|&other| other <= position);
        if at < DESCRIBED {
            positions.insert(at, position);
            positions.truncate(DESCRIBED);
            skipped.first.insert(at, error.to_string());
            skipped.first.truncate(DESCRIBED);
        }
    }
}

/// What everything that reads shares: the settings, what was skipped, and the progress.
#[derive(Clone)]
pub struct ReadContext {
    pub reading: Arc<Reading>,
    /// The maximum length of a record, or of a stretch of text without a safe cut.
    pub max_record: usize,
    pub skips: Arc<Skips>,
    pub progress: Progress,
}

impl ReadContext {
    pub fn new(reading: &Reading, max_record: usize, skips: &Arc<Skips>, progress: &Progress) -> ReadContext {
        ReadContext {
            reading: Arc::new(reading.clone()),
            max_record,
            skips: Arc::clone(skips),
            progress: progress.clone(),
        }
    }

    /// Records `error` as skipped if the caller asked to skip unreadable input, and returns it otherwise.
    pub fn skip_or_fail(&self, error: Error, position: Position) -> Result<()> {
        skip_or_fail(self.reading.on_error, &self.skips, error, position)
    }
}

/// Records `error` as skipped if `on_error` says so, and returns it otherwise. Cancellation is never skipped.
pub fn skip_or_fail(on_error: OnError, skips: &Skips, error: Error, position: Position) -> Result<()> {
    let by_request = matches!(error, Error::Cancelled | Error::CorpusEndsEarly);
    if on_error == OnError::Stop || by_request {
        return Err(error);
    }
    skips.note(&error, position);
    Ok(())
}

/// The format of a file, which follows from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    Text,
    /// A JSON value on each line.
    Lines,
    /// A JSON array, or JSON values one after the other.
    Json,
    /// A header and records, with this byte between fields.
    Csv(u8),
}

impl FileFormat {
    pub fn of_name(path: &Path) -> FileFormat {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let plain =
            [".gz", ".zst", ".zstd", ".xz", ".bz2"].iter().find_map(|suffix| name.strip_suffix(suffix));
        match plain.unwrap_or(&name).rsplit_once('.') {
            Some((_, "jsonl" | "ndjson")) => FileFormat::Lines,
            Some((_, "json")) => FileFormat::Json,
            Some((_, "csv")) => FileFormat::Csv(b','),
            Some((_, "tsv")) => FileFormat::Csv(b'\t'),
            _ => FileFormat::Text,
        }
    }
}

//! Shard: one file of ids and the files that belong to it, written atomically.
//!
//! ```text
//! shard-00000.bin         the ids (or .npy)
//! shard-00000.docs.npy    where each document begins and the last one ends, in ids (or Megatron's .idx)
//! shard-00000.json        what the two hold, and the position of the next shard in the corpus
//! ```
//!
//! All are written under temporary names. When a shard is complete they are flushed and renamed, the `.json`
//! last: if it exists, the others are complete. Only the buffers of its files are kept in memory.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::formats::{IdWidth, MegatronError, NPY_HEADER, TokenFormat, npy_header, write_megatron_index};
use crate::corpus::Position;
use crate::durable::{sync, sync_folder};
use crate::{Error, Result};

/// An amount of tokens and text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub tokens: u64,
    /// Bytes of text, without separators.
    pub bytes: u64,
    /// Bytes of text that were not valid UTF-8.
    pub invalid_bytes: u64,
}

impl Tally {
    pub fn plus(self, other: Tally) -> Tally {
        Tally {
            tokens: self.tokens + other.tokens,
            bytes: self.bytes + other.bytes,
            invalid_bytes: self.invalid_bytes + other.invalid_bytes,
        }
    }

    pub fn minus(self, other: Tally) -> Tally {
        Tally {
            tokens: self.tokens - other.tokens,
            bytes: self.bytes - other.bytes,
            invalid_bytes: self.invalid_bytes - other.invalid_bytes,
        }
    }
}

pub struct Shard {
    folder: PathBuf,
    name: String,
    format: TokenFormat,
    width: IdWidth,
    ids: Temporary,
    bounds: Temporary,
    sum: crc32fast::Hasher,
    tally: Tally,
    documents: u64,
}

impl Shard {
    pub fn create(folder: &Path, number: u64, format: TokenFormat, width: IdWidth) -> Result<Shard> {
        let name = format!("shard-{number:05}");
        let mut ids = Temporary::create(folder.join(format!("{name}.{}", format.extension())))?;
        let mut bounds = Temporary::create(folder.join(format!("{name}.docs.npy")))?;
        ids.write(&vec![0; format.header_len()])?;
        bounds.write(&[0; NPY_HEADER])?;
        bounds.write(&0u64.to_le_bytes())?;
        Ok(Shard {
            folder: folder.into(),
            name,
            format,
            width,
            ids,
            bounds,
            sum: crc32fast::Hasher::new(),
            tally: Tally::default(),
            documents: 0,
        })
    }

    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Appends ids, as they are stored in the file.
    pub fn write(&mut self, ids: &[u8], tally: Tally) -> Result<()> {
        self.sum.update(ids);
        self.tally = self.tally.plus(tally);
        self.ids.write(ids)
    }

    /// Ends a document after the first `tokens` tokens of the shard, which may be written later.
    pub fn end_document(&mut self, tokens: u64) -> Result<()> {
        self.documents += 1;
        self.bounds.write(&tokens.to_le_bytes())
    }

    /// Fills in the headers, flushes and renames. The next shard begins at `next`.
    pub fn finish(self, next: Position) -> Result<()> {
        let Shard { folder, name, format, width, ids, bounds, sum, tally, documents } = self;
        let header = format.header(width, tally.tokens)?;
        let mut crc32 = crc32fast::Hasher::new();
        crc32.update(&header);
        crc32.combine(&sum);
        let ids = ids.flush(&header)?;
        let bounds = bounds.flush(&npy_header("<i8", documents + 1))?;
        let bounds = match format {
            TokenFormat::Megatron => index(&folder.join(format!("{name}.idx")), width, documents, &bounds)?,
            _ => bounds,
        };
        ids.rename()?;
        bounds.rename()?;

        let facts = format!(
            concat!(
                "{{\"format\": \"{}\", \"dtype\": \"{}\", \"tokens\": {}, \"documents\": {}, \"bytes\": {}, ",
                "\"invalid_bytes\": {}, \"crc32\": \"{:08x}\", \"next\": {{\"part\": {}, \"offset\": {}, \"within\": {}}}}}\n"
            ),
            format.name(),
            format.dtype(width),
            tally.tokens,
            documents,
            tally.bytes,
            tally.invalid_bytes,
            crc32.finalize(),
            next.part,
            next.offset,
            next.within
        );
        let mut sidecar = Temporary::create(folder.join(format!("{name}.json")))?;
        sidecar.write(facts.as_bytes())?;
        // The other names must be on disk before the file that vouches for them.
        sync_folder(&folder);
        sidecar.flush(&[])?.rename()?;
        sync_folder(&folder);
        Ok(())
    }
}

/// Writes Megatron's index from the bounds of documents, which are then no longer needed.
fn index(path: &Path, width: IdWidth, documents: u64, bounds: &Flushed) -> Result<Flushed> {
    let mut out = Temporary::create(path.into())?;
    let read = || {
        let mut file = BufReader::with_capacity(1 << 16, File::open(bounds.0.path())?);
        file.seek(SeekFrom::Start(NPY_HEADER as u64))?;
        Ok((0..=documents).map(move |_| {
            let mut number = [0; 8];
            file.read_exact(&mut number).map(|()| u64::from_le_bytes(number))
        }))
    };
    write_megatron_index(&mut out.file, width, documents, read).map_err(|error| match error {
        MegatronError::Write(source) => Error::Write { path: path.into(), source },
        MegatronError::TooLong(tokens) => Error::TooManyTokens { what: "a document of Megatron", tokens },
    })?;
    out.flush(&[])
}

/// A file that is removed on drop unless it was renamed.
struct Temporary {
    file: BufWriter<File>,
    target: PathBuf,
}

/// A file that is complete and on disk under its temporary name.
struct Flushed(Temporary);

impl Temporary {
    fn create(target: PathBuf) -> Result<Temporary> {
        // The name is the same in every run, so that the leftovers of a killed run are overwritten.
        let file = File::create(temporary_path(&target));
        let file = file.map_err(|source| Error::Write { path: target.clone(), source })?;
        Ok(Temporary { file: BufWriter::with_capacity(1 << 16, file), target })
    }

    fn path(&self) -> PathBuf {
        temporary_path(&self.target)
    }

    fn error(&self) -> impl FnOnce(io::Error) -> Error + use<> {
        let path = self.target.clone();
        |source| Error::Write { path, source }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(self.error())
    }

    /// Writes the header over the beginning and flushes everything to disk.
    fn flush(mut self, header: &[u8]) -> Result<Flushed> {
        let written = self
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(header))
            .and_then(|()| self.file.flush())
            .and_then(|()| sync(self.file.get_ref()));
        written.map_err(self.error())?;
        Ok(Flushed(self))
    }
}

impl Flushed {
    fn rename(self) -> Result<()> {
        fs::rename(self.0.path(), &self.0.target).map_err(self.0.error())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // It no longer exists if it was renamed.
        let _ = fs::remove_file(self.path());
    }
}

/// Returns a name that starts with a dot, so that it is never read as part of a corpus folder.
fn temporary_path(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.tmp"))
}

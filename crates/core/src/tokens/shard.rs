//! Shard: one file of ids and what belongs to it, there whole or not at all.
//!
//! ```text
//! shard-00000.bin         the ids (or .npy)
//! shard-00000.docs.npy    where each document begins and the last one ends, in ids (or Megatron's .idx)
//! shard-00000.json        what the two hold, and where in the corpus the next shard begins
//! ```
//!
//! All are written under temporary names. When a shard is done they are flushed and renamed, the `.json`
//! last: where it is, the others are whole. Nothing of a shard is kept in memory but the buffers of its
//! files.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::formats::{IdWidth, MegatronError, NPY_HEADER, TokenFormat, npy_header, write_megatron_index};
use crate::corpus::Position;
use crate::durable::{sync, sync_folder};
use crate::{Error, Result};

/// How much of something there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub tokens: u64,
    /// Bytes of text, without the separators.
    pub bytes: u64,
    /// Those among them that were not part of valid UTF-8.
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

    /// Adds ids, as they lie in the file.
    pub fn write(&mut self, ids: &[u8], tally: Tally) -> Result<()> {
        self.sum.update(ids);
        self.tally = self.tally.plus(tally);
        self.ids.write(ids)
    }

    /// A document ends behind the first `tokens` of the shard, which may be written later.
    pub fn end_document(&mut self, tokens: u64) -> Result<()> {
        self.documents += 1;
        self.bounds.write(&tokens.to_le_bytes())
    }

    /// Fills the headers in, flushes and renames. The next shard begins at `next`.
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
        // The other names must be on disk before the one that vouches for them.
        sync_folder(&folder);
        sidecar.flush(&[])?.rename()?;
        sync_folder(&folder);
        Ok(())
    }
}

/// Megatron's index from the bounds of documents, which are then no longer needed.
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

/// A file that is taken away again unless it is renamed.
struct Temporary {
    file: BufWriter<File>,
    target: PathBuf,
}

/// A file that is whole, on disk, and still has its temporary name.
struct Flushed(Temporary);

impl Temporary {
    fn create(target: PathBuf) -> Result<Temporary> {
        // The name is the same in every run, so that what a killed run left behind is written over.
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

    /// Writes the header over the beginning and sees that all is on disk.
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
        // Gone already where it was renamed.
        let _ = fs::remove_file(self.path());
    }
}

/// The name starts with a dot, so that a corpus folder never takes it for a document.
fn temporary_path(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.tmp"))
}

//! Shard: one file of ids and the files that belong to it, written atomically.
//!
//! ```text
//! shard-00000.bin         the ids (or .npy)
//! shard-00000.docs.npy    where each document begins and the last one ends, in ids (or Megatron's .idx)
//! shard-00000.json        what the two hold, their checksums, and the position of the next shard in the corpus
//! ```
//!
//! All are written under temporary names. When a shard is complete they are flushed and renamed, the `.json`
//! last: if it exists, the others are complete. Only the buffers of its files are kept in memory.

use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::formats::{IdWidth, MegatronError, NPY_HEADER, TokenFormat, npy_header, write_megatron_index};
use crate::corpus::Position;
use crate::disk::{File, rename};
use crate::durable::sync_folder;
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
    tally: Tally,
    documents: u64,
}

impl Shard {
    pub fn create(folder: &Path, number: u64, format: TokenFormat, width: IdWidth) -> Result<Shard> {
        let name = format!("shard-{number:05}");
        let ids = folder.join(format!("{name}.{}", format.extension()));
        let ids = Temporary::create(ids, format.header_len())?;
        let mut bounds = Temporary::create(folder.join(format!("{name}.docs.npy")), NPY_HEADER)?;
        bounds.append(&0u64.to_le_bytes())?;
        Ok(Shard {
            folder: folder.into(),
            name,
            format,
            width,
            ids,
            bounds,
            tally: Tally::default(),
            documents: 0,
        })
    }

    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Appends ids, as they are stored in the file.
    pub fn write(&mut self, ids: &[u8], tally: Tally) -> Result<()> {
        self.tally = self.tally.plus(tally);
        self.ids.append(ids)
    }

    /// Ends a document after the first `tokens` tokens of the shard, which may be written later.
    pub fn end_document(&mut self, tokens: u64) -> Result<()> {
        self.documents += 1;
        self.bounds.append(&tokens.to_le_bytes())
    }

    /// Fills in the headers, flushes and renames. The next shard begins at `next`.
    pub fn finish(self, next: Position) -> Result<()> {
        let Shard { folder, name, format, width, ids, bounds, tally, documents } = self;
        let ids = ids.finish(&format.header(width, tally.tokens)?)?;
        let bounds = bounds.finish(&npy_header("<i8", documents + 1))?;
        let bounds = match format {
            TokenFormat::Megatron => index(&folder.join(format!("{name}.idx")), width, documents, &bounds)?,
            _ => bounds,
        };
        let (crc32, bounds_crc32) = (ids.crc32, bounds.crc32);
        ids.rename()?;
        bounds.rename()?;

        let mut facts = format!(
            concat!(
                "{{\"format\": \"{}\", \"dtype\": \"{}\", \"tokens\": {}, \"documents\": {}, \"bytes\": {}, ",
                "\"invalid_bytes\": {}, \"crc32\": \"{:08x}\", \"bounds_crc32\": \"{:08x}\", ",
                "\"next\": {{\"part\": {}, \"offset\": {}, \"within\": {}}}"
            ),
            format.name(),
            format.dtype(width),
            tally.tokens,
            documents,
            tally.bytes,
            tally.invalid_bytes,
            crc32,
            bounds_crc32,
            next.part,
            next.offset,
            next.within
        );
        // As in `merganser/files.py`: the checksum of everything before it.
        facts += &format!(", \"json_crc32\": \"{:08x}\"}}\n", crc32fast::hash(facts.as_bytes()));
        let mut sidecar = Temporary::create(folder.join(format!("{name}.json")), 0)?;
        sidecar.append(facts.as_bytes())?;
        // The other names must be on disk before the file that vouches for them.
        sync_folder(&folder);
        sidecar.finish(&[])?.rename()?;
        sync_folder(&folder);
        Ok(())
    }
}

/// Writes Megatron's index from the bounds of documents, which are then no longer needed.
fn index(path: &Path, width: IdWidth, documents: u64, bounds: &Flushed) -> Result<Flushed> {
    let mut out = Temporary::create(path.into(), 0)?;
    let read = || {
        let mut file = BufReader::with_capacity(1 << 16, File::open(&bounds.file.path())?);
        file.seek(SeekFrom::Start(NPY_HEADER as u64))?;
        Ok((0..=documents).map(move |_| {
            let mut number = [0; 8];
            file.read_exact(&mut number).map(|()| u64::from_le_bytes(number))
        }))
    };
    write_megatron_index(&mut out, width, documents, read).map_err(|error| match error {
        MegatronError::Write(source) => Error::Write { path: path.into(), source },
        MegatronError::TooLong(tokens) => Error::TooManyTokens { what: "a document of Megatron", tokens },
    })?;
    out.finish(&[])
}

/// A file that is removed on drop unless it was renamed.
struct Temporary {
    file: BufWriter<File>,
    target: PathBuf,
    /// The checksum of everything after the header.
    sum: crc32fast::Hasher,
}

/// A file that is complete and on disk under its temporary name.
struct Flushed {
    file: Temporary,
    /// The checksum of the whole file.
    crc32: u32,
}

impl Temporary {
    /// Creates a file with room for a header of `header_len` bytes.
    fn create(target: PathBuf, header_len: usize) -> Result<Temporary> {
        // The name is the same in every run, so that the leftovers of a killed run are overwritten.
        let file = File::create(&temporary_path(&target));
        let file = file.map_err(|source| Error::Write { path: target.clone(), source })?;
        let mut file = BufWriter::with_capacity(1 << 16, file);
        let room = file.write_all(&vec![0; header_len]);
        // Created before the room is checked, so that a failure removes the file.
        let temporary = Temporary { file, target, sum: crc32fast::Hasher::new() };
        room.map_err(temporary.error())?;
        Ok(temporary)
    }

    fn path(&self) -> PathBuf {
        temporary_path(&self.target)
    }

    fn error(&self) -> impl FnOnce(io::Error) -> Error + use<> {
        let path = self.target.clone();
        |source| Error::Write { path, source }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(self.error())
    }

    /// Writes the header over the beginning and flushes everything to disk.
    fn finish(mut self, header: &[u8]) -> Result<Flushed> {
        let written = self
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(header))
            .and_then(|()| self.file.flush())
            .and_then(|()| self.file.get_ref().sync());
        written.map_err(self.error())?;
        let mut sum = crc32fast::Hasher::new();
        sum.update(header);
        sum.combine(&self.sum);
        Ok(Flushed { file: self, crc32: sum.finalize() })
    }
}

impl Flushed {
    fn rename(self) -> Result<()> {
        rename(&self.file.path(), &self.file.target).map_err(self.file.error())
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
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

//! The `.counts` file: sorted, checksummed, and as portable as text.
//!
//! ```text
//! "merganser counts 1\n"                     what it is
//! pattern, separator, special tokens         strings: length, bytes; the separator has a 0 or 1 before it
//! documents, invalid bytes, pieces, total    numbers
//! pieces, each:                              in ascending order of their bytes
//!     shared   how many bytes it shares with the piece before
//!     length   how many more follow
//!     bytes
//!     count
//! CRC-32 of all that came before             four bytes, little-endian
//! ```
//! Lengths and numbers are LEB128. A reader can stream, merge and check such a file in one pass.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use super::{Counts, Settings};
use crate::split::Splitter;
use crate::{Error, Result};

const MAGIC: &[u8] = b"merganser counts 1\n";

impl Counts {
    /// Sorted by piece, checksummed, written to a temporary name and renamed: the file is there whole or not
    /// at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        let written = self.write(&temporary).and_then(|()| fs::rename(&temporary, path));
        written.map_err(|source| {
            let _ = fs::remove_file(&temporary);
            Error::Write { path: path.into(), source }
        })
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_unstable_by_key(|&index| self.piece(index as usize));

        let mut out = Checked { inner: BufWriter::new(File::create(path)?), sum: crc32fast::Hasher::new() };
        out.write_all(MAGIC)?;
        out.string(self.settings.splitter.pattern().as_bytes())?;
        out.number(self.settings.separator.is_some() as u64)?;
        out.string(self.settings.separator.as_deref().unwrap_or_default().as_bytes())?;
        out.number(self.settings.special_tokens.len() as u64)?;
        for token in &self.settings.special_tokens {
            out.string(token.as_bytes())?;
        }
        for number in [self.documents, self.invalid_bytes, self.len() as u64, self.total()] {
            out.number(number)?;
        }
        let mut before: &[u8] = &[];
        for (piece, count) in order.iter().map(|&index| self.get(index as usize)) {
            let shared = before.iter().zip(piece).take_while(|(a, b)| a == b).count();
            out.number(shared as u64)?;
            out.string(&piece[shared..])?;
            out.number(count)?;
            before = piece;
        }
        let Checked { mut inner, sum } = out;
        inner.write_all(&sum.finalize().to_le_bytes())?;
        inner.into_inner()?.sync_all()
    }

    /// Reads and checks a whole file.
    pub fn load(path: &Path) -> Result<Counts> {
        let cannot_read = |source| Error::Read { path: path.into(), source };
        let bad = |reason: String| Error::BadCountsFile { path: path.into(), reason };
        let file = File::open(path).map_err(cannot_read)?;
        let size = file.metadata().map_err(cannot_read)?.len();
        let body = BufReader::with_capacity(1 << 16, &file).take(size.saturating_sub(4));
        let mut body = Checked { inner: body, sum: crc32fast::Hasher::new() };
        let counts = read(&mut body, size).map_err(|problem| match problem {
            Problem::Damage(reason) => bad(reason),
            Problem::Settings(error) => bad(error.to_string()),
            Problem::Read(e) if e.kind() == io::ErrorKind::UnexpectedEof => bad("it is cut short".into()),
            Problem::Read(source) => cannot_read(source),
        })?;
        if body.inner.limit() > 0 {
            return Err(bad("something follows its last piece".into()));
        }
        let mut rest = body.inner.into_inner();
        let mut sum = [0; 4];
        rest.read_exact(&mut sum).map_err(|_| bad("it is cut short".into()))?;
        if u32::from_le_bytes(sum) != body.sum.finalize() {
            return Err(bad("its checksum does not match".into()));
        }
        Ok(counts)
    }
}

enum Problem {
    Read(io::Error),
    Damage(String),
    Settings(Error),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Problem::Read(error)
    }
}

/// Nothing in the file is believed before it is checked: lengths are limited by the file's own size.
fn read(file: &mut Checked<impl Read>, size: u64) -> std::result::Result<Counts, Problem> {
    let damage = |reason: &str| Problem::Damage(reason.into());
    let mut magic = vec![0; MAGIC.len()];
    if file.read_exact(&mut magic).is_err() || magic != MAGIC {
        return Err(damage("it does not begin like one"));
    }
    let text = |file: &mut Checked<_>| match String::from_utf8(file.bytes(size)?) {
        Ok(text) => Ok(text),
        Err(_) => Err(damage("its settings are not text")),
    };
    let splitter = Splitter::new(&text(file)?).map_err(Problem::Settings)?;
    let has_separator = file.read_number()? == 1;
    let separator = Some(text(file)?).filter(|_| has_separator);
    let mut special_tokens = Vec::new();
    for _ in 0..file.read_number()?.min(size) {
        special_tokens.push(text(file)?);
    }
    let mut counts =
        Counts::empty(Settings::new(splitter, special_tokens, separator).map_err(Problem::Settings)?);
    counts.documents = file.read_number()?;
    counts.invalid_bytes = file.read_number()?;
    let pieces = file.read_number()?;
    let total = file.read_number()?;

    let mut piece: Vec<u8> = Vec::new();
    let mut sum = 0u64;
    for _ in 0..pieces {
        let shared = file.read_number()? as usize;
        let more = file.bytes(size)?;
        let rises = match piece.get(shared) {
            Some(byte) => more.first() > Some(byte),
            None => shared == piece.len() && !more.is_empty(),
        };
        if !rises {
            return Err(damage("its pieces are not in order"));
        }
        piece.truncate(shared);
        piece.extend(more);
        let count = file.read_number()?;
        sum = sum.checked_add(count).filter(|_| count > 0).ok_or(damage("a count is wrong"))?;
        counts.push(&piece, count);
    }
    if sum != total {
        return Err(damage("its counts do not add up to its total"));
    }
    Ok(counts)
}

/// A reader or writer that sums up what passes.
struct Checked<F> {
    inner: F,
    sum: crc32fast::Hasher,
}

impl<W: Write> Checked<W> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.inner.write_all(bytes)
    }

    fn number(&mut self, mut number: u64) -> io::Result<()> {
        let mut bytes = [0; 10];
        let mut len = 0;
        loop {
            let more = number >> 7 > 0;
            bytes[len] = (number & 0x7F) as u8 | (more as u8) << 7;
            len += 1;
            number >>= 7;
            if !more {
                return self.write_all(&bytes[..len]);
            }
        }
    }

    fn string(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.number(bytes.len() as u64)?;
        self.write_all(bytes)
    }
}

impl<R: Read> Checked<R> {
    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.inner.read_exact(bytes)?;
        self.sum.update(bytes);
        Ok(())
    }

    fn read_number(&mut self) -> std::result::Result<u64, Problem> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.read_exact(&mut byte)?;
            number |= ((byte[0] & 0x7F) as u64) << shift;
            if byte[0] < 0x80 {
                return Ok(number);
            }
        }
        Err(Problem::Damage("a number is too long".into()))
    }

    fn bytes(&mut self, limit: u64) -> std::result::Result<Vec<u8>, Problem> {
        let len = self.read_number()?;
        if len > limit {
            return Err(Problem::Damage("a length is greater than the file".into()));
        }
        let mut bytes = vec![0; len as usize];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

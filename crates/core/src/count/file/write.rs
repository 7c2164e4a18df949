//! Write: a `.counts` file, pre-token by pre-token.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{BUFFER, CountsTotals, MAGIC};
use crate::count::CountSettings;
use crate::durable::Replacement;
use crate::{Error, Result};

/// Writes a file under a temporary name, which [`CountsWriter::finish`] renames.
pub struct CountsWriter {
    new: Replacement,
    target: PathBuf,
    /// What was not written yet.
    buffer: Vec<u8>,
    sum: crc32fast::Hasher,
    before: Vec<u8>,
    totals: CountsTotals,
    /// Whether it must survive a power cut.
    durable: bool,
}

impl CountsWriter {
    pub fn create(target: &Path, settings: &CountSettings) -> Result<CountsWriter> {
        let new =
            Replacement::create(target).map_err(|source| Error::Write { path: target.into(), source })?;
        let mut buffer = Vec::with_capacity(BUFFER + BUFFER / 4);
        buffer.extend_from_slice(MAGIC);
        put_string(&mut buffer, settings.splitter.pattern().as_bytes());
        put_number(&mut buffer, settings.separator.is_some() as u64);
        put_string(&mut buffer, settings.separator.as_deref().unwrap_or_default().as_bytes());
        put_number(&mut buffer, settings.special_tokens.len() as u64);
        for token in &settings.special_tokens {
            put_string(&mut buffer, token.as_bytes());
        }
        Ok(CountsWriter {
            new,
            target: target.into(),
            buffer,
            sum: crc32fast::Hasher::new(),
            before: Vec::new(),
            totals: CountsTotals::default(),
            durable: true,
        })
    }

    /// Skips flushing to disk, for a temporary file that is useless after a crash.
    pub fn passing(mut self) -> CountsWriter {
        self.durable = false;
        self
    }

    /// Appends a pre-token that is greater than all before.
    pub fn push(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        let shared = shared(&self.before, pretoken);
        assert!(self.before.get(shared) < pretoken.get(shared) && count > 0, "pre-tokens rise, and occur");
        put_number(&mut self.buffer, shared as u64);
        put_string(&mut self.buffer, &pretoken[shared..]);
        put_number(&mut self.buffer, count);
        self.before.truncate(shared);
        self.before.extend_from_slice(&pretoken[shared..]);
        self.totals.pretokens += 1;
        self.totals.total = self.totals.total.checked_add(count).ok_or(Error::CountOverflow)?;
        if self.buffer.len() >= BUFFER { self.write() } else { Ok(()) }
    }

    /// Ends the file, flushes it to disk and renames it.
    pub fn finish(mut self, documents: u64, invalid_bytes: u64) -> Result<CountsTotals> {
        self.totals = CountsTotals { documents, invalid_bytes, ..self.totals };
        self.buffer.extend_from_slice(&[0, 0]);
        self.buffer.extend_from_slice(&self.totals.to_bytes());
        self.write()?;
        let sum = self.sum.clone().finalize().to_le_bytes();
        let CountsWriter { mut new, target, totals, durable, .. } = self;
        let written = new.file.write_all(&sum).and_then(|()| new.finish(durable));
        written.map_err(|source| Error::Write { path: target, source })?;
        Ok(totals)
    }

    fn write(&mut self) -> Result<()> {
        self.sum.update(&self.buffer);
        let written = self.new.file.write_all(&self.buffer);
        written.map_err(|source| Error::Write { path: self.target.clone(), source })?;
        self.buffer.clear();
        Ok(())
    }
}

/// Returns the length of the common prefix of two pre-tokens.
#[inline]
fn shared(a: &[u8], b: &[u8]) -> usize {
    let mut at = 0;
    while let (Some(left), Some(right)) = (a[at..].first_chunk(), b[at..].first_chunk()) {
        let difference = u64::from_le_bytes(*left) ^ u64::from_le_bytes(*right);
        if difference != 0 {
            return at + (difference.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(a, b)| a == b).count()
}

#[inline]
fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[inline]
fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

//! Write: a `.counts` file, pre-token by pre-token.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{BUFFER, CountsTotals, MAGIC};
use crate::count::CountSettings;
use crate::durable::Replacement;
use crate::key::pretoken_of_order;
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
        put_pretoken(&mut self.buffer, &mut self.before, pretoken, count);
        self.totals.pretokens += 1;
        self.totals.total = self.totals.total.checked_add(count).ok_or(Error::CountOverflow)?;
        if self.buffer.len() >= BUFFER { self.write() } else { Ok(()) }
    }

    /// Appends the pre-tokens of a chunk, which are greater than all before.
    pub fn append(&mut self, chunk: &Chunk) -> Result<()> {
        if chunk.pretokens == 0 {
            return Ok(());
        }
        self.push(&chunk.first, chunk.first_count)?;
        self.buffer.extend_from_slice(&chunk.bytes);
        let (bytes, len) = pretoken_of_order(chunk.last_order);
        self.before.clear();
        self.before.extend_from_slice(if chunk.last_order == 0 { &chunk.last } else { &bytes[..len] });
        self.totals.pretokens += chunk.pretokens - 1;
        let rest = chunk.total - chunk.first_count;
        self.totals.total = self.totals.total.checked_add(rest).ok_or(Error::CountOverflow)?;
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

/// Some pre-tokens as they are stored, before it is known which one precedes them.
#[derive(Default)]
pub struct Chunk {
    /// The first one, whose shared bytes are not known yet.
    first: Vec<u8>,
    first_count: u64,
    /// All others.
    bytes: Vec<u8>,
    /// The order of the last one, or 0 if it is long and in `last`.
    last_order: u128,
    last: Vec<u8>,
    pretokens: u64,
    total: u64,
}

impl Chunk {
    /// Appends a pre-token of at most 15 bytes, given by its order, that is greater than all before.
    #[inline]
    pub fn push_short(&mut self, order: u128, count: u64) -> Result<()> {
        if self.last_order == 0 {
            let (bytes, len) = pretoken_of_order(order);
            self.push_long(&bytes[..len], count)?;
            self.last_order = order;
            return Ok(());
        }
        let (len, len_before) = (order as usize & 0xFF, self.last_order as usize & 0xFF);
        let shared = ((order ^ self.last_order).leading_zeros() as usize / 8).min(len).min(len_before);
        assert!(order > self.last_order && count > 0, "pre-tokens rise, and occur");
        let more = len - shared;
        let mut entry = [0; 32];
        (entry[0], entry[1]) = (shared as u8, more as u8);
        entry[2..18].copy_from_slice(&(order << (8 * shared)).to_be_bytes());
        let size = self.bytes.len() + 2 + more;
        self.bytes.extend_from_slice(&entry);
        self.bytes.truncate(size);
        put_number(&mut self.bytes, count);
        self.last_order = order;
        self.add(count)
    }

    /// Appends a pre-token of any length that is greater than all before.
    pub fn push_long(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        if self.last_order != 0 {
            let (bytes, len) = pretoken_of_order(self.last_order);
            self.last.clear();
            self.last.extend_from_slice(&bytes[..len]);
            self.last_order = 0;
        }
        if self.pretokens == 0 {
            self.first.extend_from_slice(pretoken);
            self.first_count = count;
            self.last.extend_from_slice(pretoken);
        } else {
            put_pretoken(&mut self.bytes, &mut self.last, pretoken, count);
        }
        self.add(count)
    }

    #[inline]
    fn add(&mut self, count: u64) -> Result<()> {
        self.pretokens += 1;
        self.total = self.total.checked_add(count).ok_or(Error::CountOverflow)?;
        Ok(())
    }

    /// Empties the chunk and keeps its memory.
    pub fn clear(&mut self) {
        self.first.clear();
        self.bytes.clear();
        self.last.clear();
        (self.last_order, self.pretokens, self.total) = (0, 0, 0);
    }
}

/// Appends a pre-token that is greater than the one before, which it replaces.
#[inline]
fn put_pretoken(out: &mut Vec<u8>, before: &mut Vec<u8>, pretoken: &[u8], count: u64) {
    let shared = shared(before, pretoken);
    assert!(before.get(shared) < pretoken.get(shared) && count > 0, "pre-tokens rise, and occur");
    put_number(out, shared as u64);
    put_string(out, &pretoken[shared..]);
    put_number(out, count);
    before.truncate(shared);
    before.extend_from_slice(&pretoken[shared..]);
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

//! Read: a `.counts` file, pre-token by pre-token. Every value is validated before it is used, and the
//! content is verified only when the end is reached, because the checksum is there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{BUFFER, CountsTotals, LOOK, MAGIC, TRAILER};
use crate::count::{CountSettings, SettingsText};
use crate::disk::File;
use crate::key::{LONG, PACKED, order, pretoken_of_order};
use crate::split::Splitter;
use crate::{Error, Progress, Result};

/// Reads a `.counts` file from beginning to end.
pub struct CountsReader {
    file: File,
    path: PathBuf,
    settings_text: SettingsText,
    /// As stored in the file; verified once the end is reached.
    totals: CountsTotals,
    checksum: u32,
    sum: crc32fast::Hasher,
    /// Bytes that were read; those before `at` are consumed.
    buffer: Vec<u8>,
    at: usize,
    /// The offset in the file at which the buffer begins.
    offset: u64,
    /// How many bytes before the totals are not in the buffer yet.
    unread: u64,
    /// The current pre-token, unless `packed` holds it.
    pretoken: Vec<u8>,
    /// The order of the current pre-token, if it is short and was read by `advance_by_order`; 0 otherwise.
    packed: u128,
    count: u64,
    /// Pre-tokens and the sum of counts read so far.
    pretokens: u64,
    total: u64,
    at_end: bool,
}

impl CountsReader {
    /// Reads the settings and the totals.
    pub fn open(path: &Path) -> Result<CountsReader> {
        let cannot_read = |source| Error::Read { path: path.into(), source };
        let bad = |reason: String| Error::BadCountsFile { path: path.into(), reason };
        let mut file = File::open(path).map_err(cannot_read)?;
        let size = file.metadata().map_err(cannot_read)?.len();
        let mut magic = Vec::new();
        (&mut file).take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(cannot_read)?;
        if magic != MAGIC {
            let old = magic.starts_with(&MAGIC[..MAGIC.len() - 2]);
            let what = if old { "it has a different version" } else { "it does not begin like one" };
            return Err(bad(what.into()));
        }
        if size < (MAGIC.len() + TRAILER) as u64 {
            return Err(bad("it is truncated".into()));
        }
        let mut totals = [0; 32];
        let mut checksum = [0; 4];
        file.seek(SeekFrom::Start(size - TRAILER as u64)).map_err(cannot_read)?;
        file.read_exact(&mut totals).map_err(cannot_read)?;
        file.read_exact(&mut checksum).map_err(cannot_read)?;
        file.seek(SeekFrom::Start(0)).map_err(cannot_read)?;
        let mut reader = CountsReader {
            file,
            path: path.into(),
            settings_text: SettingsText::default(),
            totals: CountsTotals::from_bytes(totals),
            checksum: u32::from_le_bytes(checksum),
            sum: crc32fast::Hasher::new(),
            buffer: Vec::with_capacity(BUFFER),
            at: 0,
            offset: 0,
            unread: size - TRAILER as u64,
            pretoken: Vec::new(),
            packed: 0,
            count: 0,
            pretokens: 0,
            total: 0,
            at_end: false,
        };
        reader.settings_text = reader.read_settings_text()?;
        Ok(reader)
    }

    pub fn settings_text(&self) -> &SettingsText {
        &self.settings_text
    }

    /// Returns the settings of the counts. Compiles the pattern, which takes some milliseconds.
    pub fn settings(&self) -> Result<CountSettings> {
        let SettingsText { pattern, special_tokens, separator } = self.settings_text.clone();
        Splitter::new(&pattern)
            .and_then(|splitter| CountSettings::new(splitter, special_tokens, separator))
            .map_err(|error| self.bad(&error.to_string()))
    }

    /// Returns the totals as stored in the file; they are verified once the end is reached.
    pub fn totals(&self) -> CountsTotals {
        self.totals
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the current pre-token.
    #[inline]
    pub fn pretoken(&self) -> &[u8] {
        &self.pretoken
    }

    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Advances to the next pre-token. Returns false at the end, where everything that was read is verified.
    #[inline]
    pub fn advance(&mut self) -> Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        loop {
            match parse(&self.buffer[self.at..]) {
                Parsed::Pretoken { shared, more, count, len } => {
                    let more = self.at + more.start..self.at + more.end;
                    if self.pretoken.get(shared) >= self.buffer[more.clone()].first()
                        || shared > self.pretoken.len()
                    {
                        return Err(self.bad("its pre-tokens are not in order"));
                    }
                    let total = self.total.checked_add(count).filter(|_| count > 0);
                    self.total = total.ok_or_else(|| self.bad("a count is invalid"))?;
                    self.pretokens += 1;
                    self.pretoken.truncate(shared);
                    self.pretoken.extend_from_slice(&self.buffer[more]);
                    self.count = count;
                    self.at += len;
                    return Ok(true);
                }
                Parsed::End => {
                    self.at += 2;
                    return self.end();
                }
                Parsed::Part { least } if least > self.left() => {
                    return Err(self.bad("a length is greater than the file"));
                }
                Parsed::Part { .. } => self.fill()?,
                Parsed::Damage => return Err(self.bad("a number is too long")),
            }
        }
    }

    /// Advances like [`advance`](Self::advance), and returns the order of the pre-token (`key::order`). Its text is
    /// known only if it is long. Short pre-tokens are decoded in registers: half the cost.
    #[inline]
    pub fn advance_by_order(&mut self) -> Result<Option<u128>> {
        if let Some(&[shared, more, ref rest @ ..]) = self.buffer[self.at..].first_chunk::<{ 2 + 16 }>()
            && self.packed != 0
            && more > 0
            && shared as usize + more as usize <= PACKED
            && shared as u128 <= self.packed & 0xFF
            && let Some(&count @ 1..0x80) = rest.get(more as usize)
        {
            let before = self.packed & !(u128::MAX >> (8 * shared));
            let added = u128::from_be_bytes(*rest) & !(u128::MAX >> (8 * more));
            let order = before | added >> (8 * shared) | (shared + more) as u128;
            if order > self.packed
                && let Some(total) = self.total.checked_add(count as u64)
            {
                self.total = total;
                self.pretokens += 1;
                self.packed = order;
                self.count = count as u64;
                self.at += 3 + more as usize;
                return Ok(Some(order));
            }
        }
        self.unpack();
        if !self.advance()? {
            return Ok(None);
        }
        let order = order(&self.pretoken);
        self.packed = if order & 0xFF == LONG { 0 } else { order };
        Ok(Some(order))
    }

    /// Returns the current pre-token if it is long.
    #[inline]
    pub fn long_pretoken(&self) -> &[u8] {
        &self.pretoken
    }

    /// Writes the current pre-token out if only its order is known.
    #[cold]
    fn unpack(&mut self) {
        if self.packed != 0 {
            let (bytes, len) = pretoken_of_order(self.packed);
            self.pretoken.clear();
            self.pretoken.extend_from_slice(&bytes[..len]);
            self.packed = 0;
        }
    }

    /// Verifies the checksum and the totals.
    fn end(&mut self) -> Result<bool> {
        if self.at < self.buffer.len() || self.unread > 0 {
            return Err(self.bad("there is data after its last pre-token"));
        }
        self.sum.update(&self.buffer);
        self.sum.update(&self.totals.to_bytes());
        if self.sum.clone().finalize() != self.checksum {
            return Err(self.bad("its checksum does not match, so something before this offset has changed"));
        }
        if (self.pretokens, self.total) != (self.totals.pretokens, self.totals.total) {
            return Err(self.bad("its counts do not add up to its total"));
        }
        self.at_end = true;
        Ok(false)
    }

    /// Reads more into the buffer; it is an error if there is no more.
    #[cold]
    fn fill(&mut self) -> Result<()> {
        if self.unread == 0 {
            self.at = self.buffer.len();
            return Err(self.bad("it is truncated"));
        }
        self.sum.update(&self.buffer[..self.at]);
        self.offset += self.at as u64;
        self.buffer.drain(..self.at);
        self.at = 0;
        // The buffer grows for anything longer than itself.
        let room = if self.buffer.len() < BUFFER { BUFFER } else { 2 * self.buffer.len() };
        let more = ((room - self.buffer.len()) as u64).min(self.unread);
        let read = (&mut self.file).take(more).read_to_end(&mut self.buffer);
        match read.map_err(|source| Error::Read { path: self.path.clone(), source })? {
            0 => self.unread = 0, // the file was truncated meanwhile
            read => self.unread -= read as u64,
        }
        Ok(())
    }

    /// Returns how many bytes are not consumed yet.
    fn left(&self) -> u64 {
        self.unread + (self.buffer.len() - self.at) as u64
    }

    fn read_settings_text(&mut self) -> Result<SettingsText> {
        while self.buffer.len() < MAGIC.len() {
            self.fill()?;
        }
        self.at = MAGIC.len();
        let pattern = self.text()?;
        let has_separator = self.number()? == 1;
        let separator = Some(self.text()?).filter(|_| has_separator);
        let mut special_tokens = Vec::new();
        for _ in 0..self.number()? {
            special_tokens.push(self.text()?);
        }
        Ok(SettingsText { pattern, special_tokens, separator })
    }

    fn number(&mut self) -> Result<u64> {
        loop {
            match number(&self.buffer[self.at..]) {
                Some(Some((number, len))) => {
                    self.at += len;
                    return Ok(number);
                }
                Some(None) => self.fill()?,
                None => return Err(self.bad("a number is too long")),
            }
        }
    }

    fn text(&mut self) -> Result<String> {
        let len = self.number()?;
        if len > self.left() {
            return Err(self.bad("a length is greater than the file"));
        }
        while self.buffer.len() - self.at < len as usize {
            self.fill()?;
        }
        let bytes = self.buffer[self.at..self.at + len as usize].to_vec();
        self.at += len as usize;
        String::from_utf8(bytes).map_err(|_| self.bad("its settings are not text"))
    }

    #[cold]
    fn bad(&self, reason: &str) -> Error {
        let reason = format!("{reason} (byte {})", self.offset + self.at as u64);
        Error::BadCountsFile { path: self.path.clone(), reason }
    }
}

enum Parsed {
    /// A pre-token: where the bytes are that it does not share, and the length of the whole entry.
    Pretoken {
        shared: usize,
        more: Range<usize>,
        count: u64,
        len: usize,
    },
    End,
    /// The entry is not entirely in the buffer; it has at least `least` bytes.
    Part {
        least: u64,
    },
    Damage,
}

#[inline(always)]
fn parse(bytes: &[u8]) -> Parsed {
    let mut at = 0;
    let mut next = |skip: u64| {
        at = (at as u64).saturating_add(skip).min(bytes.len() as u64) as usize;
        let found = number(&bytes[at..]);
        if let Some(Some((_, len))) = found {
            at += len;
        }
        (found, at)
    };
    let (shared, more, start) = match (next(0).0, next(0)) {
        (Some(Some((shared, _))), (Some(Some((more, _))), start)) => (shared, more, start),
        (None, _) | (_, (None, _)) => return Parsed::Damage,
        _ => return Parsed::Part { least: 0 },
    };
    if (shared, more) == (0, 0) {
        return Parsed::End;
    }
    match next(more) {
        (Some(Some((count, _))), len) => {
            Parsed::Pretoken { shared: shared as usize, more: start..start + more as usize, count, len }
        }
        (Some(None), _) => Parsed::Part { least: more },
        (None, _) => Parsed::Damage,
    }
}

/// Returns a number and its length in bytes, `Some(None)` if it continues past `bytes`, or None if it is
/// invalid.
#[inline(always)]
fn number(bytes: &[u8]) -> Option<Option<(u64, usize)>> {
    match bytes.first() {
        Some(&byte) if byte < 0x80 => Some(Some((byte as u64, 1))),
        _ => long_number(bytes),
    }
}

fn long_number(bytes: &[u8]) -> Option<Option<(u64, usize)>> {
    let mut number = 0u64;
    for (nth, &byte) in bytes.iter().take(10).enumerate() {
        let bits = (byte & 0x7F) as u64;
        if nth == 9 && bits > 1 {
            return None;
        }
        number |= bits << (7 * nth);
        if byte < 0x80 {
            return Some(Some((number, nth + 1)));
        }
    }
    if bytes.len() < 10 { Some(None) } else { None }
}

/// Returns the `n` most frequent pre-tokens of a file; ties are in the order of their bytes. Reads and
/// verifies the whole file, and keeps only `n` pre-tokens.
pub fn top(path: &Path, n: usize, progress: &Progress) -> Result<Vec<(Vec<u8>, u64)>> {
    let mut reader = CountsReader::open(path)?;
    // The least frequent is on top; of equals, the last one, because pre-tokens arrive in order.
    let mut heap: BinaryHeap<(Reverse<u64>, Vec<u8>)> = BinaryHeap::new();
    while reader.advance()? {
        if reader.pretokens.is_multiple_of(LOOK) {
            progress.check()?;
        }
        if heap.len() < n {
            heap.push((Reverse(reader.count), reader.pretoken.clone()));
        } else if let Some(mut last) = heap.peek_mut()
            && reader.count > last.0.0
        {
            *last = (Reverse(reader.count), reader.pretoken.clone());
        }
    }
    let pretokens = heap.into_sorted_vec().into_iter().map(|(Reverse(count), pretoken)| (pretoken, count));
    Ok(pretokens.collect())
}

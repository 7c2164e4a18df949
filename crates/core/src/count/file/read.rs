//! Reading a `.counts` file, pre-token after pre-token. Nothing in it is believed before it is checked, and
//! nothing that was read counts as true before the end is reached: there the checksum is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{BUFFER, CountsTotals, LOOK, MAGIC, TRAILER};
use crate::count::{CountSettings, SettingsText};
use crate::split::Splitter;
use crate::{Error, Progress, Result};

/// A file that is read from its beginning to its end.
pub struct CountsReader {
    file: File,
    path: PathBuf,
    settings_text: SettingsText,
    /// What the file says of itself; true once its end was reached.
    totals: CountsTotals,
    checksum: u32,
    sum: crc32fast::Hasher,
    /// Bytes that were read; those before `at` are used up.
    buffer: Vec<u8>,
    at: usize,
    /// Where in the file the buffer begins.
    offset: u64,
    /// How much there is before the totals and not yet in the buffer.
    unread: u64,
    pretoken: Vec<u8>,
    count: u64,
    /// What was read so far.
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
            let what = if old { "its version is another" } else { "it does not begin like one" };
            return Err(bad(what.into()));
        }
        if size < (MAGIC.len() + TRAILER) as u64 {
            return Err(bad("it is cut short".into()));
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

    /// The settings that made the counts. Compiles the pattern, which takes some milliseconds.
    pub fn settings(&self) -> Result<CountSettings> {
        let SettingsText { pattern, special_tokens, separator } = self.settings_text.clone();
        Splitter::new(&pattern)
            .and_then(|splitter| CountSettings::new(splitter, special_tokens, separator))
            .map_err(|error| self.bad(&error.to_string()))
    }

    /// What the file says of itself. It is true once the end was reached.
    pub fn totals(&self) -> CountsTotals {
        self.totals
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The pre-token that was reached.
    #[inline]
    pub fn pretoken(&self) -> &[u8] {
        &self.pretoken
    }

    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Goes to the next pre-token; false at the end, where all that was read is known to be right.
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
                    self.total = total.ok_or_else(|| self.bad("a count is wrong"))?;
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

    /// Compares what was read with what the file says of itself.
    fn end(&mut self) -> Result<bool> {
        if self.at < self.buffer.len() || self.unread > 0 {
            return Err(self.bad("something follows its last pre-token"));
        }
        self.sum.update(&self.buffer);
        self.sum.update(&self.totals.to_bytes());
        if self.sum.clone().finalize() != self.checksum {
            return Err(
                self.bad("its checksum does not match, so that something before this place has changed")
            );
        }
        if (self.pretokens, self.total) != (self.totals.pretokens, self.totals.total) {
            return Err(self.bad("its counts do not add up to its total"));
        }
        self.at_end = true;
        Ok(false)
    }

    /// Reads on; an error where there is no more.
    #[cold]
    fn fill(&mut self) -> Result<()> {
        if self.unread == 0 {
            self.at = self.buffer.len();
            return Err(self.bad("it is cut short"));
        }
        self.sum.update(&self.buffer[..self.at]);
        self.offset += self.at as u64;
        self.buffer.drain(..self.at);
        self.at = 0;
        // Something longer than the buffer makes it grow.
        let room = if self.buffer.len() < BUFFER { BUFFER } else { 2 * self.buffer.len() };
        let more = ((room - self.buffer.len()) as u64).min(self.unread);
        let read = (&mut self.file).take(more).read_to_end(&mut self.buffer);
        match read.map_err(|source| Error::Read { path: self.path.clone(), source })? {
            0 => self.unread = 0, // somebody has cut it meanwhile
            read => self.unread -= read as u64,
        }
        Ok(())
    }

    /// How much there is behind what is used up.
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
    /// Where the bytes of a pre-token lie that it does not share, and how long all that belongs to it is.
    Pretoken {
        shared: usize,
        more: Range<usize>,
        count: u64,
        len: usize,
    },
    End,
    /// Not all of it is in the buffer; it has at least so many bytes.
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

/// A number and how many bytes it takes; `Some(None)` where it goes on behind `bytes`, none where it is none.
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

/// The `n` most frequent pre-tokens of a file, equally frequent ones in the order of their bytes. All of the
/// file is read and checked, and only `n` pre-tokens are kept.
pub fn top(path: &Path, n: usize, progress: &Progress) -> Result<Vec<(Vec<u8>, u64)>> {
    let mut reader = CountsReader::open(path)?;
    // The least frequent is on top; of equals the last one, and pre-tokens come in order.
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

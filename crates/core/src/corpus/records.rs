//! Records: files that hold many documents, each with other things around it: JSON lines, JSON, CSV.
//!
//! The reader, who holds the lock, only finds where records end; workers take the text out of them. A block
//! holds whole records, so memory is bounded by the longest of them.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use memchr::memchr_iter;

use super::input::{Input, read_error};
use super::reading::{OnError, Skips, skip_or_fail};
use super::record_ends::{Record, RecordLayout, find_records};
use super::{BLOCK, Block, Format, Place, Terms, csv, json};
use crate::{Error, Result};

/// A longer record is taken for one whose end was lost.
const LONGEST: usize = if cfg!(test) { 1 << 16 } else { u32::MAX as usize };

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The blocks of one file or stream.
pub struct RecordBlocks<'a> {
    input: Input<'a>,
    terms: Terms<'a>,
    file: Arc<RecordFile>,
    layout: RecordLayout,
    /// What was read but lies behind the last whole record.
    carry: Vec<u8>,
    /// Where `carry` begins, and on which line.
    place: Place,
    line: u64,
    /// Where the last record ended that was handed out.
    last: Place,
    at_end: bool,
}

/// What all records of a file have in common.
pub struct RecordFile {
    path: PathBuf,
    kind: Kind,
    text_key: String,
    on_error: OnError,
    skips: Arc<Skips>,
}

enum Kind {
    Json,
    Csv { delimiter: u8, column: usize },
}

/// Records that are still to be decoded.
pub struct Records {
    file: Arc<RecordFile>,
    /// The line on which the block begins.
    line: u64,
    list: Vec<Record>,
}

/// A document that was found in a record: where it is in the decoded text, where it begins in the corpus, and
/// where the record ends.
pub struct Document {
    pub start: usize,
    pub end: usize,
    pub place: Place,
    pub next: Place,
}

impl<'a> RecordBlocks<'a> {
    /// Reads what stands before the records, and passes over those before `place`.
    pub fn new(input: Input<'a>, format: Format, place: Place, terms: Terms<'a>) -> Result<RecordBlocks<'a>> {
        let file = RecordFile {
            path: input.path().into(),
            kind: Kind::Json,
            text_key: terms.reading.text_key.clone(),
            on_error: terms.reading.on_error,
            skips: Arc::clone(terms.skips),
        };
        let mut blocks = RecordBlocks {
            input,
            terms,
            file: Arc::new(file),
            layout: RecordLayout::Lines,
            carry: Vec::new(),
            place: Place { offset: 0, within: 0, ..place },
            line: 1,
            last: place,
            at_end: false,
        };
        blocks.read_up_to(BLOCK.max(BYTE_ORDER_MARK.len()))?;
        if blocks.carry.starts_with(BYTE_ORDER_MARK) {
            blocks.consume(BYTE_ORDER_MARK.len());
        }
        match format {
            Format::Json => blocks.read_bracket()?,
            Format::Csv(delimiter) => blocks.read_header(delimiter)?,
            Format::Lines | Format::Text => {}
        }
        if place.offset > blocks.place.offset {
            blocks.pass_over(place.offset - blocks.place.offset)?;
            if blocks.layout == (RecordLayout::Array { some: false }) {
                blocks.layout = RecordLayout::Array { some: true };
            }
        }
        blocks.place.within = place.within;
        blocks.last = blocks.place;
        Ok(blocks)
    }

    fn read_bracket(&mut self) -> Result<()> {
        self.layout = RecordLayout::Values;
        loop {
            match self.carry.iter().position(|byte| !byte.is_ascii_whitespace()) {
                Some(at) if self.carry[at] == b'[' => {
                    self.layout = RecordLayout::Array { some: false };
                    self.consume(at + 1);
                    return Ok(());
                }
                Some(_) => return Ok(()),
                None if self.at_end => return Ok(()),
                None => self.read_up_to(2 * self.carry.len())?,
            }
        }
    }

    fn read_header(&mut self, delimiter: u8) -> Result<()> {
        self.layout = RecordLayout::Quoted(delimiter);
        let end = loop {
            match csv::record_end(&self.carry, 0, delimiter) {
                Some(end) => break end,
                None if self.at_end => break self.carry.len(),
                None if self.carry.len() >= LONGEST => return Err(self.wrong(0, TOO_LONG)),
                None => self.read_up_to(2 * self.carry.len())?,
            }
        };
        if end == 0 {
            return Ok(()); // an empty file has no header and no documents
        }
        let columns: Vec<String> = csv::fields(without_line_break(&self.carry[..end]), delimiter)
            .iter()
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect();
        let text_key = &self.terms.reading.text_key;
        let Some(column) = columns.iter().position(|name| name == text_key) else {
            let (path, column) = (self.input.path().into(), text_key.clone());
            return Err(Error::NoColumn { path, column, columns });
        };
        let file = Arc::get_mut(&mut self.file).expect("no block was handed out");
        file.kind = Kind::Csv { delimiter, column };
        self.consume(end);
        Ok(())
    }

    /// Reads until `carry` has `size` bytes or the input ends.
    fn read_up_to(&mut self, size: usize) -> Result<()> {
        self.at_end = fill(&mut self.input, &mut self.carry, size)?;
        Ok(())
    }

    fn consume(&mut self, bytes: usize) {
        self.line += line_breaks(&self.carry[..bytes]);
        self.place.offset += bytes as u64;
        self.carry.drain(..bytes);
    }

    fn pass_over(&mut self, bytes: u64) -> Result<()> {
        let at_hand = self.carry.len().min(bytes as usize);
        self.consume(at_hand);
        let rest = bytes - at_hand as u64;
        self.input.pass_over(rest, |text| self.line += line_breaks(text))?;
        self.place.offset += rest;
        Ok(())
    }

    /// Fills `block` with the next records; false at the end.
    pub fn next(&mut self, block: &mut Block) -> Result<bool> {
        block.text.clear();
        block.text.append(&mut self.carry);
        block.ends = None;
        block.place = self.place;
        block.starts_document = true;
        let before = self.line;
        let mut list = Vec::new();
        let mut size = BLOCK;
        let behind = loop {
            if !self.at_end {
                self.at_end = fill(&mut self.input, &mut block.text, size)?;
            }
            let mut layout = self.layout;
            list.clear();
            // What was cut short ends with a part of a record, which goes with the rest.
            let is_all = self.at_end && !self.input.cut_short();
            let found = find_records(&block.text, is_all, &mut layout, &mut list);
            let behind = match found {
                _ if self.input.cut_short() => block.text.len(),
                Ok(0) if !self.at_end && block.text.len() < LONGEST => {
                    size = 2 * block.text.len();
                    continue;
                }
                Ok(0) if !self.at_end => self.skip_rest(&block.text, 0, TOO_LONG)?,
                Ok(behind) => behind,
                Err((at, reason)) => self.skip_rest(&block.text, at, reason)?,
            };
            self.layout = layout;
            break behind;
        };
        self.carry.extend_from_slice(&block.text[behind..]);
        block.text.truncate(behind);
        let any = !block.text.is_empty();
        let at =
            |offset: usize| Place { offset: block.place.offset + offset as u64, within: 0, ..block.place };
        self.place = at(behind);
        self.last = list.last().map_or(self.last, |record| at(record.behind));
        // Not behind the bracket of an array: whoever goes on there would wait for it.
        block.next = if self.layout == RecordLayout::Closed { self.last } else { self.place };
        self.line += line_breaks(&block.text);
        block.records = Some(Records { file: Arc::clone(&self.file), line: before, list });
        Ok(any)
    }

    /// What to do where the end of a record cannot be told: fail, or leave out all that follows.
    fn skip_rest(&mut self, text: &[u8], at: usize, reason: &str) -> Result<usize> {
        let line = line_breaks(&text[..at]);
        let error = Error::BrokenFile {
            path: self.input.path().into(),
            line: self.line + line,
            reason: reason.into(),
        };
        self.terms.skip_or_fail(error, Place { offset: self.place.offset + at as u64, ..self.place })?;
        self.input.end();
        self.at_end = true;
        Ok(text.len())
    }

    fn wrong(&self, line: u64, reason: &str) -> Error {
        Error::BrokenFile { path: self.input.path().into(), line: self.line + line, reason: reason.into() }
    }
}

const TOO_LONG: &str = "a record of more than 4 GiB begins here; is a quote or a bracket missing?";

/// Reads until `text` has `size` bytes; true where the input ends before.
fn fill(input: &mut Input, text: &mut Vec<u8>, size: usize) -> Result<bool> {
    let missing = size.saturating_sub(text.len()) as u64;
    let read = (&mut *input).take(missing).read_to_end(text);
    let read = read.map_err(|error| read_error(input.path(), error))?;
    Ok((read as u64) < missing)
}

fn line_breaks(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

fn without_line_break(record: &[u8]) -> &[u8] {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    record.strip_suffix(b"\r").unwrap_or(record)
}

impl Records {
    /// Adds the texts of all records to `out` and lists them. `text` is the block, which begins at `place`.
    pub fn decode(
        &self,
        text: &[u8],
        place: Place,
        out: &mut Vec<u8>,
        documents: &mut Vec<Document>,
    ) -> Result<()> {
        for record in &self.list {
            let raw = &text[record.start..record.end];
            if self.file.is_blank(raw) {
                continue;
            }
            let at = |offset: usize| Place { offset: place.offset + offset as u64, within: 0, ..place };
            // Work may begin inside of the first one.
            let place = if record.begins == 0 { place } else { at(record.begins) };
            let start = out.len();
            if let Err(wrong) = self.file.text_of(raw, out) {
                out.truncate(start);
                let before = line_breaks(&text[..record.start]);
                let line = self.line + before + wrong.line - 1;
                let error = Error::BadRecord { path: self.file.path.clone(), line, reason: wrong.reason };
                skip_or_fail(self.file.on_error, &self.file.skips, error, at(record.start))?;
                continue;
            }
            let start = start + place.within as usize;
            if start > out.len() {
                return Err(Error::CorpusEndsEarly);
            }
            documents.push(Document { start, end: out.len(), place, next: at(record.behind) });
        }
        Ok(())
    }
}

impl RecordFile {
    fn is_blank(&self, raw: &[u8]) -> bool {
        match self.kind {
            Kind::Json => raw.trim_ascii().is_empty(),
            Kind::Csv { .. } => without_line_break(raw).is_empty(),
        }
    }

    fn text_of(&self, raw: &[u8], out: &mut Vec<u8>) -> std::result::Result<(), json::Wrong> {
        let Kind::Csv { delimiter, column } = self.kind else {
            return json::text_of(raw, &self.text_key, out);
        };
        if csv::field_of(without_line_break(raw), column, delimiter, out) {
            return Ok(());
        }
        let reason = format!("the record ends before its column {:?}, the {}th", self.text_key, column + 1);
        Err(json::Wrong { line: 1, reason })
    }
}

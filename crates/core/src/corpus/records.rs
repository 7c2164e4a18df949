//! Records: JSON lines, JSON and CSV files, in which each record holds a document.
//!
//! The reader, which holds the lock, only finds where records end; the workers extract the text. A block
//! holds whole records, so memory is bounded by the longest one.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;

use memchr::memchr_iter;

use super::input::{Input, read_error};
use super::reading::{OnError, Skips, skip_or_fail};
use super::record_ends::{Record, RecordLayout, find_records};
use super::{BLOCK, Block, FileFormat, Position, ReadContext, csv, json};
use crate::disk::File;
use crate::memory::reserve;
use crate::{Error, Result};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The blocks of one file or stream.
pub struct RecordBlocks<'a> {
    input: Input<'a>,
    context: ReadContext,
    file: Arc<RecordFile>,
    layout: RecordLayout,
    /// What was read after the last whole record.
    carry: Vec<u8>,
    /// The position and the line at which `carry` begins.
    position: Position,
    line: u64,
    /// The end of the last record that was handed out.
    last: Position,
    at_end: bool,
}

/// What all records of a file have in common.
pub struct RecordFile {
    path: PathBuf,
    kind: RecordKind,
    text_key: String,
    on_error: OnError,
    skips: Arc<Skips>,
    /// Where the range of the file begins that is read; lines are counted from there.
    range_start: u64,
}

enum RecordKind {
    Json,
    Csv { delimiter: u8, column: usize },
}

/// Records that are not decoded yet.
pub struct Records {
    file: Arc<RecordFile>,
    /// The line on which the block begins.
    line: u64,
    list: Vec<Record>,
}

/// A document found in a record: its range in the decoded text, its position in the corpus, and the position
/// after the record.
pub struct DocumentSpan {
    pub start: usize,
    pub end: usize,
    pub position: Position,
    pub next: Position,
}

impl<'a> RecordBlocks<'a> {
    /// Reads what precedes the records, and skips those before `position`.
    pub fn new(
        input: Input<'a>,
        format: FileFormat,
        position: Position,
        context: &ReadContext,
    ) -> Result<RecordBlocks<'a>> {
        let file = RecordFile {
            path: input.path().into(),
            kind: RecordKind::Json,
            text_key: context.reading.text_key.clone(),
            on_error: context.reading.on_error,
            skips: Arc::clone(&context.skips),
            range_start: input.position().offset,
        };
        let start = input.position().offset;
        let mut blocks = RecordBlocks {
            input,
            context: context.clone(),
            file: Arc::new(file),
            layout: RecordLayout::Lines,
            carry: Vec::new(),
            position: Position { offset: start, within: 0, ..position },
            line: 1,
            last: position,
            at_end: false,
        };
        blocks.read_up_to(BLOCK.max(BYTE_ORDER_MARK.len()))?;
        if start == 0 && blocks.carry.starts_with(BYTE_ORDER_MARK) {
            blocks.consume(BYTE_ORDER_MARK.len());
        }
        match format {
            FileFormat::Json => blocks.read_bracket()?,
            FileFormat::Csv(delimiter) => blocks.read_header(delimiter)?,
            FileFormat::Lines | FileFormat::Text => {}
        }
        if position.offset > blocks.position.offset {
            blocks.pass_over(position.offset - blocks.position.offset)?;
            if blocks.layout == (RecordLayout::Array { some: false }) {
                blocks.layout = RecordLayout::Array { some: true };
            }
        }
        blocks.position.within = position.within;
        blocks.last = blocks.position;
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
                None => {
                    self.consume(self.carry.len());
                    self.read_up_to(BLOCK)?;
                }
            }
        }
    }

    fn read_header(&mut self, delimiter: u8) -> Result<()> {
        self.layout = RecordLayout::Quoted(delimiter);
        let end = loop {
            match csv::record_end(&self.carry, 0, delimiter) {
                Some(end) => break end,
                None if self.at_end => break self.carry.len(),
                None if self.carry.len() >= self.longest() => return Err(self.wrong(0, &self.too_long())),
                None => self.read_up_to((2 * self.carry.len()).min(self.longest()))?,
            }
        };
        if end == 0 {
            return Ok(()); // an empty file has no header and no documents
        }
        let columns: Vec<String> = csv::fields(without_line_break(&self.carry[..end]), delimiter)
            .iter()
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect();
        let text_key = &self.context.reading.text_key;
        let Some(column) = columns.iter().position(|name| name == text_key) else {
            let (path, column) = (self.input.path().into(), text_key.clone());
            return Err(Error::NoColumn { path, column, columns });
        };
        let file = Arc::get_mut(&mut self.file).expect("no block was handed out");
        file.kind = RecordKind::Csv { delimiter, column };
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
        self.position.offset += bytes as u64;
        self.carry.drain(..bytes);
    }

    fn pass_over(&mut self, bytes: u64) -> Result<()> {
        let at_hand = self.carry.len().min(bytes as usize);
        self.consume(at_hand);
        let rest = bytes - at_hand as u64;
        self.input.pass_over(rest, |text| self.line += line_breaks(text))?;
        self.position.offset += rest;
        Ok(())
    }

    /// Fills `block` with the next records, and returns false at the end.
    pub fn next(&mut self, block: &mut Block) -> Result<bool> {
        block.text.clear();
        block.text.append(&mut self.carry);
        block.ends = None;
        block.position = self.position;
        block.starts_document = true;
        let before = self.line;
        let mut list = Vec::new();
        let mut size = BLOCK;
        let after = loop {
            if !self.at_end {
                self.at_end = fill(&mut self.input, &mut block.text, size)?;
            }
            let mut layout = self.layout;
            list.clear();
            // A truncated file ends with part of a record, which is skipped with the rest.
            let is_all = self.at_end && !self.input.cut_short();
            let found = find_records(&block.text, is_all, &mut layout, &mut list);
            let after = match found {
                _ if self.input.cut_short() => block.text.len(),
                Ok(0) if !self.at_end && block.text.len() < self.longest() => {
                    size = (2 * block.text.len()).min(self.longest());
                    continue;
                }
                Ok(0) if !self.at_end => self.skip_rest(&block.text, 0, &self.too_long())?,
                Ok(after) => after,
                Err((at, reason)) => self.skip_rest(&block.text, at, reason)?,
            };
            self.layout = layout;
            break after;
        };
        self.carry.extend_from_slice(&block.text[after..]);
        block.text.truncate(after);
        let any = !block.text.is_empty();
        let at = |offset: usize| Position {
            offset: block.position.offset + offset as u64,
            within: 0,
            ..block.position
        };
        self.position = at(after);
        self.last = list.last().map_or(self.last, |record| at(record.after));
        // Not after the bracket of an array: a run that resumes there would expect the bracket.
        block.next = if self.layout == RecordLayout::Closed { self.last } else { self.position };
        self.line += line_breaks(&block.text);
        block.records = Some(Records { file: Arc::clone(&self.file), line: before, list });
        Ok(any)
    }

    /// Handles a record whose end cannot be found: fails, or skips the rest of the file.
    fn skip_rest(&mut self, text: &[u8], at: usize, reason: &str) -> Result<usize> {
        let line = line_breaks(&text[..at]);
        let error = Error::BrokenFile {
            path: self.input.path().into(),
            line: self.file.line(self.line + line),
            reason: reason.into(),
        };
        self.context
            .skip_or_fail(error, Position { offset: self.position.offset + at as u64, ..self.position })?;
        self.input.end();
        self.at_end = true;
        Ok(text.len())
    }

    fn longest(&self) -> usize {
        self.context.max_record.max(BLOCK)
    }

    fn too_long(&self) -> String {
        format!(
            "a record of more than {} bytes begins here: a quote or a bracket may be missing; if not, raise \
             max_record (--max-record) or memory (--memory)",
            self.longest()
        )
    }

    fn wrong(&self, line: u64, reason: &str) -> Error {
        let line = self.file.line(self.line + line);
        Error::BrokenFile { path: self.input.path().into(), line, reason: reason.into() }
    }
}

/// Reads until `text` has `size` bytes, and returns true if the input ends before.
fn fill(input: &mut Input, text: &mut Vec<u8>, size: usize) -> Result<bool> {
    let missing = size.saturating_sub(text.len()) as u64;
    if size > BLOCK {
        reserve(text, missing as usize, "a record")?;
    }
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
    /// Appends the texts of all records to `out`, and lists the documents. `text` is the block, which begins
    /// at `position`.
    pub fn decode(
        &self,
        text: &[u8],
        position: Position,
        out: &mut Vec<u8>,
        documents: &mut Vec<DocumentSpan>,
    ) -> Result<()> {
        for record in &self.list {
            let raw = &text[record.start..record.end];
            if self.file.is_blank(raw) {
                continue;
            }
            let at =
                |offset: usize| Position { offset: position.offset + offset as u64, within: 0, ..position };
            // A resumed run may begin inside the first record.
            let position = if record.begin == 0 { position } else { at(record.begin) };
            let start = out.len();
            reserve(out, raw.len(), "the text of a record")?;
            if let Err(wrong) = self.file.text_of(raw, out) {
                out.truncate(start);
                let before = line_breaks(&text[..record.start]);
                let line = self.file.line(self.line + before + wrong.line - 1);
                let error = Error::BadRecord { path: self.file.path.clone(), line, reason: wrong.reason };
                skip_or_fail(self.file.on_error, &self.file.skips, error, at(record.start))?;
                continue;
            }
            let start = start + position.within as usize;
            if start > out.len() {
                return Err(Error::CorpusEndsEarly);
            }
            documents.push(DocumentSpan { start, end: out.len(), position, next: at(record.after) });
        }
        Ok(())
    }
}

impl RecordFile {
    /// Returns the number of a line in the file. Reads what precedes the range, which only errors are worth.
    fn line(&self, line_of_range: u64) -> u64 {
        let mut before = 0;
        if self.range_start > 0
            && let Ok(file) = File::open(&self.path)
        {
            let mut rest = BufReader::with_capacity(1 << 20, file.take(self.range_start));
            while let Ok(text @ [_, ..]) = rest.fill_buf() {
                let len = text.len();
                before += line_breaks(text);
                rest.consume(len);
            }
        }
        before + line_of_range
    }

    fn is_blank(&self, raw: &[u8]) -> bool {
        match self.kind {
            RecordKind::Json => raw.trim_ascii().is_empty(),
            RecordKind::Csv { .. } => without_line_break(raw).is_empty(),
        }
    }

    fn text_of(&self, raw: &[u8], out: &mut Vec<u8>) -> std::result::Result<(), json::InvalidValue> {
        let RecordKind::Csv { delimiter, column } = self.kind else {
            return json::text_of(raw, &self.text_key, out);
        };
        if csv::field_of(without_line_break(raw), column, delimiter, out) {
            return Ok(());
        }
        let reason = format!("the record ends before its column {:?}, the {}th", self.text_key, column + 1);
        Err(json::InvalidValue { line: 1, reason })
    }
}

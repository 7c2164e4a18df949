//! Corpus: text from files, streams and memory, in blocks that can be split apart from each other.
//!
//! One reader hands out blocks of about a megabyte, in order; any number of threads take the next one. So
//! memory is bounded by threads × block, whatever the size of a file or of a document, and by the longest
//! record.
//!
//! ```text
//! file ─▶ input: decompressed, capped ─▶ text:    blocks between safe cuts ─▶ workers
//!                                     └▶ records: blocks of whole records  ─▶ workers decode them
//! ```
//!
//! What a file holds follows from its name, and how it is compressed from its first bytes.

mod binary;
mod csv;
mod cutters;
mod first_error;
mod input;
mod json;
mod reading;
mod record_ends;
mod records;
mod shards;
#[cfg(test)]
mod tests;
mod text;

use std::io::Read;
use std::path::{Path, PathBuf};

pub use self::binary::{Binary, judge_beginning, judge_file};
pub use self::cutters::{Boundary, Cutters, Found};
pub(crate) use self::first_error::FirstError;
use self::input::Input;
use self::reading::Format;
pub use self::reading::{OnError, Reading, Skipped, Skips, Terms};
use self::records::{Document, RecordBlocks, Records};
pub use self::shards::{Range, ShardCut, shard_cuts};
pub(crate) use self::text::Blocks;
use crate::split::Splitter;
use crate::{Error, Progress, Result};

/// How much text a block holds, as a rule. (Small in tests, so that every document is cut.)
pub const BLOCK: usize = if cfg!(test) { 16 } else { 1 << 20 };

/// A place in a corpus: how many files, streams and documents in memory lie before it, how many bytes of the
/// one that it is in (decompressed), and, where these end before a record, how many bytes of that record's
/// text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub part: u64,
    pub offset: u64,
    pub within: u64,
}

impl Place {
    /// After the end of any corpus.
    pub const BEYOND: Place = Place { part: u64::MAX, offset: u64::MAX, within: u64::MAX };
}

/// Some text: whole documents, or a part of one.
#[derive(Default)]
pub struct Block {
    /// As it was read; in records where `records` says so.
    text: Vec<u8>,
    /// Where `text` begins.
    pub place: Place,
    /// Where the next block begins.
    pub next: Place,
    /// Whether `text` begins where a document begins.
    pub starts_document: bool,
    /// Where the reader had to split by itself: the ends of the pre-tokens.
    pub ends: Option<Vec<u32>>,
    records: Option<Records>,
    /// The texts of the records, one after the other.
    decoded: Vec<u8>,
    documents: Vec<Document>,
}

/// A document, or a part of one, in a block.
pub struct Part<'a> {
    pub text: &'a [u8],
    pub place: Place,
    pub starts_document: bool,
    /// The place behind it, where a document is known to end with it.
    pub ends_document: Option<Place>,
}

impl Part<'_> {
    /// The place behind the first `len` bytes of the text.
    pub fn behind(&self, len: usize) -> Place {
        let Place { part, offset, within } = self.place;
        if self.ends_document.is_some() {
            Place { part, offset, within: within + len as u64 }
        } else {
            Place { part, offset: offset + len as u64, within }
        }
    }
}

impl Block {
    /// How much was read for it.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    /// Takes the documents out of the records, where there are any. Left to the workers, who do it side by
    /// side.
    pub fn decode(&mut self) -> Result<()> {
        self.decoded.clear();
        self.documents.clear();
        if let Some(records) = &self.records {
            return records.decode(&self.text, self.place, &mut self.decoded, &mut self.documents);
        }
        self.documents.push(Document { start: 0, end: self.text.len(), place: self.place, next: self.next });
        Ok(())
    }

    /// What `decode` has found.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let in_records = self.records.is_some();
        let text = if in_records { &self.decoded } else { &self.text };
        self.documents.iter().map(move |&Document { start, end, place, next }| Part {
            text: &text[start..end],
            place,
            starts_document: self.starts_document,
            ends_document: in_records.then_some(next),
        })
    }
}

/// One file or stream.
pub enum Stream<'a> {
    Text(Blocks<Input<'a>>),
    Records(Box<RecordBlocks<'a>>),
    /// One that could not be opened and is left out.
    Nothing,
}

impl<'a> Stream<'a> {
    /// A stream that is at its beginning, to be read from `place` on; `name` says what it holds.
    pub fn new(
        reader: impl Read + Send + 'a,
        name: &Path,
        place: Place,
        terms: Terms<'a>,
    ) -> Result<Stream<'a>> {
        Stream::of_input(Input::of_stream(reader, name, place, terms), name, place, terms)
    }

    fn open(path: &Path, place: Place, terms: Terms<'a>) -> Result<Stream<'a>> {
        Stream::of_input(Input::of_file(path, place, terms), path, place, terms)
    }

    fn of_input(input: Result<Input<'a>>, name: &Path, place: Place, terms: Terms<'a>) -> Result<Stream<'a>> {
        let opened = match (input, Format::of_name(name)) {
            (Err(error), _) => Err(error),
            (Ok(input), Format::Text) => Ok(Stream::Text(Blocks::new(input, name, place))),
            (Ok(input), format) => {
                RecordBlocks::new(input, format, place, terms).map(|blocks| Stream::Records(Box::new(blocks)))
            }
        };
        opened.or_else(|error| terms.skip_or_fail(error, place).map(|()| Stream::Nothing))
    }

    /// Fills `block` with the next text; false at the end.
    pub fn next(&mut self, block: &mut Block, splitter: &Splitter, cutters: &Cutters) -> Result<bool> {
        match self {
            Stream::Text(blocks) => blocks.next(block, splitter, cutters),
            Stream::Records(blocks) => blocks.next(block),
            Stream::Nothing => Ok(false),
        }
    }
}

/// Reads files one after the other. A file's end is a document's end.
pub struct Files<'a> {
    paths: std::slice::Iter<'a, PathBuf>,
    open: Option<Stream<'a>>,
    /// Where the next file begins, and in it what is to be read.
    place: Place,
    terms: Terms<'a>,
}

impl<'a> Files<'a> {
    /// The first of `paths` begins at `place`.
    pub fn new(paths: &'a [PathBuf], place: Place, terms: Terms<'a>) -> Files<'a> {
        Files { paths: paths.iter(), open: None, place, terms }
    }

    /// Fills `block` with the next text; false at the end of the last file.
    pub fn next(&mut self, block: &mut Block, splitter: &Splitter, cutters: &Cutters) -> Result<bool> {
        loop {
            if let Some(stream) = &mut self.open
                && stream.next(block, splitter, cutters)?
            {
                return Ok(true);
            }
            let Some(path) = self.paths.next() else { return Ok(false) };
            self.open = Some(Stream::open(path, self.place, self.terms)?);
            self.place = Place { part: self.place.part + 1, ..Place::default() };
        }
    }
}

/// Documents in memory.
pub struct Documents<'a> {
    documents: std::slice::Iter<'a, &'a [u8]>,
    open: Option<Blocks<&'a [u8]>>,
    place: Place,
    progress: &'a Progress,
}

impl<'a> Documents<'a> {
    /// The first of `documents` begins at `place`.
    pub fn new(documents: &'a [&'a [u8]], place: Place, progress: &'a Progress) -> Documents<'a> {
        Documents { documents: documents.iter(), open: None, place, progress }
    }

    /// Fills `block` with the next text; false at the end of the last document.
    pub fn next(&mut self, block: &mut Block, splitter: &Splitter, cutters: &Cutters) -> Result<bool> {
        loop {
            if let Some(blocks) = &mut self.open
                && blocks.next(block, splitter, cutters)?
            {
                self.progress.advance(block.size() as u64);
                return Ok(true);
            }
            let Some(document) = self.documents.next() else { return Ok(false) };
            let rest = document.get(self.place.offset as usize..).ok_or(Error::CorpusEndsEarly)?;
            self.open = Some(Blocks::new(rest, Path::new("a document"), self.place));
            self.place = Place { part: self.place.part + 1, ..Place::default() };
        }
    }
}

//! Corpus: text from files, streams and memory, in blocks that can be split apart from each other.
//!
//! One reader hands out blocks of about a megabyte, in order; any number of threads take the next one. So
//! memory is bounded by threads × block, whatever the size of a file or of a document. A block ends where a
//! cut cannot change the pieces: at a special token or separator, or at a *safe cut* of the split pattern
//! (see `split`). Where neither is in sight, the reader splits that stretch itself (patterns that only look
//! ahead), or reads on until the document ends (patterns that look behind, and single pieces that long).

mod cutters;
mod shards;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use self::cutters::Cut;
pub use self::cutters::{Boundary, Cutters, Found};
pub use self::shards::{Range, ShardCut, shard_cuts};
use crate::split::{Scratch, Splitter};
use crate::{Error, Result};

/// How much text a block holds, as a rule. (Small in tests, so that every document is cut.)
pub const BLOCK: usize = if cfg!(test) { 16 } else { 1 << 20 };

/// How far back from its end a block is searched for a safe cut.
const REACH: usize = if cfg!(test) { 16 } else { 1 << 16 };

/// A place in a corpus: how many files, streams and documents in memory lie before it, and how many bytes of
/// the one that it is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub part: u64,
    pub offset: u64,
}

/// Some text: whole documents, or a part of one.
#[derive(Default)]
pub struct Block {
    pub text: Vec<u8>,
    /// Where `text` begins.
    pub place: Place,
    /// Whether `text` begins where a document begins.
    pub starts_document: bool,
    /// Where the reader had to split by itself: the ends of the pieces.
    pub ends: Option<Vec<u32>>,
}

/// Reads files one after the other. A file's end is a document's end.
pub struct Files<'a> {
    paths: std::slice::Iter<'a, PathBuf>,
    open: Option<Blocks<File>>,
    /// Where the next file begins, and in it what is to be read.
    place: Place,
}

impl<'a> Files<'a> {
    /// The first of `paths` begins at `place`.
    pub fn new(paths: &'a [PathBuf], place: Place) -> Files<'a> {
        Files { paths: paths.iter(), open: None, place }
    }

    /// Fills `block` with the next text; false at the end of the last file.
    pub fn next(&mut self, block: &mut Block, splitter: &Splitter, cutters: &Cutters) -> Result<bool> {
        loop {
            if let Some(blocks) = &mut self.open
                && blocks.next(block, splitter, cutters)?
            {
                return Ok(true);
            }
            let Some(path) = self.paths.next() else { return Ok(false) };
            let cannot_read = |source| Error::Read { path: path.clone(), source };
            let mut file = File::open(path).map_err(cannot_read)?;
            if self.place.offset > 0 {
                file.seek(SeekFrom::Start(self.place.offset)).map_err(cannot_read)?;
            }
            self.open = Some(Blocks::new(file, path, self.place));
            self.place = Place { part: self.place.part + 1, offset: 0 };
        }
    }
}

/// Documents in memory.
pub struct Documents<'a> {
    documents: std::slice::Iter<'a, &'a [u8]>,
    open: Option<Blocks<&'a [u8]>>,
    place: Place,
}

impl<'a> Documents<'a> {
    /// The first of `documents` begins at `place`.
    pub fn new(documents: &'a [&'a [u8]], place: Place) -> Documents<'a> {
        Documents { documents: documents.iter(), open: None, place }
    }

    /// Fills `block` with the next text; false at the end of the last document.
    pub fn next(&mut self, block: &mut Block, splitter: &Splitter, cutters: &Cutters) -> Result<bool> {
        loop {
            if let Some(blocks) = &mut self.open
                && blocks.next(block, splitter, cutters)?
            {
                return Ok(true);
            }
            let Some(document) = self.documents.next() else { return Ok(false) };
            let rest = document.get(self.place.offset as usize..).ok_or(Error::CorpusEndsEarly)?;
            self.open = Some(Blocks::new(rest, Path::new("a document"), self.place));
            self.place = Place { part: self.place.part + 1, offset: 0 };
        }
    }
}

/// The blocks of one stream.
pub struct Blocks<R> {
    reader: R,
    /// For messages.
    path: PathBuf,
    /// Text that was read but lies behind the last cut.
    carry: Vec<u8>,
    place: Place,
    starts_document: bool,
    at_end: bool,
}

impl<R: Read> Blocks<R> {
    /// What `reader` gives begins at `place`, where a document begins.
    pub fn new(reader: R, path: &Path, place: Place) -> Blocks<R> {
        Blocks { reader, path: path.into(), carry: Vec::new(), place, starts_document: true, at_end: false }
    }

    /// The same for a stream that is at its beginning: what lies before `place` is read and thrown away.
    pub fn skipping(mut reader: R, path: &Path, place: Place) -> Result<Blocks<R>> {
        let skipped = io::copy(&mut (&mut reader).take(place.offset), &mut io::sink());
        match skipped.map_err(|source| Error::Read { path: path.into(), source })? {
            skipped if skipped == place.offset => Ok(Blocks::new(reader, path, place)),
            _ => Err(Error::CorpusEndsEarly),
        }
    }

    /// Fills `block` with the next text; false at the end.
    pub fn next(&mut self, block: &mut Block, splitter: &Splitter, cutters: &Cutters) -> Result<bool> {
        block.text.clear();
        block.text.append(&mut self.carry);
        block.ends = None;
        block.place = self.place;
        block.starts_document = self.starts_document;
        let mut size = BLOCK;
        while !self.at_end {
            let missing = size.saturating_sub(block.text.len()) as u64;
            let read = (&mut self.reader).take(missing).read_to_end(&mut block.text);
            let read = read.map_err(|source| Error::Read { path: self.path.clone(), source })?;
            self.at_end = (read as u64) < missing;
            if self.at_end {
                break;
            }
            let (cut, ends) = match last_cut(&block.text, splitter, cutters) {
                Some(cut) => (cut, None),
                None => split_beginning(&block.text, splitter, cutters)?,
            };
            if cut.at > 0 {
                self.carry.extend_from_slice(&block.text[cut.at..]);
                block.text.truncate(cut.at);
                block.ends = ends;
                self.starts_document = cut.ends_document;
                self.place.offset += cut.at as u64;
                return Ok(true);
            }
            size = 2 * block.text.len();
        }
        Ok(!block.text.is_empty())
    }
}

/// The last place where the text so far can be cut without changing a piece, whatever follows: at a safe cut
/// of the pattern, behind a byte that is not valid UTF-8, or behind a special token or separator.
fn last_cut(text: &[u8], splitter: &Splitter, cutters: &Cutters) -> Option<Cut> {
    // A cutter or a character may have begun in the last bytes; only what lies before them is settled.
    let settled = text.len().saturating_sub(cutters.longest().max(4));
    let start = settled.saturating_sub(REACH);
    // The window may begin inside a character, whose bytes then look invalid.
    let trusted = if start == 0 { 0 } else { start + 3 };
    let (mut valid, mut valid_start, mut behind_invalid, mut at) = ("", start, None, start);
    for chunk in text[start..settled].utf8_chunks() {
        (valid, valid_start) = (chunk.valid(), at);
        at += chunk.valid().len() + chunk.invalid().len();
        if at < settled && at - chunk.invalid().len() >= trusted {
            behind_invalid = Some(Cut { at, ends_document: false });
        }
    }
    while let Some(cut) = splitter.last_cut(valid) {
        if !cutters.cover(text, valid_start + cut) {
            return Some(Cut { at: valid_start + cut, ends_document: false });
        }
        valid = &valid[..cut];
    }
    behind_invalid.or_else(|| cutters.last_end(text, settled))
}

/// Splits a document that is longer than a block and has no safe cut, as far as it can be known.
fn split_beginning(text: &[u8], splitter: &Splitter, cutters: &Cutters) -> Result<(Cut, Option<Vec<u32>>)> {
    let settled = text.len().saturating_sub(cutters.longest().max(4)).min(cutters.first_start(text));
    let nothing = Cut { at: 0, ends_document: false };
    let Some(text) = first_valid(&text[..settled]) else { return Ok((nothing, None)) };
    let mut ends = Vec::new();
    match splitter.split_beginning(text, &mut Scratch::default(), &mut ends) {
        Some(end) => Ok((Cut { at: end?, ends_document: false }, Some(ends))),
        None => Ok((nothing, None)),
    }
}

/// The text up to the first byte that is not part of valid UTF-8; none where it begins with one.
fn first_valid(bytes: &[u8]) -> Option<&str> {
    bytes.utf8_chunks().next().map(|chunk| chunk.valid()).filter(|valid| !valid.is_empty())
}

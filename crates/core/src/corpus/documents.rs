//! Documents: the texts of a corpus themselves, in order, a batch at a time.
//!
//! Nothing is split or encoded: a document is what lies between the ends of inputs, of records and of
//! separators, without the empty ones, as for every other consumer of a corpus. Memory is bounded by a batch,
//! a block and the longest document. Cost: one copy of the text.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Block, BlockSource, Cutters, Feed, Reading, Skipped};
use crate::memory::reserve;
use crate::split::Splitter;
use crate::{Error, Progress, Result};

/// About how many bytes of text a batch holds.
const BATCH: usize = if cfg!(test) { 32 } else { 1 << 20 };

/// A preset whose safe cuts are frequent; blocks must end somewhere.
const PATTERN: &str = "gpt2";

/// Hands out the documents of one input after the other.
pub struct Documents {
    feed: Feed,
    boundaries: Arc<Boundaries>,
    progress: Progress,
}

/// What decides where blocks and documents end.
struct Boundaries {
    splitter: Splitter,
    separator: Cutters,
}

impl Documents {
    /// Creates a reader of documents. `separator` ends a document wherever the text holds it.
    pub fn new(separator: Option<&str>) -> Result<Documents> {
        if separator.is_some_and(str::is_empty) {
            let reason = "the separator is empty; it needs at least one character".into();
            return Err(Error::BadSetting { reason });
        }
        let boundaries =
            Boundaries { splitter: Splitter::new(PATTERN)?, separator: Cutters::new(&[], separator)? };
        Ok(Documents { feed: Feed::default(), boundaries: Arc::new(boundaries), progress: Progress::new() })
    }

    /// Returns the documents of files.
    pub fn files(&mut self, paths: Vec<PathBuf>, reading: &Reading) -> DocumentBatches<'static> {
        let blocks = self.feed.files(paths.into_iter(), reading, &self.progress);
        DocumentBatches::new(Box::new(blocks), &self.boundaries)
    }

    /// Returns the documents of a stream. The format follows from `name`.
    pub fn stream<'a>(
        &mut self,
        reader: impl Read + Send + 'a,
        name: &Path,
        reading: &Reading,
    ) -> Result<DocumentBatches<'a>> {
        let blocks = self.feed.stream(reader, name, reading, &self.progress)?;
        Ok(DocumentBatches::new(Box::new(blocks), &self.boundaries))
    }

    /// Returns the documents in texts: each text is one, or several if it holds the separator.
    pub fn in_memory<'a>(&'a mut self, texts: &'a [&'a [u8]]) -> DocumentBatches<'a> {
        let blocks = self.feed.documents(texts, &self.progress);
        DocumentBatches::new(Box::new(blocks), &self.boundaries)
    }

    /// Returns what could not be read and was skipped.
    pub fn skipped(&self) -> Skipped {
        self.feed.skipped()
    }

    /// Returns how many bytes were read so far, as they are stored.
    pub fn bytes_read(&self) -> u64 {
        self.progress.snapshot().1
    }
}

/// The documents of one input. Call [`read`](Self::read) until the batch is full or the input ends, use the
/// [`batch`](Self::batch), and [`clear`](Self::clear) it.
pub struct DocumentBatches<'a> {
    blocks: Box<dyn BlockSource + 'a>,
    boundaries: Arc<Boundaries>,
    block: Block,
    /// The documents of the batch and the beginning of the next one, end to end.
    text: Vec<u8>,
    /// Where each document of the batch ends.
    ends: Vec<usize>,
    at_end: bool,
}

impl<'a> DocumentBatches<'a> {
    fn new(blocks: Box<dyn BlockSource + 'a>, boundaries: &Arc<Boundaries>) -> DocumentBatches<'a> {
        DocumentBatches {
            blocks,
            boundaries: Arc::clone(boundaries),
            block: Block::default(),
            text: Vec::new(),
            ends: Vec::new(),
            at_end: false,
        }
    }

    /// Reads one block, and returns false at the end of the input.
    pub fn read(&mut self) -> Result<bool> {
        let Boundaries { splitter, separator } = &*self.boundaries;
        if self.at_end || !self.blocks.next(&mut self.block, splitter, separator)? {
            self.at_end = true;
            end_document(&self.text, &mut self.ends);
            return Ok(false);
        }
        self.block.decode()?;
        for part in self.block.parts() {
            reserve(&mut self.text, part.text.len(), "a document")?;
            if part.starts_document {
                end_document(&self.text, &mut self.ends);
            }
            let mut from = 0;
            while let Some(found) = separator.find(part.text, from) {
                self.text.extend_from_slice(&part.text[from..found.start]);
                end_document(&self.text, &mut self.ends);
                from = found.end;
            }
            self.text.extend_from_slice(&part.text[from..]);
            if part.ends_document.is_some() {
                end_document(&self.text, &mut self.ends);
            }
        }
        Ok(true)
    }

    /// Returns whether the batch holds enough text to be used.
    pub fn is_full(&self) -> bool {
        self.whole() >= BATCH
    }

    /// Iterates over the documents of the batch.
    pub fn batch(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let document = &self.text[start..end];
            start = end;
            document
        })
    }

    /// Empties the batch.
    pub fn clear(&mut self) {
        self.text.drain(..self.whole());
        self.ends.clear();
    }

    /// How many bytes the whole documents have.
    fn whole(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }
}

/// Ends the last document, unless it is empty.
fn end_document(text: &[u8], ends: &mut Vec<usize>) {
    if text.len() > ends.last().copied().unwrap_or(0) {
        ends.push(text.len());
    }
}

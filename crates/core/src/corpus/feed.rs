//! Feed: the one driver between a corpus and whatever consumes it.
//!
//! A corpus arrives as a sequence of inputs: files, streams, ranges of files, documents in memory. [`Feed`]
//! knows the position in that sequence and turns each input into a [`BlockSource`]. A [`Consumer`] (counting,
//! writing token files) takes the blocks of one input after the other; [`Documents`](super::Documents) hands
//! them out as documents instead.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sources::{BlockSource, FileBlocks, MemoryBlocks, StreamBlocks};
use super::{Block, Cutters, LONGEST, Position, ReadContext, Reading, Skipped, Skips};
use crate::split::Splitter;
use crate::{Progress, Result, Stage};

/// The position in a sequence of inputs, and what was skipped so far.
pub struct Feed {
    position: Position,
    in_document: bool,
    skips: Arc<Skips>,
    max_record: usize,
}

impl Default for Feed {
    fn default() -> Feed {
        Feed { position: Position::default(), in_document: false, skips: Arc::default(), max_record: LONGEST }
    }
}

impl Feed {
    /// Refuses records, and stretches of text without a safe cut, that are longer than this many bytes: each must
    /// be in memory as a whole.
    pub fn limit_records(&mut self, bytes: u64) {
        self.max_record = usize::try_from(bytes).unwrap_or(LONGEST).min(LONGEST);
    }

    /// Returns where the next input begins.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Returns whether the next input begins inside a document.
    pub fn in_document(&self) -> bool {
        self.in_document
    }

    /// Makes the next input start at `position`: it has the number `position.part`, and its beginning up to
    /// `position.offset` is skipped. `in_document` says whether that is inside a document.
    pub fn resume_at(&mut self, position: Position, in_document: bool) {
        self.position = position;
        self.in_document = in_document;
    }

    /// Returns what could not be read and was skipped.
    pub fn skipped(&self) -> Skipped {
        self.skips.skipped()
    }

    /// The blocks of files: each text file is a document, or several if it holds the separator, and so is
    /// each record.
    pub fn files<P>(&mut self, paths: P, reading: &Reading, progress: &Progress) -> impl BlockSource + use<P>
    where
        P: ExactSizeIterator<Item: AsRef<Path>> + Send,
    {
        let (position, inside, inputs) = (self.position, self.inside(), paths.len());
        let context = ReadContext::new(reading, self.max_record, &self.skips, progress);
        self.pass(inputs);
        Continued { blocks: FileBlocks::new(paths, position, context), inside }
    }

    /// The blocks of a stream such as standard input. The format follows from `name`.
    pub fn stream<'a, R: Read + Send + 'a>(
        &mut self,
        reader: R,
        name: &Path,
        reading: &Reading,
        progress: &Progress,
    ) -> Result<impl BlockSource + use<'a, R>> {
        let inside = self.inside();
        let context = ReadContext::new(reading, self.max_record, &self.skips, progress);
        let blocks = StreamBlocks::new(reader, name, self.position, &context)?;
        self.pass(1);
        Ok(Continued { blocks, inside })
    }

    /// The blocks of documents in memory: each slice is a document, or several if it holds the separator.
    pub fn documents<'a>(
        &mut self,
        documents: &'a [&'a [u8]],
        progress: &'a Progress,
    ) -> impl BlockSource + use<'a> {
        let (position, inside) = (self.position, self.inside());
        self.pass(documents.len());
        Continued { blocks: MemoryBlocks::new(documents, position, self.max_record, progress), inside }
    }

    /// The blocks of a plain text or JSON lines file from byte `start` to byte `end`, which
    /// [`shard_cuts`](super::shard_cuts) has found.
    pub fn range(
        &mut self,
        path: &Path,
        start: u64,
        end: u64,
        in_document: bool,
        reading: &Reading,
        progress: &Progress,
    ) -> Result<impl BlockSource + use<>> {
        self.position.offset = start;
        self.in_document = in_document;
        let inside = self.inside();
        let context = ReadContext::new(reading, self.max_record, &self.skips, progress);
        let blocks = StreamBlocks::range(path, start, end, self.position, &context)?;
        self.pass(1);
        Ok(Continued { blocks, inside })
    }

    /// The position of the block that continues a document which an earlier run began.
    fn inside(&self) -> Option<Position> {
        self.in_document.then_some(self.position)
    }

    /// Moves on past `inputs` inputs.
    fn pass(&mut self, inputs: usize) {
        if inputs > 0 {
            self.position = Position { part: self.position.part + inputs as u64, ..Position::default() };
            self.in_document = false;
        }
    }
}

/// Blocks of which the one at `inside` continues a document.
struct Continued<S> {
    blocks: S,
    inside: Option<Position>,
}

impl<S: BlockSource> BlockSource for Continued<S> {
    fn next(&mut self, block: &mut Block, splitter: &Splitter, cutters: &Cutters) -> Result<bool> {
        let any = self.blocks.next(block, splitter, cutters)?;
        if self.inside == Some(block.position) {
            block.starts_document = false;
        }
        Ok(any)
    }
}

/// Takes a corpus, one input after the other.
pub trait Consumer {
    /// The stage under which progress is reported.
    const STAGE: Stage;

    fn feed(&self) -> &Feed;

    fn feed_mut(&mut self) -> &mut Feed;

    /// Takes all blocks of one input.
    fn consume(&mut self, blocks: impl BlockSource, progress: &Progress) -> Result<()>;

    /// Consumes documents in memory; see [`Feed::documents`].
    fn add_documents(&mut self, documents: &[&[u8]], progress: &Progress) -> Result<()> {
        begin(Self::STAGE, progress);
        let blocks = self.feed_mut().documents(documents, progress);
        self.consume(blocks, progress)
    }

    /// Consumes files; see [`Feed::files`].
    fn add_files(&mut self, paths: &[PathBuf], reading: &Reading, progress: &Progress) -> Result<()> {
        let sizes = paths.iter().map(|path| path.metadata().map_or(0, |data| data.len()));
        progress.begin(Self::STAGE, sizes.sum());
        let blocks = self.feed_mut().files(paths.iter(), reading, progress);
        self.consume(blocks, progress)
    }

    /// Consumes a stream; see [`Feed::stream`].
    fn add_reader(
        &mut self,
        reader: impl Read + Send,
        name: &Path,
        reading: &Reading,
        progress: &Progress,
    ) -> Result<()> {
        begin(Self::STAGE, progress);
        let blocks = self.feed_mut().stream(reader, name, reading, progress)?;
        self.consume(blocks, progress)
    }

    /// Consumes a range of a file; see [`Feed::range`].
    fn add_range(
        &mut self,
        path: &Path,
        start: u64,
        end: u64,
        in_document: bool,
        reading: &Reading,
        progress: &Progress,
    ) -> Result<()> {
        begin(Self::STAGE, progress);
        let blocks = self.feed_mut().range(path, start, end, in_document, reading, progress)?;
        self.consume(blocks, progress)
    }

    /// Returns what could not be read and was skipped.
    fn skipped(&self) -> Skipped {
        self.feed().skipped()
    }
}

/// Begins the stage, unless it has begun with a known total.
fn begin(stage: Stage, progress: &Progress) {
    if progress.snapshot().0 != stage {
        progress.begin(stage, 0);
    }
}

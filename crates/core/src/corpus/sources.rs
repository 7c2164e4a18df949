//! Sources: whatever yields blocks of text in order.

use std::io::Read;
use std::path::Path;

use super::input::Input;
use super::records::RecordBlocks;
use super::text::TextBlocks;
use super::{Block, Cutters, FileFormat, Position, ReadContext};
use crate::split::Splitter;
use crate::{Error, Progress, Result};

/// Yields blocks of text in order.
pub trait BlockSource: Send {
    /// Fills `block` with the next text, and returns false at the end. Blocks end where neither a pre-token
    /// of `splitter` nor one of `cutters` is cut.
    fn next(&mut self, block: &mut Block, splitter: &Splitter, cutters: &Cutters) -> Result<bool>;
}

/// The blocks of one file or stream.
pub enum StreamBlocks<'a> {
    Text(Box<TextBlocks<Input<'a>>>, ReadContext),
    Records(Box<RecordBlocks<'a>>),
    /// A file that could not be read, whose rest is skipped.
    Nothing,
}

impl<'a> StreamBlocks<'a> {
    /// Reads a stream that is at its beginning, from `position` on. The format follows from `name`.
    pub fn new(
        reader: impl Read + Send + 'a,
        name: &Path,
        position: Position,
        context: &ReadContext,
    ) -> Result<StreamBlocks<'a>> {
        StreamBlocks::of_input(Input::of_stream(reader, name, position, context), name, position, context)
    }

    pub fn open(path: &Path, position: Position, context: &ReadContext) -> Result<StreamBlocks<'a>> {
        StreamBlocks::of_input(Input::of_file(path, position, context), path, position, context)
    }

    /// Reads a range of a file that [`shard_cuts`](super::shard_cuts) has found.
    pub fn range(
        path: &Path,
        start: u64,
        end: u64,
        position: Position,
        context: &ReadContext,
    ) -> Result<StreamBlocks<'a>> {
        StreamBlocks::of_input(
            Input::of_range(path, start, end, position.part, context),
            path,
            position,
            context,
        )
    }

    fn of_input(
        input: Result<Input<'a>>,
        name: &Path,
        position: Position,
        context: &ReadContext,
    ) -> Result<StreamBlocks<'a>> {
        let opened = match (input, FileFormat::of_name(name)) {
            (Err(error), _) => Err(error),
            (Ok(input), FileFormat::Text) => {
                let blocks = TextBlocks::new(input, name, position, context.max_record);
                Ok(StreamBlocks::Text(Box::new(blocks), context.clone()))
            }
            (Ok(input), format) => RecordBlocks::new(input, format, position, context)
                .map(|blocks| StreamBlocks::Records(Box::new(blocks))),
        };
        opened.or_else(|error| context.skip_or_fail(error, position).map(|()| StreamBlocks::Nothing))
    }
}

impl BlockSource for StreamBlocks<'_> {
    fn next(&mut self, block: &mut Block, splitter: &Splitter, cutters: &Cutters) -> Result<bool> {
        match self {
            StreamBlocks::Text(blocks, context) => match blocks.next(block, splitter, cutters) {
                Err(error @ Error::LongStretch { .. }) => {
                    context.skip_or_fail(error, block.position)?;
                    *self = StreamBlocks::Nothing;
                    Ok(false)
                }
                outcome => outcome,
            },
            StreamBlocks::Records(blocks) => blocks.next(block),
            StreamBlocks::Nothing => Ok(false),
        }
    }
}

/// The blocks of files, one after the other. The end of a file ends its last document.
pub struct FileBlocks<P> {
    paths: P,
    open: Option<StreamBlocks<'static>>,
    /// Where to begin in the next file.
    position: Position,
    context: ReadContext,
}

impl<P> FileBlocks<P> {
    /// Reads the first of `paths` from `position` on.
    pub fn new(paths: P, position: Position, context: ReadContext) -> FileBlocks<P> {
        FileBlocks { paths, open: None, position, context }
    }
}

impl<P: Iterator<Item: AsRef<Path>> + Send> BlockSource for FileBlocks<P> {
    fn next(&mut self, block: &mut Block, splitter: &Splitter, cutters: &Cutters) -> Result<bool> {
        loop {
            if let Some(stream) = &mut self.open
                && stream.next(block, splitter, cutters)?
            {
                return Ok(true);
            }
            let Some(path) = self.paths.next() else { return Ok(false) };
            self.open = Some(StreamBlocks::open(path.as_ref(), self.position, &self.context)?);
            self.position = Position { part: self.position.part + 1, ..Position::default() };
        }
    }
}

/// The blocks of documents in memory.
pub struct MemoryBlocks<'a> {
    documents: std::slice::Iter<'a, &'a [u8]>,
    open: Option<TextBlocks<&'a [u8]>>,
    position: Position,
    max_record: usize,
    progress: &'a Progress,
}

impl<'a> MemoryBlocks<'a> {
    /// Reads the first of `documents` from `position` on.
    pub fn new(
        documents: &'a [&'a [u8]],
        position: Position,
        max_record: usize,
        progress: &'a Progress,
    ) -> MemoryBlocks<'a> {
        MemoryBlocks { documents: documents.iter(), open: None, position, max_record, progress }
    }
}

impl BlockSource for MemoryBlocks<'_> {
    fn next(&mut self, block: &mut Block, splitter: &Splitter, cutters: &Cutters) -> Result<bool> {
        loop {
            if let Some(blocks) = &mut self.open
                && blocks.next(block, splitter, cutters)?
            {
                self.progress.advance(block.size() as u64);
                return Ok(true);
            }
            let Some(document) = self.documents.next() else { return Ok(false) };
            let rest = document.get(self.position.offset as usize..).ok_or(Error::CorpusEndsEarly)?;
            self.open = Some(TextBlocks::new(rest, Path::new("a document"), self.position, self.max_record));
            self.position = Position { part: self.position.part + 1, ..Position::default() };
        }
    }
}

//! Writer: takes blocks of text, encodes them on all threads and writes the ids in order.

use std::path::Path;
use std::sync::{Arc, Mutex};

use super::encoded::{DocumentEncoder, Encoded};
use super::formats::{IdWidth, TokenFormat};
use super::in_order::InOrder;
use super::output::Output;
use crate::corpus::{BLOCK, Block, BlockSource, Consumer, Cutters, Feed, FirstError, Position};
use crate::team::Team;
use crate::threads::thread_count;
use crate::{Error, Progress, Result, Stage, Tokenizer};

/// How a corpus is encoded and written.
pub struct TokenSettings {
    pub format: TokenFormat,
    pub width: IdWidth,
    /// The string between the documents of a file; it is not encoded.
    pub separator: Option<String>,
    /// Ids to put before and after each document.
    pub prepend: Option<u32>,
    pub append: Option<u32>,
    /// Special tokens that are encoded as such; all others are plain text.
    pub allowed_special: Vec<String>,
    /// A shard ends with the document that brings it to this many tokens. None writes a piece instead of
    /// shards.
    pub shard_tokens: Option<u64>,
    /// 0 means one thread per core.
    pub threads: usize,
}

/// Encodes a corpus and writes it to a folder. [`TokenWriter::finish`] ends the last shard.
pub struct TokenWriter {
    encoder: DocumentEncoder,
    /// Whether ids are written in two bytes.
    narrow: bool,
    workers: Vec<Mutex<Worker>>,
    team: Team,
    feed: Feed,
    pub(super) output: Output,
}

impl TokenWriter {
    /// Checks the settings and locks the folder, which must exist.
    pub fn new(
        tokenizer: Arc<Tokenizer>,
        settings: TokenSettings,
        folder: &Path,
        progress: &Progress,
    ) -> Result<TokenWriter> {
        if settings.width < IdWidth::least(&tokenizer) {
            return refuse(format!(
                "ids up to {} do not fit in uint16; use dtype \"uint32\" or \"auto\"",
                tokenizer.next_id() - 1
            ));
        }
        if settings.shard_tokens == Some(0) {
            return refuse("shard_tokens must be at least 1".into());
        }
        if settings.separator.as_ref().is_some_and(String::is_empty) {
            return refuse("the separator is empty; it needs at least one character".into());
        }
        for id in [settings.prepend, settings.append].into_iter().flatten() {
            if tokenizer.bytes_or_special(id).is_none() {
                return refuse(format!("this tokenizer has no token with id {id} to put around documents"));
            }
        }
        let id_of = |token: &String| match tokenizer.special_id(token) {
            Some(id) => Ok(id),
            None => Err(Error::BadSpecial { token: token.clone(), reason: "is not one of this tokenizer" }),
        };
        let allowed_ids = settings.allowed_special.iter().map(id_of).collect::<Result<_>>()?;
        let team = Team::new(thread_count(settings.threads));
        let output = Output::new(&settings, folder, progress)?;
        Ok(TokenWriter {
            encoder: DocumentEncoder {
                allowed_ids,
                cutters: Cutters::new(&settings.allowed_special, settings.separator.as_deref())?,
                prepend: settings.prepend,
                append: settings.append,
                tokenizer,
            },
            narrow: settings.width == IdWidth::Two,
            workers: (0..team.size()).map(|_| Mutex::default()).collect(),
            team,
            feed: Feed::default(),
            output,
        })
    }

    /// Resumes with this shard at `position`, the end of the previous one. The next input must be number
    /// `position.part`, and its beginning up to `position.offset` is skipped.
    pub fn start_at(&mut self, shard: u64, position: Position) {
        self.output.start_at(shard);
        self.feed.resume_at(position, false);
    }

    /// Ends the last document and the last shard, or the piece.
    pub fn finish(self, progress: &Progress) -> Result<()> {
        self.output.finish(self.feed.position(), progress)
    }
}

impl Consumer for TokenWriter {
    const STAGE: Stage = Stage::Encode;

    fn feed(&self) -> &Feed {
        &self.feed
    }

    fn feed_mut(&mut self) -> &mut Feed {
        &mut self.feed
    }

    /// Encodes all blocks on all threads and writes them in order.
    fn consume(&mut self, blocks: impl BlockSource, progress: &Progress) -> Result<()> {
        let TokenWriter { encoder, narrow, workers, team, output, .. } = self;
        let (splitter, cutters) = (encoder.tokenizer.splitter(), &encoder.cutters);
        let source = Mutex::new((blocks, 0));
        let in_order = InOrder::new(output, 2 * team.size() as u64);
        let failure = FirstError::default();
        let stopped = || progress.is_cancelled() || failure.any();
        let work = |member: usize| -> Result<()> {
            let worker = &mut *workers[member].lock().unwrap();
            while !stopped() {
                // The lock is held only to take blocks, so that the next thread can read while this one
                // encodes.
                let number = {
                    let (blocks, taken) = &mut *source.lock().unwrap();
                    if !worker.fill(|block| blocks.next(block, splitter, cutters))? {
                        return Ok(());
                    }
                    *taken += 1;
                    *taken - 1
                };
                let position = worker.blocks[0].position;
                let Worker { blocks, filled, encoded } = &mut *worker;
                if let Err(error) = encoder.encode(&mut blocks[..*filled], encoded, progress) {
                    failure.note(position, error);
                    break;
                }
                if *narrow {
                    encoded.narrow();
                }
                in_order.deliver(number, encoded, &stopped, progress)?;
            }
            progress.check()
        };
        team.run(&|member| {
            if let Err(error) = work(member) {
                failure.note(Position::END, error);
            }
        });
        failure.into_result()
    }
}

fn refuse<T>(reason: String) -> Result<T> {
    Err(Error::BadSetting { reason })
}

/// The state of one thread.
#[derive(Default)]
struct Worker {
    blocks: Vec<Block>,
    filled: usize,
    encoded: Encoded,
}

impl Worker {
    /// Takes one block, or several small ones, and returns false at the end.
    fn fill(&mut self, mut next: impl FnMut(&mut Block) -> Result<bool>) -> Result<bool> {
        self.filled = 0;
        let mut size = 0;
        while size < BLOCK / 2 {
            if self.filled == self.blocks.len() {
                self.blocks.push(Block::default());
            }
            let block = &mut self.blocks[self.filled];
            if !next(block)? {
                break;
            }
            size += block.size();
            self.filled += 1;
        }
        Ok(self.filled > 0)
    }
}

//! Shards: the folder of shards. Cuts the stream of ids into shards and flushes full ones in the background.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use super::encoded::Encoded;
use super::formats::{IdWidth, TokenFormat};
use super::shard::{Shard, Tally};
use super::{PATIENCE, TokenSettings};
use crate::corpus::Position;
use crate::disk::File;
use crate::durable::lock;
use crate::{Error, Progress, Result, threads};

/// The folder, and the shard that is being written.
pub struct Shards {
    folder: PathBuf,
    lock: Arc<Option<File>>,
    format: TokenFormat,
    width: IdWidth,
    append: Option<u32>,
    shard_tokens: u64,
    /// The number of the open shard, or of the next one.
    number: u64,
    shard: Option<Shard>,
    document_open: bool,
    /// The last full shard, while it is flushed.
    flushing: Option<Receiver<thread::Result<Result<()>>>>,
}

impl Shards {
    /// Locks the folder, which must exist.
    pub fn new(
        settings: &TokenSettings,
        shard_tokens: u64,
        folder: &Path,
        progress: &Progress,
    ) -> Result<Shards> {
        Ok(Shards {
            lock: Arc::new(lock(folder, progress)?),
            folder: folder.into(),
            format: settings.format,
            width: settings.width,
            append: settings.append,
            shard_tokens,
            number: 0,
            shard: None,
            document_open: false,
            flushing: None,
        })
    }

    /// Gives the next shard this number.
    pub fn start_at(&mut self, shard: u64) {
        self.number = shard;
    }

    /// Ends the last document and the last shard. The corpus ends at `end`.
    pub fn finish(&mut self, end: Position, progress: &Progress) -> Result<()> {
        self.end_document(end, progress)?;
        if self.shard.is_some() {
            self.end_shard(end, progress)?;
        }
        self.await_flush(progress)?;
        if self.number == 0 { Err(Error::EmptyCorpus) } else { Ok(()) }
    }

    pub fn write(&mut self, encoded: &Encoded, progress: &Progress) -> Result<()> {
        if encoded.starts_document {
            self.end_document(encoded.position, progress)?;
        }
        let mut written = Tally::default();
        for &(tally, next) in &encoded.ends {
            let shard = self.shard()?;
            let end = shard.tally().plus(tally.minus(written)).tokens;
            shard.end_document(end)?;
            if end >= self.shard_tokens {
                self.append(encoded, written, tally)?;
                self.end_shard(next, progress)?;
                written = tally;
            }
        }
        self.append(encoded, written, encoded.tally())?;
        self.document_open = encoded.document_open;
        Ok(())
    }

    fn append(&mut self, encoded: &Encoded, from: Tally, to: Tally) -> Result<()> {
        if from == to {
            return Ok(());
        }
        self.shard()?.write(encoded.file_bytes(from.tokens..to.tokens), to.minus(from))
    }

    /// Ends the open document, if there is one. The next one begins at `next`.
    fn end_document(&mut self, next: Position, progress: &Progress) -> Result<()> {
        if !self.document_open {
            return Ok(());
        }
        self.document_open = false;
        let (append, width) = (self.append, self.width);
        let shard = self.shard()?;
        if let Some(id) = append {
            shard.write(
                &id.to_le_bytes()[..width.bytes() as usize],
                Tally { tokens: 1, ..Tally::default() },
            )?;
        }
        let end = shard.tally().tokens;
        shard.end_document(end)?;
        if end >= self.shard_tokens { self.end_shard(next, progress) } else { Ok(()) }
    }

    fn shard(&mut self) -> Result<&mut Shard> {
        if self.shard.is_none() {
            self.shard = Some(Shard::create(&self.folder, self.number, self.format, self.width)?);
        }
        Ok(self.shard.as_mut().expect("just created"))
    }

    /// Flushes the shard in the background, once the previous one is on disk: shards are finished in order.
    fn end_shard(&mut self, next: Position, progress: &Progress) -> Result<()> {
        self.await_flush(progress)?;
        let Some(shard) = self.shard.take() else { return Ok(()) };
        self.number += 1;
        let (sender, receiver) = channel();
        // Shared, so that it is not lost with a thread that cannot be started.
        let job = Arc::new(Mutex::new(Some((shard, Arc::clone(&self.lock), sender))));
        let flush = move || {
            let Some((shard, lock, sender)) = job.lock().unwrap().take() else { return };
            let flushed = catch_unwind(AssertUnwindSafe(|| shard.finish(next)));
            drop(lock);
            // There is no receiver if the work was cancelled.
            let _ = sender.send(flushed);
        };
        if threads::start(flush.clone()).is_none() {
            flush();
        }
        self.flushing = Some(receiver);
        Ok(())
    }

    /// Waits until the last full shard is on disk. Does not wait if cancelled: the flush then continues
    /// alone, and holds the lock of the folder until it is done.
    pub fn await_flush(&mut self, progress: &Progress) -> Result<()> {
        let Some(flushing) = &self.flushing else { return Ok(()) };
        let flushed = loop {
            match flushing.recv_timeout(PATIENCE) {
                Ok(flushed) => break flushed,
                Err(_) => progress.check()?,
            }
        };
        self.flushing = None;
        flushed.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

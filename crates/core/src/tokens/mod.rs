//! Tokens: a corpus becomes files of ids.
//!
//! ```text
//! corpus ─blocks─▶ encode, on every thread ─ids─▶ put in order ─▶ shards on disk
//! ```
//!
//! Each thread takes the next blocks of text, about a megabyte, and encodes them. A thread whose blocks are
//! the next in line writes them, and those behind that are ready; one that is too far ahead waits. So memory
//! is bounded by the number of threads, whatever the size of a file, a document or a shard, and the files do
//! not depend on the number of threads. A shard that is full is flushed to disk on a thread of its own while
//! the next one grows.
//!
//! Documents are what files, separators and the caller's own documents make them, empty ones left out. A
//! shard ends with the first document that fills it, and says in its `.json` where the corpus goes on: there
//! an interrupted run begins again, and the files come out the same.

mod formats;
mod shard;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

pub use self::formats::{Format, Width};
use self::shard::{Shard, Tally};
use crate::corpus::{
    BLOCK, Block, Boundary, Cutters, Documents, Files, FirstError, Place, Reading, Skipped, Skips, Stream,
    Terms,
};
use crate::durable::lock;
use crate::split::Splitter;
use crate::team::{Team, thread_count};
use crate::{Error, Progress, Result, Stage, Tokenizer};

/// How often whoever waits looks around.
const PATIENCE: Duration = Duration::from_millis(5);

/// How ids are put in files.
pub struct Settings {
    pub format: Format,
    pub width: Width,
    /// What stands between the documents of a file; it is no part of them.
    pub separator: Option<String>,
    /// Ids put before and behind every document.
    pub prepend: Option<u32>,
    pub append: Option<u32>,
    /// Special tokens that are encoded as such where the text holds them. All others are plain text.
    pub allowed_special: Vec<String>,
    /// A shard ends with the document that brings it to so many tokens.
    pub shard_tokens: u64,
    /// 0 means one per core.
    pub threads: usize,
}

/// Encodes what it is given and writes it to a folder; [`Writer::finish`] ends the last shard.
pub struct Writer {
    tokenizer: Arc<Tokenizer>,
    cutters: Cutters,
    allowed_ids: Vec<u32>,
    prepend: Option<u32>,
    workers: Vec<Mutex<Worker>>,
    team: Team,
    /// Where what is added next begins.
    place: Place,
    skips: Arc<Skips>,
    output: Output,
}

impl Writer {
    /// Checks the settings and locks the folder, which must be there.
    pub fn new(
        tokenizer: Arc<Tokenizer>,
        settings: Settings,
        folder: &Path,
        progress: &Progress,
    ) -> Result<Writer> {
        if settings.width < Width::least(&tokenizer) {
            return refuse(format!(
                "ids up to {} do not fit in uint16; choose uint32, or leave the choice to merganser",
                tokenizer.next_id() - 1
            ));
        }
        if settings.shard_tokens == 0 {
            return refuse("a shard must hold at least one token".into());
        }
        if settings.separator.as_ref().is_some_and(String::is_empty) {
            return refuse("the separator is empty; it needs at least one character".into());
        }
        for id in [settings.prepend, settings.append].into_iter().flatten() {
            if tokenizer.bytes_or_special(id).is_none() {
                return refuse(format!("this tokenizer has no token with id {id} to put around documents"));
            }
        }
        let ids = settings.allowed_special.iter().map(|token| match tokenizer.special_id(token) {
            Some(id) => Ok(id),
            None => Err(Error::BadSpecial { token: token.clone(), reason: "is not one of this tokenizer" }),
        });
        let team = Team::new(thread_count(settings.threads));
        Ok(Writer {
            allowed_ids: ids.collect::<Result<_>>()?,
            cutters: Cutters::new(&settings.allowed_special, settings.separator.as_deref()),
            prepend: settings.prepend,
            workers: (0..team.size()).map(|_| Mutex::default()).collect(),
            team,
            place: Place::default(),
            skips: Arc::default(),
            output: Output {
                lock: Arc::new(lock(folder, progress)?),
                folder: folder.into(),
                format: settings.format,
                width: settings.width,
                append: settings.append,
                shard_tokens: settings.shard_tokens,
                number: 0,
                shard: None,
                document_open: false,
                flushing: None,
            },
            tokenizer,
        })
    }

    /// Begins with this shard at `place`, the end of the shard before it: the first of what is added is the
    /// part `place.part`, and its beginning up to `place.offset` is skipped.
    pub fn start_at(&mut self, shard: u64, place: Place) {
        self.output.number = shard;
        self.place = place;
    }

    /// Each slice is a document of its own, or several where the separator stands in it.
    pub fn add_documents(&mut self, documents: &[&[u8]], progress: &Progress) -> Result<()> {
        let mut source = Documents::new(documents, self.place, progress);
        let encoded =
            self.encode(progress, move |block, splitter, cutters| source.next(block, splitter, cutters));
        self.skip_parts(documents.len());
        encoded
    }

    /// Each text file is a document of its own, or several where the separator stands in it; so is each
    /// record.
    pub fn add_files(&mut self, paths: &[PathBuf], reading: &Reading, progress: &Progress) -> Result<()> {
        let sizes = paths.iter().map(|path| path.metadata().map_or(0, |data| data.len()));
        progress.begin(Stage::Encode, sizes.sum());
        let skips = Arc::clone(&self.skips);
        let mut source = Files::new(paths, self.place, Terms { reading, skips: &skips, progress });
        let encoded =
            self.encode(progress, move |block, splitter, cutters| source.next(block, splitter, cutters));
        self.skip_parts(paths.len());
        encoded
    }

    /// A stream such as standard input; its name says what it holds.
    pub fn add_reader(
        &mut self,
        reader: impl Read + Send,
        name: &Path,
        reading: &Reading,
        progress: &Progress,
    ) -> Result<()> {
        let skips = Arc::clone(&self.skips);
        begin(progress);
        let mut source = Stream::new(reader, name, self.place, Terms { reading, skips: &skips, progress })?;
        let encoded =
            self.encode(progress, move |block, splitter, cutters| source.next(block, splitter, cutters));
        self.skip_parts(1);
        encoded
    }

    /// What could not be read and was left out.
    pub fn skipped(&self) -> Skipped {
        self.skips.skipped()
    }

    fn skip_parts(&mut self, parts: usize) {
        if parts > 0 {
            self.place = Place { part: self.place.part + parts as u64, ..Place::default() };
        }
    }

    /// Takes blocks from `next` until it says false, on all threads.
    fn encode(
        &mut self,
        progress: &Progress,
        next: impl FnMut(&mut Block, &Splitter, &Cutters) -> Result<bool> + Send,
    ) -> Result<()> {
        begin(progress);
        let Writer { tokenizer, cutters, allowed_ids, prepend, workers, team, output, .. } = self;
        let (splitter, append) = (tokenizer.splitter(), output.append);
        let narrow = output.width == Width::Two;
        let source = Mutex::new((next, 0));
        let in_order = InOrder::new(output, 2 * team.size() as u64);
        let failure = FirstError::default();
        let stopped = || progress.is_cancelled() || failure.any();
        let work = |member: usize| -> Result<()> {
            let worker = &mut *workers[member].lock().unwrap();
            while !stopped() {
                // Taken apart from the work, so that the next thread can read while this one encodes.
                let number = {
                    let (next, taken) = &mut *source.lock().unwrap();
                    if !worker.fill(|block| next(block, splitter, cutters))? {
                        return Ok(());
                    }
                    *taken += 1;
                    *taken - 1
                };
                let place = worker.batch[0].place;
                let done = worker.encode(tokenizer, cutters, allowed_ids, *prepend, append, progress);
                if let Err(error) = done {
                    failure.note(place, error);
                    break;
                }
                if narrow {
                    worker.encoded.narrow();
                }
                in_order.deliver(number, &mut worker.encoded, &stopped, progress)?;
            }
            progress.check()
        };
        team.run(&|member| {
            if let Err(error) = work(member) {
                failure.note(Place::BEYOND, error);
            }
        });
        failure.into_result()
    }

    /// Ends the last document and the last shard.
    pub fn finish(mut self, progress: &Progress) -> Result<()> {
        self.output.end_document(self.place, progress)?;
        if self.output.shard.is_some() {
            self.output.end_shard(self.place, progress)?;
        }
        self.output.await_flush(progress)?;
        if self.output.number == 0 { Err(Error::EmptyCorpus) } else { Ok(()) }
    }
}

/// Begins to encode, unless that was begun already with a known total.
fn begin(progress: &Progress) {
    if progress.snapshot().0 != Stage::Encode {
        progress.begin(Stage::Encode, 0);
    }
}

fn refuse<T>(reason: String) -> Result<T> {
    Err(Error::BadSetting { reason })
}

/// What one thread works with.
#[derive(Default)]
struct Worker {
    batch: Vec<Block>,
    filled: usize,
    encoded: Encoded,
}

impl Worker {
    /// Takes one block, or several small ones; false where there are no more.
    fn fill(&mut self, mut next: impl FnMut(&mut Block) -> Result<bool>) -> Result<bool> {
        self.filled = 0;
        let mut size = 0;
        while size < BLOCK / 2 {
            if self.filled == self.batch.len() {
                self.batch.push(Block::default());
            }
            let block = &mut self.batch[self.filled];
            if !next(block)? {
                break;
            }
            size += block.size();
            self.filled += 1;
        }
        Ok(self.filled > 0)
    }

    fn encode(
        &mut self,
        tokenizer: &Tokenizer,
        cutters: &Cutters,
        allowed_ids: &[u32],
        prepend: Option<u32>,
        append: Option<u32>,
        progress: &Progress,
    ) -> Result<()> {
        let batch = &mut self.batch[..self.filled];
        let encoded = &mut self.encoded;
        encoded.begin(&batch[0]);
        for block in &mut *batch {
            block.decode()?;
        }
        for (part, ends) in batch.iter().flat_map(|block| block.parts().map(move |part| (part, &block.ends)))
        {
            progress.check()?;
            let text = part.text;
            if part.starts_document {
                encoded.end_document(append, part.place);
            }
            if let Some(ends) = ends {
                encoded.begin_document(prepend);
                let text = std::str::from_utf8(text).expect("only text was split");
                tokenizer.encode_pretokens(text, 0, ends, &mut encoded.ids);
                encoded.bytes += text.len() as u64;
                continue;
            }
            let mut from = 0;
            while let Some(found) = cutters.find(text, from) {
                encoded.text(&text[from..found.start], tokenizer, prepend)?;
                match found.kind {
                    Boundary::Separator => {
                        encoded.end_document(append, part.behind(found.end));
                    }
                    _ => {
                        encoded.begin_document(prepend);
                        encoded.ids.push(allowed_ids[found.which]);
                        encoded.bytes += (found.end - found.start) as u64;
                    }
                }
                from = found.end;
                progress.check()?;
            }
            encoded.text(&text[from..], tokenizer, prepend)?;
            if let Some(next) = part.ends_document {
                encoded.end_document(append, next);
            }
        }
        Ok(())
    }
}

/// The ids of some blocks, and the documents that end among them.
#[derive(Default)]
struct Encoded {
    /// Whether a document begins here, so that one that is still open has ended; and where that is.
    starts_document: bool,
    place: Place,
    ids: Vec<u32>,
    /// The same in two bytes each, where that is how they are written.
    narrow: Option<Vec<u16>>,
    /// Documents that end here: what there is up to their end, and where the next one begins.
    ends: Vec<(Tally, Place)>,
    /// Whether the last document goes on.
    document_open: bool,
    bytes: u64,
    invalid_bytes: u64,
}

impl Encoded {
    fn begin(&mut self, first: &Block) {
        self.starts_document = first.starts_document;
        self.place = first.place;
        self.ids.clear();
        self.ends.clear();
        // A block is never cut before the first text of a document.
        self.document_open = !first.starts_document;
        self.bytes = 0;
        self.invalid_bytes = 0;
    }

    fn begin_document(&mut self, prepend: Option<u32>) {
        if !self.document_open {
            self.ids.extend(prepend);
            self.document_open = true;
        }
    }

    fn end_document(&mut self, append: Option<u32>, next: Place) {
        if self.document_open {
            self.ids.extend(append);
            self.ends.push((self.tally(), next));
            self.document_open = false;
        }
    }

    /// Text without anything that cuts it. A byte that is not part of valid UTF-8 is a pre-token of its own,
    /// and the text on its two sides is split apart, as in counting.
    fn text(&mut self, text: &[u8], tokenizer: &Tokenizer, prepend: Option<u32>) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.begin_document(prepend);
        self.bytes += text.len() as u64;
        if let Ok(text) = simdutf8::basic::from_utf8(text) {
            return tokenizer.encode_into(text, &mut self.ids);
        }
        for chunk in text.utf8_chunks() {
            tokenizer.encode_into(chunk.valid(), &mut self.ids)?;
            for byte in chunk.invalid() {
                tokenizer.encode_pretoken(&[*byte], &mut self.ids);
                self.invalid_bytes += 1;
            }
        }
        Ok(())
    }

    fn narrow(&mut self) {
        let narrow = self.narrow.get_or_insert_default();
        narrow.clear();
        narrow.extend(self.ids.iter().map(|&id| (id as u16).to_le()));
    }

    fn tally(&self) -> Tally {
        Tally { tokens: self.ids.len() as u64, bytes: self.bytes, invalid_bytes: self.invalid_bytes }
    }

    /// Ids as they lie in the file.
    fn file_bytes(&self, range: Range<u64>) -> &[u8] {
        const { assert!(cfg!(target_endian = "little"), "ids of four bytes are written as they lie in memory") };
        let range = range.start as usize..range.end as usize;
        match &self.narrow {
            Some(narrow) => bytemuck::cast_slice(&narrow[range]),
            None => bytemuck::cast_slice(&self.ids[range]),
        }
    }
}

/// Results that come in any order, passed on in the order of their numbers.
struct InOrder<'a> {
    turn: Mutex<Turn<'a>>,
    moved: Condvar,
    /// How far ahead of its turn a result may be.
    ahead: u64,
}

struct Turn<'a> {
    next: u64,
    early: BTreeMap<u64, Encoded>,
    /// Buffers to use again.
    spare: Vec<Encoded>,
    output: &'a mut Output,
}

impl<'a> InOrder<'a> {
    fn new(output: &'a mut Output, ahead: u64) -> InOrder<'a> {
        let turn = Turn { next: 0, early: BTreeMap::new(), spare: Vec::new(), output };
        InOrder { turn: Mutex::new(turn), moved: Condvar::new(), ahead }
    }

    /// Writes `encoded` and all that waited for it, or leaves it for whoever comes before.
    fn deliver(
        &self,
        number: u64,
        encoded: &mut Encoded,
        stopped: &impl Fn() -> bool,
        progress: &Progress,
    ) -> Result<()> {
        let mut turn = self.turn.lock().unwrap();
        while number > turn.next + self.ahead {
            if stopped() {
                return Ok(());
            }
            turn = self.moved.wait_timeout(turn, PATIENCE).unwrap().0;
        }
        if number != turn.next {
            let spare = turn.spare.pop().unwrap_or_default();
            turn.early.insert(number, std::mem::replace(encoded, spare));
            return Ok(());
        }
        let Turn { next, early, spare, output } = &mut *turn;
        output.write(encoded, progress)?;
        *next += 1;
        while let Some(encoded) = early.remove(next) {
            output.write(&encoded, progress)?;
            spare.push(encoded);
            *next += 1;
        }
        self.moved.notify_all();
        Ok(())
    }
}

/// The folder, and the shard that is being written. Not used by two threads at a time.
struct Output {
    folder: PathBuf,
    lock: Arc<Option<File>>,
    format: Format,
    width: Width,
    append: Option<u32>,
    shard_tokens: u64,
    /// Of the shard that is open, or that will be next.
    number: u64,
    shard: Option<Shard>,
    document_open: bool,
    /// The last shard that was full, on its way to the disk.
    flushing: Option<Receiver<thread::Result<Result<()>>>>,
}

impl Output {
    fn write(&mut self, encoded: &Encoded, progress: &Progress) -> Result<()> {
        if encoded.starts_document {
            self.end_document(encoded.place, progress)?;
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
        if from.tokens == to.tokens {
            return Ok(());
        }
        self.shard()?.write(encoded.file_bytes(from.tokens..to.tokens), to.minus(from))
    }

    /// Ends the document that is open, where one is; the next one begins at `next`.
    fn end_document(&mut self, next: Place, progress: &Progress) -> Result<()> {
        if !self.document_open {
            return Ok(());
        }
        self.document_open = false;
        let (append, width) = (self.append, self.width);
        let shard = self.shard()?;
        if let Some(id) = append {
            let tally = Tally { tokens: 1, ..Tally::default() };
            match width {
                Width::Two => shard.write(&(id as u16).to_le_bytes(), tally)?,
                Width::Four => shard.write(&id.to_le_bytes(), tally)?,
            }
        }
        let end = shard.tally().tokens;
        shard.end_document(end)?;
        if end >= self.shard_tokens { self.end_shard(next, progress) } else { Ok(()) }
    }

    fn shard(&mut self) -> Result<&mut Shard> {
        if self.shard.is_none() {
            self.shard = Some(Shard::create(&self.folder, self.number, self.format, self.width)?);
        }
        Ok(self.shard.as_mut().expect("just made"))
    }

    /// Sends the shard to the disk, once the one before it is there: a shard is finished only after all
    /// before it.
    fn end_shard(&mut self, next: Place, progress: &Progress) -> Result<()> {
        self.await_flush(progress)?;
        let Some(shard) = self.shard.take() else { return Ok(()) };
        self.number += 1;
        let lock = Arc::clone(&self.lock);
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let flushed = catch_unwind(AssertUnwindSafe(|| shard.finish(next)));
            drop(lock);
            // Nobody listens where the work was stopped.
            let _ = sender.send(flushed);
        });
        self.flushing = Some(receiver);
        Ok(())
    }

    /// Waits until the last full shard is on disk. Whoever is stopped does not wait: the flush goes on alone
    /// and holds the lock of the folder until it is done.
    fn await_flush(&mut self, progress: &Progress) -> Result<()> {
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

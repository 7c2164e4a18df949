//! Input: the bytes of a file or stream, decompressed if necessary.
//!
//! Compression is detected by the first bytes, whatever the name; a name that promises compression must keep
//! the promise. All members of a file are read, in bounded memory. Decompression bombs are refused: the
//! ratio, the size, and the window that a file may ask to keep in memory are capped. A file that changes while
//! it is read is refused: its size and time are compared at the end.

use std::io::{self, BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::shards::FileRange;
use super::{FileFormat, Position, ReadContext};
use crate::disk::{File, Snapshot};
use crate::{Error, Result};

/// The ratio is checked from this size on: a short file of one letter is no attack.
const JUDGED: u64 = if cfg!(test) { 1 << 20 } else { 64_000_000 };

/// How many bytes it takes to detect compression.
const HEAD: usize = 10;

/// The memory that xz needs beside its window.
const XZ_OVERHEAD: u64 = 1 << 20;

/// The text of one file or stream: counted, capped, and ended early if it is corrupt and the rest is to be
/// skipped.
pub struct Input<'a> {
    reader: Box<dyn Read + Send + 'a>,
    path: Arc<Path>,
    position: Position,
    context: ReadContext,
    cut_short: bool,
    is_compressed: bool,
    /// The file as it was when it was opened, if it can be read twice.
    opened: Option<Snapshot>,
}

impl<'a> Input<'a> {
    /// Opens a file: text from `position.offset` on, anything else from its beginning.
    pub fn of_file(path: &Path, position: Position, context: &ReadContext) -> Result<Input<'a>> {
        let cannot_read = |source| Error::Read { path: path.into(), source };
        let mut file = File::open(path).map_err(cannot_read)?;
        let opened = Snapshot::take(&file).map_err(cannot_read)?;
        if FileFormat::of_name(path) == FileFormat::Text
            && position.offset > 0
            && opened.is_some()
            && is_plain(&mut file).map_err(cannot_read)?
        {
            if opened.as_ref().is_some_and(|opened| position.offset > opened.len) {
                return Err(Error::CorpusEndsEarly);
            }
            file.seek(SeekFrom::Start(position.offset)).map_err(cannot_read)?;
            context.progress.advance(position.offset);
            let path: Arc<Path> = path.into();
            let reader = Box::new(Tap::new(file, &path, context));
            return Ok(Input {
                reader,
                path,
                position,
                context: context.clone(),
                cut_short: false,
                is_compressed: false,
                opened,
            });
        }
        let mut input = Input::of_stream(file, path, position, context)?;
        input.opened = opened;
        Ok(input)
    }

    /// Opens a range of a file that [`shard_cuts`](super::shard_cuts) has found, which is not compressed.
    pub fn of_range(
        path: &Path,
        start: u64,
        end: u64,
        part: u64,
        context: &ReadContext,
    ) -> Result<Input<'a>> {
        let file = FileRange::open(path, start, end)?;
        let path: Arc<Path> = path.into();
        Ok(Input {
            reader: Box::new(Tap::new(file, &path, context)),
            path,
            position: Position { part, offset: start, within: 0 },
            context: context.clone(),
            cut_short: false,
            is_compressed: false,
            opened: None, // the range itself compares
        })
    }

    /// Opens a stream that is at its beginning.
    pub fn of_stream(
        reader: impl Read + Send + 'a,
        path: &Path,
        position: Position,
        context: &ReadContext,
    ) -> Result<Input<'a>> {
        let path: Arc<Path> = path.into();
        let mut tap = Tap::new(reader, &path, context);
        let taken = Arc::clone(&tap.taken);
        let mut head = Vec::with_capacity(HEAD);
        let read = (&mut tap).take(HEAD as u64).read_to_end(&mut head);
        read.map_err(|error| read_error(&path, error))?;
        let found = Compression::of_bytes(&head);
        if found.is_none()
            && let Some(promised) = Compression::of_name(&path)
        {
            let reason = format!("it does not begin like a {} file", promised.name());
            return Err(Error::Damaged { path: path.to_path_buf(), offset: 0, reason });
        }
        let whole = Cursor::new(head).chain(tap);
        let reader: Box<dyn Read + Send + 'a> = match found {
            None => Box::new(whole),
            Some(compression) => {
                let reader = compression.decompress(whole, context.reading.max_window);
                let reader = reader.map_err(|error| read_error(&path, error))?;
                Box::new(Capped {
                    reader,
                    path: Arc::clone(&path),
                    taken,
                    given: 0,
                    context: context.clone(),
                })
            }
        };
        let start = Position { offset: 0, within: 0, ..position };
        let context = context.clone();
        let mut input = Input {
            reader,
            path,
            position: start,
            context,
            cut_short: false,
            is_compressed: found.is_some(),
            opened: None,
        };
        if FileFormat::of_name(&input.path) == FileFormat::Text {
            input.pass_over(position.offset, |_| ())?;
        }
        Ok(input)
    }

    /// Returns whether the rest was skipped.
    pub fn cut_short(&self) -> bool {
        self.cut_short
    }

    /// Ends the input here.
    pub fn end(&mut self) {
        self.cut_short = true;
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where the next byte is.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Reads and discards `bytes` bytes, passing them to `visit` first.
    pub fn pass_over(&mut self, bytes: u64, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let end = self.position.offset + bytes;
        let mut buffer = vec![0; (1 << 16).min(bytes as usize)];
        while self.position.offset < end {
            let most = buffer.len().min((end - self.position.offset) as usize);
            match self.read(&mut buffer[..most]) {
                Ok(0) => return Err(Error::CorpusEndsEarly),
                Ok(read) => visit(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(read_error(&self.path, error)),
            }
        }
        Ok(())
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cut_short {
            return Ok(0);
        }
        let read = match self.reader.read(buffer) {
            Ok(0) if !buffer.is_empty() => self.check_unchanged().map(|()| 0),
            other => other,
        };
        match read {
            Ok(read) => {
                self.position.offset += read as u64;
                Ok(read)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let error = read_error(&self.path, error);
                self.context.skip_or_fail(error, self.position).map_err(io::Error::other)?;
                self.cut_short = true;
                Ok(0)
            }
        }
    }
}

impl Input<'_> {
    /// Returns an error if the file is not the one that was opened, or ended before its size.
    fn check_unchanged(&self) -> io::Result<()> {
        let Some(opened) = &self.opened else { return Ok(()) };
        let ended_early = !self.is_compressed && self.position.offset < opened.len;
        if ended_early || !opened.is_current()? {
            return Err(io::Error::other(Error::Changed { path: self.path.to_path_buf() }));
        }
        Ok(())
    }
}

/// Unwraps one of our errors, which travel through readers inside an [`io::Error`].
pub fn read_error(path: &Path, error: io::Error) -> Error {
    error.downcast().unwrap_or_else(|source| Error::Read { path: path.into(), source })
}

/// Returns whether a regular file is uncompressed. Leaves it at its beginning.
fn is_plain(file: &mut File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take(HEAD as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(Compression::of_bytes(&head).is_none())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    Gzip,
    Zstandard,
    Xz,
    Bzip2,
}

impl Compression {
    fn of_name(path: &Path) -> Option<Compression> {
        match path.extension()?.to_string_lossy().to_lowercase().as_str() {
            "gz" => Some(Compression::Gzip),
            "zst" | "zstd" => Some(Compression::Zstandard),
            "xz" => Some(Compression::Xz),
            "bz2" => Some(Compression::Bzip2),
            _ => None,
        }
    }

    fn of_bytes(head: &[u8]) -> Option<Compression> {
        match head {
            [0x1F, 0x8B, 8, ..] => Some(Compression::Gzip),
            // A frame, or one of the sixteen kinds of skippable frame.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => {
                Some(Compression::Zstandard)
            }
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            // The digits of pi if a block follows, of its square root if none does.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => {
                Some(Compression::Bzip2)
            }
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstandard => "Zstandard",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bzip2",
        }
    }

    fn decompress<'a>(
        self,
        reader: impl Read + Send + 'a,
        max_window: u64,
    ) -> io::Result<Box<dyn Read + Send + 'a>> {
        let reader = BufReader::with_capacity(1 << 17, reader);
        Ok(match self {
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
            Compression::Zstandard => {
                let mut decoder = zstd::Decoder::with_buffer(reader)?;
                decoder.window_log_max(max_window.max(1).ilog2().clamp(10, 31))?;
                Box::new(decoder)
            }
            Compression::Xz => {
                let memory = max_window.saturating_add(XZ_OVERHEAD);
                let stream =
                    liblzma::stream::Stream::new_stream_decoder(memory, liblzma::stream::CONCATENATED)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(reader, stream))
            }
            Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(reader)),
        })
    }
}

/// The raw bytes of a file or stream: counted for progress, and stopped on request.
struct Tap<R> {
    reader: R,
    path: Arc<Path>,
    taken: Arc<AtomicU64>,
    context: ReadContext,
}

impl<R> Tap<R> {
    fn new(reader: R, path: &Arc<Path>, context: &ReadContext) -> Tap<R> {
        Tap { reader, path: Arc::clone(path), taken: Arc::default(), context: context.clone() }
    }
}

impl<R: Read> Read for Tap<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.context.progress.check().map_err(io::Error::other)?;
        match self.reader.read(buffer) {
            Ok(read) => {
                self.taken.fetch_add(read as u64, Relaxed);
                self.context.progress.advance(read as u64);
                Ok(read)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            // Wrapped here, so that it is not reported as corrupt compressed data.
            Err(source) => Err(io::Error::other(Error::Read { path: self.path.to_path_buf(), source })),
        }
    }
}

/// Decompressed text, up to the caps.
struct Capped<'a> {
    reader: Box<dyn Read + Send + 'a>,
    path: Arc<Path>,
    /// Compressed bytes.
    taken: Arc<AtomicU64>,
    /// Decompressed bytes.
    given: u64,
    context: ReadContext,
}

impl Read for Capped<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer).map_err(|error| self.damage(error))?;
        self.given += read as u64;
        let path = || self.path.to_path_buf();
        let (max_size, max_ratio) = (self.context.reading.max_size, self.context.reading.max_ratio);
        if self.given > max_size {
            return Err(io::Error::other(Error::TooLarge { path: path(), max_size }));
        }
        if self.given > JUDGED && self.given / max_ratio > self.taken.load(Relaxed) {
            return Err(io::Error::other(Error::Bomb { path: path(), max_ratio }));
        }
        Ok(read)
    }
}

impl Capped<'_> {
    fn damage(&self, error: io::Error) -> io::Error {
        let ours = error.get_ref().is_some_and(|error| error.is::<Error>());
        if ours || error.kind() == ErrorKind::Interrupted {
            return error;
        }
        let (path, reason) = (self.path.to_path_buf(), error.to_string());
        // The two libraries with windows report it only in the text of the message.
        io::Error::other(if reason.contains("memory") {
            Error::WideWindow { path, max_window: self.context.reading.max_window }
        } else {
            Error::Damaged { path, offset: self.given, reason }
        })
    }
}

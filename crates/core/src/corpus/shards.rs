//! Shards: ranges of a large plain text or JSON lines file that can be read independently, on different machines.
//!
//! In JSON lines, a range begins after a line break: strings hold none. In plain text, a range begins at the first offset after a multiple of the shard size where a cut changes nothing,
//! whatever the rest of the file holds: at a safe cut of the pattern (see `split`), or after a special token
//! or separator that no other one overlaps. Both can be determined from the surrounding bytes, so only a
//! window of 64 KB is read for each range. If a window has no such offset, two ranges stay one. This happens
//! with patterns without safe cuts (all but the presets) if separators are farther apart than that.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use memchr::memchr;

use super::FileFormat;
use super::cutters::{Cut, Cutters};
use crate::disk::{File, Snapshot};
use crate::split::Splitter;
use crate::{Error, Progress, Result};

/// How far after the desired offset a cut is searched for.
const WINDOW: u64 = if cfg!(test) { 48 } else { 1 << 16 };

/// How gzip, Zstandard, xz and bzip2 files begin, which cannot be cut.
const COMPRESSED: [&[u8]; 4] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"BZh"];

/// The offset at which a range begins, other than the first of its file, and whether that is inside a
/// document.
pub type ShardCut = (u64, bool);

/// Cuts a plain text or JSON lines file into ranges of about `size` bytes. Returns where all but the first begin;
/// nothing for other formats, and for compressed files.
pub fn shard_cuts(
    path: &Path,
    size: u64,
    splitter: &Splitter,
    cutters: &Cutters,
    progress: &Progress,
) -> Result<Vec<ShardCut>> {
    let cannot_read = |source| Error::Read { path: path.into(), source };
    let mut file = File::open(path).map_err(cannot_read)?;
    let len = file.metadata().map_err(cannot_read)?.len();
    let mut read = |from: u64, to: u64| -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity((to - from) as usize);
        file.seek(SeekFrom::Start(from))?;
        (&mut file).take(to - from).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let beginning = read(0, len.min(8)).map_err(cannot_read)?;
    let format = FileFormat::of_name(path);
    if !matches!(format, FileFormat::Text | FileFormat::Lines)
        || COMPRESSED.iter().any(|magic| beginning.starts_with(magic))
    {
        return Ok(vec![]);
    }
    let mut cuts: Vec<ShardCut> = Vec::new();
    let mut wanted = size.max(1);
    // Half a shard at the end is not worth a shard.
    while len.saturating_sub(wanted) > size / 2 {
        progress.check()?;
        if format == FileFormat::Lines {
            let at = line_start(wanted, len, &mut read).map_err(cannot_read)?;
            if at < len && cuts.last().is_none_or(|&(last, _)| at > last) {
                cuts.push((at, false));
            }
            wanted += size.max(1);
            continue;
        }
        // The window includes cutters that begin before the cut or end after it.
        let beside = cutters.longest() as u64;
        let from = wanted.saturating_sub(beside);
        let window = read(from, len.min(wanted + WINDOW + beside)).map_err(cannot_read)?;
        let earliest = (wanted - from) as usize;
        let latest = window.len().saturating_sub(cutters.longest());
        if let Some(cut) = first_cut(&window, earliest, latest, splitter, cutters) {
            let at = from + cut.at as u64;
            if at < len && cuts.last().is_none_or(|&(last, _)| at > last) {
                cuts.push((at, !cut.ends_document));
            }
        }
        wanted += size.max(1);
    }
    Ok(cuts)
}

/// Returns where the first line begins that does not begin before `wanted`; the end of the file if there is none.
fn line_start(
    wanted: u64,
    len: u64,
    read: &mut impl FnMut(u64, u64) -> io::Result<Vec<u8>>,
) -> io::Result<u64> {
    let mut from = wanted - 1;
    while from < len {
        let window = read(from, len.min(from + WINDOW))?;
        if let Some(at) = memchr(b'\n', &window) {
            return Ok(from + at as u64 + 1);
        }
        if window.is_empty() {
            break; // the file was truncated meanwhile
        }
        from += window.len() as u64;
    }
    Ok(len)
}

/// Returns the first cut in `earliest..=latest` that is valid whatever is outside the window.
fn first_cut(
    window: &[u8],
    earliest: usize,
    latest: usize,
    splitter: &Splitter,
    cutters: &Cutters,
) -> Option<Cut> {
    let safe = safe_cuts(window, splitter)
        .find(|&at| at >= earliest && !cutters.cover(window, at))
        .map(|at| Cut { at, ends_document: false });
    let cut = safe.filter(|cut| cut.at <= latest).or_else(|| cutters.first_lone_end(window, earliest));
    cut.filter(|cut| cut.at <= latest)
}

/// Iterates over all safe cuts of the pattern. The window may begin inside a character.
fn safe_cuts(window: &[u8], splitter: &Splitter) -> impl Iterator<Item = usize> {
    let mut start = 0;
    window.utf8_chunks().flat_map(move |chunk| {
        let (valid, base) = (chunk.valid(), start);
        start += valid.len() + chunk.invalid().len();
        let mut from = 0;
        std::iter::from_fn(move || {
            // A cut is between two characters; the second may be the first of the next pair.
            from += splitter.first_cut(&valid[from..])?;
            Some(base + from)
        })
    })
}

/// The bytes of a file from `start` to `end`, all of which must exist.
pub struct FileRange {
    file: File,
    path: PathBuf,
    left: u64,
    opened: Option<Snapshot>,
}

impl FileRange {
    pub fn open(path: &Path, start: u64, end: u64) -> Result<FileRange> {
        let cannot_read = |source| Error::Read { path: path.into(), source };
        let mut file = File::open(path).map_err(cannot_read)?;
        let opened = Snapshot::take(&file).map_err(cannot_read)?;
        file.seek(SeekFrom::Start(start)).map_err(cannot_read)?;
        Ok(FileRange { file, path: path.into(), left: end.saturating_sub(start), opened })
    }
}

impl Read for FileRange {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.file.read(&mut buffer[..wanted])?;
        if read == 0 && wanted > 0 {
            let message = "the file is shorter than when the work was distributed";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        self.left -= read as u64;
        if read == 0
            && !buffer.is_empty()
            && let Some(opened) = &self.opened
            && !opened.is_current()?
        {
            return Err(io::Error::other(Error::Changed { path: self.path.clone() }));
        }
        Ok(read)
    }
}

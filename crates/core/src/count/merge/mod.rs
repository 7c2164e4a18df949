//! Merge: adds up the counts of several sorted sources into one sorted file, on all threads.
//!
//! Work is done in rounds. Each source holds some decoded pre-tokens (`stream`). A round takes from every source
//! those up to the smallest last one, which are known to be complete. The threads divide them by key range and
//! merge each range into a chunk of the output (`race`). Meanwhile the sources read ahead and the chunks of the
//! round before are written. The file is the same for any number of threads, since chunks are joined as if
//! they had been written in one go.
//!
//! A pre-token costs about log₂(sources) comparisons of numbers. Memory is that of the decoded pre-tokens, some
//! 10 MB, and one buffer per file. More than [`FAN_IN`] files are merged in several rounds of files. A source is decoded
//! by one thread at a time, 14 ns per pre-token, which limits how far many threads help.

mod race;
mod stream;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use self::race::{Span, merge_spans};
pub use self::stream::SortedSource;
use self::stream::{Front, Reader};
use super::file::{Chunk, CountsReader, CountsTotals, CountsWriter};
use super::sorted::Sorted;
use super::{CountSettings, SettingsText};
use crate::team::Team;
use crate::threads::thread_count;
use crate::{Error, Progress, Result, Stage};

/// The maximum number of files that are read at the same time.
pub const FAN_IN: usize = if cfg!(test) { 3 } else { 64 };

/// About how many pre-tokens all sources hold decoded.
const DECODED: usize = if cfg!(test) { 12 } else { 1 << 17 };

/// Fewer pre-tokens are merged by one thread.
const WORTHWHILE: usize = if cfg!(test) { 3 } else { 1 << 12 };

/// Key ranges per thread in a round, because they differ in size.
const RANGES: usize = 4;

/// Returns which of `parts` a pre-token belongs to; the same on every machine.
pub fn part_of(pretoken: &[u8], parts: usize) -> usize {
    crc32fast::hash(pretoken) as usize % parts
}

/// Merges files into one, or distributes the sum among several by [`part_of`]. The first file gets the
/// documents and invalid bytes. `scratch` is a folder for intermediate files. `threads` = 0 means one per core.
pub fn merge_files(
    paths: &[PathBuf],
    outs: &[PathBuf],
    scratch: &Path,
    threads: usize,
    progress: &Progress,
) -> Result<CountsTotals> {
    let first = paths.first().ok_or(Error::EmptyCorpus)?;
    let settings = CountsReader::open(first)?.settings()?;
    let team = Team::new(thread_count(threads));
    merge_with(&settings, paths, Vec::new(), CountsTotals::default(), outs, scratch, &team, progress)
}

/// Merges files and sorted tables, whose documents and invalid bytes are in `totals`.
#[allow(clippy::too_many_arguments)]
pub fn merge_with(
    settings: &CountSettings,
    paths: &[PathBuf],
    tables: Vec<Sorted<'_>>,
    totals: CountsTotals,
    outs: &[PathBuf],
    scratch: &Path,
    team: &Team,
    progress: &Progress,
) -> Result<CountsTotals> {
    let mut paths = paths.to_vec();
    let mut between = Between(Vec::new());
    let mut round = 0;
    while paths.len() > FAN_IN {
        // No more than necessary, because what is merged here is read again.
        let group: Vec<PathBuf> = paths.drain(..FAN_IN.min(paths.len() - FAN_IN + 1)).collect();
        let target = scratch.join(format!(".merged-{}-{round}.tmp", std::process::id()));
        round += 1;
        let writers = vec![CountsWriter::create(&target, settings)?.passing()];
        merge(open(&group, settings)?, CountsTotals::default(), writers, team, progress)?;
        between.drop_those_in(&group);
        between.0.push(target.clone());
        paths.push(target);
    }
    let mut sources = open(&paths, settings)?;
    sources.extend(tables.into_iter().map(|sorted| SortedSource::Table(Box::new(sorted))));
    let writers = outs.iter().map(|out| CountsWriter::create(out, settings)).collect::<Result<_>>()?;
    merge(sources, totals, writers, team, progress)
}

/// Files between two rounds, removed when they are no longer needed.
struct Between(Vec<PathBuf>);

impl Between {
    fn drop_those_in(&mut self, group: &[PathBuf]) {
        let (gone, kept) = self.0.drain(..).partition(|path| group.contains(path));
        self.0 = kept;
        drop(Between(gone));
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

fn open<'a>(paths: &[PathBuf], settings: &CountSettings) -> Result<Vec<SortedSource<'a>>> {
    let settings_text: SettingsText = settings.settings_text();
    let open = |path: &PathBuf| {
        let reader = CountsReader::open(path)?;
        settings_text.must_equal(reader.settings_text())?;
        Ok(SortedSource::File(Box::new(reader)))
    };
    paths.iter().map(open).collect()
}

/// What a member of the team does in a round.
enum Task<'r, 'a> {
    Read(&'r mut Reader<'a>),
    Merge(Vec<Span<'r>>, &'r mut Vec<Chunk>),
    /// Writes the chunks of the round before.
    Write(&'r mut Vec<CountsWriter>, &'r mut Vec<Vec<Chunk>>),
}

impl Task<'_, '_> {
    fn run(self) -> Result<()> {
        match self {
            Task::Read(reader) => reader.read(),
            Task::Merge(spans, chunks) => merge_spans(&spans, chunks),
            Task::Write(writers, ranges) => {
                for chunk_of_parts in ranges.iter() {
                    for (writer, chunk) in writers.iter_mut().zip(chunk_of_parts) {
                        writer.append(chunk)?;
                    }
                }
                Ok(())
            }
        }
    }
}

fn merge(
    sources: Vec<SortedSource<'_>>,
    mut totals: CountsTotals,
    mut writers: Vec<CountsWriter>,
    team: &Team,
    progress: &Progress,
) -> Result<CountsTotals> {
    for source in &sources {
        if let SortedSource::File(reader) = source {
            totals.documents += reader.totals().documents;
            totals.invalid_bytes += reader.totals().invalid_bytes;
        }
    }
    progress.begin(Stage::Combine, sources.iter().map(SortedSource::len).sum());
    let ahead = (DECODED / sources.len().max(1)).max(1);
    let mut readers: Vec<Reader> = sources.into_iter().map(|source| Reader::new(source, ahead)).collect();
    let mut fronts: Vec<Front> = readers.iter().map(|_| Front::default()).collect();
    run(team, readers.iter_mut().map(Task::Read).collect())?;
    // The chunks of this round and of the one before, by key range and part; kept, to reuse their memory.
    let (mut merged, mut written): (Vec<Vec<Chunk>>, Vec<Vec<Chunk>>) = (Vec::new(), Vec::new());
    loop {
        progress.check()?;
        for (front, reader) in fronts.iter_mut().zip(&mut readers) {
            front.take(reader);
        }
        let ends = complete(&fronts, &readers);
        let consumed: usize = ends.iter().zip(&fronts).map(|(end, front)| end - front.start()).sum();
        if consumed == 0 {
            break;
        }
        let ranges = if consumed < WORTHWHILE || team.size() == 1 { 1 } else { RANGES * team.size() };
        let ranges = key_ranges(&fronts, &ends, ranges);
        std::mem::swap(&mut merged, &mut written);
        merged.resize_with(ranges.len(), Vec::new);
        for chunks in &mut merged {
            chunks.resize_with(writers.len(), Chunk::default);
            chunks.iter_mut().for_each(Chunk::clear);
        }
        for ((reader, front), end) in readers.iter_mut().zip(&fronts).zip(&ends) {
            reader.want(end - front.start());
        }
        let mut tasks: Vec<Task> = vec![Task::Write(&mut writers, &mut written)];
        tasks.extend(readers.iter_mut().filter(|reader| reader.wants()).map(Task::Read));
        tasks.extend(ranges.into_iter().zip(&mut merged).map(|(spans, chunks)| Task::Merge(spans, chunks)));
        run(team, tasks)?;
        written.iter_mut().flatten().for_each(Chunk::clear);
        for (front, end) in fronts.iter_mut().zip(ends) {
            front.advance_to(end);
        }
        progress.advance(consumed as u64);
    }
    Task::Write(&mut writers, &mut merged).run()?;
    let mut sums = CountsTotals { pretokens: 0, total: 0, ..totals };
    let shares = std::iter::once((totals.documents, totals.invalid_bytes)).chain(std::iter::repeat((0, 0)));
    for (writer, (documents, invalid_bytes)) in writers.into_iter().zip(shares) {
        let part = writer.finish(documents, invalid_bytes)?;
        sums.pretokens += part.pretokens;
        sums.total = sums.total.checked_add(part.total).ok_or(Error::CountOverflow)?;
    }
    // The readers have verified what they read; this verifies what was written.
    let read: u128 = readers.iter().map(Reader::total).sum();
    assert_eq!(sums.total as u128, read, "no count is lost");
    Ok(sums)
}

/// Runs all tasks and returns the error of the first one that failed.
fn run(team: &Team, tasks: Vec<Task<'_, '_>>) -> Result<()> {
    let failure = Mutex::new(None);
    team.for_each(tasks.into_iter().enumerate().collect(), |(nth, task)| {
        if let Err(error) = task.run() {
            let first = &mut *failure.lock().unwrap();
            if first.as_ref().is_none_or(|&(earlier, _)| nth < earlier) {
                *first = Some((nth, error));
            }
        }
    });
    failure.into_inner().unwrap().map_or(Ok(()), |(_, error)| Err(error))
}

/// Returns the end of the pre-tokens of each source for which no source can bring an equal or smaller one later.
fn complete(fronts: &[Front], readers: &[Reader]) -> Vec<usize> {
    let limit = fronts
        .iter()
        .zip(readers)
        .filter(|(_, reader)| !reader.is_done())
        .map(|(front, _)| front.key(front.len() - 1))
        .min();
    match limit {
        None => fronts.iter().map(Front::len).collect(),
        Some(limit) => fronts.iter().map(|front| front.after(front.start(), front.len(), limit)).collect(),
    }
}

/// Divides the pre-tokens before `ends` into at most `ranges` ranges by key: where the largest source has equal
/// shares.
fn key_ranges<'f>(fronts: &'f [Front], ends: &[usize], ranges: usize) -> Vec<Vec<Span<'f>>> {
    let mut starts: Vec<usize> = fronts.iter().map(Front::start).collect();
    let largest = (0..fronts.len()).max_by_key(|&nth| ends[nth] - starts[nth]).unwrap_or(0);
    let (first, len) = (starts[largest], ends[largest] - starts[largest]);
    let mut divided = Vec::new();
    for nth in 1..=ranges {
        let stops: Vec<usize> = if nth == ranges {
            ends.to_vec()
        } else {
            let at = first + len * nth / ranges;
            if at <= first {
                continue;
            }
            let pivot = fronts[largest].key(at - 1);
            let stop = |source: usize| fronts[source].after(starts[source], ends[source], pivot);
            (0..fronts.len()).map(stop).collect()
        };
        let spans = fronts.iter().zip(starts.iter().zip(&stops));
        let spans: Vec<Span> = spans
            .filter(|(_, (start, stop))| start < stop)
            .map(|(front, (&start, &stop))| front.span(start, stop))
            .collect();
        if !spans.is_empty() {
            divided.push(spans);
        }
        starts = stops;
    }
    divided
}

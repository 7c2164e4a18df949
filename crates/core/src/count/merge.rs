//! Merge: adds up the counts of several sorted sources into one sorted file.
//!
//! A tournament tree over all sources: the smallest pre-token wins, its source advances, and only the games
//! on its path to the root are replayed. Pre-tokens are compared by a number (`key::order`), and byte by byte
//! only if both are long. A pre-token costs about log₂(sources) comparisons, and memory is one buffer per
//! source, whatever their size. More than [`FAN_IN`] files are merged in several rounds.

use std::fs;
use std::path::{Path, PathBuf};

use super::CountSettings;
use super::file::{CountsReader, CountsTotals, CountsWriter, LOOK};
use super::sorted::Sorted;
use crate::key::{LONG, order};
use crate::{Error, Progress, Result, Stage};

/// The maximum number of files that are read at the same time.
pub const FAN_IN: usize = if cfg!(test) { 3 } else { 64 };

/// Pre-tokens in ascending order, from a file or from memory.
pub enum SortedSource<'a> {
    File(Box<CountsReader>),
    Table(Box<Sorted<'a>>),
}

impl SortedSource<'_> {
    fn advance(&mut self) -> Result<bool> {
        match self {
            SortedSource::File(reader) => reader.advance(),
            SortedSource::Table(sorted) => Ok(sorted.advance()),
        }
    }

    fn pretoken(&self) -> &[u8] {
        match self {
            SortedSource::File(reader) => reader.pretoken(),
            SortedSource::Table(sorted) => sorted.pretoken(),
        }
    }

    /// Returns the number of pre-tokens, before the first was taken.
    fn len(&self) -> u64 {
        match self {
            SortedSource::File(reader) => reader.totals().pretokens,
            SortedSource::Table(sorted) => sorted.len() as u64,
        }
    }

    fn order(&self) -> u128 {
        match self {
            SortedSource::File(reader) => order(reader.pretoken()),
            SortedSource::Table(sorted) => sorted.order(),
        }
    }

    fn count(&self) -> u64 {
        match self {
            SortedSource::File(reader) => reader.count(),
            SortedSource::Table(sorted) => sorted.count(),
        }
    }
}

/// Returns which of `parts` a pre-token belongs to; the same on every machine.
pub fn part_of(pretoken: &[u8], parts: usize) -> usize {
    crc32fast::hash(pretoken) as usize % parts
}

/// Merges files into one, or distributes the sum among several by [`part_of`]. The first file gets the
/// documents and invalid bytes. `scratch` is a folder for files between two rounds.
pub fn merge_files(
    paths: &[PathBuf],
    outs: &[PathBuf],
    scratch: &Path,
    progress: &Progress,
) -> Result<CountsTotals> {
    let first = paths.first().ok_or(Error::EmptyCorpus)?;
    let settings = CountsReader::open(first)?.settings()?;
    merge_with(&settings, paths, Vec::new(), CountsTotals::default(), outs, scratch, progress)
}

/// Merges files and sorted tables, whose documents and invalid bytes are in `totals`.
pub fn merge_with(
    settings: &CountSettings,
    paths: &[PathBuf],
    tables: Vec<Sorted<'_>>,
    totals: CountsTotals,
    outs: &[PathBuf],
    scratch: &Path,
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
        merge(open(&group, settings)?, CountsTotals::default(), writers, progress)?;
        between.drop_those_in(&group);
        between.0.push(target.clone());
        paths.push(target);
    }
    let mut sources = open(&paths, settings)?;
    sources.extend(tables.into_iter().map(|sorted| SortedSource::Table(Box::new(sorted))));
    let writers = outs.iter().map(|out| CountsWriter::create(out, settings)).collect::<Result<_>>()?;
    merge(sources, totals, writers, progress)
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
    let settings_text = settings.settings_text();
    let open = |path: &PathBuf| {
        let reader = CountsReader::open(path)?;
        settings_text.must_equal(reader.settings_text())?;
        Ok(SortedSource::File(Box::new(reader)))
    };
    paths.iter().map(open).collect()
}

fn merge(
    sources: Vec<SortedSource<'_>>,
    mut totals: CountsTotals,
    mut writers: Vec<CountsWriter>,
    progress: &Progress,
) -> Result<CountsTotals> {
    for source in &sources {
        if let SortedSource::File(reader) = source {
            totals.documents += reader.totals().documents;
            totals.invalid_bytes += reader.totals().invalid_bytes;
        }
    }
    progress.begin(Stage::Combine, sources.iter().map(SortedSource::len).sum());
    let mut race = Race::new(sources)?;
    let mut pretoken: Vec<u8> = Vec::new();
    let mut rounds = 0u64;
    let mut read = 0u64;
    let mut total = 0u64;
    while let Some(order) = race.winner_order() {
        pretoken.clear();
        pretoken.extend_from_slice(race.winner().pretoken());
        let mut count = 0u64;
        loop {
            count = count.checked_add(race.winner().count()).ok_or(Error::CountOverflow)?;
            race.advance()?;
            read += 1;
            let same = race.winner_order() == Some(order)
                && (order & 0xFF != LONG || race.winner().pretoken() == pretoken);
            if !same {
                break;
            }
        }
        total = total.checked_add(count).ok_or(Error::CountOverflow)?;
        let part = if writers.len() == 1 { 0 } else { part_of(&pretoken, writers.len()) };
        writers[part].push(&pretoken, count)?;
        rounds += 1;
        if rounds.is_multiple_of(LOOK) {
            progress.check()?;
            progress.advance(std::mem::take(&mut read));
        }
    }
    progress.advance(read);
    // The readers have verified what they read; this verifies what was written.
    let mut written = CountsTotals { pretokens: 0, total: 0, ..totals };
    let shares = std::iter::once((totals.documents, totals.invalid_bytes)).chain(std::iter::repeat((0, 0)));
    for (writer, (documents, invalid_bytes)) in writers.into_iter().zip(shares) {
        let part = writer.finish(documents, invalid_bytes)?;
        written.pretokens += part.pretokens;
        written.total += part.total;
    }
    assert_eq!(written.total, total, "no count is lost");
    Ok(written)
}

/// The tournament. Exhausted sources lose against all others.
struct Race<'a> {
    sources: Vec<SortedSource<'a>>,
    orders: Vec<u128>,
    /// The losers of all games, that of the root at 1; the winner at 0.
    tree: Vec<usize>,
}

/// Greater than the order of any pre-token, whose last byte is at most 16.
const OVER: u128 = u128::MAX;

impl<'a> Race<'a> {
    fn new(mut sources: Vec<SortedSource<'a>>) -> Result<Race<'a>> {
        let mut orders = Vec::with_capacity(sources.len());
        for source in &mut sources {
            orders.push(if source.advance()? { source.order() } else { OVER });
        }
        let len = sources.len();
        let mut race = Race { sources, orders, tree: vec![0; len] };
        // Winners of the games below each node; leaves are len..2 * len.
        let mut winners: Vec<usize> = (0..2 * len).map(|node| node.saturating_sub(len)).collect();
        for node in (1..len).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let left_wins = race.before(left, right);
            winners[node] = if left_wins { left } else { right };
            race.tree[node] = if left_wins { right } else { left };
        }
        if len > 1 {
            race.tree[0] = winners[1];
        }
        Ok(race)
    }

    /// Returns the order of the smallest pre-token, or None if all sources are exhausted.
    #[inline]
    fn winner_order(&self) -> Option<u128> {
        let order = *self.orders.get(*self.tree.first()?)?;
        (order != OVER).then_some(order)
    }

    #[inline]
    fn winner(&self) -> &SortedSource<'a> {
        &self.sources[self.tree[0]]
    }

    /// Advances the source with the smallest pre-token.
    #[inline]
    fn advance(&mut self) -> Result<()> {
        let mut winner = self.tree[0];
        let source = &mut self.sources[winner];
        self.orders[winner] = if source.advance()? { source.order() } else { OVER };
        let mut node = (winner + self.sources.len()) / 2;
        while node > 0 {
            let other = self.tree[node];
            if self.before(other, winner) {
                self.tree[node] = winner;
                winner = other;
            }
            node /= 2;
        }
        self.tree[0] = winner;
        Ok(())
    }

    #[inline]
    fn before(&self, a: usize, b: usize) -> bool {
        let (left, right) = (self.orders[a], self.orders[b]);
        left < right
            || left == right && left & 0xFF == LONG && self.sources[a].pretoken() < self.sources[b].pretoken()
    }
}

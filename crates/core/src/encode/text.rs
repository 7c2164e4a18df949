//! Text to ids: split, look every pre-token up, and merge the few that are new.
//!
//! Pre-tokens come in batches, and the cache lines of the next batch are asked for before this one is read.
//! Cost: on text whose pre-tokens are known about 10 ns a pre-token, half a gigabyte of English a second, of
//! which the split is a quarter and waiting for memory another; a new pre-token takes about half a
//! microsecond.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::special::Allowed;
use crate::key::PACKED;
use crate::merge::cache::{BATCH, CacheTable, CachedIds, Probe, count_of, few_ids};
use crate::merge::parts::{Part, Parts};
use crate::split::{Scratch, Splitter};
use crate::tokenizer::Pipeline;
use crate::{Progress, Result, Tokenizer};

/// A pre-token that is not longer is a character or two.
const SINGLE: usize = 5;

/// What a thread keeps from call to call.
#[derive(Default)]
struct Kept {
    split: Scratch,
    places: [[Probe; BATCH]; 2],
    runs: Vec<u32>,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

impl Tokenizer {
    /// [`Tokenizer::encode_ordinary`], appended.
    pub fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<()> {
        self.encode_while(text, None, ids)
    }

    /// The same, unless asked to stop: then an error, and some ids may have been appended.
    pub(crate) fn encode_while(
        &self,
        text: &str,
        progress: Option<&Progress>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        if let Some(pipeline) = self.pipeline() {
            return self.encode_stages(pipeline, text, &Allowed::None, progress, ids);
        }
        if (1..=PACKED).contains(&text.len()) {
            return self.encode_short(text, ids);
        }
        self.encode_split(self.splitter(), text, progress, ids)
    }

    /// A text so short that splitting it would take most of the time is itself kept in the cache.
    fn encode_short(&self, text: &str, ids: &mut Vec<u32>) -> Result<()> {
        let table = self.cache().table();
        let place = table.view().probe_text(text.as_bytes());
        ids.reserve(4);
        let room = ids.spare_capacity_mut().first_chunk_mut().expect("it was just made");
        if let Some(written) = table.view().find_first(&place, room) {
            // SAFETY: `room` is the spare capacity right after the last id. `find_first` has written all four
            // places of it, and returns at most four.
            unsafe { ids.set_len(ids.len() + written) };
            return Ok(());
        }
        let before = ids.len();
        self.encode_split(self.splitter(), text, None, ids)?;
        if ids.len() - before <= 4 {
            table.insert(&place, text.as_bytes(), &ids[before..]);
            self.make_room(&table);
        }
        Ok(())
    }

    /// Splits a text and appends the ids of its pre-tokens.
    pub(super) fn encode_split(
        &self,
        splitter: &Splitter,
        text: &str,
        progress: Option<&Progress>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        KEPT.with_borrow_mut(|Kept { split, places, runs }| {
            let mut start = 0;
            splitter.split_stepwise(text, split, |ends| {
                self.encode_runs(text, start, ends, places, runs, ids);
                start = ends.last().map_or(start, |&end| end as usize);
                progress.map_or(Ok(()), Progress::check)
            })
        })
    }

    /// The ids of the pre-tokens of `text` that begin at `start` and end where `ends` says.
    pub(crate) fn encode_pretokens(&self, text: &str, start: usize, ends: &[u32], ids: &mut Vec<u32>) {
        if let Some(pipeline) = self.pipeline() {
            let end = ends.last().map_or(start, |&end| end as usize);
            return self.encode_document(pipeline, &text.as_bytes()[start..end], ids);
        }
        self.encode_parts(text, start, ends, ids);
    }

    /// The same, where pre-tokens are not documents but what merging sees.
    pub(super) fn encode_parts(&self, text: &str, start: usize, ends: &[u32], ids: &mut Vec<u32>) {
        KEPT.with_borrow_mut(|Kept { places, runs, .. }| {
            self.encode_runs(text, start, ends, places, runs, ids);
        });
    }

    /// The same for parts that cannot be cut any further.
    pub(super) fn encode_cut_parts(&self, text: &str, start: usize, ends: &[u32], ids: &mut Vec<u32>) {
        KEPT.with_borrow_mut(|kept| self.encode_known(text.as_bytes(), start, ends, &mut kept.places, ids));
    }

    /// Appends the ids of parts of which some are known already.
    pub(super) fn encode_divided(&self, text: &[u8], parts: &Parts, ids: &mut Vec<u32>) {
        KEPT.with_borrow_mut(|kept| self.encode_known_parts(text, parts, &mut kept.places, ids));
    }

    fn encode_known_parts(
        &self,
        text: &[u8],
        parts: &Parts,
        places: &mut [[Probe; BATCH]; 2],
        ids: &mut Vec<u32>,
    ) {
        let table = self.cache().table();
        let view = table.view();
        let probe_all = |batch: &[Part], places: &mut [Probe; BATCH]| {
            for (place, part) in places.iter_mut().zip(batch) {
                *place = view.probe(text, part.start as usize, part.end as usize);
            }
        };
        let (known, mut copied) = (parts.ids(), 0);
        // As above, the next batch is asked for before this one is read.
        let [mut now, mut later] = places.each_mut();
        let mut batches = parts.others.chunks(BATCH);
        let mut batch = batches.next().unwrap_or_default();
        probe_all(batch, now);
        while !batch.is_empty() {
            let next = batches.next().unwrap_or_default();
            probe_all(next, later);
            for (place, part) in now.iter().zip(batch) {
                let before = part.ids_before as usize;
                if copied < before {
                    ids.extend_from_slice(&known[copied..before]);
                    copied = before;
                }
                ids.reserve(4);
                let room = ids.spare_capacity_mut().first_chunk_mut().expect("it was just made");
                if let Some(written) = view.find_first(place, room) {
                    // SAFETY: `room` is the spare capacity right after the last id. `find_first` has written all
                    // four places of it, and returns at most four.
                    unsafe { ids.set_len(ids.len() + written) };
                } else {
                    self.encode_rare(&table, place, &text[part.start as usize..part.end as usize], ids);
                }
            }
            batch = next;
            std::mem::swap(&mut now, &mut later);
        }
        ids.extend_from_slice(&known[copied..]);
    }

    /// The same. Long pre-tokens of scripts without spaces are first cut into runs.
    fn encode_runs(
        &self,
        text: &str,
        start: usize,
        ends: &[u32],
        places: &mut [[Probe; BATCH]; 2],
        runs: &mut Vec<u32>,
        ids: &mut Vec<u32>,
    ) {
        let end = ends.last().map_or(start, |&end| end as usize);
        // One look at all bytes is cheaper than one at every pre-token.
        if !has_dense(&text.as_bytes()[start..end]) {
            return self.encode_known(text.as_bytes(), start, ends, places, ids);
        }
        runs.clear();
        let mut from = start;
        for &end in ends {
            if self.is_divisible(text, from, end as usize) {
                self.crossings().cut(text, from, end as usize, runs);
            } else {
                runs.push(end);
            }
            from = end as usize;
        }
        self.encode_known(text.as_bytes(), start, runs, places, ids);
    }

    /// The same for pre-tokens or runs, most of which the cache knows.
    fn encode_known(
        &self,
        text: &[u8],
        mut start: usize,
        ends: &[u32],
        places: &mut [[Probe; BATCH]; 2],
        ids: &mut Vec<u32>,
    ) {
        let table = self.cache().table();
        let view = table.view();
        // The next batch is asked for before this one is read, so that memory has the time of a batch to
        // answer.
        let [mut now, mut later] = places.each_mut();
        let mut batches = ends.chunks(BATCH);
        let mut ends = batches.next().unwrap_or_default();
        view.probe_all(text, start, ends, now);
        while !ends.is_empty() {
            let next = batches.next().unwrap_or_default();
            view.probe_all(text, ends[ends.len() - 1] as usize, next, later);
            let mut done = 0;
            loop {
                ids.reserve(4 * BATCH);
                let room = ids.spare_capacity_mut().first_chunk_mut().expect("it was just made");
                let (found, written) = view.find_all(&now[done..ends.len()], room);
                // SAFETY: `room` is the spare capacity right after the last id. `find_all` returns as
                // `written` the number of places from its start that it has written.
                unsafe { ids.set_len(ids.len() + written) };
                done += found;
                if done == ends.len() {
                    break;
                }
                let from = if done == 0 { start } else { ends[done - 1] as usize };
                self.encode_rare(&table, &now[done], &text[from..ends[done] as usize], ids);
                done += 1;
            }
            start = ends[ends.len() - 1] as usize;
            ends = next;
            std::mem::swap(&mut now, &mut later);
        }
    }

    /// Appends the ids of one pre-token of a pipeline, without making unknown tokens one.
    pub(super) fn encode_one(
        &self,
        pipeline: &Pipeline,
        text: &str,
        range: Range<usize>,
        runs: &mut Vec<u32>,
        ids: &mut Vec<u32>,
    ) {
        runs.clear();
        let (start, end) = (range.start, range.end);
        if let Some(boundaries) = &pipeline.boundaries {
            boundaries.cut(text, start, end, runs);
        } else if self.is_divisible(text, start, end) {
            self.crossings().cut(text, start, end, runs);
        } else {
            runs.push(end as u32);
        }
        let table = self.cache().table();
        let mut from = start;
        for &end in &*runs {
            let end = end as usize;
            let place = table.view().probe(text.as_bytes(), from, end);
            self.encode_rare(&table, &place, &text.as_bytes()[from..end], ids);
            from = end;
        }
    }

    /// Whether this is a long pre-token of a script without spaces, which begins and ends between characters.
    fn is_divisible(&self, text: &str, start: usize, end: usize) -> bool {
        end - start > SINGLE
            && text.as_bytes()[start..start + 2].iter().any(|&byte| is_dense(byte))
            && text.is_char_boundary(start)
            && text.is_char_boundary(end)
    }

    /// A pre-token that is not in the first place where it could be: elsewhere, longer, or new.
    #[inline(never)]
    fn encode_rare(&self, table: &CacheTable, place: &Probe, pretoken: &[u8], ids: &mut Vec<u32>) {
        match table.find(place, pretoken) {
            Some(CachedIds::Few(few)) => ids.extend_from_slice(&few_ids(few)[..count_of(few)]),
            Some(CachedIds::Many(many)) => ids.extend(many.iter().map(|id| id.load(Relaxed))),
            None => {
                let before = ids.len();
                if let Some(pipeline) = self.pipeline() {
                    self.merge_symbols(pipeline, pretoken, ids);
                } else if table.knows(pretoken) {
                    self.pairs().merge(pretoken, ids);
                } else {
                    self.encode_pretoken(pretoken, ids);
                }
                table.insert(place, pretoken, &ids[before..]);
                self.make_room(table);
            }
        }
    }

    /// Lets a full cache grow.
    fn make_room(&self, table: &CacheTable) {
        if table.is_full() {
            match self.pipeline() {
                Some(pipeline) => self.cache().grow(table, pipeline.seeds()),
                None => self.cache().grow(table, self.ranks()),
            }
        }
    }
}

/// Whether this byte begins a character from U+3000 on: Chinese, Japanese, Korean, emoji. Others have spaces,
/// or tokens across nearly all of their characters.
fn is_dense(byte: u8) -> bool {
    byte >= 0xE3
}

/// Whether any byte is one of these; vectors look at many at a time.
pub(super) fn has_dense(bytes: &[u8]) -> bool {
    bytes.iter().fold(false, |dense, &byte| dense | is_dense(byte))
}

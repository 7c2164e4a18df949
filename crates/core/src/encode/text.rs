//! Text to ids: split, then look every piece up, and merge the few that are new.
//!
//! Cost: on text whose pieces are known, about as much as the split. Pieces come in batches, so that the cache
//! lines of a whole batch are asked for before the first is read, and four ids are written for each piece
//! whatever their number, which costs less than a branch that guesses it.

use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;

use super::cache::{BATCH, Few, Found, Place, Table, count_of, without_count};
use crate::key::PACKED;
use crate::split::Scratch;
use crate::{Result, Tokenizer};

thread_local! {
    /// What a thread reuses from call to call.
    static SCRATCH: RefCell<(Scratch, Places)> = RefCell::default();
}

/// Where the pieces of two batches are in the cache.
pub(crate) type Places = [[Place; BATCH]; 2];

impl Tokenizer {
    /// [`Tokenizer::encode_ordinary`], appended.
    pub fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<()> {
        SCRATCH.with_borrow_mut(|(scratch, places)| {
            let mut start = 0;
            self.splitter().split_stepwise(text, scratch, |ends| {
                self.encode_batches(text.as_bytes(), start, ends, places, ids);
                start = ends.last().map_or(start, |&end| end as usize);
            })
        })
    }

    /// The ids of the pieces of `text` that begin at `start` and end where `ends` says.
    pub(crate) fn encode_pieces(&self, text: &[u8], start: usize, ends: &[u32], ids: &mut Vec<u32>) {
        self.encode_batches(text, start, ends, &mut Places::default(), ids);
    }

    fn encode_batches(
        &self,
        text: &[u8],
        mut start: usize,
        ends: &[u32],
        places: &mut Places,
        ids: &mut Vec<u32>,
    ) {
        let table = self.cache().table();
        let view = table.view();
        // The next batch is asked for before this one is read, so that memory has the time of a batch to answer.
        let [mut now, mut later] = places.each_mut();
        let mut batches = ends.chunks(BATCH);
        let mut ends = batches.next().unwrap_or_default();
        view.place_all(text, start, ends, now);
        while !ends.is_empty() {
            let next = batches.next().unwrap_or_default();
            view.place_all(text, ends[ends.len() - 1] as usize, next, later);
            let mut done = 0;
            loop {
                ids.reserve(4 * BATCH);
                let room = ids.spare_capacity_mut().first_chunk_mut().expect("it was just made");
                let (found, written) = view.find_all(&now[done..ends.len()], room);
                // SAFETY: so many were written.
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

    /// A piece that is not in the first place where it could be: elsewhere, longer, or new.
    #[inline(never)]
    fn encode_rare(&self, table: &Table, place: &Place, piece: &[u8], ids: &mut Vec<u32>) {
        if piece.len() > PACKED && self.encode_runs(table, piece, ids) {
            return;
        }
        match table.find(place, piece) {
            Some(Found::Few(few)) => ids.extend_from_slice(&few_ids(few)[..count_of(few)]),
            Some(Found::Many(many)) => ids.extend(many.iter().map(|id| id.load(Relaxed))),
            None => {
                let before = ids.len();
                if !table.knows(piece) {
                    self.encode_piece(piece, ids);
                } else if !self.encode_runs(table, piece, ids) {
                    self.pairs().merge(piece, ids);
                }
                table.insert(place, piece, &ids[before..]);
                if table.is_full() {
                    self.cache().grow(table, self.ranks());
                }
            }
        }
    }

    /// Encodes a piece run by run; false where it is but one.
    fn encode_runs(&self, table: &Table, piece: &[u8], ids: &mut Vec<u32>) -> bool {
        let view = table.view();
        for run in self.crossings().runs(piece) {
            if run.len() == piece.len() {
                return false;
            }
            let place = view.place(run, 0, run.len());
            ids.reserve(4);
            let room = ids.spare_capacity_mut().first_chunk_mut().expect("it was just made");
            match view.find_first(&place, room) {
                // SAFETY: so many were written.
                Some(written) => unsafe { ids.set_len(ids.len() + written) },
                None => self.encode_rare(table, &place, run, ids),
            }
        }
        true
    }
}

fn few_ids(few: Few) -> [u32; 4] {
    let [one, two] = without_count(few);
    [one as u32, (one >> 32) as u32, two as u32, (two >> 32) as u32]
}

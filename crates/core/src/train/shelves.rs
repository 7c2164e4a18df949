//! Pre-tokens on disk, on shelves by the count of their best pair.
//!
//! The trainer beyond memory (`beyond.rs`) takes the pre-tokens whose best pair may be the next to be merged,
//! works on them and puts them back, most of them further down. A shelf holds the pre-tokens whose best pair
//! has a count in some narrow range: eight shelves for every doubling. Pre-tokens lie in blocks of one file,
//! and the room of a block that was taken is used again.
//!
//! A pre-token is its weight and the number of its tokens, as LEB128, and the tokens, each in one, two or
//! four bytes. Those of small weight have shelves of their own, because equal weights side by side take less
//! memory when they are loaded.
//!
//! The file has no name: it is gone when the process is, however that ends.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::{Error, Result};

/// How many bytes are written at a time. (Small in tests, so that there are many.)
const BLOCK: usize = if cfg!(test) { 64 } else { 32 << 10 };

/// Pre-tokens that occur so often, or more, share shelves.
const OFTEN: u64 = 4;

/// Where a pre-token goes whose best pair is not known yet: above all others.
pub const UNSORTED: u16 = 8 * 62;

/// The shelf for pre-tokens whose best pair has this count: eight for every doubling.
pub fn shelf_of(count: u64) -> u16 {
    match count.checked_ilog2() {
        None | Some(0..3) => count as u16,
        Some(bits) => (bits as u16 - 2) << 3 | (count >> (bits - 3)) as u16 & 7,
    }
}

/// The lowest count that belongs to a shelf.
pub fn least_on(shelf: u16) -> u64 {
    match shelf >> 3 {
        0 => shelf as u64,
        doublings => (8 | shelf as u64 & 7) << (doublings - 1),
    }
}

/// A part of a shelf, for pre-tokens of one weight.
type Place = usize;

const PLACES: Place = (UNSORTED as Place + 1) * OFTEN as Place;

fn place_of(shelf: u16, weight: u64) -> Place {
    shelf as Place * OFTEN as Place + (weight.min(OFTEN) - 1) as Place
}

/// Pre-tokens end to end, in the file or still in memory.
pub struct Block {
    at: At,
    /// How many tokens and ends.
    pub slots: usize,
    place: Place,
}

enum At {
    File { offset: u64, len: usize },
    Memory(Vec<u8>),
}

/// Pre-tokens that do not fill a block yet.
#[derive(Clone, Default)]
struct Open {
    bytes: Vec<u8>,
    slots: usize,
}

pub struct Shelves {
    folder: PathBuf,
    inner: Mutex<Inner>,
}

struct Inner {
    file: File,
    /// Where the file ends, and the blocks before that are free.
    end: u64,
    free: Vec<u64>,
    /// By place.
    blocks: Vec<Vec<Block>>,
    open: Vec<Open>,
}

impl Shelves {
    pub fn new(folder: &Path) -> Result<Shelves> {
        let file = tempfile::tempfile_in(folder);
        let file = file.map_err(|source| Error::Write { path: folder.into(), source })?;
        let blocks = (0..PLACES).map(|_| Vec::new()).collect();
        let inner = Inner { file, end: 0, free: Vec::new(), blocks, open: vec![Open::default(); PLACES] };
        Ok(Shelves { folder: folder.into(), inner: Mutex::new(inner) })
    }

    /// How many slots each shelf holds, the highest first.
    pub fn slots(&self) -> Vec<(u16, usize)> {
        let inner = self.inner.lock().unwrap();
        let slots_at = |place: Place| {
            inner.open[place].slots + inner.blocks[place].iter().map(|block| block.slots).sum::<usize>()
        };
        let places = |shelf: u16| place_of(shelf, 1)..=place_of(shelf, OFTEN);
        let shelves = (0..=UNSORTED).rev().map(|shelf| (shelf, places(shelf).map(slots_at).sum()));
        shelves.filter(|&(_, slots)| slots > 0).collect()
    }

    /// Empties all shelves from this one up; pre-tokens of equal weight come together.
    pub fn take(&self, lowest: u16) -> Vec<Block> {
        let inner = &mut *self.inner.lock().unwrap();
        let mut taken: Vec<Block> = Vec::new();
        for place in place_of(lowest, 1)..PLACES {
            taken.append(&mut inner.blocks[place]);
            let Open { bytes, slots } = std::mem::take(&mut inner.open[place]);
            if slots > 0 {
                taken.push(Block { at: At::Memory(bytes), slots, place });
            }
        }
        taken.sort_by_key(|block| std::cmp::Reverse(block.place % OFTEN as Place));
        taken
    }

    /// Calls `visit(weight, tokens)` for every pre-token of a block that was taken.
    pub fn read(&self, block: &Block, mut visit: impl FnMut(u64, &[u32]) -> Result<()>) -> Result<()> {
        let mut bytes = Vec::new();
        let held = match &block.at {
            At::Memory(held) => held,
            &At::File { offset, len } => {
                bytes.resize(len, 0);
                let file = &mut self.inner.lock().unwrap().file;
                let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(&mut bytes));
                read.map_err(|source| Error::Read { path: self.folder.clone(), source })?;
                &bytes
            }
        };
        let (mut at, mut tokens) = (0, Vec::new());
        while at < held.len() {
            let weight = number(held, &mut at);
            let head = number(held, &mut at);
            let (count, width) = ((head >> 2) as usize, 1 << (head & 3));
            let bytes = &held[at..at + count * width];
            at += bytes.len();
            tokens.clear();
            match width {
                1 => tokens.extend(bytes.iter().map(|&byte| byte as u32)),
                2 => tokens.extend(bytes.as_chunks().0.iter().map(|&two| u16::from_le_bytes(two) as u32)),
                _ => tokens.extend(bytes.as_chunks().0.iter().map(|&four| u32::from_le_bytes(four))),
            }
            visit(weight, &tokens)?;
        }
        Ok(())
    }

    /// Gives the room of blocks that were taken and read back.
    pub fn free(&self, blocks: Vec<Block>) {
        let inner = &mut *self.inner.lock().unwrap();
        for block in blocks {
            if let At::File { offset, len } = block.at
                && len <= BLOCK
            {
                inner.free.push(offset);
            }
        }
    }

    /// For one thread to put pre-tokens on shelves.
    pub fn placer(&self) -> Placer<'_> {
        Placer { shelves: self, open: vec![Open::default(); PLACES], record: Vec::new() }
    }

    fn write(&self, place: Place, open: &mut Open) -> Result<()> {
        let inner = &mut *self.inner.lock().unwrap();
        self.write_locked(inner, place, open)
    }

    fn write_locked(&self, inner: &mut Inner, place: Place, open: &mut Open) -> Result<()> {
        let len = open.bytes.len();
        let offset = match inner.free.pop() {
            Some(offset) if len <= BLOCK => offset,
            free => {
                inner.free.extend(free);
                let offset = inner.end;
                inner.end += len.max(BLOCK) as u64;
                offset
            }
        };
        let written =
            inner.file.seek(SeekFrom::Start(offset)).and_then(|_| inner.file.write_all(&open.bytes));
        written.map_err(|source| Error::Write { path: self.folder.clone(), source })?;
        let block = Block { at: At::File { offset, len }, slots: open.slots, place };
        inner.blocks[place].push(block);
        open.bytes.clear();
        open.slots = 0;
        Ok(())
    }
}

/// Puts pre-tokens on shelves, for one thread.
pub struct Placer<'a> {
    shelves: &'a Shelves,
    /// By place.
    open: Vec<Open>,
    record: Vec<u8>,
}

impl Placer<'_> {
    pub fn put(&mut self, shelf: u16, weight: u64, tokens: &[u32]) -> Result<()> {
        self.record.clear();
        let width = match tokens.iter().fold(0, |all, token| all | token) {
            0..=0xFF => 0,
            0x100..=0xFFFF => 1,
            _ => 2,
        };
        push_number(&mut self.record, weight);
        push_number(&mut self.record, (tokens.len() as u64) << 2 | width);
        match width {
            0 => self.record.extend(tokens.iter().map(|&token| token as u8)),
            1 => self.record.extend(tokens.iter().flat_map(|&token| (token as u16).to_le_bytes())),
            _ => self.record.extend(tokens.iter().flat_map(|&token| token.to_le_bytes())),
        }
        let place = place_of(shelf, weight);
        let open = &mut self.open[place];
        if open.slots > 0 && open.bytes.len() + self.record.len() > BLOCK {
            self.shelves.write(place, open)?;
        }
        open.bytes.extend_from_slice(&self.record);
        open.slots += tokens.len() + 1;
        Ok(())
    }

    /// To be called at the end: what does not fill a block goes where the next placer's can join it.
    pub fn finish(self) -> Result<()> {
        let inner = &mut *self.shelves.inner.lock().unwrap();
        for (place, mut open) in self.open.into_iter().enumerate().filter(|(_, open)| open.slots > 0) {
            let mut held = std::mem::take(&mut inner.open[place]);
            if held.bytes.len() + open.bytes.len() > BLOCK {
                let fuller = if held.bytes.len() > open.bytes.len() { &mut held } else { &mut open };
                self.shelves.write_locked(inner, place, fuller)?;
            }
            held.bytes.append(&mut open.bytes);
            held.slots += open.slots;
            inner.open[place] = held;
        }
        Ok(())
    }
}

fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[inline(always)]
fn number(bytes: &[u8], at: &mut usize) -> u64 {
    let byte = bytes[*at];
    *at += 1;
    if byte < 0x80 { byte as u64 } else { long_number(bytes, at, byte) }
}

#[inline]
fn long_number(bytes: &[u8], at: &mut usize, first: u8) -> u64 {
    let mut number = (first & 0x7F) as u64;
    for shift in (7..64).step_by(7) {
        let byte = bytes[*at];
        *at += 1;
        number |= ((byte & 0x7F) as u64) << shift;
        if byte < 0x80 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shelves_are_in_the_order_of_counts() {
        for count in (0..5000).chain([1 << 40, u64::MAX - 1, u64::MAX]) {
            let shelf = shelf_of(count);
            assert!(shelf < UNSORTED && shelf_of(count.saturating_sub(1)) <= shelf);
            assert!(least_on(shelf) <= count && shelf_of(least_on(shelf)) == shelf, "{count}");
        }
    }

    #[test]
    fn what_is_put_is_taken_once() {
        let folder = std::env::temp_dir();
        let shelves = Shelves::new(&folder).unwrap();
        let long: Vec<u32> = (0..500).collect();
        for round in 0..3 {
            let mut placer = shelves.placer();
            for weight in 1..40 {
                placer.put(shelf_of(weight), weight, &[weight as u32, 7, 1 << 20]).unwrap();
            }
            placer.put(shelf_of(9), 1, &long).unwrap();
            placer.finish().unwrap();
            assert_eq!(shelves.slots().iter().map(|s| s.1).sum::<usize>(), 39 * 4 + 501, "{round}");
            let mut seen = Vec::new();
            for lowest in [16, 8, 0] {
                let blocks = shelves.take(lowest);
                for block in &blocks {
                    let add = |weight, tokens: &[u32]| {
                        seen.push((weight, tokens.to_vec()));
                        Ok(())
                    };
                    shelves.read(block, add).unwrap();
                }
                shelves.free(blocks);
            }
            seen.sort();
            let mut expected: Vec<_> = (1..40u64).map(|w| (w, vec![w as u32, 7, 1 << 20])).collect();
            expected.push((1, long.clone()));
            expected.sort();
            assert_eq!(seen, expected);
        }
    }
}

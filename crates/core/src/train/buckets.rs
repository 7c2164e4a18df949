//! Buckets: the pre-tokens on disk, by the count of their best pair.
//!
//! The out-of-core trainer (`out_of_core.rs`) takes the pre-tokens whose best pair may be merged next, works
//! on them and writes them back, most of them to a lower bucket. A bucket holds the pre-tokens whose best
//! pair has a count in a narrow range, with eight buckets per doubling; the highest range can be split into
//! narrower ones ([`Ranges`]). Pre-tokens are stored in blocks of one file, and the space of a block that was
//! taken is reused.
//!
//! A pre-token is stored as its weight and its number of tokens, in LEB128, and then the tokens, each in one,
//! two or four bytes. Within a bucket, pre-tokens of each small weight have their own bin, because equal
//! weights side by side take less memory when they are loaded.
//!
//! Cost: sequential writes of 32 KB and one read per block. The file has no name: it disappears with the
//! process, however that ends. This is a bucket queue (as in Dial's algorithm) whose buckets are on disk.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::disk::File;
use crate::{Error, Result};

/// How many bytes are written at a time. (Small in tests, so that there are many blocks.)
const BLOCK: usize = if cfg!(test) { 64 } else { 32 << 10 };

/// Pre-tokens of this weight or more share a bin.
const OFTEN: u64 = 4;

/// How many buckets have a range of their own, eight per doubling of the count.
const WIDE: u16 = 8 * 62;

/// Into how many narrow buckets the highest range is split. (Few in tests, so that some stay too large.)
const NARROW: u16 = if cfg!(test) { 4 } else { 64 };

/// The bucket of pre-tokens whose best pair is not known yet, above all others.
pub const UNSORTED: u16 = WIDE + NARROW;

/// Returns the wide bucket of a count.
fn wide_bucket(count: u64) -> u16 {
    match count.checked_ilog2() {
        None | Some(0..3) => count as u16,
        Some(bits) => (bits as u16 - 2) << 3 | (count >> (bits - 3)) as u16 & 7,
    }
}

/// Returns the lowest count of a wide bucket.
fn lowest_in_wide(bucket: u16) -> u64 {
    match bucket >> 3 {
        0 => bucket as u64,
        doublings => (8 | bucket as u64 & 7) << (doublings - 1),
    }
}

/// Which counts belong to which bucket.
///
/// A wide bucket covers a range of about a tenth. Where many pairs are about equally frequent, the highest one
/// holds more pre-tokens than fit in memory, however few its next merges touch. So it can be split into narrow
/// buckets: from then on counts in its range, or above, go to these, which come after all wide ones.
pub struct Ranges {
    /// The lowest count of the wide bucket that is split, and the width of its parts, as a power of two.
    start: u64,
    shift: u32,
    /// Whether splitting did not help.
    is_joined: bool,
}

impl Ranges {
    pub fn new() -> Ranges {
        Ranges { start: u64::MAX, shift: 0, is_joined: false }
    }

    /// Splits the wide bucket of `count`. Nothing may be stored in it, or above, by then, but in [`UNSORTED`].
    pub fn split(&mut self, count: u64) {
        self.start = lowest_in_wide(wide_bucket(count));
        self.is_joined = false;
        // The width of the range is 2 to the power of the bits of its counts, but for the first four.
        let width = count.max(1).ilog2().saturating_sub(3);
        self.shift = width.saturating_sub(NARROW.ilog2());
    }

    /// Makes the narrow buckets one again, until the next split: where a pass over the highest of them finds
    /// nothing to merge, the bounds are too loose to distinguish them, and every pre-token would go through all.
    pub fn join(&mut self) {
        self.is_joined = true;
    }

    /// Returns the lowest bucket of those to stream together with `top`, the highest one.
    pub fn streamed(&self, top: u16) -> u16 {
        let narrow = !Ranges::is_wide(top) && top != UNSORTED;
        if narrow && self.is_joined { WIDE } else { top }
    }

    /// Whether a bucket could be split.
    pub fn is_wide(bucket: u16) -> bool {
        bucket < WIDE
    }

    /// Returns the bucket of pre-tokens whose best pair has this count.
    #[inline]
    pub fn bucket(&self, count: u64) -> u16 {
        match count >= self.start {
            true => WIDE + ((count - self.start) >> self.shift).min(NARROW as u64 - 1) as u16,
            false => wide_bucket(count),
        }
    }

    /// Returns the lowest count of a bucket.
    pub fn lowest(&self, bucket: u16) -> u64 {
        match bucket.checked_sub(WIDE) {
            None => lowest_in_wide(bucket),
            Some(part) => self.start.saturating_add((part as u64) << self.shift),
        }
    }
}

/// The part of a bucket that holds pre-tokens of one weight.
type Bin = usize;

const BINS: Bin = (UNSORTED as Bin + 1) * OFTEN as Bin;

fn bin_of(bucket: u16, weight: u64) -> Bin {
    bucket as Bin * OFTEN as Bin + (weight.min(OFTEN) - 1) as Bin
}

/// Encoded pre-tokens, in the file or still in memory.
pub struct DiskBlock {
    at: Location,
    /// The number of tokens and ends.
    pub slots: usize,
    bin: Bin,
}

/// Where the bytes of a block are.
enum Location {
    File { offset: u64, len: usize },
    Memory(Vec<u8>),
}

/// Encoded pre-tokens that do not fill a block yet.
#[derive(Clone, Default)]
struct OpenBlock {
    bytes: Vec<u8>,
    slots: usize,
}

/// All buckets.
pub struct Buckets {
    folder: PathBuf,
    inner: Mutex<BucketFile>,
}

/// The file and its table of contents.
struct BucketFile {
    file: File,
    /// The end of the file, and the free blocks before it.
    end: u64,
    free: Vec<u64>,
    /// Full and open blocks, by bin.
    blocks: Vec<Vec<DiskBlock>>,
    open: Vec<OpenBlock>,
}

impl Buckets {
    pub fn new(folder: &Path) -> Result<Buckets> {
        let file = File::unnamed(folder);
        let file = file.map_err(|source| Error::Write { path: folder.into(), source })?;
        let blocks = (0..BINS).map(|_| Vec::new()).collect();
        let inner =
            BucketFile { file, end: 0, free: Vec::new(), blocks, open: vec![OpenBlock::default(); BINS] };
        Ok(Buckets { folder: folder.into(), inner: Mutex::new(inner) })
    }

    /// Returns the number of slots of each bucket, the highest first.
    pub fn slots(&self) -> Vec<(u16, usize)> {
        let inner = self.inner.lock().unwrap();
        let slots_in = |bin: Bin| {
            inner.open[bin].slots + inner.blocks[bin].iter().map(|block| block.slots).sum::<usize>()
        };
        let bins = |bucket: u16| bin_of(bucket, 1)..=bin_of(bucket, OFTEN);
        let buckets = (0..=UNSORTED).rev().map(|bucket| (bucket, bins(bucket).map(slots_in).sum()));
        buckets.filter(|&(_, slots)| slots > 0).collect()
    }

    /// Takes all blocks of the buckets from `lowest` up; pre-tokens of equal weight come together.
    pub fn take(&self, lowest: u16) -> Vec<DiskBlock> {
        let inner = &mut *self.inner.lock().unwrap();
        let mut taken: Vec<DiskBlock> = Vec::new();
        for bin in bin_of(lowest, 1)..BINS {
            taken.append(&mut inner.blocks[bin]);
            let OpenBlock { bytes, slots } = std::mem::take(&mut inner.open[bin]);
            if slots > 0 {
                taken.push(DiskBlock { at: Location::Memory(bytes), slots, bin });
            }
        }
        taken.sort_by_key(|block| std::cmp::Reverse(block.bin % OFTEN as Bin));
        taken
    }

    /// Calls `visit(weight, tokens)` for every pre-token of a block that was taken.
    pub fn read(&self, block: &DiskBlock, mut visit: impl FnMut(u64, &[u32]) -> Result<()>) -> Result<()> {
        let mut bytes = Vec::new();
        let held = match &block.at {
            Location::Memory(held) => held,
            &Location::File { offset, len } => {
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

    /// Frees the space of blocks that were taken and read.
    pub fn free(&self, blocks: Vec<DiskBlock>) {
        let inner = &mut *self.inner.lock().unwrap();
        for block in blocks {
            if let Location::File { offset, len } = block.at
                && len <= BLOCK
            {
                inner.free.push(offset);
            }
        }
    }

    /// Returns a writer for one thread.
    pub fn writer(&self) -> BucketWriter<'_> {
        BucketWriter { buckets: self, open: vec![OpenBlock::default(); BINS], record: Vec::new() }
    }

    fn write(&self, bin: Bin, open: &mut OpenBlock) -> Result<()> {
        let inner = &mut *self.inner.lock().unwrap();
        self.write_locked(inner, bin, open)
    }

    fn write_locked(&self, inner: &mut BucketFile, bin: Bin, open: &mut OpenBlock) -> Result<()> {
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
        let block = DiskBlock { at: Location::File { offset, len }, slots: open.slots, bin };
        inner.blocks[bin].push(block);
        open.bytes.clear();
        open.slots = 0;
        Ok(())
    }
}

/// Adds pre-tokens to buckets, for one thread.
pub struct BucketWriter<'a> {
    buckets: &'a Buckets,
    /// The open blocks, by bin.
    open: Vec<OpenBlock>,
    record: Vec<u8>,
}

impl BucketWriter<'_> {
    /// Adds a pre-token to a bucket.
    pub fn put(&mut self, bucket: u16, weight: u64, tokens: &[u32]) -> Result<()> {
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
        let bin = bin_of(bucket, weight);
        let open = &mut self.open[bin];
        if open.slots > 0 && open.bytes.len() + self.record.len() > BLOCK {
            self.buckets.write(bin, open)?;
        }
        open.bytes.extend_from_slice(&self.record);
        open.slots += tokens.len() + 1;
        Ok(())
    }

    /// Hands over the pre-tokens that do not fill a block, so that those of the next writer can join them.
    pub fn finish(self) -> Result<()> {
        let inner = &mut *self.buckets.inner.lock().unwrap();
        for (bin, mut open) in self.open.into_iter().enumerate().filter(|(_, open)| open.slots > 0) {
            let mut held = std::mem::take(&mut inner.open[bin]);
            if held.bytes.len() + open.bytes.len() > BLOCK {
                let fuller = if held.bytes.len() > open.bytes.len() { &mut held } else { &mut open };
                self.buckets.write_locked(inner, bin, fuller)?;
            }
            held.bytes.append(&mut open.bytes);
            held.slots += open.slots;
            inner.open[bin] = held;
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
    fn buckets_are_in_the_order_of_counts() {
        let counts: Vec<u64> =
            (0..5000).chain([1 << 40, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX]).collect();
        let mut ranges = Ranges::new();
        let splits = [None].into_iter().chain(counts.iter().rev().step_by(7).copied().map(Some));
        for split in splits {
            split.into_iter().for_each(|count| ranges.split(count));
            for &count in &counts {
                let bucket = ranges.bucket(count);
                assert!(bucket < UNSORTED && ranges.bucket(count.saturating_sub(1)) <= bucket);
                let lowest = ranges.lowest(bucket);
                assert!(lowest <= count && ranges.bucket(lowest) == bucket, "{count}, {split:?}");
            }
            if let Some(count) = split {
                assert!(!Ranges::is_wide(ranges.bucket(count)) && Ranges::is_wide(ranges.bucket(count / 2)));
            }
        }
    }

    #[test]
    fn what_is_put_is_taken_once() {
        let folder = std::env::temp_dir();
        let buckets = Buckets::new(&folder).unwrap();
        let long: Vec<u32> = (0..500).collect();
        for round in 0..3 {
            let mut writer = buckets.writer();
            for weight in 1..40 {
                writer.put(wide_bucket(weight), weight, &[weight as u32, 7, 1 << 20]).unwrap();
            }
            writer.put(wide_bucket(9), 1, &long).unwrap();
            writer.finish().unwrap();
            assert_eq!(buckets.slots().iter().map(|s| s.1).sum::<usize>(), 39 * 4 + 501, "{round}");
            let mut seen = Vec::new();
            for lowest in [16, 8, 0] {
                let blocks = buckets.take(lowest);
                for block in &blocks {
                    let add = |weight, tokens: &[u32]| {
                        seen.push((weight, tokens.to_vec()));
                        Ok(())
                    };
                    buckets.read(block, add).unwrap();
                }
                buckets.free(blocks);
            }
            seen.sort();
            let mut expected: Vec<_> = (1..40u64).map(|w| (w, vec![w as u32, 7, 1 << 20])).collect();
            expected.push((1, long.clone()));
            expected.sort();
            assert_eq!(seen, expected);
        }
    }
}

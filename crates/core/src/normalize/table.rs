//! Table: a byte of flags for each character, zero for most.
//!
//! The high bits of a code point select a block of 256; all characters without flags share one block. A table
//! takes 9 KB and 256 bytes per block in use, and is built at first use.
//!
//! Cost: two dependent loads per look-up.

use regex_syntax::hir::{Class, HirKind};

pub(super) struct Table {
    block_of: Box<[u16]>,
    flags: Vec<u8>,
}

impl Table {
    pub fn new() -> Table {
        Table { block_of: vec![0; 0x1100].into(), flags: vec![0; 256] }
    }

    #[inline(always)]
    pub fn get(&self, c: char) -> u8 {
        let block = self.block_of[(c as usize) >> 8] as usize;
        self.flags[block << 8 | (c as usize & 0xff)]
    }

    /// Adds flags to those that the character has.
    pub fn add(&mut self, c: char, flags: u8) {
        if flags == 0 {
            return;
        }
        let block = &mut self.block_of[(c as usize) >> 8];
        if *block == 0 {
            *block = (self.flags.len() >> 8) as u16;
            self.flags.resize(self.flags.len() + 256, 0);
        }
        self.flags[usize::from(*block) << 8 | (c as usize & 0xff)] |= flags;
    }

    /// Adds flags to every character of a class of regular expressions.
    pub fn add_class(&mut self, class: &str, flags: u8) {
        for c in ranges(class).into_iter().flatten() {
            self.add(c, flags);
        }
    }
}

/// The characters of a class such as `\p{Mn}`, as ranges.
pub(super) fn ranges(class: &str) -> Vec<std::ops::RangeInclusive<char>> {
    let hir = regex_syntax::parse(class).expect("a class that regex-syntax knows");
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => class.iter().map(|r| r.start()..=r.end()).collect(),
        _ => unreachable!("{class} is a class"),
    }
}

/// A set of bytes.
pub(super) type Bytes = [bool; 256];

/// Adds the byte that a character begins with.
pub(super) fn add_first_byte(bytes: &mut Bytes, c: char) {
    bytes[usize::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
}

const HIGH_BITS: u128 = 0x8080_8080_8080_8080_8080_8080_8080_8080;

/// Returns the first offset from `at` on whose byte is not ASCII.
pub(super) fn ascii_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes[at..].first_chunk() {
        let high = u128::from_le_bytes(*chunk) & HIGH_BITS;
        if high != 0 {
            return at + high.trailing_zeros() as usize / 8;
        }
        at += 16;
    }
    at + bytes[at..].iter().take_while(|byte| byte.is_ascii()).count()
}

/// Returns the first offset from `at` on whose byte is in `set`, or the end. If the set has no ASCII, sixteen
/// bytes of ASCII take one comparison; others take a look-up per byte, which do not wait for each other.
#[inline]
pub(super) fn find_byte<const ASCII: bool>(bytes: &[u8], mut at: usize, set: &Bytes) -> usize {
    while let Some(chunk) = bytes[at..].first_chunk::<16>() {
        let is_ascii = !ASCII && u128::from_le_bytes(*chunk) & HIGH_BITS == 0;
        if !is_ascii && chunk.iter().fold(false, |any, byte| any | set[usize::from(*byte)]) {
            break;
        }
        at += 16;
    }
    let found = bytes[at..].iter().position(|byte| set[usize::from(*byte)]);
    found.map_or(bytes.len(), |found| at + found)
}

/// Returns where the character before `at` begins; `from` if there is none after it.
pub(super) fn char_before(text: &str, from: usize, at: usize) -> usize {
    text[from..at].char_indices().next_back().map_or(from, |(offset, _)| from + offset)
}

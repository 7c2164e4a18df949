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

/// Returns the first offset from `at` on whose byte is not ASCII.
pub(super) fn ascii_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..at + 16) {
        let word = u128::from_le_bytes(chunk.try_into().expect("16 bytes"));
        let high = word & 0x8080_8080_8080_8080_8080_8080_8080_8080;
        if high != 0 {
            return at + high.trailing_zeros() as usize / 8;
        }
        at += 16;
    }
    at + bytes[at..].iter().take_while(|byte| byte.is_ascii()).count()
}

//! Charsmap: SentencePiece's table of replacements, as model files hold it.
//!
//! The bytes are the length of a trie (u32), the trie, and the replacements, each ended by a zero byte. The
//! trie is a double array of darts-clone (u32 units): the child of a node for a byte is found with one
//! exclusive or, and has that byte as its label. The value of a key is the offset of its replacement.
//!
//! The file may be corrupt or hostile. Every offset is checked; a walk that leaves the array, or reaches a
//! replacement that is not text, finds nothing. A corrupt trie may contain a cycle, so a walk ends after
//! [`LONGEST`] bytes.
//!
//! Cost: a load per byte of a key. Which characters are keys or begin one is in a table, so that others need
//! no walk.

use std::collections::HashSet;

use super::table::{Bytes, Table, add_first_byte};
use crate::{Error, Result};

/// No key is longer. (Those of SentencePiece's own rules have at most 18 bytes.)
const LONGEST: usize = 512;

pub struct Charsmap {
    units: Vec<u32>,
    replacements: String,
    /// [`IS_KEY`] and [`BEGINS_KEY`].
    flags: Table,
    /// The bytes that follow the first character in some longer key.
    continues: Bytes,
}

/// The character is a key.
pub const IS_KEY: u8 = 1;
/// The character is the first of several in a key.
pub const BEGINS_KEY: u8 = 2;

impl Charsmap {
    pub fn from_bytes(bytes: &[u8]) -> Result<Charsmap> {
        let bad = |what: &str| Error::BadTokenizer {
            reason: format!("its precompiled_charsmap {what}; get a fresh copy of the file"),
        };
        let (len, rest) = bytes.split_first_chunk().ok_or_else(|| bad("is too short"))?;
        let (trie, replacements) = rest
            .split_at_checked(u32::from_le_bytes(*len) as usize / 4 * 4)
            .ok_or_else(|| bad("ends inside its trie"))?;
        let units = trie.chunks_exact(4).map(|unit| u32::from_le_bytes(unit.try_into().expect("4 bytes")));
        let replacements =
            String::from_utf8(replacements.into()).map_err(|_| bad("has replacements that are not UTF-8"))?;
        let mut map =
            Charsmap { units: units.collect(), replacements, flags: Table::new(), continues: [false; 256] };
        map.find_first_characters();
        Ok(map)
    }

    /// Returns the flags of a character.
    #[inline(always)]
    pub fn flags(&self, c: char) -> u8 {
        self.flags.get(c)
    }

    /// Returns the bytes that follow the first character in some key.
    pub fn continues(&self) -> &Bytes {
        &self.continues
    }

    /// Returns the bytes that all characters but the first of some key begin with.
    pub fn later_bytes(&self) -> Bytes {
        let mut later = self.continues;
        let mut buffer = [0; 4];
        let mut nodes = Vec::new();
        for c in ('\0'..=char::MAX).filter(|c| self.flags(*c) & BEGINS_KEY != 0) {
            let text = c.encode_utf8(&mut buffer).as_bytes();
            let mut walk = self.walk(text);
            walk.by_ref().for_each(drop);
            nodes.push(walk.node);
        }
        // A corrupt trie may contain a cycle.
        let mut seen = HashSet::new();
        while let Some(node) = nodes.pop() {
            if !seen.insert(node) {
                continue;
            }
            for byte in 1..=255 {
                let at = node ^ usize::from(byte);
                let Some(unit) = self.units.get(at).filter(|unit| has_label(**unit, byte)) else { continue };
                if byte & 0xC0 != 0x80 {
                    later[usize::from(byte)] = true;
                }
                nodes.push(at ^ offset(*unit));
            }
        }
        later
    }

    /// Returns the bytes that characters which are keys begin with.
    pub fn first_bytes(&self) -> Bytes {
        let mut bytes = [false; 256];
        let keys = ('\0'..=char::MAX).filter(|c| self.flags(*c) & IS_KEY != 0);
        keys.for_each(|c| add_first_byte(&mut bytes, c));
        bytes
    }

    /// Returns the replacement of the shortest key that `text` starts with. Hugging Face's reader takes that,
    /// and ends a key at a zero byte.
    pub fn shortest(&self, text: &str) -> Option<&str> {
        let end = text.bytes().position(|byte| byte == 0).unwrap_or(text.len());
        let (_, value) = self.walk(&text.as_bytes()[..end]).next()?;
        self.replacement(value)
    }

    /// Returns the length of the longest key that `text` starts with, and its replacement.
    pub fn longest(&self, text: &str) -> Option<(usize, &str)> {
        let keys = self.walk(text.as_bytes()).filter(|(len, _)| text.is_char_boundary(*len));
        let (len, value) = keys.last()?;
        Some((len, self.replacement(value)?))
    }

    fn replacement(&self, value: usize) -> Option<&str> {
        self.replacements.get(value..)?.split('\0').next()
    }

    /// The keys that `text` starts with, shortest first: their lengths and values.
    fn walk<'a>(&'a self, text: &'a [u8]) -> Walk<'a> {
        let node = self.units.first().map_or(usize::MAX, |root| offset(*root));
        Walk { units: &self.units, text: &text[..text.len().min(LONGEST)], len: 0, node }
    }

    /// Finds the characters that are keys or begin one, in blocks of 64 that share all bytes but the last.
    fn find_first_characters(&mut self) {
        let mut buffer = [0; 4];
        for block in (0..0x11_0000).step_by(64) {
            let Some(first) = char::from_u32(block) else { continue };
            let lead = first.encode_utf8(&mut buffer).len() - 1;
            let mut walk = self.walk(&buffer[..lead]);
            if walk.by_ref().count() == 0 && walk.len < lead {
                continue;
            }
            for c in (block..block + 64).filter_map(char::from_u32) {
                let text = c.encode_utf8(&mut buffer).as_bytes();
                let mut walk = self.walk(text);
                let is_key = walk.by_ref().count() > 0;
                let node = (walk.len == text.len()).then_some(walk.node);
                self.flags.add(c, if is_key { IS_KEY } else { 0 });
                if let Some(node) = node {
                    self.add_children(c, node);
                }
            }
        }
    }

    /// Notes that the character begins a key if its node has children.
    fn add_children(&mut self, c: char, node: usize) {
        for byte in (1..0x80).chain(0xc0..=0xff) {
            let unit = self.units.get(node ^ usize::from(byte));
            if unit.is_some_and(|unit| has_label(*unit, byte)) {
                self.flags.add(c, BEGINS_KEY);
                self.continues[usize::from(byte)] = true;
            }
        }
    }
}

/// An iterator over the keys on the path that a text takes from the root.
struct Walk<'a> {
    units: &'a [u32],
    text: &'a [u8],
    len: usize,
    /// The offset in `units` that the next byte is added to.
    node: usize,
}

impl Iterator for Walk<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        while let Some(&byte) = self.text.get(self.len) {
            let at = self.node ^ usize::from(byte);
            let unit = *self.units.get(at)?;
            if !has_label(unit, byte) {
                return None;
            }
            self.node = at ^ offset(unit);
            self.len += 1;
            if unit >> 8 & 1 == 1 {
                let value = *self.units.get(self.node)?;
                return Some((self.len, (value & !(1 << 31)) as usize));
            }
        }
        None
    }
}

/// Whether a unit is the child for a byte, and not a value.
fn has_label(unit: u32, byte: u8) -> bool {
    unit & (1 << 31 | 0xff) == u32::from(byte)
}

/// The distance from a unit to its children, in the encoding of darts-clone.
fn offset(unit: u32) -> usize {
    (unit as usize >> 10) << ((unit & 1 << 9) >> 6)
}

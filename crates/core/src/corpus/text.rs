//! Text: the blocks of a plain text file, which is one document, or several if it contains the separator.
//!
//! A block ends where a cut cannot change the pre-tokens: at a special token or separator, or at a *safe cut*
//! of the split pattern (see `split`). If there is neither, the reader splits that stretch itself (patterns
//! that only look ahead), or reads on until the document ends (patterns that look behind, and single
//! pre-tokens of that length).

use std::io::Read;
use std::path::{Path, PathBuf};

use super::cutters::{Cut, Cutters};
use super::input::read_error;
use super::{BLOCK, Block, BlockSource, Position};
use crate::memory::reserve;
use crate::split::{Scratch, Splitter};
use crate::{Error, Result};

/// How far back from its end a block is searched for a safe cut.
const REACH: usize = if cfg!(test) { 16 } else { 1 << 16 };

/// The blocks of one stream.
pub struct TextBlocks<R> {
    reader: R,
    /// Used in error messages.
    path: PathBuf,
    /// Text that was read after the last cut.
    carry: Vec<u8>,
    position: Position,
    starts_document: bool,
    at_end: bool,
    /// The most text to hold in search of a cut.
    longest: usize,
}

impl<R: Read> TextBlocks<R> {
    /// Reads text that begins at `position`, where a document begins.
    pub fn new(reader: R, path: &Path, position: Position, longest: usize) -> TextBlocks<R> {
        TextBlocks {
            reader,
            path: path.into(),
            carry: Vec::new(),
            position,
            starts_document: true,
            at_end: false,
            longest: longest.max(BLOCK),
        }
    }
}

impl<R: Read + Send> BlockSource for TextBlocks<R> {
    fn next(&mut self, block: &mut Block, splitter: &Splitter, cutters: &Cutters) -> Result<bool> {
        block.text.clear();
        block.text.append(&mut self.carry);
        block.ends = None;
        block.records = None;
        block.position = self.position;
        block.starts_document = self.starts_document;
        let mut size = BLOCK;
        while !self.at_end {
            let missing = size.saturating_sub(block.text.len()) as u64;
            if size > BLOCK {
                reserve(&mut block.text, missing as usize, "a stretch of text without a safe cut")?;
            }
            let read = (&mut self.reader).take(missing).read_to_end(&mut block.text);
            let read = read.map_err(|error| read_error(&self.path, error))?;
            self.at_end = (read as u64) < missing;
            if self.at_end {
                break;
            }
            let (cut, ends) = match last_cut(&block.text, splitter, cutters) {
                Some(cut) => (cut, None),
                None => split_beginning(&block.text, splitter, cutters)?,
            };
            if cut.at > 0 {
                self.carry.extend_from_slice(&block.text[cut.at..]);
                block.text.truncate(cut.at);
                block.ends = ends;
                self.starts_document = cut.ends_document;
                self.position.offset += cut.at as u64;
                block.next = self.position;
                return Ok(true);
            }
            if block.text.len() >= self.longest {
                return Err(Error::LongStretch {
                    path: self.path.clone(),
                    offset: self.position.offset,
                    longest: self.longest,
                });
            }
            size = (2 * block.text.len()).min(self.longest);
        }
        self.position.offset += block.text.len() as u64;
        block.next = self.position;
        Ok(!block.text.is_empty())
    }
}

/// Returns the last offset at which the text can be cut without changing a pre-token, whatever follows: a
/// safe cut of the pattern, or the end of an invalid byte, of a special token or of a separator.
fn last_cut(text: &[u8], splitter: &Splitter, cutters: &Cutters) -> Option<Cut> {
    // A cutter or a character may begin in the last bytes; only what precedes them is certain.
    let settled = text.len().saturating_sub(cutters.longest().max(4));
    let start = settled.saturating_sub(REACH);
    // The window may begin inside a character, whose bytes then look invalid.
    let trusted = if start == 0 { 0 } else { start + 3 };
    let (mut valid, mut valid_start, mut after_invalid, mut at) = ("", start, None, start);
    for chunk in text[start..settled].utf8_chunks() {
        (valid, valid_start) = (chunk.valid(), at);
        at += chunk.valid().len() + chunk.invalid().len();
        if at < settled && at - chunk.invalid().len() >= trusted {
            after_invalid = Some(Cut { at, ends_document: false });
        }
    }
    while let Some(cut) = splitter.last_cut(valid) {
        if !cutters.cover(text, valid_start + cut) {
            return Some(Cut { at: valid_start + cut, ends_document: false });
        }
        valid = &valid[..cut];
    }
    after_invalid.or_else(|| cutters.last_end(text, settled))
}

/// Splits the beginning of a document that is longer than a block and has no safe cut, as far as it is
/// certain.
fn split_beginning(text: &[u8], splitter: &Splitter, cutters: &Cutters) -> Result<(Cut, Option<Vec<u32>>)> {
    let settled = text.len().saturating_sub(cutters.longest().max(4)).min(cutters.first_start(text));
    let nothing = Cut { at: 0, ends_document: false };
    let Some(first) = text[..settled].utf8_chunks().next() else { return Ok((nothing, None)) };
    // No pre-token continues after a byte that is not UTF-8. (The last bytes may be part of a character.)
    let after_invalid = first.valid().len() + first.invalid().len();
    if after_invalid < settled {
        return Ok((Cut { at: after_invalid, ends_document: false }, None));
    }
    let mut ends = Vec::new();
    match splitter.split_beginning(first.valid(), &mut Scratch::default(), &mut ends) {
        Some(end) => Ok((Cut { at: end?, ends_document: false }, Some(ends))),
        None => Ok((nothing, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_is_not_utf8_ends_a_block() {
        let cutters = Cutters::new(&[], None).unwrap();
        // Neither pattern has safe cuts; the second must see the whole document.
        for pattern in [r"[^ \n]+|[ \n]+", r"(?<=a)b|\w+"] {
            let splitter = Splitter::new(pattern).unwrap();
            for start in ["", "\n", "ab \n"] {
                let text = [start.as_bytes(), b"\xE4\xB8", b"word ".repeat(40).as_slice()].concat();
                let longest = 4 * BLOCK;
                let mut blocks = TextBlocks::new(&text[..], Path::new("x"), Position::default(), longest);
                let mut block = Block::default();
                assert!(blocks.next(&mut block, &splitter, &cutters).unwrap());
                assert_eq!(block.text, [start.as_bytes(), b"\xE4\xB8"].concat(), "{pattern}");
            }
        }
    }
}

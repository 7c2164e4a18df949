//! Spans: the offsets of each token in a text.
//!
//! Tokens follow each other without gaps, so their lengths give their byte offsets. Cost: one pass over their
//! bytes, which counts those that begin a character.

use super::Options;
use crate::{Error, Result, Tokenizer};

/// (start, end) of every token.
#[derive(Debug, PartialEq, Eq)]
pub struct Spans {
    pub bytes: Vec<(usize, usize)>,
    /// All characters that a token has a part of: a character divided between two tokens belongs to both.
    pub chars: Vec<(usize, usize)>,
}

impl Tokenizer {
    /// Returns the spans of the ids that a text was encoded to with these options. The spans of prepended and
    /// appended ids are empty.
    pub fn spans(&self, ids: &[u32], options: &Options) -> Result<Spans> {
        let mut spans = Spans { bytes: Vec::with_capacity(ids.len()), chars: Vec::with_capacity(ids.len()) };
        let first = options.prepend.len();
        let last = ids.len() - options.append.len();
        let (mut start, mut chars) = (0, 0);
        for (n, &id) in ids.iter().enumerate() {
            if n < first || n >= last {
                spans.bytes.push((start, start));
                spans.chars.push((chars, chars));
                continue;
            }
            let token = self.bytes_or_special(id).ok_or(Error::UnknownId { id, at: n })?;
            let begins = |byte: &&u8| **byte & 0xc0 != 0x80;
            // A token that begins inside a character belongs to the one counted last.
            let inside = !begins(&&token[0]) as usize;
            let touched = chars - inside;
            chars += token.iter().filter(begins).count();
            spans.bytes.push((start, start + token.len()));
            spans.chars.push((touched, chars));
            start += token.len();
        }
        Ok(spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Allowed;
    use crate::split::Splitter;

    #[test]
    fn a_character_divided_between_two_tokens_belongs_to_both() {
        let mut ranks: Vec<(Vec<u8>, u32)> = (0..=255).map(|byte| (vec![byte], byte as u32)).collect();
        // The end of é and the start of 中.
        ranks.push((vec![0xa9, 0xe4], 256));
        let specials = vec![("<é>".into(), 257)];
        let tokenizer = Tokenizer::from_ranks(ranks, Splitter::new("(?s).+").unwrap(), specials).unwrap();
        let options = Options { allowed: Allowed::All, prepend: vec![257], append: vec![0], ..Options::SAFE };
        let ids = tokenizer.encode("é中<é>", &options).unwrap();
        assert_eq!(ids, [257, 0xc3, 256, 0xb8, 0xad, 257, 0]);
        let spans = tokenizer.spans(&ids, &options).unwrap();
        assert_eq!(spans.bytes, [(0, 0), (0, 1), (1, 3), (3, 4), (4, 5), (5, 9), (9, 9)]);
        assert_eq!(spans.chars, [(0, 0), (0, 1), (0, 2), (1, 2), (1, 2), (2, 5), (5, 5)]);
    }
}

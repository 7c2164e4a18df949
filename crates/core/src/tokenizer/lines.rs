//! Lines: the tokens of a file, one to a line.
//!
//! ```text
//! dGhl 299 1234 1
//! ```
//!
//! Its bytes in base64, its id, how often training saw its merge, and how many of its bytes are the left part of that
//! merge; `-` where there is no such number. A rank file has the first two, a tokenizer file three or all four.
//! `docs/format.md` specifies them.
//!
//! Cost: 3 ms for the 100,000 lines of cl100k_base, in one pass and without an allocation per token.

use memchr::memchr;

use super::Tokenizer;
use crate::memory::reserve;
use crate::merge::derive::{derive, divide};
use crate::split::Splitter;
use crate::{Error, Result};

/// The tokens of a file, lowest id first.
pub struct TokenLines {
    /// The bytes of all tokens.
    bytes: Vec<u8>,
    /// The end of each token in `bytes`, and its id.
    tokens: Vec<(u32, u32)>,
    /// How often training saw the merges of which that is known: ids and counts.
    counts: (Vec<u32>, Vec<u64>),
    /// The length of the left part of each token, or 0; empty if the file has no such column.
    lefts: Vec<u32>,
    first_line: usize,
}

/// The columns after the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Columns {
    Ids,
    Counts,
    Lefts,
}

impl TokenLines {
    /// Parses the lines of a file. `first_line` is the number of the first one, for errors; `longest` is the limit of
    /// the length of a token.
    pub fn parse(lines: &[u8], columns: Columns, first_line: usize, longest: usize) -> Result<TokenLines> {
        let capacity = memchr::memchr_iter(b'\n', lines).count() + 1;
        let mut parsed = TokenLines {
            bytes: Vec::new(),
            tokens: Vec::with_capacity(capacity),
            counts: (Vec::new(), Vec::new()),
            lefts: Vec::with_capacity(if columns == Columns::Lefts { capacity } else { 0 }),
            first_line,
        };
        reserve(&mut parsed.bytes, lines.len() / 4 * 3, "the tokens of a file")?;
        let mut rest = Cursor(lines);
        let mut expected = 0;
        while !rest.0.is_empty() {
            let Some(id) = parsed.line(&mut rest, columns) else {
                let line = first_line + parsed.tokens.len();
                return corrupt(match columns {
                    Columns::Ids => format!("line {line} is not a token and an id"),
                    Columns::Counts => format!("line {line} is not a token, an id and a count"),
                    Columns::Lefts => format!("line {line} is not a token, an id, a count and a length"),
                });
            };
            let line = first_line + parsed.tokens.len();
            let start = parsed.tokens.last().map_or(0, |&(end, _)| end);
            let Some(id) = u32::try_from(id).ok().filter(|_| parsed.bytes.len() - start as usize <= longest)
            else {
                return corrupt(format!("line {line} has a number or token that is too large"));
            };
            if (id as u64) < expected {
                return corrupt(format!("the id on line {line} is out of order"));
            }
            expected = id as u64 + 1;
            let Ok(end) = u32::try_from(parsed.bytes.len()) else {
                return corrupt("its tokens together are longer than 4 GiB".into());
            };
            parsed.tokens.push((end, id));
        }
        Ok(parsed)
    }

    /// Returns the ids of the tokens with a count, and the counts, as the bytes of 32-bit and 64-bit numbers.
    pub fn counts(&self) -> (&[u8], &[u8]) {
        (bytemuck::cast_slice(&self.counts.0), bytemuck::cast_slice(&self.counts.1))
    }

    /// Appends what one line says, and returns the id; `None` if it is not in the form of a line.
    fn line(&mut self, rest: &mut Cursor<'_>, columns: Columns) -> Option<u64> {
        let end = memchr(b' ', rest.0)?;
        decode_base64(&rest.0[..end], &mut self.bytes)?;
        rest.0 = &rest.0[end + 1..];
        let id = rest.number()?;
        if columns >= Columns::Counts {
            rest.skip(b' ')?;
            if let Some(count) = rest.number_or_dash()? {
                // An id that does not fit is refused by the caller.
                self.counts.0.push(id as u32);
                self.counts.1.push(count);
            }
        }
        if columns >= Columns::Lefts {
            rest.skip(b' ')?;
            let left = rest.number_or_dash()?;
            self.lefts.push(left.map_or(Some(0), |left| u32::try_from(left).ok().filter(|&left| left > 0))?);
        }
        if !rest.0.is_empty() {
            rest.skip(b'\n')?;
        }
        Some(id)
    }
}

impl Tokenizer {
    /// Builds a tokenizer from the lines of a file. Where they say how each token divides, that is checked, which is
    /// faster than to find it out.
    pub fn from_lines(
        lines: &TokenLines,
        splitter: Splitter,
        specials: Vec<(String, u32)>,
    ) -> Result<Tokenizer> {
        let mut start = 0;
        let tokens = lines.tokens.iter().map(|&(end, id)| {
            let token = &lines.bytes[start..end as usize];
            start = end as usize;
            (token, id)
        });
        let tokens = tokens.collect();
        if lines.lefts.is_empty() {
            return Tokenizer::assemble(tokens, splitter, specials, |bytes, tokens, _| {
                Ok(derive(bytes, tokens))
            });
        }
        Tokenizer::assemble(tokens, splitter, specials, |bytes, tokens, find| {
            divide(bytes, tokens, &lines.lefts, find).or_else(|at| {
                let line = lines.first_line + at;
                corrupt(format!("the token on line {line} is not merged from the parts that the line states"))
            })
        })
    }
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn skip(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    fn number_or_dash(&mut self) -> Option<Option<u64>> {
        match self.0.strip_prefix(b"-") {
            Some(rest) => {
                self.0 = rest;
                Some(None)
            }
            None => self.number().map(Some),
        }
    }

    /// Reads a number without leading zeros.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        let mut digits = 0;
        while let Some(digit) = self.0.get(digits).map(|byte| byte.wrapping_sub(b'0')).filter(|&d| d < 10) {
            number = number.checked_mul(10)?.checked_add(digit as u64)?;
            digits += 1;
        }
        if digits == 0 || digits > 1 && self.0[0] == b'0' {
            return None;
        }
        self.0 = &self.0[digits..];
        Some(number)
    }
}

/// The value of each digit of base64; 0x80 for all other bytes.
const DIGITS: [u8; 256] = {
    let mut digits = [0x80; 256];
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut value = 0;
    while value < 64 {
        digits[alphabet[value] as usize] = value as u8;
        value += 1;
    }
    digits
};

/// Appends what a text in base64 means; `None` unless it is the one way to write at least one byte.
fn decode_base64(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let (fours, []) = text.as_chunks::<4>() else { return None };
    let (last, fours) = fours.split_last()?;
    let mut invalid = 0;
    let mut three = |four: [u8; 4]| {
        let [a, b, c, d] = four.map(|byte| DIGITS[byte as usize]);
        invalid |= a | b | c | d;
        let number = (a as u32) << 18 | (b as u32) << 12 | (c as u32) << 6 | d as u32;
        let [_, three @ ..] = number.to_be_bytes();
        three
    };
    for &four in fours {
        bytes.extend_from_slice(&three(four));
    }
    let (length, four) = match *last {
        [a, b, b'=', b'='] => (1, [a, b, b'A', b'A']),
        [a, b, c, b'='] => (2, [a, b, c, b'A']),
        four => (3, four),
    };
    let last = three(four);
    bytes.extend_from_slice(&last[..length]);
    (invalid < 0x80 && last[length..].iter().all(|&byte| byte == 0)).then_some(())
}

fn corrupt<T>(what: String) -> Result<T> {
    Err(Error::BadTokenizerFile { what })
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    fn parse(lines: &str, columns: Columns) -> Result<TokenLines> {
        TokenLines::parse(lines.as_bytes(), columns, 3, 5)
    }

    #[test]
    fn each_column_is_read() {
        let lines = parse("YQ== 97 -\nYWI= 98 7\nYWJj 400 18446744073709551615", Columns::Counts).unwrap();
        assert_eq!(lines.bytes, b"aababc");
        assert_eq!(lines.tokens, [(1, 97), (3, 98), (6, 400)]);
        assert_eq!(lines.counts, (vec![98, 400], vec![7, u64::MAX]));
        assert!(lines.lefts.is_empty());
        assert_eq!(parse("YQ== 97 - -\nYWI= 98 7 1\n", Columns::Lefts).unwrap().lefts, [0, 1]);
        assert_eq!(parse("YQ== 0\n", Columns::Ids).unwrap().tokens, [(1, 0)]);
        assert!(parse("", Columns::Lefts).unwrap().tokens.is_empty());
    }

    #[test]
    fn each_wrong_line_is_named() {
        let refused = |lines: &str, columns| match parse(lines, columns) {
            Err(Error::BadTokenizerFile { what }) => what,
            _ => panic!("{lines:?} was read"),
        };
        for line in [
            "",
            "\n",
            "YQ==",
            "YQ== 97",
            "YQ== 97 ",
            "YQ== 97 -1",
            "YQ== 97 - ",
            "YQ==  97 -",
            "YQ=== 97 -",
            "YQ= 97 -",
            "YR== 97 -",
            "YWJ= 97 -",
            "Y=== 97 -",
            "==== 97 -",
            "=YQ= 97 -",
            "Y*Q= 97 -",
            " 97 -",
            "YQ== 097 -",
            "YQ== 97 01",
            "YQ== 97 18446744073709551616",
            "YQ== 18446744073709551616 -",
            "YQ== +97 -",
            "YQ== 97 -\r",
        ] {
            let what = refused(&format!("YWI= 1 -\n{line}\n"), Columns::Counts);
            assert_eq!(what, "line 4 is not a token, an id and a count", "{line:?}");
        }
        for line in ["YQ== 97 -", "YQ== 97 - 0", "YQ== 97 - 4294967296", "YQ== 97 - - -"] {
            let what = refused(line, Columns::Lefts);
            assert_eq!(what, "line 3 is not a token, an id, a count and a length", "{line:?}");
        }
        for line in ["YQ== 4294967296 -", "YQ== 18446744073709551615 -", "YWJjZGVm 1 -"] {
            let what = refused(line, Columns::Counts);
            assert_eq!(what, "line 3 has a number or token that is too large", "{line:?}");
        }
        let what = refused("YQ== 98 -\nYg== 98 -", Columns::Counts);
        assert_eq!(what, "the id on line 4 is out of order");
        assert_eq!(refused("YQ== 98 -", Columns::Ids), "line 3 is not a token and an id");
    }

    proptest! {
        #[test]
        fn base64_is_that_of_the_crate(bytes in prop::collection::vec(any::<u8>(), 1..20), text in "[A-Da-d0-3+/=]{0,12}") {
            let mut decoded = vec![];
            prop_assert!(decode_base64(STANDARD.encode(&bytes).as_bytes(), &mut decoded).is_some());
            prop_assert_eq!(decoded, bytes);
            let mut decoded = vec![];
            let is_valid = decode_base64(text.as_bytes(), &mut decoded).is_some();
            match STANDARD.decode(&text) {
                Ok(bytes) if !bytes.is_empty() => prop_assert!(is_valid && decoded == bytes),
                _ => prop_assert!(!is_valid),
            }
        }
    }
}

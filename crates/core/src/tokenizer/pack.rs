//! Pack: the ranks as one string of bytes, to hand a tokenizer to another process.
//!
//! For each token, lowest id first: the distance of its id from the expected one, its length, and its bytes;
//! numbers in LEB128. A token of n bytes takes n + 2, so the 200,000 of o200k take 1.8 MB and some
//! milliseconds.

use crate::{Error, Result, Tokenizer};

impl Tokenizer {
    /// Packs the ranks.
    pub fn packed_ranks(&self) -> Vec<u8> {
        let mut packed = Vec::new();
        let mut expected = 0;
        for (token, id) in self.ranks() {
            push(&mut packed, id - expected);
            push(&mut packed, token.len() as u32);
            packed.extend_from_slice(token);
            expected = id + 1;
        }
        packed
    }
}

/// Unpacks the result of [`Tokenizer::packed_ranks`]. Any other bytes give an error or other ranks, never a
/// panic.
pub fn unpack_ranks(mut packed: &[u8]) -> Result<Vec<(Vec<u8>, u32)>> {
    let damaged = || Error::BadTokenizer { reason: "its packed ranks are corrupt; pack it again".into() };
    let mut ranks = Vec::new();
    let mut expected = 0u32;
    while !packed.is_empty() {
        let id = pop(&mut packed).and_then(|gap| expected.checked_add(gap)).ok_or_else(damaged)?;
        let length = pop(&mut packed).ok_or_else(damaged)?;
        let (token, rest) = packed.split_at_checked(length as usize).ok_or_else(damaged)?;
        ranks.push((token.to_vec(), id));
        expected = id.checked_add(1).ok_or_else(damaged)?;
        packed = rest;
    }
    Ok(ranks)
}

fn push(packed: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        packed.push(number as u8 | 0x80);
        number >>= 7;
    }
    packed.push(number as u8);
}

fn pop(packed: &mut &[u8]) -> Option<u32> {
    let mut number = 0u64;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = packed.split_first()?;
        *packed = rest;
        number |= ((byte & 0x7f) as u64) << shift;
        if byte < 0x80 {
            return u32::try_from(number).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::Splitter;

    #[test]
    fn packed_ranks_round_trip_and_truncated_ones_are_rejected() {
        let mut ranks: Vec<(Vec<u8>, u32)> = (0..=255).map(|byte| (vec![byte], byte as u32)).collect();
        ranks.push((b"ab".to_vec(), 300));
        ranks.push((b"a".repeat(300), 70_000));
        let tokenizer = Tokenizer::from_ranks(ranks.clone(), Splitter::new("gpt2").unwrap(), vec![]).unwrap();
        let packed = tokenizer.packed_ranks();
        assert_eq!(unpack_ranks(&packed).unwrap(), ranks);
        assert!(unpack_ranks(&packed[..packed.len() - 1]).is_err());
        assert!(unpack_ranks(&[0xff; 20]).is_err());
        assert!(unpack_ranks(&[0, 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
    }
}

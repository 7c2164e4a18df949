//! Vocabulary: the tokens known so far, under the trainer's internal ids.
//!
//! Internal ids are dense and ordered as the tie rule needs them: first the tokens that training starts from,
//! in the order of the rule, then the new ones as they are created. So the rules `Ids` and `HuggingFace` are
//! the same comparison, and a base whose ids have gaps costs nothing. *External* ids are those of the
//! tokenizer.

use super::TieBreak;
use crate::split::Splitter;
use crate::{Result, Tokenizer};

/// The bytes of every token, by internal id.
#[derive(Default)]
pub struct Vocabulary {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The external id of each token that training starts from.
    external: Vec<u32>,
    /// The external id of the first new token.
    first_id: u32,
}

/// The internal id of each external one; below 2²¹, so that a list is small.
pub struct InternalIds(Vec<u32>);

/// No internal id.
const UNKNOWN: u32 = u32::MAX;

impl InternalIds {
    pub fn get(&self, external: u32) -> Option<u32> {
        self.0.get(external as usize).copied().filter(|&id| id != UNKNOWN)
    }

    /// Returns the internal id of an external one that is known.
    #[inline(always)]
    pub fn of(&self, external: u32) -> u32 {
        self.0[external as usize]
    }
}

impl Vocabulary {
    pub fn new(base: Option<&Tokenizer>, tie_break: TieBreak, first_id: u32) -> Vocabulary {
        let mut tokens: Vec<(u32, Vec<u8>)> = match base {
            Some(base) => base.ranks().map(|(bytes, id)| (id, bytes.to_vec())).collect(),
            None => (0..=255u8).map(|byte| (byte as u32, vec![byte])).collect(),
        };
        tokens.sort_by_key(|(id, bytes)| match (tie_break, &bytes[..]) {
            (TieBreak::HuggingFace, &[byte]) => (0, huggingface_order(byte)),
            _ => (1, *id),
        });
        let mut vocabulary = Vocabulary { bytes: Vec::new(), ends: vec![0], external: Vec::new(), first_id };
        for (id, bytes) in tokens {
            vocabulary.external.push(id);
            vocabulary.bytes.extend(bytes);
            vocabulary.ends.push(vocabulary.bytes.len());
        }
        vocabulary
    }

    pub fn len(&self) -> usize {
        self.ends.len() - 1
    }

    pub fn bytes(&self, token: u32) -> &[u8] {
        &self.bytes[self.ends[token as usize]..self.ends[token as usize + 1]]
    }

    /// The length of the two tokens together, in bytes.
    pub fn joint_len(&self, left: u32, right: u32) -> usize {
        self.bytes(left).len() + self.bytes(right).len()
    }

    /// The length of the two tokens together, in characters.
    pub fn joint_characters(&self, left: u32, right: u32) -> usize {
        self.joint_bytes(left, right).filter(|byte| byte & 0xC0 != 0x80).count()
    }

    /// The bytes of the two tokens together.
    pub fn joint_bytes(&self, left: u32, right: u32) -> impl Iterator<Item = u8> {
        self.bytes(left).iter().chain(self.bytes(right)).copied()
    }

    /// Adds the token left + right; its id is the next one.
    pub fn add(&mut self, left: u32, right: u32) {
        for token in [left, right] {
            self.bytes.extend_from_within(self.ends[token as usize]..self.ends[token as usize + 1]);
        }
        self.ends.push(self.bytes.len());
    }

    /// Adds all these merges and returns the tokenizer of the base and these merges, to encode pre-tokens
    /// with.
    pub fn learn(
        &mut self,
        splitter: &Splitter,
        base: Option<&Tokenizer>,
        merges: &[(u32, u32)],
    ) -> Result<Tokenizer> {
        let tokenizer = Tokenizer::trained(base, merges, self.first_id, splitter.clone(), Vec::new())?;
        let internal = self.internal();
        let first = self.len() as u32;
        let known = |id: u32| internal.get(id).unwrap_or_else(|| first + (id - self.first_id));
        let merges: Vec<_> = merges.iter().map(|&(left, right)| (known(left), known(right))).collect();
        for (left, right) in merges {
            self.add(left, right);
        }
        Ok(tokenizer)
    }

    /// Returns the external id of a token.
    pub fn external(&self, token: u32) -> u32 {
        match self.external.get(token as usize) {
            Some(&id) => id,
            None => self.first_id + (token as usize - self.external.len()) as u32,
        }
    }

    /// Returns the internal id of each external one.
    pub fn internal(&self) -> InternalIds {
        let mut ids = Vec::new();
        for token in 0..self.len() as u32 {
            let external = self.external(token) as usize;
            if external >= ids.len() {
                ids.resize(external + 1, UNKNOWN);
            }
            ids[external] = token;
        }
        InternalIds(ids)
    }

    /// Returns the internal id of each byte, for a training that starts from bytes.
    pub fn byte_tokens(&self) -> [u32; 256] {
        let mut tokens = [0; 256];
        for token in 0..self.external.len() as u32 {
            if let &[byte] = self.bytes(token) {
                tokens[byte as usize] = token;
            }
        }
        tokens
    }
}

/// The rank of a byte in Hugging Face's alphabet. It writes each byte as a printable character and sorts by
/// that character: bytes that are printable in Latin-1 map to themselves, the others follow as U+0100 and up.
pub fn huggingface_order(byte: u8) -> u32 {
    let printable = |b: u8| matches!(b, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    if printable(byte) { byte as u32 } else { 256 + (0..byte).filter(|&b| !printable(b)).count() as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huggingface_sorts_printable_bytes_first() {
        let mut bytes: Vec<u8> = (0..=255).collect();
        bytes.sort_by_key(|&b| huggingface_order(b));
        assert_eq!(bytes[..3], [b'!', b'"', b'#']);
        assert_eq!(bytes[187..190], [0xFF, 0x00, 0x01]);
        assert_eq!(bytes[255], 0xAD);
    }
}

//! Slots: the bytes of every id, laid out so that decoding copies a token with one load and one store.
//!
//! Each id has a slot of 16 bytes: up to 15 bytes of the token, then its length. Tokens that are longer are
//! read from the tokenizer instead.
//!
//! Cost: 16 bytes per id, 1.6 MB for cl100k_base, filled in a millisecond when ids are first decoded. It
//! loses where most tokens are longer than 15 bytes: each then costs a copy of its own.

use crate::Tokenizer;

/// The longest token that a slot holds, and the index of the length byte.
pub(crate) const SHORT: usize = 15;

/// The last byte is the length: 0 where no token has this id, or where the token is longer than [`SHORT`].
pub(crate) type DecodeSlot = [u8; SHORT + 1];

impl Tokenizer {
    /// The slots of all ids, by id.
    pub(crate) fn slots(&self) -> &[DecodeSlot] {
        self.slots.get_or_init(|| (0..self.next_id()).map(|id| self.slot(id)).collect())
    }

    fn slot(&self, id: u32) -> DecodeSlot {
        let mut slot = [0; SHORT + 1];
        if let Some(token) = self.bytes_or_special(id).filter(|token| token.len() <= SHORT) {
            slot[..token.len()].copy_from_slice(token);
            slot[SHORT] = token.len() as u8;
        }
        slot
    }
}

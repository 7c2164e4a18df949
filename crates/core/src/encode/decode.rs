//! Decode: ids to bytes and to text. An id gives the bytes it stands for, a special token its own text.
//!
//! Cost: one look-up and one copy per id. Ids need not end where characters do, so a sequence of ids may
//! decode to bytes that are no text; the strict form says where, the lossy form puts U+FFFD there.

use crate::{Error, Result, Tokenizer};

impl Tokenizer {
    /// The bytes of all ids, joined.
    pub fn decode_bytes(&self, ids: &[u32]) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        for &id in ids {
            bytes.extend_from_slice(self.bytes_or_special(id).ok_or(Error::UnknownId { id })?);
        }
        Ok(bytes)
    }

    /// The text of all ids; an error where they are not UTF-8.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        String::from_utf8(self.decode_bytes(ids)?)
            .map_err(|error| Error::NotUtf8 { at: error.utf8_error().valid_up_to() })
    }

    /// The text of all ids, with U+FFFD in place of what is not UTF-8. An unknown id is still an error.
    pub fn decode_lossy(&self, ids: &[u32]) -> Result<String> {
        Ok(match String::from_utf8_lossy(&self.decode_bytes(ids)?) {
            std::borrow::Cow::Borrowed(text) => text.into(),
            std::borrow::Cow::Owned(text) => text,
        })
    }
}

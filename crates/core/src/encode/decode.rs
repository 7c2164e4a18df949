//! Decode: ids to bytes and to text. An id yields the bytes of its token, a special token its text.
//!
//! The table of the tokenizer (`tokenizer/slots.rs`) has 16 bytes for every id: up to 15 bytes of the token,
//! and its length. A token is copied by one load and one store of 16 bytes, whatever its length, and the next
//! token overwrites the excess. Longer tokens are copied from the tokenizer.
//!
//! Cost: 1.3 ns per id, and 0.6 more where the length must be known first. When it loses: where most tokens
//! are longer than 15 bytes.
//!
//! Ids need not end at character boundaries, so a sequence of ids may decode to bytes that are not UTF-8; the
//! strict form reports where.

use std::mem::MaybeUninit;

use crate::tokenizer::{DecodeSlot, SHORT};
use crate::{Error, Result, Tokenizer};

/// How many ids are decoded between two checks of the capacity.
const PART: usize = 1 << 10;

impl Tokenizer {
    /// Returns the bytes of all ids, joined.
    pub fn decode_bytes(&self, ids: &[u32]) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.decode_onto(ids.iter().copied(), &mut bytes)?;
        bytes.shrink_to_fit();
        Ok(bytes)
    }

    /// Appends the bytes of all ids. On an unknown id, `bytes` is as before.
    pub fn decode_onto(
        &self,
        mut ids: impl ExactSizeIterator<Item = u32>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let slots = self.slots();
        let (start, count) = (bytes.len(), ids.len());
        while ids.len() > 0 {
            // Room for all slots of this part, so that the loop needs no check.
            let part = PART.min(ids.len());
            bytes.reserve(part * size_of::<DecodeSlot>());
            let mut end = bytes.len();
            let mut odd = None;
            for id in ids.by_ref().take(part) {
                match slots.get(id as usize) {
                    Some(slot) if slot[SHORT] > 0 => {
                        // SAFETY: each of up to `part` ids writes one slot at `end` and advances it by at
                        // most that size, and room for `part` slots was reserved.
                        unsafe { bytes.as_mut_ptr().add(end).cast::<DecodeSlot>().write(*slot) };
                        end += slot[SHORT] as usize;
                    }
                    _ => {
                        odd = Some(id);
                        break;
                    }
                }
            }
            // SAFETY: the loop has written every byte before `end`.
            unsafe { bytes.set_len(end) };
            let Some(id) = odd else { continue };
            match self.bytes_or_special(id) {
                Some(token) => bytes.extend_from_slice(token),
                None => {
                    bytes.truncate(start);
                    return Err(Error::UnknownId { id, at: count - ids.len() - 1 });
                }
            }
        }
        Ok(())
    }

    /// Returns the text of all ids; an error if it is not UTF-8.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        String::from_utf8(self.decode_bytes(ids)?)
            .map_err(|error| Error::NotUtf8 { at: error.utf8_error().valid_up_to() })
    }

    /// Returns the number of bytes that the ids decode to.
    pub fn decoded_len(&self, ids: impl Iterator<Item = u32>) -> Result<usize> {
        let mut total = 0;
        for (at, id) in ids.enumerate() {
            match self.length_of(id) {
                0 => return Err(Error::UnknownId { id, at }),
                length => total += length,
            }
        }
        Ok(total)
    }

    /// Writes the bytes of all ids to `out` and returns their number. It ends before an id that does not fit,
    /// which cannot happen if `out` has the length that [`Tokenizer::decoded_len`] returns for the same ids.
    pub fn decode_into(
        &self,
        mut ids: impl ExactSizeIterator<Item = u32>,
        out: &mut [MaybeUninit<u8>],
    ) -> Result<usize> {
        let slots = self.slots();
        let count = ids.len();
        let mut end = 0;
        loop {
            // `fit` slots are sure to fit, so that the loop needs no check.
            let fit = (out.len() - end) / size_of::<DecodeSlot>();
            let mut odd = None;
            for id in ids.by_ref().take(fit) {
                match slots.get(id as usize) {
                    Some(slot) if slot[SHORT] > 0 => {
                        // SAFETY: each of up to `fit` ids writes one slot at `end` and advances it by at most
                        // that size, and `fit` slots fit between the first `end` and the end of `out`.
                        unsafe { out.as_mut_ptr().add(end).cast::<DecodeSlot>().write(*slot) };
                        end += slot[SHORT] as usize;
                    }
                    _ => {
                        odd = Some(id);
                        break;
                    }
                }
            }
            // Long, unknown, or among the last.
            let Some(id) = odd.or_else(|| ids.next()) else { break };
            let at = count - ids.len() - 1;
            let token = self.bytes_or_special(id).ok_or(Error::UnknownId { id, at })?;
            let Some(room) = out[end..].get_mut(..token.len()) else { break };
            for (to, &from) in room.iter_mut().zip(token) {
                to.write(from);
            }
            end += token.len();
        }
        Ok(end)
    }

    /// Returns the text of all ids, and the byte offset of each.
    pub fn decode_with_byte_offsets(&self, ids: &[u32]) -> Result<(String, Vec<usize>)> {
        let text = self.decode(ids)?;
        let mut end = 0;
        let starts = ids.iter().map(|&id| {
            let start = end;
            end += self.length_of(id);
            start
        });
        Ok((text, starts.collect()))
    }

    /// Returns the text of all ids, and the character offset of each. A token that begins inside a character
    /// has the offset of that character, as in tiktoken.
    pub fn decode_with_offsets(&self, ids: &[u32]) -> Result<(String, Vec<usize>)> {
        let (text, mut starts) = self.decode_with_byte_offsets(ids)?;
        let (mut before, mut begun) = (0, 0);
        for start in &mut starts {
            // The characters that begin before the token.
            begun += text.as_bytes()[before..*start].iter().filter(|&&byte| byte as i8 >= -0x40).count();
            before = *start;
            *start = begun - usize::from(!text.is_char_boundary(before));
        }
        Ok((text, starts))
    }
}

/// What to do with decoded bytes that are not UTF-8, as Python's codecs do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// Return an error.
    Refuse,
    /// Insert U+FFFD for each.
    Replace,
    /// Leave them out.
    Ignore,
}

/// Returns the text without what is invalid in it, which is an error that the caller has excluded; copies only if
/// there is any.
pub(super) fn to_text(bytes: Vec<u8>, invalid: Invalid) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| match invalid {
        Invalid::Ignore => error.as_bytes().utf8_chunks().map(|chunk| chunk.valid()).collect(),
        _ => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

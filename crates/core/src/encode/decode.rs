//! Decode: ids to bytes and to text. An id gives the bytes it stands for, a special token its own text.
//!
//! Every id has a slot of 16 bytes: up to 15 bytes of the token, and its length. So a token is copied by one
//! load and one store of 16 bytes, whatever its length; the next token overwrites what was too much. Longer
//! tokens are fetched from where the tokenizer keeps them.
//!
//! Cost: 1.3 ns per id, and 0.6 more where the length must be known first. The slots take 16 bytes per id,
//! 1.6 MB for cl100k_base, and are filled when ids are first decoded, in a millisecond. When it loses: where most
//! tokens are longer than 15 bytes, each costs a copy of its own.
//!
//! Ids need not end where characters do, so a sequence of ids may decode to bytes that are no text; the
//! strict form says where, the lossy form puts U+FFFD there.

use std::mem::MaybeUninit;

use crate::tokenizer::{DecodeSlot, SHORT};
use crate::{Error, Result, Tokenizer};

/// So many ids are decoded between two looks at the room there is.
const PART: usize = 1 << 10;

impl Tokenizer {
    /// The bytes of all ids, joined.
    pub fn decode_bytes(&self, ids: &[u32]) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.decode_onto(ids.iter().copied(), &mut bytes)?;
        bytes.shrink_to_fit();
        Ok(bytes)
    }

    /// The bytes of all ids, appended. An unknown id leaves what was there before.
    pub fn decode_onto(
        &self,
        mut ids: impl ExactSizeIterator<Item = u32>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let slots = self.slots();
        let (start, count) = (bytes.len(), ids.len());
        while ids.len() > 0 {
            // Room for so many slots, so that nothing needs to be asked about it in the loop.
            let part = PART.min(ids.len());
            bytes.reserve(part * size_of::<DecodeSlot>());
            let mut end = bytes.len();
            let mut odd = None;
            for id in ids.by_ref().take(part) {
                match slots.get(id as usize) {
                    Some(slot) if slot[SHORT] > 0 => {
                        // SAFETY: no slot moves `end` by more than its own size, and there is room for all.
                        unsafe { bytes.as_mut_ptr().add(end).cast::<DecodeSlot>().write(*slot) };
                        end += slot[SHORT] as usize;
                    }
                    _ => {
                        odd = Some(id);
                        break;
                    }
                }
            }
            // SAFETY: all before `end` has been filled.
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

    /// The text of all ids; an error where they are not UTF-8.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        String::from_utf8(self.decode_bytes(ids)?)
            .map_err(|error| Error::NotUtf8 { at: error.utf8_error().valid_up_to() })
    }

    /// How many bytes the ids stand for.
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

    /// Writes the bytes of all ids, and says how many there are. It ends before an id that does not fit,
    /// which cannot be if `out` is as long as [`Tokenizer::decoded_len`] says and the ids are the same.
    pub fn decode_into(
        &self,
        mut ids: impl ExactSizeIterator<Item = u32>,
        out: &mut [MaybeUninit<u8>],
    ) -> Result<usize> {
        let slots = self.slots();
        let count = ids.len();
        let mut end = 0;
        loop {
            // So many slots fit for sure, so that nothing needs to be asked about room in the loop.
            let fit = (out.len() - end) / size_of::<DecodeSlot>();
            let mut odd = None;
            for id in ids.by_ref().take(fit) {
                match slots.get(id as usize) {
                    Some(slot) if slot[SHORT] > 0 => {
                        // SAFETY: no slot moves `end` by more than its own size, and `fit` of them fit.
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

    /// The text of all ids, and the byte at which each begins.
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

    /// The text of all ids, and the character at which each begins. A token that begins inside a character
    /// has that character's place, as in tiktoken.
    pub fn decode_with_offsets(&self, ids: &[u32]) -> Result<(String, Vec<usize>)> {
        let (text, mut starts) = self.decode_with_byte_offsets(ids)?;
        let (mut before, mut begun) = (0, 0);
        for start in &mut starts {
            // Characters that have begun before the token.
            begun += text.as_bytes()[before..*start].iter().filter(|&&byte| byte as i8 >= -0x40).count();
            before = *start;
            *start = begun - usize::from(!text.is_char_boundary(before));
        }
        Ok((text, starts))
    }
}

/// Text with U+FFFD in place of what is not UTF-8; copied only where there is such.
pub(super) fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

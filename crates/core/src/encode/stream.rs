//! Stream: ids to text as they arrive, in whole characters.
//!
//! A model yields one token at a time, and a token may end inside a character. An incomplete character, three
//! bytes at most, is held back until the rest arrives. All returned texts joined equal the text of all ids
//! decoded at once.
//!
//! Cost: that of decoding, and one validation of each byte.

use super::decode::lossy;
use crate::{Error, Result, Tokenizer};

/// A decoder for ids that arrive one at a time.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Replace invalid UTF-8 by U+FFFD instead of returning an error.
    pub lossy: bool,
    /// Leave out special tokens.
    pub skip_special: bool,
    /// The bytes of an incomplete character.
    held: Vec<u8>,
    /// The number of bytes that have become text.
    passed: usize,
    /// The place in the text, for the decoder of a pipeline.
    place: Place,
}

/// What the decoder of a pipeline needs to know of the text before.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Whether a token came before.
    follows: bool,
    /// Whether tokens keep the space that they begin with.
    begun: bool,
    /// Whether text came before that is not removed, and how many spaces were removed before it.
    has_text: bool,
    stripped: usize,
    /// Spaces that are text only if something follows them.
    trailing: usize,
}

impl Stream {
    pub fn new(lossy: bool, skip_special: bool) -> Stream {
        Stream { lossy, skip_special, held: Vec::new(), passed: 0, place: Place::default() }
    }

    /// Returns the bytes that wait for the rest of their character.
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// Returns the text that the next ids complete. After an error nothing has changed.
    pub fn push(&mut self, tokenizer: &Tokenizer, ids: &[u32]) -> Result<String> {
        let decoder = tokenizer.pipeline().map(|pipeline| &pipeline.decoder);
        let mut place = self.place;
        let mut bytes = self.held.clone();
        bytes.resize(bytes.len() + std::mem::take(&mut place.trailing), b' ');
        for (at, &id) in ids.iter().enumerate() {
            let token = tokenizer.bytes_or_special(id).ok_or(Error::UnknownId { id, at })?;
            if !(self.skip_special && tokenizer.is_special(id)) {
                if let Some(decoder) = decoder {
                    match place.follows {
                        false => bytes.extend_from_slice(decoder.before_first(token)),
                        true => bytes.extend(decoder.spaced.then_some(b' ')),
                    }
                }
                bytes.extend_from_slice(tokenizer.decoded_token(id, token, &mut place.begun));
                place.follows = true;
            }
        }
        if let Some(decoder) = decoder {
            while !place.has_text && place.stripped < decoder.strip_left && bytes.first() == Some(&b' ') {
                bytes.remove(0);
                place.stripped += 1;
            }
            let spaces = bytes.iter().rev().take(decoder.strip_right).take_while(|&&byte| byte == b' ');
            place.trailing = spaces.count();
            bytes.truncate(bytes.len() - place.trailing);
            place.has_text |= !bytes.is_empty();
        }
        let mut invalid = 0;
        let whole = loop {
            // Everything before `invalid` is known to be text or to be replaced.
            match simdutf8::compat::from_utf8(&bytes[invalid..]) {
                Ok(_) => break bytes.len(),
                Err(error) => match error.error_len() {
                    None => break invalid + error.valid_up_to(),
                    Some(length) if self.lossy => invalid += error.valid_up_to() + length,
                    Some(_) => return Err(Error::NotUtf8 { at: self.passed + error.valid_up_to() }),
                },
            }
        };
        self.held = bytes.split_off(whole);
        self.passed += whole;
        self.place = place;
        Ok(lossy(bytes))
    }

    /// Ends the stream: an error, or U+FFFD, if a character is incomplete. Afterwards the stream is as new.
    pub fn finish(&mut self) -> Result<&'static str> {
        let at = std::mem::take(&mut self.passed);
        self.place = Place::default();
        let held = std::mem::take(&mut self.held);
        match (held.is_empty(), self.lossy) {
            (true, _) => Ok(""),
            (false, true) => Ok("\u{fffd}"),
            (false, false) => Err(Error::NotUtf8 { at }),
        }
    }
}

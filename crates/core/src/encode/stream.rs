//! Stream: ids to text as they arrive, in whole characters.
//!
//! A model yields one token at a time, and a token may end inside a character. An incomplete character, three
//! bytes at most, is held back until the rest arrives. All returned texts joined equal the text of all ids
//! decoded at once.
//!
//! Cost: that of decoding, and one validation of each byte.

use super::decode::{Invalid, to_text};
use crate::{Error, Result, Tokenizer};

/// A decoder for ids that arrive one at a time.
#[derive(Clone, Debug)]
pub struct Stream {
    /// What to do with bytes that are not UTF-8.
    pub invalid: Invalid,
    /// Leave out special tokens.
    pub skip_special: bool,
    state: StreamState,
}

/// What the decoder of a pipeline needs to know of the text before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Whether a token came before.
    pub follows: bool,
    /// Whether tokens keep the space that they begin with.
    pub begun: bool,
    /// Whether text came before that is not removed, and how many spaces were removed before it.
    pub has_text: bool,
    pub stripped: usize,
    /// Spaces that are text only if something follows them.
    pub trailing: usize,
}

/// What a stream has taken in and not yet returned, to be saved and restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamState {
    /// The bytes of an incomplete character.
    pub held: Vec<u8>,
    /// The number of bytes that have become text.
    pub passed: usize,
    pub place: Place,
}

impl Stream {
    pub fn new(invalid: Invalid, skip_special: bool) -> Stream {
        Stream { invalid, skip_special, state: StreamState::default() }
    }

    /// Returns the bytes that wait for the rest of their character.
    pub fn held(&self) -> &[u8] {
        &self.state.held
    }

    pub fn state(&self) -> &StreamState {
        &self.state
    }

    /// Continues from a state that [`Stream::state`] returned.
    pub fn restore(&mut self, state: StreamState) {
        self.state = state;
    }

    /// Returns the text that the next ids complete. After an error nothing has changed.
    pub fn push(&mut self, tokenizer: &Tokenizer, ids: &[u32]) -> Result<String> {
        let decoder = tokenizer.pipeline().map(|pipeline| &pipeline.decoder);
        let mut place = self.state.place;
        let mut bytes = self.state.held.clone();
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
            // Everything before `invalid` is known to be text, to be replaced or to be left out.
            match simdutf8::compat::from_utf8(&bytes[invalid..]) {
                Ok(_) => break bytes.len(),
                Err(error) => match error.error_len() {
                    None => break invalid + error.valid_up_to(),
                    Some(_) if self.invalid == Invalid::Refuse => {
                        return Err(Error::NotUtf8 { at: self.state.passed + error.valid_up_to() });
                    }
                    Some(length) => invalid += error.valid_up_to() + length,
                },
            }
        };
        self.state.held = bytes.split_off(whole);
        self.state.passed += whole;
        self.state.place = place;
        Ok(to_text(bytes, self.invalid))
    }

    /// Ends the stream: an error, U+FFFD or nothing if a character is incomplete. Afterwards the stream is as new.
    pub fn finish(&mut self) -> Result<&'static str> {
        let StreamState { held, passed, .. } = std::mem::take(&mut self.state);
        match self.invalid {
            _ if held.is_empty() => Ok(""),
            Invalid::Refuse => Err(Error::NotUtf8 { at: passed }),
            Invalid::Replace => Ok("\u{fffd}"),
            Invalid::Ignore => Ok(""),
        }
    }
}

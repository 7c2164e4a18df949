//! Decode stages: ids to text for tokenizers with a pipeline.
//!
//! Tokens are joined, and what the encoder has put around the text is removed again. Byte tokens form
//! characters only with each other; how many U+FFFD stand for bytes that form none is up to the library that
//! defined the tokenizer.
//!
//! Cost: a look-up and a copy per id; only plain decoders take the faster path of `decode.rs`.

use crate::tokenizer::{ByteRuns, Pipeline};
use crate::{Error, Result, Tokenizer};

impl Tokenizer {
    /// Whether ids must be decoded by [`Tokenizer::decode_whole`]: joined tokens are not the text.
    pub fn decodes_whole_texts(&self) -> bool {
        self.pipeline().is_some_and(|pipeline| !pipeline.decoder.is_plain())
    }

    /// Returns the bytes of the text of all ids, with invalid UTF-8 in it, or with U+FFFD in its place if
    /// `lossy`; without special tokens if `skip_special`.
    pub fn decode_whole(&self, ids: &[u32], lossy: bool, skip_special: bool) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut run = Vec::new();
        let mut tokens = 0;
        let mut begun = false;
        for (at, &id) in ids.iter().enumerate() {
            let token = self.bytes_or_special(id).ok_or(Error::UnknownId { id, at })?;
            if skip_special && self.is_special(id) {
                continue;
            }
            let pipeline = self.pipeline();
            if lossy && pipeline.is_some_and(|pipeline| pipeline.is_byte_token(id)) {
                run.extend_from_slice(token);
                begun = true;
                continue;
            }
            flush(pipeline, &mut run, &mut bytes);
            if let Some(Pipeline { decoder, .. }) = pipeline {
                match tokens {
                    0 => bytes.extend_from_slice(decoder.before_first(token)),
                    _ => bytes.extend(decoder.spaced.then_some(b' ')),
                }
            }
            bytes.extend_from_slice(self.decoded_token(id, token, &mut begun));
            tokens += 1;
        }
        flush(self.pipeline(), &mut run, &mut bytes);
        if let Some(pipeline) = self.pipeline() {
            pipeline.decoder.trim(&mut bytes);
        }
        Ok(bytes)
    }
}

impl Tokenizer {
    /// Returns what a token adds to a text, and records whether the text has `begun`. Only tokens of text lose a
    /// space at its beginning.
    pub(super) fn decoded_token<'a>(&self, id: u32, token: &'a [u8], begun: &mut bool) -> &'a [u8] {
        let Some(pipeline) = self.pipeline() else { return token };
        if self.is_special(id) || pipeline.is_byte_token(id) || pipeline.unknown == Some(id) {
            *begun = true;
        }
        pipeline.decoder.at_beginning(token, begun)
    }
}

/// Appends the characters of a run of byte tokens.
fn flush(pipeline: Option<&Pipeline>, run: &mut Vec<u8>, bytes: &mut Vec<u8>) {
    const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();
    match pipeline.map(|pipeline| pipeline.decoder.byte_runs) {
        _ if std::str::from_utf8(run).is_ok() => bytes.append(run),
        Some(ByteRuns::Whole) => run.drain(..).for_each(|_| bytes.extend_from_slice(REPLACEMENT)),
        _ => {
            for chunk in run.utf8_chunks() {
                bytes.extend_from_slice(chunk.valid().as_bytes());
                chunk.invalid().iter().for_each(|_| bytes.extend_from_slice(REPLACEMENT));
            }
            run.clear();
        }
    }
}

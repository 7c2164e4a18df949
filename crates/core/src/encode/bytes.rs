//! Bytes to ids, whether or not they are UTF-8.
//!
//! Bytes that are valid text have the ids of the text. In others, a byte that is not valid UTF-8 is a pre-token, and
//! the text on either side of it is split independently: the rule by which corpora are counted and encoded, so that
//! a file has the same ids in memory. Decoding the ids gives the bytes again.
//!
//! Cost: that of the text, and a look-up for each byte that is not part of it.

use super::Options;
use crate::{Error, Progress, Result, Tokenizer};

impl Tokenizer {
    /// Encodes bytes and appends the ids; on an error nothing is appended. The tokenizer must not have a pipeline,
    /// whose stages are defined for text only.
    ///
    /// Special tokens are valid text, so none reaches across an invalid byte.
    pub fn encode_bytes_with(
        &self,
        bytes: &[u8],
        options: &Options,
        progress: Option<&Progress>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let before = ids.len();
        ids.extend_from_slice(&options.prepend);
        let inside = Options { prepend: Vec::new(), append: Vec::new(), ..options.clone() };
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            // Not what it calls: one more call of that would cost every short text some nanoseconds.
            let encoded = self.encode_with(chunk.valid(), &inside, ids);
            if let Err(error) = progress.map_or(Ok(()), Progress::check).and(encoded) {
                ids.truncate(before);
                return Err(match error {
                    Error::SpecialInText { token, at: within } => {
                        Error::SpecialInText { token, at: at + within }
                    }
                    other => other,
                });
            }
            chunk.invalid().iter().for_each(|byte| self.encode_pretoken(&[*byte], ids));
            at += chunk.valid().len() + chunk.invalid().len();
        }
        ids.extend_from_slice(&options.append);
        Ok(())
    }
}

//! Encode: text to ids and back, with a [`Tokenizer`].
//!
//! ```text
//! text ─special─▶ text between specials ─split─▶ pre-tokens ─cache─▶ ids ─decode─▶ bytes, text
//!                                                       └─pairs─▶ on a cache miss
//! ```
//!
//! A pre-token that is itself a token becomes that token; any other is merged, lowest rank first, leftmost
//! first, exactly as tiktoken does. All calls share the tokenizer, which never changes, and its cache, which
//! affects only speed. The tables that are read here belong to `merge`.
//!
//! | module | what it holds |
//! |---|---|
//! | `text` | the loop over the pre-tokens of a text |
//! | `bytes` | bytes that need not be UTF-8 |
//! | `pipeline` | the stages of tokenizers that other libraries defined |
//! | `special` | the policy on special tokens in text |
//! | `batch` | many documents, or one long one, on several threads |
//! | `counted` | unique pre-tokens with their counts |
//! | `incremental` | text that grows, and prefixes of a text: only what has changed is encoded |
//! | `spans` | the offsets of each token in the text |
//! | `stage_spans` | the same through the stages of a pipeline |
//! | `details` | the same with words, for batches |
//! | `lengths` | the same from the ids of a text, where these tell |
//! | `words` | the pre-tokens of texts, and their counts |
//! | `decode` | ids to bytes and text |
//! | `decode_stages` | the same for tokenizers with a pipeline |
//! | `stream` | ids to text as they arrive, in whole characters |
//! | `widen` | UTF-8 to the fixed-width text of Python |

mod batch;
mod bytes;
mod counted;
mod decode;
mod decode_stages;
mod details;
mod incremental;
mod lengths;
mod pipeline;
mod spans;
mod special;
mod stage_spans;
mod stream;
#[cfg(test)]
mod tests;
mod text;
mod widen;
mod words;

pub use batch::{Batch, Part};
pub use counted::{TokenTotals, token_frequencies, token_totals};
pub use decode::Invalid;
pub use details::Details;
pub use incremental::{Incremental, StreamEncoder};
pub use spans::Spans;
pub use special::{Allowed, Options};
pub use stream::{Place, Stream, StreamState};
pub use widen::{measure, widen};
pub use words::{Pretoken, Stages};

use crate::{Result, Tokenizer};

impl Tokenizer {
    /// Appends the ids of one pre-token: how training starts from a base.
    ///
    /// Panics on a pre-token longer than 4 GiB; the splitter yields none.
    pub fn encode_pretoken(&self, pretoken: &[u8], ids: &mut Vec<u32>) {
        if let Some(pipeline) = self.pipeline() {
            return self.encode_document(pipeline, pretoken, ids);
        }
        match self.id_of(pretoken) {
            Some(id) => ids.push(id),
            None => self.pairs().merge(pretoken, ids),
        }
    }

    /// Encodes text to ids.
    pub fn encode(&self, text: &str, options: &Options) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        self.encode_with(text, options, &mut ids)?;
        Ok(ids)
    }

    /// Encodes text to ids, with special tokens as plain text.
    pub fn encode_ordinary(&self, text: &str) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        self.encode_into(text, &mut ids)?;
        Ok(ids)
    }
}

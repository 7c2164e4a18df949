//! Encode: text to ids and back, with a [`Tokenizer`].
//!
//! ```text
//! text ─special─▶ text between specials ─split─▶ pre-tokens ─cache─▶ ids ─decode─▶ bytes, text
//!                                                        └pre-tokens─▶ where the cache does not know
//! ```
//!
//! A pre-token that is itself a token becomes that token; any other is merged, lowest rank first, leftmost
//! first, exactly as tiktoken does. Calls share the tokenizer, which never changes, and its cache, which
//! changes their speed and nothing else.
//!
//! | module | what it holds |
//! |---|---|
//! | `naive` | the oracle: the same results, slowly and obviously |
//! | `text` | the loop over the pre-tokens of a text |
//! | `cache` | pre-tokens that were encoded before |
//! | `crossings` | where a pre-token falls apart |
//! | `pretokens` | one pre-token to ids, short and long |
//! | `special` | the policy on special tokens in text |
//! | `batch` | many documents, or one long one, on several threads |
//! | `counted` | unique pre-tokens with their counts |
//! | `spans` | where in the text each token stands |
//! | `decode` | ids to bytes and text |
//! | `stream` | the same as they come, in whole characters |
//! | `derive` | ranked tokens to merges |

mod batch;
pub(crate) mod cache;
mod counted;
pub(crate) mod crossings;
pub(crate) mod decode;
pub(crate) mod derive;
pub mod naive;
pub(crate) mod pretokens;
mod spans;
pub(crate) mod special;
mod stream;
#[cfg(test)]
mod tests;
mod text;
mod widen;

pub use batch::{Batch, Part};
pub use counted::{TokenTotals, token_frequencies, token_totals};
pub use spans::Spans;
pub use special::{Allowed, Options};
pub use stream::Stream;
pub use widen::{measure, widen};

use crate::{Result, Tokenizer};

impl Tokenizer {
    /// The ids of one pre-token, appended: the way training starts from a base.
    ///
    /// A pre-token longer than 4 GiB panics; the splitter makes none.
    pub fn encode_pretoken(&self, pretoken: &[u8], ids: &mut Vec<u32>) {
        match self.id_of(pretoken) {
            Some(id) => ids.push(id),
            None => self.pairs().merge(pretoken, ids),
        }
    }

    /// Text to ids.
    pub fn encode(&self, text: &str, options: &Options) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        self.encode_with(text, options, &mut ids)?;
        Ok(ids)
    }

    /// Text to ids, blind to special tokens: what looks like one is encoded as plain text.
    pub fn encode_ordinary(&self, text: &str) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        self.encode_into(text, &mut ids)?;
        Ok(ids)
    }
}

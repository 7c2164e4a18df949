//! Encode: text to ids and back, with a [`Tokenizer`].
//!
//! ```text
//! text ─special─▶ text between specials ─split─▶ pieces ─pieces─▶ ids ─decode─▶ bytes, text
//! ```
//!
//! A piece that is itself a token becomes that token; any other is merged, lowest rank first, leftmost
//! first, exactly as tiktoken does. Nothing is shared between calls but the tokenizer, which never changes.
//!
//! | module | what it holds |
//! |---|---|
//! | `naive` | the oracle: the same results, slowly and obviously |
//! | `pieces` | one piece to ids, short and long |
//! | `derive` | ranked tokens to merges |
//! | `special` | the policy on special tokens in text |
//! | `decode` | ids to bytes and text |

mod decode;
pub(crate) mod derive;
pub mod naive;
pub(crate) mod pieces;
pub(crate) mod special;
#[cfg(test)]
mod tests;

pub use special::Allowed;

use crate::split::Scratch;
use crate::{Result, Tokenizer};

impl Tokenizer {
    /// The ids of one piece, appended: the way training starts from a base.
    ///
    /// A piece longer than 4 GiB panics; the splitter makes none.
    pub fn encode_piece(&self, piece: &[u8], ids: &mut Vec<u32>) {
        match self.id_of(piece) {
            Some(id) => ids.push(id),
            None => self.pairs().merge(piece, ids),
        }
    }

    /// Text to ids, blind to special tokens: what looks like one is encoded as plain text.
    pub fn encode_ordinary(&self, text: &str) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        self.encode_into(text, &mut ids)?;
        Ok(ids)
    }

    /// [`Tokenizer::encode_ordinary`], appended to `ids`.
    pub fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<()> {
        let mut ends = Vec::new();
        self.splitter().split(text, &mut Scratch::default(), &mut ends)?;
        let mut start = 0;
        for end in ends {
            self.encode_piece(&text.as_bytes()[start..end as usize], ids);
            start = end as usize;
        }
        Ok(())
    }
}

//! Lengths: the offsets of the tokens of a text from their lengths in characters, without encoding it again.
//!
//! If every character of a text becomes one character, in order, and each of these is in a token, then the n-th
//! character of the tokens is the n-th of the text. Byte-level BPE is like that, and so are the tokenizers that
//! replace spaces by `▁`; one that also puts a character before the text is off by one from there on, and that
//! character has the offsets of the first, as in `normalize/aligned.rs`. Whether a tokenizer is like that depends on
//! its stages; a normalizer such as NFC is if it leaves the text unchanged.
//!
//! Tokens that need not be spelled in a text as in the vocabulary (added tokens, the unknown token) have no known
//! length. A text with one of them, and every other text whose lengths do not add up, is left to `stage_spans.rs`.
//!
//! Cost: a look-up and an addition per token, and counting the characters of the text.

use super::details::trimmed;
use crate::Tokenizer;
use crate::tokenizer::Length;

impl Tokenizer {
    /// Replaces `spans` by the characters that each id of a text covers, and returns true; or returns false if the
    /// ids do not tell. `ids` are those of the whole text. `trims` as in [`Tokenizer::trimmed`].
    pub fn offsets_of_ids(
        &self,
        text: &str,
        ids: &[u32],
        trims: Option<bool>,
        spans: &mut Vec<(u32, u32)>,
    ) -> bool {
        self.measured(text, ids, trims, spans).is_some()
    }

    fn measured(
        &self,
        text: &str,
        ids: &[u32],
        trims: Option<bool>,
        spans: &mut Vec<(u32, u32)>,
    ) -> Option<()> {
        spans.clear();
        let pipeline = self.pipeline()?;
        let lengths = pipeline.lengths()?;
        if text.is_empty() {
            return ids.is_empty().then_some(());
        }
        // Offsets have 32 bits, of which a length takes one.
        if text.len() > i32::MAX as usize {
            return None;
        }
        let (by_normalizer, first) = pipeline.normalizer.prefix(text)?;
        let prefix = by_normalizer + pipeline.pretokenizer.prefix(first)?;
        let mut chars = 0;
        for &id in ids {
            let length = lengths.get(id as usize).copied().filter(|&length| length != Length::UNKNOWN)?;
            // A token that begins inside a character belongs to the one counted last.
            let start = chars - length.inside().min(chars);
            chars = chars.checked_add(length.chars())?;
            spans.push((start.saturating_sub(prefix), chars.saturating_sub(prefix).max(1)));
        }
        let expected = text.bytes().filter(|byte| byte & 0xc0 != 0x80).count() + prefix as usize;
        if chars as usize != expected {
            return None;
        }
        if let Some(prefixed) = trims {
            let inner = pipeline.inner();
            for (i, (span, &id)) in spans.iter_mut().zip(ids).enumerate() {
                let inner = inner.get(id as usize).copied().unwrap_or_default();
                *span = trimmed(*span, inner.leading, inner.trailing, prefixed, i == 0);
            }
        }
        Some(())
    }
}

//! Details: the ids of a text with all that Hugging Face's `Encoding` knows of each token.
//!
//! The contract: the offsets and words are those of tokenizers 0.23.3, for tokenizers with a pipeline. Words are
//! the pre-tokens and the added tokens of a text, numbered from 0.
//!
//! Cost: that of `stage_spans.rs`. Texts are distributed among threads, which are started for each call.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::Allowed;
use super::stage_spans::{Encoder, char_spans};
use crate::threads::{map, thread_count};
use crate::tokenizer::is_space;
use crate::{Error, Progress, Result, Tokenizer};

/// How much text is worth a thread.
const SHARE: usize = 16 << 10;

/// The tokens of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    pub ids: Vec<u32>,
    /// The characters of the text that each token covers.
    pub chars: Vec<(u32, u32)>,
    /// The number of the pre-token, or added token, that each token is part of.
    pub words: Vec<u32>,
    /// The added tokens, by position, and the text that each was found as.
    pub added: Vec<(u32, String)>,
}

impl Tokenizer {
    /// Encodes a text. An error if the tokenizer has no pipeline.
    pub fn encode_details(&self, text: &str, allowed: &Allowed) -> Result<Details> {
        let Some(pipeline) = self.pipeline() else {
            let reason = "it has no stages, and only tokenizers with stages have words".into();
            return Err(Error::BadTokenizer { reason });
        };
        let mut encoder = Encoder::new(self, pipeline, true);
        encoder.text(text, allowed)?;
        let Encoder { ids, bytes, words, added, .. } = encoder;
        let chars = char_spans(text, &bytes).into_iter().map(|(start, end)| (start as u32, end as u32));
        Ok(Details { ids, chars: chars.collect(), words, added })
    }

    /// Encodes each text. `threads` = 0 means one per core.
    pub fn encode_details_batch(
        &self,
        texts: &[&str],
        allowed: &Allowed,
        threads: usize,
        progress: &Progress,
    ) -> Result<Vec<Details>> {
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        let useful = (bytes / SHARE + 1).min(texts.len().max(1));
        // Asking the system how many cores there are takes longer than a short text.
        let threads = if useful == 1 { 1 } else { thread_count(threads).min(useful) };
        let mut encoded: Vec<Details> = Vec::new();
        if threads == 1 {
            for text in texts {
                progress.check()?;
                encoded.push(self.encode_details(text, allowed)?);
            }
            return Ok(encoded);
        }
        // Threads take some texts at a time, so that the last of them end together.
        let some = (texts.len() / (threads * 8)).clamp(1, 256);
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Vec<Details>)>> = Mutex::default();
        let work = |_: usize| -> Result<()> {
            loop {
                let start = next.fetch_add(some, Relaxed);
                let Some(rest) = texts.get(start..).filter(|rest| !rest.is_empty()) else { return Ok(()) };
                progress.check()?;
                let share = rest.iter().take(some).map(|text| self.encode_details(text, allowed));
                let share = share.collect::<Result<Vec<_>>>()?;
                done.lock().expect("no thread panics with it").push((start, share));
            }
        };
        map(0..threads, work).into_iter().collect::<Result<Vec<()>>>()?;
        let mut done = done.into_inner().expect("no thread panics with it");
        done.sort_unstable_by_key(|&(start, _)| start);
        encoded.extend(done.into_iter().flat_map(|(_, share)| share));
        Ok(encoded)
    }

    /// Returns the offsets without the spaces at the ends of tokens: Hugging Face's `trim_offsets`. A space that
    /// was put before the text (`prefixed`) is not one of them.
    pub fn trimmed(&self, details: &Details, prefixed: bool) -> Vec<(u32, u32)> {
        let inner = self.pipeline().map_or(&[][..], |pipeline| pipeline.inner());
        let mut added = details.added.iter().peekable();
        let spans = details.ids.iter().zip(&details.chars).enumerate().map(|(i, (&id, &(start, end)))| {
            let (leading, trailing) = match added.next_if(|&&(at, _)| at as usize == i) {
                Some((_, found)) => (
                    found.chars().take_while(|&c| is_space(c)).count() as u32,
                    found.chars().rev().take_while(|&c| is_space(c)).count() as u32,
                ),
                None => inner.get(id as usize).map_or((0, 0), |inner| (inner.leading, inner.trailing)),
            };
            trimmed((start, end), leading, trailing, prefixed, i == 0)
        });
        spans.collect()
    }
}

/// Returns the offsets of a token without the spaces that it begins and ends with. One space may have been put
/// before the text (`prefixed`); of several, none was.
#[inline(always)]
pub(super) fn trimmed(
    (start, end): (u32, u32),
    leading: u32,
    trailing: u32,
    prefixed: bool,
    is_first: bool,
) -> (u32, u32) {
    let given = prefixed && leading == 1 && (is_first || start == 0);
    let start = if given { start } else { (start + leading).min(end) };
    (start, if trailing > 0 && end >= trailing { (end - trailing).max(start) } else { end })
}

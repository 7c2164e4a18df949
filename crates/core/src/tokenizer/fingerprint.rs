//! Fingerprint: a name for a tokenizer that equal tokenizers share, and no others.
//!
//! Token files, embeddings and checkpoints store it, so that work that was started with one tokenizer is not
//! continued with another. Cost: one pass of SHA-256 over the vocabulary.

use sha2::{Digest, Sha256};

use crate::Tokenizer;

impl Tokenizer {
    /// Returns the SHA-256 of the pattern, the number of special tokens, the special tokens and the other
    /// tokens, both in the order of their ids; then of the definition of a pipeline.
    pub fn fingerprint(&self) -> String {
        let mut sum = Sha256::new();
        let mut add = |id: u32, bytes: &[u8]| {
            sum.update(id.to_le_bytes());
            sum.update((bytes.len() as u32).to_le_bytes());
            sum.update(bytes);
        };
        add(0, self.splitter().pattern().as_bytes());
        add(self.special_tokens().len() as u32, b"");
        for (token, id) in self.special_tokens() {
            add(*id, token.as_bytes());
        }
        for (token, id) in self.ranks() {
            add(id, token);
        }
        sum.update(self.pipeline().map_or(&[][..], |pipeline| pipeline.digest()));
        hexadecimal(sum)
    }
}

/// Returns the SHA-256 of some bytes in hexadecimal, as tokenizer files end with it.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(Sha256::new_with_prefix(bytes))
}

fn hexadecimal(sum: Sha256) -> String {
    sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

//! Tokens: encodes a corpus to files of ids.
//!
//! ```text
//! corpus ─blocks─▶ encode, on every thread ─ids─▶ put in order ─▶ shards on disk
//! ```
//!
//! Each thread takes the next blocks of text, about a megabyte, and encodes them. A thread whose blocks are
//! next in order writes them, and the following ones that are ready; one that is too far ahead waits. Memory
//! is bounded by the number of threads, whatever the size of a file, a document or a shard, and the files do
//! not depend on the number of threads. A full shard is flushed to disk on a separate thread while the next
//! one grows.
//!
//! Documents are delimited by inputs, records and separators; empty ones are skipped. A shard ends with the
//! first document that fills it, and its `.json` stores the position of the next one: an interrupted run
//! resumes there, and produces the same files.
//!
//! | module | what it holds |
//! |---|---|
//! | `writer` | the consumer of blocks: settings, threads |
//! | `encoded` | blocks to ids and ends of documents |
//! | `in_order` | results of threads, put in the order of the corpus |
//! | `output` | the folder: where shards end |
//! | `shard` | one file of ids and what belongs to it |
//! | `formats` | headers, indices and the width of ids |

mod encoded;
mod formats;
mod in_order;
mod output;
mod shard;
#[cfg(test)]
mod tests;
mod writer;

use std::time::Duration;

use sha2::{Digest, Sha256};

pub use self::formats::{IdWidth, TokenFormat};
pub use self::writer::{TokenSettings, TokenWriter};
use crate::Tokenizer;

/// How often a thread that waits checks whether it should stop.
const PATIENCE: Duration = Duration::from_millis(5);

/// A SHA-256 that equal tokenizers share, and no others: of the pattern, the number of special tokens, these
/// and the other tokens in the order of their ids.
pub fn fingerprint(tokenizer: &Tokenizer) -> String {
    let mut sum = Sha256::new();
    let mut add = |id: u32, bytes: &[u8]| {
        sum.update(id.to_le_bytes());
        sum.update((bytes.len() as u32).to_le_bytes());
        sum.update(bytes);
    };
    add(0, tokenizer.splitter().pattern().as_bytes());
    add(tokenizer.special_tokens().len() as u32, b"");
    for (token, id) in tokenizer.special_tokens() {
        add(*id, token.as_bytes());
    }
    for (token, id) in tokenizer.ranks() {
        add(id, token);
    }
    sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

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
//! On a cluster, parts of the corpus are encoded to pieces, and shards are joined from ranges of pieces: the
//! same files again.
//!
//! | module | what it holds |
//! |---|---|
//! | `writer` | the consumer of blocks: settings, threads |
//! | `encoded` | blocks to ids and ends of documents |
//! | `in_order` | results of threads, put in the order of the corpus |
//! | `output` | where the ids go: to shards or to a piece |
//! | `shards` | the folder: where shards end |
//! | `shard` | one file of ids and what belongs to it |
//! | `piece` | the ids of a part of the corpus |
//! | `join` | shards from pieces |
//! | `formats` | headers, indices and the width of ids |

mod encoded;
mod formats;
mod in_order;
mod join;
mod output;
mod piece;
mod shard;
mod shards;
#[cfg(test)]
mod tests;
mod writer;

use std::time::Duration;

pub use self::formats::{IdWidth, TokenFormat};
pub use self::join::{Ends, Ids, PieceRange, Target, join_pieces};
pub use self::shard::Tally;
pub use self::writer::{TokenSettings, TokenWriter};

/// How often a thread that waits checks whether it should stop.
const PATIENCE: Duration = Duration::from_millis(5);

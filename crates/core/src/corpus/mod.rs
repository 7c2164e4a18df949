//! Corpus: text from files, streams and memory, in blocks that can be split independently of each other.
//!
//! One reader hands out blocks of about a megabyte, in order, and any number of threads take the next one.
//! Memory is bounded by threads × block size, whatever the size of a file or of a document, and by the
//! longest record, which has a limit.
//!
//! ```text
//! file ─▶ input: decompressed, capped ─▶ text:    blocks between safe cuts ─▶ workers
//!                                     └▶ records: blocks of whole records  ─▶ workers decode them
//! ```
//!
//! The format of a file follows from its name, and its compression from its first bytes.
//!
//! | module | what it holds |
//! |---|---|
//! | `feed` | the driver: files, streams, ranges and documents become blocks for a consumer |
//! | `documents` | the consumer that returns the documents themselves |
//! | `sources` | the block sources: one stream, many files, documents in memory |
//! | `block` | a block of text, and positions in a corpus |
//! | `text`, `records` | how plain text, and JSON and CSV, become blocks |
//! | `record_ends` | where records begin and end |
//! | `json`, `csv` | the text of one record |
//! | `input` | the bytes of a file or stream, decompressed |
//! | `cutters` | special tokens and separators |
//! | `shards` | ranges of a large file that can be counted independently |
//! | `reading` | settings of reading, and what was skipped |
//! | `binary` | whether a file is text at all |
//! | `first_error` | which of the errors on several threads is reported |

mod binary;
mod block;
#[cfg(test)]
mod changing_tests;
mod csv;
mod cutters;
mod documents;
mod feed;
mod first_error;
mod input;
mod json;
mod reading;
mod record_ends;
mod records;
mod shards;
mod sources;
#[cfg(test)]
mod tests;
mod text;

pub use self::binary::{Binary, judge_beginning, judge_file};
pub use self::block::{BLOCK, Block, BlockPart, LONGEST, Position};
pub use self::cutters::{Boundary, CutterMatch, Cutters};
pub use self::documents::{DocumentBatches, Documents};
pub use self::feed::{Consumer, Feed};
pub(crate) use self::first_error::FirstError;
use self::reading::FileFormat;
pub use self::reading::{OnError, ReadContext, Reading, Skipped, Skips};
pub use self::shards::{ShardCut, shard_cuts};
pub use self::sources::BlockSource;

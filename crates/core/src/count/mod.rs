//! Count: how often each pre-token occurs. Exact, in parallel, in 64 bits.
//!
//! Each thread takes the next block of text, splits it and counts into its own table; the tables are added up
//! at the end. The result does not depend on where blocks were cut or which thread counted them.
//!
//! Under a memory limit (`spill`), full tables are sorted and written to disk as *runs*, and the runs are
//! merged at the end, pre-token by pre-token (`merge`). The number of unique pre-tokens is then limited only
//! by the disk, and text whose counts were written need not be counted again.
//!
//! | module | what it holds |
//! |---|---|
//! | `settings` | what decides which pre-tokens a corpus has |
//! | `counter` | counting on all threads |
//! | `table` | pre-token → count, for one thread |
//! | `sorted` | the pre-tokens of a table in order |
//! | `spill` | the work folder: runs and their log |
//! | `merge` | sorted counts added up |
//! | `counts` | the result in memory |
//! | `file` | the result in a `.counts` file |
//! | `source` | either of the two, for whatever goes through all pre-tokens |
//! | `prepared` | pre-tokens cut into parts for training on characters |

mod counter;
mod counts;
mod file;
mod first_seen;
mod merge;
mod prepared;
mod settings;
mod sorted;
mod source;
mod spill;
mod table;
#[cfg(test)]
mod tests;

pub use self::counter::Counter;
pub use self::counts::Counts;
pub use self::file::{CountsReader, CountsTotals, CountsWriter, top};
pub use self::merge::{merge_files, part_of};
pub use self::prepared::{
    Alphabet, CharacterCounts, PartBuffers, Preparation, SPACE_MARK, SUFFIX_MARK, WordMark,
};
pub use self::settings::{CountSettings, SettingsText};
pub(crate) use self::source::PretokenBatch;
pub use self::source::Source;
pub use self::spill::{FolderLock, Spill};

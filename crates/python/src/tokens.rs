//! Writing token files.

use std::path::PathBuf;

use merganser_core::Progress;
use merganser_core::corpus::Position;
use merganser_core::tokens::{self, IdWidth, Tally, TokenFormat, TokenSettings};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use crate::errors::raise;
use crate::feed::Fed;
use crate::interrupt::{run, run_interruptible};
use crate::reading::{Reading, SkippedTuple};
use crate::tokenizer::Tokenizer;

/// Return a SHA-256 that two tokenizers share if and only if they are equal.
#[pyfunction]
pub fn fingerprint(py: Python<'_>, tokenizer: &Tokenizer) -> PyResult<String> {
    run(py, || Ok(tokenizer.0.fingerprint()))
}

/// Encodes a corpus that is added input by input, and writes the ids to a folder of shards.
///
/// Parameters
/// ----------
/// tokenizer
///     The tokenizer to encode with.
/// folder
///     An existing folder, which is locked.
/// format
///     "bin", "npy", "llmc" or "megatron".
/// dtype
///     "auto", "uint16" or "uint32".
/// separator
///     The string between documents; it is not encoded.
/// prepend, append
///     Ids to put before and after each document.
/// allowed_special
///     Special tokens that are encoded as such; all others are plain text.
/// shard_tokens
///     A shard ends with the document that brings it to this many tokens. None writes one piece instead, in
///     "bin", to be joined with others by `join_pieces`.
/// threads
///     The number of threads; 0 for one per core.
/// progress
///     Called with "encode", the bytes read, and the total or 0.
///
/// Raises
/// ------
/// SettingsError
///     If a setting is invalid, or ids do not fit in `dtype`.
/// TokensError
///     If another process writes to the folder.
#[pyclass(frozen, module = "merganser._core")]
pub struct TokenWriter(Fed<tokens::TokenWriter>);

#[pymethods]
impl TokenWriter {
    /// `dtype` is "auto", "uint16" or "uint32".
    #[new]
    #[pyo3(signature = (
        tokenizer, folder, *, format, dtype, separator, prepend, append, allowed_special, shard_tokens,
        threads, progress
    ))]
    #[allow(clippy::too_many_arguments)] // the settings, by name
    fn new(
        py: Python<'_>,
        tokenizer: &Tokenizer,
        folder: PathBuf,
        format: &str,
        dtype: &str,
        separator: Option<String>,
        prepend: Option<u32>,
        append: Option<u32>,
        allowed_special: Vec<String>,
        shard_tokens: Option<u64>,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let width = if dtype == "auto" { IdWidth::least(&tokenizer.0) } else { id_width(py, dtype)? };
        let settings = TokenSettings {
            format: run(py, || TokenFormat::named(format))?,
            width,
            separator,
            prepend,
            append,
            allowed_special,
            shard_tokens,
            threads,
        };
        let tokenizer = tokenizer.0.clone();
        let writer = run_interruptible(py, None, &Progress::new(), |progress| {
            tokens::TokenWriter::new(tokenizer, settings, &folder, progress)
        })?;
        Ok(TokenWriter(Fed::new(writer, progress, "writer")))
    }

    /// Resume with this shard, at the position where the previous one ended.
    fn start_at(&self, py: Python<'_>, shard: u64, part: u64, offset: u64, within: u64) -> PyResult<()> {
        self.0.with(py, |writer| writer.start_at(shard, Position { part, offset, within }))
    }

    /// Encode documents in memory; none is copied.
    fn add_documents(&self, py: Python<'_>, documents: &Bound<'_, PyList>) -> PyResult<()> {
        self.0.add_documents(py, documents)
    }

    /// Encode files. The format of each follows from its name, its compression from its first bytes.
    fn add_files(&self, py: Python<'_>, paths: Vec<PathBuf>, reading: &Reading) -> PyResult<()> {
        self.0.add_files(py, &paths, reading)
    }

    /// Encode a range of a plain text or JSON lines file that `shard_cuts` has found.
    fn add_range(
        &self,
        py: Python<'_>,
        path: PathBuf,
        start: u64,
        end: u64,
        in_document: bool,
        reading: &Reading,
    ) -> PyResult<()> {
        self.0.add_range(py, &path, start, end, in_document, reading)
    }

    /// Encode a stream, given as an iterator of chunks. Its format follows from `name`.
    fn add_stream(
        &self,
        py: Python<'_>,
        chunks: &Bound<'_, PyIterator>,
        name: &str,
        reading: &Reading,
    ) -> PyResult<()> {
        self.0.add_stream(py, chunks, name, reading)
    }

    /// Refuse records, and stretches of text without a safe cut, that are longer than this.
    fn limit_records(&self, py: Python<'_>, bytes: u64) -> PyResult<()> {
        self.0.limit_records(py, bytes)
    }

    /// Return how many records and files were skipped, and why the first of them were.
    fn skipped(&self, py: Python<'_>) -> PyResult<SkippedTuple> {
        self.0.skipped(py)
    }

    /// Remove the unfinished shard and unlock the folder.
    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        self.0.abandon(py)
    }

    /// Write the last shard, or the files of the piece: `piece.ids`, `piece.ends` and `piece.json`.
    ///
    /// Raises
    /// ------
    /// CorpusError
    ///     If there was no text.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.0.finish(py, |writer, progress| writer.finish(progress))
    }
}

fn id_width(py: Python<'_>, dtype: &str) -> PyResult<IdWidth> {
    match dtype {
        "uint16" => Ok(IdWidth::Two),
        "uint32" => Ok(IdWidth::Four),
        other => {
            let message = format!("dtype must be \"auto\", \"uint16\" or \"uint32\", got {other:?}");
            Err(raise(py, "SettingsError", message))
        }
    }
}

/// The file, the block it begins with, the checksums of its blocks, and the range in the piece.
type RangeTuple = (PathBuf, u64, Vec<u32>, u64, u64);

fn piece_range((path, first_block, sums, start, end): RangeTuple) -> tokens::PieceRange {
    tokens::PieceRange { path, first_block, sums, start, end }
}

/// A range of a piece's ids, or an id that belongs to no piece.
#[derive(FromPyObject)]
pub enum Ids {
    Range(RangeTuple),
    One(u32),
}

/// A range of a piece's ends with what to add to them, or an end that belongs to no piece.
#[derive(FromPyObject)]
pub enum Ends {
    Range((RangeTuple, i64)),
    One(u64),
}

/// Write a shard from ranges of pieces.
///
/// Parameters
/// ----------
/// folder
///     An existing folder.
/// number
///     The number of the shard.
/// format
///     "bin", "npy", "llmc" or "megatron".
/// dtype
///     "uint16" or "uint32".
/// ids
///     The ids in order: ranges (file, the block that the file begins with, the checksums of its blocks,
///     start and end in the piece) or single ids.
/// ends
///     The ends of documents in order: ranges with what to add to the tokens of the piece, or single ends.
/// text
///     The number of bytes of text in the shard, and of those that are not valid UTF-8.
/// next
///     Where the next shard begins: part, offset and within.
///
/// Raises
/// ------
/// TokensError
///     If a block does not match its checksum.
#[pyfunction]
#[pyo3(signature = (folder, number, *, format, dtype, ids, ends, text, next))]
#[allow(clippy::too_many_arguments)] // by name
pub fn join_pieces(
    py: Python<'_>,
    folder: PathBuf,
    number: u64,
    format: &str,
    dtype: &str,
    ids: Vec<Ids>,
    ends: Vec<Ends>,
    text: (u64, u64),
    next: (u64, u64, u64),
) -> PyResult<()> {
    let format = run(py, || TokenFormat::named(format))?;
    let width = id_width(py, dtype)?;
    let ids: Vec<_> = ids
        .into_iter()
        .map(|part| match part {
            Ids::Range(range) => tokens::Ids::Range(piece_range(range)),
            Ids::One(id) => tokens::Ids::One(id),
        })
        .collect();
    let ends: Vec<_> = ends
        .into_iter()
        .map(|part| match part {
            Ends::Range((range, add)) => tokens::Ends::Range(piece_range(range), add),
            Ends::One(end) => tokens::Ends::One(end),
        })
        .collect();
    let text = Tally { tokens: 0, bytes: text.0, invalid_bytes: text.1 };
    let next = Position { part: next.0, offset: next.1, within: next.2 };
    run_interruptible(py, None, &Progress::new(), |progress| {
        let target = tokens::Target { folder: &folder, number, format, width };
        tokens::join_pieces(&target, &ids, &ends, text, next, progress)
    })
}

//! Everything that can go wrong, one variant per failure. A message says what is wrong, then what to do.
//!
//! Messages name the arguments of the Python API; the command line translates them to its options.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Error)]
pub enum Error {
    // ── corpus ──────────────────────────────────────────────────────────────
    /// A file could not be opened or read.
    #[error("cannot read {path}: {source}{}", read_remedy(source))]
    Read { path: PathBuf, source: io::Error },

    /// A file was written to while it was read, so what was read is neither its old nor its new text.
    #[error(
        "{path} changed while it was read; wait until nothing writes to it and run it again, or keep what was \
         read with on_error=\"skip\" (--on-error skip)"
    )]
    Changed { path: PathBuf },

    /// Compressed data cannot be decompressed; `offset` counts the bytes that were decompressed before.
    #[error(
        "{path} is corrupt after byte {offset} of the decompressed text: {reason}; get a fresh copy, \
         or skip the rest of the file with on_error=\"skip\" (--on-error skip)"
    )]
    Damaged { path: PathBuf, offset: u64, reason: String },

    /// Compressed data grows by more than the allowed ratio.
    #[error(
        "{path} decompresses to more than {max_ratio} times its size, as a decompression bomb does; \
         if this is expected, raise max_ratio (--max-ratio)"
    )]
    Bomb { path: PathBuf, max_ratio: u64 },

    /// Compressed data grows beyond the allowed size.
    #[error(
        "{path} decompresses to more than {max_size} bytes; if this is expected, raise max_size (--max-size)"
    )]
    TooLarge { path: PathBuf, max_size: u64 },

    /// Decompression needs more memory than allowed.
    #[error(
        "{path} needs more than {max_window} bytes of memory to decompress; raise max_window (--max-window)"
    )]
    WideWindow { path: PathBuf, max_window: u64 },

    /// One record is malformed; the next one can be read.
    #[error(
        "{path}, line {line}: {reason}; fix it, or skip such records with on_error=\"skip\" (--on-error skip)"
    )]
    BadRecord { path: PathBuf, line: u64, reason: String },

    /// The end of a record cannot be determined, so the rest of the file is lost.
    #[error(
        "{path}, line {line}: {reason}; fix it, or skip the rest of the file with on_error=\"skip\" \
         (--on-error skip)"
    )]
    BrokenFile { path: PathBuf, line: u64, reason: String },

    /// A stretch of text has no safe cut, so that it would have to be in memory as a whole.
    #[error(
        "{path}: {longest} bytes from byte {offset} on offer no place to cut, because they are one pre-token or the \
         pattern must see the whole document; set a separator that occurs inside, raise max_record (--max-record) \
         or memory (--memory), or skip the rest of the file with on_error=\"skip\" (--on-error skip)"
    )]
    LongStretch { path: PathBuf, offset: u64, longest: usize },

    /// A table lacks the column that holds the text.
    #[error(
        "{path} has no column {column:?}, only {}; pass the name of the text column as text_key (--text-key)",
        columns.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
    )]
    NoColumn { path: PathBuf, column: String, columns: Vec<String> },

    /// A file could not be written.
    #[error("cannot write {path}: {source}; nothing was left half-written; {}", remedy(source))]
    Write { path: PathBuf, source: io::Error },

    /// The corpus contains no text.
    #[error("the corpus contains no text; check the path, the glob and the separator")]
    EmptyCorpus,

    /// An interrupted run was to resume at an offset that the corpus does not reach.
    #[error(
        "the corpus ends before the offset where the last run was interrupted; pass the same corpus, \
         or start over with resume=False, or overwrite=True for token files"
    )]
    CorpusEndsEarly,

    /// One document, or one pre-token, is longer than a 32-bit offset can address.
    #[error(
        "a {what} must be shorter than 4 GiB, got one of {bytes} bytes; set a separator that occurs inside it"
    )]
    TooLong { what: &'static str, bytes: u64 },

    // ── split ───────────────────────────────────────────────────────────────
    /// A bare word is not the name of a preset; `remedy` lists the presets and the most similar ones.
    #[error("unknown split pattern {name:?}; {remedy}")]
    UnknownPreset { name: String, remedy: String },

    /// The pattern is not a regular expression that can split text.
    #[error("the pattern {pattern:?} cannot be used: {reason}")]
    BadPattern { pattern: String, reason: String },

    /// The pattern examined the same text too often.
    #[error(
        "the pattern {pattern:?} rescans the same text too often near byte {at}; rewrite it so that a match \
         consumes the text it examines, or shorten the documents"
    )]
    StepLimit { pattern: String, at: usize },

    /// The pattern matched the empty string.
    #[error(
        "the pattern {pattern:?} matched the empty string at byte {at}; every alternative must consume at \
         least one character"
    )]
    EmptyMatch { pattern: String, at: usize },

    // ── settings ────────────────────────────────────────────────────────────
    /// A special token is empty or given twice.
    #[error("the special token {token:?} {reason}")]
    BadSpecial { token: String, reason: &'static str },

    /// A setting is out of range or contradicts another.
    #[error("{reason}")]
    BadSetting { reason: String },

    /// The vocabulary has no room for the bytes and the special tokens.
    #[error("vocab_size must be at least {least} to hold the bytes and the special tokens, got {asked}")]
    VocabTooSmall { asked: usize, least: usize },

    // ── counts ──────────────────────────────────────────────────────────────
    /// Counts with different settings were combined or trained on.
    #[error(
        "counts with {what} {theirs} cannot be combined with {what} {ours}; count again with the same settings"
    )]
    UnlikeCounts { what: &'static str, ours: String, theirs: String },

    /// A count or a sum of counts does not fit in 64 bits.
    #[error("the counts add up to more than 2^64 - 1; divide them by a common factor")]
    CountOverflow,

    /// A file is not a counts file, or it is corrupt.
    #[error("{path} is not a usable counts file: {reason}; count the corpus again")]
    BadCountsFile { path: PathBuf, reason: String },

    /// A file of spilled counts has changed since it was written.
    #[error(
        "{path}, which holds the counts of an earlier run, is corrupt: {reason}; start over with --no-resume \
         (resume=False)"
    )]
    BadRun { path: PathBuf, reason: String },

    // ── tokenizer ───────────────────────────────────────────────────────────
    /// Tokens, merges or ids do not form a tokenizer.
    #[error("not a valid tokenizer: {reason}")]
    BadTokenizer { reason: String },

    /// A tokenizer file is not in its format.
    #[error("is corrupt: {what}; get a fresh copy, or train again")]
    BadTokenizerFile { what: String },

    /// A text contains a special token that is not allowed there.
    #[error(
        "the text contains the special token {token:?} at byte {at}; pass allowed_special to encode it as that \
         token, or disallowed_special=() to encode it as plain text"
    )]
    SpecialInText { token: String, at: usize },

    /// Bytes are not exactly one token.
    #[error(
        "b\"{}\" is not a token of this tokenizer; call encode to get the ids of a text, or check with \
         `token in tokenizer` first",
        token.escape_ascii()
    )]
    UnknownToken { token: Vec<u8> },

    /// The tokenizer has no token with this id.
    #[error("{}", unknown_id(id, *at))]
    UnknownId { id: u32, at: usize },

    /// The decoded bytes are not UTF-8.
    #[error(
        "the tokens do not decode to valid UTF-8 (byte {at}); use decode_bytes, or decode(ids, errors=\"replace\")"
    )]
    NotUtf8 { at: usize },

    // ── checkpoints ─────────────────────────────────────────────────────────
    /// The merge log in a work folder belongs to a different training.
    #[error("{path} cannot be resumed: {reason}; choose another work_dir, or start over with resume=False")]
    OtherCheckpoint { path: PathBuf, reason: String },

    /// Another process trains in the same work folder.
    #[error(
        "{path} is locked by another training process; wait for it to finish, or choose another work_dir"
    )]
    BusyCheckpoint { path: PathBuf },

    // ── token files ─────────────────────────────────────────────────────────
    /// A format has no room for the number of tokens.
    #[error(
        "{what} holds at most 2^31 - 1 tokens, got {tokens}; make smaller shards, set a separator that splits \
         long documents, or choose another format"
    )]
    TooManyTokens { what: &'static str, tokens: u64 },

    /// Another process writes to the same folder.
    #[error("{path} is locked by another process; wait for it to finish, or choose another folder")]
    BusyFolder { path: PathBuf },

    /// A block of a piece does not match its checksum.
    #[error("{path} is corrupt: its checksum does not match; start over with --overwrite (overwrite=True)")]
    DamagedPiece { path: PathBuf },

    // ── the work itself ─────────────────────────────────────────────────────
    /// The system has no memory left for something large.
    #[error(
        "no memory for {what}: {bytes} bytes more were refused; free some memory, raise the limit, or process \
         less text at a time"
    )]
    OutOfMemory { what: &'static str, bytes: usize },

    /// The caller asked the work to stop.
    #[error("stopped on request")]
    Cancelled,
}

/// What to do about a failed read, if that is known.
fn read_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; get read permission",
        _ if error.raw_os_error() == Some(libc::EMFILE) => "; allow more open files: ulimit -n 1024",
        _ => "",
    }
}

/// What to do about a failed write; `merganser/files.py` says the same in Python.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "get write permission, or choose another path",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or choose another path"
        }
        _ => "choose another path",
    }
}

/// The message about an id, which may be larger than any id that a token can have.
pub fn unknown_id(id: impl fmt::Display, at: usize) -> String {
    format!(
        "this tokenizer has no token with id {id} (position {at}); use the tokenizer that produced the ids"
    )
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;

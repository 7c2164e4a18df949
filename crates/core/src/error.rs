//! Everything that can go wrong, one variant per failure. Each message says what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug)]
pub enum Error {
    // ── corpus ──────────────────────────────────────────────────────────────
    /// A file could not be opened or read.
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    /// Compressed data that cannot be decompressed; `offset` is in what came out before.
    Damaged {
        path: PathBuf,
        offset: u64,
        reason: String,
    },
    /// Compressed data that grows beyond the ratio, beyond the size, or that asks for too much memory.
    Bomb {
        path: PathBuf,
        max_ratio: u64,
    },
    TooLarge {
        path: PathBuf,
        max_size: u64,
    },
    WideWindow {
        path: PathBuf,
        max_window: u64,
    },
    /// One record is not what it should be.
    BadRecord {
        path: PathBuf,
        line: u64,
        reason: String,
    },
    /// It cannot be told where records end.
    BrokenFile {
        path: PathBuf,
        line: u64,
        reason: String,
    },
    /// A file with columns does not have the one with the text.
    NoColumn {
        path: PathBuf,
        column: String,
        columns: Vec<String>,
    },
    /// A file could not be written.
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    /// There was no text in the corpus.
    EmptyCorpus,
    /// Work was to go on at a place that the corpus does not reach.
    CorpusEndsEarly,
    /// One document, or one pre-token, is longer than this version can address.
    TooLong {
        what: &'static str,
        bytes: u64,
    },

    // ── split ───────────────────────────────────────────────────────────────
    /// A bare word that is not the name of a preset; `remedy` lists the presets and the nearest of them.
    UnknownPreset {
        name: String,
        remedy: String,
    },
    /// The pattern is not a regular expression that can split text.
    BadPattern {
        pattern: String,
        reason: String,
    },
    /// The pattern went over the same text again and again.
    StepLimit {
        pattern: String,
        at: usize,
    },
    /// The pattern matched the empty string.
    EmptyMatch {
        pattern: String,
        at: usize,
    },

    // ── settings ────────────────────────────────────────────────────────────
    /// A special token is empty or given twice.
    BadSpecial {
        token: String,
        reason: &'static str,
    },
    /// A setting that cannot be honoured.
    BadSetting {
        reason: String,
    },
    /// The vocabulary has no room for the bytes and the special tokens.
    VocabTooSmall {
        asked: usize,
        least: usize,
    },

    // ── counts ──────────────────────────────────────────────────────────────
    /// Counts made with other settings were added or trained with.
    UnlikeCounts {
        what: &'static str,
        ours: String,
        theirs: String,
    },
    /// A count or a sum of counts does not fit in 64 bits.
    CountOverflow,
    /// Not a counts file, or a damaged one.
    BadCountsFile {
        path: PathBuf,
        reason: String,
    },
    /// A file that counting has put on disk is no longer what it was.
    BadRun {
        path: PathBuf,
        reason: String,
    },

    // ── tokenizer ───────────────────────────────────────────────────────────
    /// Tokens, merges or ids that do not make a tokenizer.
    BadTokenizer {
        reason: String,
    },
    /// A special token stands in text where none is allowed.
    SpecialInText {
        token: String,
        at: usize,
    },
    /// Bytes that are not one token.
    UnknownToken {
        token: Vec<u8>,
    },
    /// An id that the tokenizer does not have.
    UnknownId {
        id: u32,
        at: usize,
    },
    /// The decoded bytes are not text.
    NotUtf8 {
        at: usize,
    },

    // ── checkpoints ─────────────────────────────────────────────────────────
    /// The log of merges in a work folder is that of another training.
    OtherCheckpoint {
        path: PathBuf,
        reason: String,
    },
    /// Somebody else trains in the same work folder.
    BusyCheckpoint {
        path: PathBuf,
    },

    // ── token files ─────────────────────────────────────────────────────────
    /// A format has no room for the number of tokens.
    TooManyTokens {
        what: &'static str,
        tokens: u64,
    },
    /// Somebody else writes to the same folder.
    BusyFolder {
        path: PathBuf,
    },

    // ── the work itself ─────────────────────────────────────────────────────
    /// The work was asked to stop.
    Cancelled,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read { path, source } => write!(f, "cannot read {}: {source}", path.display()),
            Error::Damaged { path, offset, reason } => write!(
                f,
                "{} is damaged behind byte {offset} of its text: {reason}; get it again, \
                 or go without the rest of it: on_error=\"skip\" (--on-error skip)",
                path.display()
            ),
            Error::Bomb { path, max_ratio } => write!(
                f,
                "{} grows to more than {max_ratio} times its size, as an attack would; \
                 if it is meant to, raise max_ratio (--max-ratio)",
                path.display()
            ),
            Error::TooLarge { path, max_size } => write!(
                f,
                "{} grows to more than {max_size} bytes; if it is meant to, raise max_size (--max-size)",
                path.display()
            ),
            Error::WideWindow { path, max_window } => write!(
                f,
                "{} needs more than {max_window} bytes of memory to be decompressed; raise max_window (--max-window)",
                path.display()
            ),
            Error::BadRecord { path, line, reason } => write!(
                f,
                "{}, line {line}: {reason}; mend it, or go without such records: on_error=\"skip\" (--on-error skip)",
                path.display()
            ),
            Error::BrokenFile { path, line, reason } => write!(
                f,
                "{}, line {line}: {reason}; mend it, or go without the rest of the file: \
                 on_error=\"skip\" (--on-error skip)",
                path.display()
            ),
            Error::NoColumn { path, column, columns } => write!(
                f,
                "{} has no column {column:?}, only {}; name the one that holds the text with text_key (--text-key)",
                path.display(),
                columns.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
            ),
            Error::Write { path, source } => write!(
                f,
                "cannot write {}: {source}; nothing was left half-written; {}",
                path.display(),
                remedy(source)
            ),
            Error::EmptyCorpus => {
                write!(f, "the corpus holds no text; check the path, the glob and the separator")
            }
            Error::CorpusEndsEarly => write!(
                f,
                "the corpus ends before the place where the last run was interrupted; \
                 give the same corpus again, or start afresh with overwrite=True"
            ),
            Error::TooLong { what, bytes } => write!(
                f,
                "a {what} of {bytes} bytes is longer than the 4 GiB that can be handled; set a separator that cuts it"
            ),
            Error::UnknownPreset { name, remedy } => {
                write!(f, "no split pattern is called {name:?}; {remedy}")
            }
            Error::BadPattern { pattern, reason } => {
                write!(f, "the pattern {pattern:?} cannot be used: {reason}")
            }
            Error::StepLimit { pattern, at } => write!(
                f,
                "the pattern {pattern:?} rescans the text without end near byte {at}; \
                 make it consume what it has looked at, or shorten the documents"
            ),
            Error::EmptyMatch { pattern, at } => write!(
                f,
                "the pattern {pattern:?} matched the empty string at byte {at}; every alternative must consume a character"
            ),
            Error::BadSpecial { token, reason } => write!(f, "the special token {token:?} {reason}"),
            Error::BadSetting { reason } => f.write_str(reason),
            Error::VocabTooSmall { asked, least } => write!(
                f,
                "a vocabulary of {asked} has no room for the bytes and special tokens; ask for at least {least}"
            ),
            Error::UnlikeCounts { what, ours, theirs } => write!(
                f,
                "counts made with {what} {theirs} do not go with {what} {ours}; count again with the same settings"
            ),
            Error::CountOverflow => {
                write!(f, "the counts add up to more than 2^64 - 1; divide them by a common factor")
            }
            Error::BadCountsFile { path, reason } => {
                write!(f, "{} is not a usable counts file: {reason}; count the corpus again", path.display())
            }
            Error::BadRun { path, reason } => write!(
                f,
                "{}, which holds what was counted before, is damaged: {reason}; start afresh with --no-resume \
                 (resume=False)",
                path.display()
            ),
            Error::BadTokenizer { reason } => write!(f, "not a valid tokenizer: {reason}"),
            Error::SpecialInText { token, at } => write!(
                f,
                "the text holds the special token {token:?} at byte {at}; \
                 pass allowed_special to encode it as that token, or disallowed_special=() to encode it as text"
            ),
            Error::UnknownToken { token } => write!(
                f,
                "b\"{}\" is not a token of this tokenizer; call encode to get the ids of a text, or check \
                 with `token in tokenizer` first",
                token.escape_ascii()
            ),
            Error::UnknownId { id, at } => f.write_str(&unknown_id(id, *at)),
            Error::NotUtf8 { at } => write!(
                f,
                "the tokens do not decode to text (byte {at}); use decode_bytes, or errors=\"replace\""
            ),
            Error::OtherCheckpoint { path, reason } => write!(
                f,
                "{} cannot be resumed: {reason}; choose another work_dir, or start afresh with resume=False",
                path.display()
            ),
            Error::BusyCheckpoint { path } => write!(
                f,
                "{} is locked by another training process; wait for it to finish, or choose another work_dir",
                path.display()
            ),
            Error::TooManyTokens { what, tokens } => write!(
                f,
                "{tokens} tokens are more than {what} can hold, 2^31 - 1; make smaller shards, \
                 set a separator that cuts long documents, or choose another format"
            ),
            Error::BusyFolder { path } => write!(
                f,
                "somebody else is writing to {}; wait until they have finished, or choose another folder",
                path.display()
            ),
            Error::Cancelled => write!(f, "stopped on request"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Read { source, .. } | Error::Write { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// What to do about a failed write; `merganser/files.py` says the same in Python.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "get write permission, or choose another place",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or choose another place"
        }
        _ => "choose another place",
    }
}

/// The message about an id, which may be too large for any token to have it.
pub fn unknown_id(id: impl fmt::Display, at: usize) -> String {
    format!("this tokenizer has no token with id {id} (position {at}); use the tokenizer that made the ids")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_says_what_helps() {
        for (kind, helps) in [
            (io::ErrorKind::PermissionDenied, "get write permission, or choose another place"),
            (io::ErrorKind::StorageFull, "free some space, or choose another place"),
            (io::ErrorKind::ReadOnlyFilesystem, "half-written; choose another place"),
        ] {
            let message = Error::Write { path: "out".into(), source: kind.into() }.to_string();
            assert!(message.ends_with(helps), "{message}");
        }
    }
}

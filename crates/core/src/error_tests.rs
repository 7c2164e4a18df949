//! Every message says what is wrong and what to do.

use super::*;

#[test]
fn a_failed_write_says_what_helps() {
    for (kind, helps) in [
        (io::ErrorKind::PermissionDenied, "get write permission, or choose another path"),
        (io::ErrorKind::StorageFull, "free some space, or choose another path"),
        (io::ErrorKind::ReadOnlyFilesystem, "half-written; choose another path"),
    ] {
        let message = Error::Write { path: "out".into(), source: kind.into() }.to_string();
        assert!(message.ends_with(helps), "{message}");
    }
}

#[test]
fn messages_say_what_to_do() {
    let path = || PathBuf::from("x");
    for (error, remedy) in [
        (
            Error::Damaged { path: path(), offset: 5, reason: "no".into() },
            "x is corrupt after byte 5 of the decompressed text: no; get a fresh copy, \
             or skip the rest of the file with on_error=\"skip\" (--on-error skip)",
        ),
        (
            Error::BadRecord { path: path(), line: 2, reason: "no".into() },
            "x, line 2: no; fix it, or skip such records with on_error=\"skip\" (--on-error skip)",
        ),
        (
            Error::BrokenFile { path: path(), line: 2, reason: "no".into() },
            "x, line 2: no; fix it, or skip the rest of the file with on_error=\"skip\" (--on-error skip)",
        ),
        (
            Error::VocabTooSmall { asked: 200, least: 265 },
            "vocab_size must be at least 265 to hold the bytes and the special tokens, got 200",
        ),
        (
            Error::NoColumn { path: path(), column: "text".into(), columns: vec!["a".into(), "b".into()] },
            "x has no column \"text\", only \"a\", \"b\"; pass the name of the text column as text_key \
             (--text-key)",
        ),
        (
            Error::TooLong { what: "document", bytes: 5 << 30 },
            "a document must be shorter than 4 GiB, got one of 5368709120 bytes; set a separator that \
             occurs inside it",
        ),
        (
            Error::TooManyTokens { what: "a file of llm.c", tokens: 1 << 31 },
            "a file of llm.c holds at most 2^31 - 1 tokens, got 2147483648; make smaller shards, set a \
             separator that splits long documents, or choose another format",
        ),
        (
            Error::UnlikeCounts { what: "pattern", ours: "a".into(), theirs: "b".into() },
            "counts with pattern b cannot be combined with pattern a; count again with the same settings",
        ),
        (
            Error::BusyFolder { path: path() },
            "x is locked by another process; wait for it to finish, or choose another folder",
        ),
        (
            Error::DamagedPiece { path: path() },
            "x is corrupt: its checksum does not match; start over with --overwrite (overwrite=True)",
        ),
        (
            Error::UnknownId { id: 7, at: 1 },
            "this tokenizer has no token with id 7 (position 1); use the tokenizer that produced the ids",
        ),
        (
            Error::UnknownToken { token: vec![b'a', 0xff] },
            "b\"a\\xff\" is not a token of this tokenizer; call encode to get the ids of a text, or check \
             with `token in tokenizer` first",
        ),
    ] {
        assert_eq!(error.to_string(), remedy);
    }
}

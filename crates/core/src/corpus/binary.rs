//! Binary: whether a file holds text at all, judged by its first 64 KB after decompression.
//!
//! Text never contains a NUL byte, and few binary formats go 64 KB without one. A file without NUL bytes is
//! judged by its share of invalid UTF-8: Latin-1 text in a European language has a few percent, random bytes
//! have about 45, and text in a legacy encoding of another script has more than that.

use std::fmt;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use super::input::Input;
use super::{LONGEST, OnError, Position, ReadContext, Reading};
use crate::Progress;

/// How many bytes of a file are judged.
pub const JUDGED: usize = 1 << 16;

/// The maximum percentage of invalid bytes in UTF-8 text that contains errors.
const MOST_INVALID_PERCENT: usize = 30;

/// Why a file is considered binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Utf16,
    Utf32,
    /// A NUL byte at this offset.
    Nul(usize),
    /// This percentage of the bytes is not UTF-8.
    NotUtf8(usize),
}

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Binary::Utf16 => f.write_str("UTF-16"),
            Binary::Utf32 => f.write_str("UTF-32"),
            Binary::Nul(offset) => write!(f, "NUL byte at offset {offset}"),
            Binary::NotUtf8(percent) => write!(f, "{percent}% invalid UTF-8"),
        }
    }
}

/// Judges a regular file. Files that cannot be opened, or can be read only once, pass: reading them reports
/// the error.
pub fn judge_file(path: &Path, reading: &Reading) -> Option<Binary> {
    if !path.metadata().is_ok_and(|facts| facts.is_file()) {
        return None;
    }
    judge_input(Input::of_file(path, Position::default(), &strict(reading)).ok()?)
}

/// Judges the beginning of a file or stream, which may be compressed. It may be truncated only if it is
/// longer than [`JUDGED`].
pub fn judge_beginning(beginning: &[u8], name: &Path, reading: &Reading) -> Option<Binary> {
    judge_input(Input::of_stream(beginning, name, Position::default(), &strict(reading)).ok()?)
}

/// A context for reading that nobody watches and that skips nothing.
fn strict(reading: &Reading) -> ReadContext {
    let reading = Reading { on_error: OnError::Stop, ..reading.clone() };
    ReadContext::new(&reading, LONGEST, &Arc::default(), &Progress::new())
}

fn judge_input(mut input: Input<'_>) -> Option<Binary> {
    let mut text = vec![0; JUDGED];
    let mut size = 0;
    while size < text.len() {
        match input.read(&mut text[size..]) {
            Ok(0) => break,
            Ok(read) => size += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Corrupt or truncated: judge what came before.
            Err(_) => break,
        }
    }
    judge(&text[..size])
}

fn judge(text: &[u8]) -> Option<Binary> {
    match text {
        [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => return Some(Binary::Utf32),
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => return Some(Binary::Utf16),
        _ => {}
    }
    if let Some(offset) = memchr::memchr(0, text) {
        return Some(Binary::Nul(offset));
    }
    let invalid: usize = text.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    let percent = 100 * invalid / text.len().max(1);
    (percent > MOST_INVALID_PERCENT).then_some(Binary::NotUtf8(percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_what_is_not() {
        let latin: Vec<u8> = "Où est le garçon, là-bas, près du château ?".chars().map(|c| c as u8).collect();
        let cyrillic: Vec<u8> = (0..60).map(|n| if n % 7 == 0 { b' ' } else { 0xC0 + n % 32 }).collect();
        for (bytes, expected) in [
            (&b""[..], None),
            (b"plain", None),
            ("größer 你好 👋".as_bytes(), None),
            (&"你好".as_bytes()[..4], None),
            (&latin, None),
            (b"a\0b", Some(Binary::Nul(1))),
            (b"\xFF\xFEa\0", Some(Binary::Utf16)),
            (b"\xFE\xFF\0a", Some(Binary::Utf16)),
            (b"\xFF\xFE\0\0a\0\0\0", Some(Binary::Utf32)),
            (&cyrillic, Some(Binary::NotUtf8(85))),
        ] {
            assert_eq!(judge(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn compressed_text_is_judged_by_what_is_in_it() {
        use std::io::Write;
        let gzip = |text: &[u8]| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(text).unwrap();
            packed.finish().unwrap()
        };
        let reading = Reading::default();
        let text: Vec<u8> =
            (0..200_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_string().into_bytes()).collect();
        let (text, binary) = (gzip(&text), gzip(b"a\0b"));
        for whole in [text.len(), text.len() / 2] {
            assert_eq!(judge_beginning(&text[..whole], Path::new("x.gz"), &reading), None);
        }
        assert_eq!(judge_beginning(&binary, Path::new("x.gz"), &reading), Some(Binary::Nul(1)));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.gz");
        std::fs::write(&file, &binary).unwrap();
        assert_eq!(judge_file(&file, &reading), Some(Binary::Nul(1)));
        assert_eq!(judge_file(&folder.path().join("none"), &reading), None);
        assert_eq!(judge_file(folder.path(), &reading), None);
    }
}

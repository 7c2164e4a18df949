//! Records: files of every format give the same documents however they arrive, and JSON those of serde_json.

use std::io::Read;
use std::path::Path;

use merganser_core::corpus::{Documents, OnError, Reading};
use serde_json::Value;

use crate::bytes::{choose, take};

const NAMES: [&str; 12] = [
    "a.txt",
    "a.jsonl",
    "a.json",
    "a.csv",
    "a.tsv",
    "a.jsonl.gz",
    "a.txt.gz",
    "a.txt.zst",
    "a.csv.zst",
    "a.txt.bz2",
    "a.json.xz",
    "a.txt.xz",
];

/// How gzip, zstd, bzip2 and xz begin.
const MAGIC: [&[u8]; 4] = [b"\x1F\x8B", b"\x28\xB5\x2F\xFD", b"BZh", b"\xFD7zXZ\0"];

/// Returns a few bytes at a time.
struct Slow<'a> {
    data: &'a [u8],
    step: usize,
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = self.step.min(buffer.len());
        self.data.read(&mut buffer[..len])
    }
}

/// The documents up to the first error, and the error; or what of a corrupt file was skipped.
fn documents(data: &[u8], step: usize, name: &str, reading: &Reading) -> (Vec<Vec<u8>>, Option<String>) {
    let mut documents = Documents::new(Some("<|sep|>")).unwrap();
    let mut found = vec![];
    let reader = Slow { data, step };
    let mut batches = match documents.stream(reader, Path::new(name), reading) {
        Ok(batches) => batches,
        Err(error) => return (found, Some(error.to_string())),
    };
    loop {
        match batches.read() {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return (found, Some(error.to_string())),
        }
        found.extend(batches.batch().map(<[u8]>::to_vec));
        batches.clear();
    }
    found.extend(batches.batch().map(<[u8]>::to_vec));
    drop(batches);
    let skipped = documents.skipped();
    (found, (skipped.files > 0).then(|| skipped.first.join("; ")))
}

/// The documents of JSON lines, if every line is an object with a text.
fn texts(data: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut texts = vec![];
    for line in data.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let value: Value = serde_json::from_slice(line).ok()?;
        let text = value.get("text")?.as_str()?;
        texts.extend(
            text.split("<|sep|>").filter(|part| !part.is_empty()).map(|part| part.as_bytes().to_vec()),
        );
    }
    Some(texts)
}

/// A choice of format and step, and the file.
pub fn records(mut data: &[u8]) {
    let name = choose(&mut data, &NAMES);
    let step = 1 + take(&mut data) as usize;
    for on_error in [OnError::Stop, OnError::Skip] {
        let reading = Reading { on_error, max_size: 1 << 20, max_window: 1 << 20, ..Reading::default() };
        let (whole, error) = documents(data, usize::MAX, name, &reading);
        let (slowly, same_error) = documents(data, step, name, &reading);
        // How much a corrupt file yields depends on how much the decompressor sees at once. Compression is
        // recognized by the first bytes, whatever the name.
        let is_compressed =
            name.matches('.').count() == 2 || MAGIC.iter().any(|magic| data.starts_with(magic));
        assert!(
            error == same_error || is_compressed && error.is_some() && same_error.is_some(),
            "{name}: {error:?}, {same_error:?}"
        );
        if error.is_none() {
            assert_eq!(whole, slowly, "{name}");
            if let ("a.jsonl", Some(expected)) = (*name, texts(data)) {
                assert_eq!(whole, expected);
            }
        }
    }
}

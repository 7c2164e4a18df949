//! Files that something else writes to while they are read.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::*;
use crate::split::Splitter;
use crate::{Error, Progress, Result};

/// What happens to the file after its first block was read.
type Change = fn(&Path);

fn truncated(path: &Path) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(100).unwrap();
}

fn grown(path: &Path) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(b"{\"text\": \"more\"}\n").unwrap();
}

/// The same size, other text.
fn overwritten(path: &Path) {
    let text = fs::read_to_string(path).unwrap().replace("word", "WORD");
    fs::write(path, text).unwrap();
}

/// A new file under the old name: what is open stays what it was.
fn replaced(path: &Path) {
    fs::remove_file(path).unwrap();
    fs::write(path, "something else").unwrap();
}

fn untouched(_: &Path) {}

/// Reads a file to its end and changes it after the first block. Returns what was skipped.
fn read(name: &str, on_error: OnError, change: Change) -> Result<Skipped> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, "{\"text\": \"word word word\"}\n".repeat(40)).unwrap();
    // Long ago: the clock of a file system ticks slowly, and a change must not fall into the same tick.
    let long_ago = SystemTime::now() - Duration::from_secs(1000);
    File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    let splitter = Splitter::new("gpt2").unwrap();
    let cutters = Cutters::new(&[], None).unwrap();
    let mut feed = Feed::default();
    let reading = Reading { on_error, ..Reading::default() };
    let mut blocks = feed.files(std::slice::from_ref(&path).iter(), &reading, &Progress::new());
    let mut block = Block::default();
    assert!(blocks.next(&mut block, &splitter, &cutters)?);
    change(&path);
    while blocks.next(&mut block, &splitter, &cutters)? {}
    Ok(feed.skipped())
}

#[test]
fn a_file_that_changes_while_it_is_read_is_an_error() {
    for name in ["a.txt", "a.jsonl"] {
        for change in [truncated, grown, overwritten] {
            let error = read(name, OnError::Stop, change).unwrap_err();
            assert!(matches!(&error, Error::Changed { path } if path.ends_with(name)), "{error}");
        }
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_is_reported_if_errors_are_skipped() {
    for name in ["a.txt", "a.jsonl"] {
        for change in [truncated, grown, overwritten] {
            let skipped = read(name, OnError::Skip, change).unwrap();
            assert_eq!(skipped.files, 1);
            assert!(skipped.first[0].contains("changed while it was read"), "{skipped:?}");
        }
    }
}

#[test]
fn a_file_that_is_replaced_is_read_as_it_was() {
    for name in ["a.txt", "a.jsonl"] {
        for change in [replaced, untouched] {
            assert_eq!(read(name, OnError::Stop, change).unwrap(), Skipped::default());
        }
    }
}

#[test]
fn a_range_of_a_file_that_changes_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    let (splitter, cutters) = (Splitter::new("gpt2").unwrap(), Cutters::new(&[], None).unwrap());
    for (change, fails) in [(truncated as Change, true), (grown, true), (untouched, false)] {
        fs::write(&path, "word ".repeat(100)).unwrap();
        let mut blocks =
            Feed::default().range(&path, 10, 300, true, &Reading::default(), &Progress::new()).unwrap();
        let mut block = Block::default();
        assert!(blocks.next(&mut block, &splitter, &cutters).unwrap());
        change(&path);
        let rest = loop {
            match blocks.next(&mut block, &splitter, &cutters) {
                Ok(true) => {}
                other => break other,
            }
        };
        assert_eq!(rest.is_err(), fails, "{rest:?}");
    }
}

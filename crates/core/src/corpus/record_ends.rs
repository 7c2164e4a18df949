//! Record ends: where the records of a block begin and end, for each layout of a file.
//!
//! The reader runs this while it holds the lock, so it looks no deeper than needed: line breaks by `memchr`,
//! CSV by its quotes, JSON by strings and brackets. Workers decode the records later and find what is wrong
//! inside.

use memchr::memchr;

use super::{csv, json};

/// How the records of a file are laid out.
#[derive(Clone, Copy, PartialEq)]
pub enum RecordLayout {
    /// One record per line.
    Lines,
    /// The records of CSV, with this delimiter.
    Quoted(u8),
    /// One JSON value after the other.
    Values,
    /// JSON values in an array; `some` says whether one came before, so that a comma must follow.
    Array { some: bool },
    /// After the array.
    Closed,
}

/// A record from `start` to `end`. The bytes from `begin` to `after`, such as blanks and commas, belong to no
/// other record.
pub struct Record {
    pub begin: usize,
    pub start: usize,
    pub end: usize,
    pub after: usize,
}

/// Where a file cannot be read, and why.
pub type Broken = (usize, &'static str);

/// What comes next in a text.
enum Next {
    /// A record with these ends, and where the text after it begins.
    Record { start: usize, end: usize, after: usize },
    /// The end of an array, and where the text after it begins.
    Closed(usize),
    /// A part of a record, or nothing: more text is needed.
    Part,
}

/// Lists the whole records of `text` and returns where the last one ends, or where the text cannot be read
/// and why. `is_all`: nothing follows `text`.
pub fn find_records(
    text: &[u8],
    is_all: bool,
    layout: &mut RecordLayout,
    list: &mut Vec<Record>,
) -> Result<usize, Broken> {
    let mut at = 0;
    while at < text.len() {
        let next = match *layout {
            RecordLayout::Lines => next_line(text, at, is_all),
            RecordLayout::Quoted(delimiter) => next_quoted(text, at, is_all, delimiter)?,
            _ => next_value(text, at, is_all, layout)?,
        };
        match next {
            Next::Record { start, end, after } => {
                list.push(Record { begin: at, start, end, after });
                at = after;
            }
            Next::Closed(after) => at = after,
            Next::Part => break,
        }
    }
    match layout {
        RecordLayout::Array { .. } if is_all => Err((text.len(), "the array is never closed")),
        _ if is_all => Ok(text.len()),
        _ => Ok(at),
    }
}

#[inline]
fn next_line(text: &[u8], at: usize, is_all: bool) -> Next {
    match memchr(b'\n', &text[at..]) {
        Some(len) => Next::Record { start: at, end: at + len, after: at + len + 1 },
        None if is_all => Next::Record { start: at, end: text.len(), after: text.len() },
        None => Next::Part,
    }
}

fn next_quoted(text: &[u8], at: usize, is_all: bool, delimiter: u8) -> Result<Next, Broken> {
    match csv::record_end(text, at, delimiter) {
        Some(after) => Ok(Next::Record { start: at, end: after, after }),
        None if !is_all => Ok(Next::Part),
        None if csv::is_closed(&text[at..], delimiter) => {
            Ok(Next::Record { start: at, end: text.len(), after: text.len() })
        }
        None => Err((at, "a quote in this record is never closed")),
    }
}

/// The next JSON value of a sequence or an array. `layout` follows: into an array, and out of it at its
/// bracket.
fn next_value(text: &[u8], at: usize, is_all: bool, layout: &mut RecordLayout) -> Result<Next, Broken> {
    let mut start = at + blanks(&text[at..]);
    if let RecordLayout::Array { some } = *layout {
        match text.get(start) {
            Some(b']') => {
                *layout = RecordLayout::Closed;
                return Ok(Next::Closed(start + 1));
            }
            Some(b',') if some => start += 1 + blanks(&text[start + 1..]),
            Some(_) if some => return Err((start, "a comma is missing between two elements")),
            _ => {}
        }
    }
    if start == text.len() {
        return Ok(Next::Part); // the blanks before a record belong to it, wherever blocks end
    }
    if *layout == RecordLayout::Closed {
        return Err((start, "something follows the end of the array"));
    }
    match json::value_end(text, start, is_all) {
        Some(end) if end > start => {
            if let RecordLayout::Array { some } = layout {
                *some = true;
            }
            Ok(Next::Record { start, end, after: end })
        }
        Some(_) => Err((start, "there is no JSON value where one is expected")),
        None if is_all => Err((start, "a string or a bracket is never closed")),
        None => Ok(Next::Part),
    }
}

fn blanks(text: &[u8]) -> usize {
    text.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(text.len())
}

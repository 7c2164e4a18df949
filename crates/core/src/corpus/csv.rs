//! CSV as RFC 4180 has it, with any delimiter: fields in quotes may hold delimiters, line breaks and doubled
//! quotes.
//!
//! Elsewhere in a field a quote is a quote. Records end with `\n` or `\r\n`.

use memchr::{memchr, memchr2};

/// Where the record that begins at `at` ends, behind its line break; none where the text ends before it.
pub fn record_end(text: &[u8], at: usize, delimiter: u8) -> Option<usize> {
    let mut now = at;
    loop {
        now += memchr2(b'"', b'\n', text.get(now..)?)?;
        if text[now] == b'\n' {
            return Some(now + 1);
        }
        let opens = now == at || text[now - 1] == delimiter;
        now = if opens { quoted_end(text, now)? } else { now + 1 };
    }
}

/// Behind the quote that closes the one at `at`; none where the text ends before it is known.
fn quoted_end(text: &[u8], at: usize) -> Option<usize> {
    let mut now = at + 1;
    loop {
        now += memchr(b'"', text.get(now..)?)? + 1;
        match text.get(now) {
            Some(b'"') => now += 1,
            Some(_) => return Some(now),
            None => return None,
        }
    }
}

/// Whether the last record of a file, which no line break follows, has all its quotes closed.
pub fn is_closed(record: &[u8], delimiter: u8) -> bool {
    record_end(&[record, b"\n"].concat(), 0, delimiter) == Some(record.len() + 1)
}

/// The fields of a record without its line break.
pub fn fields(record: &[u8], delimiter: u8) -> Vec<Vec<u8>> {
    let mut fields = Vec::new();
    let mut rest = Some(record);
    while let Some(text) = rest {
        let mut field = Vec::new();
        rest = field_into(text, delimiter, |part| field.extend_from_slice(part));
        fields.push(field);
    }
    fields
}

/// Adds one field of a record to `out`; false where the record has not so many.
pub fn field_of(record: &[u8], number: usize, delimiter: u8, out: &mut Vec<u8>) -> bool {
    let mut rest = record;
    for _ in 0..number {
        match field_into(rest, delimiter, |_| ()) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    field_into(rest, delimiter, |part| out.extend_from_slice(part));
    true
}

/// Calls `add` with the parts of the first field; what follows its delimiter, none where it is the last.
fn field_into(mut text: &[u8], delimiter: u8, mut add: impl FnMut(&[u8])) -> Option<&[u8]> {
    if let Some(mut quoted) = text.strip_prefix(b"\"") {
        loop {
            let close = memchr(b'"', quoted).unwrap_or(quoted.len());
            text = quoted.get(close + 1..).unwrap_or_default();
            match text.strip_prefix(b"\"") {
                // The first of two quotes is meant.
                Some(rest) => {
                    add(&quoted[..=close]);
                    quoted = rest;
                }
                None => {
                    add(&quoted[..close]);
                    break;
                }
            }
        }
    }
    let end = memchr(delimiter, text).unwrap_or(text.len());
    add(&text[..end]);
    text.get(end + 1..)
}

//! CSV as specified by RFC 4180, with any delimiter: quoted fields may contain delimiters, line breaks and
//! doubled quotes.
//!
//! Elsewhere in a field a quote is an ordinary character. Records end with `\n` or `\r\n`.

use memchr::{memchr, memchr2};

/// Returns the end of the record that begins at `at`, after its line break, or None if the text ends first.
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

/// Returns the offset after the quote that closes the one at `at`, or None if the text ends before that is
/// certain.
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

/// Returns whether all quotes are closed in the last record of a file, which has no line break.
pub fn is_closed(record: &[u8], delimiter: u8) -> bool {
    record_end(&[record, b"\n"].concat(), 0, delimiter) == Some(record.len() + 1)
}

/// Returns the fields of a record, given without its line break.
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

/// Appends one field of a record to `out`, and returns false if the record has too few.
pub fn field_of(record: &[u8], number: usize, delimiter: u8, out: &mut Vec<u8>) -> bool {
    let mut rest = record;
    for _ in 0..number {
        match field_into(rest, delimiter, |_| ()) {
            Some(rest_of_record) => rest = rest_of_record,
            None => return false,
        }
    }
    field_into(rest, delimiter, |part| out.extend_from_slice(part));
    true
}

/// Calls `add` with the parts of the first field. Returns the text after its delimiter, or None for the last
/// field.
fn field_into(mut text: &[u8], delimiter: u8, mut add: impl FnMut(&[u8])) -> Option<&[u8]> {
    if let Some(mut quoted) = text.strip_prefix(b"\"") {
        loop {
            let close = memchr(b'"', quoted).unwrap_or(quoted.len());
            text = quoted.get(close + 1..).unwrap_or_default();
            match text.strip_prefix(b"\"") {
                // A doubled quote stands for one.
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

//! Chars: normalizers that look at one character at a time.
//!
//! Each is a rule that keeps, drops or replaces a character. Runs of ASCII that a rule keeps are scanned byte
//! by byte; other characters take a comparison or a look-up. StripAccents and BertNormalizer take their classes
//! from Unicode as Hugging Face has it, Lowercase from the standard library, as Hugging Face does.
//!
//! Cost: see docs/log.md.

use std::ops::Range;
use std::sync::LazyLock;

use super::aligned::{Output, Rewritten};
use super::table::{Table, ascii_end};

/// A rule for characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Lowercase,
    /// Drops marks.
    StripAccents,
    /// Drops control characters, for [`Rule::NmtSpaces`]; both are the normalizer Nmt.
    NmtControls,
    NmtSpaces,
    /// Drops control characters; the parts of BertNormalizer follow.
    BertControls,
    BertSpaces,
    BertChinese,
    BertAccents,
    /// Writes each byte as the printable character that stands for it in byte-level vocabularies.
    ByteLevel,
}

const MARK: u8 = 1;
const NONSPACING: u8 = 2;
const OTHER: u8 = 4;
const HAS_LOWERCASE: u8 = 8;

pub(super) const MARKS: &str = r"[[\p{M}&&\p{Age=9.0}]\u{1cf2}\u{1cf3}--\u{111c9}]";
const NONSPACING_MARKS: &str =
    r"[[\p{Mn}&&\p{Age=8.0}]\u{1734}\u{1171e}--[\u{1885}\u{1886}\u{a9bd}\u{111c9}]]";

/// Marks as of Unicode 9.0, nonspacing marks and control characters as of Unicode 8.0: the versions of the
/// crates `unicode-normalization-alignments` and `unicode_categories`. Characters whose category has changed
/// since are listed. Characters with a lower case are in the ranges here.
static CLASSES: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::new();
    table.add_class(MARKS, MARK);
    table.add_class(NONSPACING_MARKS, NONSPACING);
    table.add_class(r"[[\p{Cc}\p{Cf}\p{Co}]&&\p{Age=8.0}]", OTHER);
    let cased = ('\0'..'\u{3000}').chain('\u{a000}'..'\u{ac00}').chain('\u{ff00}'..'\u{20000}');
    cased.filter(|c| !c.to_lowercase().eq([*c])).for_each(|c| table.add(c, HAS_LOWERCASE));
    table
});

impl Rule {
    pub fn normalize(self, text: &str, out: &mut impl Output) {
        // One loop for each rule: what it does with ASCII is compiled into it.
        match self {
            Rule::Lowercase => lowercase(text, out),
            Rule::StripAccents | Rule::BertAccents | Rule::BertChinese => {
                self.each(text, out, |byte| byte.is_ascii());
            }
            Rule::ByteLevel => self.each(text, out, |byte| byte.is_ascii_graphic()),
            Rule::NmtControls | Rule::NmtSpaces | Rule::BertControls | Rule::BertSpaces => {
                self.each(text, out, |byte| (b' '..0x7f).contains(&byte));
            }
        }
    }

    /// Returns what a character becomes.
    pub fn of_char(self, c: char) -> String {
        let text = c.to_string();
        let mut out = Rewritten::of(&text);
        self.normalize(&text, &mut out);
        out.finish().into_owned()
    }

    fn each(self, text: &str, out: &mut impl Output, keeps_byte: impl Fn(u8) -> bool) {
        let classes = &*CLASSES;
        let bytes = text.as_bytes();
        let (mut kept, mut at) = (0, 0);
        loop {
            at += bytes[at..].iter().position(|byte| !keeps_byte(*byte)).unwrap_or(bytes.len() - at);
            let Some(c) = text[at..].chars().next() else { break };
            let range = at..at + c.len_utf8();
            at = range.end;
            if !self.keeps(classes, c) {
                out.keep(kept..range.start);
                self.write(c, range, out);
                kept = at;
            }
        }
        out.keep(kept..text.len());
    }

    #[inline]
    fn keeps(self, classes: &Table, c: char) -> bool {
        match self {
            Rule::Lowercase => classes.get(c) & HAS_LOWERCASE == 0,
            Rule::StripAccents => classes.get(c) & MARK == 0,
            Rule::BertAccents => classes.get(c) & NONSPACING == 0,
            Rule::BertControls => {
                matches!(c, '\t' | '\n' | '\r') || c != '\u{fffd}' && classes.get(c) & OTHER == 0
            }
            Rule::BertSpaces => c == ' ' || !c.is_whitespace(),
            Rule::BertChinese => !is_chinese(c),
            Rule::NmtControls => !matches!(
                c,
                '\u{1}'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' | '\u{7f}' | '\u{8f}' | '\u{9f}'
            ),
            Rule::NmtSpaces => !matches!(
                c,
                '\t' | '\n' | '\u{c}' | '\r' | '\u{1680}' | '\u{200b}'
                    ..='\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{2581}' | '\u{feff}' | '\u{fffd}'
            ),
            Rule::ByteLevel => false,
        }
    }

    fn write(self, c: char, range: Range<usize>, out: &mut impl Output) {
        let first = |i| usize::from(i == 0);
        match self {
            Rule::Lowercase => c.to_lowercase().enumerate().for_each(|(i, c)| out.put(c, first(i))),
            Rule::NmtSpaces | Rule::BertSpaces => out.put(' ', 1),
            Rule::BertChinese => {
                [' ', c, ' '].into_iter().enumerate().for_each(|(i, c)| out.put(c, first(i)));
            }
            Rule::ByteLevel => {
                let mut buffer = [0; 4];
                let bytes = c.encode_utf8(&mut buffer).bytes();
                bytes.enumerate().for_each(|(i, byte)| out.put(byte_char(byte), first(i)));
            }
            Rule::StripAccents | Rule::NmtControls | Rule::BertControls | Rule::BertAccents => {
                out.skip(range)
            }
        }
    }
}

/// Lowercase: a run of ASCII that has a capital is copied as a whole, and changed in the copy.
fn lowercase(text: &str, out: &mut impl Output) {
    let classes = &*CLASSES;
    let bytes = text.as_bytes();
    let (mut kept, mut at) = (0, 0);
    while at < bytes.len() {
        let end = ascii_end(bytes, at);
        if bytes[at..end].iter().any(u8::is_ascii_uppercase) {
            out.keep(kept..at);
            out.keep_lowercase(at..end);
            kept = end;
        }
        at = end;
        for c in text[at..].chars().take_while(|c| !c.is_ascii()) {
            let next = at + c.len_utf8();
            if !Rule::Lowercase.keeps(classes, c) {
                out.keep(kept..at);
                Rule::Lowercase.write(c, at..next, out);
                kept = next;
            }
            at = next;
        }
    }
    out.keep(kept..text.len());
}

fn is_chinese(c: char) -> bool {
    matches!(
        c,
        '\u{4e00}'..='\u{9fff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{20000}'..='\u{2a6df}'
            | '\u{2a700}'..='\u{2b73f}'
            | '\u{2b740}'..='\u{2b81f}'
            | '\u{2b920}'..='\u{2ceaf}'
            | '\u{f900}'..='\u{faff}'
            | '\u{2f800}'..='\u{2fa1f}'
    )
}

/// The printable character for a byte: itself if it is one in Latin-1, else the next free one from U+0100 on.
fn byte_char(byte: u8) -> char {
    let code = match byte {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u32::from(byte),
        0..=0x20 => 0x100 + u32::from(byte),
        0x7f..=0xa0 => 0x121 + u32::from(byte - 0x7f),
        0xad => 0x143,
    };
    char::from_u32(code).expect("a code point of Latin")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured with tokenizers 0.23.3: the characters whose category is another in newer versions of Unicode.
    #[test]
    fn marks_are_those_of_hugging_face() {
        for (c, is_mark, is_nonspacing) in [
            ('\u{301}', true, true),
            ('\u{903}', true, false),
            ('\u{1734}', true, true),
            ('\u{1171e}', true, true),
            ('\u{1885}', true, false),
            ('\u{1886}', true, false),
            ('\u{a9bd}', true, false),
            ('\u{111c9}', false, false),
            ('\u{1cf2}', true, false),
            ('\u{1cf3}', true, false),
            ('\u{8d3}', false, false),
        ] {
            let classes = CLASSES.get(c);
            assert_eq!((classes & MARK != 0, classes & NONSPACING != 0), (is_mark, is_nonspacing), "{c:?}");
        }
    }

    #[test]
    fn the_table_has_every_character_with_a_lower_case() {
        for c in '\0'..=char::MAX {
            assert_eq!(Rule::Lowercase.keeps(&CLASSES, c), c.to_lowercase().eq([c]), "{c:?}");
        }
    }
}

//! Forms: Unicode's normalization forms NFC, NFD, NFKC and NFKD, as of Unicode 9.0.
//!
//! Hugging Face normalizes with the tables of Unicode 9.0 (the crate `unicode-normalization-alignments`), and
//! models were trained on texts normalized that way. Normalization never changes for a character once it is
//! assigned, so newer tables give the same result if characters assigned later are left alone: the tables are
//! those of the crate `unicode-normalization`, restricted by the age of characters.
//!
//! A text is checked first (the quick check of Unicode's annex 15): ASCII sixteen bytes at a time, other
//! characters by their first byte, and those with one look-up whose first byte may belong to a character that
//! changes. Only a segment that may change is normalized: from a character that nothing
//! before can affect to the next such character. It is decomposed, ordered by combining class (a stable sort,
//! so a run of n marks costs n log n), and composed.
//!
//! Cost: see docs/log.md; text that is normal already is borrowed.

use std::sync::LazyLock;

use unicode_normalization::char::{
    canonical_combining_class, compose, decompose_canonical, decompose_compatible,
};
use unicode_normalization::{IsNormalized, is_nfc_quick, is_nfkc_quick};

use super::aligned::Output;
use super::table::{Bytes, Table, add_first_byte, char_before, find_byte, ranges};

/// The Unicode version of Hugging Face's tables, in the syntax of regular expressions.
const KNOWN: &str = r"\p{Age=9.0}";

/// A normalization form; the value is the number of its bits in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Nfc = 0,
    Nfd = 1,
    Nfkc = 2,
    Nfkd = 3,
}

/// After this many characters that need no look-up, text is scanned by bytes again.
const PATIENCE: usize = 4;

struct Tables {
    /// Bit `form`: the character may change. Bit `4 + form`: it may interact with the character before it, by
    /// order or by composition.
    flags: Table,
    combining_class: Table,
    /// For each form, the bytes that characters with flags begin with.
    first_bytes: [Bytes; 4],
}

static TABLES: LazyLock<Tables> = LazyLock::new(Tables::build);

/// The characters that compose with some character after them.
static COMPOSING: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::new();
    let jamo = '\u{1100}'..='\u{1112}';
    jamo.chain('\u{ac00}'..='\u{d7a3}').for_each(|c| table.add(c, 1));
    for c in ranges(KNOWN).into_iter().flatten().filter(|c| !is_inert_block(*c) && !is_hangul(*c)) {
        let mut parts = Vec::new();
        decompose_canonical(c, |c| parts.push(c));
        let mut starter = parts[0];
        for &part in &parts[1..] {
            if let Some(composed) = composite(starter, part) {
                table.add(starter, 1);
                starter = composed;
            }
        }
    }
    table
});

/// Characters that no form changes, in large numbers, so that building the tables takes a millisecond.
fn is_inert_block(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{e000}'..='\u{f8ff}' | '\u{20000}'..='\u{2f7ff}' | '\u{e0000}'..)
}

impl Tables {
    fn build() -> Tables {
        let mut tables =
            Tables { flags: Table::new(), combining_class: Table::new(), first_bytes: [[false; 256]; 4] };
        for c in ranges(KNOWN).into_iter().flatten().filter(|c| !is_inert_block(*c)) {
            if is_hangul(c) {
                tables.add(c, 1 << Form::Nfd as u8 | 1 << Form::Nfkd as u8);
                continue;
            }
            let class = canonical_combining_class(c);
            tables.combining_class.add(c, class);
            let (mut canonical, mut compatible) = (Vec::new(), Vec::new());
            decompose_canonical(c, |c| canonical.push(c));
            decompose_compatible(c, |c| compatible.push(c));
            let composed = |quick: IsNormalized| quick == IsNormalized::Yes;
            let nfc = |c| composed(is_nfc_quick(std::iter::once(c)));
            let nfkc = |c| composed(is_nfkc_quick(std::iter::once(c)));
            let starts = |c| canonical_combining_class(c) == 0;
            let changes = [nfc(c), canonical == [c], nfkc(c), compatible == [c]].map(|is| !is);
            let interacts = [
                !starts(canonical[0]) || !nfc(canonical[0]),
                !starts(canonical[0]),
                !starts(compatible[0]) || !nfkc(compatible[0]),
                !starts(compatible[0]),
            ];
            let bits = changes.into_iter().chain(interacts).enumerate();
            tables.add(c, bits.map(|(bit, set)| u8::from(set) << bit).sum());
        }
        tables
    }

    fn add(&mut self, c: char, flags: u8) {
        self.flags.add(c, flags);
        for (form, bytes) in self.first_bytes.iter_mut().enumerate() {
            if flags >> form & 0x11 != 0 {
                add_first_byte(bytes, c);
            }
        }
    }
}

fn is_hangul(c: char) -> bool {
    ('\u{ac00}'..='\u{d7a3}').contains(&c)
}

/// A character of a segment: its combining class, and how many characters of the source it replaces.
struct Part {
    class: u8,
    c: char,
    chars: u32,
}

impl Form {
    /// Normalizes a text.
    pub fn normalize(self, text: &str, out: &mut impl Output) {
        let tables = &*TABLES;
        let mut parts = Vec::new();
        let mut kept = 0;
        while let Some(start) = self.first_change(tables, text, kept) {
            out.keep(kept..start);
            let end = self.segment_end(tables, text, start);
            self.normalize_segment(tables, text, start, end, &mut parts, out);
            kept = end;
        }
        out.keep(kept..text.len());
    }

    /// Whether two characters that are side by side stay as they are and keep what is before them apart from what
    /// is after them, whatever that is.
    pub fn keeps_apart(self, before: char, after: char) -> bool {
        let matters = 0x11u8 << self as u8;
        let stays = |c: char| TABLES.flags.get(c) & matters == 0;
        let composes = || matches!(self, Form::Nfc | Form::Nfkc) && COMPOSING.get(after) != 0;
        stays(before) && stays(after) && !composes()
    }

    /// Returns the start of the first segment from `from` on that may not be normal.
    fn first_change(self, tables: &Tables, text: &str, from: usize) -> Option<usize> {
        let changes = 1u8 << self as u8;
        let matters = changes | changes << 4;
        let first_bytes = &tables.first_bytes[self as usize];
        let bytes = text.as_bytes();
        let mut at = from;
        loop {
            at = find_byte::<false>(bytes, at, first_bytes);
            // The character before does not change.
            let (mut segment, mut last_class) = (char_before(text, from, at), 0);
            let mut unsuspected = 0;
            for c in text[at..].chars() {
                let flags = tables.flags.get(c);
                if flags & matters == 0 {
                    unsuspected += 1;
                    if first_bytes[usize::from(bytes[at])] {
                        unsuspected = 0;
                    } else if unsuspected == PATIENCE {
                        break;
                    }
                    segment = at;
                    last_class = 0;
                } else {
                    let class = tables.combining_class.get(c);
                    if flags & changes != 0 || class == 0 || class < last_class {
                        let is_alone = flags & changes << 4 == 0;
                        return Some(if is_alone { at } else { segment });
                    }
                    last_class = class;
                }
                at += c.len_utf8();
            }
            if at == bytes.len() {
                return None;
            }
        }
    }

    /// Returns where the segment ends that starts at `start`.
    fn segment_end(self, tables: &Tables, text: &str, start: usize) -> usize {
        let interacts = 1u8 << (4 + self as u8);
        let mut chars = text[start..].char_indices().skip(1);
        let end = chars.find(|(_, c)| tables.flags.get(*c) & interacts == 0);
        end.map_or(text.len(), |(at, _)| start + at)
    }

    fn normalize_segment<O: Output>(
        self,
        tables: &Tables,
        text: &str,
        start: usize,
        end: usize,
        parts: &mut Vec<Part>,
        out: &mut O,
    ) {
        let segment = &text[start..end];
        parts.clear();
        for c in segment.chars() {
            let mut chars = 1;
            let mut push = |c| {
                parts.push(Part { class: tables.combining_class.get(c), c, chars });
                chars = 0;
            };
            if tables.flags.get(c) == 0 {
                push(c);
            } else if matches!(self, Form::Nfc | Form::Nfd) {
                decompose_canonical(c, push);
            } else {
                decompose_compatible(c, push);
            }
        }
        for marks in parts.chunk_by_mut(|a, b| a.class != 0 && b.class != 0) {
            marks.sort_by_key(|part| part.class);
        }
        if matches!(self, Form::Nfc | Form::Nfkc) {
            recompose(parts);
        }
        if !O::ALIGNS && segment.chars().eq(parts.iter().map(|part| part.c)) {
            out.keep(start..end);
        } else {
            parts.iter().for_each(|part| out.put(part.c, part.chars as usize));
        }
    }
}

/// Composes marks and vowels with the starter before them, where nothing is in between that blocks them.
fn recompose(parts: &mut Vec<Part>) {
    let mut starter: Option<usize> = None;
    let mut last_class = None;
    let mut len = 0;
    for next in 0..parts.len() {
        let Part { class, c, chars } = parts[next];
        if let Some(starter) = starter
            && last_class.is_none_or(|last| last < class)
            && let Some(composed) = composite(parts[starter].c, c)
        {
            parts[starter].c = composed;
            parts[starter].chars += chars;
            continue;
        }
        parts[len] = Part { class, c, chars };
        if class == 0 {
            starter = Some(len);
            last_class = None;
        } else if starter.is_some() {
            last_class = Some(class);
        }
        len += 1;
    }
    parts.truncate(len);
}

/// The composite of two characters that Unicode 9.0 knows.
fn composite(a: char, b: char) -> Option<char> {
    compose(a, b).filter(|c| is_hangul(*c) || TABLES.flags.get(*c) != 0)
}

//! Printable: the alphabet in which GPT-2 and its successors write bytes as printable characters.
//!
//! Byte 0x20 is `Ġ`, bytes that are printable Latin-1 characters stand for themselves, the others are
//! characters from U+0100 on. A pattern over this alphabet becomes a pattern over bytes, so that text need not
//! be translated: each class of characters becomes the class of the bytes they stand for.
//!
//! Cost: once per pattern. Only patterns that need look-around translate the text.

use regex_syntax::hir::{Capture, Class, ClassBytes, ClassBytesRange, Hir, HirKind, Repetition};

use super::rewrite::Regular;
use super::zones::contains;

/// Returns the character that stands for a byte.
pub fn char_of(byte: u8) -> char {
    let moved = |first: u8| char::from_u32(0x100 + u32::from(byte - first)).unwrap_or('\0');
    match byte {
        0x00..=0x20 => moved(0),
        0x7F..=0xA0 => moved(0x7F - 0x21),
        0xAD => '\u{143}',
        _ => char::from(byte),
    }
}

/// Returns the printable text of some bytes and, for every offset in it, the number of bytes before.
pub fn of_bytes(bytes: &[u8]) -> (String, Vec<u32>) {
    let (mut text, mut offsets) = (String::new(), Vec::new());
    for (i, &byte) in bytes.iter().enumerate() {
        text.push(char_of(byte));
        offsets.resize(text.len(), i as u32);
    }
    offsets.push(bytes.len() as u32);
    (text, offsets)
}

/// Returns alternatives that match the bytes for which the given ones match the printable characters; `None`
/// if there are none.
pub fn bytes_of(regular: &Regular) -> Option<Regular> {
    let mut alternatives = Vec::new();
    for (i, alternative) in regular.alternatives.iter().enumerate() {
        match &regular.gives_back {
            // No printable character is white space, so this alternative never matches.
            Some(gives_back) if gives_back.alternative == i => {
                if (0..=255).any(|byte| contains(&gives_back.class, char_of(byte))) {
                    return None;
                }
            }
            _ => alternatives.push(to_bytes(alternative)?),
        }
    }
    Some(Regular { alternatives, gives_back: None })
}

fn to_bytes(hir: &Hir) -> Option<Hir> {
    let all = |parts: &[Hir]| parts.iter().map(to_bytes).collect::<Option<Vec<Hir>>>();
    Some(match hir.kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Look(look) => Hir::look(*look),
        HirKind::Literal(literal) => {
            let chars = std::str::from_utf8(&literal.0).ok()?.chars();
            Hir::concat(chars.map(|c| bytes_in(&|other| other == c)).collect())
        }
        HirKind::Class(Class::Unicode(class)) => bytes_in(&|c| contains(class, c)),
        HirKind::Class(Class::Bytes(_)) => return None,
        HirKind::Repetition(repeat) => Hir::repetition(Repetition {
            min: repeat.min,
            max: repeat.max,
            greedy: repeat.greedy,
            sub: Box::new(to_bytes(&repeat.sub)?),
        }),
        HirKind::Capture(capture) => Hir::capture(Capture {
            index: capture.index,
            name: capture.name.clone(),
            sub: Box::new(to_bytes(&capture.sub)?),
        }),
        HirKind::Concat(parts) => Hir::concat(all(parts)?),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)?),
    })
}

/// Matches a byte whose character is one of those; nothing if there is none.
fn bytes_in(is: &dyn Fn(char) -> bool) -> Hir {
    let bytes = (0..=255).filter(|&byte| is(char_of(byte)));
    Hir::class(Class::Bytes(ClassBytes::new(bytes.map(|byte| ClassBytesRange::new(byte, byte)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_is_that_of_gpt2() {
        let text: String = (0..=255).map(char_of).collect();
        assert_eq!(text.chars().collect::<std::collections::HashSet<_>>().len(), 256);
        assert_eq!(
            [0, b' ', b'!', b'~', 0x7F, 0xA0, 0xA1, 0xAD, 0xFF].map(char_of),
            ['Ā', 'Ġ', '!', '~', 'ġ', 'ł', '¡', 'Ń', 'ÿ']
        );
        assert!(!text.contains(char::is_whitespace));
    }

    #[test]
    fn offsets_count_bytes() {
        let (text, offsets) = of_bytes("a é".as_bytes());
        assert_eq!(text, "aĠÃ©");
        assert_eq!(offsets, [0, 1, 1, 2, 2, 3, 3, 4]);
    }
}

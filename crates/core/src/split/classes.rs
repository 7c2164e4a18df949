//! Classes: which of the presets' character classes each character belongs to.
//!
//! One byte of flags per character in a two-stage table: the high bits of the code point select a block, and
//! equal blocks are stored once. About 60 KB in all, built at first use, in a few milliseconds, from the same
//! `regex-syntax` tables that the other two tiers compile patterns with: so the tiers cannot disagree about
//! Unicode.
//!
//! Cost: two dependent loads per look-up; ASCII is classified elsewhere (`bitmap.rs`).

use std::collections::HashMap;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// `\p{L}`
pub const LETTER: u8 = 1;
/// `\p{N}`
pub const NUMBER: u8 = 2;
/// `\s`
pub const SPACE: u8 = 4;
/// `\p{M}`
pub const MARK: u8 = 8;
/// `\p{Lu}` and `\p{Lt}`
pub const UPPER: u8 = 16;
/// `\p{Ll}`
pub const LOWER: u8 = 32;

/// Returns the Unicode version of every class in every tier: that of regex-syntax 0.8.11, whose generated
/// tables (`src/unicode_tables/*.rs`) each say `Unicode version: 16.0.0`. A test checks letters that were
/// added in exactly that version, and the absence of letters of the next.
pub fn unicode_version() -> &'static str {
    "16.0.0"
}

/// The two-stage table of flags.
pub struct Classes {
    block_of: Vec<u16>,
    flags: Vec<u8>,
}

impl Classes {
    #[inline(always)]
    pub fn of(&self, code: u32) -> u8 {
        let block = self.block_of[(code >> 8) as usize] as usize;
        self.flags[block << 8 | (code & 0xff) as usize]
    }

    fn build() -> Classes {
        let mut all = vec![0u8; 0x11_0000];
        for (class, flag) in [
            (r"\p{L}", LETTER),
            (r"\p{N}", NUMBER),
            (r"\s", SPACE),
            (r"\p{M}", MARK),
            (r"[\p{Lu}\p{Lt}]", UPPER),
            (r"\p{Ll}", LOWER),
        ] {
            for (first, last) in ranges(class) {
                for flags in &mut all[first as usize..=last as usize] {
                    *flags |= flag;
                }
            }
        }
        let mut known: HashMap<&[u8], u16> = HashMap::new();
        let mut flags = Vec::new();
        let block_of = all
            .chunks(256)
            .map(|block| {
                *known.entry(block).or_insert_with(|| {
                    flags.extend_from_slice(block);
                    (flags.len() / 256 - 1) as u16
                })
            })
            .collect();
        Classes { block_of, flags }
    }
}

pub static CLASSES: LazyLock<Classes> = LazyLock::new(Classes::build);

/// Returns the ranges of characters of a class written as a regular expression.
fn ranges(class: &str) -> Vec<(u32, u32)> {
    let hir = regex_syntax::parse(class).expect("a class written in this file");
    let HirKind::Class(Class::Unicode(set)) = hir.kind() else { panic!("not a class: {class}") };
    set.ranges().iter().map(|r| (r.start() as u32, r.end() as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_of_the_stated_version() {
        assert_eq!(unicode_version(), "16.0.0");
        let age = |v: &str| regex_syntax::parse(&format!(r"[\p{{L}}&&\p{{age:{v}}}]")).is_ok();
        assert!(age("16.0"), "the stated version is known");
        assert!(!age("17.0"), "a newer version is not");
        // GARAY CAPITAL LETTER A and LATIN CAPITAL LETTER LAMBDA WITH STROKE came with 16.0.
        for new in ['\u{10D50}', '\u{A7DA}'] {
            assert_eq!(CLASSES.of(new as u32), LETTER | UPPER);
        }
        // SIDETIC LETTER N01 comes with 17.0.
        assert_eq!(CLASSES.of(0x10940), 0);
    }

    #[test]
    fn every_character_has_the_classes_of_the_regular_expression() {
        let regex = |p: &str| fancy_regex::Regex::new(p).unwrap();
        let tests = [
            (LETTER, regex(r"^\p{L}")),
            (NUMBER, regex(r"^\p{N}")),
            (SPACE, regex(r"^\s")),
            (MARK, regex(r"^\p{M}")),
            (UPPER, regex(r"^[\p{Lu}\p{Lt}]")),
            (LOWER, regex(r"^\p{Ll}")),
        ];
        for c in ('\0'..=char::MAX).step_by(7) {
            for (flag, regex) in &tests {
                let is = regex.is_match(c.to_string().as_str()).unwrap();
                assert_eq!(CLASSES.of(c as u32) & flag != 0, is, "{c:?}");
            }
        }
    }
}

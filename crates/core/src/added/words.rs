//! Words: whether a word character is next to a token.
//!
//! `\w` as in Unicode's annex 18: alphabetic characters, marks, decimal digits, connectors and joiners.
//!
//! Cost: one look-up in a sorted list of ranges, for tokens with `single_word` only.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, HirKind};

static WORD: LazyLock<ClassUnicode> = LazyLock::new(|| {
    let hir = regex_syntax::parse(r"\w").expect("a class");
    let HirKind::Class(Class::Unicode(class)) = hir.kind() else { unreachable!("not a class") };
    class.clone()
});

fn is_word(c: char) -> bool {
    let ranges = WORD.ranges();
    let after = ranges.partition_point(|range| range.start() <= c);
    after > 0 && c <= ranges[after - 1].end()
}

pub fn begins_with_word(text: &str) -> bool {
    text.chars().next().is_some_and(is_word)
}

pub fn ends_with_word(text: &str) -> bool {
    text.chars().next_back().is_some_and(is_word)
}

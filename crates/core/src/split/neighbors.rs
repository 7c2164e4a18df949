//! Neighbors: which two characters can be side by side inside a match of a pattern.
//!
//! Where a pattern can never step from one character to the next, on any path through it, successful or not, no
//! match contains both, and what an engine does on the left does not depend on whether the second character
//! follows or the text ends. So text can be cut there, whatever comes before and after. The incremental encoder
//! looks for such cuts; `docs/how-bpe-works.md` ("Growing text") has the proof.
//!
//! The pairs are those of Glushkov's construction (1961): for every concatenation, the last characters of one part
//! and the first characters of the next; for every repetition, its last and its first. Look-ahead is a path like
//! any other, and the end of the text (`$`) can be followed by any character: then `$` is false where it would
//! have been true. A pattern that looks behind (`\b`, `(?<=a)`, `^`), or that refers to groups, has no neighbors
//! here: nothing is known about it.
//!
//! Cost: about a millisecond, once per pattern and only where it is asked for; then two binary searches per pair
//! of classes.

use fancy_regex::{Assertion, Expr};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

use super::rewrite::{Regular, plain};
use super::zones::contains;

/// The pairs of characters that a pattern can step over.
pub struct Neighbors {
    /// Different classes of left characters, with all that may follow each.
    pairs: Vec<(ClassUnicode, ClassUnicode)>,
    /// Every character that the pattern can consume or look at.
    all: ClassUnicode,
}

/// What is known of a part of a pattern.
struct Part {
    /// The characters that it can look at first.
    first: ClassUnicode,
    /// The characters that it can consume last.
    last: ClassUnicode,
    /// Whether it can consume nothing.
    empty: bool,
}

impl Neighbors {
    /// Finds the pairs of a pattern; `None` if it looks behind, or is of a kind that cannot be analyzed.
    pub fn of_pattern(pattern: &str) -> Option<Neighbors> {
        let tree = Expr::parse_tree(pattern).ok()?;
        let mut found = Neighbors::none();
        found.of_expr(&tree.expr)?;
        Some(found)
    }

    /// Finds the pairs of a regular pattern.
    pub fn of_regular(regular: &Regular) -> Option<Neighbors> {
        let mut found = Neighbors::none();
        for alternative in &regular.alternatives {
            found.of_hir(alternative)?;
        }
        if let Some(gives_back) = &regular.gives_back {
            // It looks at what follows the run.
            found.add(&gives_back.class, &any());
        }
        Some(found)
    }

    /// Whether a match may contain the two characters side by side, or depend on them being so.
    pub fn may_meet(&self, left: char, right: char) -> bool {
        self.pairs.iter().any(|(lefts, rights)| contains(lefts, left) && contains(rights, right))
    }

    /// Whether a match may contain the character.
    pub fn may_match(&self, c: char) -> bool {
        contains(&self.all, c)
    }

    fn none() -> Neighbors {
        Neighbors { pairs: Vec::new(), all: ClassUnicode::empty() }
    }

    fn add(&mut self, left: &ClassUnicode, right: &ClassUnicode) {
        if left.ranges().is_empty() || right.ranges().is_empty() {
            return;
        }
        match self.pairs.iter_mut().find(|(lefts, _)| lefts == left) {
            Some((_, rights)) => rights.union(right),
            None => self.pairs.push((left.clone(), right.clone())),
        }
    }

    fn one(&mut self, class: ClassUnicode) -> Part {
        self.all.union(&class);
        Part { first: class.clone(), last: class, empty: false }
    }

    fn of_expr(&mut self, expr: &Expr) -> Option<Part> {
        if let Some(hir) = plain(expr) {
            return self.of_hir(&hir);
        }
        match expr {
            Expr::Concat(parts) => self.in_turn(parts.iter(), Self::of_expr),
            Expr::Alt(parts) => self.either(parts.iter(), Self::of_expr),
            Expr::Group(inner) => self.of_expr(inner),
            Expr::AtomicGroup(inner) => self.of_expr(inner),
            Expr::Repeat { child, lo, hi, .. } => {
                let part = self.of_expr(child)?;
                Some(self.repeated(part, *lo == 0, *hi > 1))
            }
            Expr::LookAround(
                inner,
                fancy_regex::LookAround::LookAhead | fancy_regex::LookAround::LookAheadNeg,
            ) => {
                let ahead = self.of_expr(inner)?;
                Some(Part { first: ahead.first, last: ClassUnicode::empty(), empty: true })
            }
            Expr::Assertion(Assertion::EndText | Assertion::EndLine { crlf: false }) => Some(end()),
            _ => None,
        }
    }

    fn of_hir(&mut self, hir: &Hir) -> Option<Part> {
        match hir.kind() {
            HirKind::Empty => Some(nothing()),
            HirKind::Look(Look::End) => Some(end()),
            HirKind::Look(_) | HirKind::Class(Class::Bytes(_)) => None,
            HirKind::Class(Class::Unicode(class)) => Some(self.one(class.clone())),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).ok()?;
                self.in_turn(text.chars(), |found, c| {
                    Some(found.one(ClassUnicode::new([ClassUnicodeRange::new(c, c)])))
                })
            }
            HirKind::Repetition(repeat) => {
                let part = self.of_hir(&repeat.sub)?;
                Some(self.repeated(part, repeat.min == 0, repeat.max != Some(1)))
            }
            HirKind::Capture(capture) => self.of_hir(&capture.sub),
            HirKind::Concat(parts) => self.in_turn(parts.iter(), Self::of_hir),
            HirKind::Alternation(parts) => self.either(parts.iter(), Self::of_hir),
        }
    }

    /// Returns a concatenation.
    fn in_turn<T>(
        &mut self,
        parts: impl Iterator<Item = T>,
        mut of: impl FnMut(&mut Self, T) -> Option<Part>,
    ) -> Option<Part> {
        let mut whole = nothing();
        for part in parts {
            let part = of(self, part)?;
            self.add(&whole.last, &part.first);
            if whole.empty {
                whole.first.union(&part.first);
            }
            if !part.empty {
                whole.last = ClassUnicode::empty();
            }
            whole.last.union(&part.last);
            whole.empty &= part.empty;
        }
        Some(whole)
    }

    /// Returns an alternation.
    fn either<T>(
        &mut self,
        parts: impl Iterator<Item = T>,
        mut of: impl FnMut(&mut Self, T) -> Option<Part>,
    ) -> Option<Part> {
        let mut whole = Part { empty: false, ..nothing() };
        for part in parts {
            let part = of(self, part)?;
            whole.first.union(&part.first);
            whole.last.union(&part.last);
            whole.empty |= part.empty;
        }
        Some(whole)
    }

    fn repeated(&mut self, part: Part, optional: bool, several: bool) -> Part {
        if several {
            self.add(&part.last, &part.first);
        }
        Part { empty: part.empty || optional, ..part }
    }
}

fn nothing() -> Part {
    Part { first: ClassUnicode::empty(), last: ClassUnicode::empty(), empty: true }
}

/// The end of the text or of a line, which a character that follows disproves.
fn end() -> Part {
    Part { first: any(), last: ClassUnicode::empty(), empty: true }
}

fn any() -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meets(pattern: &str, left: char, right: char) -> bool {
        Neighbors::of_pattern(pattern).unwrap().may_meet(left, right)
    }

    #[test]
    fn pairs_are_those_that_a_path_steps_over() {
        for (pattern, left, right, expected) in [
            ("[a-c]+", 'a', 'c', true),
            ("[a-c]+", 'a', 'd', false),
            ("[a-c]", 'a', 'a', false),
            ("ab?c", 'a', 'c', true),
            ("ab?c", 'b', 'c', true),
            ("ab?c", 'c', 'a', false),
            ("(?:ab|cd)*", 'b', 'c', true),
            ("(?:ab|cd)*", 'a', 'd', false),
            ("a(?=bc)", 'a', 'b', true),
            ("a(?=bc)", 'b', 'c', true),
            ("a(?!b)c", 'a', 'b', true),
            ("a(?!b)c", 'a', 'c', true),
            ("a(?!b)c", 'a', 'd', false),
            ("a++$|b", 'a', 'b', true),
            ("a++$|b", 'b', 'a', false),
            ("(?i:'s)|x", '\'', 'S', true),
            (r"\s+(?!\S)|\s", ' ', 'x', true),
            (r"\s+(?!\S)|\s|x", 'x', ' ', false),
            ("(?>ab|c)d", 'b', 'd', true),
        ] {
            assert_eq!(meets(pattern, left, right), expected, "{pattern} {left} {right}");
        }
    }

    #[test]
    fn patterns_that_look_behind_have_none() {
        for pattern in [r"\bx", "(?<=a)b", "^a|b", r"(a)\1", r"(?m)^a|b", r"a(?<!b)"] {
            assert!(Neighbors::of_pattern(pattern).is_none(), "{pattern}");
        }
    }
}

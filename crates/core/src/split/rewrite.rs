//! Rewrite: a pattern in the dialect of backtracking engines becomes regular alternatives, if that changes
//! nothing.
//!
//! Three things in common patterns are not regular as written:
//! - *possessive repeats* and atomic groups (`\p{L}++`). At the end of an alternative nothing can backtrack
//!   into them, so the mark has no effect. Elsewhere, a possessive repeat of a class C differs from a plain
//!   one only where giving back characters helps; what follows would then have to begin with a character of
//!   C. If it cannot, or if it can match the empty string and so never fails, the mark is dropped.
//! - *`\s+(?!\S)`*: a run of a class, not followed by anything outside the class. It is a plain run that
//!   gives back its last character unless the text ends; `dfa.rs` does that after the match.
//! - everything else (look-behind, back-references, word boundaries) is not regular here: `None`.
//!
//! Cost: microseconds to a millisecond, once per pattern.

use fancy_regex::{Assertion, Expr};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

use crate::{Error, Result};

/// The alternatives of a regular pattern, in order of preference.
pub struct Regular {
    pub alternatives: Vec<Hir>,
    /// The alternative that gives back the last character of its run.
    pub gives_back: Option<GivesBack>,
}

/// An alternative that is a run of a class, and gives back the last character if others follow.
pub struct GivesBack {
    pub alternative: usize,
    pub class: ClassUnicode,
    /// It gives back only before these; `None` means before any that is not of the class.
    pub before: Option<ClassUnicode>,
}

/// Rewrites a pattern; `Ok(None)` if it needs the look-around tier.
pub fn regular(pattern: &str) -> Result<Option<Regular>> {
    let bad = |reason: String| Error::BadPattern { pattern: pattern.into(), reason };
    let tree = Expr::parse_tree(pattern).map_err(|e| bad(e.to_string()))?;
    if any(&tree.expr, &|e| matches!(e, Expr::KeepOut)) {
        return Err(bad(
            r"\K moves the start of a match, but a pre-token begins where the last one ended; remove it"
                .into(),
        ));
    }
    if any(&tree.expr, &|e| matches!(e, Expr::ContinueFromPreviousMatchEnd)) {
        return Err(bad(
            r"\G matches where the last match ended; every pre-token begins there anyway, so remove it"
                .into(),
        ));
    }
    let mut regular = Regular { alternatives: Vec::new(), gives_back: None };
    for alternative in parts(&tree.expr, true) {
        let parts = parts(alternative, false);
        let hir = if let Some((run, class)) = run_before_look_ahead(parts) {
            if regular.gives_back.is_some() {
                return Ok(None);
            }
            let alternative = regular.alternatives.len();
            regular.gives_back = Some(GivesBack { alternative, class, before: None });
            Some(run)
        } else {
            without_possessives(parts)
        };
        let Some(hir) = hir else { return Ok(None) };
        if hir.properties().minimum_len() == Some(0) {
            let n = regular.alternatives.len() + 1;
            return Err(bad(format!(
                "alternative {n} can match the empty string; make it consume at least one character"
            )));
        }
        regular.alternatives.push(hir);
    }
    Ok(Some(regular))
}

/// Returns the members of an alternation, or of a concatenation; one if it is neither.
fn parts(expr: &Expr, alternation: bool) -> &[Expr] {
    match expr {
        Expr::Alt(all) if alternation => all,
        Expr::Concat(all) if !alternation => all,
        one => std::slice::from_ref(one),
    }
}

fn any(expr: &Expr, is: &dyn Fn(&Expr) -> bool) -> bool {
    is(expr) || expr.children_iter().any(|child| any(child, is))
}

/// Recognizes `C+(?!D)` where D is every character not in C; returns the run, and C.
fn run_before_look_ahead(parts: &[Expr]) -> Option<(Hir, ClassUnicode)> {
    let [run, Expr::LookAround(ahead, fancy_regex::LookAround::LookAheadNeg)] = parts else { return None };
    let Expr::Repeat { child, lo: 1, hi: usize::MAX, greedy: true } = run else { return None };
    let mut class = class_of(&plain(child)?)?;
    let stop = class_of(&plain(ahead)?)?;
    class.negate();
    let exact = class == stop;
    class.negate();
    exact.then_some((plain(run)?, class))
}

/// Returns the alternative with its possessive marks dropped, if that changes nothing.
fn without_possessives(parts: &[Expr]) -> Option<Hir> {
    let mut plain_parts = Vec::new();
    // From the right, because what may be dropped depends on what follows.
    for part in parts.iter().rev() {
        let Expr::AtomicGroup(inner) = part else {
            plain_parts.insert(0, plain(part)?);
            continue;
        };
        let hir = plain(inner)?;
        let (first, empty) = first(&Hir::concat(plain_parts.clone()))?;
        if !empty {
            let Expr::Repeat { child, greedy: true, .. } = &**inner else { return None };
            let mut both = class_of(&plain(child)?)?;
            both.intersect(&first);
            if !both.ranges().is_empty() {
                return None;
            }
        }
        plain_parts.insert(0, hir);
    }
    Some(Hir::concat(plain_parts))
}

/// Returns the expression as the regular engine reads it.
pub(super) fn plain(expr: &Expr) -> Option<Hir> {
    let foreign = |e: &Expr| {
        !matches!(
            e,
            Expr::Empty
                | Expr::Any { .. }
                | Expr::Assertion(Assertion::EndText)
                | Expr::Literal { .. }
                | Expr::Concat(_)
                | Expr::Alt(_)
                | Expr::Group(_)
                | Expr::Repeat { .. }
                | Expr::Delegate { .. }
        )
    };
    if any(expr, &foreign) {
        return None;
    }
    let mut text = String::new();
    expr.to_str(&mut text, 0);
    regex_syntax::parse(&text).ok()
}

/// Returns the class that matches exactly what `hir` matches, if that is one character.
pub fn class_of(hir: &Hir) -> Option<ClassUnicode> {
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class.clone()),
        HirKind::Literal(literal) => {
            let mut chars = std::str::from_utf8(&literal.0).ok()?.chars();
            let c = chars.next()?;
            chars.next().is_none().then(|| ClassUnicode::new([ClassUnicodeRange::new(c, c)]))
        }
        HirKind::Capture(capture) => class_of(&capture.sub),
        _ => None,
    }
}

/// Returns the characters that a match of `hir` can begin with, and whether it can match the empty string.
fn first(hir: &Hir) -> Option<(ClassUnicode, bool)> {
    match hir.kind() {
        HirKind::Empty => Some((ClassUnicode::empty(), true)),
        HirKind::Look(Look::End) => Some((ClassUnicode::empty(), false)),
        HirKind::Look(_) => None,
        HirKind::Class(Class::Unicode(class)) => Some((class.clone(), false)),
        HirKind::Class(Class::Bytes(_)) => None,
        HirKind::Literal(literal) => {
            let c = std::str::from_utf8(&literal.0).ok()?.chars().next()?;
            Some((ClassUnicode::new([ClassUnicodeRange::new(c, c)]), false))
        }
        HirKind::Repetition(repeat) => {
            let (class, empty) = first(&repeat.sub)?;
            Some((class, empty || repeat.min == 0))
        }
        HirKind::Capture(capture) => first(&capture.sub),
        HirKind::Concat(all) => {
            let mut class = ClassUnicode::empty();
            for part in all {
                let (more, empty) = first(part)?;
                class.union(&more);
                if !empty {
                    return Some((class, false));
                }
            }
            Some((class, true))
        }
        HirKind::Alternation(all) => {
            let (mut class, mut any_empty) = (ClassUnicode::empty(), false);
            for part in all {
                let (more, empty) = first(part)?;
                class.union(&more);
                any_empty |= empty;
            }
            Some((class, any_empty))
        }
    }
}

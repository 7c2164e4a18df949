//! Zones: several splits in sequence as one pattern.
//!
//! Tokenizers often isolate numbers or ideographs first and split the rest by a pattern (DeepSeek, StarCoder).
//! Each stage sees the pieces of the one before alone, which takes a pass over the text per stage. But if the
//! first stages isolate runs of a class of characters, K+ or K{1,n}, then the characters alone decide where
//! those pieces begin and end: the text divides into *zones*, runs of K and runs of what is in no class. A
//! pattern that is run on each zone alone is the same as one in which
//!
//! - every class of characters contains only those of one zone, so that no match leaves its zone. There is one
//!   copy of each alternative per zone; the first character decides which copy can match;
//! - the look-ahead of `\s+(?!\S)` sees the end of the zone as the end of the text;
//! - a zone whose characters the pattern does not match is a piece as it is.
//!
//! What the pattern does not match is a gap, as before, and gaps join only inside a zone (`matcher.rs`).
//!
//! `None` wherever this cannot be shown: classes that overlap, other look-around, a pattern that would split
//! K{1,n} further. The stages then run one after the other.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition};

use super::rewrite::{self, GivesBack, Regular, class_of};

/// Characters that a stage isolates, in runs of at most `longest` of them.
pub struct Zone {
    class: ClassUnicode,
    longest: Option<u32>,
}

impl Zone {
    /// Reads a pattern that isolates runs of a class: K, K{1,n} or K+.
    pub fn of(pattern: &str) -> Option<Zone> {
        let regular = rewrite::regular(pattern).ok()??;
        let [run] = &regular.alternatives[..] else { return None };
        if regular.gives_back.is_some() {
            return None;
        }
        match run.kind() {
            HirKind::Repetition(Repetition { min: 1, max, greedy: true, sub }) => {
                Some(Zone { class: class_of(sub)?, longest: *max })
            }
            _ => Some(Zone { class: class_of(run)?, longest: Some(1) }),
        }
    }
}

/// A pattern that splits like several in sequence.
pub struct Zoned {
    pub regular: Regular,
    /// The classes of the zones; other characters are a zone too.
    pub classes: Vec<ClassUnicode>,
}

/// Returns the one pattern that isolates the zones in turn and splits each of them by `pattern`.
pub fn zoned(zones: &[Zone], pattern: &str) -> Option<Zoned> {
    let whole = rewrite::regular(pattern).ok()??;
    let mut all = Regular { alternatives: Vec::new(), gives_back: None };
    let mut rest = ClassUnicode::empty();
    for zone in zones {
        if !meet(&rest, &zone.class).ranges().is_empty() {
            return None;
        }
        rest.union(&zone.class);
        let inside = restricted(&whole, &zone.class)?;
        match zone.longest {
            // One character cannot be split further, and what is not matched stays whole.
            Some(longest) if longest == 1 || inside.alternatives.is_empty() => {
                all.alternatives.push(run(&zone.class, Some(longest)));
            }
            None if inside.alternatives.is_empty() => all.alternatives.push(run(&zone.class, None)),
            Some(_) => return None,
            None => all.append(inside)?,
        }
    }
    rest.negate();
    all.append(restricted(&whole, &rest)?)?;
    Some(Zoned { regular: all, classes: zones.iter().map(|zone| zone.class.clone()).collect() })
}

impl Regular {
    /// Adds alternatives; `None` if both have one that gives back.
    fn append(&mut self, more: Regular) -> Option<()> {
        if let Some(gives_back) = more.gives_back {
            if self.gives_back.is_some() {
                return None;
            }
            let alternative = self.alternatives.len() + gives_back.alternative;
            self.gives_back = Some(GivesBack { alternative, ..gives_back });
        }
        self.alternatives.extend(more.alternatives);
        Some(())
    }
}

/// Returns the alternatives that can match inside a zone, with classes that contain only its characters.
fn restricted(regular: &Regular, zone: &ClassUnicode) -> Option<Regular> {
    let mut inside = Regular { alternatives: Vec::new(), gives_back: None };
    for (i, alternative) in regular.alternatives.iter().enumerate() {
        let Some(hir) = restrict(alternative, zone)? else { continue };
        if let Some(gives_back) = regular.gives_back.as_ref().filter(|it| it.alternative == i) {
            let class = meet(&gives_back.class, zone);
            let mut stop = gives_back.class.clone();
            stop.negate();
            inside.gives_back = Some(GivesBack {
                alternative: inside.alternatives.len(),
                class,
                before: Some(meet(&stop, zone)),
            });
        }
        inside.alternatives.push(hir);
    }
    Some(inside)
}

/// Returns the expression with classes that contain only characters of the zone: `Some(None)` if it cannot
/// match, `None` if it is of a kind that cannot be restricted.
fn restrict(hir: &Hir, zone: &ClassUnicode) -> Option<Option<Hir>> {
    Some(match hir.kind() {
        HirKind::Empty => Some(Hir::empty()),
        HirKind::Look(_) | HirKind::Class(Class::Bytes(_)) => return None,
        HirKind::Class(Class::Unicode(class)) => {
            let both = meet(class, zone);
            (!both.ranges().is_empty()).then(|| Hir::class(Class::Unicode(both)))
        }
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            text.chars().all(|c| contains(zone, c)).then(|| hir.clone())
        }
        HirKind::Repetition(repeat) => match restrict(&repeat.sub, zone)? {
            Some(sub) => Some(Hir::repetition(repeat.with(sub))),
            None => (repeat.min == 0).then(Hir::empty),
        },
        HirKind::Capture(capture) => restrict(&capture.sub, zone)?,
        HirKind::Concat(parts) => {
            let parts: Vec<Option<Hir>> =
                parts.iter().map(|part| restrict(part, zone)).collect::<Option<_>>()?;
            parts.into_iter().collect::<Option<Vec<Hir>>>().map(Hir::concat)
        }
        HirKind::Alternation(parts) => {
            let parts: Vec<Option<Hir>> =
                parts.iter().map(|part| restrict(part, zone)).collect::<Option<_>>()?;
            let parts: Vec<Hir> = parts.into_iter().flatten().collect();
            (!parts.is_empty()).then(|| Hir::alternation(parts))
        }
    })
}

fn run(class: &ClassUnicode, longest: Option<u32>) -> Hir {
    let sub = Box::new(Hir::class(Class::Unicode(class.clone())));
    Hir::repetition(Repetition { min: 1, max: longest, greedy: true, sub })
}

fn meet(one: &ClassUnicode, other: &ClassUnicode) -> ClassUnicode {
    let mut both = one.clone();
    both.intersect(other);
    both
}

/// Whether a class contains a character.
pub fn contains(class: &ClassUnicode, c: char) -> bool {
    let order = |range: &ClassUnicodeRange| {
        if range.end() < c {
            std::cmp::Ordering::Less
        } else {
            range.start().cmp(&c).max(std::cmp::Ordering::Equal)
        }
    };
    class.ranges().binary_search_by(order).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_runs_of_a_class() {
        let longest = |pattern: &str| Zone::of(pattern).map(|zone| zone.longest);
        assert_eq!(longest(r"\p{N}"), Some(Some(1)));
        assert_eq!(longest(r"\p{N}{1,3}"), Some(Some(3)));
        assert_eq!(longest("[一-龥]+"), Some(None));
        for other in [r"\p{N}{2,3}", r"\s+(?!\S)", "a|bc", "ab", r"\p{N}+?"] {
            assert!(Zone::of(other).is_none(), "{other}");
        }
    }

    #[test]
    fn what_cannot_be_shown_to_be_the_same_is_refused() {
        let zones =
            |patterns: &[&str]| -> Vec<Zone> { patterns.iter().map(|p| Zone::of(p).unwrap()).collect() };
        assert!(zoned(&zones(&[r"\p{N}", "[一-龥]+"]), r"\w+|\s+").is_some());
        assert!(zoned(&zones(&[r"\p{N}", "[0-5]"]), r"\p{L}+").is_none(), "classes overlap");
        assert!(zoned(&zones(&[r"\p{N}{1,3}"]), r"\w").is_none(), "runs are split further");
        assert!(zoned(&zones(&[r"\p{N}{1,3}"]), r"\p{L}+").is_some());
        assert!(
            zoned(&zones(&[r"\p{N}"]), r"\s+$|\s").is_none(),
            "the end of the text is not that of a zone"
        );
        assert!(zoned(&zones(&[r"[\s\d]+"]), r"\s+(?!\S)|\s+|\d").is_some());
    }

    #[test]
    fn classes_contain_their_ranges() {
        let class = ClassUnicode::new([('b', 'd'), ('x', 'x')].map(|(a, z)| ClassUnicodeRange::new(a, z)));
        let found: String = ('a'..='z').filter(|&c| contains(&class, c)).collect();
        assert_eq!(found, "bcdx");
    }
}

//! The DFA tier: any regular pattern, one table look-up a byte.
//!
//! A pre-token that ends in the usual way is found by the fast table of `dfa_table.rs`, which a text is
//! walked through from end to end without a branch that could be mispredicted: every byte writes its place to
//! the output, and a bit of the table says whether the output moves on. Where that table does not know, the
//! pre-token is matched again with care.
//!
//! Cost: 450–800 MB/s a core; matching every pre-token with care, as regex engines do, was 200–300. It loses
//! where a long attempt ends in a short match, again and again (`\p{L}*ing|.` on a long run of letters is
//! quadratic): hence the step limit.

use regex_syntax::hir::{ClassUnicode, Hir, HirKind};

use super::bitmap::char_before;
use super::dfa_table::{CARE, ENDS, Table};
use super::lanes::LEAST;
use super::rewrite::{Regular, class_of};
use crate::{Error, Result};

pub struct Dfa {
    pattern: String,
    pub(super) table: Table,
    /// For the place where a run of one character gives it back and so fails: the same without that
    /// alternative. None where it would match just that character.
    without: Option<Table>,
}

/// How many bytes may still be looked at.
pub struct Budget(pub u64);

impl Budget {
    pub fn of(text: &str) -> Budget {
        Budget(64 * text.len() as u64 + (16 << 20))
    }
}

impl Dfa {
    /// None: the automaton would be too large, or look behind.
    pub fn new(pattern: &str, regular: &Regular) -> Option<Dfa> {
        let gives_back = regular.gives_back.as_ref().map(|(i, _)| *i);
        let table = Table::new(&regular.alternatives, gives_back)?;
        let without = match &regular.gives_back {
            Some((i, class)) if !takes_one(regular.alternatives.get(i + 1), class) => {
                let mut rest = regular.alternatives.clone();
                rest.remove(*i);
                Some(Table::new(&rest, None)?)
            }
            _ => None,
        };
        Some(Dfa { pattern: pattern.into(), table, without })
    }

    pub fn split(&self, text: &str, ends: &mut Vec<u32>) -> Result<()> {
        self.split_fast(text, 0, text.len(), true, &mut Budget::of(text), ends)?;
        Ok(())
    }

    /// As `Splitter::split_beginning`.
    pub fn split_beginning(&self, text: &str, ends: &mut Vec<u32>) -> Result<usize> {
        self.split_fast(text, 0, text.len(), false, &mut Budget::of(text), ends)
    }

    /// Appends the ends of pre-tokens from `at` on, a boundary of the whole document, as long as `go_on` says
    /// so.
    pub fn split_from(
        &self,
        text: &str,
        mut at: usize,
        budget: &mut Budget,
        ends: &mut Vec<u32>,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<()> {
        while at < text.len() {
            (at, _) = self.pretoken(text.as_bytes(), at, budget)?;
            ends.push(at as u32);
            if !go_on(at) {
                break;
            }
        }
        Ok(())
    }

    /// Appends the ends of pre-tokens from `from` on, at least up to `until`; where the text goes on (not
    /// `whole`), only those that are decided. Returns where they end.
    pub fn split_fast(
        &self,
        text: &str,
        from: usize,
        until: usize,
        whole: bool,
        budget: &mut Budget,
        ends: &mut Vec<u32>,
    ) -> Result<usize> {
        let text = text.as_bytes();
        let mut start = from;
        while start < until {
            if until - start >= LEAST {
                let before = start;
                start = self.split_in_lanes(text, start, until, budget, ends)?;
                if start > before {
                    continue;
                }
            }
            let mut at = start;
            let mut state = self.table.start;
            // Ends at the end of the text, or where care is needed.
            loop {
                let stop = text.len().min(at + 1024);
                ends.reserve(1024);
                let mut count = 0;
                // SAFETY: `at` is below `stop`, and so below the length of the text. `state` is the start or
                // comes from an entry of `fast` without `CARE`, so by [`Table`] a class can be added to it.
                // The loop runs at most 1024 times, and each time writes to place `count` and then adds at
                // most one to it: all writes are inside the 1024 places that were reserved, and the first
                // `count` are initialized.
                unsafe {
                    let out = ends.as_mut_ptr().add(ends.len());
                    while at < stop {
                        let class = self.table.class[*text.get_unchecked(at) as usize];
                        let next = *self.table.fast.get_unchecked(state as usize + class as usize);
                        if next & CARE != 0 {
                            break;
                        }
                        out.add(count).write(at as u32);
                        count += (next >> 31) as usize;
                        state = next & !ENDS;
                        at += 1;
                    }
                    ends.set_len(ends.len() + count);
                }
                if count > 0 {
                    start = ends[ends.len() - 1] as usize;
                }
                if at < stop || at == text.len() {
                    break;
                }
                if start >= until {
                    return Ok(start);
                }
            }
            self.spend(at - start, start, budget)?;
            let (end, decided) = self.pretoken(text, start, budget)?;
            if !decided && !whole {
                break;
            }
            ends.push(end as u32);
            start = end;
        }
        Ok(start)
    }

    fn spend(&self, looked: usize, at: usize, budget: &mut Budget) -> Result<()> {
        let left = budget.0.checked_sub(looked as u64);
        budget.0 = left.ok_or_else(|| Error::StepLimit { pattern: self.pattern.clone(), at })?;
        Ok(())
    }

    /// The end of the pre-token that begins at `at`, and whether it was found before the text ended.
    #[inline(always)]
    pub(super) fn pretoken(&self, text: &[u8], at: usize, budget: &mut Budget) -> Result<(usize, bool)> {
        let mut found = self.table.find(text, at);
        let mut looked = found.looked - at;
        if found.state >= self.table.giving_back && found.end < text.len() {
            let end = char_before(text, found.end);
            if end > at {
                found.end = end;
            } else if let Some(without) = &self.without {
                found = without.find(text, at);
                looked += found.looked - at;
            }
        }
        self.spend(looked, at, budget)?;
        Ok((found.end, found.decided))
    }
}

/// Whether this alternative, next in line after one that gives back, matches a lone character of the class,
/// and no more. No alternative at all leaves the character to stand alone.
fn takes_one(next: Option<&Hir>, class: &ClassUnicode) -> bool {
    match next.map(Hir::kind) {
        None => true,
        Some(HirKind::Repetition(r)) if r.min <= 1 && r.max != Some(0) => {
            class_of(&r.sub).as_ref() == Some(class)
        }
        Some(_) => next.and_then(class_of).as_ref() == Some(class),
    }
}

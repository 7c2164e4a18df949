//! Prefixes: whether a text fits, and how many ids its prefixes have, encoding no more than is needed.
//!
//! Both walk from cut to cut. A prefix that ends after a cut has the ids before the cut and those of its rest, so n
//! prefixes cost one encoding and n rests, mostly less than a word each.

use super::PART;
use super::parts::{Mark, Rules, first_cut, last_cut};
use crate::encode::Options;
use crate::encode::pipeline::Start;
use crate::{Progress, Result, Tokenizer};

impl Tokenizer {
    /// Returns whether a text has at most `most` ids, without encoding much more than that.
    pub fn fits(
        &self,
        text: &str,
        most: usize,
        options: &Options,
        progress: Option<&Progress>,
    ) -> Result<bool> {
        let rules = Rules::new(self, options)?;
        rules.check(text, 0, |_| Vec::new())?;
        let mut walk = Walk::new(self, &rules, text, progress);
        while walk.count <= most && walk.step(text.len())? {}
        Ok(walk.count <= most && walk.count + walk.rest(text.len())? <= most)
    }

    /// Returns the number of ids of the prefixes of a text with these numbers of characters, in any order. A number
    /// beyond the end of the text stands for all of it.
    pub fn count_prefixes(
        &self,
        text: &str,
        chars: &[usize],
        options: &Options,
        progress: Option<&Progress>,
    ) -> Result<Vec<usize>> {
        let mut order: Vec<usize> = (0..chars.len()).collect();
        order.sort_by_key(|&i| chars[i]);
        let Some(&longest) = order.last() else { return Ok(Vec::new()) };
        let text = &text[..super::offset_of(text, chars[longest])];
        let rules = Rules::new(self, options)?;
        rules.check(text, 0, |_| Vec::new())?;
        let mut counts = vec![0; chars.len()];
        let mut walk = Walk::new(self, &rules, text, progress);
        let (mut end, mut passed) = (0, 0);
        for i in order {
            end += super::offset_of(&text[end..], chars[i] - passed);
            passed = chars[i];
            while walk.step(end)? {}
            if let Some(mark) = last_cut(self, &text[..end], walk.at.at + 1) {
                walk.reach(mark)?;
            }
            counts[i] = walk.count + walk.rest(end)?;
        }
        Ok(counts)
    }
}

/// A walk through a text, from cut to cut.
struct Walk<'a> {
    tokenizer: &'a Tokenizer,
    rules: &'a Rules,
    text: &'a str,
    progress: Option<&'a Progress>,
    /// The cut that was reached, and the number of ids before it, with those around the text.
    at: Mark,
    count: usize,
    ids: Vec<u32>,
}

impl<'a> Walk<'a> {
    fn new(
        tokenizer: &'a Tokenizer,
        rules: &'a Rules,
        text: &'a str,
        progress: Option<&'a Progress>,
    ) -> Walk<'a> {
        let count = rules.prepend.len() + rules.append.len();
        Walk { tokenizer, rules, text, progress, at: Mark::beginning(Start::Text), count, ids: Vec::new() }
    }

    /// Continues to a cut before `end`, if there is one that is far enough.
    fn step(&mut self, end: usize) -> Result<bool> {
        match first_cut(self.tokenizer, &self.text[..end], self.at.at + PART) {
            Some(mark) => self.reach(mark).map(|()| true),
            None => Ok(false),
        }
    }

    fn reach(&mut self, mark: Mark) -> Result<()> {
        self.count += self.rest(mark.at)?;
        self.at = mark;
        Ok(())
    }

    /// Returns the number of ids of the text up to `end`.
    fn rest(&mut self, end: usize) -> Result<usize> {
        self.ids.clear();
        let part = &self.text[self.at.at..end];
        self.rules.encode_part(self.tokenizer, part, self.at.start, self.progress, &mut self.ids)?;
        Ok(self.ids.len())
    }
}

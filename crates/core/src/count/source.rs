//! Source: counts in memory, or a `.counts` file that is read from end to end each time. Training and
//! encoding take either.

use std::ops::Deref;
use std::path::Path;

use crate::count::{CountSettings, Counts, CountsReader};
use crate::{Progress, Result};

/// How many pre-tokens are read at a time. (Few in tests, so that every thread gets some.)
const SHARE: usize = if cfg!(test) { 3 } else { 1 << 14 };

/// Unique pre-tokens and how often each occurs.
pub enum Source<'a> {
    Memory(&'a Counts),
    File { path: &'a Path, settings: CountSettings },
}

/// Some pre-tokens and their counts.
#[derive(Default)]
pub struct Share {
    bytes: Vec<u8>,
    pretokens: Vec<(usize, u64)>,
}

impl Share {
    /// The maximum number of pre-tokens in a share.
    pub const SIZE: usize = SHARE;

    fn push(&mut self, pretoken: &[u8], count: u64) {
        self.bytes.extend_from_slice(pretoken);
        self.pretokens.push((self.bytes.len(), count));
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let mut start = 0;
        self.pretokens.iter().map(move |&(end, count)| {
            let pretoken = &self.bytes[start..end];
            start = end;
            (pretoken, count)
        })
    }
}

/// Fills a share with the next pre-tokens; false at the end.
pub type Shares<'a> = Box<dyn FnMut(&mut Share) -> Result<bool> + Send + 'a>;

/// The size of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub pretokens: u64,
    pub bytes: u64,
}

/// Counts in memory, borrowed or loaded.
pub enum Held<'a> {
    Lent(&'a Counts),
    Own(Counts),
}

impl Deref for Held<'_> {
    type Target = Counts;

    fn deref(&self) -> &Counts {
        match self {
            Held::Lent(counts) => counts,
            Held::Own(counts) => counts,
        }
    }
}

impl<'a> Source<'a> {
    /// Opens a `.counts` file.
    pub fn file(path: &'a Path) -> Result<Source<'a>> {
        Ok(Source::File { path, settings: CountsReader::open(path)?.settings()? })
    }

    /// Returns the number of unique pre-tokens.
    pub fn pretokens(&self) -> Result<u64> {
        match self {
            Source::Memory(counts) => Ok(counts.len() as u64),
            Source::File { path, .. } => Ok(CountsReader::open(path)?.totals().pretokens),
        }
    }

    pub fn settings(&self) -> &CountSettings {
        match self {
            Source::Memory(counts) => &counts.settings,
            Source::File { settings, .. } => settings,
        }
    }

    /// Returns all pre-tokens, in shares.
    pub fn shares(&self) -> Result<Shares<'_>> {
        match *self {
            Source::Memory(counts) => {
                let mut next = 0;
                Ok(Box::new(move |share| {
                    share.bytes.clear();
                    share.pretokens.clear();
                    let end = counts.len().min(next + SHARE);
                    (next..end).for_each(|i| share.push(counts.pretoken(i), counts.count(i)));
                    next = end;
                    Ok(!share.pretokens.is_empty())
                }))
            }
            Source::File { path, .. } => {
                let mut reader = CountsReader::open(path)?;
                Ok(Box::new(move |share| {
                    share.bytes.clear();
                    share.pretokens.clear();
                    while share.pretokens.len() < SHARE && reader.advance()? {
                        share.push(reader.pretoken(), reader.count());
                    }
                    Ok(!share.pretokens.is_empty())
                }))
            }
        }
    }

    /// Calls `visit(pre-token, count)` for all pre-tokens, in any order.
    pub fn for_each(
        &self,
        progress: &Progress,
        mut visit: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<()> {
        if let Source::Memory(counts) = *self {
            for (nth, (pretoken, count)) in counts.iter().enumerate() {
                if nth.is_multiple_of(SHARE) {
                    progress.check()?;
                }
                visit(pretoken, count)?;
            }
            return Ok(());
        }
        let (mut shares, mut share) = (self.shares()?, Share::default());
        while shares(&mut share)? {
            progress.check()?;
            share.iter().try_for_each(|(pretoken, count)| visit(pretoken, count))?;
        }
        Ok(())
    }

    /// Returns how many pre-tokens occur less often than `least`, and how often they occur in all.
    pub fn rarer_than(&self, least: u64, progress: &Progress) -> Result<(u64, u64)> {
        let (mut pretokens, mut total) = (0, 0);
        self.for_each(progress, |_, count| {
            if count < least {
                pretokens += 1;
                total += count;
            }
            Ok(())
        })?;
        Ok((pretokens, total))
    }

    /// Returns the size without the pre-tokens that occur less often than `least`.
    pub fn size(&self, least: u64, progress: &Progress) -> Result<Size> {
        let mut size = Size::default();
        self.for_each(progress, |pretoken, count| {
            if count >= least {
                size.pretokens += 1;
                size.bytes += pretoken.len() as u64;
            }
            Ok(())
        })?;
        Ok(size)
    }

    pub fn in_memory(&self, progress: &Progress) -> Result<Held<'_>> {
        match *self {
            Source::Memory(counts) => Ok(Held::Lent(counts)),
            Source::File { path, .. } => Counts::load(path, progress).map(Held::Own),
        }
    }
}

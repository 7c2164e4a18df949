//! Aligned: a text on its way through the stages, with the bytes of the user's text that each byte comes from.
//!
//! A normalizer writes its result to an [`Output`] and says how many characters of the source each character
//! replaces. [`Rewritten`] keeps the text only, and borrows it until the first change; [`Realigned`] keeps the
//! origins too. The rules are those of Hugging Face's `NormalizedString::transform`: a character that replaces
//! some takes the origin of the first of them, an inserted character that of the character before.
//!
//! Cost: origins take 8 bytes per byte of text, so they are computed only where offsets are wanted.

use std::borrow::Cow;
use std::ops::Range;

use crate::{Error, Result};

/// A text and, for each of its bytes, the byte range of the user's text that the byte comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aligned {
    pub text: String,
    pub origins: Vec<(u32, u32)>,
}

impl Aligned {
    /// The user's text: every byte comes from its own character.
    pub fn of(text: &str) -> Result<Aligned> {
        Aligned::from(text, 0)
    }

    /// A part of the user's text that begins at the byte `start`.
    pub fn from(text: &str, start: usize) -> Result<Aligned> {
        if start + text.len() > u32::MAX as usize {
            return Err(Error::TooLong { what: "document", bytes: (start + text.len()) as u64 });
        }
        let mut origins = Vec::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            let origin = ((start + at) as u32, (start + at + c.len_utf8()) as u32);
            origins.extend(std::iter::repeat_n(origin, c.len_utf8()));
        }
        Ok(Aligned { text: text.into(), origins })
    }

    /// A part of the text with its origins; `None` if `range` does not start and end between characters.
    pub fn slice(&self, range: Range<usize>) -> Option<Aligned> {
        let text = self.text.get(range.clone())?.into();
        Some(Aligned { text, origins: self.origins[range].into() })
    }

    /// The byte range of the user's text that a range of this text comes from; `None` if the range is empty.
    pub fn origin(&self, range: Range<usize>) -> Option<(u32, u32)> {
        let origins = self.origins.get(range)?;
        Some((origins.first()?.0, origins.last()?.1))
    }
}

/// Receives the result of a normalizer, in order.
pub(super) trait Output {
    /// Whether origins are kept; if not, equal text may be reported as kept, however it came about.
    const ALIGNS: bool;

    /// Copies a range of the source, which starts where the last call ended.
    fn keep(&mut self, range: Range<usize>);

    /// Copies a range of the source as [`Output::keep`], with ASCII letters in lower case.
    fn keep_lowercase(&mut self, range: Range<usize>);

    /// Drops a range of the source, which starts where the last call ended.
    fn skip(&mut self, range: Range<usize>);

    /// Drops a range as [`Output::skip`], with the origins of Hugging Face's Precompiled: an inserted character
    /// before the range takes the origin of the range, and if nothing is before it, the characters that
    /// follow take the origins of those dropped.
    fn skip_replaced(&mut self, range: Range<usize>);

    /// Writes `c` for the next `chars` characters of the source; inserts it if `chars` is 0.
    fn put(&mut self, c: char, chars: usize);

    fn put_str(&mut self, text: &str, chars: impl Fn(usize) -> usize) {
        for (i, c) in text.chars().enumerate() {
            self.put(c, chars(i));
        }
    }
}

/// The text of a result, without origins.
pub(super) struct Rewritten<'a> {
    source: &'a str,
    /// How much of the source is the result so far, while `text` is empty.
    unchanged: usize,
    text: Option<String>,
}

impl<'a> Rewritten<'a> {
    pub fn of(source: &'a str) -> Rewritten<'a> {
        Rewritten { source, unchanged: 0, text: None }
    }

    pub fn finish(self) -> Cow<'a, str> {
        match self.text {
            Some(text) => Cow::Owned(text),
            None => Cow::Borrowed(&self.source[..self.unchanged]),
        }
    }

    #[inline]
    fn changed(&mut self) -> &mut String {
        self.text.get_or_insert_with(|| {
            let mut text = String::with_capacity(self.source.len() + self.source.len() / 8 + 16);
            text.push_str(&self.source[..self.unchanged]);
            text
        })
    }
}

impl Output for Rewritten<'_> {
    const ALIGNS: bool = false;

    #[inline]
    fn keep(&mut self, range: Range<usize>) {
        match &mut self.text {
            Some(text) => text.push_str(&self.source[range]),
            None => self.unchanged = range.end,
        }
    }

    fn keep_lowercase(&mut self, range: Range<usize>) {
        let source = self.source;
        let text = self.changed();
        let start = text.len();
        text.push_str(&source[range]);
        text[start..].make_ascii_lowercase();
    }

    #[inline]
    fn skip(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.changed();
        }
    }

    fn skip_replaced(&mut self, range: Range<usize>) {
        self.skip(range);
    }

    #[inline]
    fn put(&mut self, c: char, _: usize) {
        self.changed().push(c);
    }

    #[inline]
    fn put_str(&mut self, text: &str, _: impl Fn(usize) -> usize) {
        self.changed().push_str(text);
    }
}

/// A result with its origins.
pub(super) struct Realigned<'a> {
    source: &'a Aligned,
    /// The next character of the source that will be replaced.
    at: usize,
    /// Whether the last character was inserted.
    inserted: bool,
    result: Aligned,
}

impl<'a> Realigned<'a> {
    pub fn of(source: &'a Aligned) -> Realigned<'a> {
        let result = Aligned {
            text: String::with_capacity(source.text.len()),
            origins: Vec::with_capacity(source.text.len()),
        };
        Realigned { source, at: 0, inserted: false, result }
    }

    pub fn finish(self) -> Aligned {
        self.result
    }

    /// Steps over `chars` characters of the source. (After [`Output::skip_replaced`] they are not those that
    /// the caller means, so only their number counts.)
    fn advance(&mut self, chars: usize) {
        let rest = self.source.text[self.at..].chars();
        self.at += rest.take(chars).map(char::len_utf8).sum::<usize>();
    }

    /// The origin of a character that replaces the source at `at`, or is inserted there.
    fn origin(&self, replaces: bool) -> (u32, u32) {
        let origins = &self.source.origins;
        let origin = if replaces { origins.get(self.at) } else { origins[..self.at].last() };
        let start = origins.first().map_or(0, |first| first.0);
        // A text that grows at its very start, or by more characters than it had.
        origin.copied().unwrap_or((start, start))
    }
}

impl Output for Realigned<'_> {
    const ALIGNS: bool = true;

    fn keep(&mut self, range: Range<usize>) {
        let text = &self.source.text[range.clone()];
        if self.at == range.start {
            self.result.text.push_str(text);
            self.result.origins.extend_from_slice(&self.source.origins[range.clone()]);
            self.at = range.end;
            self.inserted &= range.is_empty();
        } else {
            text.chars().for_each(|c| self.put(c, 1));
        }
    }

    fn keep_lowercase(&mut self, range: Range<usize>) {
        let start = self.result.text.len();
        self.keep(range);
        self.result.text[start..].make_ascii_lowercase();
    }

    fn skip(&mut self, range: Range<usize>) {
        self.advance(self.source.text[range].chars().count());
    }

    fn skip_replaced(&mut self, range: Range<usize>) {
        let Some(last) = self.result.text.chars().next_back() else { return };
        if self.inserted {
            let origin = self.origin(true);
            let start = self.result.origins.len() - last.len_utf8();
            self.result.origins[start..].fill(origin);
            self.inserted = false;
        }
        self.skip(range);
    }

    fn put(&mut self, c: char, chars: usize) {
        let origin = self.origin(chars > 0);
        self.result.text.push(c);
        self.result.origins.extend(std::iter::repeat_n(origin, c.len_utf8()));
        self.advance(chars);
        self.inserted = chars == 0;
    }
}

//! Stage spans: the offsets of each token in the text that the user gave, through every stage.
//!
//! The stages run on a text that knows where each of its bytes comes from (`normalize/aligned.rs`). A token
//! covers what its bytes come from; a character that is divided between tokens belongs to each of them, and
//! what stands for several unknown characters covers all of them, as in Hugging Face tokenizers.
//!
//! Cost: some three times that of encoding. Pre-tokens are looked up in the cache, and the lengths of their tokens
//! tell where each is. Origins, and merging symbol by symbol, are left to text that a normalizer has changed and
//! to pre-tokens with unknown characters.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::{Allowed, Options, Spans};
use crate::added::{AddedToken, Segment};
use crate::normalize::Aligned;
use crate::pretokenize::{Pieces, Scratch};
use crate::tokenizer::{Inner, Pipeline};
use crate::{Error, Result, Tokenizer, split};

impl Tokenizer {
    /// Returns the ids of a text and their spans, if the tokenizer has a pipeline.
    pub fn encode_stage_spans(&self, text: &str, options: &Options) -> Option<Result<(Vec<u32>, Spans)>> {
        let pipeline = self.pipeline()?;
        let encoded = self.check_disallowed(text, options).and_then(|()| {
            let mut encoder = Encoder::new(self, pipeline, false);
            encoder.text(text, &options.allowed)?;
            Ok((encoder.ids, encoder.bytes))
        });
        Some(encoded.map(|(mut ids, bytes)| {
            let mut spans = Spans { chars: char_spans(text, &bytes), bytes };
            if let Some(prefixed) = pipeline.trims_offsets {
                self.trim(pipeline, text, &ids, prefixed, &mut spans);
            }
            let Options { prepend, append, .. } = options;
            ids.splice(0..0, prepend.iter().copied());
            ids.extend_from_slice(append);
            for (spans, end) in [(&mut spans.bytes, text.len()), (&mut spans.chars, text.chars().count())] {
                spans.splice(0..0, prepend.iter().map(|_| (0, 0)));
                spans.extend(append.iter().map(|_| (end, end)));
            }
            (ids, spans)
        }))
    }

    /// Takes the spaces at the ends of tokens out of their spans, but not one before the first token that was
    /// put there (`prefixed`): Hugging Face's `trim_offsets`.
    fn trim(&self, pipeline: &Pipeline, text: &str, ids: &[u32], prefixed: bool, spans: &mut Spans) {
        let added: HashSet<u32> = pipeline.added.tokens().iter().map(|token| token.id).collect();
        for (i, &id) in ids.iter().enumerate() {
            // Added tokens include the white space that they were found with, and all of it counts.
            let is_added = added.contains(&id);
            let (start, end) = spans.bytes[i];
            let token = match text.get(start..end).filter(|_| is_added) {
                Some(found) => Cow::Borrowed(found),
                None => String::from_utf8_lossy(self.bytes_or_special(id).unwrap_or_default()),
            };
            let is_space = |c: &char| *c == ' ' || (is_added && c.is_whitespace());
            let leading = token.chars().take_while(is_space).count();
            let trailing = token.chars().rev().take_while(is_space).count();
            for span in [&mut spans.bytes[i], &mut spans.chars[i]] {
                // One space may have been put there; of several, none was.
                if !(prefixed && leading == 1 && (i == 0 || span.0 == 0)) {
                    span.0 = (span.0 + leading).min(span.1);
                }
                if trailing > 0 && span.1 >= trailing {
                    span.1 = (span.1 - trailing).max(span.0);
                }
            }
        }
    }
}

/// The tokens of a text, as they are found.
pub(super) struct Encoder<'a> {
    tokenizer: &'a Tokenizer,
    pipeline: &'a Pipeline,
    inner: &'a [Inner],
    pub ids: Vec<u32>,
    /// The bytes of the user's text that each token covers.
    pub bytes: Vec<(usize, usize)>,
    /// The number of the pre-token, or added token, that each token is part of.
    pub words: Vec<u32>,
    /// The added tokens, by position, and the text that each was found as.
    pub added: Vec<(u32, String)>,
    /// How many pre-tokens and added tokens came before.
    word: u32,
    /// Whether offsets are those of Hugging Face where characters are dropped: as if nothing had been there.
    closes_gaps: bool,
    kept: Kept,
}

/// Buffers that are used again from pre-token to pre-token.
#[derive(Default)]
struct Kept {
    split: split::Scratch,
    scratch: Scratch,
    pieces: Pieces,
    runs: Vec<u32>,
    ids: Vec<u32>,
}

/// Where the bytes of a text come from.
#[derive(Clone, Copy)]
enum Origins<'a> {
    /// From the same bytes of the user's text, of which this is the first.
    Given(usize),
    Mapped(&'a [(u32, u32)]),
}

impl Origins<'_> {
    /// Returns what the bytes from `start` to `end` come from; there is at least one.
    #[inline(always)]
    fn span(self, start: usize, end: usize) -> (usize, usize) {
        match self {
            Origins::Given(first) => (first + start, first + end),
            Origins::Mapped(origins) => (origins[start].0 as usize, origins[end - 1].1 as usize),
        }
    }
}

impl<'a> Encoder<'a> {
    pub fn new(tokenizer: &'a Tokenizer, pipeline: &'a Pipeline, closes_gaps: bool) -> Encoder<'a> {
        let inner = pipeline.inner();
        let (ids, bytes, words, added, kept) = Default::default();
        Encoder { tokenizer, pipeline, inner, ids, bytes, words, added, word: 0, closes_gaps, kept }
    }

    pub fn text(&mut self, text: &str, allowed: &Allowed) -> Result<()> {
        let Pipeline { added, normalizer, .. } = self.pipeline;
        let wanted = |token: &AddedToken| allowed.holds(&token.content);
        if text.len() > u32::MAX as usize {
            return Err(Error::TooLong { what: "document", bytes: text.len() as u64 });
        }
        for segment in added.raw(text, wanted) {
            let range = match segment {
                Segment::Token(id, range) => {
                    self.push_added(id, &text[range.clone()], (range.start, range.end));
                    continue;
                }
                Segment::Text(range) => range,
            };
            let first = range.start == 0;
            let given = &text[range.clone()];
            match normalizer.normalize(given)? {
                // Origins take time, and where nothing changes they are known.
                Cow::Borrowed(same) if same.len() == given.len() => {
                    for segment in added.normalized(given, wanted) {
                        match segment {
                            Segment::Token(id, found) => {
                                let span = (range.start + found.start, range.start + found.end);
                                self.push_added(id, &given[found], span);
                            }
                            Segment::Text(found) => {
                                let first = first && found.start == 0;
                                self.given(&given[found.clone()], range.start + found.start, first)?;
                            }
                        }
                    }
                }
                _ => {
                    let normal = normalizer.normalize_aligned(&Aligned::from(given, range.start)?)?;
                    for segment in added.normalized(&normal.text, wanted) {
                        match segment {
                            Segment::Token(id, found) => {
                                let (start, end) = normal.origin(found.clone()).unwrap_or_default();
                                self.push_added(id, &normal.text[found], (start as usize, end as usize));
                            }
                            Segment::Text(found) => {
                                let first = first && found.start == 0;
                                if let Some(part) = normal.slice(found) {
                                    self.aligned(&part, first)?;
                                }
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes a part of the user's text that no normalizer has changed; it begins at `start`.
    fn given(&mut self, text: &str, start: usize, first: bool) -> Result<()> {
        let pretokenizer = &self.pipeline.pretokenizer;
        let mut kept = std::mem::take(&mut self.kept);
        let mut from = 0;
        if let Some(splitter) = pretokenizer.splitter() {
            let Kept { split, runs, ids, .. } = &mut kept;
            splitter.split_stepwise(text, split, |ends| {
                for &end in ends {
                    self.pretoken(text, from..end as usize, Origins::Given(start + from), runs, ids);
                    from = end as usize;
                }
                Ok(())
            })?;
        } else {
            let Kept { scratch, pieces, runs, ids, .. } = &mut kept;
            match pretokenizer.pretokenize(Cow::Borrowed(text), first, scratch, pieces)? {
                Cow::Borrowed(_) => {
                    for range in pieces.ranges() {
                        let origins = Origins::Given(start + range.start);
                        self.pretoken(text, range, origins, runs, ids);
                    }
                }
                Cow::Owned(_) => self.aligned(&Aligned::from(text, start)?, first)?,
            }
        }
        self.kept = kept;
        Ok(())
    }

    fn aligned(&mut self, text: &Aligned, first: bool) -> Result<()> {
        let mut pieces = Pieces::default();
        let split = self.pipeline.pretokenizer.pretokenize_aligned(text, first, &mut pieces)?;
        let Kept { mut runs, mut ids, .. } = std::mem::take(&mut self.kept);
        for range in pieces.ranges() {
            let origins = Origins::Mapped(&split.origins[range.clone()]);
            self.pretoken(&split.text, range, origins, &mut runs, &mut ids);
        }
        Ok(())
    }

    /// Appends the tokens of a pre-token. Their lengths tell where each is, if they make up the pre-token; else
    /// it is merged once more, symbol by symbol.
    fn pretoken(
        &mut self,
        text: &str,
        range: Range<usize>,
        origins: Origins,
        runs: &mut Vec<u32>,
        ids: &mut Vec<u32>,
    ) {
        let Pipeline { first, suffix, .. } = self.pipeline;
        let length = range.len();
        let before = usize::from(*first);
        ids.clear();
        self.tokenizer.encode_one(self.pipeline, text, range.clone(), runs, ids);
        let of = |id: u32| self.inner.get(id as usize).map_or(0, |inner| inner.len as usize);
        let total: usize = ids.iter().map(|&id| of(id)).sum();
        let (from, count) = (self.ids.len(), ids.len());
        let mut known = total == length + before + usize::from(*suffix);
        let mut at = 0usize;
        for &id in &*ids {
            // Without the marks.
            let (start, end) = (at.saturating_sub(before), (at + of(id)).saturating_sub(before).min(length));
            known &= start < end;
            if !known {
                break;
            }
            self.ids.push(id);
            self.bytes.push(origins.span(start, end));
            at += of(id);
        }
        if known {
            self.words.resize(from + count, self.word);
        } else {
            self.ids.truncate(from);
            self.bytes.truncate(from);
            self.symbols(text, range, origins);
            self.words.resize(self.ids.len(), self.word);
        }
        self.word += 1;
    }

    /// Appends the tokens of a pre-token, with what each symbol covers.
    #[cold]
    fn symbols(&mut self, text: &str, range: Range<usize>, origins: Origins) {
        let pretoken = &text.as_bytes()[range.clone()];
        match origins {
            Origins::Mapped(origins) => self.merged(pretoken, origins),
            Origins::Given(first) => {
                let start = text.floor_char_boundary(range.start);
                let end = text.ceil_char_boundary(range.end);
                // The pre-token may begin inside a character.
                let origins: Vec<(u32, u32)> = text[start..end]
                    .char_indices()
                    .flat_map(|(at, c)| {
                        let at = (first + start + at - range.start) as u32;
                        std::iter::repeat_n((at, at + c.len_utf8() as u32), c.len_utf8())
                    })
                    .collect();
                self.merged(pretoken, &origins[range.start - start..range.end - start]);
            }
        }
    }

    fn merged(&mut self, pretoken: &[u8], origins: &[(u32, u32)]) {
        let Pipeline { whole, symbols, dropping, fused, .. } = self.pipeline;
        let span = |start: usize, end: usize| {
            let part = &origins[start.min(origins.len())..end.min(origins.len())];
            part.first().zip(part.last()).map(|(first, last)| (first.0 as usize, last.1 as usize))
        };
        let marked = self.pipeline.marked(pretoken);
        let merged = marked.as_deref().unwrap_or(pretoken);
        let mut found = Vec::new();
        if let Some(&id) = whole.get(merged) {
            found.push((id, span(0, pretoken.len())));
        } else {
            // Dropped units are not there when the rest is merged, so positions are those of what is left.
            let kept = dropping.as_ref().map(|dropping| dropping.apply_with_positions(merged));
            let bytes = kept.as_ref().map_or(merged, |(bytes, _)| bytes);
            let marks = usize::from(self.pipeline.first);
            let position = |at: usize| match &kept {
                Some((_, positions)) if !self.closes_gaps => {
                    positions.get(at).map_or(pretoken.len() + marks, |&at| at)
                }
                _ => at,
            };
            let mut ids = Vec::new();
            self.tokenizer.pairs().merge(bytes, &mut ids);
            let mut at = 0;
            for symbol in ids {
                let end = at + symbols.len(symbol);
                let from = position(at).saturating_sub(marks);
                let here = span(from, (position(end - 1) + 1).saturating_sub(marks));
                match symbols.ids(symbol) {
                    [] => {
                        if let Some((_, Some(last))) = found.last_mut() {
                            *last = here.map_or(*last, |here| (last.0, last.1.max(here.1)));
                        }
                    }
                    [id] => found.push((*id, here)),
                    several => {
                        for (i, id) in several.iter().enumerate() {
                            found.push((*id, span(from + i, from + i + 1)));
                        }
                    }
                }
                at = end;
            }
        }
        let first = self.ids.len();
        for (id, span) in found {
            let before = self.bytes.last().map_or(0, |&(_, end)| end);
            let span = span.unwrap_or((before, before));
            if *fused == Some(id) && self.ids.len() > first && self.ids.last() == Some(&id) {
                if let Some(last) = self.bytes.last_mut() {
                    last.1 = last.1.max(span.1);
                }
                continue;
            }
            self.push(id, span);
        }
    }

    fn push(&mut self, id: u32, span: (usize, usize)) {
        self.ids.push(id);
        self.bytes.push(span);
    }

    fn push_added(&mut self, id: u32, found: &str, span: (usize, usize)) {
        self.added.push((self.ids.len() as u32, found.into()));
        self.push(id, span);
        self.words.push(self.word);
        self.word += 1;
    }
}

/// Returns the characters that each range of bytes has a part of.
pub(super) fn char_spans(text: &str, bytes: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // By byte: how many characters begin before it.
    let mut begun = Vec::with_capacity(text.len() + 1);
    let mut count = 0;
    for byte in text.bytes() {
        begun.push(count);
        count += usize::from(byte & 0xc0 != 0x80);
    }
    begun.push(count);
    let start_of = |at: usize| begun[at] - usize::from(!text.is_char_boundary(at));
    bytes
        .iter()
        .map(|&(start, end)| {
            let (start, end) = (start.min(text.len()), end.min(text.len()));
            (start_of(start), begun[end].max(start_of(start)))
        })
        .collect()
}

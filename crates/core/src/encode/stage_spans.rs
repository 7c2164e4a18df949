//! Stage spans: the offsets of each token in the text that the user gave, through every stage.
//!
//! The stages run on a text that knows where each of its bytes comes from (`normalize/aligned.rs`). A token
//! covers what its bytes come from; a character that is divided between tokens belongs to each of them, and
//! what stands for several unknown characters covers all of them, as in Hugging Face tokenizers.
//!
//! Cost: some ten times that of encoding, because every pre-token is merged and every byte has an origin.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{Options, Spans};
use crate::added::{AddedToken, Segment};
use crate::normalize::Aligned;
use crate::pretokenize::Pieces;
use crate::tokenizer::Pipeline;
use crate::{Result, Tokenizer};

impl Tokenizer {
    /// Returns the ids of a text and their spans, if the tokenizer has a pipeline.
    pub fn encode_stage_spans(&self, text: &str, options: &Options) -> Option<Result<(Vec<u32>, Spans)>> {
        let pipeline = self.pipeline()?;
        let encoded = self.check_disallowed(text, options).and_then(|()| {
            let mut encoder = Encoder { tokenizer: self, pipeline, ids: Vec::new(), bytes: Vec::new() };
            encoder.text(text, options)?;
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
                let given = usize::from(prefixed && leading > 0 && (i == 0 || span.0 == 0));
                span.0 = (span.0 + leading - given).min(span.1);
                if trailing > 0 && span.1 >= trailing {
                    span.1 = (span.1 - trailing).max(span.0);
                }
            }
        }
    }
}

struct Encoder<'a> {
    tokenizer: &'a Tokenizer,
    pipeline: &'a Pipeline,
    ids: Vec<u32>,
    bytes: Vec<(usize, usize)>,
}

impl Encoder<'_> {
    fn text(&mut self, text: &str, options: &Options) -> Result<()> {
        let Pipeline { added, normalizer, .. } = self.pipeline;
        let wanted = |token: &AddedToken| options.allowed.holds(&token.content);
        let whole = Aligned::of(text)?;
        for segment in added.raw(text, wanted) {
            let range = match segment {
                Segment::Token(id, range) => {
                    self.push(id, (range.start, range.end));
                    continue;
                }
                Segment::Text(range) => range,
            };
            let first = range.start == 0;
            let Some(plain) = whole.slice(range) else { continue };
            let normal = normalizer.normalize_aligned(&plain)?;
            for segment in added.normalized(&normal.text, wanted) {
                match segment {
                    Segment::Token(id, range) => {
                        let (start, end) = normal.origin(range).unwrap_or_default();
                        self.push(id, (start as usize, end as usize));
                    }
                    Segment::Text(range) => {
                        let first = first && range.start == 0;
                        if let Some(part) = normal.slice(range) {
                            self.normal(&part, first)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn normal(&mut self, text: &Aligned, first: bool) -> Result<()> {
        let mut pieces = Pieces::default();
        let split = self.pipeline.pretokenizer.pretokenize_aligned(text, first, &mut pieces)?;
        for range in pieces.ranges() {
            self.pretoken(&split.text.as_bytes()[range.clone()], &split.origins[range]);
        }
        Ok(())
    }

    fn pretoken(&mut self, pretoken: &[u8], origins: &[(u32, u32)]) {
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
                Some((_, positions)) => positions.get(at).map_or(pretoken.len() + marks, |&at| at),
                None => at,
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
}

/// Returns the characters that each range of bytes has a part of.
fn char_spans(text: &str, bytes: &[(usize, usize)]) -> Vec<(usize, usize)> {
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

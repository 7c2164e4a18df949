//! Pipeline: text to ids through the stages of a tokenizer that another library defined.
//!
//! Each stage hands its text to the next. Pre-tokens go to the same loop over the cache as those of a plain
//! tokenizer (`text.rs`). Where there are none (SentencePiece), a text is cut at the boundaries that no token
//! crosses.
//!
//! Cost: that of the stages that do something. Text that is normal already is not copied.

use std::borrow::Cow;
use std::cell::RefCell;

use super::special::Allowed;
use super::text::has_dense;
use crate::added::{AddedToken, Segment};
use crate::merge::parts::Parts;
use crate::pretokenize::{Pieces, Scratch};
use crate::tokenizer::Pipeline;
use crate::{Progress, Result, Tokenizer};

/// What a thread keeps from call to call.
#[derive(Default)]
struct Kept {
    scratch: Scratch,
    pieces: Pieces,
    joined: String,
    ends: Vec<u32>,
    cut: Cut,
}

/// A text cut at boundaries: where its parts end, or, if some are single characters, these parts.
#[derive(Default)]
struct Cut {
    ends: Vec<u32>,
    parts: Parts,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

/// Where a text begins: it may be the rest of one, after a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// At the beginning of the user's text.
    Text,
    /// After an added token.
    Segment,
    /// Between two characters that are a cut; see `tokenizer/cuts.rs`.
    Cut,
}

impl Tokenizer {
    /// Appends the ids of a whole text. Special tokens are found if `allowed`, other added tokens always.
    pub(super) fn encode_stages(
        &self,
        pipeline: &Pipeline,
        text: &str,
        allowed: &Allowed,
        progress: Option<&Progress>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        self.encode_stages_from(pipeline, text, Start::Text, allowed, progress, ids)
    }

    /// Does the same for a text that may be the rest of one.
    pub(super) fn encode_stages_from(
        &self,
        pipeline: &Pipeline,
        text: &str,
        start: Start,
        allowed: &Allowed,
        progress: Option<&Progress>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let wanted = |token: &AddedToken| allowed.holds(&token.content);
        for segment in pipeline.added.raw(text, wanted) {
            progress.map_or(Ok(()), Progress::check)?;
            let range = match segment {
                Segment::Token(id, _) => {
                    ids.push(id);
                    continue;
                }
                Segment::Text(range) => range,
            };
            let start = if range.start == 0 { start } else { Start::Segment };
            let normal = match start {
                Start::Cut => pipeline.normalizer.normalize_rest(&text[range])?,
                _ => pipeline.normalizer.normalize(&text[range])?,
            };
            if !pipeline.added.any_normalized() {
                self.encode_normal(pipeline, normal, start, progress, ids)?;
                continue;
            }
            for segment in pipeline.added.normalized(&normal, wanted) {
                match segment {
                    Segment::Token(id, _) => ids.push(id),
                    Segment::Text(range) => {
                        let start = if range.start == 0 { start } else { Start::Segment };
                        let text = Cow::Borrowed(&normal[range]);
                        self.encode_normal(pipeline, text, start, progress, ids)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Appends the ids of a document, or of bytes that are not UTF-8, each of which is one.
    #[cold]
    pub(super) fn encode_document(&self, pipeline: &Pipeline, document: &[u8], ids: &mut Vec<u32>) {
        match std::str::from_utf8(document) {
            Ok(text) => {
                let before = ids.len();
                // Only a text of 4 GiB or a pattern that takes too long fails; then it has no ids.
                if self.encode_stages(pipeline, text, &Allowed::None, None, ids).is_err() {
                    ids.truncate(before);
                }
            }
            Err(_) => self.merge_symbols(pipeline, document, ids),
        }
    }

    /// Appends the ids of normalized text without added tokens.
    fn encode_normal(
        &self,
        pipeline: &Pipeline,
        text: Cow<'_, str>,
        start: Start,
        progress: Option<&Progress>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        if let Some(splitter) = pipeline.pretokenizer.splitter()
            && pipeline.boundaries.is_none()
            && pipeline.fused.is_none()
        {
            return self.encode_split(splitter, &text, progress, ids);
        }
        // Taken out, not borrowed: nothing here can then meet a buffer in use.
        let mut kept = KEPT.take();
        let Kept { scratch, pieces, joined, ends, cut } = &mut kept;
        let text = match start {
            Start::Cut => pipeline.pretokenizer.pretokenize_rest(text, scratch, pieces),
            _ => pipeline.pretokenizer.pretokenize(text, start == Start::Text, scratch, pieces),
        };
        let done = text.map(|text: Cow<'_, str>| {
            // Pieces that follow each other are looked up in batches, so what is between them is taken out.
            if pieces.join(&text, joined, ends) {
                return self.encode_pieces(pipeline, joined, 0, ends, cut, ids);
            }
            let mut start = 0;
            let mut from = 0;
            for &dropped in &pieces.dropped {
                let dropped = dropped as usize;
                self.encode_pieces(pipeline, &text, start, &pieces.ends[from..dropped], cut, ids);
                start = pieces.ends[dropped] as usize;
                from = dropped + 1;
            }
            self.encode_pieces(pipeline, &text, start, &pieces.ends[from..], cut, ids);
        });
        KEPT.set(kept);
        done
    }

    /// Appends the ids of pre-tokens that follow each other, from `start` on.
    fn encode_pieces(
        &self,
        pipeline: &Pipeline,
        text: &str,
        mut start: usize,
        ends: &[u32],
        cut: &mut Cut,
        ids: &mut Vec<u32>,
    ) {
        if let Some(unknown) = pipeline.fused {
            for end in ends {
                let before = ids.len();
                self.encode_cut(pipeline, text, start, std::slice::from_ref(end), cut, ids);
                fuse(unknown, ids, before);
                start = *end as usize;
            }
        } else {
            self.encode_cut(pipeline, text, start, ends, cut, ids);
        }
    }

    /// Does the same, without fusing.
    fn encode_cut(
        &self,
        pipeline: &Pipeline,
        text: &str,
        start: usize,
        ends: &[u32],
        cut: &mut Cut,
        ids: &mut Vec<u32>,
    ) {
        let Some(boundaries) = &pipeline.boundaries else {
            return self.encode_parts(text, start, ends, ids);
        };
        let end = ends.last().map_or(start, |&end| end as usize);
        let mut from = start;
        let encode = |c: char, ids: &mut Vec<u32>| {
            self.merge_symbols(pipeline, c.encode_utf8(&mut [0; 4]).as_bytes(), ids);
        };
        let is_dense = has_dense(&text.as_bytes()[start..end]);
        let Some(alone) = is_dense.then(|| boundaries.alone(encode)).flatten() else {
            cut.ends.clear();
            for &end in ends {
                boundaries.cut(text, from, end as usize, &mut cut.ends);
                from = end as usize;
            }
            return self.encode_cut_parts(text, start, &cut.ends, ids);
        };
        for &end in ends {
            while from < end as usize {
                from = boundaries.divide(alone, text, from, end as usize, &mut cut.parts);
                self.encode_divided(text.as_bytes(), &cut.parts, ids);
            }
        }
    }

    /// Appends the ids of a pre-token that the cache does not know.
    #[cold]
    pub(super) fn merge_symbols(&self, pipeline: &Pipeline, pretoken: &[u8], ids: &mut Vec<u32>) {
        let marked = pipeline.marked(pretoken);
        let pretoken = marked.as_deref().unwrap_or(pretoken);
        if let Some(&id) = pipeline.whole.get(pretoken) {
            ids.push(id);
            return;
        }
        let start = ids.len();
        let kept = pipeline.dropping.as_ref().map(|dropping| dropping.apply(pretoken));
        self.pairs().merge(kept.as_deref().unwrap_or(pretoken), ids);
        pipeline.symbols.translate(ids, start);
    }
}

/// Makes several unknown tokens in a row one.
fn fuse(unknown: u32, ids: &mut Vec<u32>, start: usize) {
    let mut kept = start;
    for at in start..ids.len() {
        if at == start || ids[at] != unknown || ids[at - 1] != unknown {
            ids[kept] = ids[at];
            kept += 1;
        }
    }
    ids.truncate(kept);
}

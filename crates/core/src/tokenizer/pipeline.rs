//! Pipeline: the stages of a tokenizer that another library defined.
//!
//! ```text
//! text ─added tokens─▶ normalize ─added tokens─▶ pre-tokenize ─▶ merge ─▶ ids ─decode─▶ text
//! ```
//!
//! A [`Tokenizer`] without a pipeline has one pattern and nothing else, and none of this exists for it. A
//! tokenizer with one takes a whole document for a pre-token, because normalizers and prefixes depend on
//! where a text begins: its own pattern matches everything.
//!
//! Cost: compiling encodes every token once, as `merge/symbols.rs` says.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use hashbrown::{DefaultHashBuilder, HashTable};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::decoder::Decoder;
use super::{Tokenizer, bad, check_size, concatenated, finder, span};
use crate::added::{AddedToken, AddedTokens};
use crate::merge::boundaries::Boundaries;
use crate::merge::cache::Cache;
use crate::merge::crossings::Crossings;
use crate::merge::pairs::{ID_BITS, NONE};
use crate::merge::symbols::{Compiled, Dropping, FIRST, Order, SUFFIX, Symbols, Unit, Vocabulary, compile};
use crate::normalize::Normalizer;
use crate::pretokenize::Pretokenizer;
use crate::split::{Splitter, Tier};
use crate::{Error, Result};

/// Matches a whole document.
const WHOLE: &str = "(?s:.+)";

/// The stages, and what turns pre-tokens to ids.
pub(crate) struct Pipeline {
    pub added: AddedTokens,
    pub normalizer: Normalizer,
    pub pretokenizer: Pretokenizer,
    pub symbols: Symbols,
    /// What is dropped from pre-tokens, if anything is.
    pub dropping: Option<Dropping>,
    /// Where pre-tokens may be cut, if their units are characters.
    pub boundaries: Option<Boundaries>,
    /// Whether the first and the last character of a pre-token are marked.
    pub first: bool,
    pub suffix: bool,
    /// The id of what is no token.
    pub unknown: Option<u32>,
    /// The id of which several in a row become one.
    pub fused: Option<u32>,
    /// Tokens that no merge forms but that are used where they are a whole pre-token.
    pub whole: HashMap<Vec<u8>, u32>,
    pub decoder: Decoder,
    /// Whether offsets leave out the spaces of tokens, and if so, whether the first was put there.
    pub trims_offsets: Option<bool>,
    /// The ids of byte tokens and their bytes, sorted.
    byte_ids: Vec<(u32, u8)>,
    unit: Unit,
    /// Whether spaces stand for `▁`.
    marks_spaces: bool,
    /// By id; built when offsets are first asked for.
    inner: OnceLock<Vec<Inner>>,
    lengths: OnceLock<Option<Vec<Length>>>,
    /// What the tokenizer was built from.
    pub source: Source,
    seeds: Seeds,
    digest: [u8; 32],
}

/// What offsets need to know of a token.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Inner {
    /// Its length in bytes as merging sees it; 0 for what is not merged from text, such as the unknown token.
    pub len: u32,
    /// How many spaces it begins and ends with, as it is spelled in a `tokenizer.json`.
    pub leading: u32,
    pub trailing: u32,
}

/// How many characters begin in a token, and whether it begins inside one: two numbers in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Length(u32);

impl Length {
    /// Of a token that need not be spelled in the text as it is in the vocabulary.
    pub(crate) const UNKNOWN: Length = Length(u32::MAX);

    fn of(token: &[u8]) -> Length {
        let begins = |byte: &&u8| **byte & 0xc0 != 0x80;
        let chars = token.iter().filter(begins).count() as u32;
        Length(chars << 1 | u32::from(token.first().is_some_and(|byte| !begins(&byte))))
    }

    #[inline(always)]
    pub(crate) fn chars(self) -> u32 {
        self.0 >> 1
    }

    #[inline(always)]
    pub(crate) fn inside(self) -> u32 {
        self.0 & 1
    }
}

/// The arguments of [`Tokenizer::from_definition`].
pub struct Source {
    pub tokens: Vec<(Vec<u8>, u32)>,
    pub merges: Option<Vec<(u32, u32, u32)>>,
    pub scores: Option<Vec<f32>>,
    pub definition: String,
}

/// The pre-tokens that are one token: what the cache starts with.
struct Seeds {
    bytes: Vec<u8>,
    /// The end of each, and its id.
    ends: Vec<(u32, u32)>,
}

impl Pipeline {
    pub(crate) fn seeds(&self) -> impl Iterator<Item = (&[u8], u32)> {
        let starts = std::iter::once(0).chain(self.seeds.ends.iter().map(|&(end, _)| end));
        starts
            .zip(&self.seeds.ends)
            .map(|(start, &(end, id))| (&self.seeds.bytes[start as usize..end as usize], id))
    }

    pub(crate) fn is_byte_token(&self, id: u32) -> bool {
        self.byte_ids.binary_search_by_key(&id, |&(id, _)| id).is_ok()
    }

    /// Returns what offsets need to know of each token, by id.
    pub(crate) fn inner(&self) -> &[Inner] {
        self.inner.get_or_init(|| {
            let ids =
                self.source.tokens.iter().map(|(_, id)| *id).chain(self.byte_ids.last().map(|&(id, _)| id));
            let mut inner = vec![Inner::default(); ids.max().map_or(0, |id| id as usize + 1)];
            self.byte_ids.iter().for_each(|&(id, _)| inner[id as usize].len = 1);
            for (token, id) in &self.source.tokens {
                inner[*id as usize] = self.inner_of(token);
            }
            if let Some(unknown) = self.unknown.and_then(|id| inner.get_mut(id as usize)) {
                unknown.len = 0;
            }
            inner
        })
    }

    /// The length of every token, by id. `None` if pre-tokens are marked or lose characters, so that lengths do not
    /// add up to that of a text.
    pub(crate) fn lengths(&self) -> Option<&[Length]> {
        let lengths = self.lengths.get_or_init(|| {
            if self.first || self.suffix || self.dropping.is_some() {
                return None;
            }
            let mut lengths = vec![Length::UNKNOWN; self.inner().len()];
            let tokens = self.source.tokens.iter().map(|(token, id)| (*id, Length::of(token)));
            let bytes = self.byte_ids.iter().map(|&(id, byte)| (id, Length::of(&[byte])));
            let added = self.added.tokens().iter().map(|token| (token.id, Length::UNKNOWN));
            let unknown = self.unknown.map(|id| (id, Length::UNKNOWN));
            for (id, length) in tokens.chain(bytes).chain(added).chain(unknown) {
                // Of an id with two spellings, either may be meant.
                if let Some(known) = lengths.get_mut(id as usize) {
                    *known = if *known == Length::UNKNOWN { length } else { Length::UNKNOWN };
                }
            }
            Some(lengths)
        });
        lengths.as_deref()
    }

    fn inner_of(&self, token: &[u8]) -> Inner {
        let [leading, trailing] = match self.unit {
            Unit::Bytes => {
                let is_space = |byte: &&u8| **byte == b' ';
                [token.iter().take_while(is_space).count(), token.iter().rev().take_while(is_space).count()]
            }
            Unit::Characters => {
                let text = String::from_utf8_lossy(token);
                let is_space = |c: &char| is_space(*c) && !(self.marks_spaces && *c == ' ');
                [text.chars().take_while(is_space).count(), text.chars().rev().take_while(is_space).count()]
            }
        };
        Inner { len: token.len() as u32, leading: leading as u32, trailing: trailing as u32 }
    }

    /// Identifies the definition.
    pub(crate) fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Returns a pre-token with the marks of its ends.
    pub(crate) fn marked(&self, pretoken: &[u8]) -> Option<Vec<u8>> {
        (self.first || self.suffix).then(|| {
            let mut marked = Vec::with_capacity(pretoken.len() + 2);
            marked.extend(self.first.then_some(FIRST));
            marked.extend_from_slice(pretoken);
            marked.extend(self.suffix.then_some(SUFFIX));
            marked
        })
    }
}

/// Whether Hugging Face leaves a character out of offsets, where it trims them.
pub(crate) fn is_space(c: char) -> bool {
    c == 'Ġ' || c.is_whitespace()
}

impl Tokenizer {
    /// Builds a tokenizer from a vocabulary of any kind and the stages around it.
    ///
    /// `tokens` have the bytes that merging sees. The order is that of `merges`, (left, right, new) as ids; or
    /// of `scores`, highest first; or else of the ids. `definition` is a JSON object; `docs/pipeline.md`
    /// describes it.
    pub fn from_definition(
        tokens: Vec<(Vec<u8>, u32)>,
        merges: Option<Vec<(u32, u32, u32)>>,
        scores: Option<Vec<f32>>,
        definition: &str,
    ) -> Result<Tokenizer> {
        let digest = digest(&tokens, merges.as_deref(), scores.as_deref(), definition);
        let json: Value = serde_json::from_str(definition).map_err(|error| Error::BadTokenizer {
            reason: format!("its definition is not JSON: {error}"),
        })?;
        let order = match (&merges, &scores) {
            (Some(merges), _) => Order::Merges(merges.clone()),
            (None, Some(scores)) => Order::Ranks(ranks(scores)),
            (None, None) => Order::Ids,
        };
        let vocabulary = vocabulary(tokens, order, &json)?;
        let added = added_tokens(&json["added_tokens"])?;
        let normalizer = Normalizer::from_json(&json["normalizer"])?;
        let pretokenizer = Pretokenizer::from_json(&json["pre_tokenizer"])?;
        let literal = user_defined(&json["added_tokens"]);
        let added = AddedTokens::new(added, |content| match literal.contains(content) {
            true => Ok(content.into()),
            false => Ok(normalizer.normalize(content)?.into_owned()),
        })?;
        let (bytes, starts) = lay_out(&vocabulary, added.tokens(), &json)?;
        let (index, hasher) = index(&bytes, &starts);

        let Compiled { pairs, symbols, merges: live_merges, unreachable, dropping } = compile(&vocabulary)?;
        let Vocabulary { unit, tokens, suffix, first, .. } = &vocabulary;
        // Without merges of their own, files of ranks use every token where it is a whole pre-token.
        let ignore_merges = flag(&json, "ignore_merges") || matches!(vocabulary.order, Order::Ids);
        let mut never = vec![false; tokens.len()];
        unreachable.iter().for_each(|&at| never[at] = true);
        let is_used = |at: &usize| ignore_merges || !never[*at];
        let seeds = seeds(tokens, (0..tokens.len()).filter(is_used), *first, *suffix);
        let whole: HashMap<Vec<u8>, u32> = match ignore_merges {
            true => unreachable.iter().map(|&at| tokens[at].clone()).collect(),
            false => HashMap::new(),
        };
        // What a pre-token is may depend on all of it; then it is not cut.
        let indivisible = *first || *suffix || dropping.is_some();
        let boundaries = (*unit == Unit::Characters && !indivisible && whole.is_empty())
            .then(|| Boundaries::new(tokens.iter().filter_map(|(token, _)| std::str::from_utf8(token).ok())));
        let crossings = match *unit == Unit::Bytes && !indivisible {
            true => Crossings::new(tokens.iter().map(|(token, _)| &token[..]), whole.keys().map(|t| &t[..])),
            false => Crossings::everywhere(),
        };
        let fused = if flag(&json, "fuse_unknown") { vocabulary.unknown } else { None };
        let specials: Vec<(String, u32)> = {
            let special = added.tokens().iter().filter(|token| token.special);
            let mut specials: Vec<_> = special.map(|token| (token.content.clone(), token.id)).collect();
            specials.sort_by_key(|&(_, id)| id);
            specials
        };
        let names: Vec<&str> = specials.iter().map(|(name, _)| name.as_str()).collect();
        let special_finder = finder(&names)?;
        let whole_pretoken_only = {
            let mut ids: Vec<u32> = unreachable.iter().map(|&at| tokens[at].1).collect();
            ids.sort_unstable();
            ids
        };
        let pipeline = Pipeline {
            added,
            normalizer,
            pretokenizer,
            symbols,
            dropping,
            boundaries,
            first: *first,
            suffix: *suffix,
            unknown: vocabulary.unknown,
            fused,
            whole,
            decoder: Decoder::from_json(&json["decoder"])?,
            trims_offsets: trims_offsets(&json["post_processor"]),
            byte_ids: {
                let tokens = vocabulary.byte_tokens.iter().flatten().zip(0..=255u8);
                let mut ids: Vec<(u32, u8)> =
                    tokens.filter_map(|(id, byte)| id.map(|id| (id, byte))).collect();
                ids.sort_unstable();
                ids
            },
            unit: *unit,
            marks_spaces: marks_spaces(&json["normalizer"]),
            inner: OnceLock::new(),
            lengths: OnceLock::new(),
            seeds,
            digest,
            source: Source { tokens: vocabulary.tokens, merges, scores, definition: definition.into() },
        };
        let cache = Cache::new(pipeline.seeds.ends.len());
        Ok(Tokenizer {
            splitter: Splitter::with_engine(WHOLE, Tier::LookAround)?,
            bytes,
            starts,
            index,
            hasher,
            specials,
            special_finder,
            pairs,
            merges: live_merges,
            whole_pretoken_only,
            crossings: OnceLock::from(crossings),
            cache: Arc::new(cache),
            slots: OnceLock::new(),
            cuts: OnceLock::new(),
            pipeline: Some(Arc::new(pipeline)),
        })
    }
}

/// Returns whether a post-processor trims offsets, and if so, whether the first space was put there.
fn trims_offsets(json: &Value) -> Option<bool> {
    match json["type"].as_str()? {
        "ByteLevel" | "RobertaProcessing" => {
            let is_on = |name: &str| json[name].as_bool().unwrap_or(true);
            is_on("trim_offsets").then(|| is_on("add_prefix_space"))
        }
        "Sequence" => json["processors"].as_array()?.iter().find_map(trims_offsets),
        _ => None,
    }
}

/// Returns whether a normalizer turns `▁` into spaces: then tokens have them in place of it.
fn marks_spaces(json: &Value) -> bool {
    match json["type"].as_str() {
        Some("Replace") => json["pattern"]["String"] == "▁" && json["content"] == " ",
        Some("Sequence") => json["normalizers"].as_array().is_some_and(|all| all.iter().any(marks_spaces)),
        Some(kind) => kind == "SentencePiece",
        None => false,
    }
}

/// Returns a rank for each score: the highest first, equal ones equal.
fn ranks(scores: &[f32]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let mut ranks = vec![0; scores.len()];
    let mut rank = 0;
    for (i, &at) in order.iter().enumerate() {
        if i > 0 && scores[at] != scores[order[i - 1]] {
            rank = i as u32;
        }
        ranks[at] = rank;
    }
    ranks
}

fn vocabulary(mut tokens: Vec<(Vec<u8>, u32)>, order: Order, json: &Value) -> Result<Vocabulary> {
    let unit = match json["unit"].as_str() {
        Some("bytes") => Unit::Bytes,
        Some("characters") => Unit::Characters,
        _ => return bad("its unit must be \"bytes\" or \"characters\"".into()),
    };
    if let Some((_, id)) = tokens.iter().find(|(_, id)| *id >= 1 << ID_BITS) {
        return bad(format!("id {id} is too high; ids must be below {}", 1 << ID_BITS));
    }
    if tokens.iter().any(|(token, _)| token.is_empty()) {
        return bad("one of its tokens is empty".into());
    }
    check_size(tokens.iter().map(|(token, _)| token.len()).sum())?;
    let byte_tokens = match &json["byte_tokens"] {
        Value::Null => None,
        Value::Array(ids) if ids.len() == 256 => Some(ids.iter().map(id).collect()),
        _ => return bad("its byte_tokens must be 256 ids".into()),
    };
    let (suffix, first) = (flag(json, "suffix"), flag(json, "prefix"));
    tokens.shrink_to_fit();
    Ok(Vocabulary { unit, tokens, order, byte_tokens, unknown: id(&json["unknown"]), suffix, first })
}

fn id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok()).filter(|&id| id < 1 << ID_BITS)
}

fn flag(json: &Value, name: &str) -> bool {
    json[name].as_bool().unwrap_or(false)
}

fn added_tokens(json: &Value) -> Result<Vec<AddedToken>> {
    let mut added = Vec::new();
    for token in json.as_array().into_iter().flatten() {
        let (Some(content), Some(id)) = (token["content"].as_str(), id(&token["id"])) else {
            return bad("one of its added tokens has no content or no valid id".into());
        };
        added.push(AddedToken {
            id,
            content: content.into(),
            special: flag(token, "special"),
            lstrip: flag(token, "lstrip"),
            rstrip: flag(token, "rstrip"),
            single_word: flag(token, "single_word"),
            normalized: flag(token, "normalized"),
        });
    }
    Ok(added)
}

/// Returns the user-defined symbols of SentencePiece, which are found in normalized text as they are.
fn user_defined(json: &Value) -> HashSet<&str> {
    let tokens = json.as_array().into_iter().flatten();
    tokens
        .filter(|token| token["kind"] == "user_defined")
        .filter_map(|token| token["content"].as_str())
        .collect()
}

/// Returns what every id decodes to, and where each starts. Of several with one id, those that are only decoded
/// count, then added tokens, then tokens, then bytes.
fn lay_out(vocabulary: &Vocabulary, added: &[AddedToken], json: &Value) -> Result<(Vec<u8>, Vec<u32>)> {
    let [first, suffix] = ["prefix_text", "suffix_text"].map(|name| json[name].as_str().unwrap_or_default());
    let mut texts: Vec<(u32, Vec<u8>)> = Vec::new();
    for entry in json["decode_only"].as_array().into_iter().flatten() {
        let (Some(hex), Some(id)) = (entry[0].as_str(), id(&entry[1])) else {
            return bad("one of its decode_only tokens is not hexadecimal digits and an id".into());
        };
        let digits = hex.as_bytes().chunks(2).map(|two| std::str::from_utf8(two).ok());
        let bytes: Option<Vec<u8>> = digits.map(|two| u8::from_str_radix(two?, 16).ok()).collect();
        texts.push((id, bytes.unwrap_or_default()));
    }
    texts.extend(added.iter().map(|token| (token.id, token.content.clone().into_bytes())));
    texts.extend(vocabulary.tokens.iter().map(|(token, id)| {
        let mut text = Vec::with_capacity(token.len());
        for &byte in token {
            match byte {
                FIRST if vocabulary.first => text.extend_from_slice(first.as_bytes()),
                SUFFIX if vocabulary.suffix => text.extend_from_slice(suffix.as_bytes()),
                _ => text.push(byte),
            }
        }
        (*id, text)
    }));
    let byte_tokens = vocabulary.byte_tokens.iter().flatten().zip(0..=255);
    texts.extend(byte_tokens.filter_map(|(&id, byte)| Some((id?, vec![byte]))));
    check_size(texts.iter().map(|(_, text)| text.len()).sum())?;
    texts.sort_by_key(|&(id, _)| id);
    texts.dedup_by_key(|&mut (id, _)| id);
    Ok(concatenated(texts.iter().map(|(id, text)| (&text[..], *id))))
}

/// Returns the ids by bytes; of several with the same bytes, the lowest id.
fn index(bytes: &[u8], starts: &[u32]) -> (HashTable<u32>, DefaultHashBuilder) {
    use std::hash::BuildHasher;
    let hasher = DefaultHashBuilder::default();
    let mut index: HashTable<u32> = HashTable::with_capacity(starts.len());
    for id in 0..starts.len() as u32 - 1 {
        let token = span(bytes, starts, id);
        let hash = hasher.hash_one(token);
        if !token.is_empty() && index.find(hash, |&other| span(bytes, starts, other) == token).is_none() {
            index.insert_unique(hash, id, |&other| hasher.hash_one(span(bytes, starts, other)));
        }
    }
    (index, hasher)
}

fn seeds(tokens: &[(Vec<u8>, u32)], used: impl Iterator<Item = usize>, first: bool, suffix: bool) -> Seeds {
    let mut seeds = Seeds { bytes: Vec::new(), ends: Vec::new() };
    for at in used {
        let (token, id) = &tokens[at];
        let unmarked = match first {
            true => token.strip_prefix(&[FIRST]),
            false => Some(&token[..]),
        };
        let unmarked = match suffix {
            true => unmarked.and_then(|token| token.strip_suffix(&[SUFFIX])),
            false => unmarked,
        };
        if let Some(pretoken) = unmarked.filter(|pretoken| !pretoken.is_empty()) {
            seeds.bytes.extend_from_slice(pretoken);
            seeds.ends.push((seeds.bytes.len() as u32, *id));
        }
    }
    seeds
}

fn digest(
    tokens: &[(Vec<u8>, u32)],
    merges: Option<&[(u32, u32, u32)]>,
    scores: Option<&[f32]>,
    definition: &str,
) -> [u8; 32] {
    let mut sum = Sha256::new();
    for (token, id) in tokens {
        sum.update(id.to_le_bytes());
        sum.update((token.len() as u32).to_le_bytes());
        sum.update(token);
    }
    sum.update(NONE.to_le_bytes());
    for (left, right, new) in merges.into_iter().flatten() {
        [left, right, new].iter().for_each(|id| sum.update(id.to_le_bytes()));
    }
    sum.update(NONE.to_le_bytes());
    scores.into_iter().flatten().for_each(|score| sum.update(score.to_le_bytes()));
    sum.update(definition);
    sum.finalize().into()
}

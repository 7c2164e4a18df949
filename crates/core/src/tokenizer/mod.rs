//! Tokenizer: ranked tokens, a split pattern and special tokens, in a value that never changes.
//!
//! Ranks are stored and merges are derived from them, because imported vocabularies contain tokens that no
//! merge forms. An id is also the rank: of two possible merges the one with the lower new id goes first.
//!
//! Cost: building one from ranks takes about 50 ms for the 200,000 tokens of o200k, nearly all of it the derivation of
//! merges; a saved tokenizer states them, and to check them takes a fifth of that. Looking up an id is two reads of a dense table, which is why ids end at 2²¹. Everything is checked
//! here, once, so that nothing that uses a tokenizer needs to.
//!
//! | module | what it holds |
//! |---|---|
//! | `cuts` | the characters between which any text can be cut |
//! | `decoder` | how the tokens of a pipeline are joined |
//! | `finder` | the automaton that finds special tokens in text |
//! | `fingerprint` | a hash that identifies a tokenizer |
//! | `lines` | the tokens of a file |
//! | `pipeline` | the stages of a tokenizer that another library defined |
//! | `pack` | the ranks as one string of bytes |
//! | `slots` | the table that decoding reads |

mod cuts;
mod decoder;
mod finder;
mod fingerprint;
mod lines;
mod pack;
mod pipeline;
mod slots;
#[cfg(test)]
mod tests;

use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

use aho_corasick::AhoCorasick;
use hashbrown::{DefaultHashBuilder, HashTable};

use self::cuts::Cuts;
pub(crate) use self::decoder::ByteRuns;
pub(crate) use self::finder::finder;
pub use self::fingerprint::sha256;
pub use self::lines::{Columns, TokenLines};
pub use self::pack::unpack_ranks;
pub use self::pipeline::Source;
pub(crate) use self::pipeline::{Inner, Length, Pipeline, is_space};
pub(crate) use self::slots::{DecodeSlot, SHORT};
use crate::automaton::check_length;
use crate::merge::cache::Cache;
use crate::merge::crossings::Crossings;
use crate::merge::derive::{Derived, derive};
use crate::merge::pairs::{ID_BITS, Pairs};
use crate::split::Splitter;
use crate::{Error, Result};

/// The limit of ids: eight times the largest vocabulary in use.
const ID_LIMIT: u32 = 1 << ID_BITS;

/// The limit of the length of all tokens together, in bytes. Training on one run of a single character, which
/// doubles a token with each merge, stays below it up to a run of half a gigabyte.
const BYTES_LIMIT: usize = 1 << 30;

/// Why a tokenizer with a pipeline can be neither truncated nor a base.
const NOT_TRAINED: &str = "this tokenizer has stages of another library; only one that merganser trained, or a plain \
     byte-level one, can be truncated or continued";

/// A vocabulary and the rules to encode with it.
#[derive(Clone)]
pub struct Tokenizer {
    splitter: Splitter,
    /// The bytes of all tokens and special tokens, in the order of their ids.
    bytes: Vec<u8>,
    /// By id: where its bytes start. The last entry is the end of the last token. An id that is not in use
    /// has no bytes.
    starts: Vec<u32>,
    /// Bytes to id, without special tokens.
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    specials: Vec<(String, u32)>,
    special_finder: Option<AhoCorasick>,
    pairs: Pairs,
    merges: Vec<(u32, u32, u32)>,
    whole_pretoken_only: Vec<u32>,
    /// Filled when a text of a script without spaces comes.
    crossings: OnceLock<Crossings>,
    /// Shared by clones, which are equal and so have the same use for it.
    cache: Arc<Cache>,
    /// The decode table; filled when first needed.
    slots: OnceLock<Vec<DecodeSlot>>,
    /// Where texts can be cut; built when first needed.
    cuts: OnceLock<Arc<Cuts>>,
    /// The stages around merging, for tokenizers that have more than a pattern.
    pipeline: Option<Arc<Pipeline>>,
}

impl Tokenizer {
    /// Builds a tokenizer from tokens with their ids (an id is also the rank), as rank files store them, and
    /// derives the merges. Ids may have gaps. All 256 single bytes must be tokens.
    pub fn from_ranks(
        ranks: Vec<(Vec<u8>, u32)>,
        splitter: Splitter,
        specials: Vec<(String, u32)>,
    ) -> Result<Tokenizer> {
        Tokenizer::assemble(borrowed(&ranks), splitter, specials, |bytes, tokens, _| {
            Ok(derive(bytes, tokens))
        })
    }

    /// Returns a tokenizer that starts from characters instead of their bytes, which is faster. The merges that form
    /// characters must come before all others.
    pub(crate) fn starting_from_characters(mut self) -> Tokenizer {
        let characters = self.ranks().filter_map(|(bytes, id)| {
            let mut chars = std::str::from_utf8(bytes).ok()?.chars();
            chars.next().filter(|_| chars.next().is_none()).map(|c| (c, id))
        });
        let characters: Vec<(char, u32)> = characters.collect();
        self.pairs.start_from(characters.into_iter());
        self
    }

    fn assemble(
        mut ranks: Vec<(&[u8], u32)>,
        splitter: Splitter,
        mut specials: Vec<(String, u32)>,
        merges_of: impl FnOnce([u32; 256], &[(&[u8], u32)], Find<'_>) -> Result<Derived>,
    ) -> Result<Tokenizer> {
        ranks.sort_unstable_by_key(|&(_, id)| id);
        specials.sort_unstable_by_key(|&(_, id)| id);
        let (bytes, starts) = lay_out(&ranks, &specials)?;

        let hasher = DefaultHashBuilder::default();
        let mut index: HashTable<u32> = HashTable::with_capacity(ranks.len());
        for &(token, id) in &ranks {
            let hash = hasher.hash_one(token);
            if let Some(&twin) = index.find(hash, |&other| span(&bytes, &starts, other) == token) {
                return bad(format!("ids {twin} and {id} are both the token {}", show(token)));
            }
            let rehash = |&other: &u32| hasher.hash_one(span(&bytes, &starts, other));
            index.insert_unique(hash, id, rehash);
        }
        let find = |token: &[u8]| {
            let hash = hasher.hash_one(token);
            index.find(hash, |&id| span(&bytes, &starts, id) == token).copied()
        };

        let mut byte_ids = [0; 256];
        for byte in 0..=255u8 {
            match find(&[byte]) {
                Some(id) => byte_ids[byte as usize] = id,
                None => {
                    return bad(format!("the single byte 0x{byte:02x} is missing; all 256 must be tokens"));
                }
            }
        }
        check_specials(&specials, find)?;

        let Derived { pairs, merges, whole_pretoken_only } = merges_of(byte_ids, &ranks, &find)?;
        let names: Vec<&str> = specials.iter().map(|(token, _)| token.as_str()).collect();
        let special_finder = finder(&names)?;
        let cache = Cache::new(ranks.len());
        Ok(Tokenizer {
            splitter,
            bytes,
            starts,
            index,
            hasher,
            specials,
            special_finder,
            pairs,
            merges,
            whole_pretoken_only,
            crossings: OnceLock::new(),
            cache: Arc::new(cache),
            slots: OnceLock::new(),
            cuts: OnceLock::new(),
            pipeline: None,
        })
    }

    /// Builds a tokenizer from merges: merge `i` forms the token `first_id + i`.
    ///
    /// Without a base, ids 0 to 255 are the single bytes. With one, all of its tokens keep their ids, special
    /// tokens included, and `specials` are added to its own. The result equals that of
    /// [`Tokenizer::from_ranks`] on the same tokens; merges that could never be applied in that order are an
    /// error, because encoding by pairs and by bytes would differ.
    pub fn from_merges(
        base: Option<&Tokenizer>,
        merges: &[(u32, u32)],
        first_id: u32,
        splitter: Splitter,
        specials: Vec<(String, u32)>,
    ) -> Result<Tokenizer> {
        let (ranks, specials) = join(base, merges, first_id, specials)?;
        let tokenizer = Tokenizer::from_ranks(ranks, splitter, specials)?;
        check_witnessed(base, merges, first_id, &tokenizer)?;
        Ok(tokenizer)
    }

    /// Builds the same value as [`Tokenizer::from_merges`] from the result of [`train`](crate::train::train).
    /// Training has seen each of its merges happen, so they are the ones that would be derived, and deriving
    /// them is skipped.
    pub fn trained(
        base: Option<&Tokenizer>,
        merges: &[(u32, u32)],
        first_id: u32,
        splitter: Splitter,
        specials: Vec<(String, u32)>,
    ) -> Result<Tokenizer> {
        let (ranks, specials) = join(base, merges, first_id, specials)?;
        let tokenizer = Tokenizer::assemble(borrowed(&ranks), splitter, specials, |byte_ids, _, _| {
            let made = merges.iter().zip(first_id..).map(|(&(left, right), new)| (left, right, new));
            let merges: Vec<_> =
                base.map_or(&[][..], Tokenizer::merges).iter().copied().chain(made).collect();
            let mut pairs = Pairs::new(byte_ids, merges.len());
            for &(left, right, new) in &merges {
                pairs.insert(left, right, new);
            }
            let whole_pretoken_only = base.map_or(Vec::new(), |base| base.whole_pretoken_only.clone());
            Ok(Derived { pairs, merges, whole_pretoken_only })
        })?;
        #[cfg(debug_assertions)]
        check_witnessed(
            base,
            merges,
            first_id,
            &Tokenizer::from_ranks(
                tokenizer.ranks().map(|(bytes, id)| (bytes.to_vec(), id)).collect(),
                tokenizer.splitter.clone(),
                tokenizer.specials.clone(),
            )?,
        )?;
        Ok(tokenizer)
    }

    /// Returns the tokenizer of `size` tokens, special ones included, from the same training: identical to
    /// having trained with that size.
    ///
    /// The last tokens are dropped and the special tokens after them move up. If special tokens occur between
    /// tokens, the tokenizer was continued from a base; everything up to them belongs to the base and keeps
    /// its ids.
    pub fn truncated(&self, size: usize) -> Result<Tokenizer> {
        let refuse = |reason: String| Err(Error::BadSetting { reason });
        if self.pipeline.is_some() {
            return refuse(NOT_TRAINED.into());
        }
        let now = self.vocab_size();
        if self.next_id() as usize != now {
            return refuse("the ids have gaps; only the result of a single training can be truncated".into());
        }
        if size > now {
            return refuse(format!(
                "vocab_size must be at most {now}, the size of this tokenizer, got {size}; train a larger one"
            ));
        }
        // A tokenizer has the 256 bytes, so there is a last token.
        let last_token = (0..self.next_id()).rev().find(|&id| self.token_bytes(id).is_some()).unwrap_or(0);
        let (fixed, moved): (Vec<_>, Vec<_>) =
            self.specials.iter().cloned().partition(|&(_, id)| id < last_token);
        let last_byte = self.pairs.byte_ids().iter().copied().max().unwrap_or(0);
        let last_fixed = fixed.last().map_or(last_byte, |&(_, id)| id.max(last_byte));
        let least = last_fixed as usize + 1 + moved.len();
        if size < least {
            return Err(Error::VocabTooSmall { asked: size, least });
        }

        let end = (size - moved.len()) as u32;
        let ranks =
            self.ranks().filter(|&(_, id)| id < end).map(|(bytes, id)| (bytes.to_vec(), id)).collect();
        let moved = moved.into_iter().zip(end..).map(|((token, _), id)| (token, id));
        let specials = fixed.into_iter().chain(moved).collect();
        let small = Tokenizer::from_ranks(ranks, self.splitter.clone(), specials)?;
        if !small.merges.iter().eq(self.merges.iter().filter(|&&(_, _, new)| new < end)) {
            return refuse(format!(
                "the first {end} tokens need later ones; only the result of a single training can be truncated"
            ));
        }
        Ok(small)
    }

    pub fn splitter(&self) -> &Splitter {
        &self.splitter
    }

    /// Returns the bytes of a token that is not special.
    pub fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        match self.specials.binary_search_by_key(&id, |&(_, id)| id) {
            Ok(_) => None,
            Err(_) => self.bytes_or_special(id),
        }
    }

    /// Returns the id of the token with these bytes; special tokens are not considered.
    pub fn id_of(&self, bytes: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(bytes);
        self.index.find(hash, |&id| span(&self.bytes, &self.starts, id) == bytes).copied()
    }

    /// Returns the special tokens with their ids, lowest id first.
    pub fn special_tokens(&self) -> &[(String, u32)] {
        &self.specials
    }

    /// Returns the id of a special token.
    pub fn special_id(&self, token: &str) -> Option<u32> {
        self.specials.iter().find(|(special, _)| special == token).map(|&(_, id)| id)
    }

    /// Returns the id of the token with these bytes, or of the special token with this name. No special token
    /// equals another token, so there is at most one.
    pub fn id_or_special(&self, bytes: &[u8]) -> Option<u32> {
        let special = || self.specials.iter().find(|(name, _)| name.as_bytes() == bytes).map(|&(_, id)| id);
        self.id_of(bytes).or_else(special)
    }

    /// Returns the tokens that are not special with their ids, lowest id first.
    pub fn ranks(&self) -> impl Iterator<Item = (&[u8], u32)> {
        (0..self.next_id()).filter_map(|id| self.token_bytes(id).map(|bytes| (bytes, id)))
    }

    /// Returns the merges as (left, right, new), lowest new id first.
    pub fn merges(&self) -> &[(u32, u32, u32)] {
        &self.merges
    }

    /// Returns the ids of the tokens that no merge forms, lowest first: each is used only where it is the
    /// entire pre-token. A trained tokenizer has none.
    pub fn whole_pretoken_only(&self) -> &[u32] {
        &self.whole_pretoken_only
    }

    /// Returns the byte strings that a training which continues from this tokenizer must not turn into
    /// tokens.
    ///
    /// A new token inside a whole-pre-token-only token could complete it and so change how existing text is
    /// encoded; see "Imported vocabularies" in `docs/how-bpe-works.md`. Empty for a trained tokenizer.
    pub fn forbidden_when_continued(&self) -> Vec<Vec<u8>> {
        let whole = self.whole_pretoken_only.iter().filter_map(|&id| self.token_bytes(id));
        let mut inside: Vec<Vec<u8>> = whole
            .flat_map(|token| (2..token.len()).flat_map(|length| token.windows(length)))
            .filter(|bytes| self.id_of(bytes).is_none())
            .map(<[u8]>::to_vec)
            .collect();
        inside.sort_unstable();
        inside.dedup();
        inside
    }

    /// Returns the number of tokens, special ones included.
    pub fn vocab_size(&self) -> usize {
        match self.pipeline {
            // Of several ids with the same bytes, only one is in the index.
            Some(_) => self.starts.windows(2).filter(|two| two[0] < two[1]).count(),
            None => self.index.len() + self.specials.len(),
        }
    }

    /// Returns one more than the highest id in use, special tokens included.
    pub fn next_id(&self) -> u32 {
        (self.starts.len() - 1) as u32
    }

    pub fn is_special(&self, id: u32) -> bool {
        self.specials.binary_search_by_key(&id, |&(_, id)| id).is_ok()
    }

    /// Returns the bytes of a token, or of the text of a special token.
    pub fn bytes_or_special(&self, id: u32) -> Option<&[u8]> {
        let bytes = (id < self.next_id()).then(|| span(&self.bytes, &self.starts, id))?;
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Returns the length of a token in bytes, special or not; 0 if the id is not in use.
    #[inline(always)]
    pub(crate) fn length_of(&self, id: u32) -> usize {
        match self.starts.get(id as usize..) {
            Some(&[start, end, ..]) => (end - start) as usize,
            _ => 0,
        }
    }

    /// Returns what a tokenizer of another library was built from, if it is more than tokens and a pattern.
    pub fn definition(&self) -> Option<&Source> {
        self.pipeline().map(|pipeline| &pipeline.source)
    }

    /// Refuses a tokenizer that no training can continue.
    pub(crate) fn check_base(&self) -> Result<()> {
        match self.pipeline {
            Some(_) => Err(Error::BadSetting { reason: NOT_TRAINED.into() }),
            None => Ok(()),
        }
    }

    pub(crate) fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_deref()
    }

    pub(crate) fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    #[inline]
    pub(crate) fn crossings(&self) -> &Crossings {
        self.crossings.get().unwrap_or_else(|| self.new_crossings())
    }

    #[cold]
    fn new_crossings(&self) -> &Crossings {
        let whole = self.whole_pretoken_only.iter().map(|&id| span(&self.bytes, &self.starts, id));
        // Only those that are not ASCII matter, and are few enough to look each up among the special tokens.
        let is_ascii = |id: &u32| self.bytes_or_special(*id).is_none_or(<[u8]>::is_ascii);
        let others = (0..self.next_id()).filter(|id| !is_ascii(id));
        let tokens: Vec<&[u8]> = others.filter_map(|id| self.token_bytes(id)).collect();
        let crossings = Crossings::new(tokens.into_iter(), whole);
        // Built before, so that the lock is not held for long: the process may fork meanwhile.
        self.crossings.get_or_init(|| crossings)
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    pub(crate) fn special_finder(&self) -> Option<&AhoCorasick> {
        self.special_finder.as_ref()
    }
}

/// Returns the id of a token.
type Find<'a> = &'a (dyn Fn(&[u8]) -> Option<u32> + Sync);

/// Tokens with ids, and special tokens with ids.
type Entries = (Vec<(Vec<u8>, u32)>, Vec<(String, u32)>);

/// Returns all tokens and special tokens of a base (the bytes if there is none) and of the merges that
/// follow.
fn join(
    base: Option<&Tokenizer>,
    merges: &[(u32, u32)],
    first_id: u32,
    specials: Vec<(String, u32)>,
) -> Result<Entries> {
    let mut ranks: Vec<(Vec<u8>, u32)> = match base {
        Some(base) => base.ranks().map(|(bytes, id)| (bytes.to_vec(), id)).collect(),
        None => (0..=255u8).map(|byte| (vec![byte], byte as u32)).collect(),
    };
    let mut all_specials = base.map_or(Vec::new(), |base| base.specials.clone());
    all_specials.extend(specials.into_iter().filter(|s| base.is_none_or(|base| !base.specials.contains(s))));

    let free = base.map_or(256, Tokenizer::next_id);
    if first_id < free {
        return bad(format!("merges start at id {first_id}, but ids below {free} are taken"));
    }
    // First find the parts and the total length, then join: each merge can double the length, so a short list
    // can ask for more than any memory holds.
    let old = ranks.len();
    let mut lengths: Vec<usize> = ranks.iter().map(|(token, _)| token.len()).collect();
    let mut size = 0;
    let mut parts = Vec::with_capacity(merges.len());
    for (i, &(left, right)) in merges.iter().enumerate() {
        let find = |part: u32| {
            let at = match part.checked_sub(first_id) {
                Some(made) => Some(old + made as usize).filter(|&at| at < lengths.len()),
                None => ranks.binary_search_by_key(&part, |&(_, id)| id).ok(),
            };
            let reason = || format!("merge {i} joins {left} and {right}, but no earlier token has id {part}");
            at.ok_or_else(|| Error::BadTokenizer { reason: reason() })
        };
        let (left, right) = (find(left)?, find(right)?);
        parts.push((left, right));
        lengths.push(lengths[left] + lengths[right]);
        size += lengths[lengths.len() - 1];
        check_size(size)?;
    }
    for (i, (left, right)) in parts.into_iter().enumerate() {
        let id = u32::try_from(i).ok().and_then(|i| first_id.checked_add(i)).unwrap_or(ID_LIMIT);
        ranks.push(([&ranks[left].0[..], &ranks[right].0].concat(), id));
    }
    Ok((ranks, all_specials))
}

/// Checks that the merges derived from the tokens are the ones that were given.
fn check_witnessed(
    base: Option<&Tokenizer>,
    merges: &[(u32, u32)],
    first_id: u32,
    tokenizer: &Tokenizer,
) -> Result<()> {
    let made = merges.iter().zip(first_id..).map(|(&(left, right), new)| (left, right, new));
    let given: Vec<_> = base.map_or(&[][..], Tokenizer::merges).iter().copied().chain(made).collect();
    match given.iter().zip(&tokenizer.merges).find(|(given, derived)| given != derived) {
        None if given.len() == tokenizer.merges.len() => Ok(()),
        Some((given, derived)) if derived.2 < given.2 => {
            let token = show(tokenizer.token_bytes(derived.2).unwrap_or_default());
            bad(format!(
                "the new merges produce the token {token} (id {}), which the base uses only for a whole pre-token; \
                 do not learn parts of such tokens",
                derived.2
            ))
        }
        differing => {
            let &(left, right, id) =
                differing.map_or_else(|| &given[tokenizer.merges.len()], |(given, _)| given);
            let token = show(tokenizer.token_bytes(id).unwrap_or_default());
            bad(format!(
                "no text merges {left} and {right} into {token} (id {id}): other merges come first, so no \
                 training can have learned it; check the order of the merges"
            ))
        }
    }
}

/// Merges are derived from the tokens, so tokenizers with equal tokens are equal.
impl PartialEq for Tokenizer {
    fn eq(&self, other: &Tokenizer) -> bool {
        self.splitter.pattern() == other.splitter.pattern()
            && self.specials == other.specials
            && self.starts == other.starts
            && self.bytes == other.bytes
            && self.pipeline().map(Pipeline::digest) == other.pipeline().map(Pipeline::digest)
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tokenizer({} tokens, {} of them special)", self.vocab_size(), self.specials.len())
    }
}

/// Lays out all bytes in the order of their ids and returns them with the start of each id. Both lists must
/// be sorted by id.
fn lay_out(ranks: &[(&[u8], u32)], specials: &[(String, u32)]) -> Result<(Vec<u8>, Vec<u32>)> {
    let lengths = ranks.iter().map(|(token, _)| token.len());
    check_size(lengths.chain(specials.iter().map(|(token, _)| token.len())).sum())?;
    let last = ranks.last().map(|&(_, id)| id).max(specials.last().map(|&(_, id)| id));
    if let Some(id) = last.filter(|&id| id >= ID_LIMIT) {
        return bad(format!("id {id} is too high; ids must be below {ID_LIMIT}"));
    }
    let mut special = specials.iter().map(|(token, id)| (token.as_bytes(), *id)).peekable();
    let mut tokens = ranks.iter().copied().peekable();
    let all = std::iter::from_fn(|| match (tokens.peek(), special.peek()) {
        (Some(&(_, id)), Some(&(_, other))) if other < id => special.next(),
        (Some(_), _) => tokens.next(),
        (None, _) => special.next(),
    });
    let mut last: Option<(&[u8], u32)> = None;
    let mut twins = None;
    let laid_out = concatenated(all.inspect(|&this| {
        twins = twins.or(last.filter(|last| last.1 == this.1).zip(Some(this)));
        last = Some(this);
    }));
    if let Some(((one, id), (two, _))) = twins {
        return bad(format!("id {id} is given to both {} and {}", show(one), show(two)));
    }
    if let Some((_, id)) = ranks.iter().find(|(token, _)| token.is_empty()) {
        return bad(format!("the token with id {id} is empty"));
    }
    Ok(laid_out)
}

fn borrowed(ranks: &[(Vec<u8>, u32)]) -> Vec<(&[u8], u32)> {
    ranks.iter().map(|(token, id)| (&token[..], *id)).collect()
}

/// Joins the bytes of ids, lowest first, and returns them with the start of each id.
fn concatenated<'a>(tokens: impl Iterator<Item = (&'a [u8], u32)>) -> (Vec<u8>, Vec<u32>) {
    let mut bytes = Vec::new();
    let mut starts = Vec::new();
    for (token, id) in tokens {
        starts.resize(id as usize + 1, bytes.len() as u32);
        bytes.extend_from_slice(token);
    }
    starts.push(bytes.len() as u32);
    (bytes, starts)
}

fn check_specials(specials: &[(String, u32)], id_of: impl Fn(&[u8]) -> Option<u32>) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for (token, _) in specials {
        check_length(token)?;
        let reason = if token.is_empty() {
            "is empty; give it a text"
        } else if !seen.insert(token) {
            "is given twice; name it once"
        } else if id_of(token.as_bytes()).is_some() {
            "is also an ordinary token; choose another text for it"
        } else {
            continue;
        };
        return Err(Error::BadSpecial { token: token.clone(), reason });
    }
    Ok(())
}

fn check_size(bytes: usize) -> Result<()> {
    if bytes > BYTES_LIMIT { bad("the tokens together are longer than 1 GiB".into()) } else { Ok(()) }
}

fn span<'a>(bytes: &'a [u8], starts: &[u32], id: u32) -> &'a [u8] {
    &bytes[starts[id as usize] as usize..starts[id as usize + 1] as usize]
}

fn show(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

fn bad<T>(reason: String) -> Result<T> {
    Err(Error::BadTokenizer { reason })
}

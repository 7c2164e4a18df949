//! Symbols: vocabularies of another kind on the byte-level engine.
//!
//! The engine (`pairs`) merges bytes, and the rank of a merge is the number of what it forms. Other kinds of
//! BPE start from characters, list their merges in an order of their own, or rank tokens by a score. All of
//! them become vocabularies of *symbols*, which are numbered by rank and translated to ids at the end:
//!
//! - **Characters.** The symbols of the lowest ranks form every character of the vocabulary from its bytes,
//!   so that all characters are complete before any real merge. UTF-8 is self-synchronizing: bytes of two
//!   characters never form one.
//! - **Unknown characters** remain as bytes, or as symbols that are only the beginning of a character. These
//!   translate to byte tokens, or to the unknown token once for each character.
//!   Where listed merges have neither, such characters are dropped before anything is merged, so that their
//!   neighbors meet, as in Hugging Face tokenizers: [`Dropping`].
//! - **Listed merges** may form one token from several pairs, with several ranks. But a token's bytes, left
//!   alone, merge step by step until two symbols remain, and no other two can ever form it (the lemma of
//!   `docs/how-bpe-works.md`), so at most one of those merges is ever applied. Its line number is the rank. If
//!   none is, the token is never formed.
//! - **Words** may end in a suffix (`</w>`) or begin without a prefix (`##`): both are bytes that UTF-8 does
//!   not have, [`SUFFIX`] and [`FIRST`], joined to a character before any real merge. (A suffix that is a
//!   token by itself is merged like any other.)
//!
//! Cost: one encoding per token, as in `derive`. Nothing of this remains at run time but one table look-up
//! per id of a pre-token that the cache does not know.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::pairs::{ID_BITS, NONE, Pairs};
use crate::{Error, Result};

/// Ends the last character of a word.
pub(crate) use crate::count::SUFFIX_MARK as SUFFIX;

/// Begins the first character of a word.
pub(crate) const FIRST: u8 = 0xFE;

/// What merging starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    Characters,
}

/// How merges are ranked.
#[derive(Clone, Debug)]
pub enum Order {
    /// Any two neighbors whose joined bytes are a token form it; the id is the rank.
    Ids,
    /// The same, with a rank for each token, lowest first, which several may share.
    Ranks(Vec<u32>),
    /// Only these (left, right, new), first to last.
    Merges(Vec<(u32, u32, u32)>),
}

/// A vocabulary of any kind.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    pub unit: Unit,
    /// Tokens with their ids. [`SUFFIX`] and [`FIRST`] mark the ends of words.
    pub tokens: Vec<(Vec<u8>, u32)>,
    pub order: Order,
    /// The ids of single bytes, for characters that are not in the vocabulary.
    pub byte_tokens: Option<Vec<Option<u32>>>,
    /// The id of characters that are not in the vocabulary. Without it, they are dropped.
    pub unknown: Option<u32>,
    pub suffix: bool,
    pub first: bool,
}

/// The tables of a vocabulary.
pub(crate) struct Compiled {
    pub pairs: Pairs,
    pub symbols: Symbols,
    /// The merges that can be applied, as ids (left, right, new), in the order of their ranks.
    pub merges: Vec<(u32, u32, u32)>,
    /// The positions in `tokens` of those that no merge forms.
    pub unreachable: Vec<usize>,
    /// What is dropped before merging, if anything is.
    pub dropping: Option<Dropping>,
}

/// Drops the units that are not tokens.
#[derive(Clone)]
pub(crate) struct Dropping {
    unit: Unit,
    tokens: HashSet<Vec<u8>>,
}

impl Dropping {
    fn new(vocabulary: &Vocabulary) -> Option<Dropping> {
        let Vocabulary { unit, tokens, order, byte_tokens, unknown, .. } = vocabulary;
        let drops = matches!(order, Order::Merges(_)) && byte_tokens.is_none() && unknown.is_none();
        let is_unit = |token: &&Vec<u8>| units(*unit, token).nth(1).is_none();
        let tokens: HashSet<Vec<u8>> =
            tokens.iter().map(|(token, _)| token).filter(is_unit).cloned().collect();
        // Bytes that UTF-8 does not have are never met.
        let in_utf8 = |byte: &u8| !matches!(byte, 0xC0 | 0xC1 | 0xF5..);
        let marked = vocabulary.first || vocabulary.suffix;
        let complete = *unit == Unit::Bytes
            && !marked
            && (0..=255).filter(in_utf8).all(|byte| tokens.contains(&[byte][..]));
        (drops && !complete).then_some(Dropping { unit: *unit, tokens })
    }

    /// Returns what is left of a pre-token, and where each byte of it was.
    pub(crate) fn apply_with_positions(&self, pretoken: &[u8]) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut positions) = (Vec::new(), Vec::new());
        let mut at = 0;
        for unit in units(self.unit, pretoken) {
            if self.tokens.contains(unit) {
                bytes.extend_from_slice(unit);
                positions.extend(at..at + unit.len());
            }
            at += unit.len();
        }
        (bytes, positions)
    }

    /// Returns what is left of a pre-token.
    pub(crate) fn apply(&self, pretoken: &[u8]) -> Vec<u8> {
        units(self.unit, pretoken).filter(|unit| self.tokens.contains(*unit)).flatten().copied().collect()
    }
}

/// Returns the units of a pre-token or a token, with the marks of its ends.
fn units(unit: Unit, mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let first = usize::from(rest.first() == Some(&FIRST));
        let width = match (unit, rest.get(first)?) {
            (Unit::Bytes, _) | (_, 0..0xC0 | 0xF8..) => 1,
            (_, 0xC0..0xE0) => 2,
            (_, 0xE0..0xF0) => 3,
            _ => 4,
        };
        let end = (first + width).min(rest.len());
        let end = if rest.get(end) == Some(&SUFFIX) { end + 1 } else { end };
        let (found, later) = rest.split_at(end);
        rest = later;
        Some(found)
    })
}

/// What every symbol is in ids.
#[derive(Clone)]
pub(crate) struct Symbols {
    /// The id of a symbol, or [`NONE`] if it has none or several.
    one: Vec<u32>,
    /// The ids of the others.
    several: HashMap<u32, Vec<u32>>,
    /// The length of every symbol in bytes, marks included.
    lengths: Vec<u32>,
}

impl Symbols {
    /// Returns the length of a symbol in bytes, marks included.
    pub(crate) fn len(&self, symbol: u32) -> usize {
        self.lengths[symbol as usize] as usize
    }

    /// Returns the ids of a symbol.
    pub(crate) fn ids(&self, symbol: u32) -> &[u32] {
        match &self.one[symbol as usize] {
            &NONE => self.several.get(&symbol).map_or(&[], |ids| ids),
            id => std::slice::from_ref(id),
        }
    }

    /// Translates the symbols from `start` on to ids.
    pub(crate) fn translate(&self, ids: &mut Vec<u32>, start: usize) {
        for at in start..ids.len() {
            match self.one[ids[at] as usize] {
                NONE => return self.translate_all(ids, at),
                id => ids[at] = id,
            }
        }
    }

    #[cold]
    fn translate_all(&self, ids: &mut Vec<u32>, start: usize) {
        for symbol in ids.split_off(start) {
            match self.one[symbol as usize] {
                NONE => ids.extend(self.several.get(&symbol).into_iter().flatten()),
                id => ids.push(id),
            }
        }
    }
}

/// Builds the tables of a vocabulary.
pub(crate) fn compile(vocabulary: &Vocabulary) -> Result<Compiled> {
    let alphabet = Alphabet::new(vocabulary);
    let first_merge = alphabet.len();
    let lines = lines(vocabulary)?;
    let symbols_end = first_merge as usize + lines;
    if symbols_end >= 1 << ID_BITS {
        return bad(format!("it has {symbols_end} symbols; at most {} are supported", (1 << ID_BITS) - 1));
    }
    let mut pairs = Pairs::new(std::array::from_fn(|byte| byte as u32), alphabet.pairs.len() + lines);
    for &(left, right, new) in &alphabet.pairs {
        pairs.insert(left, right, new);
    }
    if vocabulary.unit == Unit::Characters && !vocabulary.first && !vocabulary.suffix {
        pairs.start_from(alphabet.characters());
    }
    let listed = Listed::new(vocabulary);
    let mut one = vec![NONE; symbols_end];
    // Of several tokens with the same bytes the first counts, as in the cache.
    let by_bytes: HashMap<&[u8], u32> =
        vocabulary.tokens.iter().rev().map(|(token, id)| (&token[..], *id)).collect();
    let mut lengths = vec![0; symbols_end];
    let mut several = HashMap::new();
    for (symbol, bytes) in alphabet.bytes.iter().enumerate() {
        lengths[symbol] = bytes.len() as u32;
        match by_bytes.get(&bytes[..]) {
            Some(&id) => one[symbol] = id,
            None => match vocabulary.fallback(bytes)[..] {
                [id] => one[symbol] = id,
                ref ids => {
                    several.insert(symbol as u32, ids.to_vec());
                }
            },
        }
    }

    // Before any token is split: of merges with one rank the leftmost comes first here as well.
    if let Some(shared) = listed.shared(first_merge) {
        pairs.share_ranks(shared);
    }
    let mut order: Vec<usize> = (0..vocabulary.tokens.len()).collect();
    order.sort_by_key(|&at| (vocabulary.tokens[at].0.len(), at));
    let mut merges: Vec<(u32, (u32, u32, u32))> = Vec::new();
    let mut unreachable = Vec::new();
    let mut remaining = Vec::new();
    for at in order {
        let (bytes, id) = &vocabulary.tokens[at];
        if alphabet.symbol_of(bytes).is_some() {
            continue;
        }
        remaining.clear();
        pairs.merge(bytes, &mut remaining);
        let formed = match remaining[..] {
            [left, right] => {
                let (left_id, right_id) = (one[left as usize], one[right as usize]);
                listed.rank(at, left_id, right_id, *id).map(|rank| (left, right, left_id, right_id, rank))
            }
            _ => None,
        };
        match formed {
            Some((left, right, left_id, right_id, rank)) => {
                let symbol = first_merge + rank;
                pairs.insert(left, right, symbol);
                one[symbol as usize] = *id;
                lengths[symbol as usize] = bytes.len() as u32;
                merges.push((symbol, (left_id, right_id, *id)));
            }
            None => unreachable.push(at),
        }
    }
    merges.sort_unstable_by_key(|&(symbol, _)| symbol);
    let merges = merges.into_iter().map(|(_, merge)| merge).collect();
    let dropping = Dropping::new(vocabulary);
    Ok(Compiled { pairs, symbols: Symbols { one, several, lengths }, merges, unreachable, dropping })
}

/// Returns the number of ranks, and checks what the order refers to.
fn lines(vocabulary: &Vocabulary) -> Result<usize> {
    match &vocabulary.order {
        Order::Ids => Ok(vocabulary.tokens.len()),
        Order::Ranks(ranks) if ranks.len() != vocabulary.tokens.len() => {
            bad(format!("{} tokens have {} ranks", vocabulary.tokens.len(), ranks.len()))
        }
        Order::Ranks(ranks) => Ok(ranks.len()),
        Order::Merges(merges) => Ok(merges.len()),
    }
}

/// The rank of every merge: a number that no two tokens share.
enum Listed {
    /// By position of the token.
    ByToken { ranks: Vec<u32>, shared: Option<Vec<u32>> },
    /// By the two ids: the rank, and the id of the token.
    ByPair(HashMap<(u32, u32), (u32, u32)>),
}

impl Listed {
    fn new(vocabulary: &Vocabulary) -> Listed {
        let given: Vec<u32> = match &vocabulary.order {
            Order::Ids => vocabulary.tokens.iter().map(|&(_, id)| id).collect(),
            Order::Ranks(ranks) => ranks.clone(),
            Order::Merges(merges) => {
                // Of a pair that is listed twice, the last counts, as in Hugging Face tokenizers.
                let pairs = merges.iter().zip(0..);
                let pairs = pairs.map(|(&(left, right, new), line)| ((left, right), (line, new)));
                return Listed::ByPair(pairs.collect());
            }
        };
        let mut order: Vec<usize> = (0..given.len()).collect();
        order.sort_by_key(|&at| given[at]);
        let mut ranks = vec![0; given.len()];
        for (rank, &at) in order.iter().enumerate() {
            ranks[at] = rank as u32;
        }
        let is_shared = order.windows(2).any(|two| given[two[0]] == given[two[1]]);
        // By rank: the first of the ranks that it shares its value with.
        let shared = is_shared.then(|| {
            let mut first = 0;
            let same = |rank: usize| rank > 0 && given[order[rank]] == given[order[rank - 1]];
            (0..order.len())
                .map(|rank| {
                    first = if same(rank) { first } else { rank as u32 };
                    first
                })
                .collect()
        });
        Listed::ByToken { ranks, shared }
    }

    /// Returns the rank of the merge of two ids to the token at a position, if there is one.
    fn rank(&self, at: usize, left: u32, right: u32, new: u32) -> Option<u32> {
        match self {
            Listed::ByToken { ranks, .. } => Some(ranks[at]),
            Listed::ByPair(pairs) => {
                pairs.get(&(left, right)).filter(|&&(_, formed)| formed == new).map(|&(line, _)| line)
            }
        }
    }

    /// Returns the rank of every symbol, if tokens share ranks.
    fn shared(&self, first_merge: u32) -> Option<Vec<u32>> {
        match self {
            Listed::ByToken { shared: Some(shared), .. } => {
                Some((0..first_merge).chain(shared.iter().map(|rank| first_merge + rank)).collect())
            }
            _ => None,
        }
    }
}

impl Vocabulary {
    /// Returns the ids of an alphabet symbol that is not a token: a byte, the beginning of a character, or a
    /// character.
    fn fallback(&self, bytes: &[u8]) -> Vec<u32> {
        if let Some(byte_tokens) = &self.byte_tokens {
            let ids: Option<Vec<u32>> = bytes.iter().map(|&byte| byte_tokens[byte as usize]).collect();
            if let Some(ids) = ids {
                return ids;
            }
        }
        // The rest of a character whose beginning stands for all of it, or a mark without its character.
        let is_rest = self.unit == Unit::Characters && (0x80..0xC0).contains(&bytes[0]);
        let is_mark = matches!(bytes, [SUFFIX] | [FIRST]);
        if is_rest || is_mark { Vec::new() } else { self.unknown.into_iter().collect() }
    }
}

/// The symbols that exist before any merge: bytes, the characters they form, and those at the ends of words.
struct Alphabet {
    bytes: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, u32>,
    /// (left, right, new), lowest new first.
    pairs: Vec<(u32, u32, u32)>,
}

impl Alphabet {
    fn new(vocabulary: &Vocabulary) -> Alphabet {
        let bytes: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        let numbers = bytes.iter().cloned().zip(0..).collect();
        let mut alphabet = Alphabet { bytes, numbers, pairs: Vec::new() };
        let mut units: Vec<Vec<u8>> = match vocabulary.unit {
            Unit::Bytes => (0..FIRST).map(|byte| vec![byte]).collect(),
            Unit::Characters => alphabet.add_characters(&vocabulary.tokens),
        };
        if vocabulary.first {
            for unit in units.clone() {
                let first = [&[FIRST][..], &unit].concat();
                alphabet.add(&[FIRST], &unit);
                units.push(first);
            }
        }
        // A mark that is a token is a unit of its own.
        if vocabulary.suffix && !vocabulary.tokens.iter().any(|(token, _)| token == &[SUFFIX]) {
            for unit in units {
                alphabet.add(&unit, &[SUFFIX]);
            }
        }
        alphabet
    }

    /// Adds the characters of all tokens, shorter ones and their beginnings first; returns them.
    fn add_characters(&mut self, tokens: &[(Vec<u8>, u32)]) -> Vec<Vec<u8>> {
        let mut chars = BTreeSet::new();
        for (token, _) in tokens {
            for chunk in token.utf8_chunks() {
                chars.extend(chunk.valid().chars());
            }
        }
        let mut buffer = [0; 4];
        let encoded: Vec<Vec<u8>> =
            chars.into_iter().map(|char| char.encode_utf8(&mut buffer).as_bytes().to_vec()).collect();
        for length in 2..=4 {
            let beginnings: BTreeSet<&[u8]> = encoded.iter().filter_map(|char| char.get(..length)).collect();
            for beginning in beginnings {
                self.add(&beginning[..length - 1], &beginning[length - 1..]);
            }
        }
        encoded
    }

    /// Returns the symbols that are whole characters.
    fn characters(&self) -> impl Iterator<Item = (char, u32)> {
        self.bytes.iter().zip(0..).filter_map(|(bytes, symbol)| {
            let mut chars = std::str::from_utf8(bytes).ok()?.chars();
            chars.next().filter(|_| chars.next().is_none()).map(|c| (c, symbol))
        })
    }

    fn add(&mut self, left: &[u8], right: &[u8]) {
        let new = self.len();
        self.pairs.push((self.numbers[left], self.numbers[right], new));
        let bytes = [left, right].concat();
        self.numbers.insert(bytes.clone(), new);
        self.bytes.push(bytes);
    }

    fn len(&self) -> u32 {
        self.bytes.len() as u32
    }

    fn symbol_of(&self, bytes: &[u8]) -> Option<u32> {
        self.numbers.get(bytes).copied()
    }
}

fn bad<T>(reason: String) -> Result<T> {
    Err(Error::BadTokenizer { reason })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a symbol of the oracle is: its text, and its id unless it is unknown.
    type Piece = (Vec<u8>, Option<u32>);

    /// Splits a word into units and merges the pair of lowest rank, leftmost first, until none is left.
    pub(crate) fn oracle(vocabulary: &Vocabulary, word: &str) -> Vec<u32> {
        let ids: HashMap<&[u8], u32> = vocabulary.tokens.iter().map(|(t, id)| (&t[..], *id)).collect();
        let units: Vec<Vec<u8>> = match vocabulary.unit {
            Unit::Bytes => word.bytes().map(|byte| vec![byte]).collect(),
            Unit::Characters => word.chars().map(|char| char.to_string().into_bytes()).collect(),
        };
        let unknown = |unit: &[u8]| match &vocabulary.byte_tokens {
            Some(bytes) => unit.iter().filter_map(|&byte| bytes[byte as usize]).collect(),
            None => Vec::from_iter(vocabulary.unknown),
        };
        let count = units.len();
        let mut pieces: Vec<Piece> = Vec::new();
        for (i, mut unit) in units.into_iter().enumerate() {
            if vocabulary.first && i == 0 {
                unit.insert(0, FIRST);
            }
            if vocabulary.suffix && i + 1 == count {
                unit.push(SUFFIX);
            }
            match ids.get(&unit[..]) {
                Some(&id) => pieces.push((unit, Some(id))),
                // Joined bytes decide, so an unknown character can be merged.
                None if !matches!(vocabulary.order, Order::Merges(_)) => pieces.push((unit, None)),
                None => pieces.extend(unknown(&unit).into_iter().map(|id| (vec![], Some(id)))),
            }
        }
        loop {
            let rank = |i: usize| -> Option<(u32, u32)> {
                let ((left, left_id), (right, right_id)) = (&pieces[i], &pieces[i + 1]);
                if left.is_empty() || right.is_empty() {
                    return None;
                }
                let new = *ids.get(&[&left[..], right].concat()[..])?;
                match &vocabulary.order {
                    Order::Ids => Some((new, new)),
                    Order::Ranks(ranks) => {
                        let at = vocabulary.tokens.iter().position(|&(_, id)| id == new)?;
                        Some((ranks[at], new))
                    }
                    Order::Merges(merges) => {
                        let listed = |&(l, r, n): &(u32, u32, u32)| {
                            Some(l) == *left_id && Some(r) == *right_id && n == new
                        };
                        merges.iter().rposition(listed).map(|line| (line as u32, new))
                    }
                }
            };
            let best = (0..pieces.len().saturating_sub(1)).filter_map(|i| Some((rank(i)?, i)));
            let Some(((_, new), i)) = best.min_by_key(|&((rank, _), i)| (rank, i)) else { break };
            let right = pieces.remove(i + 1);
            pieces[i].0.extend(right.0);
            pieces[i].1 = Some(new);
        }
        let ids = |(unit, id): Piece| id.map_or_else(|| unknown(&unit), |id| vec![id]);
        pieces.into_iter().flat_map(ids).collect()
    }

    fn compiled(vocabulary: &Vocabulary, word: &str) -> Vec<u32> {
        let Compiled { pairs, symbols, dropping, .. } = compile(vocabulary).unwrap();
        let mut marked = Vec::new();
        marked.extend(vocabulary.first.then_some(FIRST));
        marked.extend_from_slice(word.as_bytes());
        marked.extend(vocabulary.suffix.then_some(SUFFIX));
        if let Some(dropping) = dropping {
            marked = dropping.apply(&marked);
        }
        let mut ids = Vec::new();
        pairs.merge(&marked, &mut ids);
        symbols.translate(&mut ids, 0);
        ids
    }

    /// Tokens of a few characters, so that many can be formed; ids in an order of their own.
    pub(crate) fn vocabularies() -> impl Strategy<Value = Vocabulary> {
        let token = proptest::collection::vec(prop_oneof!["[ab]", "[é中]", "🙂"], 1..5);
        let tokens = proptest::collection::hash_set(token.prop_map(|chars| chars.concat()), 1..14);
        let choices = (any::<[bool; 6]>(), 0..3usize, any::<u64>(), proptest::collection::vec(0..4u32, 60));
        (tokens, choices).prop_map(
            |(texts, ([chars, fallback, unknown, suffix, first, _], order, seed, some))| {
                let unit = if chars { Unit::Characters } else { Unit::Bytes };
                let marks = suffix || first;
                let mut tokens: Vec<Vec<u8>> = Vec::new();
                let mut texts: Vec<String> = texts.into_iter().collect();
                texts.sort();
                for text in texts {
                    tokens.push(text.clone().into_bytes());
                    if suffix {
                        tokens.push([text.as_bytes(), &[SUFFIX]].concat());
                    }
                    if first {
                        tokens.push([&[FIRST], text.as_bytes()].concat());
                    }
                }
                if unit == Unit::Bytes && !marks {
                    tokens.extend((0..=255).map(|byte| vec![byte]));
                }
                tokens.sort();
                tokens.dedup();
                let mut tokens: Vec<(Vec<u8>, u32)> = tokens.into_iter().zip(10..).collect();
                let n = tokens.len() as u64;
                tokens.sort_by_key(|&(_, id)| (id as u64).wrapping_mul(seed | 1) % (n + 3));
                let tokens: Vec<(Vec<u8>, u32)> = tokens.into_iter().map(|(t, _)| t).zip(10..).collect();
                let order = match order {
                    0 => Order::Ids,
                    1 => Order::Ranks((0..tokens.len()).map(|i| some[i % some.len()]).collect()),
                    _ => {
                        let ids: HashMap<&[u8], u32> = tokens.iter().map(|(t, id)| (&t[..], *id)).collect();
                        let mut merges = Vec::new();
                        for (token, id) in &tokens {
                            for cut in 1..token.len() {
                                if let (Some(&l), Some(&r)) = (ids.get(&token[..cut]), ids.get(&token[cut..]))
                                {
                                    merges.push((l, r, *id));
                                }
                            }
                        }
                        merges.sort_by_key(|&(l, r, n)| {
                            (l as u64 * 31 + r as u64 * 17 + n as u64).wrapping_mul(seed | 1) % 101
                        });
                        Order::Merges(merges)
                    }
                };
                let byte_tokens =
                    (fallback && !marks).then(|| (0..256).map(|byte| Some(1000 + byte)).collect());
                Vocabulary { unit, tokens, order, byte_tokens, unknown: unknown.then_some(1), suffix, first }
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn every_kind_of_vocabulary_gives_the_ids_of_the_oracle(
            vocabulary in vocabularies(),
            word in "[abé中🙂c文]{1,12}",
        ) {
            prop_assert_eq!(compiled(&vocabulary, &word), oracle(&vocabulary, &word));
        }
    }
}

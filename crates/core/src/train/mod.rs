//! Train: counts become an ordered list of merges.
//!
//! The next merge is always the most frequent pair of adjacent tokens, equal counts decided by the tie rule.
//! The result does not depend on the number of threads, on the memory allowed, or on interruptions.
//!
//! | module | what it holds |
//! |---|---|
//! | `naive` | the oracle: recounts every pair after every merge |
//! | `source` | the counts to train on, in memory or in a file |
//! | `vocabulary` | the tokens so far, under dense internal ids |
//! | `symbols` | all pre-tokens as one flat array of tokens |
//! | `in_memory` | the trainer: phases, merges, bookkeeping |
//! | `index` | finds the pairs worth watching, with their positions |
//! | `watched` | their table: count and positions of each |
//! | `arena` | the storage of position lists |
//! | `queue` | the heap that yields the next pair |
//! | `apply` | one merge along its positions |
//! | `out_of_core` | the same merges with most pre-tokens on disk |
//! | `buckets` | the pre-tokens on disk, by the count of their best pair |
//! | `checkpoint` | the log that lets a killed training resume |
//! | `characters` | the same on characters instead of bytes |
//! | `first_seen` | the tie rule that depends on the order of the corpus |
//! | `leaders` | the leading pairs before every merge, to watch a training |
//! | `certify` | how many merges are proven after rare pre-tokens were dropped |

mod apply;
mod arena;
mod buckets;
mod certify;
mod characters;
mod checkpoint;
mod first_seen;
mod in_memory;
mod index;
mod job;
mod leaders;
#[cfg(test)]
mod naive;
mod out_of_core;
mod queue;
mod symbols;
#[cfg(test)]
mod tests;
mod vocabulary;
mod watched;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;

pub use self::certify::{Certificate, certify};
pub use self::characters::{CharacterJob, TrainedCharacters, train_characters};
pub use self::checkpoint::MergeLog;
use self::in_memory::InMemoryTrainer;
pub use self::job::{Dropped, LogSettings, Trained, TrainingJob, train_tokenizer};
pub use self::leaders::{Leaders, leading_pairs};
use self::out_of_core::{MemoryPlan, OutOfCoreTrainer};
use self::queue::CountedPair;
use self::symbols::Symbols;
use self::vocabulary::Vocabulary;
use crate::count::Counts;
pub use crate::count::Source;
use crate::team::Team;
use crate::threads::thread_count;
use crate::{Error, Progress, Result, Stage, Tokenizer};

/// Which of several equally frequent pairs is merged first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// The smallest (left id, right id), as in rustbpe.
    Ids,
    /// The smallest (left id, right id), with the bytes in the order of Hugging Face's alphabet.
    HuggingFace,
    /// The lexicographically greatest (left bytes, right bytes), as in the CS336 course.
    Bytes,
    /// The one that occurs first in the corpus, as in minbpe; only for counts in the order of first occurrence.
    First,
    /// The shortest token in characters, then the lexicographically smallest, as in SentencePiece.
    SentencePiece,
}

/// The settings of a training.
pub struct TrainSettings<'a> {
    /// The largest number of merges to learn.
    pub merges: usize,
    pub tie_break: TieBreak,
    /// Pairs with a lower count are not merged.
    pub min_frequency: u64,
    /// Longer tokens are not created.
    pub max_token_bytes: Option<usize>,
    /// Tokens of more characters are not created; a byte that ends no character counts as one.
    pub max_token_characters: Option<usize>,
    /// Pre-tokens with a lower count are dropped before training; [`certify`] reports which merges are still
    /// proven exact.
    pub min_pretoken_count: u64,
    /// Byte strings that no merge may produce (the special tokens).
    pub forbidden: &'a [Vec<u8>],
    /// Continue from this tokenizer: its ids stay, and new ones start at `first_id`.
    pub base: Option<&'a Tokenizer>,
    /// Whether every character of the pre-tokens is a token of the base.
    pub whole_characters: bool,
    pub first_id: u32,
    /// The number of threads; 0 means one per core.
    pub threads: usize,
}

/// The result of training: merge `i` joins `pairs[i]` into the token `first_id + i`, and that pair had the
/// count `counts[i]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merges {
    pub pairs: Vec<(u32, u32)>,
    pub counts: Vec<u64>,
}

/// The settings in the form that the trainers use.
pub(crate) struct Rules {
    merges: usize,
    tie_break: TieBreak,
    min_frequency: u64,
    max_token_bytes: usize,
    max_token_characters: usize,
    forbidden: HashSet<Vec<u8>>,
    /// By length: whether a byte string of that length is forbidden, which rules out most pairs without a
    /// look-up.
    forbidden_lengths: Vec<bool>,
}

impl Merges {
    fn push(&mut self, merge: CountedPair, vocabulary: &Vocabulary) {
        self.pairs.push((vocabulary.external(merge.left), vocabulary.external(merge.right)));
        self.counts.push(merge.count);
    }
}

impl Rules {
    fn new(settings: &TrainSettings) -> Rules {
        let mut forbidden: HashSet<Vec<u8>> = settings.forbidden.iter().cloned().collect();
        forbidden.extend(settings.base.map(Tokenizer::forbidden_when_continued).unwrap_or_default());
        let mut forbidden_lengths = vec![false; forbidden.iter().map(|f| f.len() + 1).max().unwrap_or(0)];
        forbidden.iter().for_each(|bytes| forbidden_lengths[bytes.len()] = true);
        Rules {
            merges: settings.merges,
            tie_break: settings.tie_break,
            min_frequency: settings.min_frequency,
            max_token_bytes: settings.max_token_bytes.unwrap_or(usize::MAX),
            max_token_characters: settings.max_token_characters.unwrap_or(usize::MAX),
            forbidden,
            forbidden_lengths,
        }
    }

    /// Whether this pair may become a token.
    #[inline(always)]
    fn allows(&self, left: u32, right: u32, vocabulary: &Vocabulary) -> bool {
        let all = self.max_token_bytes == usize::MAX
            && self.max_token_characters == usize::MAX
            && self.forbidden.is_empty();
        all || self.allows_token(left, right, vocabulary)
    }

    fn allows_token(&self, left: u32, right: u32, vocabulary: &Vocabulary) -> bool {
        let bytes = vocabulary.joint_len(left, right);
        let suspect = self.forbidden_lengths.get(bytes).is_some_and(|&forbidden| forbidden);
        bytes <= self.max_token_bytes
            && (bytes <= self.max_token_characters
                || vocabulary.joint_characters(left, right) <= self.max_token_characters)
            && !(suspect
                && self.forbidden.contains(&[vocabulary.bytes(left), vocabulary.bytes(right)].concat()))
    }

    /// Whether a neighbor could form a pair with one of these two that may not become a token.
    fn touches_forbidden(&self, pair: CountedPair, vocabulary: &Vocabulary) -> bool {
        let (left, right) = (vocabulary.bytes(pair.left), vocabulary.bytes(pair.right));
        self.forbidden.iter().any(|bytes| bytes.ends_with(left) || bytes.starts_with(right))
    }
}

/// The bytes that training in memory takes for each token or end of a pre-token; measured at 11 to 14.
const BYTES_A_SLOT: u64 = 14;

/// The memory that training may use, and the folder for what does not fit.
pub struct Limit<'a> {
    pub memory: u64,
    pub folder: &'a Path,
}

/// Learns merges: the same ones for every number of threads and every memory limit.
///
/// With a log, training resumes after the merges in it and appends new ones, also when it is stopped. The
/// result equals that of a training that was never interrupted.
pub fn train(
    source: &Source,
    settings: &TrainSettings,
    log: Option<MergeLog>,
    limit: Option<Limit>,
    progress: &Progress,
) -> Result<Merges> {
    if settings.tie_break == TieBreak::First {
        let Source::Memory(counts) = source else {
            let reason = "tie_break=\"first\" needs the order of the corpus, which counts files and normalized \
                          pre-tokens do not have; train on the corpus itself, in memory and without a normalizer";
            return Err(Error::BadSetting { reason: reason.into() });
        };
        return resume(source, settings, log, progress, |start, merges, log| {
            first_seen::learn(counts, settings.min_pretoken_count, start, merges, log, progress)
        });
    }
    if let Some(limit) = limit {
        let size = source.size(settings.min_pretoken_count, progress)?;
        // Counts store a number and an end for each pre-token, and training an index to sort them by.
        let tokens = if settings.whole_characters { size.characters } else { size.bytes };
        let needed = size.bytes + 20 * size.pretokens + BYTES_A_SLOT * (tokens + size.pretokens);
        // Positions in memory have 32 bits.
        let countable = tokens + size.pretokens < symbols::END as u64 - 1;
        if needed > limit.memory || !countable {
            let plan = MemoryPlan::within(limit.memory, limit.folder);
            return train_out_of_core(source, settings, log, plan, progress);
        }
    }
    resume(source, settings, log, progress, |start, merges, log| {
        let Start { rules, vocabulary, base, team } = start;
        let counts = source.in_memory(settings.threads, progress)?;
        let symbols = lay_out(&counts, settings.min_pretoken_count, base, &vocabulary, &team, progress)?;
        drop(counts);
        InMemoryTrainer::new(symbols, vocabulary, rules, &team).run(merges, log, progress)
    })
}

/// Learns the same merges with most pre-tokens on disk.
fn train_out_of_core(
    source: &Source,
    settings: &TrainSettings,
    log: Option<MergeLog>,
    plan: MemoryPlan,
    progress: &Progress,
) -> Result<Merges> {
    resume(source, settings, log, progress, |start, merges, log| {
        let Start { rules, vocabulary, base, team } = start;
        let (byte_tokens, internal) = (vocabulary.byte_tokens(), vocabulary.internal());
        let mut trainer = OutOfCoreTrainer::new(rules, vocabulary, plan, &team)?;
        trainer.fill(|put| {
            let (mut ids, mut tokens, mut weight_of_all) = (Vec::new(), Vec::new(), 0u64);
            source.for_each(progress, |pretoken, count| {
                if count < settings.min_pretoken_count {
                    return Ok(());
                }
                weight_of_all = add_weight(weight_of_all, pretoken, count)?;
                tokens.clear();
                match base {
                    None => tokens.extend(pretoken.iter().map(|&byte| byte_tokens[byte as usize])),
                    Some(base) => {
                        ids.clear();
                        base.encode_pretoken(pretoken, &mut ids);
                        tokens.extend(ids.iter().map(|&id| internal.of(id)));
                    }
                }
                if tokens.len() > 1 { put(count, &tokens) } else { Ok(()) }
            })
        })?;
        trainer.run(merges, log, progress)
    })
}

/// What a trainer starts from.
struct Start<'a> {
    rules: &'a Rules,
    vocabulary: Vocabulary,
    /// Encodes the pre-tokens; without it they are bytes.
    base: Option<&'a Tokenizer>,
    team: Team,
}

/// Calls `learn` to resume after the merges in the log, and writes the new merges to it, however `learn`
/// ended.
fn resume(
    source: &Source,
    settings: &TrainSettings,
    mut log: Option<MergeLog>,
    progress: &Progress,
    learn: impl FnOnce(Start, &mut Merges, Option<&mut MergeLog>) -> Result<()>,
) -> Result<Merges> {
    let rules = &Rules::new(settings);
    let mut vocabulary = Vocabulary::new(settings.base, settings.tie_break, settings.first_id);
    let mut merges = log.as_ref().map_or_else(Merges::default, |log| log.learned(rules.merges));
    progress.begin(Stage::Merge, rules.merges as u64);
    progress.advance(merges.pairs.len() as u64);
    if log.is_some() && merges.pairs.len() == rules.merges {
        return Ok(merges);
    }
    let team = Team::new(thread_count(settings.threads));
    // Encoding a pre-token with the merges so far gives what training had made of it: docs/how-bpe-works.md.
    let so_far = match merges.pairs.is_empty() {
        true => None,
        false => Some(vocabulary.learn(&source.settings().splitter, settings.base, &merges.pairs)?),
    };
    let base = so_far.as_ref().or(settings.base);
    let outcome = learn(Start { rules, vocabulary, base, team }, &mut merges, log.as_mut());
    // Every merge was chosen by exact counts, so the merges before a stop are valid.
    let noted = match &mut log {
        // A short training that was not interrupted leaves no file behind.
        Some(log) if outcome.is_err() || log.is_begun() => log.write(&merges),
        _ => Ok(()),
    };
    outcome.and(noted).map(|()| merges)
}

/// Lays out all pre-tokens by falling count, as tokens of the base, or as bytes if there is none.
fn lay_out(
    counts: &Counts,
    min_pretoken_count: u64,
    base: Option<&Tokenizer>,
    vocabulary: &Vocabulary,
    team: &Team,
    progress: &Progress,
) -> Result<Symbols> {
    let order = by_falling_count(counts, min_pretoken_count);
    progress.check()?;
    order.iter().try_fold(0, |sum, &i| {
        let (pretoken, count) = counts.get(i as usize);
        add_weight(sum, pretoken, count)
    })?;

    let shares: Vec<&[u32]> = order.chunks(1 << 16).collect();
    let pretokens = |share: usize| {
        let heard = if progress.is_cancelled() { &[] } else { shares[share] };
        heard.iter().map(|&i| counts.get(i as usize))
    };
    let symbols = match base {
        None => {
            let tokens = vocabulary.byte_tokens();
            let size = |share: &&[u32]| share.iter().map(|&i| counts.pretoken(i as usize).len() + 1).sum();
            let sizes: Vec<usize> = shares.iter().map(size).collect();
            check_slots(&sizes)?;
            Symbols::build(&sizes, vocabulary.len(), team, |share, out| {
                for (pretoken, count) in pretokens(share) {
                    out.push(pretoken.iter().map(|&byte| tokens[byte as usize]), count);
                }
            })
        }
        Some(base) => {
            // Encoded first, because the number of tokens of each pre-token must be known.
            let internal = vocabulary.internal();
            let encoded: Vec<Mutex<Encoded>> = shares.iter().map(|_| Mutex::default()).collect();
            team.for_each((0..shares.len()).collect(), |share| {
                let mut all = encoded[share].lock().unwrap();
                for (pretoken, _) in pretokens(share) {
                    base.encode_pretoken(pretoken, &mut all.ids);
                    let end = all.ids.len();
                    all.ends.push(end);
                }
            });
            let size = |share: &Mutex<Encoded>| {
                let share = share.lock().unwrap();
                share.ids.len() + share.ends.len()
            };
            let sizes: Vec<usize> = encoded.iter().map(size).collect();
            check_slots(&sizes)?;
            Symbols::build(&sizes, vocabulary.len(), team, |share, out| {
                let Encoded { ids, ends } = &*encoded[share].lock().unwrap();
                let mut start = 0;
                for (&end, (_, count)) in ends.iter().zip(pretokens(share)) {
                    out.push(ids[start..end].iter().map(|&id| internal.of(id)), count);
                    start = end;
                }
            })
        }
    };
    progress.check()?;
    Ok(symbols)
}

/// The ids of some pre-tokens, one after the other, and where each ends.
#[derive(Default)]
struct Encoded {
    ids: Vec<u32>,
    ends: Vec<usize>,
}

/// Adds the weight of a pre-token to `sum`. The counts of all pairs add up to at most the bytes of all
/// pre-tokens times their counts: if those fit in 64 bits, no count overflows.
fn add_weight(sum: u64, pretoken: &[u8], count: u64) -> Result<u64> {
    let weight = count.checked_mul(pretoken.len() as u64);
    weight.and_then(|weight| sum.checked_add(weight)).ok_or(Error::CountOverflow)
}

/// Checks that the positions fit in 32 bits.
fn check_slots(sizes: &[usize]) -> Result<()> {
    let slots: usize = sizes.iter().sum();
    if slots < symbols::END as usize - 1 {
        return Ok(());
    }
    let reason = format!(
        "the pre-tokens have {slots} tokens, more than the 2^32 that training supports; drop rare pre-tokens first"
    );
    Err(Error::BadSetting { reason })
}

/// Returns the indices of all pre-tokens that contain a pair and are frequent enough, most frequent first.
/// Nearly all counts are small, so a counting sort does most of the work; equal counts keep their order,
/// which keeps reading sequential.
fn by_falling_count(counts: &Counts, least: u64) -> Vec<u32> {
    const SMALL: u64 = 4096;
    let count = |i: u32| counts.count(i as usize);
    let has_pairs = |&i: &u32| counts.pretoken(i as usize).len() > 1 && count(i) >= least;
    let pairs = || (0..counts.len() as u32).filter(has_pairs);
    let mut order: Vec<u32> = pairs().filter(|&i| count(i) >= SMALL).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(count(i)));

    let mut starts = vec![0; SMALL as usize + 1];
    for i in pairs().filter(|&i| count(i) < SMALL) {
        starts[(SMALL - count(i)) as usize] += 1;
    }
    let mut start = order.len();
    for offset in &mut starts {
        start += std::mem::replace(offset, start);
    }
    order.resize(start, 0);
    for i in pairs().filter(|&i| count(i) < SMALL) {
        let offset = &mut starts[(SMALL - count(i)) as usize];
        order[*offset] = i;
        *offset += 1;
    }
    order
}

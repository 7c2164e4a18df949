//! Certify: how many merges of a training without the rare pre-tokens equal those of a training with all of
//! them.
//!
//! The number is computed, not estimated. As long as two trainings have made the same merges, their
//! pre-tokens are in the same state; so the merges are replayed over *all* pre-tokens, one at a time, and
//! each merge notes which tokens were next to it and how often. These notes and the initial pairs give the
//! true count of every pair before every merge. A sweep over the merges then asks each time: is this the pair
//! that the true counts choose? The first one that is not ends it. `docs/how-bpe-works.md` has the proof.
//!
//! **Cost.** A replay encodes each unique pre-token once. Its memory grows with the distinct neighbors, not
//! with the pre-tokens: a few million numbers whatever the corpus. The first round checks 64 merges and each
//! further one eight times as many, because the two orders usually diverge early (by the twentieth merge on
//! every text we tried), and a short replay is cheap. Where even the notes exceed their limit, fewer merges
//! are checked, and the certificate says so.
//!
//! **When it loses**: where the orders diverge late or never, every round is needed, and that took three
//! times as long as training on all pre-tokens. Where they diverge early it took an eighth of that or less.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use hashbrown::HashMap;

use super::queue::{CountedPair, MergeQueue};
use super::vocabulary::Vocabulary;
use super::{Merges, Rules, TrainSettings, add_weight};
use crate::count::{PretokenBatch, Source};
use crate::merge::pairs::{ID_BITS, NONE};
use crate::team::Team;
use crate::threads::thread_count;
use crate::{Progress, Result, Stage, Tokenizer};

/// How many merges the first round checks, and how many times more each next one. (Small in tests.)
const FIRST_ROUND: usize = if cfg!(test) { 2 } else { 64 };
const GROWTH: usize = if cfg!(test) { 2 } else { 8 };
/// The largest number of notes, about 300 MB.
const MOST_NOTES: usize = 1 << 23;
const BYTES_A_NOTE: u64 = 36;
/// A thread hands over its notes when it has this many: they fit in its cache.
const OWN_NOTES: usize = if cfg!(test) { 4 } else { 1 << 15 };

/// What is proven about merges that were learned without the rare pre-tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// How many of the first merges equal those of a training on all pre-tokens.
    pub proven: usize,
    /// How many merges were checked. If more than are proven, the first unproven merge is known to differ.
    pub checked: usize,
}

/// Determines which of `merges`, trained with these settings, a training on all pre-tokens would have made
/// too.
pub fn certify(
    source: &Source,
    settings: &TrainSettings,
    merges: &Merges,
    memory: Option<u64>,
    progress: &Progress,
) -> Result<Certificate> {
    let most_notes = memory.map_or(MOST_NOTES, |memory| MOST_NOTES.min((memory / BYTES_A_NOTE) as usize));
    certify_within(most_notes, source, settings, merges, progress)
}

fn certify_within(
    most_notes: usize,
    source: &Source,
    settings: &TrainSettings,
    merges: &Merges,
    progress: &Progress,
) -> Result<Certificate> {
    let all = merges.pairs.len();
    if source.rarer_than(settings.min_pretoken_count, progress)?.0 == 0 {
        return Ok(Certificate { proven: all, checked: all });
    }
    let (mut weight_of_all, mut bytes) = (0u64, 0u64);
    source.for_each(progress, |pretoken, count| {
        weight_of_all = add_weight(weight_of_all, pretoken, count)?;
        bytes += pretoken.len() as u64;
        Ok(())
    })?;
    // One pass for the initial pairs and one per round; a difference ends it early.
    progress.begin(Stage::Certify, bytes.saturating_mul(1 + rounds(all)));

    let team = Team::new(thread_count(settings.threads));
    let replay = Replay { source, settings, team: &team, progress, most_notes };
    let start = replay.initial_pairs()?;
    let mut round = FIRST_ROUND;
    loop {
        let merges = &merges.pairs[..round.min(all)];
        let (notes, checked) = replay.notes(merges)?;
        let proven = sweep(&start, notes, &merges[..checked], settings, progress)?;
        if proven < checked || checked < merges.len() || checked == all {
            return Ok(Certificate {
                proven,
                checked: all.min(if proven < checked { proven + 1 } else { checked }),
            });
        }
        round *= GROWTH;
    }
}

/// Returns how many rounds it takes to check `merges` merges.
fn rounds(merges: usize) -> u64 {
    let sizes = std::iter::successors(Some(FIRST_ROUND), |size| size.checked_mul(GROWTH));
    1 + sizes.take_while(|&size| size < merges).count() as u64
}

/// Counts of pairs, by left and right token.
type PairCounts = HashMap<(u32, u32), u64>;

/// A merge, a side of it and the token that was there, in one number. Sorting gives the order of merges.
type Note = u64;
type NoteWeights = HashMap<Note, u64>;

const LEFT: u64 = 0;
const RIGHT: u64 = 1;

fn note(merge: usize, side: u64, neighbor: u32) -> Note {
    (merge as u64) << (ID_BITS + 1) | side << ID_BITS | neighbor as u64
}

fn merge_of(note: Note) -> usize {
    (note >> (ID_BITS + 1)) as usize
}

/// Replays merges over all pre-tokens of a source.
struct Replay<'a> {
    source: &'a Source<'a>,
    settings: &'a TrainSettings<'a>,
    team: &'a Team,
    progress: &'a Progress,
    most_notes: usize,
}

impl Replay<'_> {
    /// Calls `work` with every pre-token that may contain a pair, in batches on all threads. Each thread has
    /// its own `T`, which `done` receives at the end.
    fn for_each_batch<T: Default>(
        &self,
        work: impl Fn(&mut T, &[u8], u64) + Sync,
        done: impl Fn(T) + Sync,
    ) -> Result<()> {
        let base = self.settings.base;
        // Whole-pre-token-only tokens contain no pair: as a pre-token, each is one token from the start.
        let whole = |pretoken: &[u8]| {
            base.is_some_and(|base| {
                let only = base.whole_pretoken_only();
                !only.is_empty() && base.id_of(pretoken).is_some_and(|id| only.binary_search(&id).is_ok())
            })
        };
        let batches = Mutex::new(self.source.batches()?);
        let failure = Mutex::new(None);
        self.team.run(&|_| {
            let (mut own, mut batch) = (T::default(), PretokenBatch::default());
            while !self.progress.is_cancelled() {
                match (*batches.lock().unwrap())(&mut batch) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        *failure.lock().unwrap() = Some(error);
                        break;
                    }
                }
                let mut seen = 0;
                for (pretoken, count) in batch.iter() {
                    seen += pretoken.len() as u64;
                    if pretoken.len() > 1 && !whole(pretoken) {
                        work(&mut own, pretoken, count);
                    }
                }
                self.progress.advance(seen);
            }
            done(own);
        });
        self.progress.check()?;
        failure.into_inner().unwrap().map_or(Ok(()), Err)
    }

    /// Counts each pair in the pre-tokens before any merge.
    fn initial_pairs(&self) -> Result<PairCounts> {
        let sum = Mutex::new(PairCounts::new());
        self.for_each_batch(
            |(own, ids): &mut (PairCounts, Vec<u32>), pretoken, count| {
                ids.clear();
                match self.settings.base {
                    Some(base) => base.encode_pretoken(pretoken, ids),
                    None => ids.extend(pretoken.iter().map(|&byte| byte as u32)),
                }
                for pair in ids.windows(2) {
                    *own.entry((pair[0], pair[1])).or_default() += count;
                }
            },
            |(own, _)| {
                let mut sum = sum.lock().unwrap();
                own.into_iter().for_each(|(pair, count)| *sum.entry(pair).or_default() += count);
            },
        )?;
        Ok(sum.into_inner().unwrap())
    }

    /// Returns which tokens were next to each of these merges, in order, and how many of the merges are
    /// covered: fewer than all where there was too much to note. That number does not depend on which thread
    /// noted what first: it is halved if and only if the notes on that many merges are too many.
    fn notes(&self, merges: &[(u32, u32)]) -> Result<(Vec<(Note, u64)>, usize)> {
        let TrainSettings { base, first_id, .. } = *self.settings;
        let splitter = self.source.settings().splitter.clone();
        let tokenizer = Tokenizer::trained(base, merges, first_id, splitter, Vec::new())?;
        let checked = AtomicUsize::new(merges.len());
        let all: Mutex<NoteWeights> = Mutex::default();
        let hand_over = |own: &mut NoteWeights| {
            let mut all = all.lock().unwrap();
            let mut limit = checked.load(Relaxed);
            for (note, weight) in own.drain().filter(|&(note, _)| merge_of(note) < limit) {
                *all.entry(note).or_default() += weight;
            }
            while all.len() > self.most_notes {
                limit /= 2;
                all.retain(|&note, _| merge_of(note) < limit);
            }
            checked.store(limit, Relaxed);
        };
        self.for_each_batch(
            |(own, ids): &mut (NoteWeights, Vec<u32>), pretoken, count| {
                let limit = checked.load(Relaxed);
                ids.clear();
                tokenizer.pairs().merge_and_report(pretoken, ids, |new, left, right| {
                    // Merges of the base belong to the initial state.
                    let Some(merge) = new.checked_sub(first_id).map(|merge| merge as usize) else { return };
                    if merge < limit {
                        for (side, neighbor) in [(LEFT, left), (RIGHT, right)] {
                            if neighbor != NONE {
                                *own.entry(note(merge, side, neighbor)).or_default() += count;
                            }
                        }
                    }
                });
                if own.len() > OWN_NOTES {
                    hand_over(own);
                }
            },
            |(mut own, _)| hand_over(&mut own),
        )?;
        let mut all: Vec<(Note, u64)> = all.into_inner().unwrap().into_iter().collect();
        all.sort_unstable();
        Ok((all, checked.into_inner()))
    }
}

/// Returns how many of the first merges the true counts choose.
fn sweep(
    start: &PairCounts,
    notes: Vec<(Note, u64)>,
    merges: &[(u32, u32)],
    settings: &TrainSettings,
    progress: &Progress,
) -> Result<usize> {
    let rules = Rules::new(settings);
    let mut vocabulary = Vocabulary::new(settings.base, settings.tie_break, settings.first_id);
    let least = rules.min_frequency.max(1);
    let (internal, first) = (vocabulary.internal(), vocabulary.len() as u32);
    let internal = |id: u32| internal.get(id).unwrap_or_else(|| first + (id - settings.first_id));

    let mut counts = PairCounts::new();
    let mut queue = MergeQueue::default();
    let enter = |queue: &mut MergeQueue, (left, right), count, vocabulary: &Vocabulary| {
        let entry = CountedPair { count, left, right };
        if count >= least && rules.allows(left, right, vocabulary) {
            queue.push(entry, rules.tie_break, vocabulary);
        }
    };
    for (&(left, right), &count) in start {
        let pair = (internal(left), internal(right));
        counts.insert(pair, count);
        enter(&mut queue, pair, count, &vocabulary);
    }

    let mut notes = notes.into_iter().peekable();
    for (merge, &(left, right)) in merges.iter().enumerate() {
        progress.check()?;
        let (left, right) = (internal(left), internal(right));
        // Counts of existing pairs only fall, so a top that is up to date is the best pair.
        let best = loop {
            let Some(top) = queue.top() else { break None };
            match counts.get(&(top.left, top.right)).copied().unwrap_or(0) {
                count if count == top.count => break Some((top.left, top.right)),
                count if count < least => queue.pop(rules.tie_break, &vocabulary),
                count => queue.lower_top(count, rules.tie_break, &vocabulary),
            }
        };
        if best != Some((left, right)) {
            return Ok(merge);
        }
        let new = vocabulary.len() as u32;
        vocabulary.add(left, right);
        let mut born = Vec::new();
        while let Some((note, weight)) = notes.next_if(|&(note, _)| merge_of(note) == merge) {
            let neighbor = internal(note as u32 & ((1 << ID_BITS) - 1));
            let (lost, gained) = match note >> ID_BITS & 1 {
                LEFT => ((neighbor, left), (neighbor, new)),
                _ => ((right, neighbor), (new, neighbor)),
            };
            // A pair that one merge creates and the next one removes (`abab`) may be subtracted before it is
            // added here. All sums are right once the last note on this merge is read.
            let lost = counts.entry(lost).or_default();
            *lost = lost.wrapping_sub(weight);
            let gained_count = counts.entry(gained).or_default();
            *gained_count = gained_count.wrapping_add(weight);
            born.push(gained);
        }
        counts.remove(&(left, right));
        born.sort_unstable();
        born.dedup();
        for pair in born {
            enter(&mut queue, pair, counts[&pair], &vocabulary);
        }
    }
    Ok(merges.len())
}

#[cfg(test)]
#[path = "certify_tests.rs"]
mod tests;

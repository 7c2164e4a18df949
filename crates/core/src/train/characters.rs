//! Characters: training on characters instead of bytes, as SentencePiece does, and on words with a suffix.
//!
//! The trainer merges whatever tokens it starts from. Here these are the characters of an *alphabet*, as a
//! base tokenizer that forms each of them from its bytes and knows nothing else. Pre-tokens are prepared
//! first (`count/prepared.rs`), so that the alphabet is all they consist of. So counting, threads, memory
//! limit and log are those of byte-level training, and so are its guarantees.
//!
//! Cost: one more pass over the unique pre-tokens, on all threads, which adds up their parts: `duck,` is the word
//! and the comma, and both occur elsewhere. A second one if the alphabet leaves characters out. Parts that exceed
//! the memory limit are prepared again on every pass.

use std::collections::BTreeSet;

use super::job::LogSettings;
use super::{Limit, TieBreak, TrainSettings, train};
use crate::count::{CharacterCounts, Preparation, SUFFIX_MARK, Source, WordMark};
use crate::split::Splitter;
use crate::{Error, Progress, Result, Tokenizer};

/// Everything that decides how characters are merged, beside the counts.
pub struct CharacterJob<'a> {
    /// The maximum number of tokens, the alphabet included.
    pub tokens: usize,
    pub preparation: Preparation,
    /// The alphabet is the most frequent characters that make up this part of the text.
    pub coverage: f32,
    /// And has at most this many of them.
    pub max_alphabet: Option<usize>,
    pub tie_break: TieBreak,
    /// Pairs that occur less often are not merged.
    pub min_frequency: u64,
    /// Longer tokens are not created.
    pub max_token_characters: Option<usize>,
    /// Strings that no merge forms.
    pub forbidden: Vec<Vec<u8>>,
    /// 0 means one thread per core.
    pub threads: usize,
    pub limit: Option<Limit<'a>>,
    pub log: Option<LogSettings<'a>>,
}

/// What was learned. Word marks are in the tokens: `▁`, or the byte 0xFF for a suffix.
pub struct TrainedCharacters {
    /// The characters with their counts, most frequent first, equal ones by code point; then those that end
    /// words, with the mark and no count of their own.
    pub alphabet: Vec<(Vec<u8>, u64)>,
    /// Both halves of each new token, in order.
    pub merges: Vec<(Vec<u8>, Vec<u8>)>,
    pub merge_counts: Vec<u64>,
}

/// Trains on the characters of counted pre-tokens.
pub fn train_characters(
    source: &Source,
    mut job: CharacterJob,
    progress: &Progress,
) -> Result<TrainedCharacters> {
    let limit = job.limit.as_ref().map_or(usize::MAX, |limit| limit.memory as usize);
    let add_up = |preparation: &Preparation| source.parts(preparation, job.threads, limit, progress);
    let mut parts = add_up(&job.preparation)?;
    let found = match &parts {
        Some(parts) => count_characters(&Source::Memory(parts), progress)?,
        None => {
            let all = Source::Prepared { from: source, preparation: &job.preparation };
            count_characters(&all, progress)?
        }
    };
    let characters = alphabet(&found, &job);
    if characters.len() < found.iter().count() {
        job.preparation.alphabet = Some(characters.iter().map(|&(c, _)| c).collect());
        parts = if parts.is_some() { add_up(&job.preparation)? } else { None };
    }
    let streamed = Source::Prepared { from: source, preparation: &job.preparation };
    let added_up = parts.as_ref().map(Source::Memory);
    let prepared = added_up.as_ref().unwrap_or(&streamed);
    let endings = endings(prepared, &job, progress)?;
    let alphabet_size = characters.len() + endings.len();
    let Some(merges) = job.tokens.checked_sub(alphabet_size) else {
        let reason = format!(
            "the alphabet has {alphabet_size} characters, but only {} tokens are left for it; raise vocab_size \
             or lower character_coverage",
            job.tokens
        );
        return Err(Error::BadSetting { reason });
    };
    let base = base(characters.iter().map(|&(c, _)| c).collect(), &endings)?;
    let settings = TrainSettings {
        merges,
        tie_break: job.tie_break,
        min_frequency: job.min_frequency,
        max_token_bytes: None,
        max_token_characters: job.max_token_characters,
        whole_characters: true,
        min_pretoken_count: 0,
        forbidden: &job.forbidden,
        base: Some(&base),
        first_id: base.next_id(),
        threads: job.threads,
    };
    let log = job.log.map(|log| log.open(&streamed, &settings)).transpose()?;
    let learned = train(prepared, &settings, log, job.limit, progress)?;

    let mut tokens: Vec<Vec<u8>> = Vec::with_capacity(learned.pairs.len());
    let mut merges = Vec::with_capacity(learned.pairs.len());
    for &(left, right) in &learned.pairs {
        let token = |id: u32| match base.token_bytes(id) {
            Some(bytes) => bytes.to_vec(),
            None => tokens[(id - settings.first_id) as usize].clone(),
        };
        let (left, right) = (token(left), token(right));
        tokens.push([&left[..], &right].concat());
        merges.push((left, right));
    }
    let characters = characters.iter().map(|&(c, count)| (c.to_string().into_bytes(), count));
    let endings = endings.into_iter().map(|ending| (ending, 0));
    Ok(TrainedCharacters {
        alphabet: characters.chain(endings).collect(),
        merges,
        merge_counts: learned.counts,
    })
}

/// Counts the characters of all parts.
fn count_characters(parts: &Source, progress: &Progress) -> Result<CharacterCounts> {
    let mut counts = CharacterCounts::default();
    parts.for_each(progress, |part, count| {
        counts.add(part, count);
        Ok(())
    })?;
    Ok(counts)
}

/// Returns the most frequent characters that cover as much as the job asks for.
fn alphabet(counts: &CharacterCounts, job: &CharacterJob) -> Vec<(char, u64)> {
    // A zero byte ends a string in the files of SentencePiece.
    let mut characters: Vec<(char, u64)> = counts.iter().filter(|&(c, _)| c != '\0').collect();
    let all: u64 = characters.iter().fold(0, |sum, &(_, count)| sum.saturating_add(count));
    characters.sort_by_key(|&(c, count)| (std::cmp::Reverse(count), c));
    let mut covered = 0u64;
    let needed = characters.iter().take_while(|(_, count)| {
        let is_needed = ((covered as f64 / all as f64) as f32) < job.coverage;
        covered = covered.saturating_add(*count);
        is_needed
    });
    let size = needed.count().min(job.max_alphabet.unwrap_or(usize::MAX));
    characters.truncate(size);
    if job.preparation.mark == WordMark::Space {
        // SentencePiece takes it for the end of a piece.
        characters.retain(|&(c, _)| c != '\t');
    }
    characters
}

/// Returns the characters that end a word, with the mark, if words have a suffix.
fn endings(prepared: &Source, job: &CharacterJob, progress: &Progress) -> Result<Vec<Vec<u8>>> {
    let mut endings = BTreeSet::new();
    if job.preparation.mark == WordMark::Suffix {
        prepared.for_each(progress, |part, _| {
            if let [.., SUFFIX_MARK] = part {
                let starts = part.iter().rposition(|byte| !matches!(byte, 0x80..=0xBF | &SUFFIX_MARK));
                endings.insert(part[starts.unwrap_or(0)..].to_vec());
            }
            Ok(())
        })?;
    }
    Ok(endings.into_iter().collect())
}

/// Returns a tokenizer that encodes to the characters of an alphabet, and other characters to bytes. Ids are
/// in the order of code points, and characters that end words come last.
fn base(characters: BTreeSet<char>, endings: &[Vec<u8>]) -> Result<Tokenizer> {
    let encoded: Vec<Vec<u8>> = characters.iter().map(|c| c.to_string().into_bytes()).collect();
    let long = || encoded.iter().filter(|bytes| bytes.len() > 1);
    let beginnings: BTreeSet<&[u8]> =
        long().flat_map(|bytes| (2..bytes.len()).map(|end| &bytes[..end])).collect();
    let bytes = (0..=255).map(|byte| vec![byte]);
    let tokens = bytes
        .chain(beginnings.into_iter().map(<[u8]>::to_vec))
        .chain(long().cloned())
        .chain(endings.iter().cloned());
    let tokens = tokens.zip(0..).collect();
    Ok(Tokenizer::from_ranks(tokens, Splitter::new("whitespace")?, Vec::new())?.starting_from_characters())
}

#[cfg(test)]
#[path = "characters_tests.rs"]
mod tests;

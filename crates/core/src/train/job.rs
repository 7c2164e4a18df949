//! Job: from counts and settings to a finished tokenizer, with what is known about it.

use std::path::Path;
use std::time::Duration;

use super::{Certificate, Limit, MergeLog, Source, TieBreak, TrainSettings, certify, train};
use crate::count::Preparation;
use crate::{Progress, Result, Tokenizer};

/// Everything that decides how a tokenizer is trained, beside the counts.
pub struct TrainingJob<'a> {
    /// What happens to pre-tokens before training, if anything does: then the tokenizer has its splitter.
    pub preparation: Option<Preparation>,
    /// The maximum number of merges to learn.
    pub merges: usize,
    pub tie_break: TieBreak,
    /// Pairs that occur less often are not merged.
    pub min_frequency: u64,
    /// Longer tokens are not created.
    pub max_token_bytes: Option<usize>,
    /// Pre-tokens that occur less often are dropped before training.
    pub min_pretoken_count: u64,
    /// Whether to determine which merges dropping pre-tokens has not changed.
    pub certify: bool,
    /// A tokenizer to continue from. All its ids stay, and new ones follow its highest id.
    pub base: Option<&'a Tokenizer>,
    /// Special tokens, whose ids follow the merges in this order. Those of the base keep their ids.
    pub special_tokens: Vec<String>,
    /// 0 means one thread per core.
    pub threads: usize,
    pub limit: Option<Limit<'a>>,
    /// Where merges are logged, so that an interrupted training can be resumed.
    pub log: Option<LogSettings<'a>>,
}

/// How merges are logged.
pub struct LogSettings<'a> {
    pub path: &'a Path,
    /// Whether to ignore what the log holds.
    pub restart: bool,
    /// How often to write to it.
    pub every: Duration,
}

impl LogSettings<'_> {
    /// Opens the log of this training.
    pub(super) fn open(&self, source: &Source, settings: &TrainSettings) -> Result<MergeLog> {
        MergeLog::open(self.path, source, settings, self.restart, self.every)
    }
}

/// A finished tokenizer, and what is known about its training.
pub struct Trained {
    pub tokenizer: Tokenizer,
    /// The id of the token that the first merge created; the others follow.
    pub first_id: u32,
    /// How often each merged pair occurred, in the order of the merges.
    pub merge_counts: Vec<u64>,
    pub dropped: Dropped,
    /// `None` if pre-tokens were dropped and the effect was not requested.
    pub certificate: Option<Certificate>,
}

/// The pre-tokens that were dropped before training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// How many unique pre-tokens.
    pub pretokens: u64,
    /// How often they occurred in all.
    pub total: u64,
}

/// Trains a tokenizer on counts.
///
/// No merge creates the bytes of a special token of the counts: in text they are cut out before splitting,
/// so such a token could never be told from the special one.
pub fn train_tokenizer(source: &Source, job: TrainingJob, progress: &Progress) -> Result<Trained> {
    let TrainingJob { base, min_pretoken_count, limit, .. } = job;
    let prepared = job.preparation.as_ref().map(|preparation| Source::Prepared { from: source, preparation });
    let source = prepared.as_ref().unwrap_or(source);
    base.map_or(Ok(()), Tokenizer::check_base)?;
    let first_id = base.map_or(256, Tokenizer::next_id);
    let special_tokens = &source.settings().special_tokens;
    let forbidden: Vec<Vec<u8>> = special_tokens.iter().map(|token| token.clone().into_bytes()).collect();
    let settings = TrainSettings {
        merges: job.merges,
        tie_break: job.tie_break,
        min_frequency: job.min_frequency,
        max_token_bytes: job.max_token_bytes,
        max_token_characters: None,
        whole_characters: false,
        min_pretoken_count,
        forbidden: &forbidden,
        base,
        first_id,
        threads: job.threads,
    };
    let log = job.log.map(|log| log.open(source, &settings)).transpose()?;
    let memory = limit.as_ref().map(|limit| limit.memory);
    let merges = train(source, &settings, log, limit, progress)?;
    let dropped = match min_pretoken_count {
        0 | 1 => Dropped::default(),
        least => {
            let (pretokens, total) = source.rarer_than(least, progress)?;
            Dropped { pretokens, total }
        }
    };
    let all = merges.pairs.len();
    let certificate = match (dropped.pretokens, job.certify) {
        (0, _) => Some(Certificate { proven: all, checked: all }),
        (_, true) => Some(certify(source, &settings, &merges, memory, progress)?),
        (_, false) => None,
    };
    let new = job
        .special_tokens
        .into_iter()
        .filter(|token| base.is_none_or(|base| base.special_id(token).is_none()));
    let specials = new.zip(first_id + all as u32..).collect();
    let prepared = job.preparation.as_ref().and_then(|preparation| preparation.splitter.clone());
    let splitter = prepared.unwrap_or_else(|| source.settings().splitter.clone());
    let tokenizer = Tokenizer::trained(base, &merges.pairs, first_id, splitter, specials)?;
    Ok(Trained { tokenizer, first_id, merge_counts: merges.counts, dropped, certificate })
}

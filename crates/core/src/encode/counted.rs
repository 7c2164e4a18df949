//! Counted: how many tokens a corpus has, from the counts of its pre-tokens.
//!
//! Every unique pre-token is encoded once and weighted with its count. The results are those of encoding the
//! corpus itself, because the tokens of a pre-token depend on nothing else. It loses to encoding if nearly
//! every pre-token is unique.
//!
//! A pre-token is any byte string. A byte that is not part of valid UTF-8 is a pre-token, and has the id of
//! its byte.

use std::sync::Mutex;

use crate::count::{PretokenBatch, Source};
use crate::team::Team;
use crate::threads::thread_count;
use crate::{Error, Progress, Result, Stage, Tokenizer};

/// The size of a corpus in bytes, and in the tokens of some tokenizers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenTotals {
    pub bytes: u128,
    /// In the order of the tokenizers.
    pub tokens: Vec<u128>,
}

/// Returns how many tokens each tokenizer makes of the pre-tokens of `source`, which is read once.
///
/// Sums cannot overflow: counts are below 2⁶⁴ and pre-tokens are shorter than 2³² bytes. `threads` = 0 means
/// one per core.
pub fn token_totals(
    tokenizers: &[&Tokenizer],
    source: &Source,
    threads: usize,
    progress: &Progress,
) -> Result<TokenTotals> {
    let zero = TokenTotals { bytes: 0, tokens: vec![0; tokenizers.len()] };
    let parts = in_parallel(source, threads, progress, zero.clone(), |totals, batch| {
        let mut ids = Vec::new();
        for (pretoken, count) in batch.iter() {
            totals.bytes += count as u128 * pretoken.len() as u128;
            for (tokenizer, tokens) in tokenizers.iter().zip(&mut totals.tokens) {
                ids.clear();
                tokenizer.encode_pretoken(pretoken, &mut ids);
                *tokens += count as u128 * ids.len() as u128;
            }
        }
        Ok(())
    })?;
    Ok(parts.into_iter().fold(zero, |mut sum, part| {
        sum.bytes += part.bytes;
        sum.tokens.iter_mut().zip(part.tokens).for_each(|(sum, part)| *sum += part);
        sum
    }))
}

/// Returns how often each token occurs in the pre-tokens of `source`, by id, up to the highest id.
///
/// A frequency that does not fit in 64 bits is an error. `threads` = 0 means one per core.
pub fn token_frequencies(
    tokenizer: &Tokenizer,
    source: &Source,
    threads: usize,
    progress: &Progress,
) -> Result<Vec<u64>> {
    let zero = vec![0u64; tokenizer.next_id() as usize];
    let add = |sum: &mut u64, count: u64| {
        *sum = sum.checked_add(count).ok_or(Error::CountOverflow)?;
        Ok(())
    };
    let parts = in_parallel(source, threads, progress, zero, |frequencies, batch| {
        let mut ids = Vec::new();
        batch.iter().try_for_each(|(pretoken, count)| {
            ids.clear();
            tokenizer.encode_pretoken(pretoken, &mut ids);
            ids.iter().try_for_each(|&id| add(&mut frequencies[id as usize], count))
        })
    })?;
    let mut parts = parts.into_iter();
    let mut sum = parts.next().expect("a team has a member");
    for part in parts {
        sum.iter_mut().zip(part).try_for_each(|(sum, part)| add(sum, part))?;
    }
    Ok(sum)
}

/// Calls `visit` with all pre-tokens, in batches, on several threads, and returns what each has added to its
/// `zero`.
fn in_parallel<T: Clone + Send>(
    source: &Source,
    threads: usize,
    progress: &Progress,
    zero: T,
    visit: impl Fn(&mut T, &PretokenBatch) -> Result<()> + Sync,
) -> Result<Vec<T>> {
    let pretokens = source.pretokens()?;
    progress.begin(Stage::Pretokens, pretokens);
    let most = usize::try_from(pretokens).unwrap_or(usize::MAX).div_ceil(PretokenBatch::SIZE).max(1);
    let team = Team::new(thread_count(threads).min(most));
    let results: Vec<Mutex<T>> = (0..team.size()).map(|_| Mutex::new(zero.clone())).collect();
    let batches = Mutex::new(source.batches()?);
    let outcome = Mutex::new(Ok(()));
    let work = |member: usize| -> Result<()> {
        let result = &mut *results[member].lock().unwrap();
        let mut batch = PretokenBatch::default();
        loop {
            progress.check()?;
            let more = batches.lock().unwrap()(&mut batch)?;
            if !more || outcome.lock().unwrap().is_err() {
                return Ok(());
            }
            visit(result, &batch)?;
            progress.advance(batch.iter().count() as u64);
        }
    };
    team.run(&|member| {
        if let Err(error) = work(member) {
            *outcome.lock().unwrap() = Err(error);
        }
    });
    outcome.into_inner().unwrap()?;
    Ok(results.into_iter().map(|result| result.into_inner().unwrap()).collect())
}

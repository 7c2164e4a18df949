//! Interrupted trainings resume with the same merges; logs of other trainings are rejected.

use proptest::prelude::*;

use super::super::tests::{TIES, counts, fast, pretokens, settings};
use super::super::{MemoryPlan, train, train_out_of_core};
use super::*;
use crate::count::Counts;
use crate::split::Splitter;

/// A new file name for each case.
fn log_path() -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("merganser-merges-{}-{}.log", std::process::id(), NEXT.fetch_add(1, Relaxed));
    std::env::temp_dir().join(name)
}

fn logged(path: &Path, counts: &Counts, settings: &TrainSettings) -> Result<Merges> {
    let source = Source::Memory(counts);
    let log = MergeLog::open(path, &source, settings, false, Duration::ZERO)?;
    train(&source, settings, Some(log), None, &Progress::new())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn resuming_after_any_merge_changes_nothing(
        first in pretokens(),
        then in pretokens(),
        tie in 0..3usize,
        threads in 1..3usize,
        based: bool,
        min_frequency in 1..3u64,
        min_pretoken_count in 1..3u64,
        max_token_bytes in proptest::option::of(2..8usize),
        forbidden in proptest::collection::vec(proptest::collection::vec(Just(b'a'), 2..5), 0..2),
    ) {
        let splitter = Splitter::new("gpt2").unwrap();
        let learned = fast(&counts(first), &settings(12, TIES[tie])).pairs;
        let base = Tokenizer::trained(None, &learned, 256, splitter, vec![]).unwrap();
        let settings = TrainSettings {
            threads,
            min_frequency,
            min_pretoken_count,
            max_token_bytes,
            forbidden: &forbidden,
            base: based.then_some(&base),
            first_id: base.next_id() + 5,
            ..settings(40, TIES[tie])
        };
        let counts = counts(then);
        let whole = fast(&counts, &settings);
        for stop in 0..=whole.pairs.len() {
            let path = log_path();
            let part = logged(&path, &counts, &TrainSettings { merges: stop, ..settings }).unwrap();
            prop_assert_eq!(&part.pairs[..], &whole.pairs[..stop]);
            let log = std::fs::read(&path).unwrap_or_default();
            prop_assert_eq!(&logged(&path, &counts, &settings).unwrap(), &whole);
            if stop % 5 == 0 {
                std::fs::write(&path, log).unwrap();
                let source = Source::Memory(&counts);
                let log = MergeLog::open(&path, &source, &settings, false, Duration::ZERO).unwrap();
                let plan = MemoryPlan { slots: 3 * stop, bits: 4, folder: &std::env::temp_dir() };
                let out_of_core = train_out_of_core(&source, &settings, Some(log), plan, &Progress::new()).unwrap();
                prop_assert_eq!(&out_of_core, &whole);
            }
            let _ = std::fs::remove_file(path);
        }
    }

    #[test]
    fn a_torn_log_is_good_up_to_where_it_was_torn(pretokens in pretokens(), cut: prop::sample::Index, flip: bool) {
        let (path, counts, settings) = (log_path(), counts(pretokens), settings(40, TIES[0]));
        let whole = logged(&path, &counts, &settings).unwrap();
        let Ok(mut text) = std::fs::read(&path) else { return Ok(()) };
        let header = text.iter().position(|&byte| byte == b'\n').unwrap();
        let cut = cut.index(text.len());
        if flip && cut > header {
            text[cut] ^= 1;
        } else {
            text.truncate(cut);
        }
        std::fs::write(&path, &text).unwrap();
        prop_assert_eq!(logged(&path, &counts, &settings).unwrap(), whole.clone());
        prop_assert_eq!(logged(&path, &counts, &settings).unwrap(), whole);
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn the_log_of_another_training_is_refused_and_says_why() {
    let (path, ours, rules) = (log_path(), counts([("abab", 3), ("ab", 1)]), settings(2, TIES[0]));
    let whole = logged(&path, &ours, &rules).unwrap();
    for (counts, settings, why) in [
        (counts([("abab", 3), ("ab", 2)]), settings(2, TIES[0]), "2 unique pre-tokens, 5 in all"),
        (counts([("abab", 3), ("ac", 1)]), settings(2, TIES[0]), "2 unique pre-tokens, 4 in all"),
        (counts([("abab", 3), ("ab", 1)]), settings(2, TIES[2]), "tie_break=Bytes"),
        (
            counts([("abab", 3), ("ab", 1)]),
            TrainSettings { min_pretoken_count: 2, ..settings(2, TIES[0]) },
            "min_pretoken_count=2",
        ),
    ] {
        let error = logged(&path, &counts, &settings).unwrap_err();
        assert!(matches!(&error, Error::OtherCheckpoint { reason, .. } if reason.contains(why)), "{error}");
    }
    assert_eq!(logged(&path, &ours, &rules).unwrap(), whole);

    std::fs::write(&path, "a letter\nto a friend\n").unwrap();
    let error = logged(&path, &ours, &rules).unwrap_err();
    assert!(error.to_string().contains("not a merge log"), "{error}");
    let log = MergeLog::open(&path, &Source::Memory(&ours), &rules, true, Duration::ZERO).unwrap();
    assert_eq!(train(&Source::Memory(&ours), &rules, Some(log), None, &Progress::new()).unwrap(), whole);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_log_has_one_writer() {
    let (path, counts, settings) = (log_path(), counts([("abab", 3)]), settings(2, TIES[0]));
    let open = || MergeLog::open(&path, &Source::Memory(&counts), &settings, false, Duration::ZERO);
    let mut first = open().unwrap();
    first.write(&Merges { pairs: vec![(97, 98)], counts: vec![6] }).unwrap();
    assert!(matches!(open(), Err(Error::BusyCheckpoint { .. })));
    drop(first);
    assert!(open().is_ok());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_stop_leaves_all_merges_so_far_in_the_log() {
    let pretokens: Vec<(String, u64)> =
        (0..30_000).map(|n: u64| (format!("{:x}", n * n * n), n % 5 + 1)).collect();
    let (path, counts, settings) = (log_path(), counts(pretokens), settings(20_000, TIES[0]));
    let progress = Progress::new();
    let every = Duration::from_secs(3600);
    let log = MergeLog::open(&path, &Source::Memory(&counts), &settings, false, every).unwrap();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            while progress.snapshot().1 < 100 {
                std::hint::spin_loop();
            }
            progress.cancel();
        });
        train(&Source::Memory(&counts), &settings, Some(log), None, &progress)
    });
    assert!(matches!(outcome, Err(Error::Cancelled)));
    let noted = MergeLog::open(&path, &Source::Memory(&counts), &settings, false, every).unwrap().noted;
    let whole = fast(&counts, &settings);
    assert!((100..20_000).contains(&noted.pairs.len()), "{}", noted.pairs.len());
    assert_eq!(noted.pairs[..], whole.pairs[..noted.pairs.len()]);
    assert_eq!(logged(&path, &counts, &settings).unwrap(), whole);
    std::fs::remove_file(path).unwrap();
}

//! Files of merganser's own: after any change, a file is refused or means the same as before.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use merganser_core::Progress;
use merganser_core::count::{CountSettings, Counts};
use merganser_core::split::Splitter;
use merganser_core::train::{LogSettings, Source, TieBreak, TrainingJob, train_tokenizer};

use crate::bytes::{take, take_u16};

/// A file of this process, in memory where the machine has such a folder.
fn scratch(name: &str) -> PathBuf {
    static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        tempfile::tempdir_in(parent).unwrap()
    });
    FOLDER.path().join(format!("{name}-{:?}", std::thread::current().id()))
}

fn counts() -> Counts {
    let settings = CountSettings::new(Splitter::new("gpt2").unwrap(), vec!["<|end|>".into()], None).unwrap();
    let words = ["the", " duck", " dives", " the", " sea", " ducks", "\n", " 潜水", " a", " diving"];
    Counts::from_pretokens(settings, words.iter().zip((1..).map(|n| n * n))).unwrap()
}

fn same(counts: &Counts, other: &Counts) -> bool {
    let sorted = |counts: &Counts| {
        let mut all: Vec<_> = counts.iter().map(|(pretoken, count)| (pretoken.to_vec(), count)).collect();
        all.sort();
        all
    };
    counts.settings.must_equal(&other.settings).is_ok()
        && (counts.documents, counts.invalid_bytes) == (other.documents, other.invalid_bytes)
        && sorted(counts) == sorted(other)
}

/// Changes a file as the input says: cut off at the end, then bytes overwritten.
fn damaged(mut file: Vec<u8>, mut data: &[u8]) -> Vec<u8> {
    let kept = take_u16(&mut data);
    if kept < file.len() {
        file.truncate(kept);
    }
    while !data.is_empty() && !file.is_empty() {
        let at = take_u16(&mut data) % file.len();
        file[at] ^= take(&mut data);
    }
    file
}

/// A counts file, or changes to a valid one.
pub fn counts_file(mut data: &[u8]) {
    static VALID: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let path = scratch("valid.counts");
        counts().save(&path, &Progress::new()).unwrap();
        fs::read(path).unwrap()
    });
    let path = scratch("tried.counts");
    let changes_valid = take(&mut data).is_multiple_of(2);
    let tried = if changes_valid { damaged(VALID.clone(), data) } else { data.to_vec() };
    fs::write(&path, &tried).unwrap();
    if let Ok(loaded) = Counts::load(&path, &Progress::new())
        && changes_valid
    {
        assert!(same(&loaded, &counts()));
    }
}

/// Changes to the log of an interrupted training.
pub fn merges_log(data: &[u8]) {
    static COUNTS: LazyLock<Counts> = LazyLock::new(counts);
    static LOG: LazyLock<(Vec<u8>, Vec<u64>)> = LazyLock::new(|| {
        let path = scratch("valid.log");
        let counts = train(&path).unwrap();
        (fs::read(path).unwrap(), counts)
    });
    fn train(path: &std::path::Path) -> merganser_core::Result<Vec<u64>> {
        let job = TrainingJob {
            preparation: None,
            merges: 20,
            tie_break: TieBreak::Ids,
            min_frequency: 2,
            max_token_bytes: None,
            min_pretoken_count: 1,
            certify: false,
            base: None,
            special_tokens: vec![],
            threads: 1,
            limit: None,
            log: Some(LogSettings { path, restart: false, every: Duration::ZERO }),
        };
        Ok(train_tokenizer(&Source::Memory(&COUNTS), job, &Progress::new())?.merge_counts)
    }
    let (log, expected) = &*LOG;
    let path = scratch("tried.log");
    fs::write(&path, damaged(log.clone(), data)).unwrap();
    if let Ok(found) = train(&path) {
        assert_eq!(found, *expected);
    }
}

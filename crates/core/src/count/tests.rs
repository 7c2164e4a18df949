//! Counting against the plainest version of itself: whole documents, one after the other, in a hash map.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::corpus::{Block, BlockSource, Consumer, Cutters, Position, Reading, shard_cuts};
use crate::split::{Scratch, Splitter};
use crate::{Error, Progress, Result};

const SEPARATOR: &str = "<|endoftext|>";

fn settings(pattern: &str, special_tokens: &[&str]) -> CountSettings {
    let special_tokens = special_tokens.iter().map(|token| token.to_string()).collect();
    CountSettings::new(Splitter::new(pattern).unwrap(), special_tokens, Some(SEPARATOR.into())).unwrap()
}

/// The oracle. Special tokens here do not overlap, so plain searching finds them.
fn naive(documents: &[&[u8]], settings: &CountSettings) -> HashMap<Vec<u8>, u64> {
    let mut cutters = settings.special_tokens.clone();
    cutters.extend(settings.separator.clone());
    let mut counts = HashMap::new();
    for document in documents {
        let mut stretches = vec![document.to_vec()];
        for cutter in &cutters {
            stretches = stretches.iter().flat_map(|stretch| cut(stretch, cutter.as_bytes())).collect();
        }
        for chunk in stretches.iter().flat_map(|stretch| stretch.utf8_chunks()) {
            let mut ends = Vec::new();
            settings.splitter.split(chunk.valid(), &mut Scratch::default(), &mut ends).unwrap();
            let mut start = 0;
            for end in ends {
                let pretoken = &chunk.valid().as_bytes()[start..end as usize];
                *counts.entry(pretoken.to_vec()).or_default() += 1;
                start = end as usize;
            }
            for &byte in chunk.invalid() {
                *counts.entry(vec![byte]).or_default() += 1;
            }
        }
    }
    counts
}

fn cut(text: &[u8], cutter: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = (0..rest.len()).find(|&at| rest[at..].starts_with(cutter)) {
        parts.push(rest[..at].to_vec());
        rest = &rest[at + cutter.len()..];
    }
    parts.push(rest.to_vec());
    parts
}

/// Blocks that end with an error, as where the work is cancelled.
struct Stopped<S> {
    blocks: S,
    left: u64,
}

impl<S: BlockSource> BlockSource for Stopped<S> {
    fn next(&mut self, block: &mut Block, splitter: &Splitter, cutters: &Cutters) -> Result<bool> {
        let more = self.blocks.next(block, splitter, cutters);
        if self.left == 0 {
            return Err(Error::Cancelled);
        }
        self.left -= 1;
        more
    }
}

fn as_map(counts: &Counts) -> HashMap<Vec<u8>, u64> {
    counts.iter().map(|(pretoken, count)| (pretoken.to_vec(), count)).collect()
}

fn hostile_text() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        6 => "[a-c]{1,3}".prop_map(String::into_bytes),
        5 => "[ \t\r\n\u{A0}\u{2028}]{1,6}".prop_map(String::into_bytes),
        2 => "[0-9]{1,5}".prop_map(String::into_bytes),
        2 => "['.,!/]{1,3}".prop_map(String::into_bytes),
        2 => "[字я\u{301}Aé😀]{1,3}".prop_map(String::into_bytes),
        1 => "[a-z]{10,60}".prop_map(String::into_bytes),
        1 => Just(SEPARATOR.as_bytes().to_vec()),
        1 => Just(b"<a b>".to_vec()),
        1 => proptest::collection::vec(prop_oneof![Just(0xFFu8), Just(0xC3), Just(0xE5), Just(0x80)], 1..3),
    ];
    proptest::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

const PATTERNS: [&str; 7] =
    ["gpt2", "gpt4", "o200k", "whitespace", r"\p{L}+|\s+(?!\S)|[0-9]{1,4}", r"[^\n]+\n?", r"(?<=a)b+|\w+"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// TextBlocks are 16 bytes long in tests: nearly every document is cut, and no cut may show.
    #[test]
    fn counts_do_not_depend_on_cuts_or_threads(
        documents in proptest::collection::vec(hostile_text(), 0..4),
        pattern in 0..PATTERNS.len(),
        special in any::<bool>(),
        threads in 1..4usize,
    ) {
        let settings = settings(PATTERNS[pattern], if special { &["<a b>"] } else { &[] });
        let documents: Vec<&[u8]> = documents.iter().map(Vec::as_slice).collect();
        let mut counter = Counter::new(settings.clone(), threads).unwrap();
        counter.add_documents(&documents, &Progress::new()).unwrap();
        let counts = counter.finish(&Progress::new()).unwrap();
        prop_assert_eq!(as_map(&counts), naive(&documents, &settings));
        let invalid: usize =
            documents.iter().flat_map(|d| d.utf8_chunks()).map(|chunk| chunk.invalid().len()).sum();
        prop_assert_eq!(counts.invalid_bytes, invalid as u64);
        let texts = documents.iter().flat_map(|d| cut(d, SEPARATOR.as_bytes()));
        prop_assert_eq!(counts.documents, texts.filter(|text| !text.is_empty()).count() as u64);
    }

    #[test]
    fn files_streams_and_sums_agree(documents in proptest::collection::vec(hostile_text(), 1..4)) {
        let folder = temporary_folder("agree");
        let settings = settings("gpt4", &[]);
        let paths: Vec<PathBuf> = (0..documents.len()).map(|i| folder.join(format!("{i}.txt"))).collect();
        let mut sum = Counter::new(settings.clone(), 1).unwrap().finish(&Progress::new()).unwrap();
        for (path, document) in paths.iter().zip(&documents) {
            fs::write(path, document).unwrap();
            let mut counter = Counter::new(settings.clone(), 2).unwrap();
            counter.add_reader(&document[..], Path::new("-"), &Reading::default(), &Progress::new()).unwrap();
            sum = sum.plus(&counter.finish(&Progress::new()).unwrap()).unwrap();
        }
        let mut counter = Counter::new(settings.clone(), 2).unwrap();
        counter.add_files(&paths, &Reading::default(), &Progress::new()).unwrap();
        let counts = counter.finish(&Progress::new()).unwrap();
        prop_assert_eq!(as_map(&counts), as_map(&sum));
        prop_assert_eq!(counts.documents, sum.documents);

        let saved = folder.join("all.counts");
        counts.save(&saved, &Progress::new()).unwrap();
        let loaded = Counts::load(&saved, &Progress::new()).unwrap();
        prop_assert_eq!(as_map(&loaded), as_map(&counts));
        prop_assert_eq!(loaded.documents, counts.documents);
        prop_assert_eq!(loaded.settings.splitter.name(), Some("gpt4"));
        prop_assert_eq!(&loaded.settings.separator, &counts.settings.separator);
        fs::remove_dir_all(folder).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Ranges of a file, each counted by a counter of its own, have what the whole file has: pre-tokens,
    /// documents, invalid bytes.
    #[test]
    fn ranges_add_up_to_the_file(
        text in proptest::collection::vec(hostile_text(), 0..4),
        size in 20..300u64,
        pattern in 0..PATTERNS.len(),
        specials in prop_oneof![Just(&[][..]), Just(&["<a b>"][..]), Just(&["<a b>", "b><", "aa", "endoftext"][..])],
    ) {
        let (settings, text) = (settings(PATTERNS[pattern], specials), text.concat());
        let folder = temporary_folder("ranges");
        let path = folder.join("text");
        fs::write(&path, &text).unwrap();
        let cutters = Cutters::new(&settings.special_tokens, settings.separator.as_deref()).unwrap();
        let cuts = shard_cuts(&path, size, &settings.splitter, &cutters, &Progress::new()).unwrap();
        let ends = cuts.iter().map(|cut| cut.0).chain([text.len() as u64]);
        let mut sum = Counter::new(settings.clone(), 1).unwrap().finish(&Progress::new()).unwrap();
        for ((start, in_document), end) in [(0, false)].iter().chain(&cuts).zip(ends) {
            prop_assert!(*start < end || text.is_empty());
            let mut counter = Counter::new(settings.clone(), 1).unwrap();
            counter.add_range(&path, *start, end, *in_document, &Reading::default(), &Progress::new()).unwrap();
            sum = sum.plus(&counter.finish(&Progress::new()).unwrap()).unwrap();
        }
        let mut counter = Counter::new(settings, 1).unwrap();
        counter.add_files(&[path], &Reading::default(), &Progress::new()).unwrap();
        let whole = counter.finish(&Progress::new()).unwrap();
        prop_assert_eq!(as_map(&sum), as_map(&whole));
        prop_assert_eq!((sum.documents, sum.invalid_bytes), (whole.documents, whole.invalid_bytes));
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn ranges_are_about_as_large_as_asked_for() {
    let folder = temporary_folder("range-sizes");
    let path = folder.join("text");
    let cuts = |text: &[u8], pattern: &str| {
        fs::write(&path, text).unwrap();
        let settings = settings(pattern, &[]);
        let cutters = Cutters::new(&[], settings.separator.as_deref()).unwrap();
        shard_cuts(&path, 100, &settings.splitter, &cutters, &Progress::new()).unwrap()
    };
    let words = b"some words, ".repeat(40);
    assert_eq!(cuts(&words, "gpt4"), [(100, true), (202, true), (304, true), (400, true)]);
    assert_eq!(cuts(&words, r"\w+"), [], "a pattern that nothing is known about, and no separator");
    let documents = b"a document<|endoftext|>".repeat(20);
    assert_eq!(cuts(&documents, r"\w+"), [(115, false), (230, false), (322, false), (414, false)]);
    assert_eq!(cuts(&[b"\x1f\x8b", &words[..]].concat(), "gpt4"), [], "compressed");
    assert_eq!(cuts(&b"x".repeat(400), "gpt4"), [], "a single pre-token");
    fs::remove_dir_all(folder).unwrap();
}

/// A record per range at the least, and never a part of one.
#[test]
fn ranges_of_json_lines_add_up_to_the_file() {
    let folder = temporary_folder("ranges-of-lines");
    let path = folder.join("records.jsonl");
    let line = |nth: usize| format!("{{\"body\": \"document {nth} {}\"}}\n", "word ".repeat(nth % 7));
    let text = (0..40).map(line).collect::<String>() + "\n{\"body\": \"the last, without a line break\"}";
    fs::write(&path, format!("\u{FEFF}{text}")).unwrap();
    let settings = settings("gpt4", &[]);
    let cutters = Cutters::new(&[], None).unwrap();
    let reading = Reading { text_key: "body".into(), ..Reading::default() };
    let mut counter = Counter::new(settings.clone(), 1).unwrap();
    counter.add_files(std::slice::from_ref(&path), &reading, &Progress::new()).unwrap();
    let whole = counter.finish(&Progress::new()).unwrap();
    for size in [1, 20, 47, 48, 100, 1000, 10_000] {
        let cuts = shard_cuts(&path, size, &settings.splitter, &cutters, &Progress::new()).unwrap();
        assert_eq!(cuts.is_empty(), size == 10_000);
        let len = fs::metadata(&path).unwrap().len();
        let ends = cuts.iter().map(|cut| cut.0).chain([len]);
        let mut sum = Counter::new(settings.clone(), 1).unwrap().finish(&Progress::new()).unwrap();
        for ((start, in_document), end) in [(0, false)].iter().chain(&cuts).zip(ends) {
            let mut counter = Counter::new(settings.clone(), 2).unwrap();
            counter.add_range(&path, *start, end, *in_document, &reading, &Progress::new()).unwrap();
            sum = sum.plus(&counter.finish(&Progress::new()).unwrap()).unwrap();
        }
        assert_eq!((as_map(&sum), sum.documents), (as_map(&whole), whole.documents), "{size}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_bad_record_of_a_range_is_named_by_its_line_in_the_file() {
    let folder = temporary_folder("range-line");
    let path = folder.join("records.jsonl");
    let good = "{\"text\": \"fine\"}\n".repeat(10);
    fs::write(&path, format!("{good}{{\"text\": 1}}\n{good}")).unwrap();
    let settings = settings("gpt4", &[]);
    let cutters = Cutters::new(&[], None).unwrap();
    let cuts = shard_cuts(&path, 100, &settings.splitter, &cutters, &Progress::new()).unwrap();
    let (start, in_document) = cuts[0];
    let mut counter = Counter::new(settings, 1).unwrap();
    let added =
        counter.add_range(&path, start, cuts[1].0, in_document, &Reading::default(), &Progress::new());
    let message = added.unwrap_err().to_string();
    assert!(message.contains("line 11") || message.contains("jsonl:11"), "{message}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_range_that_is_no_longer_there_is_an_error() {
    let folder = temporary_folder("range-gone");
    let path = folder.join("text");
    fs::write(&path, "shorter").unwrap();
    let mut counter = Counter::new(settings("gpt4", &[]), 1).unwrap();
    let message = counter
        .add_range(&path, 2, 100, true, &Reading::default(), &Progress::new())
        .unwrap_err()
        .to_string();
    assert!(message.contains("text: the file is shorter than when the work was distributed"), "{message}");
    fs::remove_dir_all(folder).unwrap();
}

fn temporary_folder(name: &str) -> PathBuf {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("merganser-{name}-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn some_counts() -> Counts {
    let pretokens =
        [("ab", 3), ("abc", 1 << 40), ("b", 7), ("a pre-token of more than fifteen bytes", 2), ("ab", 1)];
    Counts::from_pretokens(settings("gpt4", &["<s>"]), pretokens).unwrap()
}

#[test]
fn pretokens_given_twice_are_added_up() {
    assert_eq!(as_map(&some_counts())[&b"ab".to_vec()], 4);
    assert_eq!(some_counts().total(), 4 + (1 << 40) + 7 + 2);
}

#[test]
fn a_table_of_many_pretokens_grows_without_losing_any() {
    let pretokens = (0..50_000u64).map(|i| (format!("{i}{}", "x".repeat((i % 20) as usize)), i + 1));
    let counts = Counts::from_pretokens(settings("gpt2", &[]), pretokens).unwrap();
    assert_eq!(counts.len(), 50_000);
    assert_eq!(counts.total(), 50_000 * 50_001 / 2);
}

/// Quadratic where a table's slots were filled in the order of another's: this took minutes.
#[test]
fn adding_up_many_large_counts_is_quick() {
    let counts = |from: u64| {
        Counts::from_pretokens(settings("gpt2", &[]), (from..from + 200_000).map(|i| (format!("{i}"), 1)))
            .unwrap()
    };
    let sum = (1..10).fold(counts(0), |sum, i| sum.plus(&counts(i * 150_000)).unwrap());
    assert_eq!(sum.len(), 1_550_000);
}

#[test]
fn unlike_counts_do_not_add() {
    let error = some_counts().plus(&Counts::from_pretokens(settings("gpt2", &["<s>"]), [("a", 1)]).unwrap());
    assert!(matches!(error, Err(Error::UnlikeCounts { what: "pattern", .. })));
    let error = some_counts().plus(&Counts::from_pretokens(settings("gpt4", &[]), [("a", 1)]).unwrap());
    assert!(matches!(error, Err(Error::UnlikeCounts { what: "special tokens", .. })));
}

#[test]
fn counts_that_do_not_fit_are_an_error() {
    let pretokens = [("a", u64::MAX), ("b", 1)];
    assert!(matches!(Counts::from_pretokens(settings("gpt2", &[]), pretokens), Err(Error::CountOverflow)));
    for pretoken in ["a", "a pre-token of more than fifteen bytes"] {
        let half = || Counts::from_pretokens(settings("gpt2", &[]), [(pretoken, 1 << 63)]).unwrap();
        assert!(matches!(half().plus(&half()), Err(Error::CountOverflow)));
    }
}

#[test]
fn special_tokens_must_be_there_and_differ() {
    let splitter = Splitter::new("gpt2").unwrap();
    let twice = CountSettings::new(splitter.clone(), vec!["<s>".into(), "<s>".into()], None);
    assert!(matches!(twice, Err(Error::BadSpecial { .. })));
    assert!(matches!(CountSettings::new(splitter, vec!["".into()], None), Err(Error::BadSpecial { .. })));
}

#[test]
fn a_missing_file_is_named() {
    let mut counter = Counter::new(settings("gpt2", &[]), 2).unwrap();
    let error =
        counter.add_files(&["/no/such/file.txt".into()], &Reading::default(), &Progress::new()).unwrap_err();
    assert!(error.to_string().contains("/no/such/file.txt"), "{error}");
}

#[test]
fn every_damage_to_a_counts_file_is_noticed() {
    let folder = temporary_folder("damage");
    let path = folder.join("x.counts");
    some_counts().save(&path, &Progress::new()).unwrap();
    let whole = fs::read(&path).unwrap();
    for len in 0..whole.len() {
        fs::write(&path, &whole[..len]).unwrap();
        assert!(
            matches!(Counts::load(&path, &Progress::new()), Err(Error::BadCountsFile { .. })),
            "cut at {len}"
        );
    }
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x15;
        fs::write(&path, &damaged).unwrap();
        assert!(Counts::load(&path, &Progress::new()).is_err(), "changed at {at}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_failed_save_leaves_nothing_behind() {
    let folder = temporary_folder("failed");
    let blocked = folder.join("a folder.counts");
    fs::create_dir(&blocked).unwrap();
    assert!(matches!(some_counts().save(&blocked, &Progress::new()), Err(Error::Write { .. })));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    fs::remove_dir_all(folder).unwrap();
}

/// All that a `.counts` file holds.
fn as_loaded(path: &Path) -> (HashMap<Vec<u8>, u64>, u64, u64) {
    let counts = Counts::load(path, &Progress::new()).unwrap();
    (as_map(&counts), counts.documents, counts.invalid_bytes)
}

/// What the last whole line of the log in a folder says: all runs, and where to go on.
fn read_log(folder: &Path) -> (Vec<String>, u64, u32, Option<(Position, bool)>) {
    let mut log = fs::read_to_string(folder.join("log.jsonl")).unwrap_or_default();
    log.truncate(log.rfind('\n').map_or(0, |end| end + 1));
    let mut runs = Vec::new();
    let mut next = None;
    for line in log.lines() {
        let names = line.split("\"name\": \"").skip(1).map(|rest| rest.split('"').next().unwrap());
        runs.extend(names.map(String::from));
        let after = |key: &str| line.split(key).nth(1).unwrap().split([',', '}']).next().unwrap().trim();
        let position = Position {
            part: after("\"part\":").parse().unwrap(),
            offset: after("\"offset\":").parse().unwrap(),
            within: after("\"within\":").parse().unwrap(),
        };
        next = Some((position, after("\"in_document\":") == "true"));
    }
    (runs, log.len() as u64, crc32fast::hash(log.as_bytes()), next)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Tables of a few slots: nearly every block makes some thread write a run, and the merge takes several
    /// rounds.
    #[test]
    fn counts_do_not_depend_on_memory(
        documents in proptest::collection::vec(hostile_text(), 0..5),
        memory in 0..3000usize,
        threads in 1..5usize,
        special in any::<bool>(),
    ) {
        let folder = temporary_folder("spill");
        let settings = settings("gpt4", if special { &["<a b>"] } else { &[] });
        let documents: Vec<&[u8]> = documents.iter().map(Vec::as_slice).collect();
        let mut plain = Counter::new(settings.clone(), 1).unwrap();
        plain.add_documents(&documents, &Progress::new()).unwrap();
        let plain = plain.finish(&Progress::new()).unwrap();

        let out = folder.join("all.counts");
        let mut counter = Counter::new(settings.clone(), threads).unwrap();
        counter.spill_to(Spill::new(&folder.join("work"), memory, None, "{}".into()));
        counter.add_documents(&documents, &Progress::new()).unwrap();
        let totals = counter.finish_to(&out, &[], &Progress::new()).unwrap();
        prop_assert_eq!(as_loaded(&out), (as_map(&plain), plain.documents, plain.invalid_bytes));
        prop_assert_eq!(totals.total, plain.total());

        // Shared out by hash and merged again, it is the same file.
        let parts: Vec<PathBuf> = (0..3).map(|part| folder.join(format!("{part}.counts"))).collect();
        merge_files(std::slice::from_ref(&out), &parts, &folder, threads, &Progress::new()).unwrap();
        for (nth, part) in parts.iter().enumerate() {
            let (pretokens, ..) = as_loaded(part);
            prop_assert!(pretokens.keys().all(|pretoken| part_of(pretoken, 3) == nth));
        }
        let again = folder.join("again.counts");
        merge_files(&parts, std::slice::from_ref(&again), &folder, threads, &Progress::new()).unwrap();
        prop_assert_eq!(fs::read(&again).unwrap(), fs::read(&out).unwrap());
        fs::remove_dir_all(folder).unwrap();
    }

    /// A counter is dropped at any moment; another resumes from its log.
    #[test]
    fn counts_do_not_depend_on_interruptions(
        documents in proptest::collection::vec(hostile_text(), 1..5),
        stops in proptest::collection::vec(0..40u64, 0..4),
        threads in 1..4usize,
    ) {
        let folder = temporary_folder("resume");
        let work = folder.join("work");
        let settings = settings("gpt4", &["<a b>"]);
        let paths: Vec<PathBuf> = (0..documents.len()).map(|i| folder.join(format!("{i}.txt"))).collect();
        for (path, document) in paths.iter().zip(&documents) {
            fs::write(path, document).unwrap();
        }
        let texts: Vec<&[u8]> = documents.iter().map(Vec::as_slice).collect();
        let mut plain = Counter::new(settings.clone(), 1).unwrap();
        plain.add_documents(&texts, &Progress::new()).unwrap();
        let plain = plain.finish(&Progress::new()).unwrap();

        let out = folder.join("all.counts");
        for stop in stops.into_iter().map(Some).chain([None]) {
            let mut counter = Counter::new(settings.clone(), threads).unwrap();
            counter.spill_to(Spill::new(&work, 0, None, "{}".into()));
            let (runs, log_len, log_crc32, next) = read_log(&work);
            let mut rest = &paths[..];
            if let Some((position, in_document)) = next {
                counter.resume(&runs, log_len, log_crc32, position, in_document);
                rest = &paths[position.part as usize..];
            } else {
                // As the caller does: what cannot be resumed is removed.
                let _ = fs::remove_file(work.join("job.json"));
            }
            match stop {
                // After some of the text it is stopped, and a line of the log is torn.
                Some(blocks_before_stop) => {
                    let (reading, progress) = (Reading::default(), Progress::new());
                    let blocks = counter.feed_mut().files(rest.iter(), &reading, &progress);
                    let torn = counter.consume(Stopped { blocks, left: blocks_before_stop }, &progress);
                    prop_assert!(matches!(torn, Ok(()) | Err(Error::Cancelled)));
                    if let Ok(mut log) = fs::OpenOptions::new().append(true).open(work.join("log.jsonl")) {
                        std::io::Write::write_all(&mut log, b"{\"runs\": [{\"na").unwrap();
                    }
                }
                None => {
                    counter.add_files(rest, &Reading::default(), &Progress::new()).unwrap();
                    counter.finish_to(&out, &[], &Progress::new()).unwrap();
                }
            }
        }
        prop_assert_eq!(as_loaded(&out), (as_map(&plain), plain.documents, plain.invalid_bytes));
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn the_top_of_a_file_is_that_of_the_counts() {
    let folder = temporary_folder("top");
    let path = folder.join("x.counts");
    some_counts().save(&path, &Progress::new()).unwrap();
    let pretokens = top(&path, 3, &Progress::new()).unwrap();
    let totals = CountsReader::open(&path).unwrap().totals();
    assert_eq!(pretokens, [(b"abc".to_vec(), 1 << 40), (b"b".to_vec(), 7), (b"ab".to_vec(), 4)]);
    assert_eq!((totals.pretokens, totals.total), (4, some_counts().total()));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_damaged_run_is_named_and_says_what_to_do() {
    let folder = temporary_folder("damaged-run");
    let mut counter = Counter::new(settings("gpt4", &[]), 1).unwrap();
    counter.spill_to(Spill::new(&folder, 0, None, "{}".into()));
    counter.add_documents(&[b"some text that is longer than a block"], &Progress::new()).unwrap();
    let run = folder.join("run-00000.counts");
    let mut bytes = fs::read(&run).unwrap();
    let at = bytes.len() - 45;
    bytes[at] ^= 1;
    fs::write(&run, bytes).unwrap();
    let error = counter.finish_to(&folder.join("all.counts"), &[], &Progress::new()).unwrap_err().to_string();
    for word in ["run-00000.counts", "byte", "--no-resume"] {
        assert!(error.contains(word), "{error}");
    }
    assert!(!folder.join("all.counts").exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn two_counters_do_not_share_a_work_folder() {
    let folder = temporary_folder("shared");
    let mut one = Spill::new(&folder, 0, None, "{}".into());
    one.lock(&Progress::new()).unwrap();
    let other = Spill::new(&folder, 0, None, "{}".into()).lock(&Progress::new());
    assert!(matches!(other, Err(Error::BusyFolder { .. })));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn sums_that_do_not_fit_are_refused_by_the_merge_too() {
    let folder = temporary_folder("overflow");
    let paths = [folder.join("a.counts"), folder.join("b.counts")];
    for path in &paths {
        let counts = Counts::from_pretokens(settings("gpt4", &[]), [("a", 1 << 63)]).unwrap();
        counts.save(path, &Progress::new()).unwrap();
    }
    let merged = merge_files(&paths, &[folder.join("sum.counts")], &folder, 2, &Progress::new());
    assert!(matches!(merged, Err(Error::CountOverflow)));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    fs::remove_dir_all(folder).unwrap();
}

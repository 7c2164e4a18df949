//! FileBlocks of ids against the plainest way to make them: each document encoded alone, in memory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::output::Output;
use super::*;
use crate::corpus::{Consumer, Position, Reading};
use crate::split::Splitter;
use crate::{Error, Progress, Result, Stage, Tokenizer};

const SEPARATOR: &str = "<|endoftext|>";

fn tokenizer(pattern: &str, next_id: u32) -> Arc<Tokenizer> {
    let mut ranks: Vec<(Vec<u8>, u32)> = (0..=255u8).map(|byte| (vec![byte], byte as u32)).collect();
    for (token, id) in ["ab", "bc", " a", "abc", "  ", "é", "<|", "12"].iter().zip(256..) {
        ranks.push((token.as_bytes().to_vec(), id));
    }
    let specials = vec![(SEPARATOR.into(), next_id - 2), ("<a b>".into(), next_id - 1)];
    Arc::new(Tokenizer::from_ranks(ranks, Splitter::new(pattern).unwrap(), specials).unwrap())
}

fn settings(shard_tokens: u64, threads: usize) -> TokenSettings {
    TokenSettings {
        format: TokenFormat::Bin,
        width: IdWidth::Four,
        separator: Some(SEPARATOR.into()),
        prepend: None,
        append: None,
        allowed_special: Vec::new(),
        shard_tokens: Some(shard_tokens),
        threads,
    }
}

/// The oracle: documents that are not empty, each encoded alone.
fn naive(tokenizer: &Tokenizer, parts: &[Vec<u8>], settings: &TokenSettings) -> Vec<Vec<u32>> {
    let documents = parts.iter().flat_map(|part| match &settings.separator {
        Some(separator) => cut(part, separator.as_bytes()),
        None => vec![part.clone()],
    });
    let encode = |document: Vec<u8>| {
        let mut ids: Vec<u32> = settings.prepend.into_iter().collect();
        let stretches = match &settings.allowed_special[..] {
            [] => vec![document],
            [special] => cut(&document, special.as_bytes()),
            _ => unreachable!("one is enough here"),
        };
        for (i, stretch) in stretches.iter().enumerate() {
            if i > 0 {
                ids.push(tokenizer.special_id(&settings.allowed_special[0]).unwrap());
            }
            for chunk in stretch.utf8_chunks() {
                ids.extend(tokenizer.encode_ordinary(chunk.valid()).unwrap());
                ids.extend(chunk.invalid().iter().map(|&byte| byte as u32));
            }
        }
        ids.extend(settings.append);
        ids
    };
    documents.filter(|document| !document.is_empty()).map(encode).collect()
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

/// The shards that documents fill: a shard ends with the document that brings it to `shard_tokens`.
fn sharded(documents: Vec<Vec<u32>>, shard_tokens: u64) -> Vec<Vec<Vec<u32>>> {
    let mut shards: Vec<Vec<Vec<u32>>> = Vec::new();
    let mut full = true;
    for document in documents {
        if full {
            shards.push(Vec::new());
        }
        let shard = shards.last_mut().unwrap();
        shard.push(document);
        full = shard.iter().map(Vec::len).sum::<usize>() as u64 >= shard_tokens;
    }
    shards
}

/// What a folder of `bin` files holds: the documents of each shard.
fn read(folder: &Path, width: IdWidth) -> Vec<Vec<Vec<u32>>> {
    let mut shards = Vec::new();
    loop {
        let file = |extension: &str| folder.join(format!("shard-{:05}.{extension}", shards.len()));
        let Ok(data) = fs::read(file("bin")) else { return shards };
        let ids: Vec<u32> = match width {
            IdWidth::Two => {
                data.chunks(2).map(|id| u16::from_le_bytes(id.try_into().unwrap()) as u32).collect()
            }
            IdWidth::Four => data.chunks(4).map(|id| u32::from_le_bytes(id.try_into().unwrap())).collect(),
        };
        let bounds = fs::read(file("docs.npy")).unwrap();
        let bounds: Vec<usize> = bounds[128..]
            .chunks(8)
            .map(|bound| u64::from_le_bytes(bound.try_into().unwrap()) as usize)
            .collect();
        assert_eq!(*bounds.last().unwrap(), ids.len());
        shards.push(bounds.windows(2).map(|bound| ids[bound[0]..bound[1]].to_vec()).collect());
    }
}

/// Every file of a folder by its name.
fn all_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.file_name().unwrap().to_string_lossy().into(), fs::read(&path).unwrap()))
        .collect()
}

/// Where the shard says that the next one begins.
fn next_position(folder: &Path, shard: u64) -> Position {
    let facts = fs::read_to_string(folder.join(format!("shard-{shard:05}.json"))).unwrap();
    let number = |name: &str| {
        let behind = facts.split_once(&format!("\"{name}\": ")).unwrap().1;
        behind[..behind.find(|c: char| !c.is_ascii_digit()).unwrap()].parse().unwrap()
    };
    Position { part: number("part"), offset: number("offset"), within: number("within") }
}

fn hostile_text() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        6 => "[a-c]{1,3}".prop_map(String::into_bytes),
        4 => "[ \t\r\n\u{A0}\u{2028}]{1,6}".prop_map(String::into_bytes),
        2 => "[0-9]{1,5}".prop_map(String::into_bytes),
        2 => "['.,!<|]{1,3}".prop_map(String::into_bytes),
        2 => "[字я\u{301}Aé😀]{1,3}".prop_map(String::into_bytes),
        1 => "[a-z]{10,60}".prop_map(String::into_bytes),
        2 => Just(SEPARATOR.as_bytes().to_vec()),
        1 => Just(b"<a b>".to_vec()),
        1 => proptest::collection::vec(prop_oneof![Just(0xFFu8), Just(0xC3), Just(0xE5), Just(0x80)], 1..3),
    ];
    proptest::collection::vec(part, 0..50).prop_map(|parts| parts.concat())
}

const PATTERNS: [&str; 6] =
    ["gpt2", "gpt4", "o200k", r"\p{L}+|\s+(?!\S)|[0-9]{1,4}", r"[^\n]+\n?", r"(?<=a)b+|\w+"];

fn write(
    tokenizer: &Arc<Tokenizer>,
    parts: &[Vec<u8>],
    settings: TokenSettings,
    folder: &Path,
    shard: u64,
    position: Position,
) -> Result<()> {
    let progress = Progress::new();
    let mut writer = TokenWriter::new(Arc::clone(tokenizer), settings, folder, &progress)?;
    writer.start_at(shard, position);
    let rest: Vec<&[u8]> = parts[position.part as usize..].iter().map(Vec::as_slice).collect();
    writer.add_documents(&rest, &progress)?;
    writer.finish(&progress)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// TextBlocks are 16 bytes long in tests: nearly every document is cut, and no cut may show. Then the run
    /// is taken up again at the end of some shard, with another number of threads.
    #[test]
    fn files_hold_what_memory_holds(
        parts in proptest::collection::vec(hostile_text(), 0..4),
        pattern in 0..PATTERNS.len(),
        (special, separator, prepend, append) in any::<(bool, bool, bool, bool)>(),
        wide in any::<bool>(),
        shard_tokens in prop_oneof![Just(1u64), 2..40u64, Just(1 << 40)],
        threads in 1..4usize,
        resume in any::<prop::sample::Index>(),
    ) {
        let tokenizer = tokenizer(PATTERNS[pattern], if wide { 100_000 } else { 1 << 16 });
        let mark = tokenizer.special_id(SEPARATOR);
        let settings = |threads| TokenSettings {
            width: IdWidth::least(&tokenizer),
            separator: separator.then(|| SEPARATOR.into()),
            prepend: mark.filter(|_| prepend),
            append: Some(65).filter(|_| append),
            allowed_special: if special { vec!["<a b>".into()] } else { Vec::new() },
            ..settings(shard_tokens, threads)
        };
        let folder = temporary_folder();
        let expected = sharded(naive(&tokenizer, &parts, &settings(1)), shard_tokens);
        let done = write(&tokenizer, &parts, settings(threads), &folder, 0, Position::default());
        prop_assert_eq!(done.is_ok(), !expected.is_empty());
        let width = if wide { IdWidth::Four } else { IdWidth::Two };
        prop_assert_eq!(read(&folder, width), expected.clone());

        if !expected.is_empty() {
            let whole = all_files(&folder);
            let last = resume.index(expected.len()) as u64;
            for name in whole.keys() {
                if name[6..11].parse::<u64>().unwrap() > last {
                    fs::remove_file(folder.join(name)).unwrap();
                }
            }
            let position = next_position(&folder, last);
            write(&tokenizer, &parts, settings(5 - threads), &folder, last + 1, position).unwrap();
            prop_assert_eq!(all_files(&folder), whole);
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_streams_and_documents_agree(
        parts in proptest::collection::vec(hostile_text(), 1..4),
        resume in any::<prop::sample::Index>(),
    ) {
        let tokenizer = tokenizer("gpt4", 1000);
        let folder = temporary_folder();
        let documents = folder.join("documents");
        fs::create_dir(&documents).unwrap();
        if write(&tokenizer, &parts, settings(20, 2), &documents, 0, Position::default()).is_ok() {
            let whole = all_files(&documents);
            let shards = whole.keys().filter(|name| name.ends_with(".json")).count();
            let paths: Vec<PathBuf> = (0..parts.len()).map(|i| folder.join(format!("{i}.txt"))).collect();
            for (path, part) in paths.iter().zip(&parts) {
                fs::write(path, part).unwrap();
            }
            let mut firsts = vec![0];
            firsts.push(1 + resume.index(shards) as u64);
            for first in firsts {
                let position = if first == 0 { Position::default() } else { next_position(&documents, first - 1) };
                let after = position.part as usize;
                for stream in [true, false] {
                    let out = folder.join("out");
                    fs::create_dir(&out).unwrap();
                    let progress = Progress::new();
                    let settings = settings(20, 3);
                    let mut writer =
                        TokenWriter::new(Arc::clone(&tokenizer), settings, &out, &progress).unwrap();
                    writer.start_at(first, position);
                    if stream {
                        for part in &parts[after..] {
                            writer.add_reader(&part[..], Path::new("-"), &Reading::default(), &progress).unwrap();
                        }
                    } else {
                        writer.add_files(&paths[after..], &Reading::default(), &progress).unwrap();
                        let sizes = parts[after..].iter().map(|part| part.len() as u64);
                        prop_assert_eq!(progress.snapshot(), (Stage::Encode, sizes.clone().sum(), sizes.sum()));
                    }
                    writer.finish(&progress).unwrap();
                    let rest = whole.clone().into_iter().filter(|(name, _)| name[6..11].parse::<u64>().unwrap() >= first);
                    prop_assert_eq!(all_files(&out), rest.collect::<BTreeMap<_, _>>());
                    fs::remove_dir_all(out).unwrap();
                }
            }
        }
        fs::remove_dir_all(folder).unwrap();
    }
}

fn temporary_folder() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("merganser-tokens-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn failure(change: impl FnOnce(&mut TokenSettings)) -> Error {
    let folder = temporary_folder();
    let mut settings = settings(10, 1);
    change(&mut settings);
    let error =
        write(&tokenizer("gpt2", 1 << 17), &[b"a".to_vec()], settings, &folder, 0, Position::default());
    assert_eq!(all_files(&folder).len(), 0);
    fs::remove_dir_all(folder).unwrap();
    error.unwrap_err()
}

#[test]
fn settings_that_cannot_be_honoured_are_refused() {
    assert!(failure(|s| s.width = IdWidth::Two).to_string().contains("do not fit in uint16"));
    assert!(matches!(failure(|s| s.shard_tokens = Some(0)), Error::BadSetting { .. }));
    assert!(matches!(failure(|s| s.separator = Some("".into())), Error::BadSetting { .. }));
    assert!(matches!(failure(|s| s.append = Some(1000)), Error::BadSetting { .. }));
    assert!(matches!(failure(|s| s.prepend = Some(1 << 30)), Error::BadSetting { .. }));
    assert!(matches!(failure(|s| s.allowed_special = vec!["<no>".into()]), Error::BadSpecial { .. }));
    assert!(matches!(TokenFormat::named("gguf"), Err(Error::BadSetting { .. })));
    for format in TokenFormat::ALL {
        assert_eq!(TokenFormat::named(format.name()).unwrap(), format);
    }
}

#[test]
fn numbers_that_a_format_cannot_hold_are_refused() {
    assert!(TokenFormat::Llmc.header(IdWidth::Two, (1 << 31) - 1).is_ok());
    assert!(matches!(TokenFormat::Llmc.header(IdWidth::Two, 1 << 31), Err(Error::TooManyTokens { .. })));
    for format in TokenFormat::ALL {
        assert_eq!(format.header(IdWidth::Four, 1 << 30).unwrap().len(), format.header_len());
    }
    assert_eq!(TokenFormat::Npy.header(IdWidth::Two, u64::MAX).unwrap().len(), 128);
    let bounds = || Ok([0, 5, 5 + (1u64 << 31)].map(Ok).into_iter());
    let long = formats::write_megatron_index(&mut Vec::new(), IdWidth::Two, 2, bounds);
    assert!(matches!(long, Err(formats::MegatronError::TooLong(0x8000_0000))));
}

#[test]
fn a_bound_that_cannot_be_read_is_an_error_wherever_it_is() {
    for unreadable in 0..3 {
        let read = |n: usize| if n == unreadable { Err(io::ErrorKind::Other.into()) } else { Ok(n as u64) };
        let written =
            formats::write_megatron_index(&mut Vec::new(), IdWidth::Two, 2, || Ok((0..3).map(read)));
        assert!(matches!(written, Err(formats::MegatronError::Write(_))), "{unreadable}");
    }
}

#[test]
fn a_corpus_that_ends_before_the_place_is_refused() {
    let folder = temporary_folder();
    let tokenizer = tokenizer("gpt2", 1000);
    let position = Position { offset: 4, ..Position::default() };
    let short = write(&tokenizer, &[b"abc".to_vec()], settings(10, 1), &folder, 1, position);
    assert!(matches!(short, Err(Error::CorpusEndsEarly)));
    let progress = Progress::new();
    let mut writer = TokenWriter::new(tokenizer, settings(10, 1), &folder, &progress).unwrap();
    writer.start_at(1, position);
    assert!(matches!(
        writer.add_reader(&b"abc"[..], Path::new("-"), &Reading::default(), &progress),
        Err(Error::CorpusEndsEarly)
    ));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_empty_corpus_and_a_failure_leave_nothing_behind() {
    let folder = temporary_folder();
    let tokenizer = tokenizer("gpt2", 1000);
    let empty = write(&tokenizer, &[SEPARATOR.into()], settings(10, 1), &folder, 0, Position::default());
    assert!(matches!(empty, Err(Error::EmptyCorpus)));
    assert_eq!(all_files(&folder).len(), 0);

    // What is not full when the failure comes is taken away; what is full stays.
    let progress = Progress::new();
    let mut writer = TokenWriter::new(tokenizer, settings(30, 2), &folder, &progress).unwrap();
    writer.add_documents(&[&[b'x'; 40], &[b'y'; 20]], &progress).unwrap();
    let error = writer.add_files(&["/no/such/file".into()], &Reading::default(), &progress).unwrap_err();
    assert!(error.to_string().contains("/no/such/file"));
    let Output::Shards(shards) = &mut writer.output else { unreachable!() };
    shards.await_flush(&progress).unwrap();
    drop(writer);
    let left = all_files(&folder);
    assert!(left.keys().all(|name| name.starts_with("shard-00000.")), "{:?}", left.keys());
    assert_eq!(left.len(), 3);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_has_one_writer_at_a_time() {
    let folder = temporary_folder();
    let open = || {
        let (tokenizer, progress) = (tokenizer("gpt2", 1000), Progress::new());
        TokenWriter::new(tokenizer, settings(10, 1), &folder, &progress)
    };
    let first = open().unwrap();
    assert!(matches!(open(), Err(Error::BusyFolder { .. })));
    drop(first);
    assert!(open().is_ok());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn cancelled_work_stops_with_a_shard_half_full() {
    let folder = temporary_folder();
    let tokenizer = tokenizer("gpt2", 1000);
    let progress = Progress::new();
    let mut writer = TokenWriter::new(tokenizer, settings(1 << 20, 2), &folder, &progress).unwrap();
    writer.add_documents(&[b"some text"], &progress).unwrap();
    progress.cancel();
    assert!(matches!(writer.add_documents(&[b"more text"], &progress), Err(Error::Cancelled)));
    drop(writer);
    assert_eq!(all_files(&folder).len(), 0);
    fs::remove_dir_all(folder).unwrap();
}

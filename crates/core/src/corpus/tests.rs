//! The same documents in every format, compressed in every way, and everything that can be wrong with a file.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::sources::StreamBlocks;
use super::*;
use crate::count::{CountSettings, Counter};
use crate::split::Splitter;
use crate::{Error, Progress, Result};

const FORMATS: [&str; 5] = ["jsonl", "json", "json values", "csv", "tsv"];
const COMPRESSIONS: [&str; 5] = ["", "gz", "zst", "xz", "bz2"];

/// The documents, as a file of that format; `frills` are things that change nothing.
fn written(format: &str, documents: &[String], frills: bool) -> Vec<u8> {
    let object = |text: &String| {
        let text = serde_json::to_string(text).unwrap();
        if frills {
            format!(
                "{{ \"text\":\"no\",\"x\": [{{\"text\": \"}}]\\\"\"}}, -1.5e3, null], \"text\" : {text} }}"
            )
        } else {
            format!("{{\"text\":{text}}}")
        }
    };
    match format {
        "jsonl" => {
            let lines = documents.iter().map(object);
            lines.collect::<Vec<_>>().join(if frills { "\r\n \n" } else { "\n" }).into_bytes()
        }
        "json" => {
            let elements = documents.iter().map(object).collect::<Vec<_>>();
            if frills {
                format!("\u{FEFF} \n[{}\n ] \n", elements.join(" \n, ")).into_bytes()
            } else {
                format!("[{}]", elements.join(",")).into_bytes()
            }
        }
        "json values" => {
            documents.iter().map(object).collect::<Vec<_>>().join(if frills { "\n " } else { "" }).into()
        }
        _ => {
            let delimiter = if format == "csv" { b',' } else { b'\t' };
            let style = if frills { ::csv::QuoteStyle::Always } else { ::csv::QuoteStyle::Necessary };
            let mut writer =
                ::csv::WriterBuilder::new().delimiter(delimiter).quote_style(style).from_writer(Vec::new());
            writer.write_record(["a \"b\"", "text", "c,\td"]).unwrap();
            for document in documents {
                writer.write_record(["1,\"\n", document, ""]).unwrap();
            }
            writer.into_inner().unwrap()
        }
    }
}

/// In two members where `cut` says so.
fn compressed(how: &str, data: &[u8], cut: usize) -> Vec<u8> {
    let one = |data: &[u8]| match how {
        "gz" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        "zst" => {
            let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
            encoder.include_checksum(true).unwrap();
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        "xz" => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        "bz2" => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        _ => data.to_vec(),
    };
    [one(&data[..cut]), one(&data[cut..])].concat()
}

fn name(format: &str, compression: &str) -> String {
    let extension = if format == "json values" { "json" } else { format };
    if compression.is_empty() { format!("x.{extension}") } else { format!("x.{extension}.{compression}") }
}

fn settings() -> CountSettings {
    CountSettings::new(Splitter::new("gpt4").unwrap(), Vec::new(), Some("<|endoftext|>".into())).unwrap()
}

type Counted = (BTreeMap<Vec<u8>, u64>, u64, Skipped);

fn count_with(threads: usize, add: impl FnOnce(&mut Counter) -> Result<()>) -> Result<Counted> {
    let mut counter = Counter::new(settings(), threads).unwrap();
    add(&mut counter)?;
    let skipped = counter.skipped();
    let counts = counter.finish(&Progress::new())?;
    Ok((
        counts.iter().map(|(pretoken, count)| (pretoken.to_vec(), count)).collect(),
        counts.documents,
        skipped,
    ))
}

fn count_documents(documents: &[String]) -> Counted {
    let documents: Vec<&[u8]> = documents.iter().map(String::as_bytes).collect();
    count_with(1, |counter| counter.add_documents(&documents, &Progress::new())).unwrap()
}

/// Read as a stream of that name.
fn count_as(name: &str, data: &[u8], reading: &Reading) -> Result<Counted> {
    count_with(2, |counter| counter.add_reader(data, Path::new(name), reading, &Progress::new()))
}

fn skipping() -> Reading {
    Reading { on_error: OnError::Skip, ..Reading::default() }
}

fn document() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-c ]{1,5}",
        2 => "[\"\\\\,\t\r\n{}\\[\\]']{1,5}",
        1 => "[字é😀\u{0}\u{2028}]{1,3}",
        1 => "[a-z]{10,40}",
        1 => Just("<|endoftext|>".into()),
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// TextBlocks are 16 bytes long in tests, so that nearly every record is longer.
    #[test]
    fn every_format_and_compression_gives_the_same_counts(
        documents in proptest::collection::vec(document(), 0..6),
        compression in 0..COMPRESSIONS.len(),
        cut in any::<prop::sample::Index>(),
        frills in any::<bool>(),
    ) {
        let expected = count_documents(&documents);
        for format in FORMATS {
            let data = written(format, &documents, frills);
            let how = COMPRESSIONS[compression];
            let data = compressed(how, &data, cut.index(data.len() + 1));
            let counted = count_as(&name(format, how), &data, &Reading::default()).unwrap();
            prop_assert_eq!(&counted, &expected, "{}", format);
        }
        // Text has one document to a file, and is recognised whatever its name.
        let text = documents.concat();
        let how = COMPRESSIONS[compression];
        let data = compressed(how, text.as_bytes(), cut.index(text.len() + 1));
        let counted = count_as("-", &data, &Reading::default()).unwrap();
        prop_assert_eq!(counted, count_documents(&[text]));
    }

    /// Work that begins again where any block has ended goes on as if it had never stopped.
    #[test]
    fn a_block_says_where_the_next_one_begins(
        documents in proptest::collection::vec(document(), 0..6),
        format in 0..FORMATS.len() + 1,
        compression in 0..COMPRESSIONS.len(),
        stop in any::<prop::sample::Index>(),
        on_disk in any::<bool>(),
    ) {
        let (format, how) = (FORMATS.get(format).copied().unwrap_or("txt"), COMPRESSIONS[compression]);
        let data = if format == "txt" { documents.concat().into_bytes() } else { written(format, &documents, true) };
        let folder = temporary_folder();
        let path = folder.join(name(format, how));
        fs::write(&path, compressed(how, &data, data.len() / 2)).unwrap();
        let read_from = |position: Position| {
            let (reading, skips, progress) = (Reading::default(), Arc::default(), Progress::new());
            let context = &ReadContext::new(&reading, LONGEST, &skips, &progress);
            let mut stream = if on_disk {
                StreamBlocks::open(&path, position, context).unwrap()
            } else {
                StreamBlocks::new(fs::File::open(&path).unwrap(), &path, position, context).unwrap()
            };
            let (mut parts, mut ends, mut block) = (Vec::new(), Vec::new(), Block::default());
            let cutters = Cutters::new(&[], None).unwrap();
            while stream.next(&mut block, &settings().splitter, &cutters).unwrap() {
                block.decode().unwrap();
                parts.extend(block.parts().map(|part| (part.position, part.ends_document, part.text.to_vec())));
                ends.push((block.next, parts.len()));
            }
            assert!(progress.snapshot().1 <= path.metadata().unwrap().len());
            (parts, ends)
        };
        // Records are the same wherever blocks are cut; of text it is the whole that counts.
        let same = |some: &[(Position, Option<Position>, Vec<u8>)], others: &[(Position, Option<Position>, Vec<u8>)]| {
            let whole = |parts: &[(_, _, Vec<u8>)]| parts.iter().flat_map(|part| part.2.clone()).collect::<Vec<u8>>();
            whole(some) == whole(others) && (format == "txt" || some == others)
        };
        let (all, ends) = read_from(Position { part: 3, ..Position::default() });
        if !all.is_empty() {
            let at = stop.index(all.len());
            prop_assert!(same(&read_from(all[at].0).0, &all[at..]));
            let (next, at) = ends[stop.index(ends.len())];
            prop_assert!(same(&read_from(next).0, &all[at..]));
        }
        fs::remove_dir_all(folder).unwrap();
    }

    /// Whatever is in a file, reading it ends, with counts or with one of our errors.
    #[test]
    fn noise_is_refused_or_read_but_never_a_panic(
        noise in proptest::collection::vec(
            prop_oneof![Just(b'"'), Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b','), Just(b'\n'), Just(b'\\'),
                Just(b':'), Just(b't'), Just(b' '), any::<u8>()], 0..80),
        header in any::<bool>(),
    ) {
        for format in ["jsonl", "json", "csv", "txt.gz", "txt.zst", "txt.xz", "txt.bz2"] {
            let how = format.strip_prefix("txt.").unwrap_or_default();
            let mut data = if header { compressed(how, b"text\n", 5) } else { Vec::new() };
            data.extend_from_slice(&noise);
            let stopped = count_as(&format!("x.{format}"), &data, &Reading::default());
            let skipped = count_as(&format!("x.{format}"), &data, &skipping()).unwrap();
            prop_assert_eq!(stopped.is_err(), skipped.2.records + skipped.2.files > 0);
            if let Ok(counted) = stopped {
                prop_assert_eq!(counted, skipped);
            }
        }
    }

    /// The csv crate reads the same fields, but takes a carriage return alone for the end of a line.
    #[test]
    fn fields_are_those_that_the_csv_crate_finds(text in "[ab\",\n]{0,40}") {
        let mut reader = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let theirs: Vec<Vec<Vec<u8>>> =
            reader.byte_records().map(|r| r.unwrap().iter().map(<[u8]>::to_vec).collect()).collect();
        let (mut ours, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let end = super::csv::record_end(text.as_bytes(), at, b',').unwrap_or(text.len());
            let record = &text.as_bytes()[at..end];
            let closed = super::csv::record_end(text.as_bytes(), at, b',').is_some()
                || super::csv::is_closed(record, b',');
            prop_assume!(closed);
            let record = record.strip_suffix(b"\n").unwrap_or(record);
            if !record.is_empty() {
                ours.push(super::csv::fields(record, b','));
            }
            at = end;
        }
        prop_assert_eq!(ours, theirs);
    }
}

fn temporary_folder() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("merganser-corpus-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The error, and the counts and the report of those who go on without.
fn wrong(name: &str, data: &[u8]) -> (Error, Counted) {
    (count_as(name, data, &Reading::default()).unwrap_err(), count_as(name, data, &skipping()).unwrap())
}

#[test]
fn a_bad_record_is_named_by_its_line_and_can_be_skipped() {
    let good = count_documents(&["one".into(), "two".into()]);
    for (bad, reason) in [
        ("{\"text\": \"x\"", "EOF while parsing"),
        ("{\"text\": x}", "not valid JSON"),
        ("{\"text\": \"x\"} {}", "trailing characters"),
        ("{\"words\": \"x\"}", "there is no key \"text\""),
        ("{\"text\": 5}", "invalid type: integer `5`, expected a string as the text"),
        ("{\"text\": null}", "invalid type: null"),
        ("{\"text\": {}}", "invalid type: map"),
        ("[\"text\"]", "expected a string, or an object with the key \"text\""),
        ("{\"text\": \"\\ud800\"}", "surrogate"),
        ("{\"text\": \"\\ud83d\\ud83d\"}", "surrogate"),
        ("{\"text\": \"a\u{1}\"}", "control character"),
        ("true", "expected a string"),
    ] {
        let lines = format!("{{\"text\": \"one\"}}\n\n{bad}\n\"two\"\n");
        let (error, (pretokens, documents, skipped)) = wrong("x.jsonl", lines.as_bytes());
        let message = error.to_string();
        assert!(matches!(error, Error::BadRecord { line: 3, .. }), "{message}");
        assert!(message.starts_with("x.jsonl, line 3: ") && message.contains(reason), "{message}");
        assert_eq!((pretokens, documents), (good.0.clone(), good.1));
        assert_eq!(skipped, Skipped { records: 1, files: 0, first: vec![message] });
        if !bad.contains("EOF") && !bad.ends_with("\"x\"") && !bad.ends_with("{}") {
            let array = format!("[{{\"text\": \"one\"}},\n\n{bad}\n, \"two\"]");
            let (error, counted) = wrong("x.json", array.as_bytes());
            assert!(matches!(error, Error::BadRecord { line: 3, .. }), "{error}");
            assert_eq!((counted.0, counted.1), (good.0.clone(), good.1));
        }
    }
    let invalid = wrong("x.jsonl", b"\"one\"\n\"\xFF\"\n\"two\"").0;
    assert!(matches!(invalid, Error::BadRecord { line: 2, .. }), "{invalid}");
    let (error, counted) = wrong("x.csv", b"a,text\n1,one\n\"2\n2\"\n3,two\n");
    assert!(matches!(error, Error::BadRecord { line: 3, .. }), "{error}");
    assert_eq!((counted.0, counted.1), (good.0, good.1));
}

#[test]
fn a_file_whose_records_run_into_each_other_is_named_and_its_rest_can_be_skipped() {
    let good = count_documents(&["one".into()]);
    for (name, data, at, reason) in [
        ("x.json", "[\"one\"\n\"two\"]", 2, "a comma is missing"),
        ("x.json", "[\"one\",\n,\"two\"]", 2, "no JSON value"),
        ("x.json", "[\"one\",\n{\"text\": \"two]", 2, "never closed"),
        ("x.json", "[\"one\"\n", 2, "the array is never closed"),
        ("x.json", "[\"one\"]\n[\"two\"]", 2, "something follows"),
        ("x.csv", "text\none\n\"two\nthree", 3, "a quote in this record is never closed"),
    ] {
        let (error, (pretokens, documents, skipped)) = wrong(name, data.as_bytes());
        let message = error.to_string();
        assert!(matches!(error, Error::BrokenFile { line, .. } if line == at), "{message}");
        assert!(message.contains(reason), "{message}");
        assert_eq!((pretokens, documents), (good.0.clone(), good.1), "{data}");
        assert_eq!(skipped, Skipped { records: 0, files: 1, first: vec![message] });
    }
    let endless = format!("\"{}\n", "x".repeat(1 << 17));
    for name in ["x.json", "x.csv"] {
        let (error, counted) =
            wrong(name, format!("{}{endless}", if name == "x.csv" { "text\n" } else { "" }).as_bytes());
        assert!(error.to_string().contains("a record of more than 65536 bytes"), "{error}");
        assert_eq!((counted.1, counted.2.files), (0, 1));
    }
}

#[test]
fn a_column_that_is_not_there_is_named_with_those_that_are() {
    let (error, counted) = wrong("x.tsv", b"id\tbody\n1\tone\n");
    assert!(matches!(error, Error::NoColumn { .. }));
    assert!(error.to_string().contains("no column \"text\", only \"id\", \"body\""), "{error}");
    assert_eq!((counted.1, counted.2.files), (0, 1));
    let body = Reading { text_key: "body".into(), ..Reading::default() };
    assert_eq!(count_as("x.tsv", b"id\tbody\n1\tone\n", &body).unwrap(), count_documents(&["one".into()]));
    assert_eq!(count_as("x.csv", b"", &body).unwrap().1, 0);
}

#[test]
fn the_last_of_duplicate_keys_wins_whatever_the_others_are() {
    let expected = count_documents(&["one".into()]);
    for line in [
        r#"{"text": "two", "text": "one"}"#,
        r#"{"text": 2, "text": "one"}"#,
        r#"{"text": {"a": []}, "b": 1, "text": "one"}"#,
        r#"{"text": ["two"], "text": null, "text": "one"}"#,
    ] {
        assert_eq!(count_as("x.jsonl", line.as_bytes(), &Reading::default()).unwrap(), expected, "{line}");
    }
    let (error, _) = wrong("x.jsonl", br#"{"text": "one", "text": 2}"#);
    assert!(error.to_string().contains("a string as the text"), "{error}");
}

#[test]
fn a_key_with_dots_is_a_way_through_objects_or_a_key() {
    let nested = Reading { text_key: "a.b.c".into(), ..Reading::default() };
    let expected = count_documents(&["one".into()]);
    for line in [
        r#"{"a": {"b": {"c": "one"}}}"#,
        r#"{"a.b.c": "one"}"#,
        r#"{"a": {"x": 1, "b.c": "one"}, "ab": 2}"#,
        r#"{"a": {"b": {"c": "two"}}, "a.b": {"c": "one"}}"#,
    ] {
        assert_eq!(count_as("x.ndjson", line.as_bytes(), &nested).unwrap(), expected, "{line}");
    }
    for (line, reason) in [
        (r#"{"a": {"b": {"d": "one"}}}"#, "there is no key \"c\""),
        (r#"{"a": "one"}"#, "an object with the key \"b.c\""),
        (r#"{"a": {"b": {"c": {"d": 1}}}}"#, "a string as the text"),
    ] {
        let error = count_as("x.ndjson", line.as_bytes(), &nested).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn damage_to_compressed_files_is_noticed_wherever_it_is() {
    let text: String = (0..2000).map(|n| format!("{} ", n * n)).collect();
    for how in &COMPRESSIONS[1..] {
        let whole = compressed(how, text.as_bytes(), text.len() / 2);
        let first = compressed(how, &text.as_bytes()[..text.len() / 2], 0).len();
        for len in
            (0..whole.len()).step_by(397).chain(whole.len() - 20..whole.len()).filter(|&len| len != first)
        {
            let cut = count_as(&name("txt", how), &whole[..len], &Reading::default());
            assert!(matches!(cut, Err(Error::Damaged { .. })), "{how} cut at {len} of {}", whole.len());
        }
        let mut damaged = whole.clone();
        let at = whole.len() * 3 / 4;
        damaged[at..at + 40].fill(0x55);
        let (error, counted) = wrong(&name("txt", how), &damaged);
        let Error::Damaged { offset, .. } = error else { panic!("{how}: {error}") };
        assert!(offset >= text.len() as u64 / 2, "{how}: {offset}");
        assert!(
            error.to_string().starts_with(&format!(
                "x.txt.{how} is corrupt after byte {offset} of the decompressed text: "
            ))
        );
        // What came before is kept.
        let bytes: u64 = counted.0.iter().map(|(pretoken, count)| pretoken.len() as u64 * count).sum();
        assert_eq!((bytes, counted.2.files), (offset, 1));
    }
    let (error, _) = wrong("x.gz", b"text");
    assert!(error.to_string().contains("does not begin like a gzip file"), "{error}");
    assert!(matches!(wrong("x.zst", b"").0, Error::Damaged { offset: 0, .. }));
}

#[test]
fn what_is_cut_short_ends_with_its_last_whole_record() {
    let lines: String = (0..3000).map(|n| format!("{{\"text\": \"{} {n}\"}}\n", n * n)).collect();
    let whole = compressed("gz", lines.as_bytes(), 0);
    let (error, counted) = wrong("x.jsonl.gz", &whole[..whole.len() / 2]);
    let Error::Damaged { offset, .. } = error else { panic!("{error}") };
    assert_eq!(
        counted.1,
        lines.as_bytes()[..offset as usize].iter().filter(|&&byte| byte == b'\n').count() as u64
    );
    assert_eq!((counted.2.records, counted.2.files), (0, 1));
}

#[test]
fn bombs_are_refused_until_the_caps_are_raised() {
    let text = b"abc ".repeat(1 << 20);
    for how in &COMPRESSIONS[1..] {
        let bomb = compressed(how, &text, 0);
        let name = name("txt", how);
        let with = |max_ratio, max_size| Reading { max_ratio, max_size, ..Reading::default() };
        let error = count_as(&name, &bomb, &with(20, u64::MAX)).unwrap_err();
        assert!(matches!(error, Error::Bomb { max_ratio: 20, .. }), "{error}");
        assert!(error.to_string().contains("--max-ratio"));
        let error = count_as(&name, &bomb, &with(u64::MAX, 4 << 19)).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        assert!(error.to_string().contains("--max-size"));
        assert_eq!(count_as(&name, &bomb, &with(u64::MAX, 4 << 20)).unwrap().1, 1);
    }
}

#[test]
fn a_window_that_takes_too_much_memory_is_refused() {
    let text: Vec<u8> = (0..1u32 << 20).flat_map(|n| n.wrapping_mul(2654435761).to_le_bytes()).collect();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(22).unwrap();
    encoder.write_all(&text).unwrap();
    let options = [
        ("x.zst", encoder.finish().unwrap()),
        ("x.xz", {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
            encoder.write_all(&text).unwrap();
            encoder.finish().unwrap()
        }),
    ];
    for (name, data) in options {
        let with = |max_window| Reading { max_window, ..Reading::default() };
        let error = count_as(name, &data, &with(1 << 20)).unwrap_err();
        assert!(matches!(error, Error::WideWindow { .. }), "{error}");
        assert!(count_as(name, &data, &with(1 << 23)).is_ok());
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_can_be_skipped() {
    let folder = temporary_folder();
    let (good, folder_as_file, gone) = (folder.join("a.txt"), folder.join("b.gz"), folder.join("c.jsonl"));
    fs::write(&good, "one").unwrap();
    fs::create_dir(&folder_as_file).unwrap();
    let paths = [good.clone(), folder_as_file, gone, good];
    let add = |counter: &mut Counter, reading: &Reading| counter.add_files(&paths, reading, &Progress::new());
    let error = count_with(2, |counter| add(counter, &Reading::default())).unwrap_err().to_string();
    assert!(error.starts_with("cannot read") && error.contains("b.gz"), "{error}");
    let (pretokens, documents, skipped) = count_with(2, |counter| add(counter, &skipping())).unwrap();
    assert_eq!((pretokens, documents), (BTreeMap::from([(b"one".to_vec(), 2)]), 2));
    assert_eq!((skipped.files, skipped.records), (2, 0));
    assert!(skipped.first[0].contains("b.gz") && skipped.first[1].contains("c.jsonl"), "{skipped:?}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_first_of_the_skipped_are_those_that_come_first() {
    let lines: String =
        (1..=500).map(|n| if n % 3 == 0 { "\"good\"\n".into() } else { format!("bad {n}\n") }).collect();
    let (_, (_, documents, skipped)) = wrong("x.jsonl", lines.as_bytes());
    assert_eq!((documents, skipped.records), (166, 334));
    let lines = [1, 2, 4, 5, 7, 8, 10, 11, 13, 14];
    assert_eq!(skipped.first.len(), lines.len());
    for (line, text) in lines.iter().zip(&skipped.first) {
        assert!(text.starts_with(&format!("x.jsonl, line {line}: ")), "{text}");
    }
}

/// All documents, and how many batches they came in.
fn all_documents(mut batches: DocumentBatches) -> (Vec<Vec<u8>>, usize) {
    let (mut documents, mut count, mut more) = (Vec::new(), 0, true);
    while more {
        while more && !batches.is_full() {
            more = batches.read().unwrap();
        }
        documents.extend(batches.batch().map(<[u8]>::to_vec));
        count += 1;
        batches.clear();
    }
    (documents, count)
}

proptest! {
    /// Whatever the format and the compression, the documents are those between separators, in order.
    #[test]
    fn documents_are_those_between_separators(
        texts in proptest::collection::vec("[ab\u{E9} \n]{0,40}|<\\|endoftext\\|>|x<\\|endoftext\\|>y", 0..8),
        format in 0..FORMATS.len() + 1,
        compression in 0..COMPRESSIONS.len(),
    ) {
        let (format, how) = (FORMATS.get(format).copied().unwrap_or("txt"), COMPRESSIONS[compression]);
        let whole = format == "txt";
        let data = if whole { texts.concat().into_bytes() } else { written(format, &texts, true) };
        let packed = compressed(how, &data, data.len() / 2);
        let inputs = if whole { vec![texts.concat()] } else { texts.clone() };
        let expected: Vec<Vec<u8>> = inputs.iter().flat_map(|text| text.split("<|endoftext|>"))
            .filter(|text| !text.is_empty()).map(|text| text.as_bytes().to_vec()).collect();
        let folder = temporary_folder();
        let path = folder.join(name(format, how));
        fs::write(&path, &packed).unwrap();

        let mut documents = Documents::new(Some("<|endoftext|>")).unwrap();
        let (found, batches) = all_documents(documents.files(vec![path.clone()], &Reading::default()));
        prop_assert_eq!(&found, &expected);
        prop_assert!(batches <= 1 + expected.iter().map(Vec::len).sum::<usize>() / 32);
        prop_assert_eq!(documents.bytes_read(), packed.len() as u64);
        let stream = documents.stream(&packed[..], &path, &Reading::default()).unwrap();
        prop_assert_eq!(&all_documents(stream).0, &expected);
        let borrowed: Vec<&[u8]> = inputs.iter().map(|text| text.as_bytes()).collect();
        prop_assert_eq!(all_documents(documents.in_memory(&borrowed)).0, expected);
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn documents_keep_invalid_bytes_and_report_what_was_skipped() {
    let mut documents = Documents::new(None).unwrap();
    let texts: [&[u8]; 3] = [b"a\xFFb", b"", b"c"];
    assert_eq!(all_documents(documents.in_memory(&texts)).0, [&b"a\xFFb"[..], b"c"]);
    let lines = &b"\"one\"\nbad\n\"two\"\n"[..];
    let stream = documents.stream(lines, Path::new("x.jsonl"), &skipping()).unwrap();
    assert_eq!(all_documents(stream).0, [b"one", b"two"]);
    assert_eq!((documents.skipped().records, documents.skipped().files), (1, 0));
    let mut strict = documents.stream(lines, Path::new("x.jsonl"), &Reading::default()).unwrap();
    assert!(matches!((0..9).find_map(|_| strict.read().err()), Some(Error::BadRecord { line: 2, .. })));
    assert!(matches!(Documents::new(Some("")), Err(Error::BadSetting { .. })));
}

#[test]
fn cancelled_work_is_never_taken_for_a_bad_file() {
    let progress = Progress::new();
    progress.cancel();
    let data = compressed("gz", b"one two", 0);
    let stopped =
        count_with(1, |counter| counter.add_reader(&data[..], Path::new("x.gz"), &skipping(), &progress));
    assert!(matches!(stopped, Err(Error::Cancelled)));
}

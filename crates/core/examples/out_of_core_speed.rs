//! Cost of training out of core: seconds and peak memory, in memory and within several limits.
//!
//! `cargo run --release -p merganser-core --example out_of_core_speed -- PRETOKENS MERGES [MB…]`: PRETOKENS is a
//! `.counts` file, or a number (in millions) of random syllables, most of them with a count of one; each MB is a
//! limit. The environment: EQUAL compares with training in memory, THREADS is their number, and RESUME a number of
//! merges after which training is stopped and resumed, with the time of what comes after.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use merganser_core::Progress;
use merganser_core::count::{CountSettings, Counts};
use merganser_core::split::Splitter;
use merganser_core::train::{Limit, MergeLog, Merges, Source, TieBreak, TrainSettings, train};

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [pretokens, numbers @ ..] = &given[..] else { panic!("PRETOKENS MERGES [MB…]") };
    let numbers: Vec<f64> = numbers.iter().map(|arg| arg.parse().expect("a number")).collect();
    let [merges, limits @ ..] = &numbers[..] else { panic!("PRETOKENS MERGES [MB…]") };
    match pretokens.parse() {
        Ok(millions) => compare(&Source::Memory(&syllables(millions)), *merges as usize, limits),
        Err(_) => {
            compare(&Source::file(Path::new(pretokens)).expect("a counts file"), *merges as usize, limits)
        }
    }
}

/// Counts of random words.
fn syllables(millions: f64) -> Counts {
    let mut random = 1u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % below
    };
    let syllables: Vec<String> = (0..900)
        .map(|_| {
            let mut letter =
                |from: &[u8]| from[next(from.len() as u64).min(next(from.len() as u64)) as usize] as char;
            format!("{}{}{}", letter(b"tnsrhldcmfpgwybvkxjqz"), letter(b"eaoiu"), letter(b"nsrtldmc "))
        })
        .collect();
    let settings =
        CountSettings { splitter: Splitter::new("gpt2").unwrap(), special_tokens: vec![], separator: None };
    let made = (0..(millions * 1e6) as u64).map(|_| {
        let mut pretoken = String::from(" ");
        for _ in 0..2 + next(3) {
            let rank = next(900).min(next(900));
            pretoken += syllables[rank as usize].trim();
        }
        (pretoken, 1 + 1000 / (1 + next(3000)))
    });
    Counts::from_pretokens(settings, made).expect("counts")
}

fn variable(name: &str) -> Option<usize> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// Trains in memory if there is no limit, and within each limit.
fn compare(source: &Source, merges: usize, limits: &[f64]) {
    println!("{} unique pre-tokens", source.pretokens().unwrap());
    let settings = TrainSettings {
        merges,
        tie_break: TieBreak::Ids,
        min_frequency: 1,
        max_token_bytes: None,
        max_token_characters: None,
        whole_characters: false,
        min_pretoken_count: 1,
        forbidden: &[],
        base: None,
        first_id: 256,
        threads: variable("THREADS").unwrap_or(0),
    };
    let mut expected: Option<Merges> = None;
    if limits.is_empty() || std::env::var_os("EQUAL").is_some() {
        let measured = measure("in memory", || train(source, &settings, None, None, &Progress::new()));
        expected = Some(measured.unwrap());
    }
    let folder = std::env::temp_dir();
    for &megabytes in limits {
        let limit = || Limit { memory: (megabytes * 1e6) as u64, folder: &folder };
        let name = format!("within {megabytes} MB");
        let merges = match variable("RESUME") {
            None => measure(&name, || train(source, &settings, None, Some(limit()), &Progress::new())),
            Some(stop) => {
                let path: PathBuf = folder.join(format!("out_of_core_speed-{}.log", std::process::id()));
                let log = |settings| MergeLog::open(&path, source, settings, false, Duration::ZERO).unwrap();
                let first = TrainSettings { merges: stop, ..settings };
                measure(&format!("{name}, {stop} merges"), || {
                    train(source, &first, Some(log(&first)), Some(limit()), &Progress::new())
                })
                .unwrap();
                let resumed = measure(&format!("{name}, resumed"), || {
                    train(source, &settings, Some(log(&settings)), Some(limit()), &Progress::new())
                });
                std::fs::remove_file(&path).unwrap();
                resumed
            }
        };
        assert!(expected.is_none() || merges.ok() == expected, "other merges");
    }
}

/// Prints the wall-clock and processor seconds and the peak memory of `work`.
fn measure<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let resting = peak_after(|| ());
    let (start, processor) = (Instant::now(), processor_seconds());
    let mut result = None;
    let peak = peak_after(|| result = Some(work()));
    let (seconds, processor) = (start.elapsed().as_secs_f64(), processor_seconds() - processor);
    println!("{name}: {seconds:.2} s, {processor:.2} s of processor time, {} MB", peak - resting);
    result.unwrap()
}

/// The processor time of this process, on Linux.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>()
        / 100.0
}

/// The most memory in use while `work` ran, in MB.
fn peak_after(work: impl FnOnce()) -> usize {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    work();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or(0) / 1000
}

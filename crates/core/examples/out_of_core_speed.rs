//! Cost of training out of core: seconds and peak memory, in memory and within several limits.
//!
//! `cargo run --release -p merganser-core --example out_of_core_speed -- PRETOKENS MERGES [MB…]`: PRETOKENS
//! (in millions) of random syllables, most of them with a count of one; each MB is a limit.

use std::time::Instant;

use merganser_core::Progress;
use merganser_core::count::{CountSettings, Counts};
use merganser_core::split::Splitter;
use merganser_core::train::{Limit, Source, TieBreak, TrainSettings, train};

fn main() {
    let given: Vec<f64> = std::env::args().skip(1).map(|arg| arg.parse().expect("a number")).collect();
    let [pretokens, merges, limits @ ..] = &given[..] else { panic!("PRETOKENS MERGES [MB…]") };
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
    let made = (0..(pretokens * 1e6) as u64).map(|_| {
        let mut pretoken = String::from(" ");
        for _ in 0..2 + next(3) {
            let rank = next(900).min(next(900));
            pretoken += syllables[rank as usize].trim();
        }
        (pretoken, 1 + 1000 / (1 + next(3000)))
    });
    let counts = Counts::from_pretokens(settings, made).expect("counts");
    println!("{} unique pre-tokens, {} in all", counts.len(), counts.total());
    let settings = TrainSettings {
        merges: *merges as usize,
        tie_break: TieBreak::Ids,
        min_frequency: 1,
        max_token_bytes: None,
        max_token_characters: None,
        whole_characters: false,
        min_pretoken_count: 1,
        forbidden: &[],
        base: None,
        first_id: 256,
        threads: 0,
    };
    let resting = peak_after(|| ());
    let mut expected = None;
    if limits.is_empty() || std::env::var_os("EQUAL").is_some() {
        let start = Instant::now();
        let peak = peak_after(|| {
            expected = Some(train(&Source::Memory(&counts), &settings, None, None, &Progress::new()).unwrap())
        });
        println!("in memory: {:.2} s, {} MB", start.elapsed().as_secs_f64(), peak - resting);
    }
    for limit in limits {
        let limit_mb = *limit;
        let limit = Limit { memory: (limit * 1e6) as u64, folder: &std::env::temp_dir() };
        let start = Instant::now();
        let mut merges = None;
        let peak = peak_after(|| {
            merges = Some(
                train(&Source::Memory(&counts), &settings, None, Some(limit), &Progress::new()).unwrap(),
            );
        });
        println!("within {} MB: {:.2} s, {} MB", limit_mb, start.elapsed().as_secs_f64(), peak - resting);
        assert!(expected.is_none() || merges == expected, "other merges");
    }
}

/// The most memory in use while `work` ran, in MB.
fn peak_after(work: impl FnOnce()) -> usize {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    work();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or(0) / 1000
}

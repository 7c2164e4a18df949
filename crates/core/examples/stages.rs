//! Time per stage, file to merges, without Python: what to run under a profiler.
//!
//! `cargo run --release --example stages -- PATTERN VOCABULARY THREADS FILE…`

use std::path::PathBuf;
use std::time::Instant;

use merganser_core::Progress;
use merganser_core::corpus::{Consumer, Reading};
use merganser_core::count::{CountSettings, Counter};
use merganser_core::split::Splitter;
use merganser_core::train::{Source, TieBreak, TrainSettings, train};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pattern, size, threads, files @ ..] = &arguments[..] else {
        return Err("usage: stages PATTERN VOCABULARY THREADS FILE…".into());
    };
    let threads = threads.parse()?;
    let paths: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    let settings = CountSettings::new(Splitter::new(pattern)?, vec![], Some("<|endoftext|>".into()))?;
    let progress = Progress::new();

    let start = Instant::now();
    let mut counter = Counter::new(settings, threads).unwrap();
    counter.add_files(&paths, &Reading::default(), &progress)?;
    let split = start.elapsed();
    let counts = counter.finish(&progress)?;
    let counted = start.elapsed();
    println!(
        "count  {:.3} s ({:.3} s of it adding up)",
        counted.as_secs_f64(),
        (counted - split).as_secs_f64()
    );
    println!(
        "       {} pre-tokens, {} different, {} documents",
        counts.total(),
        counts.len(),
        counts.documents
    );

    let rules = TrainSettings {
        merges: size.parse::<usize>()?.saturating_sub(256),
        tie_break: TieBreak::Ids,
        min_frequency: 1,
        max_token_bytes: None,
        max_token_characters: None,
        whole_characters: false,
        min_pretoken_count: 1,
        forbidden: &[],
        base: None,
        first_id: 256,
        threads,
    };
    let start = Instant::now();
    let merges = train(&Source::Memory(&counts), &rules, None, None, &progress)?;
    println!("train  {:.3} s", start.elapsed().as_secs_f64());
    println!(
        "       {} merges, the last seen {} times",
        merges.pairs.len(),
        merges.counts.last().unwrap_or(&0)
    );
    Ok(())
}

//! Speed of adding up `.counts` files: `cargo run --release --example merge_speed -- THREADS OUT FILE…`.
//!
//! Prints wall-clock and processor seconds, and the pre-tokens read per second. OUT is overwritten.

use std::path::{Path, PathBuf};
use std::time::Instant;

use merganser_core::Progress;
use merganser_core::count::{CountsReader, merge_files};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [threads, out, files @ ..] = &arguments[..] else {
        return Err("usage: merge_speed THREADS OUT FILE…".into());
    };
    let paths: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    let mut pretokens = 0;
    for path in &paths {
        pretokens += CountsReader::open(path)?.totals().pretokens;
    }
    let scratch = Path::new(out).parent().unwrap_or(Path::new("."));
    let start = Instant::now();
    let totals = merge_files(&paths, &[out.into()], scratch, threads.parse()?, &Progress::new())?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{pretokens} pre-tokens in, {} out, {seconds:.3} s, {:.1} million/s",
        totals.pretokens,
        pretokens as f64 / seconds / 1e6
    );
    Ok(())
}

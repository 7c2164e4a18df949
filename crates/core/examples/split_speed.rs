//! Split throughput of each preset in each tier, on one core: MB/s of processor time, the best of seven runs.
//!
//! `cargo run --release -p merganser-core --example split_speed -- FILE… [--tier scanner|dfa|lookaround]`
//! [`--preset NAME`] [`--megabytes N`], on the first N (20) megabytes of each file, as documents of
//! [`--document BYTES`] (65536).

use std::time::Duration;

use merganser_core::split::{Scratch, Splitter, Tier, preset_names};

fn main() {
    let (mut files, mut only, mut presets) = (vec![], None, preset_names().to_vec());
    let (mut megabytes, mut document) = (20.0, 1 << 16);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().expect("a value after the option");
        match arg.as_str() {
            "--tier" => only = Some(value()),
            "--preset" => {
                let name = value();
                presets.retain(|p| *p == name);
            }
            "--document" => document = value().parse().expect("a number"),
            "--megabytes" => megabytes = value().parse().expect("a number"),
            _ => files.push(arg),
        }
    }
    for file in files {
        let bytes = std::fs::read(&file).expect("a readable file");
        let bytes = &bytes[..bytes.len().min((megabytes * 1e6) as usize)];
        let documents: Vec<_> = bytes.chunks(document).map(String::from_utf8_lossy).collect();
        for preset in &presets {
            print!("{file} {preset:10}");
            for (name, tier) in
                [("scanner", Tier::Scanner), ("dfa", Tier::Dfa), ("lookaround", Tier::LookAround)]
            {
                if only.as_ref().is_some_and(|only| only != name) || only.is_none() && name == "lookaround" {
                    continue;
                }
                let start = thread_time();
                let splitter = Splitter::with_engine(preset, tier).expect("a preset fits every tier");
                let built = (thread_time() - start).as_secs_f64() * 1e3;
                let (mut scratch, mut ends) = (Scratch::default(), Vec::new());
                let mut best = f64::MAX;
                for _ in 0..7 {
                    let start = thread_time();
                    for document in &documents {
                        ends.clear();
                        splitter.split(document, &mut scratch, &mut ends).expect("presets split everything");
                    }
                    best = best.min((thread_time() - start).as_secs_f64());
                }
                print!(" {name} {:5.0} MB/s (built in {built:.0} ms)", bytes.len() as f64 / best / 1e6);
            }
            println!();
        }
    }
}

/// Other processes may share the machine: their time does not count.
#[cfg(unix)]
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Windows has no such clock in `libc`: the time since the first call.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

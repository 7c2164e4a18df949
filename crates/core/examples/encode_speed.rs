//! Encoding throughput: MB/s cold (new text), held out (warmed on other text) and repeated.
//!
//! `cargo run --release -p merganser-core --example encode_speed -- RANKS PATTERN FILE…` [`--threads N`]
//! [`--megabytes N`] [`--repeats N`] [`--rounds N`]: RANKS is a `.tiktoken` file; the first half of the first
//! N (20) megabytes of each file is the cold text, the second half the held-out text. Each line is the best
//! of several fresh tokenizers.

use std::time::Instant;

use merganser_core::encode::Options;
use merganser_core::split::Splitter;
use merganser_core::{Progress, Tokenizer};

fn main() {
    let (mut given, mut threads, mut megabytes, mut rounds, mut repeats) = (vec![], 1, 20.0, 5, 1);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().expect("a value after the option");
        match arg.as_str() {
            "--threads" => threads = value().parse().expect("a number"),
            "--megabytes" => megabytes = value().parse().expect("a number"),
            "--repeats" => repeats = value().parse().expect("a number"),
            "--rounds" => rounds = value().parse().expect("a number"),
            _ => given.push(arg),
        }
    }
    let [ranks, pattern, files @ ..] = &given[..] else { panic!("RANKS PATTERN FILE…") };
    let ranks = std::fs::read_to_string(ranks).expect("a readable file");
    let rank = |line: &str| line.split_once(' ').map(|(token, id)| (base64(token), id.parse().unwrap()));
    let ranks: Vec<(Vec<u8>, u32)> = ranks.lines().filter_map(rank).collect();
    let splitter = Splitter::new(pattern).expect("a pattern");
    for file in files {
        let text = std::fs::read(file).expect("a readable file");
        let text = String::from_utf8_lossy(&text[..text.len().min((megabytes * 1e6) as usize)]);
        let half = text.floor_char_boundary(text.len() / 2);
        let parts = [&text[..half], &text[half..], &text[half..]];
        let mut best = [f64::MAX; 3];
        let mut tokens = [0; 3];
        let mut load = f64::MAX;
        for _ in 0..rounds {
            let (ranks, splitter) = (ranks.clone(), splitter.clone());
            let start = Instant::now();
            let tokenizer = Tokenizer::from_ranks(ranks, splitter, vec![]).expect("a tokenizer");
            load = load.min(start.elapsed().as_secs_f64());
            for (i, part) in parts.iter().enumerate() {
                let documents: Vec<&str> = part.split("<|endoftext|>").collect();
                for _ in 0..if i == 2 { repeats } else { 1 } {
                    let start = Instant::now();
                    let batch = tokenizer
                        .encode_batch(&documents, &Options::ORDINARY, threads, &Progress::new())
                        .expect("ids");
                    best[i] = best[i].min(start.elapsed().as_secs_f64());
                    tokens[i] = batch.ids.len();
                }
            }
        }
        let name = file.rsplit('/').next().unwrap_or(file);
        print!("{name:24}");
        for (i, what) in ["cold", "held-out", "repeat"].iter().enumerate() {
            print!("  {what} {:6.1} MB/s", parts[i].len() as f64 / 1e6 / best[i]);
        }
        let bytes_a_token = parts[0].len() as f64 / tokens[0] as f64;
        println!("  {bytes_a_token:.2} bytes a token, made in {:.0} ms", load * 1e3);
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for digit in text.bytes().filter_map(|c| digits.iter().position(|&d| d == c)) {
        bits = bits << 6 | digit as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

//! Speed of embedding training, without Python: what to run under a profiler.
//!
//! `cargo run --release --example embed_speed -- OBJECTIVE DIMENSION THREADS BYTES FILE`
//!
//! The tokens are the words of the first BYTES bytes of a file. The checksum shows whether two builds compute
//! the same vectors, bit for bit (with one thread).

use std::collections::HashMap;
use std::time::Instant;

use merganser_core::Progress;
use merganser_core::embed::{EmbedSettings, Objective, Trainer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [objective, dimension, threads, bytes, file] = &arguments[..] else {
        return Err("usage: embed_speed OBJECTIVE DIMENSION THREADS BYTES FILE".into());
    };
    let objective = match &objective[..] {
        "negatives" => Objective::Negatives,
        "shared" => Objective::SharedNegatives,
        "softmax" => Objective::Softmax,
        _ => return Err("OBJECTIVE must be negatives, shared or softmax".into()),
    };
    let mut text = std::fs::read(file)?;
    text.truncate(bytes.parse()?);
    let mut ids = HashMap::new();
    let words = text.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let tokens: Vec<u32> = words
        .map(|word| {
            let next = ids.len() as u32;
            *ids.entry(word).or_insert(next)
        })
        .collect();
    let settings = EmbedSettings {
        dimension: dimension.parse()?,
        window: 5,
        dynamic_window: true,
        objective,
        negatives: 10,
        epochs: 1,
        rate: 0.025,
        last_rate: 0.0001,
        subsample: 1e-3,
        noise_power: 0.75,
        min_count: 2,
        batch: 512,
        seed: 1,
        threads: threads.parse()?,
    };
    let mut trainer = Trainer::new(&tokens, &[tokens.len()], settings)?;
    let start = Instant::now();
    let did = trainer.advance(u64::MAX, &Progress::new())?;
    let seconds = start.elapsed().as_secs_f64();
    let numbers = trainer.vectors().into_iter().chain(trainer.outputs());
    let checksum =
        numbers.fold(0_u64, |sum, number| sum.rotate_left(5).wrapping_mul(31) ^ u64::from(number.to_bits()));
    println!(
        "{} tokens, {} vectors, {} pairs in {seconds:.3} s: {:.2} million pairs/s; checksum {checksum:016x}",
        did.tokens,
        trainer.ids().len(),
        did.pairs,
        did.pairs as f64 / seconds / 1e6
    );
    Ok(())
}

//! Every kept input, and mutations of them: a short fuzzing run without libFuzzer.

use std::fs;
use std::path::Path;

use merganser_fuzz::TARGETS;

/// How many mutated inputs each target gets.
const MUTATIONS: u64 = 1500;

/// The inputs of a target, sorted by name.
fn kept(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Marsaglia's xorshift: the same inputs on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn mutated(inputs: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = inputs[random.below(inputs.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() + 1);
        let other = &inputs[random.below(inputs.len())];
        let from = random.below(other.len() + 1);
        match random.below(5) {
            0 => input.truncate(at),
            1 => input.insert(at, random.below(256) as u8),
            2 if at < input.len() => input[at] ^= 1 << random.below(8),
            3 if at < input.len() => drop(input.drain(at..(at + 1 + random.below(4)).min(input.len()))),
            _ => drop(input.splice(at..at, other[from..].iter().take(32).copied())),
        }
    }
    input
}

#[test]
fn every_target_takes_its_kept_inputs_and_mutations_of_them() {
    for (name, target) in TARGETS {
        let inputs = kept(name);
        assert!(inputs.len() >= 3, "{name} has few inputs to start from");
        inputs.iter().for_each(|input| target(input));
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        for n in 0..MUTATIONS {
            let input = mutated(&inputs, &mut random);
            if std::panic::catch_unwind(|| target(&input)).is_err() {
                panic!("{name} failed on mutation {n}: {}", input.escape_ascii());
            }
        }
    }
}

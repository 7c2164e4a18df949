use proptest::prelude::*;

use super::kernel::{self, Scratch};
use super::random::{NoiseDistribution, Random};
#[cfg(all(target_arch = "x86_64", not(any(miri, plain_atomics))))]
use super::shared_lane::{Avx2, Avx512};
use super::shared_lane::{Baseline, Processor, SharedLane};
use super::weights::{Matrix, RowList, Rows};
use super::{EmbedSettings, Interval, Objective, Trainer};
use crate::{Error, Progress};

fn settings() -> EmbedSettings {
    EmbedSettings {
        dimension: 20,
        window: 3,
        dynamic_window: true,
        objective: Objective::Negatives,
        negatives: 4,
        epochs: 3,
        rate: 0.05,
        last_rate: 0.0001,
        subsample: 1e-2,
        noise_power: 0.75,
        min_count: 1,
        batch: 50,
        seed: 7,
        threads: 1,
    }
}

/// Two groups of tokens that never share a document: 0 to 9 and 10 to 19.
fn text() -> (Vec<u32>, Vec<usize>) {
    let mut random = Random::new(1);
    let mut tokens = Vec::new();
    let mut ends = Vec::new();
    for document in 0..200 {
        let group = document % 2 * 10;
        tokens.extend((0..20 + document % 7).map(|_| group + random.below(10)));
        ends.push(tokens.len());
    }
    (tokens, ends)
}

fn trained(settings: EmbedSettings) -> Trainer {
    let (tokens, ends) = text();
    let mut trainer = Trainer::new(&tokens, &ends, settings).unwrap();
    trainer.advance(u64::MAX, &Progress::new()).unwrap();
    trainer
}

fn loss(input: &[f64], targets: &[Vec<f64>]) -> f64 {
    let dot = |target: &[f64]| target.iter().zip(input).map(|(a, b)| a * b).sum::<f64>();
    let softplus = |x: f64| x.exp().ln_1p();
    targets.iter().enumerate().map(|(i, row)| softplus(if i == 0 { -dot(row) } else { dot(row) })).sum()
}

fn softmax_loss(input: &[f64], targets: &[Vec<f64>]) -> f64 {
    let dot = |target: &[f64]| target.iter().zip(input).map(|(a, b)| a * b).sum::<f64>();
    targets.iter().map(|row| dot(row).exp()).sum::<f64>().ln() - dot(&targets[0])
}

/// Checks that the step of a kernel is the slope of the loss, computed by finite differences.
fn check_gradient(
    numbers: &[f32],
    dimension: usize,
    oracle: impl Fn(&[f64], &[Vec<f64>]) -> f64,
    step: impl Fn(&[SharedLane], Rows<'_>, f32, &mut Scratch) -> f32,
) -> Result<(), TestCaseError> {
    let rows = numbers.len() / dimension;
    let mut matrix = Matrix::zeros(rows, dimension);
    matrix.fill(numbers);
    let before: Vec<Vec<f64>> =
        (0..rows).map(|row| matrix.row(row).iter().map(|&x| f64::from(x)).collect()).collect();
    let (input, targets) = before.split_first().unwrap();
    let (shared, rate) = (matrix.share(), 1e-2_f32);
    let mut others = RowList::new(shared);
    (1..rows as u32).for_each(|row| others.push(row));
    let loss = step(shared.row(0), others.rows(), rate, &mut Scratch::new(rows - 1));
    prop_assert!((f64::from(loss) - oracle(input, targets)).abs() < 1e-4 * rows as f64);
    for row in 0..rows {
        for k in 0..dimension {
            let moved = |by: f64| {
                let mut all = before.clone();
                all[row][k] += by;
                oracle(&all[0], &all[1..])
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            let step = (before[row][k] - f64::from(matrix.row(row)[k])) / f64::from(rate);
            prop_assert!((slope - step).abs() < 2e-4, "row {row}, number {k}: {slope} is not {step}");
        }
    }
    Ok(())
}

fn check_gradients_on<P: Processor>(
    processor: P,
    numbers: &[f32],
    dimension: usize,
) -> Result<(), TestCaseError> {
    check_gradient(numbers, dimension, loss, |input, targets, rate, scratch| {
        kernel::learn(processor, [input], targets, rate, scratch)
    })?;
    check_gradient(numbers, dimension, softmax_loss, |input, targets, rate, scratch| {
        kernel::learn_softmax(processor, input, targets, 0, rate, scratch)
    })
}

proptest! {
    // Few cases, because each of them moves every number.
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn gradients_equal_finite_differences(
        (dimension, numbers) in (1_usize..36, 2_usize..20)
            .prop_flat_map(|(dimension, rows)| (Just(dimension), prop::collection::vec(-0.9_f32..0.9, rows * dimension)))
    ) {
        check_gradients_on(Baseline, &numbers, dimension)?;
        #[cfg(all(target_arch = "x86_64", not(any(miri, plain_atomics))))]
        {
            if let Some(avx2) = Avx2::detect() {
                check_gradients_on(avx2, &numbers, dimension)?;
            }
            if let Some(avx512) = Avx512::detect() {
                check_gradients_on(avx512, &numbers, dimension)?;
            }
        }
    }

    #[test]
    fn inputs_that_share_targets_learn_the_same_as_alone(
        numbers in prop::collection::vec(-0.9_f32..0.9, 9 * 20)
    ) {
        let rate = 1e-3;
        let run = |inputs: std::ops::Range<u32>| {
            let mut matrix = Matrix::zeros(9, 20);
            matrix.fill(&numbers);
            let shared = matrix.share();
            let mut targets = RowList::new(shared);
            (4..9).for_each(|row| targets.push(row));
            let mut scratch = Scratch::new(5);
            let loss = if inputs.len() == 4 {
                let inputs = [0, 1, 2, 3].map(|row| shared.row(row));
                kernel::learn(Baseline, inputs, targets.rows(), rate, &mut scratch)
            } else {
                kernel::learn(Baseline, [shared.row(inputs.start)], targets.rows(), rate, &mut scratch)
            };
            let moved: Vec<f32> = matrix.to_vec().iter().zip(&numbers).map(|(new, old)| new - old).collect();
            (loss, moved)
        };
        let (loss, together) = run(0..4);
        let alone: Vec<(f32, Vec<f32>)> = (0..4).map(|input| run(input..input + 1)).collect();
        prop_assert!((loss - alone.iter().map(|(loss, _)| loss).sum::<f32>()).abs() < 1e-3);
        for (nth, moved) in together.iter().enumerate() {
            prop_assert!((moved - alone.iter().map(|(_, moved)| moved[nth]).sum::<f32>()).abs() < 1e-6);
        }
    }
}

#[test]
fn one_thread_computes_the_same_vectors_however_it_is_interrupted() {
    for objective in [Objective::Negatives, Objective::SharedNegatives, Objective::Softmax] {
        let whole = trained(EmbedSettings { objective, ..settings() });
        let (tokens, ends) = text();
        let mut parts = Trainer::new(&tokens, &ends, EmbedSettings { objective, ..settings() }).unwrap();
        while parts.batches_done() < parts.batches() {
            parts.advance(7, &Progress::new()).unwrap();
            let mut next = Trainer::new(&tokens, &ends, EmbedSettings { objective, ..settings() }).unwrap();
            next.restore(&parts.vectors(), &parts.outputs(), parts.batches_done()).unwrap();
            parts = next;
        }
        assert_eq!(whole.vectors(), parts.vectors());
        assert_eq!(whole.outputs(), parts.outputs());
        assert_ne!(whole.vectors(), trained(EmbedSettings { seed: 8, objective, ..settings() }).vectors());
    }
}

#[test]
fn tokens_of_the_same_documents_get_similar_vectors() {
    for objective in [Objective::Negatives, Objective::SharedNegatives, Objective::Softmax] {
        for (threads, dynamic_window) in [(1, true), (3, false)] {
            let settings = EmbedSettings {
                objective,
                threads,
                dynamic_window,
                epochs: 30,
                subsample: 0.0,
                ..settings()
            };
            let trainer = trained(settings);
            let (vectors, ids) = (trainer.vectors(), trainer.ids());
            let cosine = |a: usize, b: usize| {
                let row = |row: usize| &vectors[row * 20..][..20];
                let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
                dot(row(a), row(b)) / (dot(row(a), row(a)) * dot(row(b), row(b))).sqrt()
            };
            let (mut within, mut between) = (f32::MAX, f32::MIN);
            for a in 0..20 {
                for b in 0..a {
                    if ids[a] / 10 == ids[b] / 10 {
                        within = within.min(cosine(a, b));
                    } else {
                        between = between.max(cosine(a, b));
                    }
                }
            }
            assert!(within > between + 0.5, "{objective:?}: {within} within, {between} between");
        }
    }
}

#[test]
fn the_loss_falls_and_pairs_are_counted() {
    let (tokens, ends) = text();
    let unlimited = EmbedSettings { dynamic_window: false, subsample: 0.0, epochs: 10, ..settings() };
    let mut trainer = Trainer::new(&tokens, &ends, unlimited).unwrap();
    let in_epoch = trainer.batches_in_epoch();
    let first = trainer.advance(in_epoch, &Progress::new()).unwrap();
    let mut last = first;
    while trainer.batches_done() < trainer.batches() {
        last = trainer.advance(in_epoch, &Progress::new()).unwrap();
    }
    let mean = |did: Interval| did.loss / did.pairs as f64;
    // Untrained, the loss is 5 ln 2 = 3.47. The best possible loss is 1.83: a neighbor meets each token of
    // its group as the right one with weight 0.1 and as a negative with weight 0.18, so the best σ is 0.36,
    // and 1.8 negatives of a pair are in the group.
    assert!(
        mean(last) < mean(first) && (1.75..1.85).contains(&mean(last)),
        "{}, {}",
        mean(first),
        mean(last)
    );
    // Each token has 3 neighbors on both sides, except that 1 + 2 + 3 are missing at each end of a document.
    let mut start = 0;
    let pairs: usize = ends.iter().map(|&end| 6 * (end - std::mem::replace(&mut start, end)) - 12).sum();
    assert_eq!(first.pairs as usize, pairs);
    assert_eq!(first.tokens as usize, tokens.len());
}

#[test]
fn the_reported_loss_is_measured_on_fixed_pairs() {
    let (tokens, ends) = text();
    for objective in [Objective::Negatives, Objective::SharedNegatives, Objective::Softmax] {
        let settings = EmbedSettings { objective, epochs: 10, ..settings() };
        let mut trainer = Trainer::new(&tokens, &ends, settings.clone()).unwrap();
        let untrained = trainer.mean_loss().unwrap();
        // All scores are 0: each target costs ln 2, except negatives that are the right token; 20 tokens are
        // equally likely.
        match objective {
            Objective::Softmax => assert!((untrained - 20_f64.ln()).abs() < 1e-6, "{untrained}"),
            _ => assert!((3.2..3.47).contains(&untrained), "{untrained}"),
        }
        assert_eq!(trainer.mean_loss(), Some(untrained));
        trainer.advance(u64::MAX, &Progress::new()).unwrap();
        let trained = trainer.mean_loss().unwrap();
        assert!(trained < 0.85 * untrained, "{objective:?}: {trained}");
        // The same vectors have the same loss in another trainer, and measuring it changed nothing.
        let mut other = Trainer::new(&tokens, &ends, settings.clone()).unwrap();
        other.advance(u64::MAX, &Progress::new()).unwrap();
        assert_eq!(other.vectors(), trainer.vectors());
        let mut restored = Trainer::new(&tokens, &ends, settings).unwrap();
        restored.restore(&trainer.vectors(), &trainer.outputs(), trainer.batches()).unwrap();
        assert_eq!(restored.mean_loss(), Some(trained));
    }
}

#[test]
fn a_text_without_pairs_has_no_loss() {
    let ends: Vec<usize> = (1..=40).collect();
    let tokens: Vec<u32> = (0..40).map(|n| n % 2).collect();
    assert_eq!(Trainer::new(&tokens, &ends, settings()).unwrap().mean_loss(), None);
}

#[test]
fn frequent_tokens_are_subsampled_and_rare_tokens_removed() {
    let mut tokens = vec![0; 10_000];
    tokens.extend([1; 100]);
    tokens.extend([2; 3]);
    let ends = [tokens.len()];
    let only =
        EmbedSettings { min_count: 5, subsample: 1e-3, window: 1, dynamic_window: false, ..settings() };
    let mut trainer = Trainer::new(&tokens, &ends, only).unwrap();
    assert_eq!(trainer.ids(), [0, 1]);
    assert_eq!(trainer.counts(), [10_000, 100]);
    let pairs = trainer.advance(trainer.batches_in_epoch(), &Progress::new()).unwrap().pairs;
    // √(s/f) + s/f with f ≈ 0.99 keeps about 3.3% of the 10,000, and 42 of the 100; two pairs each.
    assert!((600..950).contains(&pairs), "{pairs}");
}

#[test]
fn noise_is_drawn_in_proportion_to_its_weights() {
    let counts = [1000, 300, 0, 20, 1];
    let noise = NoiseDistribution::new(&counts, 0.75);
    let mut random = Random::new(3);
    let mut drawn = [0_u64; 5];
    for _ in 0..1_000_000 {
        drawn[noise.draw(&mut random) as usize] += 1;
    }
    let total: f64 = counts.iter().map(|&count| (count as f64).powf(0.75)).sum();
    for (&count, drawn) in counts.iter().zip(drawn) {
        let share = (count as f64).powf(0.75) / total;
        assert!((drawn as f64 / 1e6 - share).abs() < 2e-3, "{count}: {drawn}");
    }
}

#[test]
fn invalid_settings_and_checkpoints_are_refused() {
    let (tokens, ends) = text();
    let reason = |settings: EmbedSettings| match Trainer::new(&tokens, &ends, settings) {
        Err(Error::BadSetting { reason }) => reason,
        other => panic!("{:?}", other.map(|_| ())),
    };
    assert!(reason(EmbedSettings { dimension: 0, ..settings() }).contains("embedding_dim"));
    assert!(reason(EmbedSettings { window: 0, ..settings() }).contains("window_size"));
    assert!(reason(EmbedSettings { negatives: 256, ..settings() }).contains("num_negative_samples"));
    assert!(reason(EmbedSettings { batch: 0, ..settings() }).contains("batch_size"));
    assert!(reason(EmbedSettings { rate: f32::NAN, ..settings() }).contains("learning_rate"));
    assert!(reason(EmbedSettings { subsample: -1.0, ..settings() }).contains("subsample"));
    assert!(reason(EmbedSettings { noise_power: f64::NAN, ..settings() }).contains("noise_power"));
    assert!(reason(EmbedSettings { min_count: 1 << 40, ..settings() }).contains("min_count"));
    assert!(matches!(Trainer::new(&[], &[], settings()), Err(Error::EmptyCorpus)));

    let mut trainer = Trainer::new(&tokens, &ends, settings()).unwrap();
    let (vectors, mut outputs) = (trainer.vectors(), trainer.outputs());
    assert!(trainer.restore(&vectors[1..], &outputs, 0).unwrap_err().to_string().contains("another one"));
    outputs[5] = f32::INFINITY;
    assert!(trainer.restore(&vectors, &outputs, 0).unwrap_err().to_string().contains("damaged"));
}

#[test]
fn cancelled_training_stops_between_two_batches() {
    let (tokens, ends) = text();
    let mut trainer = Trainer::new(&tokens, &ends, EmbedSettings { threads: 2, ..settings() }).unwrap();
    let progress = Progress::new();
    progress.cancel();
    assert_eq!(trainer.advance(u64::MAX, &progress).unwrap().batches, 0);
    assert_eq!(trainer.batches_done(), 0);
}

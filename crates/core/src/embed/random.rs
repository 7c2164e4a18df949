//! Random numbers, and the noise distribution from which negatives are drawn.

/// SplitMix64 (Steele et al. 2014): one addition and one mixing step, and a different stream for every seed.
#[derive(Clone)]
pub struct Random(u64);

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(mix(seed ^ STEP))
    }

    #[inline(always)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// Returns a number below `n`.
    #[inline(always)]
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// Returns a number from 0 up to, but not including, 1.
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32
    }
}

/// Hashes a seed and an offset: a random number that does not depend on which thread asks for it, or when.
#[inline(always)]
pub fn hash_at(seed: u64, offset: u64) -> u64 {
    mix(seed.wrapping_add(offset.wrapping_mul(STEP)))
}

#[inline(always)]
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Draws rows by weight in constant time, with Walker's alias method as built by Vose (1991).
///
/// Every slot yields its own row up to `threshold` and another row above it.
pub struct NoiseDistribution(Vec<AliasSlot>);

#[derive(Clone, Copy)]
struct AliasSlot {
    threshold: u32,
    other: u32,
}

impl NoiseDistribution {
    /// Gives each row the weight `count ^ power`.
    pub fn new(counts: &[u64], power: f64) -> NoiseDistribution {
        let mut share: Vec<f64> = counts.iter().map(|&count| (count as f64).powf(power)).collect();
        let mean = share.iter().sum::<f64>() / share.len() as f64;
        share.iter_mut().for_each(|share| *share /= mean);
        let mut slots: Vec<AliasSlot> =
            (0..counts.len()).map(|row| AliasSlot { threshold: u32::MAX, other: row as u32 }).collect();
        let (mut poor, mut rich): (Vec<usize>, Vec<usize>) =
            (0..share.len()).partition(|&row| share[row] < 1.0);
        while let (Some(&from), Some(to)) = (rich.last(), poor.pop()) {
            slots[to] = AliasSlot { threshold: (share[to] * f64::from(u32::MAX)) as u32, other: from as u32 };
            share[from] -= 1.0 - share[to];
            if share[from] < 1.0 {
                rich.pop();
                poor.push(from);
            }
        }
        NoiseDistribution(slots)
    }

    #[inline(always)]
    pub fn draw(&self, random: &mut Random) -> u32 {
        let drawn = random.next();
        let at = ((drawn >> 32) * self.0.len() as u64) >> 32;
        let slot = self.0[at as usize];
        // No branch can predict it.
        std::hint::select_unpredictable(drawn as u32 <= slot.threshold, at as u32, slot.other)
    }
}

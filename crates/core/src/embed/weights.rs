//! The two matrices, which all threads share without locks.
//!
//! A row is padded with zeros to whole lanes of 64 bytes, so that it begins with a cache line and no loop has
//! a rest. Threads read and write rows at the same time, and an update may be lost: with sparse updates that
//! does no harm (Niu et al. 2011, "Hogwild!").

use bytemuck::{Pod, Zeroable};

use super::chance::Random;

/// As many numbers as the widest register holds.
pub const LANE: usize = 16;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Lane(pub [f32; LANE]);

pub struct Weights {
    lanes: Vec<Lane>,
    dimension: usize,
    /// Lanes in a row.
    width: usize,
}

/// Where the rows lie while threads work on them.
#[derive(Clone, Copy)]
pub struct Rows {
    first: *mut Lane,
    /// Lanes in a row.
    pub width: usize,
}

// SAFETY: the rows are only read and written as plain numbers by `kernel.rs`, and outlive the threads, which
// are joined before the `&mut Weights` that `rows` came from is used again. What races can do to a number is
// to give it the value of one of the writers: on every processor we build for, the 4 bytes of an aligned f32
// are read and written as one.
unsafe impl Send for Rows {}
// SAFETY: as above.
unsafe impl Sync for Rows {}

impl Rows {
    #[inline(always)]
    pub fn row(self, row: u32) -> *mut Lane {
        self.first.wrapping_add(row as usize * self.width)
    }
}

impl Weights {
    pub fn zeros(rows: usize, dimension: usize) -> Weights {
        let width = dimension.div_ceil(LANE);
        Weights { lanes: vec![Lane::zeroed(); rows * width], dimension, width }
    }

    /// Small numbers around zero. Larger than word2vec's, which are up to 1/2d: a short text learns faster
    /// so, and a long one no worse (docs/log.md).
    pub fn random(rows: usize, dimension: usize, seed: u64) -> Weights {
        let mut weights = Weights::zeros(rows, dimension);
        let mut random = Random::new(seed);
        for row in 0..rows {
            weights.row_mut(row).fill_with(|| (random.unit() - 0.5) * 8.0 / dimension as f32);
        }
        weights
    }

    pub fn row(&self, row: usize) -> &[f32] {
        &bytemuck::cast_slice(&self.lanes[row * self.width..][..self.width])[..self.dimension]
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.lanes.len() / self.width
    }

    /// A row with its padding.
    pub fn lanes(&self, row: u32) -> &[Lane] {
        &self.lanes[row as usize * self.width..][..self.width]
    }

    fn row_mut(&mut self, row: usize) -> &mut [f32] {
        let lanes = &mut self.lanes[row * self.width..][..self.width];
        &mut bytemuck::cast_slice_mut(lanes)[..self.dimension]
    }

    pub fn rows(&mut self) -> Rows {
        Rows { first: self.lanes.as_mut_ptr(), width: self.width }
    }

    pub fn are_finite(&self) -> bool {
        self.lanes.iter().all(|lane| lane.0.iter().all(|number| number.is_finite()))
    }

    /// All rows, without the padding.
    pub fn to_vec(&self) -> Vec<f32> {
        (0..self.len()).flat_map(|row| self.row(row)).copied().collect()
    }

    /// Sets all rows; `values` has one after the other.
    pub fn fill(&mut self, values: &[f32]) {
        for (row, values) in values.chunks_exact(self.dimension).enumerate() {
            self.row_mut(row).copy_from_slice(values);
        }
    }
}

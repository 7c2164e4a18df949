//! The two weight matrices, which all threads share without locks.
//!
//! A row is padded with zeros to whole lanes of 64 bytes, so that it starts on a cache line and no loop has a
//! remainder. While threads train, a matrix is visible only as a [`SharedMatrix`] of atomics. They read and
//! write rows at the same time, and an update may be lost: with sparse updates that does no harm (Niu et al.
//! 2011, "Hogwild!").

use std::marker::PhantomData;
use std::ptr::NonNull;

use bytemuck::{Pod, Zeroable};

use super::random::Random;
use super::shared_lane::{LANE, SharedLane};
use crate::memory::prefetch;

/// Sixteen numbers that belong to one thread.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Lane(pub [f32; LANE]);

// `Matrix::share` reinterprets the one as the other.
const _: () =
    assert!(size_of::<Lane>() == size_of::<SharedLane>() && align_of::<Lane>() == align_of::<SharedLane>());

/// One vector for every token, one row each.
pub struct Matrix {
    lanes: Vec<Lane>,
    dimension: usize,
    /// Lanes in a row.
    width: usize,
}

/// A matrix whose rows any number of threads may read and write at the same time.
#[derive(Clone, Copy)]
pub struct SharedMatrix<'a> {
    /// As many as `rows * width`.
    lanes: &'a [SharedLane],
    rows: u32,
    /// Lanes in a row.
    width: usize,
}

impl<'a> SharedMatrix<'a> {
    #[inline(always)]
    pub fn row(self, row: u32) -> &'a [SharedLane] {
        assert!(row < self.rows);
        let start = row as usize * self.width;
        // SAFETY: `row` is below the number of rows, and `Matrix::share` gives `rows * width` lanes.
        unsafe { self.lanes.get_unchecked(start..start + self.width) }
    }
}

/// Some rows of one matrix. Each is checked when it is added, so that loops over their lanes need no checks.
pub struct RowList<'a> {
    matrix: SharedMatrix<'a>,
    /// The first lane of every row. It and the `matrix.width - 1` lanes after it belong to the matrix, and
    /// the pointer may be used for all of them: it was taken from the slice that [`SharedMatrix::row`] gives.
    starts: Vec<NonNull<SharedLane>>,
}

impl<'a> RowList<'a> {
    pub fn new(matrix: SharedMatrix<'a>) -> RowList<'a> {
        RowList { matrix, starts: Vec::new() }
    }

    pub fn clear(&mut self) {
        self.starts.clear();
    }

    #[inline(always)]
    pub fn push(&mut self, row: u32) {
        self.starts.push(NonNull::from(self.matrix.row(row)).cast());
    }

    /// Adds a row and prefetches it.
    #[inline(always)]
    pub fn push_prefetched(&mut self, row: u32) {
        let lanes = self.matrix.row(row);
        for at in 0..lanes.len() {
            prefetch(lanes, at);
        }
        self.push(row);
    }

    /// Replaces the first row by `row`, and removes it from the rest.
    #[inline(always)]
    pub fn replace_first(&mut self, row: u32) {
        let start = NonNull::from(self.matrix.row(row)).cast();
        if self.starts[1..].contains(&start) {
            let mut seen = 0;
            self.starts.retain(|&other| {
                seen += 1;
                seen == 1 || other != start
            });
        }
        self.starts[0] = start;
    }

    #[inline(always)]
    pub fn rows(&self) -> Rows<'_> {
        Rows { list: &self.starts, width: self.matrix.width, matrix: PhantomData }
    }
}

/// The rows of a [`RowList`].
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// As in [`RowList`]: the starts of rows of `width` lanes.
    list: &'a [NonNull<SharedLane>],
    width: usize,
    matrix: PhantomData<&'a [SharedLane]>,
}

impl<'a> Rows<'a> {
    #[inline(always)]
    pub fn len(self) -> usize {
        self.list.len()
    }

    /// Returns the number of lanes in each row.
    #[inline(always)]
    pub fn width(self) -> usize {
        self.width
    }

    #[inline(always)]
    pub fn iter(self) -> impl Iterator<Item = &'a [SharedLane]> {
        // SAFETY: `RowList` adds only starts of rows of this width, in a matrix that it borrows.
        self.list.iter().map(move |start| unsafe { std::slice::from_raw_parts(start.as_ptr(), self.width) })
    }

    /// Iterates over lane `at` of every row.
    #[inline(always)]
    pub fn lanes_at(self, at: usize) -> impl Iterator<Item = &'a SharedLane> {
        assert!(at < self.width);
        // SAFETY: `RowList` adds only starts of rows of this width, in a matrix that it borrows, and `at` is
        // below the width.
        self.list.iter().map(move |start| unsafe { start.add(at).as_ref() })
    }
}

impl Matrix {
    pub fn zeros(rows: usize, dimension: usize) -> Matrix {
        let width = dimension.div_ceil(LANE);
        Matrix { lanes: vec![Lane::zeroed(); rows * width], dimension, width }
    }

    /// Creates a matrix of small random numbers around zero. They are larger than word2vec's, which are up to
    /// 1/2d: short texts learn faster from them, and long ones no worse (docs/log.md).
    pub fn random(rows: usize, dimension: usize, seed: u64) -> Matrix {
        let mut matrix = Matrix::zeros(rows, dimension);
        let mut random = Random::new(seed);
        for row in 0..rows {
            matrix.row_mut(row).fill_with(|| (random.unit() - 0.5) * 8.0 / dimension as f32);
        }
        matrix
    }

    pub fn row(&self, row: usize) -> &[f32] {
        &bytemuck::cast_slice(&self.lanes[row * self.width..][..self.width])[..self.dimension]
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.lanes.len() / self.width
    }

    /// Returns a row with its padding.
    pub fn lanes(&self, row: u32) -> &[Lane] {
        &self.lanes[row as usize * self.width..][..self.width]
    }

    fn row_mut(&mut self, row: usize) -> &mut [f32] {
        let lanes = &mut self.lanes[row * self.width..][..self.width];
        &mut bytemuck::cast_slice_mut(lanes)[..self.dimension]
    }

    /// Lets threads use the matrix together for as long as it is borrowed.
    pub fn share(&mut self) -> SharedMatrix<'_> {
        let rows = u32::try_from(self.len()).expect("rows are numbered in 32 bits");
        let (first, len) = (self.lanes.as_mut_ptr(), rows as usize * self.width);
        // SAFETY: `len` is the number of lanes, because `lanes` holds whole rows. The lanes are borrowed
        // mutably for the lifetime of the result, so that nothing but these atomics can reach them meanwhile.
        // Both types have the same size and alignment (asserted above), and all bit patterns are valid for
        // both.
        let lanes = unsafe { std::slice::from_raw_parts(first.cast_const().cast::<SharedLane>(), len) };
        SharedMatrix { lanes, rows, width: self.width }
    }

    pub fn are_finite(&self) -> bool {
        self.lanes.iter().all(|lane| lane.0.iter().all(|number| number.is_finite()))
    }

    /// Copies all rows, without their padding.
    pub fn to_vec(&self) -> Vec<f32> {
        (0..self.len()).flat_map(|row| self.row(row)).copied().collect()
    }

    /// Sets all rows to `values`, which holds one after the other.
    pub fn fill(&mut self, values: &[f32]) {
        for (row, values) in values.chunks_exact(self.dimension).enumerate() {
            self.row_mut(row).copy_from_slice(values);
        }
    }
}

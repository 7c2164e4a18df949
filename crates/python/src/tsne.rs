//! t-SNE, some steps at a time.

use std::sync::{Mutex, MutexGuard};

use merganser_core::{Progress, embed};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::raise;
use crate::interrupt::{Callback, run, run_interruptible};

/// Places points in the plane so that near neighbors stay together, some steps at a time.
///
/// Parameters
/// ----------
/// points
///     The coordinates to start from: x, y, x, y, ….
/// neighbors
///     The nearest neighbors of each point, the same number for all.
/// distances
///     The squares of the distances to these neighbors.
/// perplexity
///     About how many neighbors a point has.
/// steps
///     The total number of steps.
/// threads
///     The number of threads; 0 for one per core. The result is the same for all.
///
/// Raises
/// ------
/// SettingsError
///     If a number is not finite, a neighbor does not exist, or the lengths do not match.
#[pyclass(frozen, module = "merganser._core")]
pub struct Tsne(Mutex<embed::Tsne>);

#[pymethods]
impl Tsne {
    #[new]
    #[pyo3(signature = (points, neighbors, distances, *, perplexity, steps, threads = 0))]
    fn new(
        py: Python<'_>,
        points: PyReadonlyArray1<'_, f64>,
        neighbors: PyReadonlyArray1<'_, u32>,
        distances: PyReadonlyArray1<'_, f64>,
        perplexity: f64,
        steps: usize,
        threads: usize,
    ) -> PyResult<Self> {
        let points = points.as_slice()?.chunks_exact(2).map(|point| [point[0], point[1]]).collect();
        let (neighbors, distances) = (neighbors.as_slice()?, distances.as_slice()?);
        let new = || embed::Tsne::new(points, neighbors, distances, perplexity, steps, threads);
        Ok(Tsne(Mutex::new(run(py, new)?)))
    }

    /// Make up to `steps` more steps.
    #[pyo3(signature = (steps, progress=None))]
    fn advance(&self, py: Python<'_>, steps: usize, progress: Callback<'_, '_>) -> PyResult<()> {
        let tsne = &mut *self.lock(py)?;
        run_interruptible(py, progress, &Progress::new(), |progress| tsne.advance(steps, progress))
    }

    /// Return the current coordinates: x, y, x, y, ….
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let points: Vec<f64> = self.lock(py)?.points().iter().flatten().copied().collect();
        Ok(points.into_pyarray(py))
    }

    /// The number of steps made.
    #[getter]
    fn done(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.done())
    }
}

impl Tsne {
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, embed::Tsne>> {
        let busy = |_| raise(py, "InternalError", "this t-SNE is in use on another thread");
        self.0.try_lock().map_err(busy)
    }
}

//! Training of embeddings, some batches at a time.

use std::sync::{Mutex, MutexGuard};

use merganser_core::Progress;
use merganser_core::embed::{EmbedSettings, Objective, Trainer};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::raise;
use crate::interrupt::{run, run_interruptible};

/// The numbers of batches, tokens and pairs.
type Interval = (u64, u64, u64);

/// Trains embeddings; holds the text and the two matrices.
#[pyclass(frozen, module = "merganser._core")]
pub struct Embedder(Mutex<Trainer>);

#[pymethods]
impl Embedder {
    #[new]
    #[pyo3(signature = (
        tokens, ends, *, dimension, window, dynamic_window, objective, negatives, epochs, rate, last_rate,
        subsample, noise_power, min_count, batch, seed, threads
    ))]
    #[allow(clippy::too_many_arguments)] // the settings of training, by name
    fn new(
        py: Python<'_>,
        tokens: PyReadonlyArray1<'_, u32>,
        ends: PyReadonlyArray1<'_, i64>,
        dimension: usize,
        window: usize,
        dynamic_window: bool,
        objective: &str,
        negatives: usize,
        epochs: u32,
        rate: f32,
        last_rate: f32,
        subsample: f64,
        noise_power: f64,
        min_count: u64,
        batch: usize,
        seed: u64,
        threads: usize,
    ) -> PyResult<Self> {
        let objective = match objective {
            "negatives" => Objective::Negatives,
            "shared" => Objective::SharedNegatives,
            "softmax" => Objective::Softmax,
            other => {
                return Err(raise(
                    py,
                    "SettingsError",
                    format!("objective must be negatives, shared or softmax, got {other:?}"),
                ));
            }
        };
        let settings = EmbedSettings {
            dimension,
            window,
            dynamic_window,
            objective,
            negatives,
            epochs,
            rate,
            last_rate,
            subsample,
            noise_power,
            min_count,
            batch,
            seed,
            threads,
        };
        let tokens = tokens.as_slice()?;
        let ends: Vec<usize> = ends.as_slice()?.iter().map(|&end| end as usize).collect();
        let rising = ends.windows(2).all(|pair| pair[0] <= pair[1]);
        if !rising || ends.last().copied().unwrap_or(0) != tokens.len() {
            return Err(raise(
                py,
                "SettingsError",
                "ends must be increasing, and the last one the number of tokens",
            ));
        }
        Ok(Embedder(Mutex::new(run(py, || Trainer::new(tokens, &ends, settings))?)))
    }

    /// Train on the next `batches`. Ctrl-C stops it between two batches; finished batches are kept.
    #[pyo3(signature = (batches, progress=None))]
    fn advance(
        &self,
        py: Python<'_>,
        batches: u64,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Interval> {
        let trainer = &mut *self.lock(py)?;
        let watched = Progress::new();
        let did = run_interruptible(py, progress, &watched, |watched| trainer.advance(batches, watched))?;
        Ok((did.batches, did.tokens, did.pairs))
    }

    /// Return the mean loss of a fixed sample of pairs and negatives with the current vectors.
    fn mean_loss(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        let trainer = &*self.lock(py)?;
        run(py, || Ok(trainer.mean_loss()))
    }

    /// Resume from the state of another embedder with the same text and settings.
    fn restore(
        &self,
        py: Python<'_>,
        vectors: PyReadonlyArray1<'_, f32>,
        outputs: PyReadonlyArray1<'_, f32>,
        batches_done: u64,
    ) -> PyResult<()> {
        let trainer = &mut *self.lock(py)?;
        let (vectors, outputs) = (vectors.as_slice()?, outputs.as_slice()?);
        run(py, || trainer.restore(vectors, outputs, batches_done))
    }

    /// Return the vectors, one row after the other.
    fn vectors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        Ok(self.lock(py)?.vectors().into_pyarray(py))
    }

    /// Return the output vectors, against which the vectors are trained.
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        Ok(self.lock(py)?.outputs().into_pyarray(py))
    }

    /// The token of each row, the most frequent first.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(self.lock(py)?.ids().to_vec().into_pyarray(py))
    }

    /// How often the token of each row occurs in the text.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        Ok(self.lock(py)?.counts().to_vec().into_pyarray(py))
    }

    #[getter]
    fn batches_done(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.batches_done())
    }

    #[getter]
    fn batches_in_epoch(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.batches_in_epoch())
    }

    #[getter]
    fn batches(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.batches())
    }
}

impl Embedder {
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Trainer>> {
        let busy = |_| raise(py, "InternalError", "this embedder is in use on another thread");
        self.0.try_lock().map_err(busy)
    }
}

//! Training of vectors, some batches at a time.

use std::sync::{Mutex, MutexGuard};

use merganser_core::Progress;
use merganser_core::embed::{EmbedSettings, Objective, Trainer};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::raise;
use crate::interrupt::{run, run_interruptible};

/// The numbers of batches, tokens and pairs.
type Interval = (u64, u64, u64);

/// Trains vectors of tokens, some batches at a time.
///
/// Parameters
/// ----------
/// tokens
///     The ids of the text.
/// ends
///     The offset at which each document ends.
/// dimension
///     The length of a vector.
/// window
///     The maximum distance between two tokens of a pair.
/// dynamic_window
///     Whether the window of each token is random, up to `window`.
/// objective
///     "negatives", "shared" (negatives shared by a window) or "softmax".
/// negatives
///     The number of negative samples.
/// epochs
///     How often the text is read.
/// rate, last_rate
///     The learning rate at the beginning and at the end.
/// subsample
///     The frequency above which tokens are randomly dropped; 0 for none.
/// noise_power
///     The power of frequencies by which negatives are drawn.
/// min_count
///     Tokens that occur less often have no vector.
/// batch
///     The number of tokens of a batch.
/// seed
///     The seed of the random numbers.
/// threads
///     The number of threads; 0 for one per core.
///
/// Raises
/// ------
/// SettingsError
///     If a setting is invalid.
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
                    format!("objective must be \"negatives\", \"shared\" or \"softmax\", got {other:?}"),
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
                "ends must be ascending, and the last one must be the number of tokens",
            ));
        }
        Ok(Embedder(Mutex::new(run(py, || Trainer::new(tokens, &ends, settings))?)))
    }

    /// Train on the next `batches` batches.
    ///
    /// Ctrl-C stops between two batches; the finished ones count.
    ///
    /// Returns
    /// -------
    /// tuple of int
    ///     Batches, tokens and pairs that were trained on.
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

    /// Resume from the vectors of an embedder with the same text and settings.
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

    /// Return the vectors, row by row.
    fn vectors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        Ok(self.lock(py)?.vectors().into_pyarray(py))
    }

    /// Return the vectors that they are trained against, row by row.
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        Ok(self.lock(py)?.outputs().into_pyarray(py))
    }

    /// The token of each row, most frequent first.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(self.lock(py)?.ids().to_vec().into_pyarray(py))
    }

    /// How often the token of each row occurs in the text.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        Ok(self.lock(py)?.counts().to_vec().into_pyarray(py))
    }

    /// The number of batches trained on.
    #[getter]
    fn batches_done(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.batches_done())
    }

    /// The number of batches of an epoch.
    #[getter]
    fn batches_in_epoch(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.batches_in_epoch())
    }

    /// The total number of batches.
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

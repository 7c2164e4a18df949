//! Details: what Hugging Face's `Encoding` knows of each token, as lists that are built when they are asked for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use merganser_core::encode::{Allowed, Details as CoreDetails, Stages as CoreStages};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString};

use crate::arguments::{Texts, Threads};
use crate::encode::run_sized;
use crate::errors::bytes_of;
use crate::int_list::CollectorPaused;
use crate::interrupt::run;
use crate::offset_list::offset_list;
use crate::text::borrow_str;
use crate::tokenizer::Tokenizer;

/// The tokens of one text with their offsets and words, as lists that are built at each call.
#[pyclass(frozen, module = "merganser._core")]
#[derive(Clone)]
pub struct Details {
    details: Arc<CoreDetails>,
    tokenizer: Arc<merganser_core::Tokenizer>,
}

impl Details {
    pub fn new(details: CoreDetails, tokenizer: Arc<merganser_core::Tokenizer>) -> Details {
        Details { details: Arc::new(details), tokenizer }
    }

    /// Returns the offsets; see [`Details::offsets`].
    pub fn spans(&self, prefixed: Option<bool>) -> Vec<(u32, u32)> {
        match prefixed {
            None => self.details.chars.clone(),
            Some(prefixed) => self.tokenizer.trimmed(&self.details, prefixed),
        }
    }
}

pub fn encode_details<'py>(
    tokenizer: &Tokenizer,
    texts: &Bound<'py, PyAny>,
    specials: bool,
    threads: Threads,
) -> PyResult<Vec<Details>> {
    let kept = Texts::new(texts)?;
    let borrowed = kept.borrow()?;
    let core = &tokenizer.0;
    let allowed = if specials { Allowed::All } else { Allowed::None };
    let bytes = borrowed.iter().map(|text| text.len()).sum();
    let encoded = run_sized(texts.py(), bytes, |progress| {
        core.encode_details_batch(&borrowed, &allowed, threads.0, progress)
    })?;
    Ok(encoded.into_iter().map(|details| Details::new(details, core.clone())).collect())
}

#[pymethods]
impl Details {
    /// Return the ids.
    fn ids(&self) -> Vec<u32> {
        self.details.ids.clone()
    }

    /// Return the characters that each token covers.
    ///
    /// Parameters
    /// ----------
    /// prefixed
    ///     None to keep the spaces at the ends of tokens. Otherwise they are left out, and this says
    ///     whether a space was put before the text, which is not one of them.
    #[pyo3(signature = (prefixed = None))]
    fn offsets<'py>(&self, py: Python<'py>, prefixed: Option<bool>) -> PyResult<Bound<'py, PyList>> {
        match prefixed {
            None => offset_list(py, &self.details.chars),
            Some(prefixed) => offset_list(py, &self.tokenizer.trimmed(&self.details, prefixed)),
        }
    }

    /// Return the number of the pre-token, or added token, that each token is part of.
    fn words<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut last: Option<(u32, Bound<'py, PyInt>)> = None;
        let words = self.details.words.iter().map(|&word| {
            if last.as_ref().is_none_or(|(number, _)| *number != word) {
                last = Some((word, word.into_pyobject(py).expect("an int is always made")));
            }
            last.as_ref().expect("it was just made").1.clone()
        });
        PyList::new(py, words.collect::<Vec<_>>())
    }

    /// Return the added tokens, by position, and the text that each was found as.
    fn added(&self) -> Vec<(u32, &str)> {
        self.details.added.iter().map(|(at, found)| (*at, &found[..])).collect()
    }
}

/// The stages before merging: a normalizer and a pre-tokenizer of a tokenizer.json.
///
/// Parameters
/// ----------
/// normalizer, pre_tokenizer
///     The objects, as JSON, with patterns in merganser's syntax.
///
/// Raises
/// ------
/// MerganserError
///     If one of them is not supported.
#[pyclass(frozen, module = "merganser._core")]
pub struct Stages {
    stages: CoreStages,
    counts: Mutex<HashMap<Vec<u8>, u64>>,
}

#[pymethods]
impl Stages {
    #[new]
    fn new(py: Python<'_>, normalizer: &str, pre_tokenizer: &str) -> PyResult<Stages> {
        let stages = run(py, || CoreStages::from_text(normalizer, pre_tokenizer))?;
        Ok(Stages { stages, counts: Mutex::default() })
    }

    /// Return the normalized text.
    fn normalize(&self, text: &Bound<'_, PyString>) -> PyResult<String> {
        let borrowed = borrow_str(text, "EncodeError")?;
        run(text.py(), || self.stages.normalize(borrowed))
    }

    /// Return the pre-tokens of a text, each with the characters that it comes from.
    fn pretokenize<'py>(&self, text: &Bound<'py, PyString>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let py = text.py();
        let borrowed = borrow_str(text, "EncodeError")?;
        let pretokens = run(py, || self.stages.pretokenize(borrowed))?;
        let pair = |(pretoken, span): (Vec<u8>, (usize, usize))| {
            (PyBytes::new(py, &pretoken), span).into_bound_py_any(py)
        };
        pretokens.into_iter().map(pair).collect()
    }

    /// Count the pre-tokens of texts.
    fn count(&self, texts: &Bound<'_, PyAny>) -> PyResult<()> {
        let kept = Texts::new(texts)?;
        let borrowed = kept.borrow()?;
        let bytes = borrowed.iter().map(|text| text.len()).sum();
        run_sized(texts.py(), bytes, |progress| {
            let mut counts = self.counts.lock().expect("no thread panics with it");
            self.stages.count(&borrowed, 0, &mut counts, progress)
        })
    }

    /// Return how often each pre-token was counted.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.counts.lock().expect("no thread panics with it");
        let _paused = CollectorPaused::new(py);
        let all = PyDict::new(py);
        for (pretoken, count) in &*counts {
            all.set_item(bytes_of(py, pretoken)?, count)?;
        }
        Ok(all)
    }
}

//! The tokenizer, as Python sees it. `merganser.Tokenizer` inherits from it, so that `encode` is one call.

use std::sync::Arc;

use merganser_core::encode::Allowed;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::decode;
use crate::errors::raise;
use crate::interrupt::run;
use crate::text::{borrow_str, splitter};

/// A tokenizer of the core that is not yet wrapped in a Python object that can do something.
#[pyclass(frozen, module = "merganser._core")]
pub struct Model(pub Arc<merganser_core::Tokenizer>);

#[pymethods]
impl Model {
    /// From tokens with their ids, which are also their ranks.
    #[staticmethod]
    fn from_ranks(
        py: Python<'_>,
        mergeable_ranks: &Bound<'_, PyDict>,
        pattern: &str,
        special_tokens: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let ranks = mergeable_ranks.items().extract::<Vec<(Vec<u8>, u32)>>()?;
        let specials = special_tokens.items().extract::<Vec<(String, u32)>>()?;
        let splitter = splitter(py, pattern)?;
        let model = run(py, || merganser_core::Tokenizer::from_ranks(ranks, splitter, specials))?;
        Ok(Model(Arc::new(model)))
    }
}

#[pyclass(frozen, subclass, module = "merganser._core")]
pub struct Tokenizer(pub Arc<merganser_core::Tokenizer>);

#[pymethods]
impl Tokenizer {
    #[new]
    fn new(model: &Model) -> Self {
        Tokenizer(model.0.clone())
    }

    /// Text to ids. A special token in the text is an error unless it is allowed, or no longer disallowed.
    #[pyo3(signature = (text, *, allowed_special = Choice(Allowed::None), disallowed_special = Choice(Allowed::All)))]
    fn encode(
        &self,
        text: &Bound<'_, PyString>,
        allowed_special: Choice,
        disallowed_special: Choice,
    ) -> PyResult<Vec<u32>> {
        let borrowed = borrow_str(text, "EncodeError")?;
        run(text.py(), || self.0.encode(borrowed, &allowed_special.0, &disallowed_special.0))
    }

    /// Text to ids; what looks like a special token is plain text.
    fn encode_ordinary(&self, text: &Bound<'_, PyString>) -> PyResult<Vec<u32>> {
        let borrowed = borrow_str(text, "EncodeError")?;
        run(text.py(), || self.0.encode_ordinary(borrowed))
    }

    /// Ids to text. Where they are not UTF-8, "strict" is an error and "replace" puts U+FFFD.
    #[pyo3(signature = (ids, errors = "strict"))]
    fn decode<'py>(&self, ids: &Bound<'py, PyAny>, errors: &str) -> PyResult<Bound<'py, PyString>> {
        decode::decode(&self.0, ids, errors)
    }

    /// Ids to bytes.
    fn decode_bytes<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        decode::decode_bytes(&self.0, ids)
    }

    /// Many sequences of ids to text, on `threads` threads: one per core if not given.
    #[pyo3(signature = (batch, errors = "strict", *, threads = None))]
    fn decode_batch<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        errors: &str,
        threads: Option<isize>,
    ) -> PyResult<Bound<'py, PyList>> {
        decode::decode_batch(&self.0, batch, errors, threads)
    }

    /// Ids to text, and where each begins: its first character, or its first byte in UTF-8 if unit is "bytes".
    /// A token that begins inside a character has that character's place.
    #[pyo3(signature = (ids, *, unit = "characters"))]
    fn decode_with_offsets<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        unit: &str,
    ) -> PyResult<(Bound<'py, PyString>, Vec<usize>)> {
        decode::decode_with_offsets(&self.0, ids, unit)
    }

    /// The bytes that an id stands for; those of its text if it is special.
    fn token_bytes<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        decode::token_bytes(&self.0, id)
    }

    #[getter]
    fn mergeable_ranks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ranks = PyDict::new(py);
        for (token, id) in self.0.ranks() {
            ranks.set_item(PyBytes::new(py, token), id)?;
        }
        Ok(ranks)
    }

    #[getter]
    fn special_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let specials = PyDict::new(py);
        for (token, id) in self.0.special_tokens() {
            specials.set_item(token, id)?;
        }
        Ok(specials)
    }

    #[getter]
    fn merges<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let token = |id: u32| PyBytes::new(py, self.0.token_bytes(id).unwrap_or_default());
        self.0.merges().iter().map(|&(left, right, _)| (token(left), token(right))).collect()
    }

    #[getter]
    fn merges_as_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let merges = PyDict::new(py);
        for &(left, right, new) in self.0.merges() {
            merges.set_item((left, right), new)?;
        }
        Ok(merges)
    }

    #[getter]
    fn pattern(&self) -> &str {
        self.0.splitter().pattern()
    }

    #[getter]
    fn pattern_name(&self) -> Option<&'static str> {
        self.0.splitter().name()
    }

    #[getter]
    fn vocab_size(&self) -> usize {
        self.0.vocab_size()
    }

    #[getter]
    fn next_id(&self) -> u32 {
        self.0.next_id()
    }

    fn truncated_model(&self, py: Python<'_>, vocab_size: usize) -> PyResult<Model> {
        let model = run(py, || self.0.truncated(vocab_size))?;
        Ok(Model(Arc::new(model)))
    }

    fn equals(&self, other: &Tokenizer) -> bool {
        self.0 == other.0
    }
}

/// "all", or a collection of special tokens.
struct Choice(Allowed);

impl<'a, 'py> FromPyObject<'a, 'py> for Choice {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(word) = given.cast::<PyString>() {
            if word.to_str()? == "all" {
                return Ok(Choice(Allowed::All));
            }
            let message = format!("name special tokens in a collection, [{}], or say \"all\"", word.repr()?);
            return Err(raise(given.py(), "EncodeError", message));
        }
        let tokens: Vec<String> = given.try_iter()?.map(|token| token?.extract()).collect::<PyResult<_>>()?;
        Ok(Choice(if tokens.is_empty() { Allowed::None } else { Allowed::Only(tokens) }))
    }
}

//! The tokenizer, as Python sees it. `merganser.Tokenizer` inherits from it, so that `encode` is one call.

use std::sync::Arc;

use merganser_core::{Error, Result, unpack_ranks};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::arguments::{Given, OneText, Policy, Threads};
use crate::decode;
use crate::encode;
use crate::encode_batch;
use crate::errors::{raise, to_python};
use crate::int_list::Ints;
use crate::interrupt::run;
use crate::text::splitter;

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
        let token = |(token, id): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((token.cast::<PyBytes>()?.as_bytes().to_vec(), extract_id(&id)?))
        };
        let ranks = mergeable_ranks.iter().map(token).collect::<PyResult<_>>()?;
        Model::make(py, move || Ok(ranks), pattern, special_tokens)
    }

    /// From what `Tokenizer.packed_ranks` gives.
    #[staticmethod]
    fn from_packed(
        py: Python<'_>,
        packed: &[u8],
        pattern: &str,
        special_tokens: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        Model::make(py, || unpack_ranks(packed), pattern, special_tokens)
    }
}

impl Model {
    fn make(
        py: Python<'_>,
        ranks: impl FnOnce() -> Result<Vec<(Vec<u8>, u32)>> + Send,
        pattern: &str,
        special_tokens: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let special = |(token, id): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((token.extract::<String>()?, extract_id(&id)?))
        };
        let specials = special_tokens.iter().map(special).collect::<PyResult<_>>()?;
        let splitter = splitter(py, pattern)?;
        let model = run(py, || merganser_core::Tokenizer::from_ranks(ranks()?, splitter, specials))?;
        Ok(Model(Arc::new(model)))
    }
}

/// The id of a token in a vocabulary. The core says which are too high.
fn extract_id(id: &Bound<'_, PyAny>) -> PyResult<u32> {
    id.extract::<u32>().or_else(|_| {
        let message = format!("an id is a whole number from 0 on, not {}", id.repr()?);
        Err(raise(id.py(), "TokenizerError", message))
    })
}

#[pyclass(frozen, subclass, module = "merganser._core")]
pub struct Tokenizer(pub Arc<merganser_core::Tokenizer>, pub Ints);

#[pymethods]
impl Tokenizer {
    #[new]
    fn new(model: &Model) -> Self {
        Tokenizer(model.0.clone(), Ints::new(model.0.next_id() as usize))
    }

    /// Text to ids.
    ///
    /// A special token in the text is an error, for text from strangers must not steer a model. It becomes
    /// its id where allowed_special names it or is "all"; it is plain text where disallowed_special, a
    /// collection too, does not name it. prepend and append put a token at the ends of the document: a
    /// special token by its name, or any by its id.
    #[pyo3(signature = (text, *, allowed_special = Given(None), disallowed_special = Given(None), prepend = Given(None), append = Given(None)))]
    #[pyo3(
        text_signature = "($self, text, *, allowed_special=(), disallowed_special='all', prepend=None, append=None)"
    )]
    fn encode<'py>(
        &self,
        text: OneText<'_, 'py>,
        allowed_special: Given<'_, 'py>,
        disallowed_special: Given<'_, 'py>,
        prepend: Given<'_, 'py>,
        append: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        let policy = Policy { allowed: allowed_special, disallowed: disallowed_special, prepend, append };
        encode::encode(self, &text.0, policy)
    }

    /// Text to ids; what looks like a special token is plain text.
    fn encode_ordinary<'py>(&self, text: OneText<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        encode::encode_ordinary(self, &text.0)
    }

    /// A list of ids for each text, all made as `encode` does, on as many threads as there are cores or as
    /// threads says. A single long text is shared out as well. The result does not depend on it.
    #[pyo3(signature = (texts, *, allowed_special = Given(None), disallowed_special = Given(None), prepend = Given(None), append = Given(None), threads = Threads(0)))]
    #[pyo3(
        text_signature = "($self, texts, *, allowed_special=(), disallowed_special='all', prepend=None, append=None, threads=None)"
    )]
    fn encode_batch<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        allowed_special: Given<'_, 'py>,
        disallowed_special: Given<'_, 'py>,
        prepend: Given<'_, 'py>,
        append: Given<'_, 'py>,
        threads: Threads,
    ) -> PyResult<Bound<'py, PyList>> {
        let policy = Policy { allowed: allowed_special, disallowed: disallowed_special, prepend, append };
        encode_batch::encode_batch(self, texts, policy, threads)
    }

    /// The ids of all texts in one numpy array (uint32), and where those of each begin (int64): those of text
    /// i are ids[offsets[i]:offsets[i + 1]]. No Python object is made for any of them.
    #[pyo3(signature = (texts, *, allowed_special = Given(None), disallowed_special = Given(None), prepend = Given(None), append = Given(None), threads = Threads(0)))]
    #[pyo3(
        text_signature = "($self, texts, *, allowed_special=(), disallowed_special='all', prepend=None, append=None, threads=None)"
    )]
    fn encode_flat<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        allowed_special: Given<'_, 'py>,
        disallowed_special: Given<'_, 'py>,
        prepend: Given<'_, 'py>,
        append: Given<'_, 'py>,
        threads: Threads,
    ) -> PyResult<encode::Flat<'py>> {
        let policy = Policy { allowed: allowed_special, disallowed: disallowed_special, prepend, append };
        encode::encode_flat(self, texts, policy, threads)
    }

    /// The number of ids of a text, or a list with that of each of several texts.
    #[pyo3(signature = (texts, *, allowed_special = Given(None), disallowed_special = Given(None), prepend = Given(None), append = Given(None), threads = Threads(0)))]
    #[pyo3(
        text_signature = "($self, texts, *, allowed_special=(), disallowed_special='all', prepend=None, append=None, threads=None)"
    )]
    fn count_tokens<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        allowed_special: Given<'_, 'py>,
        disallowed_special: Given<'_, 'py>,
        prepend: Given<'_, 'py>,
        append: Given<'_, 'py>,
        threads: Threads,
    ) -> PyResult<Bound<'py, PyAny>> {
        let policy = Policy { allowed: allowed_special, disallowed: disallowed_special, prepend, append };
        encode::count_tokens(self, texts, policy, threads)
    }

    /// Ids, and where in the text each begins and ends, in characters and in bytes: a `merganser.Spans`.
    #[pyo3(signature = (text, *, allowed_special = Given(None), disallowed_special = Given(None), prepend = Given(None), append = Given(None)))]
    #[pyo3(
        text_signature = "($self, text, *, allowed_special=(), disallowed_special='all', prepend=None, append=None)"
    )]
    fn encode_with_offsets<'py>(
        &self,
        text: OneText<'_, 'py>,
        allowed_special: Given<'_, 'py>,
        disallowed_special: Given<'_, 'py>,
        prepend: Given<'_, 'py>,
        append: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let policy = Policy { allowed: allowed_special, disallowed: disallowed_special, prepend, append };
        encode::encode_with_offsets(self, &text.0, policy)
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

    /// Ids to text, and where each begins: its first character, or its first byte in UTF-8 if unit is
    /// "bytes". A token that begins inside a character has that character's place.
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

    /// The id of a token: of its bytes, or of text, which stands for its UTF-8. A special token goes by its
    /// name.
    ///
    /// What is not exactly one token is an EncodeError. The inverse of `token_bytes`; nothing is built for
    /// it.
    ///
    /// >>> import merganser
    /// >>> tokenizer = merganser.train(["low lower lowest"], 258, special_tokens=["<|end|>"])
    /// >>> tokenizer.token_id(b"lo"), tokenizer.token_id("<|end|>")
    /// (256, 257)
    fn token_id(&self, token: &Bound<'_, PyAny>) -> PyResult<u32> {
        let py = token.py();
        let bytes = if let Ok(bytes) = token.cast::<PyBytes>() {
            bytes.as_bytes()
        } else if let Ok(text) = token.cast::<PyString>() {
            let half = |_| raise(py, "EncodeError", "a lone surrogate, half of a character, is not a token");
            text.to_str().map_err(half)?.as_bytes()
        } else {
            let kind = token.get_type().name()?;
            return Err(PyTypeError::new_err(format!("a token is bytes or str, not {kind}")));
        };
        let unknown = || to_python(py, Error::UnknownToken { token: bytes.to_vec() });
        self.0.id_or_special(bytes).ok_or_else(unknown)
    }

    /// Whether the tokenizer has this id (an int) or this token (bytes).
    ///
    /// >>> import merganser
    /// >>> tokenizer = merganser.train(["low lower lowest"], 258)
    /// >>> 257 in tokenizer, 258 in tokenizer, b"lo" in tokenizer
    /// (True, False, True)
    fn __contains__(&self, id_or_token: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(bytes) = id_or_token.cast::<PyBytes>() {
            return Ok(self.0.id_or_special(bytes.as_bytes()).is_some());
        }
        match id_or_token.extract::<u32>() {
            Ok(id) => Ok(self.0.bytes_or_special(id).is_some()),
            // Negative, or greater than any id.
            Err(error) if error.is_instance_of::<PyOverflowError>(id_or_token.py()) => Ok(false),
            Err(_) => {
                let kind = id_or_token.get_type().name()?;
                Err(PyTypeError::new_err(format!(
                    "`in` looks up an id (int) or a token (bytes), not {kind}; encode text to bytes first, and look \
                     special tokens up in special_tokens"
                )))
            }
        }
    }

    #[getter]
    fn mergeable_ranks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ranks = PyDict::new(py);
        for (token, id) in self.0.ranks() {
            ranks.set_item(PyBytes::new(py, token), id)?;
        }
        Ok(ranks)
    }

    /// The same as one string of bytes.
    fn packed_ranks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let packed = run(py, || Ok(self.0.packed_ranks()))?;
        Ok(PyBytes::new(py, &packed))
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

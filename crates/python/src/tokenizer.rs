//! The tokenizer. `merganser.Tokenizer` inherits from it, so that `encode` is one call.

use std::sync::Arc;

use merganser_core::split::{Origin, Splitter};
use merganser_core::{Columns, Error, Result, TokenLines, unpack_ranks};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::arguments::{Given, ORDINARY, OneText, Policy, TextOrBytes, Threads};
use crate::decode;
use crate::details::{self, Details};
use crate::encode;
use crate::encode_batch;
use crate::errors::{bytes_of, raise, to_python};
use crate::incremental::{self, IncrementalEncoder, StreamEncoder};
use crate::int_list::Ints;
use crate::interrupt::run;

/// A tokenizer of the core, before `Tokenizer` wraps it.
#[pyclass(frozen, module = "merganser._core")]
pub struct Model(pub Arc<merganser_core::Tokenizer>);

#[pymethods]
impl Model {
    /// Build a model from tokens and their ids.
    ///
    /// Parameters
    /// ----------
    /// mergeable_ranks
    ///     The id of each token, which is also its rank. All 256 single bytes must be tokens.
    /// pattern
    ///     A preset or a regular expression.
    /// special_tokens
    ///     The id of each special token.
    ///
    /// Raises
    /// ------
    /// TokenizerError
    ///     If the tokens are inconsistent.
    /// PatternError
    ///     If the pattern is invalid.
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

    /// Build a model from what `Tokenizer.packed_ranks` returns.
    #[staticmethod]
    fn from_packed(
        py: Python<'_>,
        packed: &[u8],
        pattern: &str,
        special_tokens: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        Model::make(py, || unpack_ranks(packed), pattern, special_tokens)
    }

    /// Build a model from the lines of a file; docs/format.md specifies them.
    ///
    /// Parameters
    /// ----------
    /// data
    ///     The file.
    /// start, stop
    ///     Where the lines of tokens start and end.
    /// version
    ///     The version of the format, 1 or 3; 0 for a rank file, which has no counts.
    /// longest
    ///     The limit of the length of a token.
    /// pattern
    ///     A preset or a regular expression.
    /// special_tokens
    ///     The id of each special token.
    ///
    /// Returns
    /// -------
    /// tuple of (Model, bytes, bytes)
    ///     The model; the ids of tokens with a count, as 32-bit numbers, and their counts, as 64-bit ones.
    ///
    /// Raises
    /// ------
    /// FormatError
    ///     If the lines are corrupt.
    /// TokenizerError
    ///     If the tokens are inconsistent.
    /// PatternError
    ///     If the pattern is invalid.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "the Python signature")]
    fn from_lines<'py>(
        py: Python<'py>,
        data: &[u8],
        start: usize,
        stop: usize,
        version: u32,
        longest: usize,
        pattern: &str,
        special_tokens: &Bound<'py, PyDict>,
    ) -> PyResult<(Self, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let columns = match version {
            0 => Columns::Ids,
            1 => Columns::Counts,
            _ => Columns::Lefts,
        };
        let lines = data.get(start..stop).unwrap_or_default();
        let first_line = 3;
        let lines = run(py, || TokenLines::parse(lines, columns, first_line, longest))?;
        let (specials, splitter) = Model::settings(py, pattern, special_tokens)?;
        let model = run(py, || merganser_core::Tokenizer::from_lines(&lines, splitter, specials))?;
        let (ids, counts) = lines.counts();
        Ok((Model(Arc::new(model)), bytes_of(py, ids)?, bytes_of(py, counts)?))
    }

    /// Build a model of any kind of BPE, with the stages around it.
    ///
    /// Parameters
    /// ----------
    /// tokens
    ///     The tokens as merging sees them, with their ids.
    /// merges
    ///     The merges in order, as ids (left, right, new).
    /// scores
    ///     Without merges: the score of each token, highest first. Without both, the id is the rank.
    /// definition
    ///     The stages, as JSON; see docs/pipeline.md.
    ///
    /// Raises
    /// ------
    /// TokenizerError
    ///     If the definition is inconsistent, or names something that is not supported.
    /// PatternError
    ///     If a pattern is invalid.
    #[staticmethod]
    #[pyo3(signature = (tokens, merges, scores, definition))]
    fn from_definition(
        py: Python<'_>,
        tokens: &Bound<'_, PyList>,
        merges: Merges,
        scores: Option<Vec<f32>>,
        definition: &str,
    ) -> PyResult<Self> {
        let token = |pair: Bound<'_, PyAny>| {
            let (token, id): (Bound<'_, PyBytes>, Bound<'_, PyAny>) = pair.extract()?;
            Ok((token.as_bytes().to_vec(), extract_id(&id)?))
        };
        let tokens = tokens.iter().map(token).collect::<PyResult<Vec<_>>>()?;
        let model =
            run(py, || merganser_core::Tokenizer::from_definition(tokens, merges, scores, definition))?;
        Ok(Model(Arc::new(model)))
    }
}

/// The arguments of [`Model::from_definition`] that may be missing.
type Merges = Option<Vec<(u32, u32, u32)>>;

/// The arguments of [`Model::from_definition`].
type Parts<'py> = (Vec<(Bound<'py, PyBytes>, u32)>, Merges, Option<Vec<f32>>, String);

impl Model {
    fn make(
        py: Python<'_>,
        ranks: impl FnOnce() -> Result<Vec<(Vec<u8>, u32)>> + Send,
        pattern: &str,
        special_tokens: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let (specials, splitter) = Model::settings(py, pattern, special_tokens)?;
        let model = run(py, || merganser_core::Tokenizer::from_ranks(ranks()?, splitter, specials))?;
        Ok(Model(Arc::new(model)))
    }

    fn settings(
        py: Python<'_>,
        pattern: &str,
        special_tokens: &Bound<'_, PyDict>,
    ) -> PyResult<(Vec<(String, u32)>, Splitter)> {
        let special = |(token, id): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((token.extract::<String>()?, extract_id(&id)?))
        };
        let specials = special_tokens.iter().map(special).collect::<PyResult<_>>()?;
        // Usually the pattern comes from a file, whoever read it.
        let splitter = run(py, || Splitter::from(pattern, Origin::File))?;
        Ok((specials, splitter))
    }
}

/// Return the SHA-256 of `data[:stop]` in hexadecimal: hashlib takes longer to import than this to run.
#[pyfunction]
pub fn sha256(py: Python<'_>, data: &[u8], stop: usize) -> String {
    py.detach(|| merganser_core::sha256(&data[..stop.min(data.len())]))
}

/// Extracts the id of a token. The core reports ids that are too high.
fn extract_id(id: &Bound<'_, PyAny>) -> PyResult<u32> {
    id.extract::<u32>().or_else(|_| {
        let message = format!("an id must be a non-negative integer, got {}", id.repr()?);
        Err(raise(id.py(), "TokenizerError", message))
    })
}

/// A tokenizer; `merganser.Tokenizer` inherits from it.
#[pyclass(frozen, subclass, weakref, module = "merganser._core")]
pub struct Tokenizer(pub Arc<merganser_core::Tokenizer>, pub Ints);

#[pymethods]
impl Tokenizer {
    #[new]
    fn new(model: &Model) -> Self {
        Tokenizer(model.0.clone(), Ints::new(model.0.next_id() as usize))
    }

    /// Return the ids of a text.
    ///
    /// A special token in the text is an error by default, because text from untrusted sources must not
    /// control a model.
    ///
    /// Parameters
    /// ----------
    /// text
    ///     The text to encode, or bytes. Valid UTF-8 has the ids of the text. In other bytes, each byte that
    ///     is not valid UTF-8 is encoded by itself, and the text on either side of it as a text of its own,
    ///     as in `encode_corpus`; `decode_bytes` returns the bytes.
    /// allowed_special
    ///     Special tokens that are encoded as such: a collection of names, or "all".
    /// disallowed_special
    ///     Special tokens that raise an error if the text contains them: a collection of names, or "all".
    ///     Those that are neither allowed nor disallowed are encoded as plain text.
    /// prepend, append
    ///     Tokens to put before and after the document, one or a list: special tokens by name, any by id.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     If the text contains a disallowed special token or a lone surrogate, or bytes are not UTF-8 and
    ///     the tokenizer has stages of another library, which are defined for text only.
    ///
    /// Examples
    /// --------
    /// >>> import merganser
    /// >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260, special_tokens=["<|end|>"])
    /// >>> tokenizer.encode("lowest low")
    /// [257, 101, 115, 116, 258]
    /// >>> tokenizer.encode("low<|end|>", allowed_special="all")
    /// [257, 259]
    /// >>> tokenizer.encode(b"low\xfflow")
    /// [257, 255, 257]
    #[pyo3(signature = (text, *, allowed_special = Given(None), disallowed_special = Given(None), prepend = Given(None), append = Given(None)))]
    #[pyo3(
        text_signature = "($self, text, *, allowed_special=(), disallowed_special='all', prepend=None, append=None)"
    )]
    fn encode<'py>(
        &self,
        text: TextOrBytes<'_, 'py>,
        allowed_special: Given<'_, 'py>,
        disallowed_special: Given<'_, 'py>,
        prepend: Given<'_, 'py>,
        append: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        let policy = Policy { allowed: allowed_special, disallowed: disallowed_special, prepend, append };
        let decoded;
        let text = match &text {
            TextOrBytes::Text(text) => text,
            TextOrBytes::Bytes(bytes) => {
                match encode::text_or_ids(self, bytes, move || policy.options(self))? {
                    Ok(text) => {
                        decoded = text;
                        &decoded
                    }
                    Err(ids) => return self.1.list(bytes.py(), &ids),
                }
            }
        };
        encode::encode(self, text, policy)
    }

    /// Return the ids of a text in which special tokens are plain text.
    ///
    /// Parameters
    /// ----------
    /// text
    ///     The text to encode, or bytes, as in `encode`.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     If the text contains a lone surrogate, or bytes are not UTF-8 and the tokenizer has stages of
    ///     another library.
    fn encode_ordinary<'py>(&self, text: TextOrBytes<'_, 'py>) -> PyResult<Bound<'py, PyList>> {
        let decoded;
        let text = match &text {
            TextOrBytes::Text(text) => text,
            TextOrBytes::Bytes(bytes) => match encode::text_or_ids(self, bytes, || Ok(ORDINARY.clone()))? {
                Ok(text) => {
                    decoded = text;
                    &decoded
                }
                Err(ids) => return self.1.list(bytes.py(), &ids),
            },
        };
        encode::encode_ordinary(self, text)
    }

    /// Return the ids of each text, encoded in parallel.
    ///
    /// Parameters
    /// ----------
    /// texts
    ///     The texts to encode. A single long text is parallelized too.
    /// allowed_special
    ///     Special tokens that are encoded as such: a collection of names, or "all".
    /// disallowed_special
    ///     Special tokens that raise an error if the text contains them: a collection of names, or "all".
    ///     Those that are neither allowed nor disallowed are encoded as plain text.
    /// prepend, append
    ///     Tokens to put before and after the document, one or a list: special tokens by name, any by id.
    /// threads
    ///     The number of threads; None for one per core. The result does not depend on it.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     If the text contains a disallowed special token or a lone surrogate.
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

    /// Return the ids of all texts in one array, without creating a Python object for each.
    ///
    /// Parameters
    /// ----------
    /// texts
    ///     The texts to encode.
    /// allowed_special
    ///     Special tokens that are encoded as such: a collection of names, or "all".
    /// disallowed_special
    ///     Special tokens that raise an error if the text contains them: a collection of names, or "all".
    ///     Those that are neither allowed nor disallowed are encoded as plain text.
    /// prepend, append
    ///     Tokens to put before and after the document, one or a list: special tokens by name, any by id.
    /// threads
    ///     The number of threads; None for one per core. The result does not depend on it.
    ///
    /// Returns
    /// -------
    /// tuple of numpy.ndarray
    ///     The ids (uint32) and the offsets (int64): the ids of text `i` are `ids[offsets[i]:offsets[i +
    ///     1]]`.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     If the text contains a disallowed special token or a lone surrogate.
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

    /// Return the number of ids of a text, or of each text.
    ///
    /// Parameters
    /// ----------
    /// texts
    ///     One text, or bytes, as in `encode`; or several texts.
    /// allowed_special
    ///     Special tokens that are encoded as such: a collection of names, or "all".
    /// disallowed_special
    ///     Special tokens that raise an error if the text contains them: a collection of names, or "all".
    ///     Those that are neither allowed nor disallowed are encoded as plain text.
    /// prepend, append
    ///     Tokens to put before and after the document, one or a list: special tokens by name, any by id.
    /// threads
    ///     The number of threads; None for one per core. The result does not depend on it.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     If the text contains a disallowed special token or a lone surrogate.
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

    /// Return an encoder for a text that grows, such as a conversation.
    ///
    /// Its ids are always those of `encode` on the whole text, but appending encodes only what has changed.
    ///
    /// Parameters
    /// ----------
    /// allowed_special
    ///     Special tokens that are encoded as such: a collection of names, or "all".
    /// disallowed_special
    ///     Special tokens that raise an error if the text contains them: a collection of names, or "all".
    ///     Those that are neither allowed nor disallowed are encoded as plain text.
    /// prepend
    ///     Tokens to put before the text, one or a list: special tokens by name, any by id.
    ///
    /// Examples
    /// --------
    /// >>> import merganser
    /// >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260, special_tokens=["<|end|>"])
    /// >>> encoder = tokenizer.incremental(allowed_special="all")
    /// >>> encoder.append("low <|end")
    /// 0
    /// >>> kept = encoder.append("|>")
    /// >>> kept, encoder.ids
    /// (2, [257, 32, 259])
    #[pyo3(signature = (*, allowed_special = Given(None), disallowed_special = Given(None), prepend = Given(None)))]
    #[pyo3(text_signature = "($self, *, allowed_special=(), disallowed_special='all', prepend=None)")]
    fn incremental<'py>(
        slf: Bound<'py, Self>,
        allowed_special: Given<'_, 'py>,
        disallowed_special: Given<'_, 'py>,
        prepend: Given<'_, 'py>,
    ) -> PyResult<IncrementalEncoder> {
        let append = Given(None);
        let policy = Policy { allowed: allowed_special, disallowed: disallowed_special, prepend, append };
        incremental::incremental(slf, policy)
    }

    /// Return an encoder for the chunks of one text, which keeps no more text than it must.
    ///
    /// Parameters
    /// ----------
    /// allowed_special
    ///     Special tokens that are encoded as such: a collection of names, or "all".
    /// disallowed_special
    ///     Special tokens that raise an error if the text contains them: a collection of names, or "all".
    ///     Those that are neither allowed nor disallowed are encoded as plain text.
    /// prepend, append
    ///     Tokens to put before and after the text, one or a list: special tokens by name, any by id.
    #[pyo3(signature = (*, allowed_special = Given(None), disallowed_special = Given(None), prepend = Given(None), append = Given(None)))]
    #[pyo3(
        text_signature = "($self, *, allowed_special=(), disallowed_special='all', prepend=None, append=None)"
    )]
    fn stream_encoder<'py>(
        slf: Bound<'py, Self>,
        allowed_special: Given<'_, 'py>,
        disallowed_special: Given<'_, 'py>,
        prepend: Given<'_, 'py>,
        append: Given<'_, 'py>,
    ) -> PyResult<StreamEncoder> {
        let policy = Policy { allowed: allowed_special, disallowed: disallowed_special, prepend, append };
        incremental::stream_encoder(slf, policy)
    }

    /// Return whether a text has at most `max_tokens` ids, without encoding much more than these.
    ///
    /// Parameters
    /// ----------
    /// text
    ///     The text. All of it is searched for disallowed special tokens.
    /// max_tokens
    ///     The most ids that it may have.
    /// allowed_special
    ///     Special tokens that are encoded as such: a collection of names, or "all".
    /// disallowed_special
    ///     Special tokens that raise an error if the text contains them: a collection of names, or "all".
    ///     Those that are neither allowed nor disallowed are encoded as plain text.
    /// prepend, append
    ///     Tokens to put before and after the document, one or a list: special tokens by name, any by id.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     If the text contains a disallowed special token or a lone surrogate.
    ///
    /// Examples
    /// --------
    /// >>> import merganser
    /// >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
    /// >>> tokenizer.fits("low lower", 3), tokenizer.fits("low lower" * 1_000_000, 3)
    /// (True, False)
    #[pyo3(signature = (text, max_tokens, *, allowed_special = Given(None), disallowed_special = Given(None), prepend = Given(None), append = Given(None)))]
    #[pyo3(
        text_signature = "($self, text, max_tokens, *, allowed_special=(), disallowed_special='all', prepend=None, append=None)"
    )]
    fn fits<'py>(
        &self,
        text: OneText<'_, 'py>,
        max_tokens: &Bound<'py, PyAny>,
        allowed_special: Given<'_, 'py>,
        disallowed_special: Given<'_, 'py>,
        prepend: Given<'_, 'py>,
        append: Given<'_, 'py>,
    ) -> PyResult<bool> {
        let policy = Policy { allowed: allowed_special, disallowed: disallowed_special, prepend, append };
        incremental::fits(self, &text.0, max_tokens, policy)
    }

    /// Return the number of ids of prefixes of a text: `[count_tokens(text[:end]) for end in ends]`.
    ///
    /// All prefixes together cost little more than the longest, and text after it is not read. Use it to find
    /// where a conversation exceeds a context, from the ends of its messages.
    ///
    /// Parameters
    /// ----------
    /// text
    ///     The text.
    /// ends
    ///     Where the prefixes end, in characters and in any order; beyond the end means all of the text.
    /// allowed_special
    ///     Special tokens that are encoded as such: a collection of names, or "all".
    /// disallowed_special
    ///     Special tokens that raise an error if the text contains them: a collection of names, or "all".
    ///     Those that are neither allowed nor disallowed are encoded as plain text.
    /// prepend, append
    ///     Tokens to put before and after the document, one or a list: special tokens by name, any by id.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     If a prefix contains a disallowed special token, or the text a lone surrogate.
    ///
    /// Examples
    /// --------
    /// >>> import merganser
    /// >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
    /// >>> tokenizer.count_prefixes("low lower", [3, 7, 9])
    /// [1, 2, 3]
    #[pyo3(signature = (text, ends, *, allowed_special = Given(None), disallowed_special = Given(None), prepend = Given(None), append = Given(None)))]
    #[pyo3(
        text_signature = "($self, text, ends, *, allowed_special=(), disallowed_special='all', prepend=None, append=None)"
    )]
    fn count_prefixes<'py>(
        &self,
        text: OneText<'_, 'py>,
        ends: &Bound<'py, PyAny>,
        allowed_special: Given<'_, 'py>,
        disallowed_special: Given<'_, 'py>,
        prepend: Given<'_, 'py>,
        append: Given<'_, 'py>,
    ) -> PyResult<Vec<usize>> {
        let policy = Policy { allowed: allowed_special, disallowed: disallowed_special, prepend, append };
        incremental::count_prefixes(self, &text.0, ends, policy)
    }

    /// Return the ids of a text with the offsets of each, in characters and in bytes.
    ///
    /// Parameters
    /// ----------
    /// text
    ///     The text to encode.
    /// allowed_special
    ///     Special tokens that are encoded as such: a collection of names, or "all".
    /// disallowed_special
    ///     Special tokens that raise an error if the text contains them: a collection of names, or "all".
    ///     Those that are neither allowed nor disallowed are encoded as plain text.
    /// prepend, append
    ///     Tokens to put before and after the document, one or a list: special tokens by name, any by id.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     If the text contains a disallowed special token or a lone surrogate.
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

    /// Return the tokens of each text with offsets and words, encoded in parallel; only with stages.
    ///
    /// Parameters
    /// ----------
    /// texts
    ///     The texts to encode.
    /// specials
    ///     Whether special tokens in a text are encoded as such.
    /// threads
    ///     The number of threads; None for one per core. The result does not depend on it.
    ///
    /// Raises
    /// ------
    /// TokenizerError
    ///     If the tokenizer has no stages.
    /// EncodeError
    ///     If a text contains a lone surrogate.
    #[pyo3(signature = (texts, *, specials = true, threads = Threads(0)), text_signature = "($self, texts, *, specials=True, threads=None)")]
    fn encode_details(
        &self,
        texts: &Bound<'_, PyAny>,
        specials: bool,
        threads: Threads,
    ) -> PyResult<Vec<Details>> {
        details::encode_details(self, texts, specials, threads)
    }

    /// Return the text of ids.
    ///
    /// Parameters
    /// ----------
    /// ids
    ///     The ids to decode.
    /// errors
    ///     What to do with invalid UTF-8: "strict" raises an error, "replace" inserts U+FFFD, "ignore" leaves
    ///     it out.
    /// skip_special_tokens
    ///     Whether to leave special tokens out.
    ///
    /// Raises
    /// ------
    /// DecodeError
    ///     If an id is unknown, or if the bytes are not valid UTF-8 and `errors` is "strict".
    #[pyo3(signature = (ids, errors = "strict", *, skip_special_tokens = false))]
    fn decode<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        errors: &str,
        skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyString>> {
        decode::decode(&self.0, ids, errors, skip_special_tokens)
    }

    /// Return the bytes of ids.
    ///
    /// Raises
    /// ------
    /// DecodeError
    ///     If an id is unknown.
    fn decode_bytes<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        decode::decode_bytes(&self.0, ids)
    }

    /// Return the text of each sequence of ids, decoded in parallel.
    ///
    /// Parameters
    /// ----------
    /// batch
    ///     The sequences of ids.
    /// errors
    ///     What to do with invalid UTF-8: "strict" raises an error, "replace" inserts U+FFFD, "ignore" leaves
    ///     it out.
    /// threads
    ///     The number of threads; None for one per core. The result does not depend on it.
    ///
    /// Raises
    /// ------
    /// DecodeError
    ///     If an id is unknown, or if the bytes are not valid UTF-8 and `errors` is "strict".
    #[pyo3(signature = (batch, errors = "strict", *, threads = None))]
    fn decode_batch<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        errors: &str,
        threads: Option<isize>,
    ) -> PyResult<Bound<'py, PyList>> {
        decode::decode_batch(&self.0, batch, errors, threads)
    }

    /// Return the text of ids, and the offset at which each begins.
    ///
    /// Parameters
    /// ----------
    /// ids
    ///     The ids to decode.
    /// unit
    ///     The unit of the offsets: "characters", or "bytes" of UTF-8. A token that begins inside a character
    ///     has the offset of that character.
    ///
    /// Raises
    /// ------
    /// DecodeError
    ///     If an id is unknown, or if the bytes are not valid UTF-8.
    #[pyo3(signature = (ids, *, unit = "characters"))]
    fn decode_with_offsets<'py>(
        &self,
        ids: &Bound<'py, PyAny>,
        unit: &str,
    ) -> PyResult<(Bound<'py, PyString>, Vec<usize>)> {
        decode::decode_with_offsets(&self.0, ids, unit)
    }

    /// Return the bytes of a token; for a special token, the UTF-8 of its name.
    ///
    /// Raises
    /// ------
    /// DecodeError
    ///     If the id is unknown.
    fn token_bytes<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        decode::token_bytes(&self.0, id)
    }

    /// Return the bytes of each id. Joined, they are those of `decode_bytes` if there are no stages.
    ///
    /// Parameters
    /// ----------
    /// ids
    ///     The ids to decode.
    ///
    /// Raises
    /// ------
    /// DecodeError
    ///     If an id is unknown.
    ///
    /// Examples
    /// --------
    /// >>> import merganser
    /// >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
    /// >>> tokenizer.decode_tokens_bytes(tokenizer.encode("lowest"))
    /// [b'low', b'e', b's', b't']
    fn decode_tokens_bytes<'py>(&self, ids: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        decode::decode_tokens_bytes(&self.0, ids)
    }

    /// Return whether an id is that of a special token; False for an id that the tokenizer does not have.
    ///
    /// Examples
    /// --------
    /// >>> import merganser
    /// >>> tokenizer = merganser.train(["low lower lowest"], 258, special_tokens=["<|end|>"])
    /// >>> tokenizer.is_special_token(257), tokenizer.is_special_token(256)
    /// (True, False)
    fn is_special_token(&self, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        match id.extract::<u32>() {
            Ok(id) => Ok(self.0.is_special(id)),
            // Negative, or greater than any id.
            Err(error) if error.is_instance_of::<PyOverflowError>(id.py()) => Ok(false),
            Err(_) => {
                let kind = id.get_type().name()?;
                Err(PyTypeError::new_err(format!(
                    "an id must be an int, not {kind}; look names up in special_tokens"
                )))
            }
        }
    }

    /// Return the id of a token; the inverse of `token_bytes`.
    ///
    /// Parameters
    /// ----------
    /// token
    ///     The bytes of the token, or a text that stands for its UTF-8. A special token is given by its name.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     If it is not exactly one token.
    ///
    /// Examples
    /// --------
    /// >>> import merganser
    /// >>> tokenizer = merganser.train(["low lower lowest"], 258, special_tokens=["<|end|>"])
    /// >>> tokenizer.token_id(b"lo"), tokenizer.token_id("<|end|>")
    /// (256, 257)
    fn token_id(&self, token: &Bound<'_, PyAny>) -> PyResult<u32> {
        let py = token.py();
        let bytes = if let Ok(bytes) = token.cast::<PyBytes>() {
            bytes.as_bytes()
        } else if let Ok(text) = token.cast::<PyString>() {
            let half = |_| raise(py, "EncodeError", "a lone surrogate is not a token");
            text.to_str().map_err(half)?.as_bytes()
        } else {
            let kind = token.get_type().name()?;
            return Err(PyTypeError::new_err(format!("a token must be bytes or str, got {kind}")));
        };
        let unknown = || to_python(py, Error::UnknownToken { token: bytes.to_vec() });
        self.0.id_or_special(bytes).ok_or_else(unknown)
    }

    /// Return whether the tokenizer has this id (an int) or this token (bytes).
    ///
    /// Examples
    /// --------
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

    /// The id of each token that is not special, lowest id first.
    #[getter]
    fn mergeable_ranks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ranks = PyDict::new(py);
        for (token, id) in self.0.ranks() {
            ranks.set_item(PyBytes::new(py, token), id)?;
        }
        Ok(ranks)
    }

    /// Return `mergeable_ranks` as one byte string.
    fn packed_ranks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let packed = run(py, || Ok(self.0.packed_ranks()))?;
        bytes_of(py, &packed)
    }

    /// The id of each special token, lowest id first.
    #[getter]
    fn special_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let specials = PyDict::new(py);
        for (token, id) in self.0.special_tokens() {
            specials.set_item(token, id)?;
        }
        Ok(specials)
    }

    /// The merges in order, as the bytes of the two tokens.
    #[getter]
    fn merges<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let token = |id: u32| PyBytes::new(py, self.0.token_bytes(id).unwrap_or_default());
        self.0.merges().iter().map(|&(left, right, _)| (token(left), token(right))).collect()
    }

    /// The id of each merged token, by the ids of the two tokens.
    #[getter]
    fn merges_as_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let merges = PyDict::new(py);
        for &(left, right, new) in self.0.merges() {
            merges.set_item((left, right), new)?;
        }
        Ok(merges)
    }

    /// The regular expression that splits text.
    #[getter]
    fn pattern(&self) -> &str {
        self.0.splitter().pattern()
    }

    /// The name of the preset, if the pattern is one.
    #[getter]
    fn pattern_name(&self) -> Option<&'static str> {
        self.0.splitter().name()
    }

    /// The number of tokens, including special ones.
    #[getter]
    fn vocab_size(&self) -> usize {
        self.0.vocab_size()
    }

    /// The highest id plus one.
    #[getter]
    fn next_id(&self) -> u32 {
        self.0.next_id()
    }

    /// Return the model with `vocab_size` tokens from the same training.
    ///
    /// Raises
    /// ------
    /// SettingsError
    ///     If this tokenizer cannot be truncated to that size.
    fn truncated_model(&self, py: Python<'_>, vocab_size: usize) -> PyResult<Model> {
        let model = run(py, || self.0.truncated(vocab_size))?;
        Ok(Model(Arc::new(model)))
    }

    /// What the tokenizer was built from, if it has stages of another library: tokens, merges, scores and
    /// stages, as `Model.from_definition` takes them.
    #[getter]
    fn definition<'py>(&self, py: Python<'py>) -> Option<Parts<'py>> {
        let source = self.0.definition()?;
        let tokens = source.tokens.iter().map(|(token, id)| (PyBytes::new(py, token), *id)).collect();
        Some((tokens, source.merges.clone(), source.scores.clone(), source.definition.clone()))
    }

    /// Whether the tokenizer has stages of another library: more than a pattern and special tokens.
    #[getter]
    fn has_stages(&self) -> bool {
        self.0.definition().is_some()
    }

    /// Return whether two tokenizers are equal.
    fn equals(&self, other: &Tokenizer) -> bool {
        self.0 == other.0
    }
}

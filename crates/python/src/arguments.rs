//! Arguments of the encoding methods: texts, special tokens, ends of documents, threads.

use std::collections::HashSet;

use merganser_core::encode::{Allowed, Options};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple};

use crate::errors::raise;
use crate::text::borrow_str;
use crate::tokenizer::Tokenizer;

/// An argument, or None if it was not passed.
#[derive(Clone, Copy)]
pub struct Given<'a, 'py>(pub Option<Borrowed<'a, 'py, PyAny>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Given<'a, 'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Given(Some(given)))
    }
}

/// The text argument of a method that takes one.
pub struct OneText<'a, 'py>(pub Borrowed<'a, 'py, PyString>);

impl<'a, 'py> FromPyObject<'a, 'py> for OneText<'a, 'py> {
    type Error = PyErr;

    #[inline]
    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<PyString>() {
            Ok(text) => Ok(OneText(text)),
            Err(_) => Err(no_text(given)),
        }
    }
}

/// The text argument of a method that also takes bytes.
pub enum TextOrBytes<'a, 'py> {
    Text(Borrowed<'a, 'py, PyString>),
    Bytes(Borrowed<'a, 'py, PyBytes>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for TextOrBytes<'a, 'py> {
    type Error = PyErr;

    #[inline]
    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<PyString>() {
            Ok(text) => Ok(TextOrBytes::Text(text)),
            Err(_) => bytes(given),
        }
    }
}

/// Apart, so that the extraction of a text is small enough to be inlined.
#[cold]
#[inline(never)]
fn bytes<'a, 'py>(given: Borrowed<'a, 'py, PyAny>) -> PyResult<TextOrBytes<'a, 'py>> {
    given.cast::<PyBytes>().map(TextOrBytes::Bytes).map_err(|_| no_text(given))
}

#[cold]
fn no_text(given: Borrowed<'_, '_, PyAny>) -> PyErr {
    let kind = given.get_type().name().map_or_else(|_| "something else".into(), |name| name.to_string());
    let advice = if given.is_instance_of::<PyBytes>() {
        "decode it first: text.decode()"
    } else if given.is_instance_of::<PyByteArray>() {
        "pass bytes(data) to encode"
    } else if given.try_iter().is_ok() {
        "pass a list of texts to encode_batch"
    } else {
        "pass a str"
    };
    raise(given.py(), "ArgumentError", format!("the text to encode must be one str, not {kind}; {advice}"))
}

/// The caller's policy on special tokens, as passed to a method.
#[derive(Clone, Copy)]
pub struct Policy<'a, 'py> {
    pub allowed: Given<'a, 'py>,
    pub disallowed: Given<'a, 'py>,
    pub prepend: Given<'a, 'py>,
    pub append: Given<'a, 'py>,
}

/// From this many comparisons of names on, a hash table is cheaper.
const MANY: usize = 256;

pub static SAFE: Options = Options::SAFE;
pub static ORDINARY: Options = Options::ORDINARY;

impl Policy<'_, '_> {
    /// Calls `then` with the options; the defaults are shared, not rebuilt.
    #[inline]
    pub fn resolve<T>(
        self,
        tokenizer: &Tokenizer,
        then: impl FnOnce(&Options) -> PyResult<T>,
    ) -> PyResult<T> {
        match self {
            Policy {
                allowed: Given(None),
                disallowed: Given(None),
                prepend: Given(None),
                append: Given(None),
            } => then(&SAFE),
            _ => then(&self.options(tokenizer)?),
        }
    }

    #[inline(never)]
    pub fn options(self, tokenizer: &Tokenizer) -> PyResult<Options> {
        let end = |tokens: Given<'_, '_>| match tokens.0 {
            Some(tokens) if !tokens.is_none() => ids_of(tokenizer, tokens),
            _ => Ok(Vec::new()),
        };
        Ok(Options {
            allowed: self.allowed.0.map_or(Ok(Allowed::None), |given| allowed(tokenizer, given))?,
            disallowed: self.disallowed.0.map_or(Ok(Allowed::All), choice)?,
            prepend: end(self.prepend)?,
            append: end(self.append)?,
        })
    }
}

/// Extracts "all", or a collection of special tokens.
fn choice(given: Borrowed<'_, '_, PyAny>) -> PyResult<Allowed> {
    let refuse = |message: String| raise(given.py(), "EncodeError", message);
    if let Ok(word) = given.cast::<PyString>() {
        if word.to_str().is_ok_and(|word| word == "all") {
            return Ok(Allowed::All);
        }
        return Err(refuse(format!("pass special tokens in a collection, [{}], or \"all\"", word.repr()?)));
    }
    let Ok(tokens) = given.try_iter() else {
        return Err(refuse(format!(
            "special tokens must be a collection of str or \"all\", got {}",
            given.repr()?
        )));
    };
    let name = |token: PyResult<Bound<'_, PyAny>>| {
        let token = token?;
        token
            .extract::<String>()
            .or_else(|_| Err(refuse(format!("a special token must be a str, got {}", token.repr()?))))
    };
    let tokens = tokens.map(name).collect::<PyResult<Vec<String>>>()?;
    Ok(if tokens.is_empty() { Allowed::None } else { Allowed::Only(tokens) })
}

/// Extracts allowed special tokens, all of which must exist: a misspelled one would silently be encoded as
/// text.
fn allowed(tokenizer: &Tokenizer, given: Borrowed<'_, '_, PyAny>) -> PyResult<Allowed> {
    let chosen = choice(given)?;
    if let Allowed::Only(names) = &chosen {
        let specials = tokenizer.0.special_tokens();
        let unknown = if names.len() * specials.len() < MANY {
            names.iter().find(|name| tokenizer.0.special_id(name).is_none())
        } else {
            let known: HashSet<&str> = specials.iter().map(|(special, _)| special.as_str()).collect();
            names.iter().find(|name| !known.contains(name.as_str()))
        };
        if let Some(name) = unknown {
            let message = format!("allowed_special names {name:?}, {}", not_among(tokenizer));
            return Err(raise(given.py(), "EncodeError", message));
        }
    }
    Ok(chosen)
}

/// The end of the message about a name that is not a special token.
fn not_among(tokenizer: &Tokenizer) -> String {
    let specials = tokenizer.0.special_tokens();
    if specials.is_empty() {
        return "but this tokenizer has no special tokens".into();
    }
    let names: Vec<String> = specials.iter().take(20).map(|(name, _)| format!("{name:?}")).collect();
    let more = if specials.len() > 20 { ", …" } else { "" };
    format!("which is not a special token of this tokenizer; it has {}{more}", names.join(", "))
}

/// Returns the ids of the tokens to put at one end of a document: one token, or a list or tuple of them.
fn ids_of(tokenizer: &Tokenizer, tokens: Borrowed<'_, '_, PyAny>) -> PyResult<Vec<u32>> {
    if tokens.is_instance_of::<PyList>() || tokens.is_instance_of::<PyTuple>() {
        return tokens.try_iter()?.map(|token| id_of(tokenizer, token?.as_borrowed())).collect();
    }
    Ok(vec![id_of(tokenizer, tokens)?])
}

/// Returns the id of such a token, given as the name of a special token or as an id.
fn id_of(tokenizer: &Tokenizer, token: Borrowed<'_, '_, PyAny>) -> PyResult<u32> {
    let core = &*tokenizer.0;
    let specials = core.special_tokens();
    let found = if let Ok(name) = token.cast::<PyString>() {
        name.to_str().ok().and_then(|name| core.special_id(name))
    } else {
        let known =
            |&id: &u32| core.token_bytes(id).is_some() || specials.iter().any(|&(_, other)| other == id);
        token.extract::<u32>().ok().filter(known)
    };
    match found {
        Some(id) => Ok(id),
        None => {
            let names: Vec<&str> = specials.iter().map(|(name, _)| name.as_str()).take(20).collect();
            let message = format!(
                "{} is neither a special token nor an id of this tokenizer; its special tokens are {names:?}",
                token.repr()?
            );
            Err(raise(token.py(), "EncodeError", message))
        }
    }
}

/// The number of threads; 0 stands for `None`, one per core.
pub struct Threads(pub usize);

impl<'a, 'py> FromPyObject<'a, 'py> for Threads {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if given.is_none() {
            return Ok(Threads(0));
        }
        match given.extract::<usize>() {
            Ok(threads) if threads > 0 => Ok(Threads(threads)),
            _ => {
                let message =
                    format!("threads must be at least 1, or None for one per core, got {}", given.repr()?);
                Err(raise(given.py(), "SettingsError", message))
            }
        }
    }
}

/// Texts that are kept alive while they are encoded, whatever other threads do to the list they come from.
pub struct Texts<'py>(Vec<Bound<'py, PyString>>);

impl<'py> Texts<'py> {
    pub fn new(texts: &Bound<'py, PyAny>) -> PyResult<Self> {
        let refuse = |message: String| raise(texts.py(), "EncodeError", message);
        if texts.is_instance_of::<PyString>() {
            return Err(refuse("texts is a single str; pass a list, [text], or call encode".into()));
        }
        let text = |(n, item): (usize, Bound<'py, PyAny>)| {
            item.cast_into::<PyString>().or_else(|error| {
                let kind = error.into_inner().get_type().name()?.to_string();
                Err(refuse(format!("texts must be str, but number {n} (counted from 0) is {kind}")))
            })
        };
        if let Ok(list) = texts.cast_exact::<PyList>() {
            return list.iter().enumerate().map(text).collect::<PyResult<_>>().map(Texts);
        }
        if let Ok(tuple) = texts.cast_exact::<PyTuple>() {
            return tuple.iter().enumerate().map(text).collect::<PyResult<_>>().map(Texts);
        }
        let Ok(items) = texts.try_iter() else {
            return Err(refuse(format!(
                "texts must be an iterable of str, got {}",
                texts.get_type().name()?
            )));
        };
        items.enumerate().map(|(n, item)| text((n, item?))).collect::<PyResult<_>>().map(Texts)
    }

    pub fn into_inner(self) -> Vec<Bound<'py, PyString>> {
        self.0
    }

    pub fn borrow(&self) -> PyResult<Vec<&str>> {
        self.0
            .iter()
            .enumerate()
            .map(|(n, text)| numbered(text.py(), n, borrow_str(text, "EncodeError")))
            .collect()
    }
}

/// Names the text in the message of an error.
fn numbered<T>(py: Python<'_>, n: usize, outcome: PyResult<T>) -> PyResult<T> {
    outcome.map_err(|error| {
        if error.is_instance_of::<PyMemoryError>(py) {
            return error;
        }
        raise(py, "EncodeError", format!("text number {n} (counted from 0): {}", error.value(py)))
    })
}

//! Text from Python, borrowed where it lies; and its split into pre-tokens.

use merganser_core::split::{Scratch, Splitter};
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::errors::raise;
use crate::interrupt::run;

/// The UTF-8 of a `str`. Python keeps it beside the string, so nothing is copied more than once.
pub fn borrow_str<'a>(text: &'a Bound<'_, PyString>, error_class: &str) -> PyResult<&'a str> {
    text.to_str().map_err(|error| {
        if error.is_instance_of::<PyUnicodeEncodeError>(text.py()) {
            surrogate(text, &error, error_class)
        } else {
            error // there was no memory for it
        }
    })
}

/// Says how to repair a text with surrogates, which have no UTF-8.
#[cold]
fn surrogate(text: &Bound<'_, PyString>, error: &PyErr, error_class: &str) -> PyErr {
    let py = text.py();
    let at = error.value(py).getattr("start").and_then(|start| start.extract::<usize>());
    let place = at.as_ref().map(|at| format!(" at position {at}")).unwrap_or_default();
    let unit = |at: usize| {
        let unit = text.get_item(at).ok()?.call_method1("encode", ("utf-16-le", "surrogatepass")).ok()?;
        Some(u16::from_le_bytes(unit.cast::<PyBytes>().ok()?.as_bytes().try_into().ok()?))
    };
    let is_pair = at.is_ok_and(|at| {
        unit(at).is_some_and(|unit| (0xd800..0xdc00).contains(&unit))
            && unit(at + 1).is_some_and(|unit| (0xdc00..0xe000).contains(&unit))
    });
    let message = if is_pair {
        format!(
            "the text holds a surrogate pair{place}, which is one character in UTF-16 and has no UTF-8; join it with \
             text.encode(\"utf-16\", \"surrogatepass\").decode(\"utf-16\", \"replace\")"
        )
    } else {
        format!(
            "the text holds a lone surrogate{place}, which is half a character and has no UTF-8; repair it, for \
             instance with text.encode(\"utf-8\", \"replace\").decode()"
        )
    };
    raise(py, error_class, message)
}

/// The bytes of a document, which is a `str` or `bytes`.
pub fn borrow_document<'a>(document: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    if let Ok(text) = document.cast::<PyString>() {
        borrow_str(text, "CorpusError").map(str::as_bytes)
    } else if let Ok(bytes) = document.cast::<PyBytes>() {
        Ok(bytes.as_bytes())
    } else {
        let kind = document.get_type().name()?;
        let message = format!("a document must be str or bytes, not {kind}");
        Err(raise(document.py(), "CorpusError", message))
    }
}

pub fn splitter(py: Python<'_>, pattern: &str) -> PyResult<Splitter> {
    run(py, || Splitter::new(pattern))
}

/// Return the names of the preset patterns.
#[pyfunction]
pub fn preset_names() -> Vec<&'static str> {
    merganser_core::split::preset_names().to_vec()
}

/// Return the pre-tokens of a document.
///
/// Parameters
/// ----------
/// text
///     The document.
/// pattern
///     A preset or a regular expression.
///
/// Raises
/// ------
/// PatternError
///     If the pattern is invalid.
#[pyfunction]
#[pyo3(signature = (text, pattern = "gpt4"))]
pub fn split<'py>(text: &Bound<'py, PyString>, pattern: &str) -> PyResult<Vec<Bound<'py, PyString>>> {
    let py = text.py();
    let text = borrow_str(text, "EncodeError")?;
    let splitter = splitter(py, pattern)?;
    let ends = run(py, || {
        let mut ends = Vec::new();
        splitter.split(text, &mut Scratch::default(), &mut ends).map(|()| ends)
    })?;
    let mut start = 0;
    let pretokens = ends.into_iter().map(|end| {
        let pretoken = &text[start..end as usize];
        start = end as usize;
        PyString::from_bytes(py, pretoken.as_bytes())
    });
    pretokens.collect()
}

/// Return the number of pre-tokens of a document, without keeping them; for benchmarks.
#[pyfunction]
pub fn split_length(text: &Bound<'_, PyString>, pattern: &str) -> PyResult<usize> {
    const PART: usize = 1 << 16;
    let py = text.py();
    let mut rest = borrow_str(text, "EncodeError")?;
    let splitter = splitter(py, pattern)?;
    run(py, || {
        let (mut scratch, mut ends, mut pretokens) = (Scratch::default(), Vec::new(), 0);
        while rest.len() > PART {
            let part = &rest[..rest.floor_char_boundary(PART)];
            let Some(end) = splitter.split_beginning(part, &mut scratch, &mut ends) else { break };
            let end = end?;
            if end == 0 {
                break;
            }
            rest = &rest[end..];
            pretokens += ends.len();
            ends.clear();
        }
        splitter.split(rest, &mut scratch, &mut ends)?;
        Ok(pretokens + ends.len())
    })
}

//! Encodings: what `compat.tokenizers` returns, in one object for all texts of a call and a small one for each text.
//!
//! The ids of all texts are in one array. A list of Python, be it of ids, a mask or offsets, is built when it is asked
//! for, and nothing else is. The garbage collector is kept out of it: thousands of new objects make it run again and
//! again, every so often over all objects of the program, which takes longer than encoding. So the objects of the texts
//! are untracked, because no cycle can include them, and all of them are created before the collector may run.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use merganser_core::encode::{Allowed, Details as CoreDetails};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple, PyType};

use crate::details::Details;
use crate::encode::run_sized;
use crate::frame::{Frame, Padding};
use crate::int_list::CollectorPaused;
use crate::interrupt::Turns;
use crate::new_list::NewList;
use crate::offset_list::Offsets;
use crate::text::borrow_str;

/// Texts that were encoded together.
#[pyclass(frozen, module = "merganser._core")]
pub struct EncodedTexts {
    frame: Py<Frame>,
    texts: Vec<Py<PyString>>,
    /// The ids of all texts with those around each, and where each ends.
    ids: Vec<u32>,
    ends: Vec<usize>,
    /// The length of all encodings, with padding.
    length: usize,
    fast: bool,
    details: Mutex<Found>,
}

/// The details that were asked for.
#[derive(Default)]
struct Found {
    by_text: Vec<Option<Details>>,
    asked: bool,
}

/// A list that an encoding has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Ids,
    TypeIds,
    AttentionMask,
    SpecialTokensMask,
    Offsets,
}

impl Field {
    const NAMES: [(&str, Field); 5] = [
        ("ids", Field::Ids),
        ("type_ids", Field::TypeIds),
        ("attention_mask", Field::AttentionMask),
        ("special_tokens_mask", Field::SpecialTokensMask),
        ("offsets", Field::Offsets),
    ];

    fn named(name: &str) -> PyResult<Field> {
        let found = Field::NAMES.into_iter().find(|(other, _)| *other == name);
        found.map(|(_, field)| field).ok_or_else(|| PyValueError::new_err(format!("{name:?} is no field")))
    }

    fn name(self) -> &'static str {
        let found = Field::NAMES.into_iter().find(|(_, other)| *other == self);
        found.map_or("", |(name, _)| name)
    }
}

/// An encoding before it is a list.
struct Row<'a> {
    /// The ids before the text, those of the text that are kept, and those after it.
    before: &'a [u32],
    text: &'a [u32],
    after: &'a [u32],
    /// Which ids of the text are kept, and the ids of the whole text.
    kept: Range<usize>,
    whole: &'a [u32],
    padding: usize,
}

impl Row<'_> {
    fn len(&self) -> usize {
        self.before.len() + self.text.len() + self.after.len() + self.padding
    }
}

#[pymethods]
impl EncodedTexts {
    fn __len__(&self) -> usize {
        self.ends.len()
    }

    /// How the texts were encoded.
    #[getter]
    fn frame(&self, py: Python<'_>) -> Py<Frame> {
        self.frame.clone_ref(py)
    }

    /// Whether nothing but ids is known of the texts.
    #[getter]
    fn fast(&self) -> bool {
        self.fast
    }

    /// The length of all encodings, with padding; 0 if there is none.
    #[getter]
    fn length(&self) -> usize {
        self.length
    }

    /// Return the number of ids of the longest encoding.
    fn longest(&self) -> usize {
        (0..self.ends.len()).map(|at| self.row(at).len()).max().unwrap_or(0)
    }

    /// Return the ids of a text, without those around it, before anything was cut off.
    fn text_ids<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyList>> {
        self.check(at)?;
        self.frame.get().tokenizer.get().1.list(py, self.row(at).whole)
    }

    /// Return what is known of the tokens of a text.
    ///
    /// The first text that is asked about is encoded alone, the second together with all others: a program
    /// that asks about one of them asks about all of them.
    #[pyo3(name = "details")]
    fn details_of(&self, py: Python<'_>, at: usize) -> PyResult<Details> {
        self.check(at)?;
        self.details(py, at)
    }

    /// Return an encoding for each text.
    ///
    /// Parameters
    /// ----------
    /// kind
    ///     The class of encodings, which inherits from `Encoded`.
    fn encodings<'py>(slf: &Bound<'py, Self>, kind: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyList>> {
        let _paused = CollectorPaused::new(slf.py());
        let encoding = |at: usize| {
            let encoding = kind.call1((slf, at))?.cast_into::<Encoded>()?;
            // SAFETY: it is an object of a class with support for the collector, as all classes of PyO3 have. Nothing
            // that it refers to leads back to it.
            unsafe { ffi::PyObject_GC_UnTrack(encoding.as_ptr().cast()) };
            Ok(encoding)
        };
        PyList::new(slf.py(), (0..slf.get().ends.len()).map(encoding).collect::<PyResult<Vec<_>>>()?)
    }

    /// Return a list for each encoding.
    ///
    /// Parameters
    /// ----------
    /// field
    ///     "ids", "type_ids", "attention_mask", "special_tokens_mask" or "offsets".
    /// encodings
    ///     The encodings, which are asked for what only they know.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        field: &str,
        encodings: &Bound<'py, PyList>,
    ) -> PyResult<Bound<'py, PyList>> {
        let named = Field::named(field)?;
        let mut rows = Vec::with_capacity(self.ends.len());
        let mut spans = Vec::new();
        let mut turns = Turns::new();
        let mut paused = Some(CollectorPaused::new(py));
        for at in 0..self.ends.len() {
            if turns.is_due() {
                paused = None;
                turns.give(py)?;
            }
            paused.get_or_insert_with(|| CollectorPaused::new(py));
            rows.push(match self.list(py, at, named, &mut spans)? {
                Some(list) => list.into_any(),
                None => encodings.get_item(at)?.getattr(field)?,
            });
        }
        PyList::new(py, rows)
    }

    /// Return a field of all encodings as an array; None if it is empty or their lengths differ.
    fn array<'py>(&self, py: Python<'py>, field: &str) -> PyResult<Option<Bound<'py, PyArray2<i64>>>> {
        let field = Field::named(field)?;
        let rows = self.ends.len();
        let columns = if rows == 0 { 0 } else { self.row(0).len() };
        if columns == 0 || field == Field::Offsets || (1..rows).any(|at| self.row(at).len() != columns) {
            return Ok(None);
        }
        // The numpy crate panics if numpy cannot be imported.
        py.import("numpy")?;
        let values = py.detach(|| {
            let mut values: Vec<i64> = Vec::with_capacity(rows * columns);
            for at in 0..rows {
                self.segments(&self.row(at), field).iter().for_each(|segment| segment.append_to(&mut values));
            }
            values
        });
        values.into_pyarray(py).reshape([rows, columns]).map(Some)
    }
}

impl EncodedTexts {
    pub fn new(
        frame: Py<Frame>,
        texts: Vec<Py<PyString>>,
        ids: Vec<u32>,
        ends: Vec<usize>,
        fast: bool,
    ) -> EncodedTexts {
        let mut made = EncodedTexts { frame, texts, ids, ends, length: 0, fast, details: Mutex::default() };
        if made.frame.get().padding.is_some() {
            made.length = made.frame.get().padded(made.longest());
        }
        made
    }

    fn check(&self, at: usize) -> PyResult<()> {
        (at < self.ends.len()).then_some(()).ok_or_else(|| PyIndexError::new_err("there is no such text"))
    }

    #[inline]
    fn row(&self, at: usize) -> Row<'_> {
        let frame = self.frame.get();
        let (before, around) = frame.around();
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        let all = &self.ids[start..self.ends[at]];
        let (before, rest) = all.split_at(before);
        let (whole, after) = rest.split_at(all.len() - around);
        let kept = frame.kept(whole.len());
        let padding = self.length.saturating_sub(around + kept.len());
        Row { before, text: &whole[kept.clone()], after, kept, whole, padding }
    }

    /// Returns a field, which is not offsets: what comes first, that of what is before the text, of the text, of what
    /// is after it, and what comes last.
    #[inline]
    fn segments<'a>(&'a self, row: &Row<'a>, field: Field) -> [Segment<'a>; 5] {
        let Frame { types, padding, .. } = self.frame.get();
        let [before, text, after] = match field {
            Field::Ids => [row.before, row.text, row.after].map(Segment::Ids),
            Field::TypeIds => [
                Segment::Numbers(&types.before),
                Segment::Repeated(types.text, row.text.len()),
                Segment::Numbers(&types.after),
            ],
            Field::AttentionMask => {
                [row.before, row.text, row.after].map(|ids| Segment::Repeated(1, ids.len()))
            }
            Field::SpecialTokensMask | Field::Offsets => [
                Segment::Repeated(1, row.before.len()),
                Segment::Repeated(0, row.text.len()),
                Segment::Repeated(1, row.after.len()),
            ],
        };
        let nothing = Segment::Numbers(&[]);
        let Some(Padding { id, type_id, is_first, .. }) = padding else {
            return [nothing, before, text, after, nothing];
        };
        let pad = match field {
            Field::Ids => *id,
            Field::TypeIds => *type_id,
            Field::SpecialTokensMask => 1,
            Field::AttentionMask | Field::Offsets => 0,
        };
        let pads = Segment::Repeated(pad, row.padding);
        match is_first {
            true => [pads, before, text, after, nothing],
            false => [nothing, before, text, after, pads],
        }
    }

    /// Builds a field of an encoding; `None` if the encoding must be asked.
    fn list<'py>(
        &self,
        py: Python<'py>,
        at: usize,
        field: Field,
        spans: &mut Vec<(u32, u32)>,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let row = self.row(at);
        if field == Field::Offsets {
            return self.offsets(py, at, &row, spans);
        }
        let mut list = NewList::new(py, row.len())?;
        for segment in self.segments(&row, field) {
            match segment {
                Segment::Ids(ids) => self.frame.get().tokenizer.get().1.extend(&mut list, ids)?,
                Segment::Repeated(number, count) => list.repeat(&number.into_pyobject(py)?, count)?,
                Segment::Numbers(numbers) => {
                    for number in numbers {
                        list.repeat(&number.into_pyobject(py)?, 1)?;
                    }
                }
            }
        }
        Ok(Some(list.finish()))
    }

    fn offsets<'py>(
        &self,
        py: Python<'py>,
        at: usize,
        row: &Row<'_>,
        spans: &mut Vec<(u32, u32)>,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let Frame { tokenizer, trims, knows_offsets, padding, .. } = self.frame.get();
        // The first token that is kept may have another space trimmed than inside the text.
        if self.fast || !knows_offsets || (*trims == Some(true) && row.kept.start > 0) {
            return Ok(None);
        }
        let core = &tokenizer.get().0;
        let text = borrow_str(self.texts[at].bind(py), "EncodeError")?;
        if !core.offsets_of_ids(text, row.whole, *trims, spans) {
            let Some(known) = self.frame.get().details_offsets(&self.details(py, at)?) else {
                return Ok(None);
            };
            *spans = known;
        }
        let is_first = padding.as_ref().is_some_and(|padding| padding.is_first);
        let (first, last) = if is_first { (row.padding, 0) } else { (0, row.padding) };
        let mut list = Offsets::new(py, row.len())?;
        list.nowhere(first + row.before.len())?;
        list.extend(&spans[row.kept.clone()])?;
        list.nowhere(row.after.len() + last)?;
        Ok(Some(list.finish()))
    }

    /// Returns the details of a text. Those that are computed here are computed without the lock, because another
    /// thread may wait for it with the GIL held.
    fn details(&self, py: Python<'_>, at: usize) -> PyResult<Details> {
        let missing: Vec<usize> = {
            let mut found = self.details.lock().unwrap_or_else(PoisonError::into_inner);
            found.by_text.resize(self.ends.len(), None);
            if let Some(details) = &found.by_text[at] {
                return Ok(details.clone());
            }
            match std::mem::replace(&mut found.asked, true) {
                false => vec![at],
                true => (0..self.ends.len()).filter(|&at| found.by_text[at].is_none()).collect(),
            }
        };
        let texts = missing.iter().map(|&at| borrow_str(self.texts[at].bind(py), "EncodeError"));
        let texts = texts.collect::<PyResult<Vec<&str>>>()?;
        let frame = self.frame.get();
        let core = &frame.tokenizer.get().0;
        let allowed = if frame.specials() { Allowed::All } else { Allowed::None };
        let bytes = texts.iter().map(|text| text.len()).sum();
        let encoded: Vec<CoreDetails> =
            run_sized(py, bytes, |progress| core.encode_details_batch(&texts, &allowed, 0, progress))?;
        let mut found = self.details.lock().unwrap_or_else(PoisonError::into_inner);
        for (at, details) in missing.into_iter().zip(encoded) {
            found.by_text[at] = Some(Details::new(details, core.clone()));
        }
        found.by_text[at].clone().ok_or_else(|| PyIndexError::new_err("there is no such text"))
    }
}

/// Some numbers of a field.
#[derive(Clone, Copy)]
enum Segment<'a> {
    Ids(&'a [u32]),
    Numbers(&'a [u32]),
    Repeated(u32, usize),
}

impl Segment<'_> {
    fn append_to(self, values: &mut Vec<i64>) {
        match self {
            Segment::Ids(numbers) | Segment::Numbers(numbers) => {
                values.extend(numbers.iter().map(|&number| i64::from(number)));
            }
            Segment::Repeated(number, count) => {
                values.extend(std::iter::repeat_n(i64::from(number), count));
            }
        }
    }
}

/// The encoding of a text, from which `Encoding` of `compat.tokenizers` inherits.
///
/// Parameters
/// ----------
/// texts
///     The texts that were encoded together; None for an encoding that is built otherwise.
/// at
///     Which of them it is.
#[pyclass(frozen, subclass, weakref, module = "merganser._core")]
pub struct Encoded {
    source: Option<(Py<EncodedTexts>, usize)>,
    /// What the subclass has built.
    built: Mutex<Option<Py<PyAny>>>,
    /// Whether that is no longer the encoding of the text.
    is_changed: AtomicBool,
}

#[pymethods]
impl Encoded {
    #[new]
    #[pyo3(signature = (texts = None, at = 0))]
    fn new(texts: Option<Bound<'_, EncodedTexts>>, at: usize) -> PyResult<Encoded> {
        let source = match texts {
            None => None,
            Some(texts) => {
                texts.get().check(at)?;
                Some((texts.unbind(), at))
            }
        };
        Ok(Encoded { is_changed: AtomicBool::new(source.is_none()), source, built: Mutex::default() })
    }

    /// The texts that were encoded together, and which of them this is; None if that is no longer so.
    #[getter]
    fn _source<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.source().map(|(texts, at)| (texts.clone_ref(py), at).into_pyobject(py)).transpose()
    }

    /// What was built.
    #[getter]
    fn _built(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.built.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|built| built.clone_ref(py))
    }

    /// Keep what was built.
    ///
    /// Parameters
    /// ----------
    /// built
    ///     An object.
    /// changed
    ///     Whether it is no longer the encoding of the text.
    fn _keep(&self, built: Py<PyAny>, changed: bool) {
        if changed {
            self.is_changed.store(true, Relaxed);
        }
        // Freed after the lock, because that may run code of Python.
        let _old = self.built.lock().unwrap_or_else(PoisonError::into_inner).replace(built);
    }

    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        match slf.get().source() {
            Some((texts, at)) => Ok(texts.get().row(at).len()),
            None => slf.call_method0("_size")?.extract(),
        }
    }

    /// The ids.
    #[getter]
    fn ids<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Encoded::field(slf, Field::Ids)
    }

    /// The number of the input that each token belongs to, as the post-processor says.
    #[getter]
    fn type_ids<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Encoded::field(slf, Field::TypeIds)
    }

    /// 0 for padding, 1 for all other tokens.
    #[getter]
    fn attention_mask<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Encoded::field(slf, Field::AttentionMask)
    }

    /// 1 for tokens that were added to the text, 0 for those of the text.
    #[getter]
    fn special_tokens_mask<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Encoded::field(slf, Field::SpecialTokensMask)
    }

    /// The characters of the input that each token covers.
    #[getter]
    fn offsets<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Encoded::field(slf, Field::Offsets)
    }
}

impl Encoded {
    #[inline]
    fn source(&self) -> Option<(&Py<EncodedTexts>, usize)> {
        let (texts, at) = self.source.as_ref().filter(|_| !self.is_changed.load(Relaxed))?;
        Some((texts, *at))
    }

    #[inline]
    fn field<'py>(slf: &Bound<'py, Self>, field: Field) -> PyResult<Bound<'py, PyAny>> {
        if let Some((texts, at)) = slf.get().source()
            && let Some(list) = texts.get().list(slf.py(), at, field, &mut Vec::new())?
        {
            return Ok(list.into_any());
        }
        slf.call_method1("_joined", (field.name(),))
    }
}

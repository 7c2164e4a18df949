//! Text to ids, as Python asks for it: lists, arrays, numbers and places.
//!
//! Short strings decide the shape of this file: for five letters everything around the encoder costs more
//! than the encoder. So a text below [`SHORT`] is encoded without letting go of the GIL, into a buffer that
//! the thread keeps, and the elements of a list are ints that the tokenizer keeps ([`Ints`]). Work above
//! [`LONG`] runs where Ctrl-C can stop it, which costs a thread.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::{Duration, Instant};

use merganser_core::encode::{Allowed, Batch, Options, Part};
use merganser_core::{Progress, Result};
use numpy::{IntoPyArray, PyArray1};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString, PyTuple};

use crate::errors::{raise, to_python};
use crate::interrupt::{run, run_attached, run_interruptible};
use crate::layout::{layout, prefetch};
use crate::text::borrow_str;
use crate::tokenizer::Tokenizer;

/// Texts below this many bytes take less time than another thread needs to get hold of the GIL.
const SHORT: usize = 4 << 10;

/// From this many bytes on, work takes long enough that somebody may want to stop it.
const LONG: usize = 1 << 20;

/// A list of this many ids takes some milliseconds; signals are looked at after each such step.
const STEP: usize = 1 << 18;

/// Who waits longer than this for the GIL shares it with a thread that is busy.
const BUSY: Duration = Duration::from_millis(1);

/// An argument as it was given, or that it was not.
#[derive(Clone, Copy)]
pub struct Given<'a, 'py>(pub Option<Borrowed<'a, 'py, PyAny>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Given<'a, 'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Given(Some(given)))
    }
}

/// The one text that a method takes.
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

#[cold]
fn no_text(given: Borrowed<'_, '_, PyAny>) -> PyErr {
    let kind = given.get_type().name().map_or_else(|_| "something else".into(), |name| name.to_string());
    let advice = if given.is_instance_of::<PyBytes>() {
        "decode it first: text.decode()"
    } else if given.try_iter().is_ok() {
        "pass a list of texts to encode_batch"
    } else {
        "pass a str"
    };
    raise(given.py(), "ArgumentError", format!("the text to encode must be one str, not {kind}; {advice}"))
}

/// The int that comes so many later in a list is asked for.
const AHEAD: usize = 16;

/// How the caller wants special tokens treated, as the methods take it.
#[derive(Clone, Copy)]
pub struct Policy<'a, 'py> {
    pub allowed: Given<'a, 'py>,
    pub disallowed: Given<'a, 'py>,
    pub prepend: Given<'a, 'py>,
    pub append: Given<'a, 'py>,
}

/// So many comparisons of names cost more than a hash table.
const MANY: usize = 256;

static SAFE: Options = Options::SAFE;
static ORDINARY: Options = Options::ORDINARY;

impl Policy<'_, '_> {
    /// Hands over the options this stands for; those that nobody asked about are not made anew.
    #[inline]
    fn resolve<T>(self, tokenizer: &Tokenizer, then: impl FnOnce(&Options) -> PyResult<T>) -> PyResult<T> {
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
    fn options(self, tokenizer: &Tokenizer) -> PyResult<Options> {
        let end = |token: Given<'_, '_>| match token.0 {
            Some(token) if !token.is_none() => id_of(tokenizer, token).map(Some),
            _ => Ok(None),
        };
        Ok(Options {
            allowed: self.allowed.0.map_or(Ok(Allowed::None), |given| allowed(tokenizer, given))?,
            disallowed: self.disallowed.0.map_or(Ok(Allowed::All), choice)?,
            prepend: end(self.prepend)?,
            append: end(self.append)?,
        })
    }
}

pub fn encode<'py>(
    tokenizer: &Tokenizer,
    text: &Bound<'py, PyString>,
    policy: Policy<'_, 'py>,
) -> PyResult<Bound<'py, PyList>> {
    policy.resolve(tokenizer, |options| {
        with_ids(tokenizer, text, options, |ids| tokenizer.1.list(text.py(), ids))
    })
}

pub fn encode_ordinary<'py>(
    tokenizer: &Tokenizer,
    text: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyList>> {
    with_ids(tokenizer, text, &ORDINARY, |ids| tokenizer.1.list(text.py(), ids))
}

pub fn encode_batch<'py>(
    tokenizer: &Tokenizer,
    texts: &Bound<'py, PyAny>,
    policy: Policy<'_, 'py>,
    threads: Threads,
) -> PyResult<Bound<'py, PyList>> {
    let py = texts.py();
    let options = policy.options(tokenizer)?;
    let kept = Texts::new(texts)?;
    let borrowed = kept.borrow()?;
    let lists = PyList::empty(py);
    let mut maker =
        Lists { ints: &tokenizer.1, made: lists.clone().unbind(), held: Part::default(), enough: 0 };
    let outcome = run(py, || {
        let progress = Progress::new();
        Ok(tokenizer.0.encode_in_order(&borrowed, &options, threads.0, &progress, |part| maker.take(part)))
    })?;
    outcome.and_then(|()| maker.make_held()).map_err(|stop| match stop {
        Stop::Core(error) => to_python(py, error),
        Stop::Python(error) => error,
    })?;
    Ok(lists)
}

/// Lists of ids, made from the parts of a batch while it is being encoded. Takes the GIL for each part, and
/// looks for Ctrl-C then.
struct Lists<'a> {
    ints: &'a Ints,
    made: Py<PyList>,
    /// What came and was not made into lists yet: a document that goes on, or parts that came while the GIL
    /// was hard to get.
    held: Part,
    /// Below so many ids it is not worth waiting for the GIL.
    enough: usize,
}

/// Why a batch ends early.
enum Stop {
    Core(merganser_core::Error),
    Python(PyErr),
}

impl From<merganser_core::Error> for Stop {
    fn from(error: merganser_core::Error) -> Stop {
        Stop::Core(error)
    }
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Stop {
        Stop::Python(error)
    }
}

impl Lists<'_> {
    /// Without the GIL.
    fn take(&mut self, part: &Part) -> std::result::Result<(), Stop> {
        if self.held.ends.is_empty() && !part.goes_on && part.ids.len() >= self.enough {
            return self.make(part);
        }
        let before = self.held.ids.len();
        if self.held.goes_on {
            // Its first document is the last that is held.
            self.held.ends.pop();
        }
        self.held.ids.extend_from_slice(&part.ids);
        self.held.ends.extend(part.ends.iter().map(|end| before + end));
        self.held.goes_on = part.goes_on;
        if part.goes_on || self.held.ids.len() < self.enough {
            return Python::attach(|py| py.check_signals()).map_err(Stop::Python);
        }
        self.make_held()
    }

    fn make_held(&mut self) -> std::result::Result<(), Stop> {
        let mut held = std::mem::take(&mut self.held);
        self.make(&held)?;
        held.ids.clear();
        held.ends.clear();
        self.held = held;
        Ok(())
    }

    fn make(&mut self, part: &Part) -> std::result::Result<(), Stop> {
        let asked = Instant::now();
        Python::attach(|py| {
            if asked.elapsed() > BUSY {
                self.enough = (2 * self.enough).clamp(STEP / 4, 16 * STEP);
            }
            py.check_signals()?;
            let _paused = CollectorPaused::new(py);
            let made = self.made.bind(py);
            let mut start = 0;
            for &end in &part.ends {
                made.append(self.ints.list(py, &part.ids[start..end])?)?;
                start = end;
            }
            Ok(())
        })
    }
}

/// The ids of all texts, and where those of each begin and end.
pub type Flat<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<i64>>);

pub fn encode_flat<'py>(
    tokenizer: &Tokenizer,
    texts: &Bound<'py, PyAny>,
    policy: Policy<'_, 'py>,
    threads: Threads,
) -> PyResult<Flat<'py>> {
    let py = texts.py();
    // The crate of the same name panics where it cannot import it.
    py.import("numpy")?;
    let Batch { ids, offsets } = flat(tokenizer, texts, policy, threads)?;
    Ok((ids.into_pyarray(py), offsets.into_pyarray(py)))
}

pub fn count_tokens<'py>(
    tokenizer: &Tokenizer,
    texts: &Bound<'py, PyAny>,
    policy: Policy<'_, 'py>,
    threads: Threads,
) -> PyResult<Bound<'py, PyAny>> {
    let py = texts.py();
    let core = &*tokenizer.0;
    if let Ok(text) = texts.cast::<PyString>() {
        let count = policy.resolve(tokenizer, |options| {
            let borrowed = borrow_str(text, "EncodeError")?;
            if borrowed.len() < LONG {
                return with_ids(tokenizer, text, options, |ids| Ok(ids.len()));
            }
            let counts = run_interruptible(py, None, &Progress::new(), |progress| {
                core.count_batch(&[borrowed], options, threads.0, progress)
            })?;
            Ok(counts[0])
        })?;
        return Ok(count.into_pyobject(py)?.into_any());
    }
    let options = policy.options(tokenizer)?;
    let texts = Texts::new(texts)?;
    let borrowed = texts.borrow()?;
    let counts = run_sized(py, size(&borrowed), |progress| {
        core.count_batch(&borrowed, &options, threads.0, progress)
    })?;
    Ok(PyList::new(py, counts)?.into_any())
}

/// A `merganser.Spans`.
pub fn encode_with_offsets<'py>(
    tokenizer: &Tokenizer,
    text: &Bound<'py, PyString>,
    policy: Policy<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = text.py();
    let options = policy.options(tokenizer)?;
    let core = &*tokenizer.0;
    with_ids(tokenizer, text, &options, |ids| {
        let spans = run(py, || core.spans(ids, &options))?;
        let class = py.import("merganser.tokenizer")?.getattr("Spans")?;
        class.call1((tokenizer.1.list(py, ids)?, spans.chars, spans.bytes))
    })
}

/// Encodes one text and hands its ids to `use_ids`.
#[inline]
fn with_ids<'py, T>(
    tokenizer: &Tokenizer,
    text: &Bound<'py, PyString>,
    options: &Options,
    use_ids: impl FnOnce(&[u32]) -> PyResult<T>,
) -> PyResult<T> {
    let py = text.py();
    let text = borrow_str(text, "EncodeError")?;
    let core = &*tokenizer.0;
    if text.len() >= LONG {
        let batch = run_interruptible(py, None, &Progress::new(), |progress| {
            core.encode_batch(&[text], options, 0, progress)
        })?;
        return use_ids(&batch.ids);
    }
    BUFFER.with(|buffer| {
        // Taken where a signal handler encodes while a list is built.
        let (mut kept, mut own) = (buffer.try_borrow_mut(), Vec::new());
        let ids = kept.as_deref_mut().unwrap_or(&mut own);
        ids.clear();
        if text.len() < SHORT {
            run_attached(py, || core.encode_with(text, options, ids))?;
        } else {
            run(py, || core.encode_with(text, options, ids))?;
        }
        use_ids(ids)
    })
}

thread_local! {
    /// At most one id for each byte of a text below [`LONG`].
    static BUFFER: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

fn flat<'py>(
    tokenizer: &Tokenizer,
    texts: &Bound<'py, PyAny>,
    policy: Policy<'_, 'py>,
    threads: Threads,
) -> PyResult<Batch> {
    let options = policy.options(tokenizer)?;
    let kept = Texts::new(texts)?;
    let borrowed = kept.borrow()?;
    let core = &*tokenizer.0;
    run_sized(texts.py(), size(&borrowed), |progress| {
        core.encode_batch(&borrowed, &options, threads.0, progress)
    })
}

/// Without the GIL; where Ctrl-C can stop it if there is much to do.
fn run_sized<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce(&Progress) -> Result<T> + Send,
) -> PyResult<T> {
    let progress = Progress::new();
    if bytes < LONG { run(py, || work(&progress)) } else { run_interruptible(py, None, &progress, work) }
}

fn size(texts: &[&str]) -> usize {
    texts.iter().map(|text| text.len()).sum()
}

/// Texts that cannot go away while they are encoded, whatever other threads do to the list they come from.
struct Texts<'py>(Vec<Bound<'py, PyString>>);

impl<'py> Texts<'py> {
    fn new(texts: &Bound<'py, PyAny>) -> PyResult<Self> {
        let refuse = |message: String| raise(texts.py(), "EncodeError", message);
        if texts.is_instance_of::<PyString>() {
            return Err(refuse("texts is one str; put it in a list, [text], or call encode".into()));
        }
        let text = |(n, item): (usize, Bound<'py, PyAny>)| {
            item.cast_into::<PyString>().or_else(|error| {
                let kind = error.into_inner().get_type().name()?.to_string();
                Err(refuse(format!("a text must be str, and number {n} (the first is 0) is {kind}")))
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
                "texts must be str in a list or an iterable, not {}",
                texts.get_type().name()?
            )));
        };
        items.enumerate().map(|(n, item)| text((n, item?))).collect::<PyResult<_>>().map(Texts)
    }

    fn borrow(&self) -> PyResult<Vec<&str>> {
        self.0
            .iter()
            .enumerate()
            .map(|(n, text)| numbered(text.py(), n, borrow_str(text, "EncodeError")))
            .collect()
    }
}

/// Says which of many texts is meant.
fn numbered<T>(py: Python<'_>, n: usize, outcome: PyResult<T>) -> PyResult<T> {
    outcome.map_err(|error| {
        raise(py, "EncodeError", format!("text number {n} (the first is 0): {}", error.value(py)))
    })
}

/// The Python int of every id, made when it is first used, so that an element of a list costs a reference
/// count and not an object. Takes 8 bytes per id, and 32 for each that was used: 8 MB for all 200,000 of
/// o200k.
pub struct Ints {
    len: usize,
    /// Null until used; else a reference that this table owns.
    table: OnceLock<Box<[AtomicPtr<ffi::PyObject>]>>,
}

impl Ints {
    pub fn new(len: usize) -> Ints {
        Ints { len, table: OnceLock::new() }
    }

    #[inline]
    pub fn list<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
        let list = empty_list(py, ids.len())?;
        let mut at = 0;
        for step in ids.chunks(STEP) {
            if at > 0 {
                py.check_signals()?;
            }
            self.fill(&list, at, step)?;
            at += step.len();
        }
        Ok(list)
    }

    fn fill(&self, list: &Bound<'_, PyList>, at: usize, ids: &[u32]) -> PyResult<()> {
        match layout(list.py()) {
            Some(layout) => {
                // SAFETY: `list` is a list by its type; its only caller, `list`, has created it with more
                // than `at` places.
                let room = unsafe { layout.items(list.as_ptr()).add(at) };
                // SAFETY: `fill_with` calls this once for every `n` below the number of ids, with an int that
                // the table keeps alive. `list` has created the list with a place for each id and shown it to
                // nobody; each place is still null, so no reference is overwritten. `list` holds the GIL.
                self.fill_with(list, ids, |n, int| unsafe {
                    layout.add_reference(int);
                    room.add(n).write(int);
                })
            }
            // SAFETY: as above; the call takes over the reference that is added before it.
            None => self.fill_with(list, ids, |n, int| unsafe {
                ffi::Py_INCREF(int);
                ffi::PyList_SetItem(list.as_ptr(), (at + n) as isize, int);
            }),
        }
    }

    /// `put` puts one more reference to an int, which the table keeps alive, at a place of the list.
    #[inline(always)]
    fn fill_with(
        &self,
        list: &Bound<'_, PyList>,
        ids: &[u32],
        put: impl Fn(usize, *mut ffi::PyObject),
    ) -> PyResult<()> {
        let table = self.table.get_or_init(|| (0..self.len).map(|_| AtomicPtr::default()).collect());
        for (n, &id) in ids.iter().enumerate() {
            // Places of the table and counts of ints lie all over memory, and each would be waited for.
            if let Some(&later) = ids.get(n + 2 * AHEAD) {
                prefetch(&raw const table[later as usize]);
                prefetch(table[ids[n + AHEAD] as usize].load(Ordering::Acquire));
            }
            let mut int = table[id as usize].load(Ordering::Acquire);
            if int.is_null() {
                int = make(list.py(), &table[id as usize], id)?;
            }
            put(n, int);
        }
        Ok(())
    }
}

#[cold]
fn make(py: Python<'_>, slot: &AtomicPtr<ffi::PyObject>, id: u32) -> PyResult<*mut ffi::PyObject> {
    let int: Bound<'_, PyInt> = id.into_pyobject(py)?;
    match slot.compare_exchange(std::ptr::null_mut(), int.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Ok(int.into_ptr()),
        Err(others) => Ok(others),
    }
}

impl Drop for Ints {
    fn drop(&mut self) {
        // Python frees objects with the GIL held; where it no longer runs, there is nothing left to free.
        let table = self.table.take().unwrap_or_default();
        Python::try_attach(|_| {
            for slot in table {
                // SAFETY: a slot is null or owns one reference, which `make` gave it; the table has been
                // taken out of `self`, so nobody uses it any more. `try_attach` holds the GIL.
                unsafe { ffi::Py_XDECREF(slot.into_inner()) };
            }
        });
    }
}

fn empty_list<'py>(py: Python<'py>, len: usize) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: we hold the GIL (`py`). PyList_New returns a new reference to a list, or null with an exception
    // set: what `from_owned_ptr_or_err` takes.
    unsafe { Ok(Bound::from_owned_ptr_or_err(py, ffi::PyList_New(len as isize))?.cast_into_unchecked()) }
}

/// No garbage collection while thousands of lists are made that hold nothing but ints: each of its runs would
/// walk all of them.
struct CollectorPaused<'py> {
    was_enabled: bool,
    /// The proof that the GIL is held from `new` to `drop`.
    _py: Python<'py>,
}

impl<'py> CollectorPaused<'py> {
    fn new(py: Python<'py>) -> CollectorPaused<'py> {
        // SAFETY: the call needs only the GIL, which `py` stands for.
        CollectorPaused { was_enabled: unsafe { ffi::PyGC_Disable() } != 0, _py: py }
    }
}

impl Drop for CollectorPaused<'_> {
    fn drop(&mut self) {
        if self.was_enabled {
            // SAFETY: the call needs only the GIL, which `self._py` stands for.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}

/// "all", or a collection of special tokens.
fn choice(given: Borrowed<'_, '_, PyAny>) -> PyResult<Allowed> {
    let refuse = |message: String| raise(given.py(), "EncodeError", message);
    if let Ok(word) = given.cast::<PyString>() {
        if word.to_str().is_ok_and(|word| word == "all") {
            return Ok(Allowed::All);
        }
        return Err(refuse(format!(
            "name special tokens in a collection, [{}], or say \"all\"",
            word.repr()?
        )));
    }
    let Ok(tokens) = given.try_iter() else {
        return Err(refuse(format!(
            "special tokens are a collection of str or \"all\", not {}",
            given.repr()?
        )));
    };
    let name = |token: PyResult<Bound<'_, PyAny>>| {
        let token = token?;
        token
            .extract::<String>()
            .or_else(|_| Err(refuse(format!("a special token is a str, not {}", token.repr()?))))
    };
    let tokens = tokens.map(name).collect::<PyResult<Vec<String>>>()?;
    Ok(if tokens.is_empty() { Allowed::None } else { Allowed::Only(tokens) })
}

/// The same; every name must be that of a special token, or it would be encoded as text without a word.
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

/// What to say about a name that is no special token.
fn not_among(tokenizer: &Tokenizer) -> String {
    let specials = tokenizer.0.special_tokens();
    if specials.is_empty() {
        return "but this tokenizer has no special tokens".into();
    }
    let names: Vec<String> = specials.iter().take(20).map(|(name, _)| format!("{name:?}")).collect();
    let more = if specials.len() > 20 { ", …" } else { "" };
    format!("which is not a special token of this tokenizer; it has {}{more}", names.join(", "))
}

/// How many threads to use; 0 stands for `None`, one per core.
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
                    format!("threads is a number from 1 on, or None for all cores, not {}", given.repr()?);
                Err(raise(given.py(), "SettingsError", message))
            }
        }
    }
}

/// The id of a token to put at the ends of a document: that of a special token, or the id itself.
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
                "{} is neither a special token of this tokenizer nor an id of it; its special tokens are {names:?}",
                token.repr()?
            );
            Err(raise(token.py(), "EncodeError", message))
        }
    }
}

//! Frame: what is put around the ids of a text, and what is cut off.

use merganser_core::Progress;
use merganser_core::encode::{Allowed, Batch, Options};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arguments::Texts;
use crate::details::Details;
use crate::encode::{run_sized, with_ids};
use crate::encodings::EncodedTexts;
use crate::tokenizer::Tokenizer;

/// How single texts are encoded: with known tokens around them, a limit, and padding.
///
/// The plan of a `Tokenizer` of `compat.tokenizers` inherits from it.
///
/// Parameters
/// ----------
/// tokenizer
///     The tokenizer.
/// specials
///     Whether special tokens are found in texts.
/// before, after
///     The ids around the text, each with its type id.
/// type_id
///     The type id of the text.
/// trims
///     How offsets are trimmed, as for `Details.offsets`.
/// offsets
///     Whether offsets are those of the text alone, whatever is before it.
/// respells
///     Whether added tokens may have been found in another spelling than that which trimming looks at.
/// limit
///     The most ids of an encoding, if there is a limit.
/// keeps_end
///     Whether the end of a text that is too long is kept, not its beginning.
/// padding
///     The settings of padding, if there is any: an object with the attributes of `PaddingSettings`.
#[pyclass(frozen, subclass, module = "merganser._core")]
pub struct Frame {
    pub tokenizer: Py<Tokenizer>,
    options: Options,
    pub types: Types,
    pub trims: Option<bool>,
    pub knows_offsets: bool,
    respells: bool,
    limit: Option<usize>,
    keeps_end: bool,
    pub padding: Option<Padding>,
}

/// The type ids of an encoding.
pub struct Types {
    pub before: Vec<u32>,
    pub text: u32,
    pub after: Vec<u32>,
}

/// The padding of a `Tokenizer` of `compat.tokenizers`.
pub struct Padding {
    pub id: u32,
    pub type_id: u32,
    pub is_first: bool,
    length: Option<usize>,
    multiple: Option<usize>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Padding {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Padding {
            id: given.getattr("pad_id")?.extract()?,
            type_id: given.getattr("pad_type_id")?.extract()?,
            is_first: given.getattr("direction")?.extract::<String>()? == "left",
            length: given.getattr("length")?.extract()?,
            multiple: given.getattr("pad_to_multiple_of")?.extract()?,
        })
    }
}

/// A token and its type id.
type Typed = (u32, u32);

#[pymethods]
impl Frame {
    #[new]
    #[pyo3(signature = (
        tokenizer, *, specials, before, type_id, after, trims, offsets, respells=false, limit=None, keeps_end=false, padding=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        tokenizer: Py<Tokenizer>,
        specials: bool,
        before: Vec<Typed>,
        type_id: u32,
        after: Vec<Typed>,
        trims: Option<bool>,
        offsets: bool,
        respells: bool,
        limit: Option<usize>,
        keeps_end: bool,
        padding: Option<Padding>,
    ) -> Frame {
        let (prepend, types_before) = before.into_iter().unzip();
        let (append, types_after) = after.into_iter().unzip();
        Frame {
            tokenizer,
            options: Options {
                allowed: if specials { Allowed::All } else { Allowed::None },
                disallowed: Allowed::None,
                prepend,
                append,
            },
            types: Types { before: types_before, text: type_id, after: types_after },
            trims,
            knows_offsets: offsets,
            respells,
            limit,
            keeps_end,
            padding,
        }
    }

    /// Return which ids of a text are kept: the first, and the one after the last.
    ///
    /// Parameters
    /// ----------
    /// size
    ///     The number of its ids.
    #[pyo3(name = "kept")]
    fn kept_of(&self, size: usize) -> (usize, usize) {
        let kept = self.kept(size);
        (kept.start, kept.end)
    }

    /// Encode a text.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     If the text contains a lone surrogate.
    fn encode(slf: Bound<'_, Self>, text: Bound<'_, PyString>) -> PyResult<EncodedTexts> {
        let frame = slf.get();
        let ids = with_ids(frame.tokenizer.get(), &text, &frame.options, |ids| Ok(ids.to_vec()))?;
        let ends = vec![ids.len()];
        Ok(EncodedTexts::new(slf.unbind(), vec![text.unbind()], ids, ends, false))
    }

    /// Encode texts.
    ///
    /// Parameters
    /// ----------
    /// texts
    ///     The texts.
    /// fast
    ///     Whether nothing but ids will be known of them.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     If a text contains a lone surrogate.
    #[pyo3(signature = (texts, *, fast = false))]
    fn encode_batch(slf: Bound<'_, Self>, texts: &Bound<'_, PyAny>, fast: bool) -> PyResult<EncodedTexts> {
        let frame = slf.get();
        let kept = Texts::new(texts)?;
        let borrowed = kept.borrow()?;
        let core = &frame.tokenizer.get().0;
        let bytes = borrowed.iter().map(|text| text.len()).sum();
        let Batch { ids, offsets } = run_sized(texts.py(), bytes, |progress: &Progress| {
            core.encode_batch(&borrowed, &frame.options, 0, progress)
        })?;
        let ends = offsets.iter().skip(1).map(|&end| end as usize).collect();
        let texts = kept.into_inner().into_iter().map(Bound::unbind).collect();
        Ok(EncodedTexts::new(slf.unbind(), texts, ids, ends, fast))
    }
}

impl Frame {
    /// How many ids are before the text, and how many around it.
    pub fn around(&self) -> (usize, usize) {
        let before = self.options.prepend.len();
        (before, before + self.options.append.len())
    }

    /// Whether special tokens are found in texts.
    pub fn specials(&self) -> bool {
        self.options.allowed == Allowed::All
    }

    /// Returns the offsets of a whole text from its details, unless added tokens may be spelled differently from how
    /// they were found, which trimming depends on.
    pub fn details_offsets(&self, details: &Details) -> Option<Vec<(u32, u32)>> {
        if self.respells && self.trims.is_some() {
            return None;
        }
        Some(details.spans(self.trims))
    }

    /// Returns which ids of a text of `len` ids are kept.
    #[inline]
    pub fn kept(&self, len: usize) -> std::ops::Range<usize> {
        let room = self.limit.map_or(len, |limit| limit.saturating_sub(self.around().1));
        if len <= room {
            0..len
        } else if self.keeps_end {
            len - room..len
        } else {
            0..room
        }
    }

    /// Returns the length of all encodings, given that of the longest; 0 without padding.
    pub fn padded(&self, longest: usize) -> usize {
        let Some(Padding { length, multiple, .. }) = &self.padding else { return 0 };
        let length = length.unwrap_or(longest);
        match multiple {
            Some(multiple) if *multiple > 0 => length.next_multiple_of(*multiple),
            _ => length,
        }
    }
}

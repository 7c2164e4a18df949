//! The Python exception for each error of the core. The classes are in `merganser/errors.py`.

use std::ffi::CString;

use merganser_core::Error;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Returns an exception of the class `name` in `merganser.errors`.
pub fn raise(py: Python<'_>, name: &str, message: impl Into<String>) -> PyErr {
    let class = py.import("merganser.errors").and_then(|module| module.getattr(name));
    match class.and_then(|class| class.call1((message.into(),))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// Returns `bytes`, or a `MemoryError` where `PyBytes::new` panics.
pub fn bytes_of<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |room| {
        room.copy_from_slice(bytes);
        Ok(())
    })
}

/// Issues a `MerganserWarning`.
pub fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    let class = py.import("merganser.errors")?.getattr("MerganserWarning")?;
    PyErr::warn(py, &class, &CString::new(message)?, 1)
}

pub fn to_python(py: Python<'_>, error: Error) -> PyErr {
    use Error::*;
    let class = match &error {
        Cancelled => return PyKeyboardInterrupt::new_err(()),
        OutOfMemory { .. } => return PyMemoryError::new_err(error.to_string()),
        Read { .. } | Changed { .. } | EmptyCorpus | TooLong { .. } | LongStretch { .. } => "CorpusError",
        Damaged { .. } | Bomb { .. } | TooLarge { .. } | WideWindow { .. } => "CorpusError",
        BadRecord { .. } | BrokenFile { .. } | NoColumn { .. } => "CorpusError",
        Write { .. } => "WriteError",
        UnknownPreset { .. } | BadPattern { .. } | StepLimit { .. } | EmptyMatch { .. } => "PatternError",
        BadSpecial { .. } | BadSetting { .. } | VocabTooSmall { .. } | TooManyTokens { .. } => {
            "SettingsError"
        }
        UnlikeCounts { .. } | CountOverflow | BadCountsFile { .. } | BadRun { .. } => "CountsError",
        OtherCheckpoint { .. } | BusyCheckpoint { .. } => "CheckpointError",
        BadTokenizer { .. } => "TokenizerError",
        BadTokenizerFile { .. } => "FormatError",
        CorpusEndsEarly | BusyFolder { .. } | DamagedPiece { .. } => "TokensError",
        SpecialInText { .. } | UnknownToken { .. } => "EncodeError",
        UnknownId { .. } | NotUtf8 { .. } => "DecodeError",
    };
    raise(py, class, error.to_string())
}

//! The bindings: convert, release the GIL, call, map the error. All logic is in `merganser-core`.

mod arguments;
mod counted;
mod counts;
mod counts_file;
mod decode;
mod details;
mod documents;
mod embed;
mod encode;
mod encode_batch;
mod encodings;
mod errors;
mod faults;
mod feed;
mod frame;
mod ids;
mod incremental;
mod int_list;
mod interrupt;
mod layout;
mod new_list;
mod offset_list;
mod reading;
mod stream;
mod string;
mod text;
mod tokenizer;
mod tokens;
mod train;
mod tsne;

use pyo3::prelude::*;

/// The private half of the Python package. `merganser/_core.pyi` describes it to type checkers, with the same
/// docstrings.
///
/// Reading lists, counting references and the cache of ints rely on the GIL, so a free-threaded interpreter turns it
/// on when it imports this module; without `gil_used`, PyO3 would promise that it is not needed.
#[pymodule(gil_used = true)]
mod _core {
    #[pymodule_export]
    use super::counted::{token_frequencies, token_totals};
    #[pymodule_export]
    use super::counts::{Counter, Counts, shard_cuts};
    #[pymodule_export]
    use super::counts_file::{CountsReader, merge_counts, top_counts};
    #[pymodule_export]
    use super::decode::StreamDecoder;
    #[pymodule_export]
    use super::details::{Details, Stages};
    #[pymodule_export]
    use super::documents::{DocumentBatches, Documents};
    #[pymodule_export]
    use super::embed::Embedder;
    #[pymodule_export]
    use super::encodings::{Encoded, EncodedTexts};
    #[pymodule_export]
    use super::faults::{arm_fault, course_of, disarm_fault, remove_stale};
    #[pymodule_export]
    use super::frame::Frame;
    #[pymodule_export]
    use super::incremental::{IncrementalEncoder, StreamEncoder};
    #[pymodule_export]
    use super::interrupt::panic_for_test;
    #[pymodule_export]
    use super::reading::{Reading, judge_beginning, judge_file};
    #[pymodule_export]
    use super::text::{preset_names, split, split_length};
    #[pymodule_export]
    use super::tokenizer::{Model, Tokenizer, sha256};
    #[pymodule_export]
    use super::tokens::{TokenWriter, fingerprint, join_pieces};
    #[pymodule_export]
    use super::train::{Training, leading_pairs, train, train_characters};
    #[pymodule_export]
    use super::tsne::Tsne;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::interrupt::keep_panic_messages();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

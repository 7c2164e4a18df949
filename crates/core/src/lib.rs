//! The core of merganser: everything that must be exact and fast, and nothing that knows Python.
//!
//! Data flows one way, and each stage sees only the value that reaches it:
//!
//! ```text
//! corpus ─documents─▶ split ─pre-tokens─▶ count ─Counts─▶ train ─Merges─▶ Tokenizer ─▶ encode ─tokens─▶ embed
//! ```
//!
//! A module uses only modules that come before it; `layers.rs` reads the order from here and tests it:
//!
//! ```layers
//! error → cpu → automaton → progress → memory → key → threads → team → faults → disk → durable → normalize → added
//! → split → pretokenize → corpus → count → merge → tokenizer → encode → train → tokens → embed
//! ```
//!
//! `normalize` is the first stage of tokenizers that come from other libraries. `split` comes before `corpus`
//! because reading in blocks needs to know where a text may be cut. `merge` holds the tables of a vocabulary,
//! which `tokenizer` owns and `encode` reads; `train` may start from a tokenizer, so it comes after both.

pub mod added;
mod automaton;
pub mod corpus;
pub mod count;
mod cpu;
mod disk;
mod durable;
pub mod embed;
pub mod encode;
mod error;
pub mod faults;
mod key;
#[cfg(test)]
mod layers;
mod memory;
mod merge;
pub mod normalize;
pub mod pretokenize;
mod progress;
pub mod split;
mod team;
mod threads;
mod tokenizer;
pub mod tokens;
pub mod train;

pub use durable::remove_stale;
pub use error::{Error, Result, unknown_id};
pub use progress::{Progress, Stage};
pub use threads::{start_in, take_refusal, thread_count};
pub use tokenizer::{Columns, Source as DefinitionSource, TokenLines, Tokenizer, sha256, unpack_ranks};

//! The core of merganser: everything that must be exact and fast, and nothing that knows Python.
//!
//! Data flows one way, and each stage sees only the value that reaches it:
//!
//! ```text
//! corpus ─documents─▶ split ─pre-tokens─▶ count ─Counts─▶ train ─Merges─▶ Tokenizer ─▶ encode ─tokens─▶ embed
//! ```

pub mod corpus;
pub mod count;
mod durable;
pub mod embed;
pub mod encode;
mod error;
mod key;
mod memory;
mod pack;
mod progress;
pub mod split;
mod team;
mod tokenizer;
pub mod tokens;
pub mod train;

pub use error::{Error, Result, unknown_id};
pub use pack::unpack_ranks;
pub use progress::{Progress, Stage};
pub use tokenizer::Tokenizer;

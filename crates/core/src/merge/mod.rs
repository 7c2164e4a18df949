//! Merge: the tables of a vocabulary, and the merging of one pre-token with them.
//!
//! Nothing here knows a split pattern, special tokens or text: it is bytes, ids and pairs. A
//! [`Tokenizer`](crate::Tokenizer) owns one of each table, and encoding reads them.
//!
//! | module | what it holds |
//! |---|---|
//! | `naive` | the oracle: the same ids, slowly and obviously |
//! | `pairs` | which token two neighbors make, and the merging of one pre-token |
//! | `windows` | the same for pre-tokens of any length |
//! | `derive` | ranked tokens to merges |
//! | `symbols` | vocabularies of another kind (characters, listed merges, scores) on the same engine |
//! | `boundaries` | where a text without pre-tokens may be cut |
//! | `crossings` | the boundaries inside a pre-token that no token crosses |
//! | `parts` | a text that was cut there, and the ids of single characters |
//! | `cache` | the ids of pre-tokens that were encoded before |

pub(crate) mod boundaries;
pub(crate) mod cache;
pub(crate) mod crossings;
pub(crate) mod derive;
#[cfg(test)]
pub(crate) mod naive;
pub(crate) mod pairs;
pub(crate) mod parts;
pub(crate) mod symbols;
mod windows;

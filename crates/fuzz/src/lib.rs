//! Fuzz targets: each takes any bytes, runs a part of the core on them, and panics if the result is wrong.
//!
//! A target compares with an independent oracle wherever there is one; see its file. All share the rule that
//! no input may cause a panic: bad input is an `Err`.
//!
//! - `make fuzz MINUTES=30` runs them under libFuzzer (`libfuzzer.rs`), guided by coverage.
//! - `tests/kept.rs` runs every input in `corpus/` and some thousand mutations of them, as part of `make test`.
//! - `corpus/TARGET` holds inputs to start from and all inputs that once failed.

mod bytes;
mod encode;
mod files;
mod records;
mod split;
mod stages;

/// Panics if the core does something wrong with the bytes.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 9] = [
    ("split", split::split),
    ("pattern", split::pattern),
    ("encode", encode::encode),
    ("ranks", encode::ranks),
    ("records", records::records),
    ("counts_file", files::counts_file),
    ("merges_log", files::merges_log),
    ("stages", stages::stages),
    ("charsmap", stages::charsmap),
];

/// Returns the target of that name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(other, _)| *other == name).map(|&(_, target)| target)
}

//! The libFuzzer binary: runs the target that the environment variable `FUZZ_TARGET` names.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<merganser_fuzz::Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    merganser_fuzz::target(&name).unwrap_or_else(|| panic!("FUZZ_TARGET={name:?} names no target"))
});

fuzz_target!(|data: &[u8]| TARGET(data));

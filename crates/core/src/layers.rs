//! Layers: the order of the modules, as `lib.rs` states it, checked on every source file.
//!
//! A path that starts at the crate (`crate::…`, or `super::…` up to the root) names the module it needs.
//! Tests may use any module: an encoder is tested on the result of a training.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

const LIB: &str = include_str!("lib.rs");

/// The modules in their order, as `lib.rs` lists them.
fn order() -> Vec<&'static str> {
    let lines = LIB.lines().skip_while(|line| *line != "//! ```layers").skip(1);
    let list = lines.take_while(|line| *line != "//! ```").map(|line| line.trim_start_matches("//! "));
    list.flat_map(|line| line.split('→')).map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// The names that `lib.rs` re-exports, with the modules that define them.
fn re_exports() -> HashMap<&'static str, &'static str> {
    let uses = LIB.lines().filter_map(|line| line.strip_prefix("pub use ")?.strip_suffix("};"));
    let names = uses.filter_map(|line| line.split_once("::{"));
    names.flat_map(|(module, names)| names.split(", ").map(move |name| (name, module))).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The source without comments and without its tests, which end the file: clippy denies items after them.
fn code(source: &str) -> String {
    let lines = source.lines().take_while(|line| *line != "mod tests {");
    lines.map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The first names of the paths that start at the root, in a file `depth` modules below it.
fn names_used(code: &str, depth: usize) -> Vec<&str> {
    let mut names = Vec::new();
    for root in ["crate::".to_string(), "super::".repeat(depth)] {
        for (at, _) in code.match_indices(&root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            names.extend(first_names(&code[at + root.len()..]));
        }
    }
    names
}

/// `a` of `a::b`, and `a` and `c` of `{a::{b}, c}`.
fn first_names(path: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = |path: &'_ str| path.find(|c| !is_name(c)).unwrap_or(path.len());
    let Some(group) = path.strip_prefix('{') else { return vec![&path[..name(path)]] };
    let (mut names, mut depth, mut fresh) = (Vec::new(), 1, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => fresh = true,
            c if is_name(c) && fresh => {
                names.push(&group[at..at + name(&group[at..])]);
                fresh = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

#[test]
fn the_paths_of_a_file_are_found() {
    let code = "use crate::{Error, key::{a, b},\n c};\nlet x = crate::train::y; my_crate::no";
    assert_eq!(names_used(code, 1), ["Error", "key", "c", "train"]);
    assert_eq!(names_used("use super::key;", 1), ["key"]);
    assert_eq!(names_used("use super::pairs; use super::super::key;", 2), ["key"]);
}

#[test]
fn every_module_is_in_the_order() {
    let declared = LIB.lines().filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "));
    let mut declared: Vec<&str> =
        declared.map(|name| name.trim_end_matches(';')).filter(|name| *name != "layers").collect();
    let mut ordered = order();
    declared.sort_unstable();
    ordered.sort_unstable();
    assert_eq!(ordered, declared);
}

#[test]
fn no_module_uses_a_later_one() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (order, re_exports) = (order(), re_exports());
    let rank = |module: &str| order.iter().position(|name| *name == module);
    let mut files = Vec::new();
    sources(&src, &mut files);
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for file in files {
        let path = file.strip_prefix(&src).unwrap();
        let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
        let module = parts[0].trim_end_matches(".rs");
        let is_test = parts.iter().any(|part| *part == "tests" || part.ends_with("tests.rs"));
        if is_test || ["lib", "layers"].contains(&module) {
            continue;
        }
        let depth = parts.len() - usize::from(parts.len() > 1 && parts.ends_with(&["mod.rs"]));
        let here = rank(module).unwrap();
        for name in names_used(&code(&fs::read_to_string(&file).unwrap()), depth) {
            let used = re_exports.get(name).copied().unwrap_or(name);
            let there = rank(used).unwrap_or_else(|| panic!("{}: no module {used:?}", path.display()));
            checked += 1;
            if there > here {
                wrong.push(format!("{} uses {used}, which comes after {module}", path.display()));
            }
        }
    }
    assert!(checked > 100, "only {checked} paths were found");
    assert!(wrong.is_empty(), "the order in lib.rs is broken:\n{}", wrong.join("\n"));
}

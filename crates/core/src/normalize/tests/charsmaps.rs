//! Character maps for tests: a builder of double arrays that is too slow for real ones.

use base64::Engine;
use std::collections::{BTreeMap, HashSet};

/// Keys of one and several characters, one the start of another, one that disappears, white space.
pub const SMALL: [(&str, &str); 16] = [
    ("\n", " "),
    ("\t", " "),
    ("\r", " "),
    ("\u{a0}", " "),
    ("\u{1e}", ""),
    ("ﬁ", "fi"),
    ("½", "1⁄2"),
    ("™", "TM"),
    ("Ａ", "A"),
    ("e\u{301}", "é"),
    ("か\u{3099}", "が"),
    ("\u{1100}\u{1161}", "가"),
    ("\u{1100}\u{1161}\u{11a8}", "각"),
    ("\u{301}", "´"),
    ("👨", "man"),
    ("…", " . "),
];

pub fn small() -> String {
    base64(&bytes_of(&SMALL))
}

pub fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

pub fn bytes(units: &[u32], len: u32, replacements: &str) -> Vec<u8> {
    let units = units.iter().flat_map(|unit| unit.to_le_bytes());
    len.to_le_bytes().into_iter().chain(units).chain(replacements.bytes()).collect()
}

pub fn bytes_of(keys: &[(&str, &str)]) -> Vec<u8> {
    let mut replacements = String::new();
    let mut values = BTreeMap::new();
    for (key, replacement) in keys {
        values.insert(key.as_bytes(), replacements.len() as u32);
        replacements += &format!("{replacement}\0");
    }
    let mut trie = vec![Some(0)];
    place(&values, &[], 0, &mut trie, &mut HashSet::new());
    let units: Vec<u32> = trie.into_iter().map(|unit| unit.unwrap_or(0xff)).collect();
    bytes(&units, units.len() as u32 * 4, &replacements)
}

/// Writes the children of the node for `prefix`, which is at `at`, to the first offset where all are free. No two nodes
/// may have the same base: a child of one would be taken for that of the other.
fn place(
    values: &BTreeMap<&[u8], u32>,
    prefix: &[u8],
    at: usize,
    trie: &mut Vec<Option<u32>>,
    bases: &mut HashSet<usize>,
) {
    let below = values.keys().filter(|key| key.starts_with(prefix));
    let mut children: Vec<u8> = below.filter_map(|key| key.get(prefix.len()).copied()).collect();
    children.dedup();
    let value = values.get(prefix);
    let labels = || children.iter().copied().chain(value.map(|_| 0));
    let is_free = |unit: usize| trie.get(unit).is_none_or(Option::is_none);
    let is_open =
        |base: usize| !bases.contains(&base) && labels().all(|label| is_free(base ^ usize::from(label)));
    let offset = (1..).find(|offset| is_open(at ^ offset)).unwrap();
    let base = at ^ offset;
    bases.insert(base);
    for label in labels() {
        let unit = base ^ usize::from(label);
        trie.resize(trie.len().max(unit + 1), None);
        trie[unit] = Some(u32::from(label));
    }
    let unit = trie[at].unwrap() | (offset as u32) << 10 | u32::from(value.is_some()) << 8;
    trie[at] = Some(unit);
    if let Some(value) = value {
        trie[base] = Some(value | 1 << 31);
    }
    for label in children {
        place(values, &[prefix, &[label]].concat(), base ^ usize::from(label), trie, bases);
    }
}

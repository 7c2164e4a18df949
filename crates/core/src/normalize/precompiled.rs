//! Precompiled: SentencePiece's table of replacements as Hugging Face applies it.
//!
//! Hugging Face looks up grapheme clusters of less than six bytes: the shortest key that one starts with
//! replaces the whole cluster. Of other clusters, characters are looked up one by one. (SentencePiece itself
//! takes the longest key at every position, see `sentencepiece.rs`.)
//!
//! Clusters are those of the crate `unicode-segmentation`, in the version that Hugging Face uses. They are
//! searched only where one of several characters may matter: two plain characters in a row are never in one
//! cluster, and a plain character between two others is looked up by itself.
//!
//! Cost: a look-up per byte, more for characters whose first byte may begin a key or join a cluster; clusters
//! where needed, at 50-100 MB/s.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use unicode_segmentation::UnicodeSegmentation;

use super::aligned::Output;
use super::charsmap::{BEGINS_KEY, Charsmap, IS_KEY};
use super::table::{Bytes, Table, add_first_byte, char_before, find_byte, ranges};

/// Characters that form a cluster with some neighbor. The last line has those of Unicode 17, which
/// regex-syntax does not know yet.
const JOINING: &str = r"(?x)[\p{gcb=Extend}\p{gcb=ZWJ}\p{gcb=SpacingMark}\p{gcb=Prepend}\p{gcb=RI}\r\n
    \p{gcb=L}\p{gcb=V}\p{gcb=T}\p{gcb=LV}\p{gcb=LVT}
    \u{1acf}-\u{1aeb}\u{10efa}-\u{10efb}\u{11b60}-\u{11b67}\u{1e6e3}-\u{1e6f5}]";

static JOINS: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::new();
    table.add_class(JOINING, 1);
    table
});

/// Clusters of this many bytes and more are not looked up as a whole.
const WHOLE: usize = 6;

/// A character map, ready for Hugging Face's way.
pub struct Precompiled {
    map: Charsmap,
    /// The bytes that keys and characters of clusters begin with.
    first_bytes: Bytes,
    /// Whether a key begins with a character of Unicode's class Prepend; determined when first needed.
    prepends: OnceLock<bool>,
}

impl Precompiled {
    pub fn new(map: Charsmap) -> Precompiled {
        let mut first_bytes = map.first_bytes();
        ranges(JOINING).into_iter().flatten().for_each(|c| add_first_byte(&mut first_bytes, c));
        Precompiled { map, first_bytes, prepends: OnceLock::new() }
    }

    /// Whether two characters that are side by side stay as they are and keep what is before them apart from what
    /// is after them, whatever that is; known for ASCII only. There, a character is in a cluster with one before
    /// it only if that is one of Unicode's class Prepend, and what a cluster becomes depends on how it begins.
    pub fn keeps_apart(&self, before: char, after: char) -> bool {
        let stays =
            |c: char| c != '\0' && c.is_ascii() && JOINS.get(c) == 0 && self.map.flags(c) & IS_KEY == 0;
        let prepends = || {
            let mut prepended = ranges(r"\p{gcb=Prepend}").into_iter().flatten();
            prepended.any(|c| self.map.flags(c) != 0)
        };
        stays(before)
            && stays(after)
            && self.map.flags(after) & BEGINS_KEY == 0
            && !*self.prepends.get_or_init(prepends)
    }

    pub fn normalize(&self, text: &str, out: &mut impl Output) {
        let (map, joins) = (&self.map, &*JOINS);
        let (mut at, mut kept) = (0, 0);
        loop {
            // All before is plain, and not a key.
            let found = find_byte::<true>(text.as_bytes(), at, &self.first_bytes);
            let Some(c) = text[found..].chars().next() else { break };
            let plain = joins.get(c) == 0;
            let start = if plain { found } else { char_before(text, at, found) };
            at = next_boundary(joins, text, found + c.len_utf8(), plain);
            let is_single = at == start + c.len_utf8();
            let matters = if is_single { IS_KEY } else { IS_KEY | BEGINS_KEY };
            if text[start..at].chars().any(|c| map.flags(c) & matters != 0) {
                out.keep(kept..start);
                replace_clusters(map, text, start, at, out);
                kept = at;
            }
        }
        out.keep(kept..text.len());
    }
}

/// Returns the first offset from `at` on that is between two plain characters, or the end.
fn next_boundary(joins: &Table, text: &str, mut at: usize, mut after_plain: bool) -> usize {
    for c in text[at..].chars() {
        let plain = joins.get(c) == 0;
        if plain && after_plain {
            break;
        }
        after_plain = plain;
        at += c.len_utf8();
    }
    at
}

fn replace_clusters(map: &Charsmap, text: &str, start: usize, end: usize, out: &mut impl Output) {
    if text[start..end].chars().nth(1).is_none() {
        return match map.shortest(&text[start..end]) {
            Some(new) => replace(text, start..end, new, out),
            None => out.keep(start..end),
        };
    }
    for (at, cluster) in text[start..end].grapheme_indices(true) {
        let at = start + at;
        if let Some(new) = map.shortest(cluster).filter(|_| cluster.len() < WHOLE) {
            replace(text, at..at + cluster.len(), new, out);
            continue;
        }
        for (offset, c) in cluster.char_indices() {
            let range = at + offset..at + offset + c.len_utf8();
            match map.shortest(&text[range.clone()]) {
                Some(new) => replace(text, range, new, out),
                None => out.keep(range),
            }
        }
    }
}

/// Replaces a range; characters correspond one to one, and the last one stands for those that remain.
fn replace(text: &str, range: Range<usize>, new: &str, out: &mut impl Output) {
    if new.is_empty() {
        out.skip_replaced(range);
        return;
    }
    let (old_chars, new_chars) = (text[range].chars().count(), new.chars().count());
    out.put_str(new, |i| match i + 1 {
        n if n > old_chars => 0,
        n if n == new_chars => old_chars - i,
        _ => 1,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_characters_are_clusters_of_their_own() {
        for c in ('\0'..'\u{20000}').chain('\u{e0000}'..'\u{e1000}').filter(|c| JOINS.get(*c) == 0) {
            for pair in [['a', c], [c, 'a'], [c, c], ['\u{1100}', c], [c, '\u{11a8}'], ['🇩', c]] {
                let text: String = pair.into_iter().collect();
                assert_eq!(text.graphemes(true).count(), 2, "{text:?}");
            }
        }
    }
}

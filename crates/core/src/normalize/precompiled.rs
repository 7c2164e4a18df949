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
//! Cost: two look-ups per character; clusters where needed, at 50-100 MB/s.

use std::ops::Range;
use std::sync::LazyLock;

use unicode_segmentation::UnicodeSegmentation;

use super::aligned::Output;
use super::charsmap::{BEGINS_KEY, Charsmap, IS_KEY};
use super::table::Table;

/// Characters that form a cluster with some neighbor. The last line has those of Unicode 17, which
/// regex-syntax does not know yet.
const JOINING: &str = r"[\p{gcb=Extend}\p{gcb=ZWJ}\p{gcb=SpacingMark}\p{gcb=Prepend}\p{gcb=RI}\r\n
    \p{gcb=L}\p{gcb=V}\p{gcb=T}\p{gcb=LV}\p{gcb=LVT}
    \u{1acf}-\u{1aeb}\u{10efa}-\u{10efb}\u{11b60}-\u{11b67}\u{1e6e3}-\u{1e6f5}]";

static JOINS: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::new();
    table.add_class(&format!("(?x){JOINING}"), 1);
    table
});

/// Clusters of this many bytes and more are not looked up as a whole.
const WHOLE: usize = 6;

pub fn normalize(map: &Charsmap, text: &str, out: &mut impl Output) {
    let joins = &*JOINS;
    let (mut at, mut kept) = (0, 0);
    // The last offset that is known to be between two clusters, and whether a key begins there.
    let (mut boundary, mut begins_key) = (0, false);
    let mut after_plain = true;
    while let Some(c) = text[at..].chars().next() {
        let (plain, flags) = (joins.get(c) == 0, map.flags(c));
        if plain && after_plain {
            (boundary, begins_key) = (at, flags & BEGINS_KEY != 0);
        }
        let next = at + c.len_utf8();
        // A plain character at a boundary is a cluster, or else the next character is not plain.
        let is_single = plain && after_plain;
        let matters = if is_single { flags & IS_KEY != 0 } else { flags != 0 || begins_key };
        after_plain = plain;
        at = next;
        if matters {
            at = next_boundary(joins, text, next, plain);
            out.keep(kept..boundary);
            replace_clusters(map, text, boundary, at, out);
            (kept, boundary, begins_key, after_plain) = (at, at, false, true);
        }
    }
    out.keep(kept..text.len());
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
    if text[start..end].chars().nth(1).is_none()
        && let Some(new) = map.shortest(&text[start..end])
    {
        return replace(text, start..end, new, out);
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
        for c in ('\0'..=char::MAX).filter(|c| JOINS.get(*c) == 0) {
            for pair in [['a', c], [c, 'a'], [c, c], ['\u{1100}', c], [c, '\u{11a8}'], ['🇩', c]] {
                let text: String = pair.into_iter().collect();
                assert_eq!(text.graphemes(true).count(), 2, "{text:?}");
            }
        }
    }
}

//! The definitions, followed literally.

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

type Definition = fn(&str) -> String;

pub const FORMS: [(&str, Definition); 4] = [
    ("NFC", |text| in_parts(text, |part| part.nfc().collect())),
    ("NFD", |text| in_parts(text, |part| part.nfd().collect())),
    ("NFKC", |text| in_parts(text, |part| part.nfkc().collect())),
    ("NFKD", |text| in_parts(text, |part| part.nfkd().collect())),
];

pub const RULES: [(&str, Definition); 2] = [
    ("Lowercase", |text| text.chars().flat_map(char::to_lowercase).collect()),
    ("StripAccents", |text| {
        let is_mark = regex(super::super::chars::MARKS);
        text.chars().filter(|c| !is_mark(*c)).collect()
    }),
];

/// Whether a character is in a class.
fn regex(class: &str) -> impl Fn(char) -> bool {
    let ranges = super::super::table::ranges(class);
    move |c| ranges.iter().any(|range| range.contains(&c))
}

/// Normalizes what is between characters that are newer than Unicode 9.0.
fn in_parts(text: &str, form: impl Fn(&str) -> String) -> String {
    let is_known = regex(r"\p{Age=9.0}");
    text.split_inclusive(|c| !is_known(c))
        .flat_map(|part| {
            let (last, c) = part.char_indices().next_back().unwrap_or((0, 'a'));
            if is_known(c) { [form(part), String::new()] } else { [form(&part[..last]), c.into()] }
        })
        .collect()
}

fn shortest<'a>(keys: &[(&str, &'a str)], text: &str) -> Option<&'a str> {
    let found = keys.iter().filter(|(key, _)| text.starts_with(key));
    found.min_by_key(|(key, _)| key.len()).map(|(_, replacement)| *replacement)
}

pub fn precompiled(keys: &[(&str, &str)], text: &str) -> String {
    let mut out = String::new();
    for cluster in text.graphemes(true) {
        match shortest(keys, cluster) {
            Some(new) if cluster.len() < 6 => out.push_str(new),
            _ => {
                for c in cluster.chars() {
                    let c = c.to_string();
                    out.push_str(shortest(keys, &c).unwrap_or(&c));
                }
            }
        }
    }
    out
}

/// The result, and SentencePiece's `norm_to_orig`.
pub fn sentencepiece(
    keys: &[(&str, &str)],
    symbols: &[&str],
    prefix: bool,
    extra: bool,
    suffix: bool,
    text: &str,
) -> (String, Vec<u32>) {
    let first = |text: &str| -> (String, usize) {
        let symbol =
            symbols.iter().filter(|symbol| text.starts_with(**symbol)).max_by_key(|symbol| symbol.len());
        let key = keys.iter().filter(|(key, _)| text.starts_with(key)).max_by_key(|(key, _)| key.len());
        let c = text.chars().next().unwrap();
        symbol
            .map(|symbol| (symbol.to_string(), symbol.len()))
            .or(key.map(|(key, new)| (new.to_string(), key.len())))
            .unwrap_or((c.to_string(), c.len_utf8()))
    };
    let mut at = 0;
    while extra && at < text.len() && first(&text[at..]).0 == " " {
        at += first(&text[at..]).1;
    }
    // The characters of the result, with spaces escaped, and where each comes from.
    let mut out: Vec<(char, u32)> = Vec::new();
    if at == text.len() {
        return (String::new(), vec![at as u32]);
    }
    if prefix && !suffix {
        out.push(('▁', at as u32));
    }
    let mut after_space = extra;
    while at < text.len() {
        let (new, len) = first(&text[at..]);
        let new = if after_space { new.trim_start_matches(' ') } else { &new };
        out.extend(new.replace(' ', "▁").chars().map(|c| (c, at as u32)));
        if !new.is_empty() {
            after_space = extra && new.ends_with(' ');
        }
        at += len;
    }
    while extra && let Some(('▁', start)) = out.last() {
        at = *start as usize;
        out.pop();
    }
    if prefix && suffix {
        out.push(('▁', at as u32));
    }
    let result: String = out.iter().map(|(c, _)| if *c == '▁' { ' ' } else { *c }).collect();
    let widths = out.iter().map(|(c, start)| (if *c == '▁' { 1 } else { c.len_utf8() }, *start));
    let mut starts: Vec<u32> = widths.flat_map(|(len, start)| std::iter::repeat_n(start, len)).collect();
    starts.push(at as u32);
    (result, starts)
}

//! SentencePiece's own normalizer: replacements, white space, and the dummy prefix.
//!
//! At each position the longest key of the character map is replaced; user-defined symbols are kept as they
//! are. With `remove_extra_whitespaces`, runs of spaces become one, and those at the ends disappear. A space
//! is put in front of the text (`add_dummy_prefix`), or after it (`suffix_whitespace`). SentencePiece then
//! writes every space as ▁ (U+2581). Here it is the other way round: a token's ▁ was read as a space, so a ▁
//! of the text becomes a space, after it has been treated as the ordinary character that it is.
//!
//! Origins are SentencePiece's: a byte comes from where its replacement began up to where the next byte comes
//! from, so that removed spaces belong to the token before them.
//!
//! Characters that may do anything but stay as they are have a flag in a table; runs of others are copied as a
//! whole. Cost: a copy where there is a dummy prefix, and a look-up per character where flags are needed.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind, StartKind};
use memchr::memmem;

use super::aligned::Aligned;
use super::charsmap::{BEGINS_KEY, Charsmap, IS_KEY};
use super::table::{Bytes, Table};
use crate::{Error, Result};

const ESCAPED_SPACE: char = '\u{2581}';

pub struct SentencePiece {
    settings: Settings,
    /// [`STOP`], [`MAY_STOP`] and [`SPACE`], for characters that may need more than a copy.
    stops: Table,
    /// Whether only ▁ changes.
    only_escaped: bool,
    /// The bytes that characters of keys begin with, except the first of each key; found when first needed.
    later_bytes: OnceLock<Bytes>,
}

/// The character is replaced, or may be the beginning of a symbol.
const STOP: u8 = 1;
/// The character is replaced if some character follows that continues a key.
const MAY_STOP: u8 = 2;
/// The character is a space that is dropped after a space.
const SPACE: u8 = 4;

pub struct Settings {
    pub charsmap: Option<Charsmap>,
    pub add_dummy_prefix: bool,
    pub remove_extra_whitespaces: bool,
    pub suffix_whitespace: bool,
    pub user_defined: Option<UserDefined>,
}

/// Symbols that normalization leaves alone.
pub struct UserDefined {
    automaton: AhoCorasick,
    first_characters: Vec<char>,
    /// Characters that are side by side in a symbol.
    pairs: HashSet<(char, char)>,
}

impl UserDefined {
    pub fn new(symbols: &[&str]) -> Result<UserDefined> {
        let symbols = symbols.iter().filter(|symbol| !symbol.is_empty());
        let first_characters = symbols.clone().filter_map(|symbol| symbol.chars().next()).collect();
        let pairs = symbols.clone().flat_map(|symbol| symbol.chars().zip(symbol.chars().skip(1))).collect();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .start_kind(StartKind::Anchored)
            .build(symbols)
            .map_err(|e| Error::BadTokenizer { reason: format!("its user-defined symbols: {e}") })?;
        Ok(UserDefined { automaton, first_characters, pairs })
    }

    /// Returns the length of the longest symbol that `text` starts with.
    fn len_at(&self, text: &str) -> Option<usize> {
        Some(self.automaton.find(Input::new(text).anchored(Anchored::Yes))?.end())
    }
}

/// The result, as it grows: `starts` has the offset of each byte in the source, if origins are wanted.
struct Written {
    text: String,
    starts: Option<Vec<u32>>,
    /// How much of the source has been read.
    consumed: usize,
}

impl Written {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if let Some(starts) = &mut self.starts {
            starts.resize(self.text.len(), self.consumed as u32);
        }
    }

    fn push_unescaped(&mut self, text: &str) {
        for (i, part) in text.split(ESCAPED_SPACE).enumerate() {
            self.push(if i > 0 { " " } else { "" });
            self.push(part);
        }
    }

    /// Appends the next part of the source.
    fn copy(&mut self, text: &str) {
        if self.starts.is_none() {
            self.text.push_str(text);
            self.consumed += text.len();
            return;
        }
        let mut buffer = [0; 4];
        for c in text.chars() {
            self.push(c.encode_utf8(&mut buffer));
            self.consumed += c.len_utf8();
        }
    }

    /// Removes the spaces at the end, which count as not read.
    fn trim(&mut self) {
        let len = self.text.trim_end_matches(' ').len();
        if let Some(starts) = &mut self.starts
            && let Some(start) = starts.get(len)
        {
            self.consumed = *start as usize;
            starts.truncate(len);
        }
        self.text.truncate(len);
    }
}

impl SentencePiece {
    pub fn new(settings: Settings) -> SentencePiece {
        let mut stops = Table::new();
        stops.add(ESCAPED_SPACE, STOP);
        if settings.remove_extra_whitespaces {
            stops.add(' ', SPACE);
        }
        if let Some(map) = &settings.charsmap {
            for c in '\0'..=char::MAX {
                let flags = map.flags(c);
                stops.add(c, if flags & IS_KEY != 0 { STOP } else { 0 });
                stops.add(c, if flags & BEGINS_KEY != 0 { MAY_STOP } else { 0 });
            }
        }
        // A symbol is copied as a whole, which makes a difference to origins only.
        let only_escaped = settings.charsmap.is_none() && !settings.remove_extra_whitespaces;
        let symbols = settings.user_defined.iter().flat_map(|symbols| &symbols.first_characters);
        symbols.for_each(|c| stops.add(*c, STOP));
        SentencePiece { settings, stops, only_escaped, later_bytes: OnceLock::new() }
    }

    /// Whether two characters that are side by side stay as they are and keep what is before them apart from what
    /// is after them, whatever that is.
    pub fn keeps_apart(&self, before: char, after: char) -> bool {
        let Settings { charsmap, user_defined, remove_extra_whitespaces, .. } = &self.settings;
        let changes = |c: char| c == ESCAPED_SPACE || c == '\0';
        if self.settings.add_dummy_prefix && self.settings.suffix_whitespace
            || *remove_extra_whitespaces && before == ' '
            || changes(before)
            || changes(after)
            || user_defined.as_ref().is_some_and(|symbols| symbols.pairs.contains(&(before, after)))
        {
            return false;
        }
        let Some(map) = charsmap else { return true };
        let later = self.later_bytes.get_or_init(|| map.later_bytes());
        let is_later = |c: char| later[usize::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])];
        // A key that begins with `before` goes no further than it.
        !is_later(before)
            && !is_later(after)
            && map.flags(before) & IS_KEY == 0
            && map.flags(after) & (IS_KEY | BEGINS_KEY) == 0
    }

    /// Normalizes a text; if it does not begin one, but is the rest after a cut, `begins` is false.
    pub fn normalize<'a>(&self, text: &'a str, begins: bool) -> Cow<'a, str> {
        let Settings { add_dummy_prefix, remove_extra_whitespaces, .. } = self.settings;
        let add_dummy_prefix = add_dummy_prefix && begins;
        let is_trimmed = !remove_extra_whitespaces || !text.ends_with(' ');
        if !add_dummy_prefix && is_trimmed && self.copied_end(text, 0, false) == text.len() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(self.run(text, begins, None).text)
    }

    pub fn normalize_aligned(&self, source: &Aligned) -> Aligned {
        let Written { text, starts, consumed } = self.run(&source.text, true, Some(Vec::new()));
        let mut starts = starts.unwrap_or_default();
        starts.push(consumed as u32);
        let end = source.origins.last().map_or(0, |last| last.1);
        let origin = |at: u32| source.origins.get(at as usize).map_or(end, |origin| origin.0);
        let origins = starts.windows(2).map(|pair| (origin(pair[0]), origin(pair[1]))).collect();
        Aligned { text, origins }
    }

    fn run(&self, text: &str, begins: bool, starts: Option<Vec<u32>>) -> Written {
        let Settings { add_dummy_prefix, remove_extra_whitespaces, suffix_whitespace, .. } = self.settings;
        let capacity = text.len() + text.len() / 8 + 16;
        let mut out = Written { text: String::with_capacity(capacity), starts, consumed: 0 };
        if remove_extra_whitespaces && begins {
            while let (" ", len) = self.first(&text[out.consumed..]) {
                out.consumed += len;
            }
        }
        if out.consumed == text.len() {
            return out;
        }
        if add_dummy_prefix && !suffix_whitespace && begins {
            out.push(" ");
        }
        let mut after_space = remove_extra_whitespaces && begins;
        while out.consumed < text.len() {
            let end = self.copied_end(text, out.consumed, out.starts.is_some());
            if end > out.consumed {
                out.copy(&text[out.consumed..end]);
                after_space = remove_extra_whitespaces && text[..end].ends_with(' ');
                continue;
            }
            let (mut new, len) = self.first(&text[out.consumed..]);
            if after_space {
                new = new.trim_start_matches(' ');
            }
            if !new.is_empty() {
                out.push_unescaped(new);
                after_space = remove_extra_whitespaces && new.ends_with(' ');
            }
            out.consumed += len;
        }
        if remove_extra_whitespaces {
            out.trim();
        }
        if add_dummy_prefix && suffix_whitespace {
            out.push(" ");
        }
        out
    }

    /// Returns where the characters end, from `at` on, that are copied as they are: all those without a flag,
    /// keys that are not continued, and single spaces.
    fn copied_end(&self, text: &str, at: usize, aligns: bool) -> usize {
        let bytes = text.as_bytes();
        if self.only_escaped && !aligns {
            let found = memmem::find(&bytes[at..], ESCAPED_SPACE.encode_utf8(&mut [0; 4]).as_bytes());
            return found.map_or(text.len(), |found| at + found);
        }
        let continues = |byte: &u8| {
            self.settings.charsmap.as_ref().is_some_and(|map| map.continues()[usize::from(*byte)])
        };
        let mut end = at;
        for c in text[at..].chars() {
            let next = end + c.len_utf8();
            let flags = self.stops.get(c);
            if flags != 0 {
                let is_key = flags & MAY_STOP != 0 && bytes.get(next).is_some_and(continues);
                let is_extra = flags & SPACE != 0 && (end == at || bytes[end - 1] == b' ');
                if flags & STOP != 0 || is_key || is_extra {
                    break;
                }
            }
            end = next;
        }
        end
    }

    /// Returns what the beginning of a text becomes, and how long that beginning is.
    fn first<'a>(&'a self, text: &'a str) -> (&'a str, usize) {
        if let Some(len) = self.settings.user_defined.as_ref().and_then(|symbols| symbols.len_at(text)) {
            return (&text[..len], len);
        }
        let key = self.settings.charsmap.as_ref().and_then(|map| map.longest(text));
        let len = text.chars().next().map_or(0, char::len_utf8);
        key.map_or((&text[..len], len), |(len, new)| (new, len))
    }
}

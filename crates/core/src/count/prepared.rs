//! Prepared: counted text as training behind a normalizer, or on characters, takes it.
//!
//! The contract: a pre-token becomes *parts*, strings inside which any two neighbors may be merged, with the
//! count of the pre-token. In this order it is normalized, split, marked as a word, cut where scripts or digits
//! meet, and cut at the characters that are not in the alphabet, which are left out.
//!
//! Everything that depends on a whole text is done per word. That is the same as for the text, as long as no
//! normalizer reaches across white space: those of SentencePiece and Unicode's forms do not.
//!
//! Cost: about a fifth of a microsecond per unique pre-token, on every pass over the counts.

use std::sync::{Arc, OnceLock};

use unicode_script::{Script, UnicodeScript};

use crate::Result;
use crate::corpus::{CutterMatch, Cutters};
use crate::normalize::Normalizer;
use crate::split::{Scratch, Splitter};

/// SentencePiece's mark for a space.
pub const SPACE_MARK: char = '▁';

/// Follows the last character of a word; no byte of UTF-8.
pub const SUFFIX_MARK: u8 = 0xFF;

/// How the characters of a word show where it begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordMark {
    None,
    /// Spaces and line feeds separate words, and [`SPACE_MARK`] begins each.
    Space,
    /// White space separates words, and the last character of each is another one than inside words.
    Suffix,
}

/// What happens to pre-tokens before training on characters.
#[derive(Clone)]
pub struct Preparation {
    pub normalizer: Normalizer,
    /// Splits what is normalized.
    pub splitter: Option<Splitter>,
    pub mark: WordMark,
    /// Whether parts end where scripts meet, as in SentencePiece.
    pub split_scripts: bool,
    /// Whether every digit is a part.
    pub split_digits: bool,
    /// Strings that are left out of words: tokens that are no result of merging. None is empty.
    pub literals: Arc<Cutters>,
    /// The characters that are trained on; `None` means all.
    pub alphabet: Option<Alphabet>,
}

/// A set of characters, one bit for each that there can be.
#[derive(Clone)]
pub struct Alphabet(Vec<u64>);

impl Alphabet {
    #[inline(always)]
    pub fn contains(&self, c: char) -> bool {
        self.0[c as usize / 64] >> (c as usize % 64) & 1 != 0
    }
}

impl FromIterator<char> for Alphabet {
    fn from_iter<I: IntoIterator<Item = char>>(characters: I) -> Alphabet {
        let mut bits = vec![0; (char::MAX as usize + 1).div_ceil(64)];
        for c in characters {
            bits[c as usize / 64] |= 1 << (c as usize % 64);
        }
        Alphabet(bits)
    }
}

/// How often each character occurs.
pub struct CharacterCounts(Vec<u64>);

impl Default for CharacterCounts {
    fn default() -> Self {
        // Memory of characters that do not occur is never touched.
        CharacterCounts(vec![0; char::MAX as usize + 1])
    }
}

impl CharacterCounts {
    /// Adds the characters of a part, without its mark for the end of a word.
    pub fn add(&mut self, part: &[u8], count: u64) {
        let part = part.strip_suffix(&[SUFFIX_MARK]).unwrap_or(part);
        for c in std::str::from_utf8(part).unwrap_or_default().chars() {
            let sum = &mut self.0[c as usize];
            *sum = sum.saturating_add(count);
        }
    }

    /// Returns the characters that occur, by code point.
    pub fn iter(&self) -> impl Iterator<Item = (char, u64)> {
        let found = self.0.iter().enumerate().filter(|&(_, &count)| count > 0);
        found.filter_map(|(c, &count)| Some((char::from_u32(c as u32)?, count)))
    }
}

/// Buffers that one thread reuses from pre-token to pre-token.
#[derive(Default)]
pub struct PartBuffers {
    split: Scratch,
    ends: Vec<u32>,
    marked: String,
}

impl Preparation {
    /// Calls `visit` with every part of a pre-token. Bytes that are not UTF-8 are left out.
    pub fn for_each_part(
        &self,
        pretoken: &[u8],
        buffers: &mut PartBuffers,
        mut visit: impl FnMut(&[u8]),
    ) -> Result<()> {
        let Ok(text) = std::str::from_utf8(pretoken) else { return Ok(()) };
        let text = self.normalizer.normalize(text)?;
        let PartBuffers { split, ends, marked } = buffers;
        ends.clear();
        match &self.splitter {
            Some(splitter) => splitter.split(&text, split, ends)?,
            None => ends.push(text.len() as u32),
        }
        let mut start = 0;
        for &mut end in ends {
            self.for_each_part_of_piece(&text[start..end as usize], marked, &mut visit);
            start = end as usize;
        }
        Ok(())
    }

    fn for_each_part_of_piece(&self, piece: &str, marked: &mut String, visit: &mut impl FnMut(&[u8])) {
        match self.mark {
            WordMark::None => self.cut(piece, visit),
            WordMark::Space => {
                for word in piece.split([' ', '\n', SPACE_MARK]).filter(|word| !word.is_empty()) {
                    marked.clear();
                    marked.push(SPACE_MARK);
                    marked.push_str(word);
                    self.cut(marked, visit);
                }
            }
            WordMark::Suffix => {
                piece.split_whitespace().for_each(|word| self.cut_suffixed(word, visit));
            }
        }
    }

    /// Cuts a word, and adds the mark to the part that ends it.
    fn cut_suffixed(&self, word: &str, visit: &mut impl FnMut(&[u8])) {
        let mut last = 0..0;
        self.cut(word, &mut |part: &[u8]| {
            let at = part.as_ptr() as usize - word.as_ptr() as usize;
            if at + part.len() < word.len() {
                visit(part);
            } else {
                last = at..word.len();
            }
        });
        if !last.is_empty() {
            let mut suffixed = word.as_bytes()[last].to_vec();
            suffixed.push(SUFFIX_MARK);
            visit(&suffixed);
        }
    }

    fn cut(&self, word: &str, visit: &mut impl FnMut(&[u8])) {
        let mut from = 0;
        while let Some(CutterMatch { start, end, .. }) = self.literals.find(word.as_bytes(), from) {
            self.cut_stretch(&word[from..start], visit);
            from = end;
        }
        self.cut_stretch(&word[from..], visit);
    }

    /// Cuts what is between two literals.
    fn cut_stretch(&self, word: &str, visit: &mut impl FnMut(&[u8])) {
        if !self.split_scripts && !self.split_digits && self.alphabet.is_none() {
            return emit(word, 0, word.len(), visit);
        }
        let mut start = 0;
        let mut script = None;
        let mut after_digit = false;
        for (at, c) in word.char_indices() {
            if !self.alphabet.as_ref().is_none_or(|alphabet| alphabet.contains(c)) {
                emit(word, start, at, visit);
                start = at + c.len_utf8();
                (script, after_digit) = (None, false);
                continue;
            }
            let found = script_of(c);
            let other_script = self.split_scripts && script.is_some() && found.is_some() && found != script;
            let digit = self.split_digits && is_digit(c);
            if at > start && (other_script || digit || after_digit) {
                emit(word, start, at, visit);
                start = at;
            }
            script = found.or(script);
            after_digit = digit;
        }
        emit(word, start, word.len(), visit);
    }
}

fn emit(word: &str, start: usize, end: usize, visit: &mut impl FnMut(&[u8])) {
    if end > start {
        visit(&word.as_bytes()[start..end]);
    }
}

/// The digits that SentencePiece splits: ASCII's and their full-width forms.
fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '\u{FF10}'..='\u{FF19}')
}

/// The script of a character as SentencePiece groups them; `None` for those that go with any.
#[inline(always)]
fn script_of(c: char) -> Option<Script> {
    static BASIC: OnceLock<Vec<Option<Script>>> = OnceLock::new();
    // A search among 2,000 ranges per character took a third of all training; this table is 64 KB.
    let basic =
        BASIC.get_or_init(|| (0..=0xFFFF).map(|c| char::from_u32(c).and_then(searched_script)).collect());
    basic.get(c as usize).copied().unwrap_or_else(|| searched_script(c))
}

fn searched_script(c: char) -> Option<Script> {
    match c.script() {
        _ if c == SPACE_MARK => None,
        Script::Hiragana | Script::Katakana => Some(Script::Han),
        _ if c == 'ー' => Some(Script::Han),
        Script::Inherited => None,
        script => Some(script),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(preparation: &Preparation, text: &str) -> Vec<String> {
        let mut parts = vec![];
        preparation
            .for_each_part(text.as_bytes(), &mut PartBuffers::default(), |part| {
                parts.push(String::from_utf8_lossy(part).replace('\u{FFFD}', "$"))
            })
            .unwrap();
        parts
    }

    const PLAIN: fn() -> Preparation = || Preparation {
        normalizer: Normalizer::default(),
        splitter: None,
        mark: WordMark::Space,
        split_scripts: true,
        split_digits: false,
        literals: literals(&[]),
        alphabet: None,
    };

    fn literals(strings: &[&str]) -> Arc<Cutters> {
        let strings: Vec<String> = strings.iter().map(|&string| string.into()).collect();
        Arc::new(Cutters::new(&strings, None).unwrap())
    }

    #[test]
    fn words_are_marked_and_cut_where_scripts_meet() {
        assert_eq!(parts(&PLAIN(), " duck▁dives"), ["▁duck", "▁dives"]);
        assert_eq!(parts(&PLAIN(), "naïve,12アー字б\u{301}a"), ["▁naïve", ",12", "アー字", "б\u{301}", "a"]);
        assert_eq!(parts(&Preparation { split_digits: true, ..PLAIN() }, "a12b"), ["▁a", "1", "2", "b"]);
        assert_eq!(parts(&Preparation { split_scripts: false, ..PLAIN() }, "aб1"), ["▁aб1"]);
        let literals = literals(&["<", "<dive>"]);
        assert_eq!(parts(&Preparation { literals, ..PLAIN() }, "a<dive>b <c"), ["▁a", "b", "▁", "c"]);
    }

    #[test]
    fn suffixes_end_words_and_other_characters_are_left_out() {
        let suffix = Preparation { mark: WordMark::Suffix, split_scripts: false, ..PLAIN() };
        assert_eq!(parts(&suffix, " a  duck\n"), ["a$", "duck$"]);
        let splitter = Some(Splitter::new(r"\w+|[^\w\s]").unwrap());
        assert_eq!(parts(&Preparation { splitter, ..suffix.clone() }, "it's."), ["it$", "'$", "s$", ".$"]);
        let few = Preparation { alphabet: Some("▁duk".chars().collect()), ..PLAIN() };
        assert_eq!(parts(&few, "duck duk"), ["▁du", "k", "▁duk"]);
        let few = Preparation { alphabet: Some("duc".chars().collect()), ..suffix };
        assert_eq!(parts(&few, "duck cud"), ["duc", "cud$"]);
    }

    /// What `merganser.train` counts if there is a normalizer: training/normalizing.py.
    const CHUNK: &str = r"\s*\S+(?:(?:\s\s+|[^\S \n])\S*)*\n?|\s+";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Normalizing and splitting chunk by chunk is the same as doing so with the whole text.
        #[test]
        fn chunks_are_split_like_the_whole_text(
            text in r"(?:[a-zA-Z0-9éÅﬁ½①Ａ\u{301}\u{308}¨\u{FDFA}\u{1E9B}\u{323}가ᄀ\u{1161}İ!'.\r\n\t \u{A0}\u{3000}\u{2028}]|'s|  | \n|\n\n){0,40}",
            preset in 0..crate::split::preset_names().len(),
            normalizer in proptest::sample::select(vec![
                r#"{"type":"NFC"}"#, r#"{"type":"NFD"}"#, r#"{"type":"NFKC"}"#, r#"{"type":"NFKD"}"#,
                r#"{"type":"Lowercase"}"#,
                r#"{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"}]}"#,
            ]),
        ) {
            let splitter = Splitter::new(crate::split::preset_names()[preset]).unwrap();
            let preparation = Preparation {
                normalizer: Normalizer::from_text(normalizer).unwrap(),
                splitter: Some(splitter),
                mark: WordMark::None,
                split_scripts: false,
                split_digits: false,
                literals: literals(&[]),
                alphabet: None,
            };
            let mut ends = vec![];
            Splitter::new(CHUNK).unwrap().split(&text, &mut Scratch::default(), &mut ends).unwrap();
            let (mut chunked, mut start) = (vec![], 0);
            for end in ends {
                chunked.extend(parts(&preparation, &text[start..end as usize]));
                start = end as usize;
            }
            prop_assert_eq!(chunked, parts(&preparation, &text));
        }
    }

    #[test]
    fn what_is_not_utf8_is_left_out() {
        let mut seen = 0;
        PLAIN().for_each_part(b"\xFF\xFE", &mut PartBuffers::default(), |_| seen += 1).unwrap();
        assert_eq!(seen, 0);
    }
}

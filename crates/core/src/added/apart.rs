//! Apart: where a text can be cut without changing which added tokens are found.
//!
//! A cut between two characters is safe if no token contains them side by side, so that none is found across it or
//! could be once more text follows; if no token ends with the first one, so that the text after the cut always
//! continues the text before; and if no token takes white space across it or looks at a word across it. The two
//! characters decide, whatever the rest of the text is.
//!
//! Cost: a hash table of the pairs in all tokens, built at first use; then some look-ups.

use std::collections::HashSet;

use super::AddedToken;
use super::finder::Finder;

#[derive(Default)]
pub(super) struct Apart {
    /// Characters that are side by side in a token.
    pairs: HashSet<(char, char)>,
    /// The last characters of tokens.
    lasts: HashSet<char>,
    /// The first characters of tokens that must be words.
    words: HashSet<char>,
    /// Whether a token takes the white space around it.
    strips: bool,
}

impl Apart {
    pub(super) fn new(tokens: &[AddedToken], finder: Option<&Finder>) -> Apart {
        let mut apart = Apart::default();
        for (pattern, token) in finder.into_iter().flat_map(Finder::patterns) {
            let token = &tokens[token as usize];
            apart.pairs.extend(pattern.chars().zip(pattern.chars().skip(1)));
            apart.lasts.extend(pattern.chars().next_back());
            apart.words.extend(pattern.chars().next().filter(|_| token.single_word));
            apart.strips |= token.lstrip || token.rstrip;
        }
        apart
    }

    pub(super) fn holds(&self, before: char, after: char) -> bool {
        let crosses = self.pairs.contains(&(before, after)) || self.lasts.contains(&before);
        let looks_across = self.words.contains(&after) || self.strips && before.is_whitespace();
        !crosses && !looks_across
    }
}

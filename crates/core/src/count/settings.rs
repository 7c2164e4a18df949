//! Settings: what determines the pre-tokens of a corpus, compiled and as text.

use crate::split::Splitter;
use crate::{Error, Result};

/// What determines the pre-tokens of a corpus. Only counts with equal settings can be added up.
#[derive(Clone)]
pub struct CountSettings {
    pub splitter: Splitter,
    /// Cut out of the text before it is split, and not counted.
    pub special_tokens: Vec<String>,
    /// The string between documents, cut out likewise.
    pub separator: Option<String>,
}

impl CountSettings {
    pub fn new(
        splitter: Splitter,
        special_tokens: Vec<String>,
        separator: Option<String>,
    ) -> Result<CountSettings> {
        if let Some(twice) = sorted(&special_tokens).windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::BadSpecial {
                token: twice[0].clone(),
                reason: "is given twice; name it once",
            });
        }
        let empty = special_tokens.iter().any(String::is_empty);
        if empty || separator.as_ref().is_some_and(String::is_empty) {
            let reason = "is empty; a special token or separator needs at least one character";
            return Err(Error::BadSpecial { token: String::new(), reason });
        }
        Ok(CountSettings { splitter, special_tokens, separator })
    }

    pub fn settings_text(&self) -> SettingsText {
        SettingsText {
            pattern: self.splitter.pattern().into(),
            special_tokens: self.special_tokens.clone(),
            separator: self.separator.clone(),
        }
    }

    pub fn must_equal(&self, other: &CountSettings) -> Result<()> {
        self.settings_text().must_equal(&other.settings_text())
    }
}

/// The settings as a file stores them, without a compiled pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsText {
    pub pattern: String,
    pub special_tokens: Vec<String>,
    pub separator: Option<String>,
}

impl SettingsText {
    /// Returns an error that names the first difference, if there is one.
    pub fn must_equal(&self, other: &SettingsText) -> Result<()> {
        let unlike = |what, ours: &dyn std::fmt::Debug, theirs: &dyn std::fmt::Debug| {
            Err(Error::UnlikeCounts { what, ours: format!("{ours:?}"), theirs: format!("{theirs:?}") })
        };
        if self.pattern != other.pattern {
            return unlike("pattern", &self.pattern, &other.pattern);
        }
        if sorted(&self.special_tokens) != sorted(&other.special_tokens) {
            return unlike("special tokens", &self.special_tokens, &other.special_tokens);
        }
        if self.separator != other.separator {
            return unlike("separator", &self.separator, &other.separator);
        }
        Ok(())
    }
}

/// Sorts special tokens, because their order determines their ids but not the counts.
fn sorted(tokens: &[String]) -> Vec<&String> {
    let mut tokens: Vec<&String> = tokens.iter().collect();
    tokens.sort();
    tokens
}

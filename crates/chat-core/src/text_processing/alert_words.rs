//! Words people want to be told about.
//!
//! All words of a realm are looked for at once, in one pass over a message, however many there are.
//!
//! ```
//! use chat_core::text_processing::alert_words::AlertWordMatcher;
//! use chat_core::id::UserId;
//!
//! let words = AlertWordMatcher::new([(UserId(1), "sepsis"), (UserId(2), "room 12")])?;
//! let users_with = words.users_alerted_by("Suspected Sepsis in room 123");
//! assert_eq!(users_with.into_iter().collect::<Vec<_>>(), [UserId(1)]);
//! # Ok::<(), chat_core::text_processing::alert_words::TooManyAlertWords>(())
//! ```

use crate::id::UserId;
use aho_corasick::AhoCorasick;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// A compiled matcher of all alert words of a realm.
#[derive(Debug, Clone)]
pub struct AlertWordMatcher {
    automaton: AhoCorasick,
    /// For each word of the automaton, in its order.
    owners: Vec<Vec<UserId>>,
}

/// The alert words are too many to be compiled into one matcher.
#[derive(Debug, Error)]
#[error("too many alert words")]
pub struct TooManyAlertWords(#[from] aho_corasick::BuildError);

impl AlertWordMatcher {
    /// Compiles the alert words of all users. Blank words are left out. A word of blanks alone is left out.
    ///
    /// # Errors
    /// [`TooManyAlertWords`] when together they exceed what the search can number (some hundreds of megabytes).
    pub fn new<'w>(words: impl IntoIterator<Item = (UserId, &'w str)>) -> Result<Self, TooManyAlertWords> {
        let mut owners_of: BTreeMap<String, Vec<UserId>> = BTreeMap::new();
        for (owner, word) in words {
            let word = word.trim().to_lowercase();
            if !word.is_empty() {
                owners_of.entry(word).or_default().push(owner);
            }
        }
        let automaton = AhoCorasick::new(owners_of.keys())?;
        Ok(Self { automaton, owners: owners_of.into_values().collect() })
    }

    /// Returns the users whose alert words occur in the text as whole words, compared case-insensitively.
    ///
    /// Not specified whether code and quotes count; the whole text as typed does, because people watch for names in
    /// logs too.
    #[must_use]
    pub fn users_alerted_by(&self, content: &str) -> BTreeSet<UserId> {
        let content = content.to_lowercase();
        self.automaton
            .find_overlapping_iter(&content)
            .filter(|found| stands_alone(&content, found.range()))
            .filter_map(|found| self.owners.get(found.pattern().as_usize()))
            .flatten()
            .copied()
            .collect()
    }
}

fn stands_alone(content: &str, range: std::ops::Range<usize>) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let before = content.get(..range.start).and_then(|before| before.chars().next_back());
    let after = content.get(range.end..).and_then(|after| after.chars().next());
    !before.is_some_and(is_word) && !after.is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users_with(words: &[(i64, &str)], content: &str) -> Result<Vec<i64>, TooManyAlertWords> {
        let words = AlertWordMatcher::new(words.iter().map(|(owner, word)| (UserId(*owner), *word)))?;
        Ok(words.users_alerted_by(content).into_iter().map(|owner| owner.0).collect())
    }

    #[test]
    fn a_word_is_found_whole_and_in_any_case() -> Result<(), TooManyAlertWords> {
        let words = [(1, "Lear"), (2, "LEAR"), (3, "König")];
        assert_eq!(users_with(&words, "(lear), KÖNIG!")?, [1, 2, 3]);
        assert_eq!(users_with(&words, "clear learn le-ar lear_x königin")?, Vec::<i64>::new());
        Ok(())
    }

    #[test]
    fn a_word_within_another_is_found_as_well() -> Result<(), TooManyAlertWords> {
        assert_eq!(users_with(&[(1, "room"), (2, "room 12"), (3, "12")], "in room 12.")?, [1, 2, 3]);
        assert_eq!(users_with(&[(1, "room 1"), (2, "room")], "in room 12.")?, [2]);
        Ok(())
    }

    #[test]
    fn no_words_and_blank_words_alert_nobody() -> Result<(), TooManyAlertWords> {
        assert_eq!(users_with(&[], "text")?, Vec::<i64>::new());
        assert_eq!(users_with(&[(1, " ")], "text  text")?, Vec::<i64>::new());
        Ok(())
    }
}

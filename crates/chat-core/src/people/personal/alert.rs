//! The words someone watches for.

use serde_json::{Value, json};

use crate::id::UserId;
use crate::limits::MAX_ALERT_WORDS;
use crate::log::commit::RealmCommit;
use crate::log::event::{EventAudience, NewEvent};
use crate::model::change::UserItemKind;
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::{User, fold};

/// The reason why words are not watched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AlertWordError {
    /// Together with those watched for already.
    #[error("Too many alert words (maximum {MAX_ALERT_WORDS}).")]
    TooMany,
}

/// Returns the words a user watches for, as they wrote them and in the order they came.
#[must_use]
pub fn of(realm: &RealmSnapshot, user_id: UserId) -> Vec<String> {
    let words = realm.user_item(user_id, UserItemKind::AlertWords, "").and_then(Value::as_array);
    words.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Watches for more words, and returns all. A word that is watched for already, in any case, stays as it is; blanks
/// around a word do not count, and a blank word is none.
///
/// # Errors
/// See [`AlertWordError`].
pub fn watch(
    realm: &RealmSnapshot,
    user: &User,
    words: &[String],
    commit: &mut RealmCommit,
) -> Result<Vec<String>, AlertWordError> {
    let mut after = of(realm, user.id);
    for word in words.iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
        if !after.iter().any(|known| fold(known) == fold(word)) {
            if after.len() >= MAX_ALERT_WORDS {
                return Err(AlertWordError::TooMany);
            }
            after.push(word.to_owned());
        }
    }
    put(realm, user, &after, commit);
    Ok(after)
}

/// Watches for these words no longer, whatever the case they are written in; returns those that are left.
pub fn forget(realm: &RealmSnapshot, user: &User, words: &[String], commit: &mut RealmCommit) -> Vec<String> {
    let gone: Vec<String> = words.iter().map(|word| fold(word.trim())).collect();
    let mut after = of(realm, user.id);
    after.retain(|word| !gone.contains(&fold(word)));
    put(realm, user, &after, commit);
    after
}

fn put(realm: &RealmSnapshot, user: &User, words: &[String], commit: &mut RealmCommit) {
    if words != of(realm, user.id) {
        commit.changes.push(super::only(user.id, UserItemKind::AlertWords, Some(json!(words))));
        let event = json!({"type": "alert_words", "alert_words": words});
        commit.events.push(NewEvent::plain(EventAudience::users([user.id]), event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::realm::RealmRules;
    use crate::testing;

    fn realm(words: &[&str]) -> RealmSnapshot {
        let document = Some(json!(words));
        testing::realm(RealmRules::default(), vec![super::super::only(UserId(4), UserItemKind::AlertWords, document)])
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_word_is_kept_once_as_it_was_first_written() {
        let realm = realm(&["Sepsis"]);
        let user = realm.user(UserId(4)).unwrap();
        let mut commit = RealmCommit::default();
        let after = watch(&realm, user, &words(&["SEPSIS", " room 12 ", "  ", "room 12"]), &mut commit);
        assert_eq!(after, Ok(words(&["Sepsis", "room 12"])));
        assert_eq!((commit.changes.len(), commit.events.len()), (1, 1));
        let mut commit = RealmCommit::default();
        assert_eq!(watch(&realm, user, &words(&["sepsis"]), &mut commit), Ok(words(&["Sepsis"])));
        assert_eq!((commit.changes.len(), commit.events.len()), (0, 0));
    }

    #[test]
    fn a_word_goes_in_any_case_and_an_unknown_one_changes_nothing() {
        let realm = realm(&["Sepsis", "room 12"]);
        let user = realm.user(UserId(4)).unwrap();
        let mut commit = RealmCommit::default();
        assert_eq!(forget(&realm, user, &words(&["ROOM 12", "x"]), &mut commit), words(&["Sepsis"]));
        assert_eq!(commit.changes.len(), 1);
        let mut commit = RealmCommit::default();
        forget(&realm, user, &words(&["x"]), &mut commit);
        assert!(commit.changes.is_empty() && commit.events.is_empty());
    }

    #[test]
    fn words_have_an_end() {
        let many: Vec<String> = (0..=MAX_ALERT_WORDS).map(|number| format!("word {number}")).collect();
        let realm = realm(&[]);
        let user = realm.user(UserId(4)).unwrap();
        let mut commit = RealmCommit::default();
        assert_eq!(watch(&realm, user, &many, &mut commit), Err(AlertWordError::TooMany));
        assert!(commit.changes.is_empty());
        assert_eq!(watch(&realm, user, &many[1..], &mut commit).unwrap().len(), MAX_ALERT_WORDS);
    }
}

//! The words someone watches for.

use serde_json::{Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserId;
use crate::limits::MAX_ALERT_WORDS_PER_USER;
use crate::model::realm_change::UserItemKind;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::{User, fold_case};

/// The reason why alert words cannot be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AlertWordError {
    /// Together with those watched for already.
    #[error("Too many alert words (maximum {MAX_ALERT_WORDS_PER_USER}).")]
    TooMany,
}

/// Returns a user's alert words, as they wrote them and in the order they were added.
#[must_use]
pub fn alert_words_of_user(realm: &RealmSnapshot, user_id: UserId) -> Vec<String> {
    let words = realm.user_item(user_id, UserItemKind::AlertWords, "").and_then(Value::as_array);
    words.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Adds alert words of a user, and returns all of them. Words are trimmed; blank ones, and those already there in any
/// case, are ignored. A word that is watched for already, in any case, stays as it is; blanks around a word do not
/// count, and a blank word is none.
///
/// # Errors
/// See [`AlertWordError`].
pub fn add_alert_words(
    realm: &RealmSnapshot,
    user: &User,
    words: &[String],
    commit: &mut RealmCommit,
) -> Result<Vec<String>, AlertWordError> {
    let mut after = alert_words_of_user(realm, user.id);
    for word in words.iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
        if !after.iter().any(|known| fold_case(known) == fold_case(word)) {
            if after.len() >= MAX_ALERT_WORDS_PER_USER {
                return Err(AlertWordError::TooMany);
            }
            after.push(word.to_owned());
        }
    }
    put(realm, user, &after, commit);
    Ok(after)
}

/// Removes alert words of a user, in any case, and returns the remaining ones.
pub fn remove_alert_words(
    realm: &RealmSnapshot,
    user: &User,
    words: &[String],
    commit: &mut RealmCommit,
) -> Vec<String> {
    let gone: Vec<String> = words.iter().map(|word| fold_case(word.trim())).collect();
    let mut after = alert_words_of_user(realm, user.id);
    after.retain(|word| !gone.contains(&fold_case(word)));
    put(realm, user, &after, commit);
    after
}

fn put(realm: &RealmSnapshot, user: &User, words: &[String], commit: &mut RealmCommit) {
    if words != alert_words_of_user(realm, user.id) {
        commit.changes.push(super::only(user.id, UserItemKind::AlertWords, Some(json!(words))));
        let event = json!({"type": "alert_words", "alert_words": words});
        commit.events.push(NewEvent::same_for_everyone(EventAudience::from_users([user.id]), event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::realm::RealmPermissionSettings;
    use crate::testing;

    fn realm(words: &[&str]) -> RealmSnapshot {
        let document = Some(json!(words));
        testing::realm(
            RealmPermissionSettings::default(),
            vec![super::super::only(UserId(4), UserItemKind::AlertWords, document)],
        )
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_word_is_kept_once_as_it_was_first_written() {
        let realm = realm(&["Sepsis"]);
        let user = realm.user(UserId(4)).unwrap();
        let mut commit = RealmCommit::default();
        let after = add_alert_words(&realm, user, &words(&["SEPSIS", " room 12 ", "  ", "room 12"]), &mut commit);
        assert_eq!(after, Ok(words(&["Sepsis", "room 12"])));
        assert_eq!((commit.changes.len(), commit.events.len()), (1, 1));
        let mut commit = RealmCommit::default();
        assert_eq!(add_alert_words(&realm, user, &words(&["sepsis"]), &mut commit), Ok(words(&["Sepsis"])));
        assert_eq!((commit.changes.len(), commit.events.len()), (0, 0));
    }

    #[test]
    fn a_word_goes_in_any_case_and_an_unknown_one_changes_nothing() {
        let realm = realm(&["Sepsis", "room 12"]);
        let user = realm.user(UserId(4)).unwrap();
        let mut commit = RealmCommit::default();
        assert_eq!(remove_alert_words(&realm, user, &words(&["ROOM 12", "x"]), &mut commit), words(&["Sepsis"]));
        assert_eq!(commit.changes.len(), 1);
        let mut commit = RealmCommit::default();
        remove_alert_words(&realm, user, &words(&["x"]), &mut commit);
        assert!(commit.changes.is_empty() && commit.events.is_empty());
    }

    #[test]
    fn words_have_an_end() {
        let many: Vec<String> = (0..=MAX_ALERT_WORDS_PER_USER).map(|number| format!("word {number}")).collect();
        let realm = realm(&[]);
        let user = realm.user(UserId(4)).unwrap();
        let mut commit = RealmCommit::default();
        assert_eq!(add_alert_words(&realm, user, &many, &mut commit), Err(AlertWordError::TooMany));
        assert!(commit.changes.is_empty());
        assert_eq!(add_alert_words(&realm, user, &many[1..], &mut commit).unwrap().len(), MAX_ALERT_WORDS_PER_USER);
    }
}

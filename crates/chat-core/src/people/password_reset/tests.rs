use super::*;
use crate::event_log::event::LogRecord;
use crate::id::EventId;
use crate::model::realm::RealmPermissionSettings;
use crate::model::user::ApiKey;
use crate::people::session::SessionToken;
use crate::testing::{self, NOW_S};

const ADDRESS: &str = "USER4@example.org";

fn secret(seed: u8) -> InvitationSecret {
    InvitationSecret::new(ApiKey::from_random(&[seed; 64]).unwrap())
}

fn link(seed: u8) -> InvitationLink {
    InvitationLink { number: 4, secret: secret(seed) }
}

fn asked(realm: &RealmSnapshot, at_s: i64, seed: u8) -> RealmCommit {
    let mut commit = RealmCommit { at_s, ..RealmCommit::default() };
    request_password_reset(realm, ADDRESS, (&secret(seed), "https://chat.example.org"), &mut commit);
    commit
}

fn after(realm: &RealmSnapshot, commit: RealmCommit) -> RealmSnapshot {
    realm.after_record(&LogRecord::new(EventId(realm.log_position().0 + 1), commit.at_s, commit.changes, None))
}

fn realm() -> RealmSnapshot {
    testing::realm(RealmPermissionSettings::default(), Vec::new())
}

#[test]
fn a_letter_has_a_link_that_sets_a_password_once_and_signs_out() {
    let realm = realm();
    let commit = asked(&realm, NOW_S, 1);
    let letter = commit.mail.first().unwrap();
    assert_eq!(letter.to, "User4@example.org");
    assert!(letter.text.contains(&format!("https://chat.example.org/password-reset/{}\n", link(1).url_suffix())));
    assert!(!format!("{:?}", commit.changes).contains(secret(1).expose()));
    let realm = after(&realm, commit);
    let token = SessionToken::new(UserId(4), ApiKey::from_random(&[9; 64]).unwrap());
    let mut commit = RealmCommit { at_s: NOW_S, ..RealmCommit::default() };
    session::begin_session(&realm, &token, "", 1_000, &mut commit);
    let realm = after(&realm, commit);
    assert_eq!(find_password_reset_user(&realm, &link(1), NOW_S).unwrap().id, UserId(4));
    let mut commit = RealmCommit { at_s: NOW_S + 10, ..RealmCommit::default() };
    complete_password_reset(&realm, &link(1), &PasswordHash("new".to_owned()), &mut commit).unwrap();
    assert!(commit.revokes_access(&realm));
    assert!(matches!(&commit.credentials[..], [CredentialChange::PasswordHash(UserId(4), Some(_))]));
    assert!(commit.mail.first().unwrap().subject.contains("was changed"));
    let realm = after(&realm, commit);
    assert!(session::list_sessions(&realm, UserId(4), NOW_S, 1_000).is_empty());
    assert_eq!(find_password_reset_user(&realm, &link(1), NOW_S), Err(PasswordResetError::Unknown));
}

#[test]
fn a_link_is_valid_for_an_hour_and_until_there_is_a_newer_one() {
    let first = after(&realm(), asked(&realm(), NOW_S, 1));
    assert!(find_password_reset_user(&first, &link(1), NOW_S + VALID_S - 1).is_ok());
    assert_eq!(find_password_reset_user(&first, &link(1), NOW_S + VALID_S), Err(PasswordResetError::Expired));
    assert_eq!(find_password_reset_user(&first, &link(2), NOW_S), Err(PasswordResetError::Unknown));
    let second = after(&first, asked(&first, NOW_S + SAME_REQUEST_S, 2));
    assert_eq!(find_password_reset_user(&second, &link(1), NOW_S), Err(PasswordResetError::Unknown));
    assert!(find_password_reset_user(&second, &link(2), NOW_S + SAME_REQUEST_S).is_ok());
    let mut commit = RealmCommit::default();
    set_password(&second, UserId(4), None, None, &mut commit);
    assert_eq!(
        find_password_reset_user(&after(&second, commit), &link(2), NOW_S + SAME_REQUEST_S),
        Err(PasswordResetError::Unknown)
    );
}

#[test]
fn five_letters_are_sent_in_a_day_and_two_clicks_send_one() {
    let mut realm = realm();
    for place in 0..5_u8 {
        let at_s = NOW_S + i64::from(place) * SAME_REQUEST_S;
        let commit = asked(&realm, at_s, place + 1);
        assert_eq!(commit.mail.len(), 1, "{place}");
        realm = after(&realm, commit);
        let again = asked(&realm, at_s + SAME_REQUEST_S - 1, 20);
        assert!(again.mail.is_empty() && again.changes.is_empty(), "{place}");
    }
    // A used link does not give letters back.
    let mut commit = RealmCommit { at_s: NOW_S, ..RealmCommit::default() };
    complete_password_reset(&realm, &link(5), &PasswordHash("new".to_owned()), &mut commit).unwrap();
    realm = after(&realm, commit);
    assert!(asked(&realm, NOW_S + 3_600, 9).mail.is_empty());
    assert_eq!(asked(&realm, NOW_S + SECONDS_PER_DAY, 9).mail.len(), 1);
}

#[test]
fn a_bot_a_closed_account_and_an_unknown_address_get_no_letter() {
    let realm = realm();
    let mut commit = RealmCommit { at_s: NOW_S, ..RealmCommit::default() };
    request_password_reset(&realm, "stranger@example.org", (&secret(1), ""), &mut commit);
    let closed = User { is_active: false, ..User::clone(realm.user(UserId(4)).unwrap()) };
    let realm = realm.preview_changes(&[RealmChange::User(Box::new(closed))]);
    request_password_reset(&realm, ADDRESS, (&secret(1), ""), &mut commit);
    let bot = Some(crate::model::user::BotProperties { kind: crate::model::user::BotKind::Generic, owner_id: None });
    let bot = User { bot, is_active: true, ..User::clone(realm.user(UserId(4)).unwrap()) };
    let realm = realm.preview_changes(&[RealmChange::User(Box::new(bot))]);
    request_password_reset(&realm, ADDRESS, (&secret(1), ""), &mut commit);
    assert!(commit.mail.is_empty() && commit.changes.is_empty());
}

use super::*;
use crate::event_log::event::LogRecord;
use crate::id::EventId;
use crate::model::realm::RealmPermissionSettings;
use crate::model::user::ApiKey;
use crate::people::password_reset;
use crate::testing::{self, NOW_S};

fn secret(seed: u8) -> InvitationSecret {
    InvitationSecret::new(ApiKey::from_random(&[seed; 64]).unwrap())
}

fn link(seed: u8) -> InvitationLink {
    InvitationLink { number: 4, secret: secret(seed) }
}

fn after(realm: &RealmSnapshot, commit: RealmCommit) -> RealmSnapshot {
    realm.after_record(&LogRecord::new(EventId(realm.log_position().0 + 1), commit.at_s, commit.changes, None))
}

fn made(realm: &RealmSnapshot, seed: u8) -> RealmSnapshot {
    let mut commit = RealmCommit { at_s: NOW_S, ..RealmCommit::default() };
    let user = realm.user(UserId(4)).unwrap();
    let path = create_sign_in_link(realm, user, &secret(seed), &mut commit).unwrap();
    assert_eq!(path, format!("/sign-in/{}", link(seed).url_suffix()));
    assert!(!format!("{:?}", commit.changes).contains(secret(seed).expose()));
    after(realm, commit)
}

fn realm() -> RealmSnapshot {
    testing::realm(RealmPermissionSettings::default(), Vec::new())
}

#[test]
fn a_link_signs_in_once_within_a_quarter_of_an_hour() {
    let realm = made(&realm(), 1);
    assert_eq!(find_sign_in_link_user(&realm, &link(1), NOW_S).unwrap().id, UserId(4));
    assert!(find_sign_in_link_user(&realm, &link(1), NOW_S + SIGN_IN_LINK_VALIDITY_S - 1).is_ok());
    assert_eq!(find_sign_in_link_user(&realm, &link(1), NOW_S + SIGN_IN_LINK_VALIDITY_S), Err(SignInLinkError));
    assert_eq!(find_sign_in_link_user(&realm, &link(2), NOW_S), Err(SignInLinkError));
    let mut commit = RealmCommit { at_s: NOW_S, ..RealmCommit::default() };
    assert_eq!(redeem_sign_in_link(&realm, &link(1), &mut commit), Ok(UserId(4)));
    assert_eq!(find_sign_in_link_user(&after(&realm, commit), &link(1), NOW_S), Err(SignInLinkError));
}

#[test]
fn a_newer_link_and_a_new_password_end_an_older_link() {
    let realm = made(&made(&realm(), 1), 2);
    assert_eq!(find_sign_in_link_user(&realm, &link(1), NOW_S), Err(SignInLinkError));
    assert!(find_sign_in_link_user(&realm, &link(2), NOW_S).is_ok());
    let mut commit = RealmCommit::default();
    password_reset::set_password(&realm, UserId(4), None, None, &mut commit);
    assert_eq!(find_sign_in_link_user(&after(&realm, commit), &link(2), NOW_S), Err(SignInLinkError));
}

use super::*;
use crate::event_log::event::LogRecord;
use crate::id::EventId;
use crate::model::realm::RealmPermissionSettings;
use crate::testing::{self, NOW_S};

const DAY_S: i64 = 86_400;

fn token(seed: u8) -> SessionToken {
    let bytes = std::array::from_fn::<u8, 64, _>(|place| u8::try_from(place).unwrap().wrapping_add(seed) % 248);
    SessionToken::new(UserId(4), ApiKey::from_random(&bytes).unwrap())
}

fn after(realm: &RealmSnapshot, at_s: i64, decide: impl FnOnce(&RealmSnapshot, &mut RealmCommit)) -> RealmSnapshot {
    let mut commit = RealmCommit { decided_at: realm.changed_at(), at_s, ..RealmCommit::default() };
    decide(realm, &mut commit);
    realm.after_record(&LogRecord::new(EventId(realm.log_position().0 + 1), at_s, commit.changes, None))
}

fn signed_in(realm: &RealmSnapshot, token: &SessionToken, at_s: i64) -> RealmSnapshot {
    after(realm, at_s, |realm, commit| begin_session(realm, token, "Firefox\n1", 30 * DAY_S, commit))
}

fn hash(realm: &RealmSnapshot, token: &SessionToken) -> KeyHash {
    token.hash(realm.key_hasher())
}

#[test]
fn a_token_is_read_as_it_was_written_and_does_not_print() {
    let token = token(1);
    assert_eq!(SessionToken::parse(&token.expose()), Ok(token.clone()));
    assert_eq!(format!("{token:?}"), "SessionToken { user_id: UserId(4), .. }");
    let secret = token.expose().split_once('-').unwrap().1.to_owned();
    assert!(!token.csrf_token().contains(&secret) && token.csrf_token().len() == 64);
    for malformed in ["", "4", "4-", "-x", &format!("x-{secret}"), &format!("+4-{secret}"), &format!("4-{secret}x")] {
        assert_eq!(SessionToken::parse(malformed), Err(MalformedSessionToken), "{malformed}");
    }
}

#[test]
fn a_session_is_found_by_its_own_token_and_expires_when_it_is_not_used() {
    let realm = signed_in(&testing::realm(RealmPermissionSettings::default(), Vec::new()), &token(1), NOW_S);
    let found = Session::find_by_hash(&realm, UserId(4), hash(&realm, &token(1))).unwrap();
    assert_eq!((found.created_s, found.user_agent.as_str()), (NOW_S, "Firefox1"));
    assert!(Session::find_by_hash(&realm, UserId(4), hash(&realm, &token(2))).is_none());
    assert!(Session::find_by_hash(&realm, UserId(3), hash(&realm, &token(1))).is_none());
    assert!(!found.is_expired(NOW_S + DAY_S - 1, DAY_S) && found.is_expired(NOW_S + DAY_S, DAY_S));
    let used = after(&realm, NOW_S + 3_600, |realm, commit| {
        record_session_use(realm, UserId(4), hash(realm, &token(1)), commit);
    });
    let later = Session::find_by_hash(&used, UserId(4), hash(&realm, &token(1))).unwrap();
    assert_eq!((later.created_s, later.used_s), (NOW_S, NOW_S + 3_600));
    let mut commit = RealmCommit { at_s: NOW_S + 3_599, ..RealmCommit::default() };
    record_session_use(&realm, UserId(4), hash(&realm, &token(1)), &mut commit);
    assert!(commit.changes.is_empty());
}

#[test]
fn ending_a_session_revokes_access_and_leaves_the_others() {
    let realm = signed_in(&testing::realm(RealmPermissionSettings::default(), Vec::new()), &token(1), NOW_S);
    let realm = signed_in(&realm, &token(2), NOW_S + 1);
    let mut commit = RealmCommit::default();
    end_session(&realm, UserId(4), hash(&realm, &token(1)), &mut commit);
    assert!(commit.revokes_access(&realm));
    let ended = after(&realm, NOW_S, |_, given| given.changes = commit.changes);
    assert!(Session::find_by_hash(&ended, UserId(4), hash(&realm, &token(1))).is_none());
    assert!(Session::find_by_hash(&ended, UserId(4), hash(&realm, &token(2))).is_some());
    let mut again = RealmCommit::default();
    end_session(&ended, UserId(4), hash(&realm, &token(1)), &mut again);
    assert!(again.changes.is_empty());
    let ended = after(&realm, NOW_S, |realm, commit| {
        end_user_sessions(realm, UserId(4), Some(hash(realm, &token(2))), commit);
    });
    let listed = list_sessions(&ended, UserId(4), NOW_S, DAY_S);
    assert_eq!(
        listed.iter().map(|listed| listed.id.clone()).collect::<Vec<_>>(),
        [public_session_id(hash(&realm, &token(2)))]
    );
}

#[test]
fn a_listed_session_is_ended_by_its_public_id_and_by_its_user_alone() {
    let realm = signed_in(&testing::realm(RealmPermissionSettings::default(), Vec::new()), &token(1), NOW_S);
    let id = list_sessions(&realm, UserId(4), NOW_S, DAY_S).remove(0).id;
    let mut commit = RealmCommit::default();
    assert!(
        !end_session_by_id(&realm, UserId(3), &id, &mut commit)
            && !end_session_by_id(&realm, UserId(4), "", &mut commit)
    );
    assert!(commit.changes.is_empty());
    assert!(end_session_by_id(&realm, UserId(4), &id, &mut commit) && commit.changes.len() == 1);
}

#[test]
fn one_session_too_many_ends_the_one_used_longest_ago_and_expired_ones_end_too() {
    let mut realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
    for seed in 0..60_u8 {
        realm = signed_in(&realm, &token(seed), NOW_S + i64::from(seed));
    }
    assert_eq!(list_sessions(&realm, UserId(4), NOW_S, DAY_S).len(), MAX_SESSIONS_PER_USER);
    assert!(Session::find_by_hash(&realm, UserId(4), hash(&realm, &token(9))).is_none());
    assert!(Session::find_by_hash(&realm, UserId(4), hash(&realm, &token(10))).is_some());
    realm = signed_in(&realm, &token(99), NOW_S + 31 * DAY_S);
    assert_eq!(realm.user_items(UserId(4), UserItemKind::Session).count(), 1);
}

//! Sessions of browsers: as an item of their user on disk, in the memory of every node, and given up with the secrets.

use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::UserId;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::ApiKey;
use chat_core::people::session::{self, Session, SessionToken};
use chat_storage::ChatStore;

use crate::home::{NOW_S, on_each_engine};
use crate::people;

const LIFETIME_S: i64 = 86_400;

fn token() -> SessionToken {
    SessionToken::new(UserId(2), ApiKey::from_random(&[9; 64]).unwrap())
}

async fn commit(store: &ChatStore, decide: impl Fn(&RealmSnapshot, &mut RealmCommit)) {
    let realm = store.snapshot();
    let mut commit = RealmCommit { decided_at: realm.changed_at(), at_s: NOW_S, ..RealmCommit::default() };
    decide(&realm, &mut commit);
    assert!(matches!(store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
}

async fn begin(store: &ChatStore) {
    commit(store, |realm, commit| session::begin_session(realm, &token(), "Firefox", LIFETIME_S, commit)).await;
}

fn is_known(store: &ChatStore) -> bool {
    let realm = store.snapshot();
    Session::find_by_hash(&realm, UserId(2), token().hash(realm.key_hasher())).is_some()
}

on_each_engine! {
    async fn a_session_is_known_after_a_restart_and_its_secret_is_not_in_the_database(home) {
        let store = home.open().await;
        people::found(&store).await;
        begin(&store).await;
        store.flush_and_close().await;
        assert!(!home.dump().await.contains(token().expose().split_once('-').unwrap().1));
        let store = home.open().await;
        assert!(is_known(&store));
        commit(&store, |realm, commit| session::end_user_sessions(realm, UserId(2), None, commit)).await;
        assert!(!is_known(&store));
        store.flush_and_close().await;
        let store = home.open().await;
        assert!(!is_known(&store));
        store.flush_and_close().await;
    }

    async fn a_session_begun_or_ended_on_one_node_is_so_on_another_once_it_has_heard(home) {
        let here = home.open().await;
        people::found(&here).await;
        let there = home.open().await;
        begin(&here).await;
        there.refresh_realm().await.unwrap();
        assert!(is_known(&there));
        commit(&there, |realm, commit| {
            session::end_session(realm, UserId(2), token().hash(realm.key_hasher()), commit);
            assert!(commit.revokes_access(realm));
        })
        .await;
        here.refresh_realm().await.unwrap();
        assert!(!is_known(&here));
        here.flush_and_close().await;
        there.flush_and_close().await;
    }

    async fn sessions_are_given_up_with_the_secrets(home) {
        let store = home.open().await;
        people::found(&store).await;
        begin(&store).await;
        store.flush_and_close().await;
        assert_eq!(home.ask("SELECT kind FROM user_item").await, ["session"]);
        let db = home.try_open().await.unwrap();
        db.discard_secrets_and_rekey(None).await.unwrap();
        db.close().await;
        assert!(home.ask("SELECT kind FROM user_item").await.is_empty());
    }
}

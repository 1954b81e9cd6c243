//! Letters that wait, and the secrets of links.

use chat_core::event_log::email_queue::{EmailQueueStore as _, OutgoingEmail};
use chat_core::event_log::realm_commit::{CommitOutcome, CredentialChange, RealmCommit};
use chat_core::event_log::store::RealmStore as _;
use chat_core::model::realm_change::{RealmChange, RealmItemKind};
use chat_core::model::user::{ApiKey, InvitationSecret};
use chat_core::people::invitation::ReusableInvitationStore as _;
use chat_storage::ChatStore;
use serde_json::json;

use crate::home::{NOW_S, on_every_engine};

fn commit(store: &ChatStore, letters: &[&str]) -> RealmCommit {
    let mail = |to: &&str| OutgoingEmail { to: (*to).to_owned(), subject: "Hi".to_owned(), text: "x".to_owned() };
    let document = Some(json!({"letters": letters.len()}));
    RealmCommit {
        decided_at: store.snapshot().changed_at(),
        at_s: NOW_S,
        changes: vec![RealmChange::Item { kind: RealmItemKind::Invitation, id: 1, document }],
        mail: letters.iter().map(mail).collect(),
        ..RealmCommit::default()
    }
}

async fn taken(store: &ChatStore, now_s: i64) -> Vec<String> {
    let taken = store.claim_due_emails(now_s, now_s + 10, 2).await.unwrap();
    taken.into_iter().map(|waiting| format!("{} {}", waiting.mail.to, waiting.tries)).collect()
}

#[tokio::test]
async fn a_letter_is_taken_by_one_node_at_a_time_until_it_is_finished() {
    on_every_engine(|home| async move {
        let store = home.open().await;
        store.commit(commit(&store, &["a", "b", "c"])).await.unwrap();
        assert_eq!(taken(&store, NOW_S - 1).await, Vec::<String>::new());
        assert_eq!(taken(&store, NOW_S).await, ["a 1", "b 1"]);
        assert_eq!(taken(&store, NOW_S).await, ["c 1"]);
        assert_eq!(taken(&store, NOW_S + 9).await, Vec::<String>::new());
        // Whoever took them is gone.
        let again = store.claim_due_emails(NOW_S + 10, NOW_S + 20, 10).await.unwrap();
        assert_eq!(again.iter().map(|waiting| waiting.tries).collect::<Vec<_>>(), [2, 2, 2]);
        store.remove_email(again[0].id).await.unwrap();
        store.postpone_email(again[1].id, NOW_S + 500).await.unwrap();
        assert_eq!(taken(&store, NOW_S + 20).await, ["c 3"]);
        assert_eq!(taken(&store, NOW_S + 500).await, ["b 3", "c 4"]);
        store.flush_and_close().await;
    })
    .await;
}

#[tokio::test]
async fn two_nodes_that_look_at_once_take_different_letters() {
    on_every_engine(|home| async move {
        let store = home.open().await;
        let other = if home.is_postgres() { home.open().await } else { store.clone() };
        store.commit(commit(&store, &["a", "b", "c", "d"])).await.unwrap();
        let (one, two) = tokio::join!(taken(&store, NOW_S), taken(&other, NOW_S));
        let mut all = [one, two].concat();
        let before = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), before, "{all:?}");
        other.flush_and_close().await;
        store.flush_and_close().await;
    })
    .await;
}

#[tokio::test]
async fn a_decision_that_came_too_late_writes_no_letter() {
    on_every_engine(|home| async move {
        let store = home.open().await;
        let stale = commit(&store, &["late"]);
        store.commit(commit(&store, &[])).await.unwrap();
        assert!(matches!(store.commit(stale).await.unwrap(), CommitOutcome::Stale(_)));
        assert_eq!(taken(&store, NOW_S).await, Vec::<String>::new());
        store.flush_and_close().await;
    })
    .await;
}

#[tokio::test]
async fn who_waits_for_letters_is_woken_by_one_and_a_restart_keeps_it() {
    on_every_engine(|home| async move {
        let store = home.open().await;
        store.commit(commit(&store, &["a"])).await.unwrap();
        store.wait_for_new_email().await;
        store.flush_and_close().await;
        let store = home.open().await;
        assert_eq!(taken(&store, NOW_S).await, ["a 1"]);
        store.flush_and_close().await;
    })
    .await;
}

#[tokio::test]
async fn the_secret_of_a_link_is_kept_until_it_opens_nothing_and_never_in_the_log() {
    on_every_engine(|home| async move {
        let store = home.open().await;
        let secret = InvitationSecret::new(ApiKey::from_random(&[9; 64]).unwrap());
        let credentials = vec![CredentialChange::InvitationLink(4, Some(secret.clone()))];
        store.commit(RealmCommit { credentials, ..commit(&store, &[]) }).await.unwrap();
        assert_eq!(store.reusable_link_secrets().await.unwrap(), [(4, secret.clone())]);
        let log = home.ask("SELECT coalesce(changes, '') || coalesce(event, '') FROM log").await.concat();
        assert!(!log.is_empty() && !log.contains(secret.expose()));
        let credentials = vec![CredentialChange::InvitationLink(4, None)];
        store.commit(RealmCommit { credentials, ..commit(&store, &[]) }).await.unwrap();
        assert!(store.reusable_link_secrets().await.unwrap().is_empty());
        store.flush_and_close().await;
    })
    .await;
}

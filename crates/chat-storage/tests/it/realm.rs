//! The realm's state: changes, staleness, reading it again.

use chat_core::event_log::event::EventAudience;
use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::{EventLog as _, RealmStore as _};
use chat_core::id::{ChannelId, EventId, MessageId, UserId};
use chat_core::model::channel::{ChannelPrivacy, Subscription};
use chat_core::model::realm_change::{RealmChange, RealmItemKind, UserItemKind};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::{ApiKey, PasswordHash};
use chat_core::organization::founding;
use serde_json::json;

use crate::home::{Home, NOW_S, on_each_engine};
use crate::people::{change, channel, found, notice, subscription, unsubscription, user};

on_each_engine! {
    async fn a_realm_read_again_is_the_realm_that_was_written(home) {
        let store = home.open().await;
        found(&store).await;
        let key = ApiKey::from_random(&[7; 64]).unwrap();
        let mut commit = RealmCommit { decided_at: store.snapshot().changed_at(), at_s: NOW_S, ..RealmCommit::default() };
        commit.set_api_key(&store.snapshot(), UserId(3), key.clone());
        commit.changes.push(subscription(11, 3));
        commit.changes.push(RealmChange::Item { kind: RealmItemKind::Emoji, id: 4, document: Some(json!({"name": "x"})) });
        commit.changes.push(RealmChange::UserItem {
            user_id: UserId(3),
            kind: UserItemKind::Status,
            key: String::new(),
            document: Some(json!({"status_text": "out"})),
        });
        assert!(matches!(store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
        let left = change(&store, vec![unsubscription(11, 3)]).await;
        let before = store.snapshot();
        store.flush_and_close().await;

        let store = home.open().await;
        let realm = store.snapshot();
        assert_eq!((realm.log_position(), realm.changed_at()), (before.log_position(), before.changed_at()));
        assert_eq!(realm.nth_unused_id(1), before.nth_unused_id(1));
        assert_eq!(realm.user_by_key_hash(&realm.key_hasher().hash(&key)).map(|user| user.id), Some(UserId(3)));
        assert_eq!(realm.users().count(), 8);
        assert_eq!(realm.realm_item(RealmItemKind::Emoji, 4), Some(&json!({"name": "x"})));
        assert_eq!(realm.user_item(UserId(3), UserItemKind::Status, ""), Some(&json!({"status_text": "out"})));
        let membership = realm.membership(ChannelId(11), UserId(3)).unwrap();
        assert_eq!(Some(membership), before.membership(ChannelId(11), UserId(3)));
        assert_eq!(membership.subscription, None);
        assert!(membership.was_subscribed_at(MessageId(left.0)) && !membership.was_subscribed_at(MessageId(left.0 + 1)));
        assert_eq!(store.load_credentials(UserId(3)).await.unwrap().unwrap().api_key, Some(key));
        assert!(store.load_credentials(UserId(4)).await.unwrap().is_none());
        store.flush_and_close().await;
    }

    async fn subscriptions_of_one_commit_are_written_in_their_order(home) {
        let store = home.open().await;
        found(&store).await;
        let recolored = |channel, user| match subscription(channel, user) {
            RealmChange::Subscription(first) => RealmChange::Subscription(Box::new(Subscription { color: "#123456".to_owned(), ..*first })),
            other => other,
        };
        change(&store, vec![subscription(11, 3), subscription(11, 4), recolored(11, 3)]).await;
        change(&store, vec![unsubscription(11, 3), unsubscription(11, 4), subscription(11, 4), subscription(12, 3)]).await;
        let before = store.snapshot();
        assert!(before.subscription(ChannelId(11), UserId(3)).is_none());
        assert!(before.subscription(ChannelId(11), UserId(4)).is_some());
        store.flush_and_close().await;

        let store = home.open().await;
        for user in [3, 4] {
            let memberships = |realm: &RealmSnapshot| {
                realm.memberships_of_user(UserId(user)).map(|(id, membership)| (id, membership.clone())).collect::<Vec<_>>()
            };
            assert_eq!(memberships(&store.snapshot()), memberships(&before), "user {user}");
        }
        store.flush_and_close().await;
    }

    async fn subscriptions_outlive_the_upgrade_that_takes_their_foreign_keys_away(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, vec![subscription(11, 3), subscription(11, 4), subscription(12, 4)]).await;
        change(&store, vec![unsubscription(11, 4)]).await;
        let before = store.snapshot();
        store.flush_and_close().await;
        for statement in foreign_keys_of_schema_22(&home) {
            home.execute((*statement).to_owned()).await;
        }

        let store = home.open().await;
        for user in [3, 4] {
            let memberships = |realm: &RealmSnapshot| {
                realm.memberships_of_user(UserId(user)).map(|(id, membership)| (id, membership.clone())).collect::<Vec<_>>()
            };
            assert_eq!(memberships(&store.snapshot()), memberships(&before), "user {user}");
        }
        let keys = if home.is_postgres() {
            "SELECT conname::TEXT FROM pg_constraint WHERE contype = 'f' AND conrelid::REGCLASS::TEXT LIKE 'subscription%'"
        } else {
            "SELECT name FROM sqlite_schema WHERE name LIKE 'subscription%' AND sql LIKE '%REFERENCES%'"
        };
        assert_eq!(home.ask(keys).await, Vec::<String>::new());
        store.flush_and_close().await;
    }

    async fn a_key_is_in_no_record_of_the_log(home) {
        let store = home.open().await;
        found(&store).await;
        let key = ApiKey::from_random(&[9; 64]).unwrap();
        let mut commit = RealmCommit { decided_at: store.snapshot().changed_at(), at_s: NOW_S, ..RealmCommit::default() };
        commit.set_api_key(&store.snapshot(), UserId(3), key.clone());
        store.commit(commit).await.unwrap();
        let written = home.ask("SELECT coalesce(changes, '') || coalesce(event, '') FROM log").await;
        assert_eq!(written.len(), 2);
        assert!(written.iter().all(|record| !record.contains(key.expose())));
        store.flush_and_close().await;
    }

    async fn a_decision_on_an_older_realm_writes_nothing(home) {
        let store = home.open().await;
        found(&store).await;
        let old = store.snapshot().changed_at();
        let newer = change(&store, vec![subscription(11, 3)]).await;
        let stale = RealmCommit {
            decided_at: old,
            at_s: NOW_S,
            changes: vec![RealmChange::User(Box::new(user(9)))],
            events: vec![notice(EventAudience::Everyone, "never")],
            ..RealmCommit::default()
        };
        assert_eq!(store.commit(stale).await.unwrap(), CommitOutcome::Stale(newer));
        assert_eq!(store.last_event_id(), newer);
        assert!(store.snapshot().user(UserId(9)).is_none());
        assert!(home.ask("SELECT email_key FROM account WHERE id = 9").await.is_empty());
        store.flush_and_close().await;
    }

    async fn of_two_nodes_that_take_one_name_one_decides_again(home) {
        let (one, two) = (home.open().await, home.open().await);
        found(&one).await;
        let take = |id| vec![RealmChange::Channel(Box::new(chat_core::model::channel::Channel {
            name: "Same".to_owned(),
            ..channel(id, ChannelPrivacy::Public)
        }))];
        let commit = |decided_at, id| RealmCommit { decided_at, at_s: NOW_S, changes: take(id), ..RealmCommit::default() };
        let decided_at = one.snapshot().changed_at();
        assert!(matches!(one.commit(commit(decided_at, 20)).await.unwrap(), CommitOutcome::Done { .. }));
        assert!(matches!(two.commit(commit(decided_at, 21)).await.unwrap(), CommitOutcome::Stale(_)));
        // Who was too late knows now what was in the way.
        assert_eq!(two.snapshot().channel_by_name("same").map(|channel| channel.id), Some(ChannelId(20)));
        one.flush_and_close().await;
        two.flush_and_close().await;
    }

    async fn events_of_one_commit_stand_side_by_side(home) {
        let store = home.open().await;
        found(&store).await;
        let events = ["a", "b", "c"].map(|text| notice(EventAudience::Everyone, text)).to_vec();
        let decided_at = EventId::BEFORE_FIRST;
        let CommitOutcome::Done { first, last } =
            store.commit(RealmCommit { decided_at, at_s: NOW_S, events, ..RealmCommit::default() }).await.unwrap()
        else {
            panic!("events alone decide nothing, so they are never stale");
        };
        assert_eq!(last.0 - first.0, 2);
        store.flush_and_close().await;
    }

    async fn of_nodes_that_found_the_realm_at_once_one_does(home) {
        let mut nodes = tokio::task::JoinSet::new();
        for node in 0..3_u8 {
            let home = home.clone();
            nodes.spawn(async move {
                let store = home.open().await;
                let commit = founding::found_realm(&store.snapshot(), founding::NewRealm {
                    realm_name: format!("Realm {node}"),
                    email: format!("owner{node}@example.org"),
                    full_name: "Owner".to_owned(),
                    password_hash: Some(PasswordHash("$argon2id$".to_owned())),
                    api_key: ApiKey::from_random(&[node; 64]).unwrap(),
                    now_s: NOW_S,
                });
                let done = matches!(store.commit(commit).await.unwrap(), CommitOutcome::Done { .. });
                let name = store.snapshot().realm().map(|realm| realm.name.clone());
                let hash = store.load_credentials(UserId(9)).await.unwrap().unwrap().password_hash;
                assert_eq!(hash, Some(PasswordHash("$argon2id$".to_owned())));
                store.flush_and_close().await;
                (done, name)
            });
        }
        let nodes = nodes.join_all().await;
        assert_eq!(nodes.iter().filter(|(done, _)| *done).count(), 1);
        // Those who came too late know the realm that was founded.
        assert!(nodes.iter().all(|(_, name)| name.is_some() && *name == nodes[0].1));
        // The owner and the two bots of the server.
        assert_eq!(home.ask("SELECT email_key FROM account").await.len(), 3);
    }
}

/// Gives the tables of subscriptions the form that schema file 22 left them in.
fn foreign_keys_of_schema_22(home: &Home) -> &'static [&'static str] {
    if home.is_postgres() {
        &[
            "DROP INDEX message_resolved",
            "DROP TABLE reminder",
            "DROP TABLE resumable_upload",
            "DROP TABLE resumable_upload_part",
            "DELETE FROM schema_file WHERE number >= 23",
            "ALTER TABLE subscription
             ADD CONSTRAINT subscription_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel (id),
             ADD CONSTRAINT subscription_user_id_fkey FOREIGN KEY (user_id) REFERENCES account (id)",
            "ALTER TABLE subscription_span
             ADD CONSTRAINT subscription_span_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES channel (id),
             ADD CONSTRAINT subscription_span_user_id_fkey FOREIGN KEY (user_id) REFERENCES account (id)",
        ]
    } else {
        &[
            "DROP INDEX message_resolved",
            "DROP TABLE reminder",
            "DROP TABLE resumable_upload",
            "DROP TABLE resumable_upload_part",
            "DELETE FROM schema_file WHERE number >= 23",
            "ALTER TABLE subscription RENAME TO new_subscription",
            "ALTER TABLE subscription_span RENAME TO new_span",
            "CREATE TABLE subscription (
                channel_id BIGINT NOT NULL REFERENCES channel (id), user_id BIGINT NOT NULL REFERENCES account (id),
                document TEXT NOT NULL, PRIMARY KEY (channel_id, user_id))",
            "CREATE TABLE subscription_span (
                channel_id BIGINT NOT NULL REFERENCES channel (id), user_id BIGINT NOT NULL REFERENCES account (id),
                after_event BIGINT NOT NULL, until_event BIGINT, PRIMARY KEY (channel_id, user_id, after_event))",
            "INSERT INTO subscription SELECT * FROM new_subscription",
            "INSERT INTO subscription_span SELECT * FROM new_span",
            "DROP TABLE new_subscription",
            "DROP TABLE new_span",
        ]
    }
}

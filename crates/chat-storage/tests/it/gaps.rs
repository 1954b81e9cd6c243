//! A node that slept while the log was pruned past it.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use chat_core::event_log::event::{EventAudience, MessageFlagsUpdate, NewEvent, QueueFilter};
use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::{
    EventLog as _, EventQueue, EventQueueStore, LogWaiter, PrunedRecordsError, RealmStore as _,
};
use chat_core::id::{ChannelId, EventId, MessageId, UserId};
use chat_core::messages::narrow::{Anchor, ReadableMessageSelection};
use chat_core::messages::store::{MessagePage, MessageStore};
use chat_core::model::channel::ChannelPrivacy;
use chat_core::model::flag_change::{FlagChange, FlagOp};
use chat_core::model::message::{Conversation, MessageFlag, Recipient, topic_key};
use chat_core::model::realm_change::RealmChange;
use chat_core::model::user::{ApiKey, KeyHash};
use chat_storage::ChatStore;
use serde_json::json;
use tokio::time::timeout;

use crate::home::{Home, NOW_S, on_each_engine};
use crate::people::{CHANNELS, change, channel, decided, decided_copies, found, say, subscription};
use crate::recent::page;

/// Longer than anything here may take, on a slow machine.
const AT_MOST: Duration = Duration::from_secs(20);
/// After every record.
const LATER_S: i64 = 10 * NOW_S;

fn key(letter: char) -> ApiKey {
    ApiKey::parse(&letter.to_string().repeat(32)).unwrap()
}

fn hashed(store: &ChatStore, key: &ApiKey) -> KeyHash {
    store.snapshot().key_hasher().hash(key)
}

async fn set_key(store: &ChatStore, user: i64, key: &ApiKey) {
    let mut commit = RealmCommit { decided_at: store.snapshot().changed_at(), at_s: NOW_S, ..RealmCommit::default() };
    commit.set_api_key(&store.snapshot(), UserId(user), key.clone());
    assert!(matches!(store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
}

async fn set_read(store: &ChatStore, user: i64, op: FlagOp, ids: &[MessageId]) {
    let mark = FlagChange { flag: MessageFlag::Read, op };
    let event = MessageFlagsUpdate::without_locations(mark, ids.to_vec()).event_for_user(UserId(user));
    store
        .change_flag(UserId(user), (MessageFlag::Read, op), &decided_copies(store, ids), (NOW_S, event))
        .await
        .unwrap();
}

/// What a node shows of all that it keeps in memory.
#[derive(Debug, PartialEq)]
struct Shown {
    pages: Vec<MessagePage>,
    unread: Vec<Vec<MessageId>>,
    flags: Vec<Vec<String>>,
    begins: bool,
    channels: usize,
    head: EventId,
}

async fn shown(store: &ChatStore, ids: &[MessageId], alone: &Conversation) -> Shown {
    let (mut pages, mut unread, mut flags) = (Vec::new(), Vec::new(), Vec::new());
    for user in [1, 2, 3] {
        for channel in CHANNELS {
            pages.push(page(store, user, channel, (Anchor::Newest, 100, 0)).await);
        }
        let realm = store.snapshot();
        let selection = ReadableMessageSelection::new(&realm, realm.user(UserId(user)).unwrap(), Vec::new());
        let mut found = store.unread_messages(&selection, 1_000).await.unwrap().message_ids();
        found.sort_unstable();
        unread.push(found);
        let copies = store.find_user_messages(UserId(user), ids, MessageFlag::Read).await.unwrap();
        flags.push(copies.iter().map(|copy| format!("{copy:?}")).collect());
    }
    let begins = store.is_first_in_conversation(alone, MessageId(i64::MAX)).await.unwrap();
    let channels = store.snapshot().channels().count();
    Shown { pages, unread, flags, begins, channels, head: store.last_event_id() }
}

#[tokio::test]
async fn a_node_that_finds_a_gap_logs_a_warning_with_the_places_it_missed() {
    let home = Home::embedded();
    let log = home.folder().join("log");
    let file = Arc::new(File::create(&log).unwrap());
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(file).finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let logged = || std::fs::read_to_string(&log).unwrap();
    let (here, there) = (home.open().await, home.open().await);
    found(&here).await;
    there.refresh_realm().await.unwrap();
    let missed = there.last_event_id();
    let asleep = there.suspend_log_following().await;
    say(&here, 1, 11, "t").await;
    here.prune_records(LATER_S).await.unwrap();
    drop(asleep);
    there.refresh_realm().await.unwrap();
    let logged = logged();
    let lines: Vec<&str> = logged.lines().filter(|line| line.contains("log pruned past this node")).collect();
    let [line] = lines.as_slice() else { panic!("{logged}") };
    let fields = format!("after={} gone_to={} head={}", missed.0, here.last_event_id().0, here.last_event_id().0);
    assert!(line.contains(" WARN ") && line.ends_with(&fields), "{line}");
    here.flush_and_close().await;
    there.flush_and_close().await;
}

on_each_engine! {
    async fn a_node_that_missed_pruned_records_refuses_a_revoked_key(home) {
        let (here, there) = (home.open().await, home.open().await);
        found(&here).await;
        set_key(&here, 3, &key('a')).await;
        there.refresh_realm().await.unwrap();
        assert!(there.snapshot().user_by_key_hash(&hashed(&there, &key('a'))).is_some());
        for prune_all in [false, true] {
            let (old, new) = if prune_all { (key('b'), key('c')) } else { (key('a'), key('b')) };
            let asleep = there.suspend_log_following().await;
            set_key(&here, 3, &new).await;
            here.prune_records(LATER_S).await.unwrap();
            if !prune_all {
                say(&here, 1, 11, "t").await;
            }
            drop(asleep);
            there.refresh_realm().await.unwrap();
            assert!(there.snapshot().user_by_key_hash(&hashed(&there, &old)).is_none());
            assert_eq!(there.snapshot().key_hash_of_user(UserId(3)), Some(hashed(&there, &new)));
            assert_eq!(there.last_event_id(), here.last_event_id());
        }
        // It writes like any other node from then on.
        say(&there, 2, 12, "t").await;
        here.flush_and_close().await;
        there.flush_and_close().await;
    }

    async fn a_node_that_missed_pruned_records_shows_what_a_new_node_shows(home) {
        let (here, there) = (home.open().await, home.open().await);
        found(&here).await;
        change(&here, CHANNELS.iter().flat_map(|at| [1, 2, 3].map(|user| subscription(*at, user))).collect()).await;
        let mut ids = Vec::new();
        for _ in 0..6 {
            ids.push(say(&here, 1, 11, "t").await);
        }
        let gone = say(&here, 1, 12, "alone").await;
        let alone = Conversation { recipient: Recipient::Channel(ChannelId(12)), topic_key: topic_key("alone") };
        there.refresh_realm().await.unwrap();
        set_read(&there, 2, FlagOp::Add, &ids[..2]).await;
        here.refresh_realm().await.unwrap();
        let before = shown(&there, &ids, &alone).await;
        assert!(!before.begins);
        assert_eq!(shown(&there, &ids, &alone).await, before, "from memory");

        let asleep = there.suspend_log_following().await;
        change(&here, vec![RealmChange::Channel(Box::new(channel(13, ChannelPrivacy::Public)))]).await;
        set_read(&here, 2, FlagOp::Remove, &ids[..1]).await;
        set_read(&here, 3, FlagOp::Add, &ids[3..]).await;
        ids.push(say(&here, 2, 11, "t").await);
        let event = NewEvent::same_for_everyone(EventAudience::Everyone, json!({"type": "delete_message", "message_ids": [gone]}));
        MessageStore::delete_messages(&here, &decided(&here, &[(gone, gone.into())]), (NOW_S, vec![event])).await.unwrap();
        here.prune_records(LATER_S).await.unwrap();
        ids.push(say(&here, 3, 12, "after").await);
        drop(asleep);
        there.refresh_realm().await.unwrap();

        let fresh = home.open().await;
        let expected = shown(&fresh, &ids, &alone).await;
        assert!(expected.begins && expected.channels == 3);
        assert_eq!(shown(&there, &ids, &alone).await, expected);
        for store in [here, there, fresh] {
            store.flush_and_close().await;
        }
    }

    async fn a_poll_of_a_node_that_missed_pruned_records_wakes_and_finds_them_gone(home) {
        let (here, there) = (home.open().await, home.open().await);
        found(&here).await;
        there.refresh_realm().await.unwrap();
        let last = there.last_event_id();
        let listener = LogWaiter { user_id: UserId(3), receives_public: false, typing_seen: 0 };
        let asleep = there.suspend_log_following().await;
        let waiting = there.clone();
        let mut waits = tokio::task::JoinSet::new();
        waits.spawn(async move { waiting.wait_for_record(listener, last).await });
        // For another user alone: nothing of it would wake the poll.
        say(&here, 1, 11, "t").await;
        here.prune_records(LATER_S).await.unwrap();
        drop(asleep);
        there.refresh_realm().await.unwrap();
        timeout(AT_MOST, waits.join_next()).await.unwrap().unwrap().unwrap();
        assert_eq!(there.records_after(last, 10).await.unwrap().unwrap_err(), PrunedRecordsError(last));
        here.flush_and_close().await;
        there.flush_and_close().await;
    }

    async fn a_node_that_hears_nothing_does_not_trust_what_it_knows_for_longer_than_a_revocation_takes(home) {
        // SQLite serves one node.
        if !home.is_postgres() {
            return;
        }
        let (here, there) = (home.open().await, home.open().await);
        found(&here).await;
        set_key(&here, 3, &key('a')).await;
        there.refresh_realm().await.unwrap();
        assert!(there.is_realm_current());
        let asleep = there.suspend_log_following().await;
        set_key(&here, 3, &key('b')).await;
        here.wait_for_all_nodes().await;
        assert!(!there.is_realm_current());
        assert!(here.is_realm_current());
        drop(asleep);
        there.refresh_realm().await.unwrap();
        assert!(there.is_realm_current() && there.snapshot().user_by_key_hash(&hashed(&there, &key('a'))).is_none());
        here.flush_and_close().await;
        there.flush_and_close().await;
    }

    async fn a_queue_deleted_while_a_node_does_not_listen_is_gone_there_too(home) {
        // SQLite serves one node.
        if !home.is_postgres() {
            return;
        }
        let (here, there) = (home.open().await, home.open().await);
        found(&here).await;
        let queue = EventQueue {
            id: "q".to_owned(),
            user_id: UserId(3),
            filter: QueueFilter::default(),
            begins_after: EventId(1),
            seen_s: NOW_S,
            idle_limit_s: 600,
        };
        here.register_queue(queue).await.unwrap();
        assert!(EventQueueStore::find_queue(&there, "q").await.unwrap().is_some());
        // Both nodes lose the connection on which they listen, and the row goes without a word to them.
        let listening = "SELECT pg_terminate_backend(pid)::TEXT FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE 'LISTEN%'";
        assert_eq!(home.ask(listening).await.len(), 2);
        home.ask("DELETE FROM queue RETURNING id").await;
        let gone = async {
            while EventQueueStore::find_queue(&there, "q").await.unwrap().is_some() {
                tokio::task::yield_now().await;
            }
        };
        timeout(AT_MOST, gone).await.unwrap();
        here.flush_and_close().await;
        there.flush_and_close().await;
    }

    async fn one_record_of_a_lagging_clock_prunes_nothing_below_it(home) {
        let store = home.open().await;
        found(&store).await;
        let notice = |at_s: i64, text: &str| {
            let events = vec![crate::people::notice(EventAudience::Everyone, text)];
            RealmCommit { at_s, events, ..RealmCommit::default() }
        };
        // An hour after the founding, and then one of a node whose clock is a day behind.
        store.commit(notice(NOW_S + 3_600, "young")).await.unwrap();
        let founded = EventId(store.last_event_id().0 - 1);
        store.commit(notice(NOW_S - 86_400, "lagging")).await.unwrap();
        assert_eq!(store.prune_records(NOW_S + 1_800).await.unwrap(), 1, "the founding alone is old");
        let fresh = home.open().await;
        assert_eq!(fresh.records_after(founded, 10).await.unwrap().unwrap().len(), 2);
        // With the young one the lagging one goes, too.
        assert_eq!(store.prune_records(NOW_S + 3_601).await.unwrap(), 2);
        assert_eq!(fresh.records_after(founded, 10).await.unwrap().unwrap_err(), PrunedRecordsError(founded));
        store.flush_and_close().await;
        fresh.flush_and_close().await;
    }
}

//! The log: order, completeness, waiting, several nodes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chat_core::event_log::event::{
    ConversationFlagsUpdate, EventAudience, EventReceiver, LogRecord, MessageFlagsUpdate, MessageLocation, QueueFilter,
};
use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::{EventLog as _, LogWaiter, PrunedRecordsError, RealmStore as _};
use chat_core::id::{ChannelId, EventId, UserId};
use chat_core::messages::store::{MessageStore as _, SendOutcome};
use chat_core::model::flag_change::{FlagChange, FlagOp};
use chat_core::model::message::MessageFlag;
use chat_core::model::realm_change::{RealmChange, UserItemKind};
use chat_storage::ChatStore;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::home::{Home, NOW_S, on_each_engine};
use crate::people::{change, found, message, notice, say, send, subscription, to_channel, to_users};

/// Longer than anything here may take, on a slow machine.
const AT_MOST: Duration = Duration::from_secs(20);

async fn all_after(store: &ChatStore, mut after: EventId) -> Vec<Arc<LogRecord>> {
    let mut all = Vec::new();
    loop {
        let records = store.records_after(after, 7).await.unwrap().unwrap();
        let Some(last) = records.last() else { return all };
        after = last.id;
        all.extend(records);
    }
}

fn contents(records: &[Arc<LogRecord>]) -> Vec<String> {
    let content = |record: &Arc<LogRecord>| match &record.event.as_ref()?.body {
        chat_core::event_log::event::EventBody::Message(message) => Some(message.message.content.clone()),
        _ => None,
    };
    records.iter().filter_map(content).collect()
}

/// Writers on a node send and change the realm; what each was answered is returned.
fn write_at_once(writers: &mut JoinSet<Vec<String>>, store: &ChatStore, name: &'static str) {
    for writer in 0..4 {
        let store = store.clone();
        writers.spawn(async move {
            let mut done = Vec::new();
            for at in 0..10 {
                let content = format!("{name} {writer} {at}");
                send(&store, message(&store, writer + 1, to_channel(11), ("t", &content))).await;
                done.push(content);
                if at % 4 == 0 {
                    change(&store, vec![subscription(12, writer + 1)]).await;
                }
            }
            done
        });
    }
}

/// Reads on while others write, as a queue does: what was read, in order.
async fn follow(store: ChatStore, until: usize) -> Vec<Arc<LogRecord>> {
    let listener = LogWaiter { user_id: UserId(8), receives_public: true, typing_seen: 0 };
    let mut all: Vec<Arc<LogRecord>> = Vec::new();
    while contents(&all).len() < until {
        let after = all.last().map_or(EventId::BEFORE_FIRST, |record| record.id);
        timeout(AT_MOST, store.wait_for_record(listener, after)).await.unwrap();
        all.extend(store.records_after(after, 5).await.unwrap().unwrap());
    }
    all
}

/// Every reader sees every answered message once, in one order, whoever wrote it and while it is written.
async fn nothing_is_lost_or_twice(home: &Home, nodes: &[ChatStore]) {
    const NAMES: [&str; 2] = ["one", "two"];
    let mut writers = JoinSet::new();
    let mut readers = JoinSet::new();
    for (node, name) in nodes.iter().zip(NAMES) {
        readers.spawn(follow(node.clone(), 40 * nodes.len()));
        write_at_once(&mut writers, node, name);
    }
    let answered: BTreeSet<String> = timeout(AT_MOST, writers.join_all()).await.unwrap().concat().into_iter().collect();
    assert_eq!(answered.len(), 40 * nodes.len());
    let read = timeout(AT_MOST, readers.join_all()).await.unwrap();
    for node in nodes {
        node.flush_and_close().await;
    }
    let again = home.open().await;
    let log = all_after(&again, EventId::BEFORE_FIRST).await;
    let ids: Vec<i64> = log.iter().map(|record| record.id.0).collect();
    assert_eq!(ids, (1..=again.last_event_id().0).collect::<Vec<_>>());
    let kept = contents(&log);
    assert_eq!(kept.len(), answered.len());
    assert_eq!(kept.iter().cloned().collect::<BTreeSet<_>>(), answered);
    for read in read {
        assert_eq!(contents(&read), kept);
    }
    again.flush_and_close().await;
}

on_each_engine! {
    async fn what_was_answered_is_in_the_log_once_and_in_one_order(home) {
        let store = home.open().await;
        found(&store).await;
        nothing_is_lost_or_twice(&home, &[store]).await;
    }

    async fn two_nodes_write_one_log(home) {
        let (one, two) = (home.open().await, home.open().await);
        found(&one).await;
        change(&two, vec![subscription(11, 1)]).await;
        nothing_is_lost_or_twice(&home, &[one, two]).await;
    }

    async fn another_node_hears_of_a_message(home) {
        let (one, two) = (home.open().await, home.open().await);
        found(&one).await;
        change(&one, vec![subscription(11, 2)]).await;
        let before = one.last_event_id();
        // The other node waits, with what it knows, which may be nothing yet.
        let listener = LogWaiter { user_id: UserId(2), receives_public: false, typing_seen: 0 };
        let waiting = async {
            let mut after = EventId::BEFORE_FIRST;
            loop {
                two.wait_for_record(listener, after).await;
                let records = two.records_after(after, 100).await.unwrap().unwrap();
                after = records.last().map_or(after, |record| record.id);
                if after > before {
                    return records;
                }
            }
        };
        let (records, id) = tokio::join!(timeout(AT_MOST, waiting), say(&one, 1, 11, "t"));
        assert_eq!(records.unwrap().last().map(|record| record.id), Some(EventId::from(id)));
        // And what it knows of the realm came with it.
        assert!(two.snapshot().subscription(ChannelId(11), UserId(2)).is_some());
        one.flush_and_close().await;
        two.flush_and_close().await;
    }

    async fn a_listener_is_woken_by_what_concerns_them_and_nothing_else(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, vec![subscription(11, 2)]).await;
        let head = store.last_event_id();
        let wait = |user, receives_public, after| {
            let store = store.clone();
            async move { store.wait_for_record(LogWaiter { user_id: UserId(user), receives_public, typing_seen: 0 }, after).await }
        };
        let mut woken = JoinSet::new();
        let mut silent = Box::pin(wait(3, false, head));
        assert!(timeout(Duration::ZERO, &mut silent).await.is_err());
        for (user, receives_public) in [(2, false), (4, true)] {
            woken.spawn(wait(user, receives_public, head));
        }
        let id = say(&store, 1, 11, "t").await;
        timeout(AT_MOST, woken.join_all()).await.unwrap();
        assert!(timeout(Duration::ZERO, &mut silent).await.is_err());
        send(&store, message(&store, 1, to_users(&[1, 3]), ("", "psst"))).await;
        timeout(AT_MOST, silent).await.unwrap();
        // What has come already is not waited for.
        timeout(AT_MOST, wait(2, false, head)).await.unwrap();
        assert!(timeout(Duration::ZERO, wait(2, false, id.into())).await.is_err());
        store.flush_and_close().await;
    }

    async fn a_message_permitted_on_an_older_realm_is_not_sent(home) {
        let store = home.open().await;
        found(&store).await;
        let stale = message(&store, 1, to_channel(11), ("t", "late"));
        let newer = change(&store, vec![subscription(11, 2)]).await;
        assert_eq!(store.append_message(stale.clone()).await.unwrap(), SendOutcome::Stale(newer));
        assert!(home.ask("SELECT content FROM message").await.is_empty());
        let again = chat_core::messages::store::NewMessage { decided_at: newer, ..stale };
        assert!(matches!(store.append_message(again).await.unwrap(), SendOutcome::Done { .. }));
        store.flush_and_close().await;
    }

    async fn what_people_choose_for_themselves_stops_no_message(home) {
        let store = home.open().await;
        found(&store).await;
        let decided = message(&store, 1, to_channel(11), ("t", "on its way"));
        let (kind, key) = (UserItemKind::TopicPolicy, "11/t".to_owned());
        let document = Some(json!({"visibility_policy": 3}));
        change(&store, vec![RealmChange::UserItem { user_id: UserId(2), kind, key, document }]).await;
        assert!(matches!(store.append_message(decided).await.unwrap(), SendOutcome::Done { .. }));
        store.flush_and_close().await;
    }

    async fn a_message_that_cannot_be_stored_hinders_no_other(home) {
        let store = home.open().await;
        found(&store).await;
        let mut sending = JoinSet::new();
        for at in 0..20 {
            let content = if at % 5 == 0 { "nul \0".to_owned() } else { format!("good {at}") };
            let message = message(&store, 1, to_channel(11), ("t", &content));
            let store = store.clone();
            sending.spawn(async move { store.append_message(message).await.is_ok() });
        }
        assert_eq!(sending.join_all().await.into_iter().filter(|sent| *sent).count(), 16);
        assert_eq!(contents(&all_after(&store, EventId::BEFORE_FIRST).await).len(), 16);
        store.flush_and_close().await;
    }

    async fn how_far_a_clock_is_ahead_of_the_database_is_known_where_the_database_has_a_clock(home) {
        let store = home.open().await;
        if home.is_postgres() {
            let now = home.ask("SELECT CAST(CAST(extract(epoch FROM now()) AS BIGINT) AS TEXT)").await;
            let now_s: i64 = now[0].parse().unwrap();
            for ahead_s in [0, 3_600, -3_600] {
                let ahead = store.clock_ahead_of_database_s(now_s + ahead_s).await.unwrap();
                // The database's clock went on in between.
                assert!((ahead_s - 60..=ahead_s + 1).contains(&ahead), "{ahead_s} {ahead}");
            }
        } else {
            // The one process that uses the file has one clock.
            assert_eq!(store.clock_ahead_of_database_s(NOW_S).await.unwrap(), 0);
        }
        store.flush_and_close().await;
    }

    async fn what_was_pruned_is_said_to_be(home) {
        let store = home.open().await;
        found(&store).await;
        let commit = |at_s, text: &str| RealmCommit {
            at_s,
            events: vec![notice(EventAudience::Everyone, text)],
            ..RealmCommit::default()
        };
        let CommitOutcome::Done { last: old, .. } = store.commit(commit(NOW_S + 1, "old")).await.unwrap() else {
            panic!("not stale");
        };
        store.commit(commit(NOW_S + 100, "new")).await.unwrap();
        assert_eq!(store.prune_records(NOW_S + 50).await.unwrap(), 2);
        store.flush_and_close().await;
        let store = home.open().await;
        assert_eq!(store.records_after(EventId::BEFORE_FIRST, 10).await.unwrap().unwrap_err(), PrunedRecordsError(EventId::BEFORE_FIRST));
        let kept = store.records_after(old, 10).await.unwrap().unwrap();
        assert_eq!(kept.len(), 1);
        assert_eq!(store.snapshot().users().count(), 8);
        store.flush_and_close().await;
    }

    async fn a_flag_is_told_in_the_same_words_on_another_node_and_after_a_restart(home) {
        let store = home.open().await;
        found(&store).await;
        let id = say(&store, 1, 11, "t").await;
        let before = store.last_event_id();
        let topic = MessageLocation::Topic { channel_id: ChannelId(11), topic: "t".to_owned(), is_muted: false };
        let unread = FlagChange { flag: MessageFlag::Read, op: FlagOp::Remove };
        let places = vec![ConversationFlagsUpdate { place: Some(topic), messages: vec![id], mentions: vec![id] }];
        let events = vec![MessageFlagsUpdate { mark: unread, places }.event_for_user(UserId(2))];
        store.commit(RealmCommit { at_s: NOW_S, events, ..RealmCommit::default() }).await.unwrap();
        let woken = async |store: &ChatStore| {
            timeout(AT_MOST, store.wait_for_record(LogWaiter { user_id: UserId(2), receives_public: false, typing_seen: 0 }, before)).await.unwrap();
            let mut text = String::new();
            let (realm, filter) = (store.snapshot(), QueueFilter::default());
            let user = realm.user(UserId(2)).unwrap();
            let reader = EventReceiver { user, realm: &realm, filter: &filter, queue_id: "" };
            all_after(store, before).await.iter().for_each(|record| record.write_event_json(&reader, &[], &mut text));
            text
        };
        let here = woken(&store).await;
        let event: Value = serde_json::from_str(&here).unwrap();
        assert_eq!(event["message_details"][id.to_string()]["mentioned"], true, "{here}");
        if home.is_postgres() {
            let other = home.open().await;
            assert_eq!(woken(&other).await, here);
            other.flush_and_close().await;
        }
        store.flush_and_close().await;
        let store = home.open().await;
        assert_eq!(woken(&store).await, here);
        store.flush_and_close().await;
    }

    async fn a_message_costs_rows_for_whom_it_mentions_and_nobody_else(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, (1..=8).map(|user| subscription(11, user)).collect()).await;
        let mut mention = message(&store, 1, to_channel(11), ("t", "@2"));
        mention.event.flags = vec![(UserId(2), MessageFlag::Mentioned)];
        send(&store, mention).await;
        let rows = "SELECT CAST((SELECT count(*) FROM message_flag) + (SELECT count(*) FROM message)
            + (SELECT count(*) FROM read_set) AS TEXT)";
        assert_eq!(home.ask(rows).await, ["2"]);
        store.flush_and_close().await;
    }
}

//! Messages that wait for their time: sent once, or not at all.

use chat_core::event_log::store::{EventLog as _, RealmStore as _};
use chat_core::id::{ChannelId, EventId, ScheduledMessageId, UserId};
use chat_core::messages::scheduled::{
    ScheduledDestination, ScheduledEndOutcome, ScheduledMessage, ScheduledMessageEnd, ScheduledMessageStore as _,
};
use chat_core::messages::store::MessageWriteOutcome;
use chat_storage::ChatStore;
use tokio::task::JoinSet;

use crate::home::{Home, NOW_S, on_each_engine};
use crate::people::{change, found, message, subscription, to_channel};

fn scheduled(user: i64, due_s: i64) -> ScheduledMessage {
    ScheduledMessage {
        id: ScheduledMessageId(0),
        user_id: UserId(user),
        to: ScheduledDestination::Channel(ChannelId(11), "t".to_owned()),
        content: "later".to_owned(),
        html: "<p>later</p>".to_owned(),
        client: "test".to_owned(),
        read_by_sender: false,
        due_s,
        failure: None,
        revision: EventId::BEFORE_FIRST,
    }
}

/// Nodes on one database, as many as the engine takes.
async fn nodes(home: &Home) -> Vec<ChatStore> {
    let first = home.open().await;
    found(&first).await;
    change(&first, vec![subscription(11, 1)]).await;
    let mut nodes = vec![first];
    if home.is_postgres() {
        nodes.push(home.open().await);
    }
    nodes
}

async fn send_all(node: ChatStore) -> u64 {
    let mut sent = 0;
    loop {
        let due = node.due_scheduled_messages(NOW_S, 7).await.unwrap();
        if due.is_empty() {
            return sent;
        }
        for waiting in due {
            let to_send = message(&node, 1, to_channel(11), ("t", &format!("number {}", waiting.id)));
            let settled = node
                .end_scheduled_message(&waiting, ScheduledMessageEnd::Sent(Box::new(to_send)), NOW_S)
                .await
                .unwrap();
            sent += u64::from(matches!(settled, ScheduledEndOutcome::Done { sent: Some(_) }));
        }
    }
}

on_each_engine! {
    async fn of_many_who_try_at_once_one_sends_each_message(home) {
        let nodes = nodes(&home).await;
        for _ in 0..40 {
            nodes[0].add_scheduled_message(scheduled(1, NOW_S), NOW_S).await.unwrap().unwrap();
        }
        let mut trying = JoinSet::new();
        for node in nodes.iter().cycle().take(6) {
            trying.spawn(send_all(node.clone()));
        }
        assert_eq!(trying.join_all().await.into_iter().sum::<u64>(), 40);
        let sent = home.ask("SELECT content FROM message ORDER BY content").await;
        let mut once = sent.clone();
        once.dedup();
        assert_eq!((sent.len(), once.len()), (40, 40));
        for node in nodes {
            assert!(node.scheduled_messages_of_user(UserId(1)).await.unwrap().is_empty());
            node.flush_and_close().await;
        }
    }

    async fn a_message_on_a_realm_that_changed_is_not_sent_and_waits_on(home) {
        let nodes = nodes(&home).await;
        let node = &nodes[0];
        node.add_scheduled_message(scheduled(1, NOW_S), NOW_S).await.unwrap().unwrap();
        let waiting = node.due_scheduled_messages(NOW_S, 1).await.unwrap().remove(0);
        let to_send = Box::new(message(node, 1, to_channel(11), ("t", "x")));
        change(node, vec![subscription(12, 1)]).await;
        let head = node.last_event_id();
        let failed = ScheduledMessageEnd::Failed { failure: "no".to_owned(), notice: Some(to_send.clone()) };
        for end in [ScheduledMessageEnd::Sent(to_send), failed] {
            assert_eq!(node.end_scheduled_message(&waiting, end, NOW_S).await.unwrap(), ScheduledEndOutcome::Stale);
        }
        assert_eq!(node.due_scheduled_messages(NOW_S, 9).await.unwrap(), [waiting]);
        assert_eq!((node.last_event_id(), home.ask("SELECT content FROM message").await.len()), (head, 0));
        for node in nodes {
            node.flush_and_close().await;
        }
    }

    async fn what_was_changed_or_given_up_meanwhile_is_not_sent_as_it_was(home) {
        let nodes = nodes(&home).await;
        let node = &nodes[0];
        let id = node.add_scheduled_message(scheduled(1, NOW_S), NOW_S).await.unwrap().unwrap();
        let waiting = node.due_scheduled_messages(NOW_S, 1).await.unwrap().remove(0);
        let changed = ScheduledMessage { content: "other".to_owned(), ..waiting.clone() };
        assert!(matches!(node.update_scheduled_message(changed.clone(), NOW_S).await.unwrap(), MessageWriteOutcome::Done(_)));
        assert_eq!(node.update_scheduled_message(changed, NOW_S).await.unwrap(), MessageWriteOutcome::Unchanged);
        let end = || ScheduledMessageEnd::Sent(Box::new(message(node, 1, to_channel(11), ("t", "x"))));
        assert_eq!(node.end_scheduled_message(&waiting, end(), NOW_S).await.unwrap(), ScheduledEndOutcome::Gone);
        let waiting = node.find_scheduled_message(UserId(1), id).await.unwrap().unwrap();
        assert_eq!((waiting.content.as_str(), node.find_scheduled_message(UserId(2), id).await.unwrap()), ("other", None));
        assert!(!node.delete_scheduled_message(UserId(2), id, NOW_S).await.unwrap());
        assert!(node.delete_scheduled_message(UserId(1), id, NOW_S).await.unwrap());
        assert_eq!(node.end_scheduled_message(&waiting, end(), NOW_S).await.unwrap(), ScheduledEndOutcome::Gone);
        assert!(home.ask("SELECT content FROM message").await.is_empty());
        for node in nodes {
            node.flush_and_close().await;
        }
    }

    async fn what_failed_is_kept_with_its_reason_and_not_due_any_more(home) {
        let nodes = nodes(&home).await;
        let node = &nodes[0];
        node.add_scheduled_message(scheduled(1, NOW_S), NOW_S).await.unwrap().unwrap();
        assert!(node.due_scheduled_messages(NOW_S - 1, 9).await.unwrap().is_empty());
        let waiting = node.due_scheduled_messages(NOW_S, 9).await.unwrap().remove(0);
        let notice = Some(Box::new(message(node, 1, to_channel(11), ("t", "why"))));
        let end = ScheduledMessageEnd::Failed { failure: "no".to_owned(), notice };
        assert!(matches!(node.end_scheduled_message(&waiting, end, NOW_S).await.unwrap(), ScheduledEndOutcome::Done { sent: Some(_) }));
        assert!(node.due_scheduled_messages(NOW_S, 9).await.unwrap().is_empty());
        let failed = node.scheduled_messages_of_user(UserId(1)).await.unwrap().remove(0);
        assert_eq!(failed.failure.as_deref(), Some("no"));
        assert_eq!(home.ask("SELECT content FROM message").await, ["why"]);
        assert_eq!(node.last_event_id(), node.snapshot().log_position());
        for node in nodes {
            node.flush_and_close().await;
        }
    }
}

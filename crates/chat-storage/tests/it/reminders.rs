//! Reminders: sent once, with the message that they are about, or not at all.

use chat_core::event_log::store::RealmStore as _;
use chat_core::id::{MessageId, ReminderId, UserId};
use chat_core::messages::reminders::{MAX_REMINDERS_PER_USER, Reminder, ReminderEnd, ReminderStore as _};
use chat_storage::ChatStore;
use tokio::task::JoinSet;

use crate::home::{NOW_S, on_each_engine};
use crate::people::{change, found, message, subscription, to_channel};

fn reminder(user: i64, due_s: i64) -> Reminder {
    Reminder {
        id: ReminderId(0),
        user_id: UserId(user),
        message_id: MessageId(5),
        note: "note".to_owned(),
        content: "content".to_owned(),
        html: "<p>content</p>".to_owned(),
        due_s,
    }
}

async fn add(store: &ChatStore, reminder: Reminder) -> ReminderId {
    store.add_reminder(reminder, NOW_S).await.unwrap().unwrap()
}

/// Sends what is due as one of several nodes, and returns how many it sent.
async fn send_all(store: ChatStore) -> usize {
    let mut sent = 0;
    loop {
        let due = store.due_reminders(NOW_S, 7).await.unwrap();
        if due.is_empty() {
            return sent;
        }
        for waiting in due {
            let to_send = message(&store, 1, to_channel(11), ("t", &format!("number {}", waiting.id)));
            let ended = store.end_reminder(&waiting, Some(to_send), NOW_S).await.unwrap();
            sent += usize::from(ended == ReminderEnd::Done);
        }
    }
}

on_each_engine! {
    async fn a_reminder_is_its_users_until_it_is_due_or_deleted(home) {
        let store = home.open().await;
        found(&store).await;
        let (later, soon) = (add(&store, reminder(1, NOW_S + 9)).await, add(&store, reminder(1, NOW_S + 5)).await);
        let listed = store.reminders_of_user(UserId(1)).await.unwrap();
        let stored = |id, due_s| Reminder { id, ..reminder(1, due_s) };
        assert_eq!(listed, [stored(soon, NOW_S + 5), stored(later, NOW_S + 9)]);
        assert_eq!(store.due_reminders(NOW_S + 4, 9).await.unwrap(), []);
        assert_eq!(store.due_reminders(NOW_S + 5, 9).await.unwrap(), listed[..1]);
        assert_eq!(store.due_reminders(NOW_S + 9, 1).await.unwrap(), listed[..1]);
        assert!(!store.delete_reminder(UserId(2), soon, NOW_S).await.unwrap());
        assert!(store.delete_reminder(UserId(1), soon, NOW_S).await.unwrap());
        assert!(!store.delete_reminder(UserId(1), soon, NOW_S).await.unwrap());
        assert_eq!(store.end_reminder(&listed[0], None, NOW_S).await.unwrap(), ReminderEnd::Gone);
        assert_eq!(store.reminders_of_user(UserId(1)).await.unwrap(), listed[1..]);
        store.flush_and_close().await;
    }

    async fn concurrent_nodes_send_each_reminder_once(home) {
        let first = home.open().await;
        found(&first).await;
        change(&first, vec![subscription(11, 1)]).await;
        let mut nodes = vec![first.clone()];
        if home.is_postgres() {
            nodes.push(home.open().await);
        }
        for _ in 0..30 {
            add(&first, reminder(1, NOW_S)).await;
        }
        let mut sending = JoinSet::new();
        for node in &nodes {
            for _ in 0..2 {
                sending.spawn(send_all(node.clone()));
            }
        }
        assert_eq!(sending.join_all().await.into_iter().sum::<usize>(), 30);
        assert_eq!(first.reminders_of_user(UserId(1)).await.unwrap(), []);
        for node in nodes {
            node.flush_and_close().await;
        }
    }

    async fn a_reminder_waits_when_the_rules_changed_after_its_message_was_composed(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, vec![subscription(11, 1)]).await;
        add(&store, reminder(1, NOW_S)).await;
        let due = store.due_reminders(NOW_S, 9).await.unwrap().remove(0);
        let outdated = message(&store, 1, to_channel(11), ("t", "outdated"));
        change(&store, vec![subscription(11, 2)]).await;
        let head = store.snapshot().log_position();
        assert_eq!(store.end_reminder(&due, Some(outdated), NOW_S).await.unwrap(), ReminderEnd::Stale);
        assert_eq!(store.snapshot().log_position(), head);
        assert_eq!(store.due_reminders(NOW_S, 9).await.unwrap(), [due]);
        store.flush_and_close().await;
    }

    async fn a_user_has_so_many_reminders_at_most(home) {
        let store = home.open().await;
        found(&store).await;
        for _ in 0..MAX_REMINDERS_PER_USER {
            add(&store, reminder(1, NOW_S + 9)).await;
        }
        assert_eq!(store.add_reminder(reminder(1, NOW_S + 9), NOW_S).await.unwrap(), None);
        add(&store, reminder(2, NOW_S + 9)).await;
        store.flush_and_close().await;
    }
}

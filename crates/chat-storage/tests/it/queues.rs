//! Queues as rows.

use std::time::Duration;

use chat_core::event_log::event::{ClientCapability, QueueFilter};
use chat_core::event_log::store::{EventQueue, EventQueueStore as _};
use chat_core::id::{EventId, UserId};

use tokio::time::timeout;

use crate::home::{NOW_S, on_each_engine};
use crate::people::found;

fn queue(id: &str, user: i64) -> EventQueue {
    EventQueue {
        id: id.to_owned(),
        user_id: UserId(user),
        filter: QueueFilter {
            event_types: Some(["message".to_owned()].into()),
            capabilities: [ClientCapability::SlimPresence].into(),
            ..QueueFilter::default()
        },
        begins_after: EventId(1),
        seen_s: NOW_S,
        idle_limit_s: 600,
    }
}

on_each_engine! {
    async fn a_queue_survives_its_node(home) {
        let store = home.open().await;
        found(&store).await;
        store.register_queue(queue("q", 3)).await.unwrap();
        assert_eq!(store.find_queue("q").await.unwrap().as_deref(), Some(&queue("q", 3)));
        let q = queue("q", 3);
        // Not worth a note.
        store.note_client_seen(&q, NOW_S + 149);
        store.note_client_seen(&q, NOW_S + 150);
        store.note_client_seen(&q, NOW_S + 300);
        // Not worth another.
        store.note_client_seen(&q, NOW_S + 310);
        store.flush_and_close().await;

        let store = home.open().await;
        let found = store.find_queue("q").await.unwrap().unwrap();
        // A node that wrote the first notes down in between begins a new one.
        assert!([NOW_S + 300, NOW_S + 310].contains(&found.seen_s), "{}", found.seen_s);
        assert_eq!(found.begins_after, EventId(1));
        assert_eq!(store.find_queue("other").await.unwrap(), None);
        store.flush_and_close().await;
    }

    async fn a_note_survives_a_write_that_was_given_up_half_way(home) {
        let store = home.open().await;
        found(&store).await;
        store.register_queue(queue("q", 3)).await.unwrap();
        store.note_client_seen(&queue("q", 3), NOW_S + 300);
        let held = home.hold_queues().await;
        // It has the notes in hand and waits for the rows.
        let given_up = timeout(Duration::from_millis(300), store.delete_expired_queues(NOW_S)).await;
        assert!(given_up.is_err());
        drop(held);
        store.flush_and_close().await;
        let seen = home.ask("SELECT CAST(seen_s AS TEXT) FROM queue").await;
        assert_eq!(seen, [(NOW_S + 300).to_string()]);
    }

    async fn a_queue_is_deleted_by_its_owner_once(home) {
        let store = home.open().await;
        found(&store).await;
        store.register_queue(queue("q", 3)).await.unwrap();
        assert!(!store.delete_queue("q", UserId(4)).await.unwrap());
        assert!(store.find_queue("q").await.unwrap().is_some());
        assert!(store.delete_queue("q", UserId(3)).await.unwrap());
        assert!(!store.delete_queue("q", UserId(3)).await.unwrap());
        store.flush_and_close().await;
    }

    async fn a_queue_goes_when_its_client_was_silent_for_too_long(home) {
        let store = home.open().await;
        found(&store).await;
        store.register_queue(queue("silent", 3)).await.unwrap();
        store.register_queue(queue("heard", 3)).await.unwrap();
        store.note_client_seen(&queue("heard", 3), NOW_S + 500);
        assert_eq!(store.delete_expired_queues(NOW_S + 600).await.unwrap(), 0);
        assert_eq!(store.delete_expired_queues(NOW_S + 601).await.unwrap(), 1);
        assert_eq!(store.find_queue("silent").await.unwrap(), None);
        assert!(store.find_queue("heard").await.unwrap().is_some());
        store.flush_and_close().await;
    }

    async fn a_queue_deleted_on_one_node_is_gone_on_the_other(home) {
        // SQLite serves one node.
        if !home.is_postgres() {
            return;
        }
        let (here, there) = (home.open().await, home.open().await);
        found(&here).await;
        here.register_queue(queue("q", 3)).await.unwrap();
        assert!(there.find_queue("q").await.unwrap().is_some());
        assert!(here.delete_queue("q", UserId(3)).await.unwrap());
        assert!(here.find_queue("q").await.unwrap().is_none());
        // Told within moments; the test ends by itself when it is not.
        while there.find_queue("q").await.unwrap().is_some() {
            tokio::task::yield_now().await;
        }
        here.flush_and_close().await;
        there.flush_and_close().await;
    }
}

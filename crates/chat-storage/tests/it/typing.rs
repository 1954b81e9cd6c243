//! Who is typing: heard on every node, and written nowhere.

use std::time::Duration;

use chat_core::event_log::store::{EventLog as _, EventQueue, EventQueueStore as _, LogWaiter, RealmStore as _};
use chat_core::id::{EventId, UserId};
use chat_core::people::typing_notifications::{TypingDestination, TypingFeed as _, TypingNotification, TypingOp};
use chat_storage::ChatStore;
use tokio::time::timeout;

use crate::home::{NOW_S, on_each_engine};
use crate::people::found;

/// Longer than anything here may take, on a slow machine.
const AT_MOST: Duration = Duration::from_secs(20);

fn typing(op: TypingOp) -> TypingNotification {
    TypingNotification {
        user_id: UserId(1),
        op,
        to: TypingDestination::Direct(vec![UserId(1), UserId(2)]),
        edited: None,
    }
}

async fn queue(store: &ChatStore, id: &str) {
    let queue = EventQueue {
        id: id.to_owned(),
        user_id: UserId(2),
        filter: chat_core::event_log::event::QueueFilter::default(),
        begins_after: EventId::BEFORE_FIRST,
        seen_s: NOW_S,
        idle_limit_s: 600,
    };
    store.register_queue(queue).await.unwrap();
}

/// The `op`s the queue is given.
fn ops(store: &ChatStore, queue_id: &str) -> Vec<String> {
    let events = store.take_typing_for_queue(queue_id).events;
    let texts = events.iter().map(|record| {
        let mut text = String::new();
        record.write_unlogged_event_json(EventId(1), &mut text);
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["op"].as_str().unwrap().to_owned()
    });
    texts.collect()
}

const LISTENER: LogWaiter = LogWaiter { user_id: UserId(2), receives_public: false, typing_seen: 0 };

/// Returns when what the one node tells is heard on the other. Until that one listens, it may pass it by.
async fn hear(from: &ChatStore, to: &ChatStore) {
    let listener = LogWaiter { typing_seen: to.take_typing_for_queue("unknown").until, ..LISTENER };
    let heard = async {
        while timeout(Duration::from_millis(200), to.wait_for_record(listener, to.last_event_id())).await.is_err() {
            from.publish_typing(typing(TypingOp::Start));
        }
    };
    timeout(AT_MOST, heard).await.unwrap();
}

on_each_engine! {
    async fn typing_is_given_to_each_queue_once_and_only_what_was_told_since_it_is_known(home) {
        let store = home.open().await;
        found(&store).await;
        store.publish_typing(typing(TypingOp::Start));
        queue(&store, "a").await;
        assert!(ops(&store, "a").is_empty());
        let mut given = Vec::new();
        // Once, when it begins to listen to others, a node forgets the queues it knows until they are asked for again.
        for _ in 0..2 {
            if given.is_empty() {
                assert!(store.find_queue("a").await.unwrap().is_some());
                store.publish_typing(typing(TypingOp::Start));
                store.publish_typing(typing(TypingOp::Stop));
                given = ops(&store, "a");
            }
        }
        assert_eq!(given, ["start", "stop"]);
        assert!(ops(&store, "a").is_empty() && ops(&store, "unknown").is_empty());
        store.flush_and_close().await;
    }

    async fn typing_is_heard_on_the_other_node_and_not_twice_on_its_own(home) {
        if !home.is_postgres() {
            return;
        }
        let (one, two) = (home.open().await, home.open().await);
        found(&one).await;
        hear(&one, &two).await;
        hear(&two, &one).await;
        queue(&one, "on one").await;
        queue(&two, "on two").await;
        let head = one.last_event_id();
        one.publish_typing(typing(TypingOp::Stop));
        let listening = async {
            let mut typing_seen = 0;
            while !ops(&two, "on two").contains(&"stop".to_owned()) {
                two.wait_for_record(LogWaiter { typing_seen, ..LISTENER }, two.last_event_id()).await;
                typing_seen = two.take_typing_for_queue("unknown").until;
            }
        };
        timeout(AT_MOST, listening).await.unwrap();
        // What came back to the node that told it was heard there no second time.
        assert_eq!(ops(&one, "on one").iter().filter(|op| *op == "stop").count(), 1);
        assert_eq!((one.last_event_id(), two.snapshot().log_position()), (head, head));
        one.flush_and_close().await;
        two.flush_and_close().await;
    }
}

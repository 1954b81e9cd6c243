//! Who is typing: heard on every node, and written nowhere.

use std::time::Duration;

use chat_core::id::{EventId, UserId};
use chat_core::log::store::{EventLog as _, EventQueue, LogListener, QueueStore as _, RealmStore as _};
use chat_core::people::typing::{TypingDestination, TypingFeed as _, TypingNotification, TypingOp};
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
        filter: chat_core::log::event::QueueFilter::default(),
        begins_after: EventId::NONE,
        seen_s: NOW_S,
        idle_limit_s: 600,
    };
    store.register(queue).await.unwrap();
}

/// The `op`s the queue is given.
fn ops(store: &ChatStore, queue_id: &str) -> Vec<String> {
    let events = store.take(queue_id).events;
    let texts = events.iter().map(|record| {
        let mut text = String::new();
        record.write_between(EventId(1), &mut text);
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["op"].as_str().unwrap().to_owned()
    });
    texts.collect()
}

const LISTENER: LogListener = LogListener { user_id: UserId(2), receives_public: false, typing_seen: 0 };

/// Returns when what the one node tells is heard on the other. Until that one listens, it may pass it by.
async fn hear(from: &ChatStore, to: &ChatStore) {
    let listener = LogListener { typing_seen: to.take("unknown").until, ..LISTENER };
    let heard = async {
        while timeout(Duration::from_millis(200), to.wait(listener, to.head())).await.is_err() {
            from.tell(typing(TypingOp::Start));
        }
    };
    timeout(AT_MOST, heard).await.unwrap();
}

on_each_engine! {
    async fn typing_is_given_to_each_queue_once_and_only_what_was_told_since_it_is_known(home) {
        let store = home.open().await;
        found(&store).await;
        store.tell(typing(TypingOp::Start));
        queue(&store, "a").await;
        assert!(ops(&store, "a").is_empty());
        let mut given = Vec::new();
        // Once, when it begins to listen to others, a node forgets the queues it knows until they are asked for again.
        for _ in 0..2 {
            if given.is_empty() {
                assert!(store.find("a").await.unwrap().is_some());
                store.tell(typing(TypingOp::Start));
                store.tell(typing(TypingOp::Stop));
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
        let head = one.head();
        one.tell(typing(TypingOp::Stop));
        let listening = async {
            let mut typing_seen = 0;
            while !ops(&two, "on two").contains(&"stop".to_owned()) {
                two.wait(LogListener { typing_seen, ..LISTENER }, two.head()).await;
                typing_seen = two.take("unknown").until;
            }
        };
        timeout(AT_MOST, listening).await.unwrap();
        // What came back to the node that told it was heard there no second time.
        assert_eq!(ops(&one, "on one").iter().filter(|op| *op == "stop").count(), 1);
        assert_eq!((one.head(), two.realm().at()), (head, head));
        one.flush_and_close().await;
        two.flush_and_close().await;
    }
}

//! Queues: registered, polled, deleted.

use std::sync::Arc;
use std::time::Duration;

use chat_core::event_log::event::{EventAudience, NewEvent, NewMessageEvent, QueueFilter};
use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::event_log::store::{EventLog as _, EventQueueStore, RealmStore as _};
use chat_core::id::{ChannelId, EventId, MessageId, UserId};
use chat_core::messages::store::{MessageDestination, MessageStore as _, NewMessage, SendOutcome};
use chat_core::model::channel::ChannelPrivacy;
use chat_core::model::message::{ContentFlags, Message, Recipient};
use chat_core::model::role::Role;
use chat_core::wire_format::{DisplayRecipient, MessageSender};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

/// A registered queue and how far its client is.
struct Queue {
    id: String,
    last: i64,
}

impl TestApp {
    async fn queue(&self, who: &Person, parameters: &[(&str, &str)]) -> Queue {
        let response = self.call(who, "POST /register", parameters).await.success();
        Queue {
            id: response["queue_id"].as_str().unwrap().to_owned(),
            last: response["last_event_id"].as_i64().unwrap(),
        }
    }

    async fn poll(&self, who: &Person, queue: &Queue, parameters: &[(&str, &str)]) -> TestResponse {
        let last = queue.last.to_string();
        let mut all = vec![("queue_id", queue.id.as_str()), ("last_event_id", &last)];
        all.extend(parameters);
        self.call(who, "GET /events", &all).await
    }

    /// What the queue has now.
    async fn now(&self, who: &Person, queue: &Queue) -> Vec<Value> {
        let response = self.poll(who, queue, &[("dont_block", "true")]).await.success();
        assert_eq!(response["queue_id"], queue.id.as_str());
        response["events"].as_array().unwrap().clone()
    }

    /// Sends to `general`, past the wire.
    async fn say(&self, who: &Person, topic: &str, content: &str) -> i64 {
        let realm = self.realm();
        let channel = realm.channel_by_name("general").unwrap();
        let event = message(who, channel.id, (topic, content));
        let public = channel.privacy == ChannelPrivacy::Public;
        let to = MessageDestination::Channel { channel_id: channel.id, public };
        let sent = self
            .store
            .append_message(NewMessage { decided_at: realm.changed_at(), to, event, attachments: Vec::new() })
            .await
            .unwrap();
        match sent {
            SendOutcome::Done { id, .. } => id.0,
            SendOutcome::Stale(at) => panic!("stale at {at}"),
        }
    }

    /// Tells something to people, past the wire.
    async fn tell(&self, audience: EventAudience, event: Value) -> i64 {
        let decided_at = self.realm().changed_at();
        let events = vec![NewEvent::same_for_everyone(audience, event)];
        self.store.commit(RealmCommit { decided_at, at_s: NOW_S, events, ..RealmCommit::default() }).await.unwrap();
        self.store.last_event_id().0
    }
}

fn message(who: &Person, channel_id: ChannelId, (topic, content): (&str, &str)) -> NewMessageEvent {
    NewMessageEvent {
        message: Message {
            id: MessageId(0),
            sender_id: UserId(who.id),
            recipient: Recipient::Channel(channel_id),
            direct_users: Vec::new(),
            topic: topic.to_owned(),
            content: content.to_owned(),
            html: format!("<p>{content}</p>"),
            sent_s: NOW_S,
            client: "test".to_owned(),
            content_flags: ContentFlags::default(),
            last_edit_s: None,
            revision: EventId::BEFORE_FIRST,
            reactions: Vec::new(),
            submessages: Vec::new(),
        },
        sender: MessageSender {
            email: who.email.clone(),
            full_name: "x".to_owned(),
            avatar_url: "/a.png".to_owned(),
            has_gravatar: false,
        },
        display_recipient: DisplayRecipient::Channel("general".to_owned()),
        topic_links: Vec::new(),
        flags: Vec::new(),
        wildcard: false,
        local: None,
    }
}

fn contents(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["message"]["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_message_sent_after_registration_is_in_the_queue() {
    let app = TestApp::found().await;
    app.say(&app.ada, "t", "before").await;
    let queue = app.queue(&app.ada, &[("apply_markdown", "true")]).await;
    assert_eq!(app.now(&app.ada, &queue).await, Vec::<Value>::new());
    let id = app.say(&app.ada, "t", "hi").await;
    let events = app.now(&app.ada, &queue).await;
    assert_eq!(contents(&events), ["<p>hi</p>"]);
    assert_eq!(
        (&events[0]["id"], &events[0]["type"], &events[0]["flags"]),
        (&json!(id), &json!("message"), &json!([]))
    );
}

#[tokio::test]
async fn what_was_confirmed_does_not_come_again_and_what_was_not_does() {
    let app = TestApp::found().await;
    let mut queue = app.queue(&app.ada, &[]).await;
    app.say(&app.ada, "t", "one").await;
    let first = app.now(&app.ada, &queue).await;
    app.say(&app.ada, "t", "two").await;
    // The first answer may have been lost on its way.
    assert_eq!(contents(&app.now(&app.ada, &queue).await), ["one", "two"]);
    queue.last = first[0]["id"].as_i64().unwrap();
    assert_eq!(contents(&app.now(&app.ada, &queue).await), ["two"]);
    queue.last = app.store.last_event_id().0;
    assert_eq!(contents(&app.now(&app.ada, &queue).await), Vec::<&str>::new());
}

#[tokio::test]
async fn a_queue_gets_the_types_it_was_registered_for() {
    let app = TestApp::found().await;
    let messages = app.queue(&app.ada, &[("event_types", r#"["message"]"#)]).await;
    let others = app.queue(&app.ada, &[("event_types", r#"["invites_changed", "unheard_of"]"#)]).await;
    let all = app.queue(&app.ada, &[("event_types", "null")]).await;
    app.say(&app.ada, "t", "hi").await;
    app.tell(EventAudience::Everyone, json!({"type": "invites_changed"})).await;
    let mut kinds = Vec::new();
    for queue in [&messages, &others, &all] {
        let events = app.now(&app.ada, queue).await;
        kinds.push(events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>());
    }
    assert_eq!(kinds, [vec!["message"], vec!["invites_changed"], vec!["message", "invites_changed"]]);
}

#[tokio::test]
async fn a_narrow_bounds_the_messages_of_a_queue_and_nothing_else() {
    let app = TestApp::found().await;
    let narrow = r#"[["stream", "General"], ["topic", "LUNCH"]]"#;
    let queue = app.queue(&app.ada, &[("narrow", narrow)]).await;
    app.say(&app.ada, "lunch", "soup").await;
    app.say(&app.ada, "dinner", "bread").await;
    app.tell(EventAudience::Everyone, json!({"type": "invites_changed"})).await;
    let events = app.now(&app.ada, &queue).await;
    assert_eq!(
        events.iter().map(|event| event["type"].as_str().unwrap()).collect::<Vec<_>>(),
        ["message", "invites_changed"]
    );
    assert_eq!(events[0]["message"]["content"], "soup");
}

#[tokio::test]
async fn a_stranger_to_a_channel_hears_it_only_when_all_public_ones_are_asked_for() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let deaf = app.queue(&sam, &[]).await;
    let hears = app.queue(&sam, &[("all_public_streams", "true")]).await;
    app.say(&app.ada, "t", "hi").await;
    assert_eq!(app.now(&sam, &deaf).await, Vec::<Value>::new());
    assert_eq!(contents(&app.now(&sam, &hears).await), ["hi"]);
    let guest = app.person("gus", Role::Guest).await;
    app.call(&guest, "POST /register", &[("all_public_streams", "true")])
        .await
        .refused("User not authorized for this query");
}

#[tokio::test]
async fn wrong_parameters_of_a_registration_are_refused_with_their_place() {
    let app = TestApp::found().await;
    for (name, value, text) in [
        ("event_types", "{}", "event_types is not a list"),
        ("event_types", "[1]", "event_types[0] is not a string"),
        ("event_types", "[", "event_types is not valid JSON"),
        ("narrow", r#"[["dm", "1"]]"#, "Operator dm not supported."),
        ("narrow", r#"[["is", "x"]]"#, "Operator is not supported."),
        ("narrow", r#"[["topic"]]"#, "narrow[0] should have exactly 2 items"),
        ("narrow", r#"[{"operator": "topic"}]"#, "narrow[0] is not a list"),
        ("narrow", r#"[["topic", 1]]"#, "narrow[0][1] is not a string"),
        ("client_capabilities", "[]", "client_capabilities is not a dict"),
        (
            "client_capabilities",
            r#"{"bulk_message_deletion": 1}"#,
            r#"client_capabilities["bulk_message_deletion"] is not a boolean"#,
        ),
        ("client_gravatar", "yes", "client_gravatar is not valid JSON"),
    ] {
        app.call(&app.ada, "POST /register", &[(name, value)]).await.refused(text);
    }
    let understood = r#"{"notification_settings_null": true, "to_come": "x"}"#;
    app.call(&app.ada, "POST /register", &[("client_capabilities", understood)]).await.success();
}

#[tokio::test]
async fn a_queue_is_its_owners_and_its_name_is_random() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let queue = app.queue(&app.ada, &[]).await;
    let other = app.queue(&app.ada, &[]).await;
    assert_ne!(queue.id, other.id);
    assert_eq!((queue.id.len(), &queue.id[14..15]), (36, "4"));
    let foreign = app.poll(&sam, &queue, &[("dont_block", "true")]).await;
    let text = format!("Bad event queue ID: {}", queue.id);
    assert_eq!(foreign.error(), (400, "BAD_EVENT_QUEUE_ID", text.as_str()));
    assert_eq!(foreign.body["queue_id"], queue.id.as_str());
    let deleted = app.call(&sam, "DELETE /events", &[("queue_id", &queue.id)]).await;
    assert_eq!(deleted.error(), (400, "BAD_EVENT_QUEUE_ID", text.as_str()));
    app.now(&app.ada, &queue).await;
}

#[tokio::test]
async fn a_deleted_queue_is_gone_and_cannot_be_deleted_again() {
    let app = TestApp::found().await;
    let queue = app.queue(&app.ada, &[]).await;
    app.now(&app.ada, &queue).await;
    app.call(&app.ada, "DELETE /events", &[("queue_id", &queue.id)]).await.success();
    for response in [
        app.poll(&app.ada, &queue, &[]).await,
        app.call(&app.ada, "DELETE /events", &[("queue_id", &queue.id)]).await,
        app.call(&app.ada, "DELETE /events", &[("queue_id", "x\"y")]).await,
    ] {
        assert_eq!((response.status.as_u16(), response.body["code"].as_str()), (400, Some("BAD_EVENT_QUEUE_ID")));
    }
    assert!(EventQueueStore::find_queue(app.store.as_ref(), &queue.id).await.unwrap().is_none());
}

#[tokio::test]
async fn what_a_poll_must_say_is_asked_for() {
    let app = TestApp::found().await;
    let queue = app.queue(&app.ada, &[]).await;
    let call = |parameters: Vec<(&'static str, String)>| {
        let app = &app;
        async move {
            let parameters: Vec<_> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
            app.call(&app.ada, "GET /events", &parameters).await
        }
    };
    call(vec![]).await.refused("Missing 'queue_id' argument");
    let id = || ("queue_id", queue.id.clone());
    call(vec![id()]).await.refused("Missing 'last_event_id' argument");
    call(vec![id(), ("last_event_id", "x".to_owned())]).await.refused("last_event_id is not valid JSON");
    app.call(&app.ada, "DELETE /events", &[]).await.refused("Missing 'queue_id' argument");
}

#[tokio::test]
async fn an_event_nobody_was_told_is_not_in_the_queue() {
    let app = TestApp::found().await;
    let queue = Queue { last: 1_000, ..app.queue(&app.ada, &[]).await };
    tokio::time::pause();
    app.poll(&app.ada, &queue, &[("dont_block", "true")]).await.refused("Event 1000 was not in this queue");
}

#[tokio::test]
async fn a_queue_whose_events_are_pruned_ends_with_the_code_at_which_clients_register_again() {
    let app = TestApp::found().await;
    // Of a time that memory does not reach back to.
    let old = chat_core::event_log::store::EventQueue {
        id: "old".to_owned(),
        user_id: UserId(app.ada.id),
        filter: QueueFilter::default(),
        begins_after: EventId(-1),
        seen_s: NOW_S,
        idle_limit_s: 600,
    };
    app.store.register_queue(old).await.unwrap();
    app.say(&app.ada, "t", "one").await;
    app.say(&app.ada, "t", "two").await;
    app.store.prune_records(NOW_S * 10).await.unwrap();
    for last in [-1, i64::MAX] {
        let queue = Queue { id: "old".to_owned(), last };
        let response = app.poll(&app.ada, &queue, &[("dont_block", "true")]).await;
        assert_eq!(response.error(), (400, "BAD_EVENT_QUEUE_ID", "Bad event queue ID: old"));
    }
}

#[tokio::test]
async fn a_client_that_begins_with_minus_1_gets_what_came_since_it_registered() {
    let app = TestApp::found().await;
    app.say(&app.ada, "t", "before").await;
    let mut queue = app.queue(&app.ada, &[("event_types", r#"["message"]"#)]).await;
    app.say(&app.ada, "t", "since").await;
    for begins_with in [-1, 0, queue.last - 1, queue.last] {
        queue.last = begins_with;
        assert_eq!(contents(&app.now(&app.ada, &queue).await), ["since"], "{begins_with}");
    }
}

#[tokio::test]
async fn everybody_who_polls_gets_the_message() {
    let app = Arc::new(TestApp::found().await);
    let mut polls = JoinSet::new();
    for _ in 0..50 {
        let queue = app.queue(&app.ada, &[]).await;
        let app = Arc::clone(&app);
        polls.spawn(async move { app.poll(&app.ada, &queue, &[]).await });
    }
    app.say(&app.ada, "t", "hi").await;
    let mut answered = 0;
    while let Some(response) = polls.join_next().await {
        assert_eq!(contents(response.unwrap().success()["events"].as_array().unwrap()), ["hi"]);
        answered += 1;
    }
    assert_eq!(answered, 50);
}

/// Seconds from a moment on, as the runtime's clock has them.
fn since_s(begun: Instant) -> u64 {
    begun.elapsed().as_secs()
}

#[tokio::test]
async fn a_poll_without_events_ends_in_a_heartbeat_that_passes_over_what_is_not_wanted() {
    let app = TestApp::found().await;
    let mut queue = app.queue(&app.ada, &[("event_types", r#"["message"]"#)]).await;
    let unwanted = app.tell(EventAudience::Everyone, json!({"type": "realm"})).await;
    tokio::time::pause();
    let begun = Instant::now();
    let response = app.poll(&app.ada, &queue, &[]).await.success();
    assert!((45..55).contains(&since_s(begun)), "{} s", since_s(begun));
    assert_eq!(response["events"], json!([{"id": unwanted, "type": "heartbeat"}]));
    tokio::time::resume();
    queue.last = unwanted;
    app.say(&app.ada, "t", "hi").await;
    assert_eq!(contents(&app.now(&app.ada, &queue).await), ["hi"]);
}

#[tokio::test]
async fn a_second_poll_of_a_queue_ends_the_first() {
    let app = TestApp::found().await;
    let queue = app.queue(&app.ada, &[]).await;
    let other = app.queue(&app.ada, &[]).await;
    tokio::time::pause();
    let begun = Instant::now();
    let ended = async {
        let response = app.poll(&app.ada, &queue, &[]).await.success();
        assert_eq!((&response["events"], since_s(begun)), (&json!([]), 0));
    };
    let untouched = async {
        app.poll(&app.ada, &other, &[]).await.success();
        assert!(since_s(begun) >= 45);
    };
    tokio::join!(ended, untouched, app.poll(&app.ada, &queue, &[("dont_block", "true")]));
}

#[tokio::test]
async fn deleting_a_queue_ends_the_poll_that_waits() {
    let app = TestApp::found().await;
    let queue = app.queue(&app.ada, &[]).await;
    let id = queue.id.as_str();
    let deletion = [("queue_id", id)];
    let (polled, deleted) =
        tokio::join!(app.poll(&app.ada, &queue, &[]), app.call(&app.ada, "DELETE /events", &deletion));
    deleted.success();
    assert_eq!(polled.error().1, "BAD_EVENT_QUEUE_ID");
}

#[tokio::test]
async fn a_client_that_hangs_up_loses_nothing() {
    let app = TestApp::found().await;
    let queue = app.queue(&app.ada, &[]).await;
    tokio::time::pause();
    let waited = tokio::time::timeout(Duration::from_secs(20), app.poll(&app.ada, &queue, &[])).await;
    assert!(waited.is_err(), "there was nothing to answer");
    tokio::time::resume();
    app.say(&app.ada, "t", "hi").await;
    assert_eq!(contents(&app.now(&app.ada, &queue).await), ["hi"]);
}

#[tokio::test]
async fn the_queues_of_a_closed_account_tell_nothing() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let queue = app.queue(&sam, &[]).await;
    let path = format!("DELETE /users/{}", sam.id);
    let (polled, closed) = tokio::join!(app.poll(&sam, &queue, &[]), app.call(&app.ada, &path, &[]));
    closed.success();
    assert!(matches!(polled.error().1, "BAD_EVENT_QUEUE_ID" | "UNAUTHORIZED"), "{}", polled.body);
}

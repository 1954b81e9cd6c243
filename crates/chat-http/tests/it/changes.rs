//! What happens to messages after they were sent.

mod adding;
mod deleting;
mod editing;
mod expiring;
mod flagging;
mod reacting;
mod unread;

use std::sync::Arc;

use chat_core::event_log::event::{
    ClientCapability, EventAudience, EventReceiver, LogRecord, NewMessageEvent, QueueFilter,
};
use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::{EventLog as _, RealmStore as _};
use chat_core::id::{ChannelId, DirectConversationId, EventId, MessageId, UserGroupId, UserId};
use chat_core::messages::store::{MessageDestination, MessageStore as _, NewMessage, SendOutcome};
use chat_core::model::channel::{
    Channel, ChannelPostPolicy, ChannelPrivacy, Subscription, SubscriptionNotificationSettings,
};
use chat_core::model::message::{ContentFlags, Message, MessageFlag, Recipient};
use chat_core::model::realm_change::{RealmChange, RealmItemKind, UserItemKind};
use chat_core::model::role::Role;
use chat_core::wire_format::{DisplayRecipient, MessageSender};
use serde_json::{Value, json};

use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

/// The number of a channel of that name.
fn channel(app: &TestApp, name: &str) -> i64 {
    app.realm().channel_by_name(name).unwrap().id.0
}

async fn commit(app: &TestApp, changes: Vec<RealmChange>) {
    let commit = RealmCommit { decided_at: app.realm().changed_at(), at_s: NOW_S, changes, ..RealmCommit::default() };
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
}

async fn subscribe(app: &TestApp, who: &Person, channel: i64) {
    let subscription = Subscription {
        channel_id: ChannelId(channel),
        user_id: UserId(who.id),
        color: "#c2c2c2".to_owned(),
        is_muted: false,
        pin_to_top: false,
        notifications: SubscriptionNotificationSettings::default(),
    };
    commit(app, vec![RealmChange::Subscription(Box::new(subscription))]).await;
}

/// A new private channel of these people.
async fn private(app: &TestApp, name: &str, people: &[&Person]) -> i64 {
    let id = app.realm().nth_unused_id(1);
    let channel = Channel {
        id: ChannelId(id),
        name: name.to_owned(),
        description: String::new(),
        rendered_description: String::new(),
        created_s: NOW_S,
        creator_id: None,
        privacy: ChannelPrivacy::PrivateSharedHistory,
        post_policy: ChannelPostPolicy::Everyone,
        message_retention_days: None,
        can_remove_subscribers_group: UserGroupId(1),
        is_archived: false,
        folder_id: None,
        is_recently_active: true,
    };
    commit(app, vec![RealmChange::Channel(Box::new(channel))]).await;
    for person in people {
        subscribe(app, person, id).await;
    }
    id
}

async fn append(app: &TestApp, from: &Person, to: MessageDestination, (topic, content): (&str, &str)) -> i64 {
    let message = Message {
        id: MessageId(0),
        sender_id: UserId(from.id),
        recipient: Recipient::Direct(DirectConversationId(0)),
        direct_users: match &to {
            MessageDestination::Direct(users) => users.clone(),
            MessageDestination::Channel { .. } => Vec::new(),
        },
        topic: topic.to_owned(),
        content: content.to_owned(),
        html: format!("<p>{content}</p>"),
        sent_s: NOW_S,
        client: "test".to_owned(),
        content_flags: ContentFlags::default(),
        last_edit_s: None,
        revision: EventId(0),
        reactions: Vec::new(),
        submessages: Vec::new(),
    };
    let event = NewMessageEvent {
        message,
        sender: MessageSender {
            email: from.email.clone(),
            full_name: "x".to_owned(),
            avatar_url: "/a.png".to_owned(),
            has_gravatar: false,
        },
        display_recipient: DisplayRecipient::Channel("x".to_owned()),
        topic_links: Vec::new(),
        flags: Vec::new(),
        wildcard: false,
        local: None,
    };
    let message = NewMessage { decided_at: app.realm().changed_at(), to, event, attachments: Vec::new() };
    match app.store.append_message(message).await.unwrap() {
        SendOutcome::Done { id, .. } => id.0,
        SendOutcome::Stale(at) => panic!("the realm changed at {at}"),
    }
}

/// Says something under a topic of a channel.
async fn say(app: &TestApp, from: &Person, channel: i64, (topic, content): (&str, &str)) -> i64 {
    let to = MessageDestination::Channel { channel_id: ChannelId(channel), public: true };
    append(app, from, to, (topic, content)).await
}

/// Says something to some people.
async fn tell(app: &TestApp, from: &Person, to: &[&Person], content: &str) -> i64 {
    let EventAudience::Users(users) =
        EventAudience::from_users(to.iter().chain([&from]).map(|person| UserId(person.id)))
    else {
        panic!("no users")
    };
    append(app, from, MessageDestination::Direct(users), ("", content)).await
}

/// What a queue of `who` that understands bulk deletion, or does not, was told since, without the places in the log.
async fn heard_by(app: &TestApp, who: &Person, (since, bulk): (EventId, bool)) -> Vec<Value> {
    let records: Vec<Arc<LogRecord>> = app.store.records_after(since, 10_000).await.unwrap().unwrap();
    let realm = app.realm();
    let user = realm.user(UserId(who.id)).unwrap();
    let capabilities = bulk.then_some(ClientCapability::BulkMessageDeletion).into_iter().collect();
    let filter = QueueFilter { capabilities, ..QueueFilter::default() };
    let mut heard = Vec::new();
    for record in records.iter().filter(|record| filter.accepts_event(record, user, &realm)) {
        let mut flags = Vec::new();
        if let Some(id) = record.message_needing_flags() {
            flags = app
                .store
                .find_messages(user.id, &[id])
                .await
                .unwrap()
                .pop()
                .map(|(_, flags)| flags)
                .unwrap_or_default();
        }
        let mut text = String::new();
        record.write_event_json(
            &EventReceiver { user, queue_id: "q", filter: &filter, realm: &realm },
            &flags,
            &mut text,
        );
        let mut event: Value = serde_json::from_str(&text).unwrap();
        event.as_object_mut().unwrap().remove("id");
        heard.push(event);
    }
    heard
}

async fn heard(app: &TestApp, who: &Person, since: EventId) -> Vec<Value> {
    heard_by(app, who, (since, true)).await
}

/// The same without what is sent of the first message of a channel.
async fn heard_of_messages(app: &TestApp, who: &Person, since: EventId) -> Vec<Value> {
    let mut heard = heard(app, who, since).await;
    heard.retain(|event| event["type"] != "stream");
    heard
}

/// The message, when it is there still.
async fn message(app: &TestApp, id: i64) -> Option<Message> {
    app.store.find_messages(UserId(9), &[MessageId(id)]).await.unwrap().pop().map(|(message, _)| message)
}

async fn flags(app: &TestApp, who: &Person, id: i64) -> Vec<MessageFlag> {
    app.store.find_messages(UserId(who.id), &[MessageId(id)]).await.unwrap().remove(0).1
}

async fn react(app: &TestApp, who: &Person, id: i64, parameters: &[(&str, &str)]) -> TestResponse {
    app.call(who, &format!("POST /messages/{id}/reactions"), parameters).await
}

async fn unreact(app: &TestApp, who: &Person, id: i64, parameters: &[(&str, &str)]) -> TestResponse {
    app.call(who, &format!("DELETE /messages/{id}/reactions"), parameters).await
}

#[tokio::test]
async fn what_may_not_be_read_cannot_be_touched() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Administrator).await);
    let hidden = private(&app, "hidden", &[&sam]).await;
    let message = say(&app, &sam, hidden, ("lunch", "hi")).await;
    let direct = tell(&app, &sam, &[&app.ada], "psst").await;
    let head = app.store.last_event_id();
    for id in [message, direct, 1, 999_999] {
        react(&app, &eve, id, &[("emoji_name", "tada")]).await.refused("Invalid message(s)");
        unreact(&app, &eve, id, &[("emoji_name", "tada")]).await.refused("Invalid message(s)");
        for call in ["DELETE /messages/", "GET /messages/"] {
            let end = if call.starts_with('D') { "" } else { "/history" };
            app.call(&eve, &format!("{call}{id}{end}"), &[]).await.refused("Invalid message(s)");
        }
        app.call(&eve, &format!("GET /messages/{id}/read_receipts"), &[]).await.refused("Invalid message(s)");
        let list = format!("[{id}]");
        let mark = async |flag| {
            app.call(&eve, "POST /messages/flags", &[("messages", &list), ("op", "add"), ("flag", flag)]).await
        };
        mark("starred").await.refused("Invalid message(s)");
        assert_eq!(mark("read").await.success()["messages"], json!([id]));
    }
    assert_eq!(app.store.last_event_id(), head);
    assert!(app.store.flagged_message_ids(UserId(eve.id), MessageFlag::Starred).await.unwrap().is_empty());
}

//! What becomes of a message that is sent, and why one is not.

use chat_core::event_log::event::{EventBody, NewMessageEvent};
use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::{EventLog as _, RealmStore as _};
use chat_core::id::{ChannelId, EventId, UserId};
use chat_core::model::channel::{Channel, ChannelPostPolicy, ChannelPrivacy};
use chat_core::model::message::MessageFlag;
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use chat_core::wire_format::DisplayRecipient;
use serde_json::{Value, json};

use crate::test_app::{NOW_S, Person, TestApp};

/// Makes changes true, as another part of the server would.
pub(super) async fn change(app: &TestApp, changes: Vec<RealmChange>) {
    let commit = RealmCommit { decided_at: app.realm().changed_at(), at_s: NOW_S, changes, ..RealmCommit::default() };
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
}

/// The number of a channel.
pub(super) fn channel_id(app: &TestApp, name: &str) -> ChannelId {
    app.realm().channel_by_name(name).unwrap().id
}

/// Puts people into a channel.
pub(super) async fn join(app: &TestApp, name: &str, people: &[&Person]) {
    let channel_id = channel_id(app, name);
    let pattern = app.realm().subscription(channel_id, UserId(app.ada.id)).cloned();
    let pattern = pattern.or_else(|| app.realm().subscription(ChannelId(10), UserId(app.ada.id)).cloned());
    let of = |person: &&Person| {
        let mut subscription = pattern.clone().unwrap();
        subscription.channel_id = channel_id;
        subscription.user_id = UserId(person.id);
        RealmChange::Subscription(Box::new(subscription))
    };
    change(app, people.iter().map(of).collect()).await;
}

/// Makes a channel like `general`, but for its name and what else differs.
pub(super) async fn make_channel(app: &TestApp, name: &str, differ: impl Fn(&mut Channel)) {
    let realm = app.realm();
    let mut channel = Channel::clone(realm.channel_by_name("general").unwrap());
    channel.id = ChannelId(realm.nth_unused_id(1));
    channel.name = name.to_owned();
    differ(&mut channel);
    change(app, vec![RealmChange::Channel(Box::new(channel))]).await;
}

/// Every message the log tells of.
pub(super) async fn logged_messages(app: &TestApp) -> Vec<NewMessageEvent> {
    let records = app.store.records_after(EventId::BEFORE_FIRST, 10_000).await.unwrap().unwrap();
    let message = |body: &EventBody| match body {
        EventBody::Message(message) => Some(NewMessageEvent::clone(message)),
        EventBody::Plain { .. } | EventBody::Edit { .. } | EventBody::Flagged(_) => None,
    };
    records.iter().filter_map(|record| message(&record.event.as_ref()?.body)).collect()
}

async fn send(app: &TestApp, who: &Person, to: &str, content: &str) -> Value {
    let parameters = [("type", "channel"), ("to", to), ("topic", "lunch"), ("content", content)];
    app.call(who, "POST /messages", &parameters).await.success()
}

#[tokio::test]
async fn a_message_to_a_channel_is_told_with_all_that_is_true_of_it() {
    let app = TestApp::found().await;
    let answer = send(&app, &app.ada, "general", "\n\n*soup* :)  \n").await;
    let events = logged_messages(&app).await;
    let [event] = events.as_slice() else { panic!("{events:?}") };
    let message = &event.message;
    assert_eq!(answer["id"], message.id.0);
    assert_eq!(message.content, "*soup* :)");
    assert_eq!(message.html, "<p><em>soup</em> :)</p>");
    assert_eq!((message.topic.as_str(), message.client.as_str(), message.sent_s), ("lunch", "Test", NOW_S));
    assert_eq!(event.display_recipient, DisplayRecipient::Channel("general".to_owned()));
    assert_eq!(event.sender.full_name, "Ada Lovelace");
    assert!(event.flags.is_empty() && event.local.is_none() && !message.content_flags.read_by_sender);
}

#[tokio::test]
async fn a_channel_is_named_in_each_of_the_five_ways() {
    let app = TestApp::found().await;
    let id = channel_id(&app, "general").0;
    for to in ["general", "GENERAL", "\"general\"", "[\"general\"]", &id.to_string(), &format!("[{id}]")] {
        send(&app, &app.ada, to, "hi").await;
    }
    assert_eq!(logged_messages(&app).await.len(), 6);
}

#[tokio::test]
async fn a_direct_message_goes_to_its_people_and_its_sender() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let kim = app.person("kim", Role::Guest).await;
    let ids = format!("[{}, {}, {}]", kim.id, sam.id, kim.id);
    for to in [ids.as_str(), "kim@example.org,SAM@example.org", r#"["sam@example.org", "kim@example.org"]"#] {
        let parameters = [("type", "private"), ("to", to), ("content", "hi")];
        app.call(&app.ada, "POST /messages", &parameters).await.success();
    }
    let events = logged_messages(&app).await;
    let users = [UserId(app.ada.id), UserId(sam.id), UserId(kim.id)];
    for event in &events {
        assert_eq!(event.message.direct_users, users);
        assert_eq!(event.message.recipient, events[0].message.recipient);
    }
    assert_eq!(events.len(), 3);
}

#[tokio::test]
async fn what_is_too_long_is_cut_in_silence() {
    let app = TestApp::found().await;
    let (topic, content) = ("t".repeat(10_000), "ä".repeat(20_000));
    let parameters = [("type", "stream"), ("to", "general"), ("subject", &topic), ("content", &content)];
    app.call(&app.ada, "POST /messages", &parameters).await.success();
    let events = logged_messages(&app).await;
    assert_eq!(events[0].message.topic, format!("{}...", "t".repeat(57)));
    assert_eq!(events[0].message.content.chars().count(), 10_000);
    assert!(events[0].message.content.ends_with("ä\n[message truncated]"));
}

#[tokio::test]
async fn refusals_come_in_their_order_and_write_nothing() {
    let app = TestApp::found().await;
    let gone = app.person("gone", Role::Member).await;
    let user = chat_core::model::user::User {
        is_active: false,
        ..chat_core::model::user::User::clone(app.realm().user(UserId(gone.id)).unwrap())
    };
    change(&app, vec![RealmChange::User(Box::new(user))]).await;
    let to_gone = format!("[{}]", gone.id);
    let channel = |to, topic, content| vec![("type", "channel"), ("to", to), ("topic", topic), ("content", content)];
    let direct = |to, content| vec![("type", "direct"), ("to", to), ("content", content)];
    let cases = [
        (vec![("to", "general")], "Missing 'type' argument"),
        (vec![("type", "odd"), ("content", "x")], "Invalid type"),
        (vec![("type", "channel"), ("topic", "t")], "Missing 'content' argument"),
        (vec![("type", "channel"), ("topic", "t"), ("content", "x")], "Missing channel"),
        (vec![("type", "channel"), ("to", "general"), ("content", "x")], "Missing topic"),
        (channel("[1,2]", "t", "x"), "Expected exactly one channel"),
        (channel("{}", "t", "x"), "Invalid data type for channel"),
        (channel("", "t", "x"), "Channel name can't be empty."),
        (channel("general", " ", ""), "Topic can't be empty!"),
        (channel("general", "a\u{7}", "x"), "Invalid character in topic, at position 2!"),
        (channel("general", "a\0b", "x"), "Invalid character in topic, at position 2!"),
        (channel("nowhere", "t", " \n"), "Message must not be empty"),
        (channel("nowhere", "t", "a\0"), "Message must not contain null bytes"),
        (vec![("type", "direct"), ("content", "x")], "Message must have recipients"),
        (direct("[]", "x"), "Message must have recipients"),
        (direct("7", "x"), "Invalid data type for recipients"),
        (direct("[9, \"ada@example.org\"]", "x"), "Recipient lists may contain emails or user IDs, but not both."),
        (direct("[123456]", "x"), "Invalid user ID 123456"),
        (direct("nobody@example.org", "x"), "Invalid email 'nobody@example.org'"),
        (direct(&to_gone, "x"), "'gone@example.org' is no longer using the chat."),
        (
            vec![("type", "direct"), ("to", "[9]"), ("content", "x"), ("sender", "x@example.org")],
            "Invalid mirrored message",
        ),
        (
            vec![("type", "direct"), ("to", "[9]"), ("content", "x"), ("read_by_sender", "True")],
            "read_by_sender is not valid JSON",
        ),
    ];
    for (parameters, text) in cases {
        app.call(&app.ada, "POST /messages", &parameters).await.refused(text);
    }
    let both = [("type", "channel"), ("to", "general"), ("topic", "a"), ("subject", "b"), ("content", "x")];
    let told_both = app.call(&app.ada, "POST /messages", &both).await;
    assert_eq!(told_both.error().1, "REQUEST_CONFUSING_VAR");
    assert_eq!(logged_messages(&app).await.len(), 0);
}

#[tokio::test]
async fn a_channel_that_is_not_there_is_named_in_the_refusal() {
    let app = TestApp::found().await;
    let by_name = [("type", "channel"), ("to", "nowhere"), ("topic", "t"), ("content", "x")];
    let answer = app.call(&app.ada, "POST /messages", &by_name).await;
    assert_eq!(answer.error(), (400, "STREAM_DOES_NOT_EXIST", "Channel 'nowhere' does not exist"));
    assert_eq!(answer.body["stream"], "nowhere");
    let quoted = [("type", "stream"), ("to", "<b>&\"'"), ("topic", "t"), ("content", "x")];
    let answer = app.call(&app.ada, "POST /messages", &quoted).await;
    let escaped = "&lt;b&gt;&amp;&quot;&#x27;";
    assert_eq!(answer.error(), (400, "STREAM_DOES_NOT_EXIST", &*format!("Channel '{escaped}' does not exist")));
    assert_eq!(answer.body["stream"], escaped);
    let by_id = [("type", "channel"), ("to", "[4711]"), ("topic", "t"), ("content", "x")];
    let answer = app.call(&app.ada, "POST /messages", &by_id).await;
    assert_eq!(answer.error(), (400, "STREAM_DOES_NOT_EXIST", "Channel with ID '4711' does not exist"));
    assert_eq!(answer.body["stream_id"], 4711);
}

#[tokio::test]
async fn who_may_not_write_in_a_channel_is_told_why() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let kim = app.person("kim", Role::Guest).await;
    make_channel(&app, "secret", |channel| channel.privacy = ChannelPrivacy::PrivateSharedHistory).await;
    make_channel(&app, "news", |channel| channel.post_policy = ChannelPostPolicy::Administrators).await;
    make_channel(&app, "old", |channel| channel.is_archived = true).await;
    let post = async |who: &Person, to: &str| {
        let parameters = [("type", "channel"), ("to", to), ("topic", "t"), ("content", "x")];
        app.call(who, "POST /messages", &parameters).await
    };
    post(&sam, "secret").await.refused("Not authorized to send to channel 'secret'");
    post(&app.ada, "secret").await.refused("Not authorized to send to channel 'secret'");
    post(&kim, "general").await.refused("Not authorized to send to channel 'general'");
    post(&sam, "news").await.refused("Only organization administrators can send to this channel.");
    assert_eq!(post(&sam, "old").await.error().1, "STREAM_DOES_NOT_EXIST");
    assert_eq!(logged_messages(&app).await.len(), 0);
    post(&sam, "general").await.success();
    join(&app, "general", &[&kim]).await;
    post(&kim, "general").await.success();
}

#[tokio::test]
async fn those_a_text_concerns_get_their_flags() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let kim = app.person("kim", Role::Member).await;
    let out = app.person("outsider", Role::Member).await;
    join(&app, "general", &[&sam, &kim]).await;
    let words = |id: i64, words: Value| RealmChange::UserItem {
        user_id: UserId(id),
        kind: chat_core::model::realm_change::UserItemKind::AlertWords,
        key: String::new(),
        document: Some(words),
    };
    change(&app, vec![words(kim.id, json!(["soup"])), words(out.id, json!(["soup"]))]).await;
    send(&app, &app.ada, "general", "@**sam** @**outsider** there is Soup").await;
    send(&app, &app.ada, "general", "@_**sam** `@**sam**`\n\n> @**sam**").await;
    send(&app, &app.ada, "general", "@**all**").await;
    let events = logged_messages(&app).await;
    let flags = |place: usize, who: &Person| events[place].flags_for_receiver(UserId(who.id));
    assert_eq!(
        events[0].flags,
        [(UserId(sam.id), MessageFlag::Mentioned), (UserId(kim.id), MessageFlag::HasAlertWord)]
    );
    assert_eq!((flags(1, &sam), flags(1, &kim)), (vec![], vec![]));
    assert_eq!(flags(2, &sam), [MessageFlag::StreamWildcardMentioned]);
}

#[tokio::test]
async fn a_group_is_mentioned_by_who_may() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    join(&app, "general", &[&sam]).await;
    let realm = app.realm();
    let of = |system| realm.system_group(system).unwrap().id;
    let group = |place, name: &str, can_mention| chat_core::model::group::UserGroup {
        id: chat_core::id::UserGroupId(realm.nth_unused_id(place)),
        name: name.to_owned(),
        description: String::new(),
        system: None,
        members: vec![UserId(sam.id)],
        subgroups: Vec::new(),
        can_mention: chat_core::model::group::GroupSettingValue::Group(can_mention),
        is_deactivated: false,
        origin: None,
    };
    let open = group(1, "cooks", of(chat_core::model::group::SystemGroup::Everyone));
    let closed = group(2, "bosses", of(chat_core::model::group::SystemGroup::Administrators));
    change(&app, vec![RealmChange::Group(Box::new(open)), RealmChange::Group(Box::new(closed))]).await;
    let said = [("type", "channel"), ("to", "general"), ("topic", "t"), ("content", "@*bosses* hi")];
    app.call(&sam, "POST /messages", &said).await.refused("You are not allowed to mention user group 'bosses'.");
    send(&app, &sam, "general", "@*cooks* hi").await;
    send(&app, &app.ada, "general", "@*bosses* hi").await;
    for event in logged_messages(&app).await {
        assert_eq!(event.flags, [(UserId(sam.id), MessageFlag::Mentioned)]);
    }
}

#[tokio::test]
async fn who_took_part_in_a_topic_is_mentioned_with_it() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let kim = app.person("kim", Role::Member).await;
    join(&app, "general", &[&sam, &kim]).await;
    send(&app, &sam, "general", "first").await;
    send(&app, &app.ada, "general", "@**topic** second").await;
    let events = logged_messages(&app).await;
    assert_eq!(events[1].flags, [(UserId(sam.id), MessageFlag::TopicWildcardMentioned)]);
}

#[tokio::test]
async fn a_client_that_shows_what_it_sends_has_read_it() {
    let app = TestApp::found().await;
    let read = async |parameters: &[(&str, &str)]| {
        let mut all = vec![("type", "direct"), ("to", "[9]"), ("content", "x")];
        all.extend_from_slice(parameters);
        app.call(&app.ada, "POST /messages", &all).await.success();
        let events = logged_messages(&app).await;
        events.last().unwrap().flags_for_receiver(UserId(9)) == [MessageFlag::Read]
    };
    assert!(!read(&[]).await);
    for client in ["website", "ZulipMobile", "My Desktop App"] {
        assert!(read(&[("client", client)]).await, "{client}");
    }
    assert!(!read(&[("client", "website"), ("read_by_sender", "false")]).await);
    assert!(read(&[("read_by_sender", "true")]).await);
}

#[tokio::test]
async fn the_clients_own_name_of_a_message_goes_back_to_its_queue() {
    let app = TestApp::found().await;
    let named = [("type", "direct"), ("to", "[9]"), ("content", "x"), ("queue_id", "q1"), ("local_id", "12.01")];
    app.call(&app.ada, "POST /messages", &named).await.success();
    app.call(&app.ada, "POST /messages", &named[..4]).await.success();
    let events = logged_messages(&app).await;
    let local = events[0].local.as_ref().unwrap();
    assert_eq!((local.queue_id.as_str(), local.local_id.as_str()), ("q1", "12.01"));
    assert!(events[1].local.is_none());
}

#[tokio::test]
async fn who_may_not_begin_a_conversation_may_go_on_with_one() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let mut realm = app.realm().realm().unwrap().clone();
    realm.rules.initiate_direct_messages = chat_core::model::group::SystemGroup::Administrators.into();
    change(&app, vec![RealmChange::Realm(Box::new(realm))]).await;
    let to = |id: i64| format!("[{id}]");
    let parameters = |to: &str| [("type", "direct"), ("to", to), ("content", "x")].map(|(k, v)| (k, v.to_owned()));
    let call = async |who: &Person, to: &str| {
        let parameters = parameters(to);
        let parameters: Vec<_> = parameters.iter().map(|(key, value)| (*key, value.as_str())).collect();
        app.call(who, "POST /messages", &parameters).await
    };
    let refusal = "You do not have permission to initiate direct message conversations.";
    call(&sam, &to(app.ada.id)).await.refused(refusal);
    call(&app.ada, &to(sam.id)).await.success();
    call(&sam, &to(app.ada.id)).await.success();
}

#[tokio::test]
async fn a_program_gives_its_readers_choices_beside_the_text() {
    let app = TestApp::found().await;
    let choice = json!({"short_name": "A", "long_name": "Apples", "reply": "I take apples"});
    let data = json!({"type": "choices", "heading": "Fruit?", "choices": [choice]});
    let widget = json!({"widget_type": "zform", "extra_data": data}).to_string();
    let send = async |widget: &str| {
        let parameters = [
            ("type", "channel"),
            ("to", "general"),
            ("topic", "t"),
            ("content", "/poll no"),
            ("widget_content", widget),
        ];
        app.call(&app.ada, "POST /messages", &parameters).await
    };
    let id = send(&widget).await.success()["id"].clone();
    let message = app.call(&app.ada, &format!("GET /messages/{id}"), &[]).await.success()["message"].clone();
    assert_eq!(message["submessages"].as_array().unwrap().len(), 1);
    let shown: Value = serde_json::from_str(message["submessages"][0]["content"].as_str().unwrap()).unwrap();
    assert_eq!(shown, json!({"widget_type": "zform", "extra_data": data}));
    let before = app.store.last_event_id();
    send("{").await.refused("Widgets: API programmer sent invalid JSON content");
    send(r#"{"widget_type": "poll", "extra_data": {}}"#).await.refused("Widgets: unknown widget type: poll");
    assert_eq!(app.store.last_event_id(), before);
}

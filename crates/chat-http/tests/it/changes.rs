//! What happens to messages after they were sent.

use std::sync::Arc;

use chat_core::change::{Change, Commit, Committed, ItemKind, UserItemKind};
use chat_core::channel::{Channel, Notifications, PostPolicy, Privacy, Subscription};
use chat_core::event::{Audience, Capability, DisplayRecipient, EventRecord, Filter, MessageEvent, Reader, Sender};
use chat_core::id::{ChannelId, DirectId, EventId, MessageId, UserGroupId, UserId};
use chat_core::message::{Flag, Marks, Message, Recipient};
use chat_core::ports::{Destination, EventLog as _, MessageStore as _, NewMessage, RealmStore as _, Sent};
use chat_core::role::Role;
use serde_json::{Value, json};

use crate::town::{NOW_S, Person, Told, Town};

/// The number of a channel of that name.
fn channel(town: &Town, name: &str) -> i64 {
    town.realm().channel_by_name(name).unwrap().id.0
}

async fn commit(town: &Town, changes: Vec<Change>) {
    let commit = Commit { decided_at: town.realm().changed(), at_s: NOW_S, changes, ..Commit::default() };
    assert!(matches!(town.store.commit(commit).await.unwrap(), Committed::Done { .. }));
}

async fn subscribe(town: &Town, who: &Person, channel: i64) {
    let subscription = Subscription {
        channel_id: ChannelId(channel),
        user_id: UserId(who.id),
        color: "#c2c2c2".to_owned(),
        is_muted: false,
        pin_to_top: false,
        notifications: Notifications::default(),
    };
    commit(town, vec![Change::Subscription(Box::new(subscription))]).await;
}

/// A new private channel of these people.
async fn private(town: &Town, name: &str, people: &[&Person]) -> i64 {
    let id = town.realm().new_id(1);
    let channel = Channel {
        id: ChannelId(id),
        name: name.to_owned(),
        description: String::new(),
        rendered_description: String::new(),
        created_s: NOW_S,
        creator_id: None,
        privacy: Privacy::PrivateSharedHistory,
        post_policy: PostPolicy::Everyone,
        message_retention_days: None,
        can_remove_subscribers_group: UserGroupId(1),
        is_archived: false,
    };
    commit(town, vec![Change::Channel(Box::new(channel))]).await;
    for person in people {
        subscribe(town, person, id).await;
    }
    id
}

async fn append(town: &Town, from: &Person, to: Destination, (topic, content): (&str, &str)) -> i64 {
    let message = Message {
        id: MessageId(0),
        sender_id: UserId(from.id),
        recipient: Recipient::Direct(DirectId(0)),
        direct_users: match &to {
            Destination::Direct(users) => users.clone(),
            Destination::Channel { .. } => Vec::new(),
        },
        topic: topic.to_owned(),
        content: content.to_owned(),
        html: format!("<p>{content}</p>"),
        sent_s: NOW_S,
        client: "test".to_owned(),
        marks: Marks::default(),
        last_edit_s: None,
        revision: EventId(0),
        reactions: Vec::new(),
    };
    let event = MessageEvent {
        message,
        sender: Sender {
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
    let message = NewMessage { decided_at: town.realm().changed(), to, event };
    match town.store.append(message).await.unwrap() {
        Sent::Done { id, .. } => id.0,
        Sent::Stale(at) => panic!("the realm changed at {at}"),
    }
}

/// Says something under a topic of a channel.
async fn say(town: &Town, from: &Person, channel: i64, (topic, content): (&str, &str)) -> i64 {
    let to = Destination::Channel { channel_id: ChannelId(channel), public: true };
    append(town, from, to, (topic, content)).await
}

/// Says something to some people.
async fn tell(town: &Town, from: &Person, to: &[&Person], content: &str) -> i64 {
    let Audience::Users(users) = Audience::users(to.iter().chain([&from]).map(|person| UserId(person.id))) else {
        panic!("no users")
    };
    append(town, from, Destination::Direct(users), ("", content)).await
}

/// What a queue of `who` that understands bulk deletion, or does not, was told since, without the places in the log.
async fn heard_by(town: &Town, who: &Person, (since, bulk): (EventId, bool)) -> Vec<Value> {
    let records: Vec<Arc<EventRecord>> = town.store.after(since, 10_000).await.unwrap().unwrap();
    let realm = town.realm();
    let user = realm.user(UserId(who.id)).unwrap();
    let capabilities = bulk.then_some(Capability::BulkMessageDeletion).into_iter().collect();
    let filter = Filter { capabilities, ..Filter::default() };
    let mut heard = Vec::new();
    for record in records.iter().filter(|record| filter.accepts(record, user, &realm)) {
        let mut flags = Vec::new();
        if let Some(id) = record.wants_flags_of() {
            flags = town.store.find(user.id, &[id]).await.unwrap().pop().map(|(_, flags)| flags).unwrap_or_default();
        }
        let mut text = String::new();
        record.write(&Reader { user, queue_id: "q", filter: &filter, realm: &realm }, &flags, &mut text);
        let mut event: Value = serde_json::from_str(&text).unwrap();
        event.as_object_mut().unwrap().remove("id");
        heard.push(event);
    }
    heard
}

async fn heard(town: &Town, who: &Person, since: EventId) -> Vec<Value> {
    heard_by(town, who, (since, true)).await
}

/// The message, when it is there still.
async fn message(town: &Town, id: i64) -> Option<Message> {
    town.store.find(UserId(9), &[MessageId(id)]).await.unwrap().pop().map(|(message, _)| message)
}

async fn flags(town: &Town, who: &Person, id: i64) -> Vec<Flag> {
    town.store.find(UserId(who.id), &[MessageId(id)]).await.unwrap().remove(0).1
}

async fn react(town: &Town, who: &Person, id: i64, parameters: &[(&str, &str)]) -> Told {
    town.call(who, &format!("POST /messages/{id}/reactions"), parameters).await
}

async fn unreact(town: &Town, who: &Person, id: i64, parameters: &[(&str, &str)]) -> Told {
    town.call(who, &format!("DELETE /messages/{id}/reactions"), parameters).await
}

#[tokio::test]
async fn a_reaction_is_added_told_and_taken_away() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let id = say(&town, &town.ada, channel(&town, "general"), ("lunch", "hi")).await;
    let since = town.store.head();
    react(&town, &sam, id, &[("emoji_name", "thumbs_up")]).await.success();
    unreact(&town, &sam, id, &[("emoji_name", "thumbs_up")]).await.success();
    let event = |op: &str| {
        json!({
            "type": "reaction", "op": op, "message_id": id, "emoji_name": "thumbs_up", "emoji_code": "1f44d",
            "reaction_type": "unicode_emoji", "user_id": sam.id,
            "user": {"user_id": sam.id, "email": sam.email, "full_name": "sam", "is_mirror_dummy": false},
        })
    };
    assert_eq!(heard(&town, &town.ada, since).await, [event("add"), event("remove")]);
    assert!(message(&town, id).await.unwrap().reactions.is_empty());
    let again = unreact(&town, &sam, id, &[("emoji_code", "1f44d")]).await;
    assert_eq!(again.error(), (400, "REACTION_DOES_NOT_EXIST", "Reaction doesn't exist."));
}

#[tokio::test]
async fn of_fifty_same_reactions_at_once_one_is_added() {
    let town = Arc::new(Town::found().await);
    let id = say(&town, &town.ada, channel(&town, "general"), ("lunch", "hi")).await;
    let since = town.store.head();
    let mut reacting = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let town = Arc::clone(&town);
        reacting.spawn(async move { react(&town, &town.ada, id, &[("emoji_name", "tada")]).await });
    }
    let (added, refused): (Vec<Told>, Vec<Told>) =
        reacting.join_all().await.into_iter().partition(|told| told.status.is_success());
    assert_eq!((added.len(), refused.len()), (1, 49));
    for told in refused {
        assert_eq!(told.error(), (400, "REACTION_ALREADY_EXISTS", "Reaction already exists."));
    }
    assert_eq!(heard(&town, &town.ada, since).await.len(), 1);
    assert_eq!(message(&town, id).await.unwrap().reactions.len(), 1);
}

#[tokio::test]
async fn an_emoji_that_is_none_is_refused_by_name_and_by_code() {
    let town = Town::found().await;
    let id = say(&town, &town.ada, channel(&town, "general"), ("lunch", "hi")).await;
    let custom = json!({"id": "7", "name": "tick", "deactivated": false});
    commit(&town, vec![Change::Item { kind: ItemKind::Emoji, id: 7, document: Some(custom) }]).await;
    let head = town.store.head();
    let add = |name, code, kind| [("emoji_name", name), ("emoji_code", code), ("reaction_type", kind)];
    let told = react(&town, &town.ada, id, &[("emoji_name", "nothing_like_it")]).await;
    told.refused("Emoji 'nothing_like_it' does not exist");
    react(&town, &town.ada, id, &add("tada", "1f44d", "unicode_emoji")).await.refused("Invalid emoji name.");
    react(&town, &town.ada, id, &add("tada", "zz", "unicode_emoji")).await.refused("Invalid emoji code.");
    react(&town, &town.ada, id, &add("tada", "1f389", "x")).await.refused("Invalid emoji type.");
    react(&town, &town.ada, id, &add("tick", "8", "realm_emoji")).await.refused("Invalid custom emoji.");
    react(&town, &town.ada, id, &add("tock", "7", "realm_emoji")).await.refused("Invalid custom emoji name.");
    react(&town, &town.ada, id, &[]).await.refused("Missing 'emoji_name' argument");
    let none = "At least one of the following arguments must be present: emoji_name, emoji_code";
    unreact(&town, &town.ada, id, &[]).await.refused(none);
    unreact(&town, &town.ada, id, &[("emoji_code", "zz")]).await.refused("Invalid emoji code.");
    unreact(&town, &town.ada, id, &add("tada", "1f389", "x")).await.refused("Invalid emoji type.");
    let absent = unreact(&town, &town.ada, id, &[("emoji_code", "7"), ("reaction_type", "realm_emoji")]).await;
    assert_eq!(absent.error(), (400, "REACTION_DOES_NOT_EXIST", "Reaction doesn't exist."));
    assert_eq!(town.store.head(), head);
    react(&town, &town.ada, id, &[("emoji_name", "tick")]).await.success();
    unreact(&town, &town.ada, id, &[("emoji_name", "tick")]).await.success();
}

#[tokio::test]
async fn what_may_not_be_read_cannot_be_touched() {
    let town = Town::found().await;
    let (sam, eve) = (town.person("sam", Role::Member).await, town.person("eve", Role::Administrator).await);
    let hidden = private(&town, "hidden", &[&sam]).await;
    let message = say(&town, &sam, hidden, ("lunch", "hi")).await;
    let direct = tell(&town, &sam, &[&town.ada], "psst").await;
    let head = town.store.head();
    for id in [message, direct, 1, 999_999] {
        react(&town, &eve, id, &[("emoji_name", "tada")]).await.refused("Invalid message(s)");
        unreact(&town, &eve, id, &[("emoji_name", "tada")]).await.refused("Invalid message(s)");
        for call in ["DELETE /messages/", "GET /messages/"] {
            let end = if call.starts_with('D') { "" } else { "/history" };
            town.call(&eve, &format!("{call}{id}{end}"), &[]).await.refused("Invalid message(s)");
        }
        town.call(&eve, &format!("GET /messages/{id}/read_receipts"), &[]).await.refused("Invalid message(s)");
        let list = format!("[{id}]");
        let told =
            town.call(&eve, "POST /messages/flags", &[("messages", &list), ("op", "add"), ("flag", "starred")]).await;
        assert_eq!(told.success()["messages"], json!([id]));
    }
    assert_eq!(town.store.head(), head);
    assert!(town.store.flagged(UserId(eve.id), Flag::Starred).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_deleted_message_is_told_to_each_client_as_it_understands() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    let id = say(&town, &sam, general, ("lunch", "hi")).await;
    let direct = tell(&town, &sam, &[&town.ada], "hi").await;
    let since = town.store.head();
    town.call(&sam, &format!("DELETE /messages/{id}"), &[]).await.success();
    town.call(&sam, &format!("DELETE /messages/{direct}"), &[]).await.success();
    let place = json!({"type": "delete_message", "message_type": "stream", "stream_id": general, "topic": "lunch"});
    let users = json!({"type": "delete_message", "message_type": "private"});
    let with = |event: &Value, key: &str, value: Value| {
        let mut event = event.clone();
        event[key] = value;
        event
    };
    assert_eq!(
        heard_by(&town, &town.ada, (since, true)).await,
        [with(&place, "message_ids", json!([id])), with(&users, "message_ids", json!([direct]))]
    );
    assert_eq!(
        heard_by(&town, &town.ada, (since, false)).await,
        [with(&place, "message_id", json!(id)), with(&users, "message_id", json!(direct))]
    );
    assert_eq!((message(&town, id).await, message(&town, direct).await), (None, None));
    town.call(&sam, &format!("DELETE /messages/{id}"), &[]).await.refused("Invalid message(s)");
}

#[tokio::test]
async fn others_messages_are_deleted_by_administrators_and_own_ones_for_a_while() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    let of_ada = say(&town, &town.ada, general, ("lunch", "hi")).await;
    let of_sam = say(&town, &sam, general, ("lunch", "hi")).await;
    let delete = async |who: &Person, id: i64| town.call(who, &format!("DELETE /messages/{id}"), &[]).await;
    let head = town.store.head();
    delete(&sam, of_ada).await.refused("You don't have permission to delete this message");
    town.wait_s(1_000);
    delete(&sam, of_sam).await.refused("The time limit for deleting this message has passed");
    assert_eq!(town.store.head(), head);
    delete(&town.ada, of_sam).await.success();
    assert_eq!(message(&town, of_sam).await, None);
    assert!(message(&town, of_ada).await.is_some());
}

#[tokio::test]
async fn a_topic_is_deleted_whole_and_by_administrators() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    let first = say(&town, &sam, general, ("lunch", "hi")).await;
    let other = say(&town, &sam, general, ("dinner", "hi")).await;
    let second = say(&town, &sam, general, ("LUNCH", "hi")).await;
    let delete = async |who: &Person, channel: i64, topic: &str| {
        town.call(who, &format!("POST /streams/{channel}/delete_topic"), &[("topic_name", topic)]).await
    };
    let since = town.store.head();
    delete(&sam, general, "lunch").await.refused("Must be an organization administrator");
    delete(&town.ada, general, "breakfast").await.refused("No such topic 'breakfast'");
    delete(&town.ada, 999, "lunch").await.refused("Invalid channel ID");
    assert_eq!(town.store.head(), since);
    assert_eq!(delete(&town.ada, general, "Lunch").await.success()["complete"], true);
    let told = heard(&town, &sam, since).await;
    assert_eq!(told.iter().map(|event| &event["message_ids"]).collect::<Vec<_>>(), [&json!([first, second])]);
    assert!(message(&town, other).await.is_some());
    let hidden = private(&town, "hidden", &[&sam]).await;
    let kept = say(&town, &sam, hidden, ("lunch", "hi")).await;
    delete(&town.ada, hidden, "lunch").await.refused("No such topic 'lunch'");
    assert!(message(&town, kept).await.is_some());
}

#[tokio::test]
async fn flags_of_a_thousand_messages_are_set_and_taken_away_in_one_event() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    subscribe(&town, &sam, general).await;
    let mut ids = Vec::new();
    for _ in 0..1_000 {
        ids.push(say(&town, &town.ada, general, ("lunch", "hi")).await);
    }
    let list = json!(ids).to_string();
    let since = town.store.head();
    for (op, flag) in [("add", "read"), ("add", "starred"), ("remove", "read"), ("remove", "starred")] {
        let parameters = [("messages", list.as_str()), ("op", op), ("flag", flag)];
        let told = town.call(&sam, "POST /messages/flags", &parameters).await.success();
        assert_eq!(told["messages"], json!(ids));
        // Once more changes nothing, and says nothing.
        town.call(&sam, "POST /messages/flags", &parameters).await.success();
    }
    let told = heard(&town, &sam, since).await;
    let short: Vec<_> = told.iter().map(|event| (&event["op"], &event["operation"], &event["flag"])).collect();
    let named = |op, flag| (json!(op), json!(op), json!(flag));
    let wanted = [named("add", "read"), named("add", "starred"), named("remove", "read"), named("remove", "starred")];
    assert_eq!(short, wanted.iter().map(|(op, same, flag)| (op, same, flag)).collect::<Vec<_>>());
    for event in &told {
        assert_eq!((&event["messages"], &event["all"]), (&json!(ids), &json!(false)));
    }
    let details = &told[2]["message_details"];
    assert_eq!(details.as_object().unwrap().len(), 1_000);
    assert_eq!(
        details[ids[0].to_string()],
        json!({"type": "stream", "stream_id": general, "topic": "lunch", "unmuted_stream_msg": true})
    );
    assert_eq!(told[0].get("message_details"), None);
    assert_eq!(flags(&town, &sam, ids[999]).await, []);
    assert!(heard(&town, &town.ada, since).await.is_empty());
}

#[tokio::test]
async fn a_flag_that_is_none_or_the_servers_is_refused() {
    let town = Town::found().await;
    let id = say(&town, &town.ada, channel(&town, "general"), ("lunch", "hi")).await.to_string();
    let list = format!("[{id}]");
    let head = town.store.head();
    let flag = async |op, flag| {
        town.call(&town.ada, "POST /messages/flags", &[("messages", &list), ("op", op), ("flag", flag)]).await
    };
    flag("add", "x").await.refused("Invalid flag: 'x'");
    flag("add", "mentioned").await.refused("Flag not editable: 'mentioned'");
    flag("set", "read").await.refused("Invalid message flag operation: 'set'");
    let parameters = [("messages", "[\"1\"]"), ("op", "add"), ("flag", "read")];
    town.call(&town.ada, "POST /messages/flags", &parameters).await.refused("messages[0] is not an integer");
    assert_eq!(town.store.head(), head);
}

#[tokio::test]
async fn ones_own_message_can_become_unread_and_says_where_it_is() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let id = tell(&town, &sam, &[&town.ada], "hi").await;
    let list = format!("[{id}]");
    let since = town.store.head();
    for op in ["add", "remove"] {
        town.call(&sam, "POST /messages/flags", &[("messages", &list), ("op", op), ("flag", "read")]).await.success();
    }
    let told = heard(&town, &sam, since).await;
    assert_eq!(told[1]["message_details"], json!({id.to_string(): {"type": "private", "user_ids": [9]}}));
    assert_eq!(flags(&town, &sam, id).await, []);
}

#[tokio::test]
async fn a_topic_a_channel_and_everything_become_read() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&town, "general"), channel(&town, "sandbox"));
    let before = say(&town, &town.ada, general, ("old", "hi")).await;
    subscribe(&town, &sam, general).await;
    subscribe(&town, &sam, sandbox).await;
    let lunch = say(&town, &town.ada, general, ("Lunch", "hi")).await;
    let dinner = say(&town, &town.ada, general, ("dinner", "hi")).await;
    let elsewhere = say(&town, &town.ada, sandbox, ("lunch", "hi")).await;
    let direct = tell(&town, &town.ada, &[&sam], "hi").await;
    let since = town.store.head();
    let channel_id = general.to_string();
    let topic = async |channel: &str, topic: &str| {
        town.call(&sam, "POST /mark_topic_as_read", &[("stream_id", channel), ("topic_name", topic)]).await
    };
    topic("999", "lunch").await.refused("Invalid channel ID");
    topic(&channel_id, "old").await.refused("No such topic 'old'");
    topic(&channel_id, "nothing").await.refused("No such topic 'nothing'");
    let missing = town.call(&sam, "POST /mark_topic_as_read", &[("stream_id", &channel_id)]).await;
    missing.refused("Missing 'topic_name' argument");
    assert_eq!(town.store.head(), since);
    topic(&channel_id, "lunch").await.success();
    topic(&channel_id, "lunch").await.success();
    town.call(&sam, "POST /mark_stream_as_read", &[("stream_id", "999")]).await.refused("Invalid channel ID");
    town.call(&sam, "POST /mark_stream_as_read", &[("stream_id", &channel_id)]).await.success();
    assert_eq!(town.call(&sam, "POST /mark_all_as_read", &[]).await.success()["complete"], true);
    let told = heard(&town, &sam, since).await;
    let ids: Vec<_> = told.iter().map(|event| &event["messages"]).collect();
    assert_eq!(ids, [&json!([lunch]), &json!([dinner]), &json!([elsewhere, direct])]);
    assert!(told.iter().all(|event| event["op"] == "add" && event["flag"] == "read"));
    assert!(flags(&town, &sam, before).await.contains(&Flag::Historical));
}

#[tokio::test]
async fn an_empty_topic_is_the_whole_channel() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    subscribe(&town, &sam, general).await;
    let ids = [say(&town, &town.ada, general, ("a", "hi")).await, say(&town, &town.ada, general, ("b", "hi")).await];
    let since = town.store.head();
    let parameters = [("stream_id", general.to_string()), ("topic_name", String::new())];
    let parameters = parameters.each_ref().map(|(name, value)| (*name, value.as_str()));
    town.call(&sam, "POST /mark_topic_as_read", &parameters).await.success();
    assert_eq!(heard(&town, &sam, since).await[0]["messages"], json!(ids));
}

#[tokio::test]
async fn receipts_name_readers_but_not_the_sender_nor_who_hides_or_is_muted() {
    let town = Town::found().await;
    let general = channel(&town, "general");
    let mut people = Vec::new();
    for name in ["sam", "hidden", "muted", "away"] {
        let person = town.person(name, Role::Member).await;
        subscribe(&town, &person, general).await;
        people.push(person);
    }
    let id = say(&town, &town.ada, general, ("lunch", "hi")).await;
    for person in &people[..3] {
        let parameters = [("messages", format!("[{id}]")), ("op", "add".to_owned()), ("flag", "read".to_owned())];
        let parameters = parameters.each_ref().map(|(name, value)| (*name, value.as_str()));
        town.call(person, "POST /messages/flags", &parameters).await.success();
    }
    let item = |user: i64, kind, key: &str, document| Change::UserItem {
        user_id: UserId(user),
        kind,
        key: key.to_owned(),
        document: Some(document),
    };
    let changes = vec![
        item(people[1].id, UserItemKind::Settings, "", json!({"send_read_receipts": false})),
        item(9, UserItemKind::MutedUser, &people[2].id.to_string(), json!({"timestamp": 1})),
    ];
    commit(&town, changes).await;
    let receipts = async |who: &Person| {
        town.call(who, &format!("GET /messages/{id}/read_receipts"), &[]).await.success()["user_ids"].clone()
    };
    assert_eq!(receipts(&town.ada).await, json!([people[0].id]));
    assert_eq!(receipts(&people[0]).await, json!([people[0].id, people[2].id]));
    assert_eq!(receipts(&people[2]).await, json!([people[0].id, people[2].id]));
}

async fn edit(town: &Town, who: &Person, id: i64, parameters: &[(&str, &str)]) -> Told {
    town.call(who, &format!("PATCH /messages/{id}"), parameters).await
}

async fn history(town: &Town, who: &Person, id: i64) -> Vec<Value> {
    let told = town.call(who, &format!("GET /messages/{id}/history"), &[]).await.success();
    told["message_history"].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_edit_is_rendered_told_and_kept_in_the_history() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    subscribe(&town, &sam, general).await;
    let id = say(&town, &town.ada, general, ("lunch", "hi")).await;
    let since = town.store.head();
    town.wait_s(5);
    edit(&town, &town.ada, id, &[("content", "**hi** @**sam**\n")]).await.success();
    let html =
        format!("<p><strong>hi</strong> <span class=\"user-mention\" data-user-id=\"{}\">@sam</span></p>", sam.id);
    let changed = message(&town, id).await.unwrap();
    assert_eq!((changed.content.as_str(), changed.html.as_str()), ("**hi** @**sam**", html.as_str()));
    assert_eq!(
        heard(&town, &sam, since).await,
        [json!({
            "type": "update_message", "user_id": 9, "rendering_only": false, "message_id": id, "message_ids": [id],
            "edit_timestamp": NOW_S + 5, "stream_id": general, "stream_name": "general", "flags": ["mentioned"],
            "orig_content": "hi", "orig_rendered_content": "<p>hi</p>", "prev_rendered_content_version": 1,
            "content": "**hi** @**sam**", "rendered_content": html, "is_me_message": false,
        })]
    );
    let states = history(&town, &sam, id).await;
    assert_eq!(
        states[0],
        json!({"topic": "lunch", "content": "hi", "rendered_content": "<p>hi</p>", "timestamp": NOW_S, "user_id": 9})
    );
    assert_eq!((&states[1]["prev_content"], &states[1]["rendered_content"]), (&json!("hi"), &json!(html)));
    assert_eq!(states.len(), 2);
    edit(&town, &town.ada, id, &[("content", " ")]).await.success();
    assert_eq!(message(&town, id).await.unwrap().content, "(deleted)");
    assert_eq!(flags(&town, &sam, id).await, []);
}

#[tokio::test]
async fn an_edit_that_may_not_be_changes_nothing() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let eve = town.person("eve", Role::Guest).await;
    let (general, sandbox) = (channel(&town, "general"), channel(&town, "sandbox"));
    subscribe(&town, &eve, general).await;
    let hidden = private(&town, "hidden", &[]).await;
    let id = say(&town, &town.ada, general, ("lunch", "hi")).await;
    let own = say(&town, &sam, general, ("lunch", "hi")).await;
    let direct = tell(&town, &sam, &[&town.ada], "hi").await;
    let head = town.store.head();
    let (sandbox, hidden) = (sandbox.to_string(), hidden.to_string());
    let not_yours = "You don't have permission to edit this message";
    edit(&town, &sam, id, &[("content", "x")]).await.refused(not_yours);
    edit(&town, &sam, own, &[]).await.refused("Nothing to change");
    edit(&town, &sam, own, &[("content", "hi"), ("topic", "lunch")]).await.refused("Nothing to change");
    edit(&town, &sam, own, &[("topic", " ")]).await.refused("Topic can't be empty!");
    edit(&town, &sam, own, &[("topic", "a\u{7}")]).await.refused("Invalid character in topic, at position 2!");
    edit(&town, &sam, own, &[("propagate_mode", "x")]).await.refused("Invalid propagate_mode");
    let alone = [("content", "x"), ("propagate_mode", "change_all")];
    edit(&town, &sam, own, &alone).await.refused("Invalid propagate_mode without topic edit");
    edit(&town, &sam, direct, &[("topic", "x")]).await.refused("Direct messages cannot have topics.");
    let to_channel = [("stream_id", sandbox.as_str())];
    edit(&town, &sam, direct, &to_channel).await.refused("Direct messages cannot be moved to channels.");
    edit(&town, &sam, own, &[("stream_id", &hidden)]).await.refused("Invalid channel ID");
    edit(&town, &eve, own, &to_channel).await.refused("You don't have permission to move this message");
    let both = [("stream_id", sandbox.as_str()), ("content", "x")];
    edit(&town, &sam, own, &both).await.refused("Cannot change message content while changing channel");
    edit(&town, &sam, 999_999, &[("content", "x")]).await.refused("Invalid message(s)");
    town.wait_s(10_000);
    edit(&town, &sam, own, &[("content", "x")]).await.refused("The time limit for editing this message has passed");
    assert_eq!(town.store.head(), head);
    assert_eq!(history(&town, &sam, own).await.len(), 1);
}

#[tokio::test]
async fn a_topic_is_moved_whole_and_resolved() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    let first = say(&town, &town.ada, general, ("lunch", "a")).await;
    let second = say(&town, &sam, general, ("Lunch", "b")).await;
    let third = say(&town, &town.ada, general, ("lunch", "c")).await;
    let since = town.store.head();
    edit(&town, &sam, second, &[("topic", "✔ lunch"), ("propagate_mode", "change_later")]).await.success();
    edit(&town, &sam, first, &[("subject", "dinner https://a.example")]).await.success();
    let told = heard(&town, &sam, since).await;
    assert_eq!(told.len(), 2);
    let (later, one) = (&told[0], &told[1]);
    assert_eq!(later["message_ids"], json!([second, third]));
    assert_eq!((&later["orig_subject"], &later["subject"]), (&json!("Lunch"), &json!("✔ lunch")));
    assert_eq!((&later["propagate_mode"], later.get("content")), (&json!("change_later"), None));
    assert_eq!(one["message_ids"], json!([first]));
    assert_eq!(one["propagate_mode"], "change_one");
    assert_eq!(one["topic_links"], json!([{"text": "https://a.example", "url": "https://a.example"}]));
    for (id, topic) in [(first, "dinner https://a.example"), (second, "✔ lunch"), (third, "✔ lunch")] {
        assert_eq!(message(&town, id).await.unwrap().topic, topic);
    }
    assert_eq!(history(&town, &sam, third).await[1]["prev_topic"], "lunch");
}

#[tokio::test]
async fn who_cannot_follow_a_moved_topic_hears_it_is_gone() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let eve = town.person("eve", Role::Member).await;
    let general = channel(&town, "general");
    for person in [&sam, &eve] {
        subscribe(&town, person, general).await;
    }
    let hidden = private(&town, "hidden", &[&sam]).await;
    let ids = [say(&town, &sam, general, ("lunch", "a")).await, say(&town, &sam, general, ("lunch", "b")).await];
    let since = town.store.head();
    let to = hidden.to_string();
    edit(&town, &sam, ids[0], &[("stream_id", &to), ("propagate_mode", "change_all")]).await.success();
    let told = heard(&town, &sam, since).await;
    assert_eq!((told.len(), &told[0]["new_stream_id"]), (1, &json!(hidden)));
    assert_eq!((told[0].get("subject"), &told[0]["orig_subject"]), (None, &json!("lunch")));
    assert_eq!(told[0]["message_ids"], json!(ids));
    assert_eq!(
        heard(&town, &eve, since).await,
        [json!({
            "type": "delete_message", "message_ids": ids, "message_type": "stream", "stream_id": general,
            "topic": "lunch",
        })]
    );
    assert_eq!(heard_by(&town, &eve, (since, false)).await.len(), 2);
    town.call(&eve, &format!("GET /messages/{}/history", ids[0]), &[]).await.refused("Invalid message(s)");
    assert_eq!(history(&town, &sam, ids[1]).await[1]["prev_stream"], general);
}

#[tokio::test]
async fn a_topic_too_old_to_move_whole_says_how_much_of_it_may() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    let old = say(&town, &sam, general, ("lunch", "a")).await;
    town.wait_s(604_000);
    let parameters = [("type", "channel"), ("to", "general"), ("topic", "lunch"), ("content", "b")];
    let young = town.call(&sam, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap();
    town.wait_s(1_000);
    let head = town.store.head();
    let told = edit(&town, &sam, young, &[("topic", "dinner"), ("propagate_mode", "change_all")]).await;
    let text = "You only have permission to move the 1/2 most recent messages in this topic.";
    assert_eq!(told.error(), (400, "MOVE_MESSAGES_TIME_LIMIT_EXCEEDED", text));
    assert_eq!(told.body["first_message_id_allowed_to_move"], young);
    assert_eq!(town.store.head(), head);
    edit(&town, &town.ada, young, &[("topic", "dinner"), ("propagate_mode", "change_all")]).await.success();
    assert_eq!(message(&town, old).await.unwrap().topic, "dinner");
}

#[tokio::test]
async fn two_edits_at_once_both_stand_in_the_history() {
    let town = Arc::new(Town::found().await);
    let id = say(&town, &town.ada, channel(&town, "general"), ("lunch", "hi")).await;
    let mut editing = tokio::task::JoinSet::new();
    for number in 0..20 {
        let town = Arc::clone(&town);
        editing.spawn(async move {
            let text = format!("edit {number}");
            edit(&town, &town.ada, id, &[("content", &text)]).await.success();
        });
    }
    editing.join_all().await;
    let states = history(&town, &town.ada, id).await;
    assert_eq!(states.len(), 21);
    for pair in states.windows(2) {
        assert_eq!(pair[1]["prev_content"], pair[0]["content"]);
    }
    assert_eq!(message(&town, id).await.unwrap().content, states[20]["content"]);
}

#[tokio::test]
async fn a_message_that_is_edited_and_deleted_at_once_is_gone() {
    let town = Arc::new(Town::found().await);
    let general = channel(&town, "general");
    for _ in 0..10 {
        let id = say(&town, &town.ada, general, ("lunch", "hi")).await;
        let mut deleting = tokio::task::JoinSet::new();
        let other = Arc::clone(&town);
        deleting.spawn(async move { other.call(&other.ada, &format!("DELETE /messages/{id}"), &[]).await });
        let told = edit(&town, &town.ada, id, &[("content", "x"), ("topic", "dinner")]).await;
        deleting.join_next().await.unwrap().unwrap().success();
        if !told.status.is_success() {
            told.refused("Invalid message(s)");
        }
        assert_eq!(message(&town, id).await, None);
        let gone = heard(&town, &town.ada, EventId(id)).await.pop().unwrap();
        let topic = if told.status.is_success() { "dinner" } else { "lunch" };
        assert_eq!((&gone["message_ids"], &gone["topic"]), (&json!([id]), &json!(topic)));
    }
}

#[tokio::test]
async fn a_stretch_of_a_narrow_is_marked_and_says_where_it_ended() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    subscribe(&town, &sam, general).await;
    let mut lunch = Vec::new();
    for number in 0..6 {
        lunch.push(say(&town, &town.ada, general, ("lunch", "hi")).await);
        say(&town, &town.ada, general, ("dinner", &number.to_string())).await;
    }
    let narrow = r#"[{"operator":"channel","operand":"general"},{"operator":"topic","operand":"Lunch"}]"#;
    let mark = async |anchor: &str, (before, after): (&str, &str), more: &[(&str, &str)]| {
        let mut parameters = vec![("anchor", anchor), ("num_before", before), ("num_after", after)];
        parameters.extend_from_slice(more);
        town.call(&sam, "POST /messages/flags/narrow", &parameters).await
    };
    let read = [("narrow", narrow), ("op", "add"), ("flag", "read")];
    let since = town.store.head();
    mark("x", ("0", "1"), &read).await.refused("Invalid anchor");
    mark("oldest", ("0", "1"), &read[1..]).await.refused("Missing 'narrow' argument");
    mark("oldest", ("0", "1"), &[read[0], read[1], ("flag", "mentioned")])
        .await
        .refused("Flag not editable: 'mentioned'");
    mark("oldest", ("0", "1"), &[read[0], ("op", "set"), read[2]])
        .await
        .refused("Invalid message flag operation: 'set'");
    let nowhere = [("narrow", r#"[["channel","nowhere"]]"#), read[1], read[2]];
    assert_eq!(mark("oldest", ("0", "1"), &nowhere).await.error().1, "BAD_NARROW");
    assert_eq!(town.store.head(), since);
    let told = mark("oldest", ("0", "4"), &read).await.success();
    let answer = |told: &Value| {
        let keys = [
            "processed_count",
            "updated_count",
            "first_processed_id",
            "last_processed_id",
            "found_oldest",
            "found_newest",
        ];
        Value::from_iter(keys.map(|key| told[key].clone()))
    };
    assert_eq!(answer(&told), json!([4, 4, lunch[0], lunch[3], true, false]));
    let told = mark("oldest", ("0", "5001"), &read).await.success();
    assert_eq!(answer(&told), json!([6, 2, lunch[0], lunch[5], true, true]));
    let everything = [("narrow", "null"), read[1], ("flag", "starred")];
    let told = mark("newest", ("5001", "5001"), &everything).await.success();
    assert_eq!((&told["processed_count"], &told["found_newest"]), (&json!(12), &json!(true)));
    let nothing = [("narrow", r#"[["sender","sam@example.org"]]"#), read[1], read[2]];
    let told = mark("newest", ("10", "0"), &nothing).await.success();
    assert_eq!(answer(&told), json!([0, 0, null, null, true, true]));
    let told = heard(&town, &sam, since).await;
    let ids: Vec<_> = told.iter().map(|event| event["messages"].clone()).collect();
    assert_eq!((ids.len(), &ids[..2]), (3, [json!(lunch[..4]), json!(lunch[4..])].as_slice()));
    let around = [("narrow", "[]"), ("op", "remove"), ("flag", "read"), ("include_anchor", "false")];
    let told = mark(&lunch[2].to_string(), ("1", "0"), &around).await.success();
    assert_eq!((&told["processed_count"], &told["updated_count"]), (&json!(1), &json!(0)));
}

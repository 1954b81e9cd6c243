//! Devices, whose turn it is to look through messages for notifications, and what devices were told of.

use std::sync::Arc;

use chat_core::event_log::event::{self, LogRecord, MessageFlagsUpdate, NewEvent};
use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::{DirectConversationId, EventId, MessageId, UserId};
use chat_core::model::flag_change::FlagChange;
use chat_core::model::message::{ContentFlags, Message, Recipient};
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use chat_core::model::user::User;
use chat_core::push_notifications::PushDeviceKind::{Apple, Google};
use chat_core::push_notifications::{
    MAX_PUSH_DEVICES_PER_USER, PushDevice, PushDeviceKind, PushStore as _, WithdrawnNotifications,
};
use chat_storage::ChatStore;

use crate::home::{NOW_S, on_every_engine};

fn device(user: i64, kind: PushDeviceKind, token: &str) -> PushDevice {
    PushDevice { user_id: UserId(user), kind, token: token.to_owned(), app_id: None }
}

async fn with_users(store: &ChatStore) {
    let user = |id: i64| User {
        id: UserId(id),
        email: format!("user{id}@example.org"),
        full_name: format!("User {id}"),
        role: Role::Member,
        is_active: true,
        joined_s: NOW_S,
        bot: None,
        timezone: String::new(),
        avatar_url: None,
        avatar_version: 1,
        address_visibility: chat_core::model::email_address_visibility::EmailAddressVisibility::default(),
    };
    let changes = [3, 4].map(|id| RealmChange::User(Box::new(user(id)))).into();
    store
        .commit(RealmCommit { decided_at: EventId::BEFORE_FIRST, at_s: NOW_S, changes, ..RealmCommit::default() })
        .await
        .unwrap();
}

async fn tokens(store: &ChatStore, users: &[i64]) -> Vec<String> {
    let users: Vec<_> = users.iter().copied().map(UserId).collect();
    store.devices_of_users(&users).await.unwrap().into_iter().map(|device| device.token).collect()
}

#[tokio::test]
async fn a_device_is_kept_for_its_user_until_it_is_forgotten() {
    on_every_engine(|home| async move {
        let store = home.open().await;
        with_users(&store).await;
        for device in [device(3, Apple, "a"), device(3, Google, "g"), device(4, Google, "g"), device(3, Apple, "a")] {
            store.store_device(&device, NOW_S).await.unwrap();
        }
        let named = PushDevice { app_id: Some("org.example".to_owned()), ..device(3, Apple, "a") };
        store.store_device(&named, NOW_S + 1).await.unwrap();
        let own = store.devices_of_users(&[UserId(3)]).await.unwrap();
        assert_eq!(own, [named, device(3, Google, "g")]);
        assert_eq!(store.users_with_devices().await.unwrap(), [UserId(3), UserId(4)]);
        assert!(!store.remove_device(UserId(4), Apple, "g").await.unwrap());
        assert!(store.remove_device(UserId(3), Google, "g").await.unwrap());
        assert!(!store.remove_device(UserId(3), Google, "g").await.unwrap());
        assert_eq!(tokens(&store, &[3, 4]).await, ["a", "g"]);
        store.flush_and_close().await;
    })
    .await;
}

#[tokio::test]
async fn of_too_many_devices_the_oldest_goes_and_nobody_elses() {
    on_every_engine(|home| async move {
        let store = home.open().await;
        with_users(&store).await;
        store.store_device(&device(4, Google, "other"), 1).await.unwrap();
        for number in 0..=MAX_PUSH_DEVICES_PER_USER {
            let device = device(3, Google, &format!("t{number}"));
            store.store_device(&device, NOW_S + number).await.unwrap();
        }
        let kept = tokens(&store, &[3]).await;
        assert_eq!(kept.len(), usize::try_from(MAX_PUSH_DEVICES_PER_USER).unwrap());
        assert!(!kept.contains(&"t0".to_owned()) && kept.contains(&"t1".to_owned()));
        assert_eq!(tokens(&store, &[4]).await, ["other"]);
        store.flush_and_close().await;
    })
    .await;
}

#[tokio::test]
async fn one_node_at_a_time_looks_through_messages_and_the_next_goes_on_from_there() {
    on_every_engine(|home| async move {
        let store = home.open().await;
        assert_eq!(store.acquire_push_lease("a", NOW_S, NOW_S + 60).await.unwrap(), Some(EventId(0)));
        assert_eq!(store.acquire_push_lease("b", NOW_S + 59, NOW_S + 120).await.unwrap(), None);
        assert!(store.advance_push_position("a", EventId(7)).await.unwrap());
        assert!(!store.advance_push_position("a", EventId(6)).await.unwrap());
        assert_eq!(store.acquire_push_lease("b", NOW_S + 60, NOW_S + 120).await.unwrap(), Some(EventId(7)));
        assert!(!store.advance_push_position("a", EventId(9)).await.unwrap());
        assert_eq!(store.acquire_push_lease("b", NOW_S + 61, NOW_S + 121).await.unwrap(), Some(EventId(7)));
        store.flush_and_close().await;
    })
    .await;
}

fn pairs(pairs: &[(i64, i64)]) -> Vec<(UserId, MessageId)> {
    pairs.iter().map(|(user, message)| (UserId(*user), MessageId(*message))).collect()
}

/// What the log says when a user reads these messages.
fn reading(user: i64, messages: &[i64]) -> NewEvent {
    let ids: Vec<_> = messages.iter().copied().map(MessageId).collect();
    MessageFlagsUpdate::without_locations(FlagChange::MARK_READ, ids).event_for_user(UserId(user))
}

/// What the log says when these messages are deleted.
fn deleting(messages: &[i64]) -> Vec<NewEvent> {
    let ids: Vec<_> = messages.iter().copied().map(MessageId).collect();
    let message = Message {
        id: ids[0],
        sender_id: UserId(3),
        recipient: Recipient::Direct(DirectConversationId(7)),
        direct_users: vec![UserId(3)],
        topic: String::new(),
        content: String::new(),
        html: String::new(),
        sent_s: NOW_S,
        client: String::new(),
        content_flags: ContentFlags::default(),
        last_edit_s: None,
        revision: EventId(1),
        reactions: Vec::new(),
        submessages: Vec::new(),
    };
    event::delete_message_events(&message, &ids)
}

async fn sent(store: &ChatStore, events: Vec<NewEvent>) -> Vec<(UserId, MessageId)> {
    let record = |event| Arc::new(LogRecord::new(EventId(90), NOW_S, Vec::new(), Some(event)));
    let records: Vec<_> = events.into_iter().map(record).collect();
    store.sent_notifications_to_withdraw(&WithdrawnNotifications::from_log_records(&records)).await.unwrap()
}

#[tokio::test]
async fn what_devices_were_told_of_is_found_by_who_read_it_and_by_what_is_gone() {
    on_every_engine(|home| async move {
        let store = home.open().await;
        with_users(&store).await;
        let noted = pairs(&[(3, 10), (3, 11), (3, 12), (4, 10), (4, 12)]);
        store.record_sent_notifications(&noted, NOW_S).await.unwrap();
        store.record_sent_notifications(&noted[..1], NOW_S + 9).await.unwrap();
        assert_eq!(sent(&store, vec![reading(3, &[10, 11])]).await, pairs(&[(3, 10), (3, 11)]));
        assert_eq!(sent(&store, vec![reading(3, &[13])]).await, []);
        assert_eq!(sent(&store, deleting(&[12, 13])).await, pairs(&[(3, 12), (4, 12)]));
        let both = [deleting(&[12]), vec![reading(4, &[12]), reading(4, &[10])]].concat();
        assert_eq!(sent(&store, both).await, pairs(&[(3, 12), (4, 10), (4, 12)]));
        assert_eq!(sent(&store, Vec::new()).await, []);
        store.flush_and_close().await;
    })
    .await;
}

#[tokio::test]
async fn what_devices_were_told_of_is_forgotten_by_message_and_by_age() {
    on_every_engine(|home| async move {
        let store = home.open().await;
        with_users(&store).await;
        store.record_sent_notifications(&pairs(&[(3, 10), (4, 10), (4, 11)]), NOW_S).await.unwrap();
        // More than fit into one statement, later.
        let many: Vec<_> = (20..220).map(|id| (UserId(4), MessageId(id))).collect();
        store.record_sent_notifications(&many, NOW_S + 1).await.unwrap();
        store.remove_sent_notifications(UserId(4), &[MessageId(10), MessageId(20)]).await.unwrap();
        let all = || vec![reading(3, &[10]), reading(4, &[10, 220])];
        assert_eq!(sent(&store, all()).await.len(), 201);
        assert_eq!(store.remove_sent_notifications_before(NOW_S + 1).await.unwrap(), 2);
        assert_eq!(sent(&store, all()).await, many[1..]);
        store.flush_and_close().await;
    })
    .await;
}

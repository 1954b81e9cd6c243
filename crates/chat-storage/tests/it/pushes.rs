//! Devices, and whose turn it is to look through messages for notifications.

use chat_core::change::{Change, Commit};
use chat_core::id::{EventId, UserId};
use chat_core::ports::RealmStore as _;
use chat_core::push::DeviceKind::{Apple, Google};
use chat_core::push::{DEVICES_MAX, Device, DeviceKind, PushStore as _};
use chat_core::role::Role;
use chat_core::user::User;
use chat_storage::Store;

use crate::home::{NOW_S, on_every_engine};

fn device(user: i64, kind: DeviceKind, token: &str) -> Device {
    Device { user_id: UserId(user), kind, token: token.to_owned(), app_id: None }
}

async fn with_users(store: &Store) {
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
        address_visibility: chat_core::address::AddressVisibility::default(),
    };
    let changes = [3, 4].map(|id| Change::User(Box::new(user(id)))).into();
    store.commit(Commit { decided_at: EventId::NONE, at_s: NOW_S, changes, ..Commit::default() }).await.unwrap();
}

async fn tokens(store: &Store, users: &[i64]) -> Vec<String> {
    let users: Vec<_> = users.iter().copied().map(UserId).collect();
    store.devices(&users).await.unwrap().into_iter().map(|device| device.token).collect()
}

#[tokio::test]
async fn a_device_is_kept_for_its_user_until_it_is_forgotten() {
    on_every_engine(|home| async move {
        let store = home.open().await;
        with_users(&store).await;
        for device in [device(3, Apple, "a"), device(3, Google, "g"), device(4, Google, "g"), device(3, Apple, "a")] {
            store.register_device(&device, NOW_S).await.unwrap();
        }
        let named = Device { app_id: Some("org.example".to_owned()), ..device(3, Apple, "a") };
        store.register_device(&named, NOW_S + 1).await.unwrap();
        let own = store.devices(&[UserId(3)]).await.unwrap();
        assert_eq!(own, [named, device(3, Google, "g")]);
        assert_eq!(store.device_owners().await.unwrap(), [UserId(3), UserId(4)]);
        assert!(!store.forget_device(UserId(4), Apple, "g").await.unwrap());
        assert!(store.forget_device(UserId(3), Google, "g").await.unwrap());
        assert!(!store.forget_device(UserId(3), Google, "g").await.unwrap());
        assert_eq!(tokens(&store, &[3, 4]).await, ["a", "g"]);
        store.stop().await;
    })
    .await;
}

#[tokio::test]
async fn of_too_many_devices_the_oldest_goes_and_nobody_elses() {
    on_every_engine(|home| async move {
        let store = home.open().await;
        with_users(&store).await;
        store.register_device(&device(4, Google, "other"), 1).await.unwrap();
        for number in 0..=DEVICES_MAX {
            let device = device(3, Google, &format!("t{number}"));
            store.register_device(&device, NOW_S + number).await.unwrap();
        }
        let kept = tokens(&store, &[3]).await;
        assert_eq!(kept.len(), usize::try_from(DEVICES_MAX).unwrap());
        assert!(!kept.contains(&"t0".to_owned()) && kept.contains(&"t1".to_owned()));
        assert_eq!(tokens(&store, &[4]).await, ["other"]);
        store.stop().await;
    })
    .await;
}

#[tokio::test]
async fn one_node_at_a_time_looks_through_messages_and_the_next_goes_on_from_there() {
    on_every_engine(|home| async move {
        let store = home.open().await;
        assert_eq!(store.take_push_turn("a", NOW_S, NOW_S + 60).await.unwrap(), Some(EventId(0)));
        assert_eq!(store.take_push_turn("b", NOW_S + 59, NOW_S + 120).await.unwrap(), None);
        assert!(store.move_push_turn("a", EventId(7)).await.unwrap());
        assert!(!store.move_push_turn("a", EventId(6)).await.unwrap());
        assert_eq!(store.take_push_turn("b", NOW_S + 60, NOW_S + 120).await.unwrap(), Some(EventId(7)));
        assert!(!store.move_push_turn("a", EventId(9)).await.unwrap());
        assert_eq!(store.take_push_turn("b", NOW_S + 61, NOW_S + 121).await.unwrap(), Some(EventId(7)));
        store.stop().await;
    })
    .await;
}

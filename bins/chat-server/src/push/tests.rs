use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::post;
use chat_core::event_log::event::{self, MessageFlagsUpdate, NewMessageEvent};
use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::event_log::store::{EventLog as _, RealmStore as _};
use chat_core::id::{DirectConversationId, EventId, MessageId, UserId};
use chat_core::messages::store::{
    FlagWriteGuard, MessageDestination, MessageStore as _, MessageWriteGuard, NewMessage, SendOutcome,
};
use chat_core::model::flag_change::FlagChange;
use chat_core::model::message::{ContentFlags, Message, Recipient};
use chat_core::model::realm::{Realm, RealmPermissionSettings};
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use chat_core::model::user::User;
use chat_core::push_notifications::{
    MAX_REMOVALS_PER_NOTIFICATION, PushDevice, PushDeviceKind, PushError, PushService as _, PushStore as _,
};
use chat_core::wire_format::{DisplayRecipient, MessageSender};
use chat_storage::{ChatDatabase, ChatStore};
use http::HeaderMap;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::PushWorker;
use super::bouncer::HttpBouncer;
use super::worker::OLD_S;

const NOW_S: i64 = 1_800_000_000;

/// What a bouncer was told: path, credentials, body.
type SentRequests = Arc<Mutex<Vec<(String, String, Value)>>>;

/// A bouncer over HTTP that answers with that status and body, for as long as the tasks last.
async fn bouncer(status: u16, answer: Value) -> (HttpBouncer, SentRequests, JoinSet<()>) {
    let sent = SentRequests::default();
    let take = move |Path(path): Path<String>, State(sent): State<SentRequests>, headers: HeaderMap, body: String| {
        let credentials = headers["authorization"].to_str().unwrap().to_owned();
        let body = match headers["content-type"].to_str().unwrap() {
            "application/json" => serde_json::from_str(&body).unwrap(),
            "application/x-www-form-urlencoded" => url::form_urlencoded::parse(body.as_bytes())
                .map(|(key, value)| (key.into_owned(), json!(value)))
                .collect(),
            other => panic!("{other}"),
        };
        sent.lock().unwrap().push((path, credentials, body));
        let answer = answer.to_string();
        async move { (StatusCode::from_u16(status).unwrap(), answer) }
    };
    let routes = Router::new().route("/api/v1/remotes/push/{path}", post(take)).with_state(Arc::clone(&sent));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, routes).await.unwrap() });
    let client = Client::builder().no_proxy().build().unwrap();
    (HttpBouncer { client, base_url, id: "acme".to_owned(), key: "hunter2".to_owned() }, sent, tasks)
}

fn device(user: i64, kind: PushDeviceKind, token: &str) -> PushDevice {
    PushDevice { user_id: UserId(user), kind, token: token.to_owned(), app_id: None }
}

#[tokio::test]
async fn the_bouncer_is_told_of_devices_and_tests_with_our_credentials() {
    let (bouncer, sent, _tasks) = bouncer(200, json!({"result": "success"})).await;
    let device = device(4, PushDeviceKind::Apple, "c0ffee");
    bouncer.register_device(&device).await.unwrap();
    bouncer.send_test_notification(&device, &json!({"event": "test"})).await.unwrap();
    bouncer.unregister_device(UserId(4), PushDeviceKind::Apple, "c0ffee").await.unwrap();
    let sent = sent.lock().unwrap();
    let paths: Vec<_> = sent.iter().map(|(path, ..)| path.as_str()).collect();
    assert_eq!(paths, ["register", "test_notification", "unregister"]);
    let uuids = |body: &Value| ["user_uuid", "realm_uuid"].map(|key| body[key].as_str().unwrap_or_default().to_owned());
    let [user, realm] = uuids(&sent[1].2);
    assert!(user != realm && [&user, &realm].into_iter().all(|id| uuid::Uuid::parse_str(id).is_ok()));
    let device =
        json!({"server_uuid": "acme", "user_uuid": user, "user_id": "4", "token": "c0ffee", "token_kind": "1"});
    assert_eq!(sent[0].2, device);
    let test = json!({
        "realm_uuid": realm, "user_uuid": user, "user_id": 4, "token": "c0ffee", "token_kind": 1,
        "base_payload": {"event": "test"},
    });
    assert_eq!(sent[1].2, test);
    let mut device = device;
    device["realm_uuid"] = json!(realm);
    assert_eq!(sent[2].2, device);
    assert!(sent.iter().all(|(_, credentials, _)| credentials == "Basic YWNtZTpodW50ZXIy"));
}

#[tokio::test]
async fn a_user_has_the_same_uuid_at_the_bouncer_after_every_start_and_each_another() {
    let (one, sent, _tasks) = bouncer(200, json!({})).await;
    let (again, sent_again, _more) = bouncer(200, json!({})).await;
    for bouncer in [&one, &again] {
        for user in [4, 5] {
            bouncer.register_device(&device(user, PushDeviceKind::Google, "t")).await.unwrap();
        }
    }
    let users = |sent: &SentRequests| {
        sent.lock().unwrap().iter().map(|(.., body)| body["user_uuid"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(users(&sent), users(&sent_again));
    assert_ne!(users(&sent)[0], users(&sent)[1]);
}

#[tokio::test]
async fn a_device_unknown_there_is_told_apart_from_a_bouncer_that_fails() {
    let unknown = json!({"result": "error", "code": "INVALID_REMOTE_PUSH_DEVICE_TOKEN"});
    for (status, answer, is_unknown) in [
        (400, unknown, true),
        (401, json!({"code": "UNAUTHORIZED"}), false),
        (500, json!({}), false),
        (200, json!(null), false),
    ] {
        let (bouncer, _, _tasks) = bouncer(status, answer).await;
        let tested = bouncer.send_test_notification(&device(4, PushDeviceKind::Google, "t"), &json!({})).await;
        match tested {
            Err(PushError::NotRecognizedThere) => assert!(is_unknown, "{status}"),
            Err(PushError::Bouncer(error)) => {
                assert!(!is_unknown && !error.to_string().contains("hunter2"), "{status}");
            }
            other => assert!(status == 200 && other.is_ok(), "{status} {other:?}"),
        }
    }
}

/// A store with two people who write to each other; the second one has devices.
async fn with_people() -> (TempDir, Arc<ChatStore>) {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(
        ChatStore::start_without_secret(ChatDatabase::open_and_migrate(None, dir.path(), 4).await.unwrap())
            .await
            .unwrap(),
    );
    let realm = Realm {
        name: "Acme".to_owned(),
        description: String::new(),
        created_s: NOW_S,
        is_deactivated: false,
        rules: RealmPermissionSettings::default(),
        images: chat_core::model::organization_image::OrganizationImageUrls::default(),
    };
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
    let mut changes = vec![RealmChange::Realm(Box::new(realm))];
    changes.extend([3, 4].map(|id| RealmChange::User(Box::new(user(id)))));
    store
        .commit(RealmCommit { decided_at: EventId::BEFORE_FIRST, at_s: NOW_S, changes, ..RealmCommit::default() })
        .await
        .unwrap();
    for device in [
        device(4, PushDeviceKind::Google, "new"),
        device(4, PushDeviceKind::Google, "old"),
        device(4, PushDeviceKind::Apple, "a1"),
    ] {
        store.store_device(&device, NOW_S).await.unwrap();
    }
    (dir, store)
}

async fn write(store: &ChatStore, content: &str, sent_s: i64) -> MessageId {
    let message = Message {
        id: MessageId(0),
        sender_id: UserId(3),
        recipient: Recipient::Direct(DirectConversationId(0)),
        direct_users: vec![UserId(3), UserId(4)],
        topic: String::new(),
        content: content.to_owned(),
        html: format!("<p>{content}</p>"),
        sent_s,
        client: "test".to_owned(),
        content_flags: ContentFlags::default(),
        last_edit_s: None,
        revision: EventId(0),
        reactions: Vec::new(),
        submessages: Vec::new(),
    };
    let sender = MessageSender {
        email: "user3@example.org".to_owned(),
        full_name: "User 3".to_owned(),
        avatar_url: "/a.png".to_owned(),
        has_gravatar: true,
    };
    let event = NewMessageEvent {
        message,
        sender,
        display_recipient: DisplayRecipient::Users(Vec::new()),
        topic_links: Vec::new(),
        flags: Vec::new(),
        wildcard: false,
        local: None,
    };
    let to = MessageDestination::Direct(vec![UserId(3), UserId(4)]);
    let message = NewMessage { decided_at: store.snapshot().changed_at(), to, event, attachments: Vec::new() };
    let SendOutcome::Done { id, .. } = store.append_message(message).await.unwrap() else {
        panic!("the realm changed")
    };
    id
}

/// User 4 reads these messages.
async fn read(store: &ChatStore, ids: &[MessageId]) {
    let event = MessageFlagsUpdate::without_locations(FlagChange::MARK_READ, ids.to_vec()).event_for_user(UserId(4));
    let decided =
        FlagWriteGuard { realm: store.snapshot().changed_at(), log: store.last_event_id(), messages: ids.to_vec() };
    store
        .change_flag(UserId(4), (FlagChange::MARK_READ.flag, FlagChange::MARK_READ.op), &decided, (NOW_S, event))
        .await
        .unwrap();
}

async fn delete(store: &ChatStore, id: MessageId) {
    let (message, _) = store.find_messages(UserId(3), &[id]).await.unwrap().remove(0);
    store
        .delete_messages(
            &MessageWriteGuard::new(&store.snapshot(), [&message]),
            (NOW_S, event::delete_message_events(&message, &[id])),
        )
        .await
        .unwrap();
}

/// Returns what the bouncer was told since it was last asked, of each notification its event and its messages.
fn heard(sent: &SentRequests) -> Vec<String> {
    let sent = std::mem::take(&mut *sent.lock().unwrap());
    let said = sent.iter().map(|(_, _, body)| {
        let payload = &body["gcm_payload"];
        let messages = payload.get("zulip_message_ids").unwrap_or(&payload["zulip_message_id"]);
        format!("{} {}", payload["event"], messages).replace('"', "")
    });
    said.collect()
}

fn worker(store: &Arc<ChatStore>, bouncer: HttpBouncer, node: &str) -> PushWorker {
    PushWorker {
        store: Arc::clone(store),
        bouncer: Arc::new(bouncer),
        base_url: "https://chat.example.org".to_owned(),
        brand: "zulip".to_owned(),
        node: node.to_owned(),
    }
}

#[tokio::test]
async fn a_message_notifies_its_receivers_devices_once_and_those_that_are_gone_are_forgotten() {
    let (_dir, store) = with_people().await;
    let answer = json!({"result": "success", "deleted_devices": {"android_devices": ["old"], "apple_devices": []}});
    let (bouncer, sent, _tasks) = bouncer(200, answer).await;
    let worker = worker(&store, bouncer, "a");
    write(&store, "hello", NOW_S).await;
    for _ in 0..2 {
        assert_eq!(worker.look(NOW_S + 1).await.unwrap(), Some(store.last_event_id()));
    }
    let sent = std::mem::take(&mut *sent.lock().unwrap());
    let [(path, _, body)] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!((path.as_str(), &body["user_id"]), ("notify", &json!(4)));
    assert_eq!((&body["android_devices"], &body["apple_devices"]), (&json!(["new", "old"]), &json!(["a1"])));
    let google = &body["gcm_payload"];
    let said = ["event", "realm_name", "content", "sender_full_name"].map(|key| google[key].clone());
    assert_eq!(said, [json!("message"), json!("Acme"), json!("hello"), json!("User 3")]);
    assert_eq!(body["apns_payload"]["alert"]["body"], "hello");
    let kept: Vec<_> =
        store.devices_of_users(&[UserId(4)]).await.unwrap().into_iter().map(|device| device.token).collect();
    assert_eq!(kept, ["a1", "new"]);
    store.flush_and_close().await;
}

#[tokio::test]
async fn nobody_is_notified_of_an_old_message_or_by_a_node_whose_turn_it_is_not() {
    let (_dir, store) = with_people().await;
    let (bouncer, sent, _tasks) = bouncer(200, json!({"result": "success"})).await;
    let worker = worker(&store, bouncer, "b");
    store.acquire_push_lease("a", NOW_S, NOW_S + 60).await.unwrap();
    write(&store, "hello", NOW_S).await;
    assert_eq!(worker.look(NOW_S + 59).await.unwrap(), None);
    assert_eq!(worker.look(NOW_S + OLD_S).await.unwrap(), Some(store.last_event_id()));
    assert!(sent.lock().unwrap().is_empty());
    store.flush_and_close().await;
}

#[tokio::test]
async fn a_bouncer_that_fails_holds_up_nothing() {
    let (_dir, store) = with_people().await;
    let (bouncer, sent, _tasks) = bouncer(500, json!({})).await;
    let worker = worker(&store, bouncer, "a");
    for content in ["one", "two"] {
        write(&store, content, NOW_S).await;
    }
    assert_eq!(worker.look(NOW_S).await.unwrap(), Some(store.last_event_id()));
    assert_eq!(sent.lock().unwrap().len(), 2);
    store.flush_and_close().await;
}

#[tokio::test]
async fn what_was_read_or_deleted_goes_from_the_devices_that_show_it_once() {
    let (_dir, store) = with_people().await;
    let (bouncer, sent, _tasks) = bouncer(200, json!({"result": "success"})).await;
    let worker = worker(&store, bouncer, "a");
    let mut ids = Vec::new();
    for content in ["one", "two", "three", "four"] {
        ids.push(write(&store, content, NOW_S).await.0);
    }
    let [one, two, three, four] = ids[..] else { panic!("{ids:?}") };
    worker.look(NOW_S).await.unwrap();
    assert_eq!(heard(&sent), ids.iter().map(|id| format!("message {id}")).collect::<Vec<_>>());
    read(&store, &[MessageId(one), MessageId(three)]).await;
    delete(&store, MessageId(four)).await;
    worker.look(NOW_S + OLD_S).await.unwrap();
    assert_eq!(heard(&sent), [format!("remove {one},{three},{four}")]);
    for id in [one, three] {
        read(&store, &[MessageId(id)]).await;
    }
    worker.look(NOW_S + OLD_S).await.unwrap();
    assert!(heard(&sent).is_empty(), "taken back twice");
    delete(&store, MessageId(two)).await;
    worker.look(NOW_S + OLD_S).await.unwrap();
    assert_eq!(heard(&sent), [format!("remove {two}")]);
    store.flush_and_close().await;
}

#[tokio::test]
async fn a_removal_is_said_in_the_words_of_apps_and_in_no_hurry() {
    let (_dir, store) = with_people().await;
    let (bouncer, sent, _tasks) = bouncer(200, json!({"result": "success"})).await;
    let worker = worker(&store, bouncer, "a");
    let id = write(&store, "hello", NOW_S).await;
    worker.look(NOW_S).await.unwrap();
    assert_eq!(std::mem::take(&mut *sent.lock().unwrap())[0].2["gcm_options"], json!({"priority": "high"}));
    read(&store, &[id]).await;
    worker.look(NOW_S).await.unwrap();
    let sent = std::mem::take(&mut *sent.lock().unwrap());
    let [(path, _, body)] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!((path.as_str(), &body["gcm_options"]), ("notify", &json!({"priority": "normal"})));
    assert_eq!((&body["android_devices"], &body["apple_devices"]), (&json!(["new", "old"]), &json!(["a1"])));
    let own = &body["apns_payload"]["custom"]["zulip"];
    assert_eq!((&own["event"], &own["zulip_message_ids"]), (&json!("remove"), &json!(id.to_string())));
    assert_eq!(body["apns_payload"].get("alert"), None);
    store.flush_and_close().await;
}

#[tokio::test]
async fn many_messages_go_in_few_notifications_and_another_node_goes_on() {
    let (_dir, store) = with_people().await;
    let (one, sent, _tasks) = bouncer(200, json!({"result": "success"})).await;
    let first = worker(&store, one, "a");
    let mut ids = Vec::new();
    for _ in 0..=MAX_REMOVALS_PER_NOTIFICATION {
        ids.push(write(&store, "hello", NOW_S).await);
    }
    while first.look(NOW_S).await.unwrap() != Some(store.last_event_id()) {}
    assert_eq!(heard(&sent).len(), ids.len());
    read(&store, &ids).await;
    let (other, sent, _tasks) = bouncer(200, json!({"result": "success"})).await;
    let next = worker(&store, other, "b");
    assert_eq!(next.look(NOW_S + 1).await.unwrap(), None);
    assert!(next.look(NOW_S + OLD_S).await.unwrap().is_some());
    let sizes: Vec<_> = heard(&sent).iter().map(|said| said.split(',').count()).collect();
    assert_eq!(sizes, [MAX_REMOVALS_PER_NOTIFICATION, 1]);
    store.flush_and_close().await;
}

#[tokio::test]
async fn what_was_read_or_deleted_before_anybody_looked_is_not_shown() {
    let (_dir, store) = with_people().await;
    let (bouncer, sent, _tasks) = bouncer(200, json!({"result": "success"})).await;
    let worker = worker(&store, bouncer, "a");
    let ids = [write(&store, "one", NOW_S).await, write(&store, "two", NOW_S).await];
    let shown = write(&store, "three", NOW_S).await;
    read(&store, &ids[..1]).await;
    delete(&store, ids[1]).await;
    worker.look(NOW_S).await.unwrap();
    assert_eq!(heard(&sent), [format!("message {shown}")]);
    store.flush_and_close().await;
}

#[tokio::test]
async fn nothing_is_taken_back_that_was_not_shown_or_whose_devices_are_gone() {
    let (_dir, store) = with_people().await;
    let (bouncer, sent, _tasks) = bouncer(200, json!({"result": "success"})).await;
    let worker = worker(&store, bouncer, "a");
    let old = write(&store, "old", NOW_S).await;
    worker.look(NOW_S + OLD_S).await.unwrap();
    let shown = write(&store, "new", NOW_S).await;
    worker.look(NOW_S).await.unwrap();
    assert_eq!(heard(&sent), [format!("message {shown}")]);
    read(&store, &[old]).await;
    worker.look(NOW_S).await.unwrap();
    for (kind, token) in
        [(PushDeviceKind::Google, "new"), (PushDeviceKind::Google, "old"), (PushDeviceKind::Apple, "a1")]
    {
        store.remove_device(UserId(4), kind, token).await.unwrap();
    }
    store.store_device(&device(3, PushDeviceKind::Google, "other"), NOW_S).await.unwrap();
    read(&store, &[shown]).await;
    worker.look(NOW_S).await.unwrap();
    assert!(heard(&sent).is_empty());
    store.flush_and_close().await;
}

//! What people choose for themselves: status, mutes, topics, words they watch for.

mod alerting;
mod following;
mod muting;
mod status;
mod topics;

use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::{EventId, UserId};
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use chat_core::model::user::{BotKind, BotProperties, User};
use serde_json::Value;

use crate::test_app::{NOW_S, Person, TestApp};

/// A queue, and who listens.
pub(crate) struct TestQueue {
    who: Person,
    queue: String,
    last: String,
}

/// Listens to events of these types, a list in JSON; `null` for all.
pub(crate) async fn listen(app: &TestApp, who: &Person, types: &str, parameters: &[(&str, &str)]) -> TestQueue {
    let mut all = vec![("event_types", types), ("fetch_event_types", "[]")];
    all.extend(parameters);
    let response = app.call(who, "POST /register", &all).await.success();
    let queue = response["queue_id"].as_str().unwrap().to_owned();
    TestQueue { who: who.clone(), queue, last: response["last_event_id"].to_string() }
}

/// What was told since the ear began to listen, without the numbers.
pub(crate) async fn heard(app: &TestApp, test_queue: &TestQueue) -> Vec<Value> {
    let parameters =
        [("queue_id", test_queue.queue.as_str()), ("last_event_id", &test_queue.last), ("dont_block", "true")];
    let mut response = app.call(&test_queue.who, "GET /events", &parameters).await.success();
    let events = response["events"].as_array_mut().unwrap();
    for event in events.iter_mut() {
        event.as_object_mut().unwrap().remove("id").unwrap();
    }
    std::mem::take(events)
}

/// One key of the state a client begins with.
pub(crate) async fn state(app: &TestApp, who: &Person, key: &str) -> Value {
    app.call(who, "POST /register", &[]).await.success()[key].clone()
}

/// The last place that something was written to.
pub(crate) fn mark(app: &TestApp) -> EventId {
    app.realm().log_position()
}

/// Puts changes into the realm past the wire.
pub(crate) async fn put(app: &TestApp, changes: Vec<RealmChange>) {
    let commit = RealmCommit { decided_at: app.realm().changed_at(), at_s: NOW_S, changes, ..RealmCommit::default() };
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
}

/// A bot of Ada's.
pub(crate) async fn bot(app: &TestApp, name: &str) -> Person {
    let person = app.person(name, Role::Member).await;
    let user = User::clone(app.realm().user(UserId(person.id)).unwrap());
    let bot = Some(BotProperties { kind: BotKind::Generic, owner_id: Some(UserId(app.ada.id)) });
    put(app, vec![RealmChange::User(Box::new(User { bot, ..user }))]).await;
    person
}

/// Closes an account past the wire.
pub(crate) async fn close(app: &TestApp, person: &Person) {
    let user = User::clone(app.realm().user(UserId(person.id)).unwrap());
    put(app, vec![RealmChange::User(Box::new(User { is_active: false, ..user }))]).await;
}

//! What people choose for themselves: status, mutes, topics, words they watch for.

mod alerting;
mod following;
mod muting;
mod status;
mod topics;

use chat_core::id::{EventId, UserId};
use chat_core::log::commit::{CommitOutcome, RealmCommit};
use chat_core::log::store::RealmStore as _;
use chat_core::model::change::RealmChange;
use chat_core::model::role::Role;
use chat_core::model::user::{Bot, BotKind, User};
use serde_json::Value;

use crate::town::{NOW_S, Person, Town};

/// A queue, and who listens.
pub(crate) struct Ear {
    who: Person,
    queue: String,
    last: String,
}

/// Listens to events of these types, a list in JSON; `null` for all.
pub(crate) async fn listen(town: &Town, who: &Person, types: &str, parameters: &[(&str, &str)]) -> Ear {
    let mut all = vec![("event_types", types), ("fetch_event_types", "[]")];
    all.extend(parameters);
    let told = town.call(who, "POST /register", &all).await.success();
    let queue = told["queue_id"].as_str().unwrap().to_owned();
    Ear { who: who.clone(), queue, last: told["last_event_id"].to_string() }
}

/// What was told since the ear began to listen, without the numbers.
pub(crate) async fn heard(town: &Town, ear: &Ear) -> Vec<Value> {
    let parameters = [("queue_id", ear.queue.as_str()), ("last_event_id", &ear.last), ("dont_block", "true")];
    let mut told = town.call(&ear.who, "GET /events", &parameters).await.success();
    let events = told["events"].as_array_mut().unwrap();
    for event in events.iter_mut() {
        event.as_object_mut().unwrap().remove("id").unwrap();
    }
    std::mem::take(events)
}

/// One key of the state a client begins with.
pub(crate) async fn state(town: &Town, who: &Person, key: &str) -> Value {
    town.call(who, "POST /register", &[]).await.success()[key].clone()
}

/// The last place that something was written to.
pub(crate) fn mark(town: &Town) -> EventId {
    town.realm().at()
}

/// Puts changes into the realm past the wire.
pub(crate) async fn put(town: &Town, changes: Vec<RealmChange>) {
    let commit = RealmCommit { decided_at: town.realm().changed(), at_s: NOW_S, changes, ..RealmCommit::default() };
    assert!(matches!(town.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
}

/// A bot of Ada's.
pub(crate) async fn bot(town: &Town, name: &str) -> Person {
    let person = town.person(name, Role::Member).await;
    let user = User::clone(town.realm().user(UserId(person.id)).unwrap());
    let bot = Some(Bot { kind: BotKind::Generic, owner_id: Some(UserId(town.ada.id)) });
    put(town, vec![RealmChange::User(Box::new(User { bot, ..user }))]).await;
    person
}

/// Closes an account past the wire.
pub(crate) async fn close(town: &Town, person: &Person) {
    let user = User::clone(town.realm().user(UserId(person.id)).unwrap());
    put(town, vec![RealmChange::User(Box::new(User { is_active: false, ..user }))]).await;
}

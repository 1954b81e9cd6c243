//! What an organization adds to its texts: linkifiers, playgrounds, custom emoji; and its pictures and those
//! of its users.

mod avatars;
mod emoji;
mod images;
mod linkifiers;
mod playgrounds;

use chat_core::model::role::Role;
use serde_json::Value;

use crate::test_app::{Person, TestApp};

/// What an organization administrator only may.
const ADMINISTRATOR: &str = "Must be an organization administrator";

/// One person of each role but the owner's: administrator, moderator, member, guest.
async fn people(app: &TestApp) -> [Person; 4] {
    [
        app.person("amy", Role::Administrator).await,
        app.person("max", Role::Moderator).await,
        app.person("sam", Role::Member).await,
        app.person("gus", Role::Guest).await,
    ]
}

/// Someone's queue.
struct TestQueue {
    who: Person,
    queue: String,
    last: String,
}

/// Listens to these types of events.
async fn listen(app: &TestApp, who: &Person, (types, capabilities): (&str, &str)) -> TestQueue {
    let parameters = [("event_types", types), ("client_capabilities", capabilities)];
    let response = app.call(who, "POST /register", &parameters).await.success();
    TestQueue {
        who: who.clone(),
        queue: response["queue_id"].as_str().unwrap().to_owned(),
        last: response["last_event_id"].to_string(),
    }
}

/// All that was told since the ear began to listen, without the numbers.
async fn heard(app: &TestApp, test_queue: &TestQueue) -> Vec<Value> {
    let parameters =
        [("queue_id", test_queue.queue.as_str()), ("last_event_id", &test_queue.last), ("dont_block", "true")];
    let mut response = app.call(&test_queue.who, "GET /events", &parameters).await.success();
    let events = response["events"].as_array_mut().unwrap();
    for event in events.iter_mut() {
        event.as_object_mut().unwrap().remove("id").unwrap();
    }
    std::mem::take(events)
}

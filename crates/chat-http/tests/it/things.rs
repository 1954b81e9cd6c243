//! What an organization adds to its texts: linkifiers, playgrounds, custom emoji; and its pictures and those
//! of its users.

mod avatars;
mod emblems;
mod emoji;
mod linkifiers;
mod playgrounds;

use chat_core::model::role::Role;
use serde_json::Value;

use crate::town::{Person, Town};

/// What an organization administrator only may.
const ADMINISTRATOR: &str = "Must be an organization administrator";

/// One person of each role but the owner's: administrator, moderator, member, guest.
async fn people(town: &Town) -> [Person; 4] {
    [
        town.person("amy", Role::Administrator).await,
        town.person("max", Role::Moderator).await,
        town.person("sam", Role::Member).await,
        town.person("gus", Role::Guest).await,
    ]
}

/// Someone's queue.
struct Ear {
    who: Person,
    queue: String,
    last: String,
}

/// Listens to these types of events.
async fn listen(town: &Town, who: &Person, (types, capabilities): (&str, &str)) -> Ear {
    let parameters = [("event_types", types), ("client_capabilities", capabilities)];
    let told = town.call(who, "POST /register", &parameters).await.success();
    Ear {
        who: who.clone(),
        queue: told["queue_id"].as_str().unwrap().to_owned(),
        last: told["last_event_id"].to_string(),
    }
}

/// All that was told since the ear began to listen, without the numbers.
async fn heard(town: &Town, ear: &Ear) -> Vec<Value> {
    let parameters = [("queue_id", ear.queue.as_str()), ("last_event_id", &ear.last), ("dont_block", "true")];
    let mut told = town.call(&ear.who, "GET /events", &parameters).await.success();
    let events = told["events"].as_array_mut().unwrap();
    for event in events.iter_mut() {
        event.as_object_mut().unwrap().remove("id").unwrap();
    }
    std::mem::take(events)
}

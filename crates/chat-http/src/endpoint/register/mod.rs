//! `/register`.
//!
//! A queue begins at a place of the log, and its client with the state at that place: one snapshot of the realm,
//! and of the messages those that are not newer. So an event is told either by the state or by the queue, and none
//! is lost between the two.

mod initial;
mod told;
mod wish;

use chat_core::log::event::{QueueFilter, QueueNarrowTerm};
use chat_core::log::store::EventQueue;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::endpoint::server_settings;
use crate::error::Fault;
use crate::routes::{self, Routes};
use crate::state::Site;
use initial::Newcomer;
use wish::Wish;

/// The longest time, in seconds, that a queue may ask to be kept without its client.
const LIFESPAN_MAX_S: i64 = 604_800;
/// The shortest: a client that comes back from a poll needs a moment.
const LIFESPAN_MIN_S: i64 = 90;

/// Returns the path of registration.
pub(crate) fn routes() -> Routes {
    let register = endpoint(post).says("Make an event queue, and tell the state it begins with.", told::all);
    Routes::of("events").api("/register", routes::post(register))
}

/// Makes a queue, and tells the state it begins with.
///
/// # Source
/// Not specified beyond its purpose; parameters and keys are those existing clients know.
pub(crate) async fn post(call: Call<Caller>, wish: Wish) -> Result<Answer, Fault> {
    let app = call.app;
    let filter = filter(&call.who, &wish)?;
    // One snapshot for everything: the queue begins where it ends.
    let realm = app.realm();
    let queue = EventQueue {
        id: fresh_name(&app),
        user_id: call.who.id(),
        filter,
        begins_after: realm.at(),
        seen_s: app.now_s(),
        idle_limit_s: idle_limit_s(&app, wish.lifespan_s),
    };
    let user = realm.user(queue.user_id).unwrap_or(&call.who.user);
    let (filter, now_s, fetched) = (&queue.filter, queue.seen_s, wish.fetched());
    let newcomer = Newcomer { app: &app, realm: &realm, user, filter, now_s, fetched };
    let mut state = newcomer.state().await?;
    state.put("queue_id", json!(queue.id));
    state.put("last_event_id", json!(queue.begins_after));
    state.put("event_queue_longpoll_timeout_seconds", json!(initial::LONGPOLL_TIMEOUT_S));
    state.put_all(Value::Object(server_settings::version(&app.frame.version, &app.settings.brand)));
    app.queues.register(queue).await?;
    state.answer()
}

fn filter(caller: &Caller, wish: &Wish) -> Result<QueueFilter, Fault> {
    if wish.all_public_streams && caller.user.is_guest() {
        return Err(Fault::NotAuthorizedForQuery);
    }
    let narrow = wish.narrow.iter().map(|pair| QueueNarrowTerm::parse(&pair.operator, &pair.operand));
    Ok(QueueFilter {
        event_types: wish.event_types.clone(),
        all_public: wish.all_public_streams,
        narrow: narrow.collect::<Result<_, _>>()?,
        apply_markdown: wish.apply_markdown,
        client_gravatar: wish.client_gravatar,
        capabilities: wish.capabilities(),
    })
}

/// A name that cannot be guessed: a UUID of version 4.
fn fresh_name(app: &Site) -> String {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(app.frame.outside.random()).for_each(|(byte, random)| *byte = random);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// The log is kept as long as the server keeps queues, so no queue may live longer.
fn idle_limit_s(app: &Site, asked_s: i64) -> i64 {
    let usual_s = app.settings.event_queue_timeout_s;
    if asked_s <= 0 { usual_s } else { asked_s.clamp(LIFESPAN_MIN_S, LIFESPAN_MAX_S).min(usual_s) }
}

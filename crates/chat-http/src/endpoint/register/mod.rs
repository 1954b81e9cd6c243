//! `/register`.
//!
//! A queue begins at a place of the log, and its client with the state at that place: one snapshot of the realm,
//! and of the messages those that are not newer. So an event is either in the state or in the queue, and none
//! is lost between the two.

mod initial;
mod params;
mod response_schema;

use chat_core::event_log::event::{QueueFilter, QueueNarrowTerm};
use chat_core::event_log::store::EventQueue;
use serde_json::{Value, json};

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::endpoint::server_settings;
use crate::error::ApiError;
use crate::routes::{self, Routes};
use crate::state::AppState;
use initial::InitialStateRequest;
use params::RegisterParams;

/// The longest time, in seconds, that a queue may ask to be kept without its client.
const LIFESPAN_MAX_S: i64 = 604_800;
/// The shortest: a client that comes back from a poll needs a moment.
const LIFESPAN_MIN_S: i64 = 90;

/// Returns the path of registration.
pub(crate) fn routes() -> Routes {
    let register =
        endpoint(post).documented("Make an event queue, and tell the state it begins with.", response_schema::all);
    Routes::of("events").api("/register", routes::post(register))
}

/// Makes a queue, and returns the state it begins with.
///
/// # Source
/// Not specified beyond its purpose; parameters and keys are those existing clients know.
pub(crate) async fn post(
    call: ApiCall<AuthenticatedCaller>,
    params: RegisterParams,
) -> Result<ApiResponsePayload, ApiError> {
    let filter = filter(&call, &params)?;
    let app = call.app;
    // One snapshot for everything: the queue begins where it ends.
    let realm = app.realm();
    let queue = EventQueue {
        id: fresh_name(&app),
        user_id: call.caller.user_id(),
        filter,
        begins_after: realm.log_position(),
        seen_s: app.now_s(),
        idle_limit_s: idle_limit_s(&app, params.lifespan_s),
    };
    let user = realm.user(queue.user_id).unwrap_or(&call.caller.user);
    let (filter, now_s, fetched) = (&queue.filter, queue.seen_s, params.fetched());
    let presence_history_limit_days = params.presence_history_limit_days;
    let state_request =
        InitialStateRequest { app: &app, realm: &realm, user, filter, now_s, fetched, presence_history_limit_days };
    let mut state = state_request.state().await?;
    state.put("queue_id", json!(queue.id));
    state.put("last_event_id", json!(queue.begins_after));
    state.put("event_queue_longpoll_timeout_seconds", json!(initial::LONGPOLL_TIMEOUT_S));
    state.put_all(Value::Object(server_settings::version(&app.server.version, &app.settings.brand)));
    app.queues.register_queue(queue).await?;
    state.answer()
}

fn filter(call: &ApiCall<AuthenticatedCaller>, params: &RegisterParams) -> Result<QueueFilter, ApiError> {
    if params.all_public_streams && call.caller.user.is_guest() {
        return Err(ApiError::NotAuthorizedForQuery);
    }
    let narrow = params.narrow.iter().map(|pair| QueueNarrowTerm::parse(&pair.operator, &pair.operand));
    Ok(QueueFilter {
        event_types: params.event_types.clone(),
        all_public: params.all_public_streams,
        narrow: narrow.collect::<Result<_, _>>()?,
        apply_markdown: params.apply_markdown,
        client_gravatar: params.client_gravatar,
        capabilities: params.capabilities(&call.user_agent()),
    })
}

/// A name that cannot be guessed: a UUID of version 4.
fn fresh_name(app: &AppState) -> String {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(app.server.runtime.random_bytes()).for_each(|(byte, random)| *byte = random);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// The log is kept as long as the server keeps queues, so no queue may live longer.
fn idle_limit_s(app: &AppState, asked_s: i64) -> i64 {
    let usual_s = app.settings.event_queue_timeout_s;
    if asked_s <= 0 { usual_s } else { asked_s.clamp(LIFESPAN_MIN_S, LIFESPAN_MAX_S).min(usual_s) }
}

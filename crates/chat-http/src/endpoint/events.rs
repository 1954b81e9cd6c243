//! `/events`.

mod repoll;

use std::fmt::Write as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use chat_core::event_log::event::{EventReceiver, LogRecord};
use chat_core::event_log::store::{EventQueue, LogWaiter};
use chat_core::id::{EventId, MessageId, UserId};
use chat_core::model::message::MessageFlag;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::User;
use tokio::time::{Instant, sleep, sleep_until};

use self::repoll::OfferedRepoll;
use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::{AuthenticatedCaller, CallerSecretHash, holder};
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::long_wait::LongPollSignal;
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, TextParam};
use crate::polls::{PollEnd, PollSlot};
use crate::routes::{self, Routes, no_members};
use crate::state::{App, AppState};

/// A poll without events is answered after this time at the least.
const HEARTBEAT_AFTER: Duration = Duration::from_secs(45);
/// And after so many milliseconds more at most, so that clients that came together do not come back together.
const HEARTBEAT_SPREAD_MS: u128 = 10_000;
/// Records looked at in one go.
const LOOK_AT: usize = 500;
/// An answer that has grown to so many bytes is sent; the rest is for the next poll.
const ANSWER_BYTES: usize = 1024 * 1024;
/// Room that is made for an answer at first: what a short message takes.
const EVENT_BYTES: usize = 1536;
/// How long a poll waits for this node to hear of an event that its client got from another node.
const CATCH_UP_WITHIN: Duration = Duration::from_secs(2);
/// How often it looks whether the node has.
const CATCH_UP_EVERY: Duration = Duration::from_millis(20);
/// After this time a poll that waits makes sure that no other node has deleted its queue in the meantime.
const CONFIRM_AFTER: Duration = Duration::from_secs(3);

/// Returns the paths of event queues.
pub(crate) fn routes() -> Routes {
    let queue = routes::get(endpoint(get).documented("Wait for events of a queue, and tell them.", response_schema))
        .delete(endpoint(delete).documented("End a queue.", no_members));
    Routes::of("events").api("/events", queue)
}

/// The parameter that differs between a client's polls.
const LAST_EVENT_ID: &str = "last_event_id";

/// The parameters of `GET /events`.
pub(crate) struct PollParams {
    queue_id: String,
    last_event_id: EventId,
    dont_block: bool,
}

impl EndpointParams for PollParams {
    const MAY_LONG_POLL: bool = true;

    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            queue_id: reader.required::<TextParam>("queue_id")?,
            last_event_id: EventId(reader.required::<JsonParam<i64>>(LAST_EVENT_ID)?),
            dont_block: reader.optional_or::<JsonParam<bool>>("dont_block", false)?,
        })
    }
}

/// Returns the events after the one that the client has, as soon as there are any.
///
/// The queue remembers nothing of what was sent: a client that asks again with an older number gets the same again,
/// so an answer that was lost on its way costs no event.
///
/// # Source
/// Specification, "Events"; the rest as existing clients know it. A heartbeat has the number of the last event that
/// was looked at, so that the client skips with it what its queue does not want. Numbers of the events of one
/// organization go on across queues; clients that begin with -1, as documented examples do because every queue of the
/// original server counts again, get what their queue has.
pub(crate) async fn get(call: ApiCall<AuthenticatedCaller>, poll: PollParams) -> Result<ApiResponsePayload, ApiError> {
    // What a poll that waits for a minute does not need is let go first: the head, and the buffer it was read into.
    let (app, caller, wait) = poll_parts(call, &poll);
    answer(&app, caller, poll, &wait).await
}

/// Returns the members of the response.
fn response_schema() -> Vec<SchemaMember> {
    vec![
        required_schema_member("queue_id", JsonSchema::string()),
        required_schema_member("events", JsonSchema::list(JsonSchema::reference_to("Event"))),
    ]
}

/// Returns what of a call a poll keeps.
fn poll_parts(call: ApiCall<AuthenticatedCaller>, poll: &PollParams) -> (App, PollCaller, LongPollSignal) {
    let ApiCall { app, caller, wait, is_plain, .. } = call;
    let caller = PollCaller { user_id: caller.user.id, secret: caller.secret };
    if is_plain && !poll.dont_block {
        wait.offer_repoll(|| OfferedRepoll::offered(&app, caller, &poll.queue_id));
    }
    (app, caller, wait)
}

/// The caller, and the secret it was let in with: once that is replaced, a poll opened with it gets no more events.
#[derive(Clone, Copy)]
struct PollCaller {
    user_id: UserId,
    secret: CallerSecretHash,
}

async fn answer(
    app: &App,
    PollCaller { user_id, secret }: PollCaller,
    poll: PollParams,
    long_wait: &LongPollSignal,
) -> Result<ApiResponsePayload, ApiError> {
    let PollParams { queue_id, last_event_id, dont_block } = poll;
    let queue = owned(app, queue_id, user_id).await?;
    let mut slot = app.polls.begin(&queue.id);
    catch_up(app, last_event_id).await?;
    app.queues.note_client_seen(&queue, app.now_s());
    let mut batch = EventBatch::after(last_event_id.max(queue.begins_after), &queue.id, secret);
    let begun = Instant::now();
    let (mut until, mut confirmed) = (begun + CONFIRM_AFTER, false);
    while batch.collect(app, &queue).await? && !dont_block {
        let from = (batch.at, batch.typing_seen);
        long_wait.report_waiting();
        match wait(app, &queue, from, (&mut slot, until)).await {
            WakeReason::Notified => {}
            WakeReason::Ended(PollEnd::Superseded) => break,
            WakeReason::Ended(PollEnd::Stopping) => {
                batch.push_heartbeat();
                break;
            }
            WakeReason::Ended(PollEnd::Deleted) => return Err(ApiError::NoQueue { queue_id: queue.id.clone() }),
            WakeReason::TimedOut if confirmed => {
                batch.push_heartbeat();
                break;
            }
            WakeReason::TimedOut => {
                (until, confirmed) = (begun + heartbeat_after(app), true);
                owned(app, queue.id.clone(), user_id).await?;
            }
        }
    }
    Ok(batch.answer())
}

/// Ends a queue whose events were pruned before its client got them: it cannot go on without a hole.
///
/// # Source
/// The code is the one at which clients register again. The existing server has another one for numbers that its
/// client has confirmed before; a queue here is not pruned by what its client says.
async fn lost(app: &AppState, queue: &EventQueue) -> Result<ApiError, ApiError> {
    app.queues.delete_queue(&queue.id, queue.user_id).await?;
    Ok(ApiError::NoQueue { queue_id: queue.id.clone() })
}

/// Returns the caller's queue of that name.
async fn owned(app: &AppState, queue_id: String, user_id: UserId) -> Result<Arc<EventQueue>, ApiError> {
    let found = app.queues.find_queue(&queue_id).await?;
    found.filter(|queue| queue.user_id == user_id).ok_or(ApiError::NoQueue { queue_id })
}

fn heartbeat_after(app: &AppState) -> Duration {
    let more_ms = u64::try_from(app.server.runtime.random_id() % HEARTBEAT_SPREAD_MS).unwrap_or(0);
    HEARTBEAT_AFTER + Duration::from_millis(more_ms)
}

/// Waits until this node knows of the event that the client has, if another node sent it.
async fn catch_up(app: &AppState, last: EventId) -> Result<(), ApiError> {
    let give_up = Instant::now() + CATCH_UP_WITHIN;
    while app.log.last_event_id() < last {
        if Instant::now() >= give_up {
            return Err(ApiError::NotInQueue { event_id: last });
        }
        sleep(CATCH_UP_EVERY).await;
    }
    Ok(())
}

/// The reason why waiting is over.
enum WakeReason {
    /// There is an event that may concern the queue.
    Notified,
    /// The poll is to end.
    Ended(PollEnd),
    /// The time has come.
    TimedOut,
}

async fn wait(
    app: &AppState,
    queue: &EventQueue,
    (at, typing_seen): (EventId, u64),
    (slot, until): (&mut PollSlot<'_>, Instant),
) -> WakeReason {
    let listener =
        LogWaiter { user_id: queue.user_id, receives_public: queue.filter.receives_all_public_channels(), typing_seen };
    let time = pin!(sleep_until(until));
    tokio::select! {
        biased;
        ended = slot.ended() => WakeReason::Ended(ended),
        () = app.log.wait_for_record(listener, at) => WakeReason::Notified,
        () = time => WakeReason::TimedOut,
    }
}

/// The events of one response, as they are collected.
struct EventBatch {
    /// The last record that was looked at.
    at: EventId,
    /// The number of the last typing event that was looked at.
    typing_seen: u64,
    /// `{"queue_id":"…","events":[` and the events; nothing while there is none.
    text: String,
    queue_id: String,
    /// What the poll was opened with.
    secret: CallerSecretHash,
}

impl EventBatch {
    fn after(at: EventId, queue_id: &str, secret: CallerSecretHash) -> Self {
        Self { at, typing_seen: 0, text: String::new(), queue_id: queue_id.to_owned(), secret }
    }

    /// Takes in what the queue wants of what was not looked at yet. Says whether there is still nothing to answer.
    async fn collect(&mut self, app: &AppState, queue: &EventQueue) -> Result<bool, ApiError> {
        self.collect_logged(app, queue).await?;
        if self.text.len() < ANSWER_BYTES {
            self.collect_typing(app, queue)?;
        }
        Ok(self.text.is_empty())
    }

    async fn collect_logged(&mut self, app: &AppState, queue: &EventQueue) -> Result<(), ApiError> {
        loop {
            let Ok(records) = app.log.records_after(self.at, LOOK_AT).await? else {
                return Err(lost(app, queue).await?);
            };
            let full = records.len() == LOOK_AT;
            let Some(last) = records.last().map(|record| record.id) else { return Ok(()) };
            self.take(app, queue, &records).await?;
            if self.text.len() >= ANSWER_BYTES {
                return Ok(());
            }
            self.at = last;
            if !full {
                return Ok(());
            }
        }
    }

    /// Writes who is typing. These events have no place in the log; they come after all that was looked at and have,
    /// like a heartbeat, the number of the last of it.
    fn collect_typing(&mut self, app: &AppState, queue: &EventQueue) -> Result<(), ApiError> {
        let typing = app.typing.take_typing_for_queue(&queue.id);
        self.typing_seen = typing.until;
        if typing.events.is_empty() {
            return Ok(());
        }
        let realm = app.realm();
        let user = self.owner(&realm, queue)?;
        for record in typing.events.iter().filter(|record| queue.filter.accepts_event(record, user, &realm)) {
            self.open();
            record.write_unlogged_event_json(self.at, &mut self.text);
        }
        Ok(())
    }

    /// Returns the queue's owner, if they may still hear.
    fn owner<'a>(&self, realm: &'a RealmSnapshot, queue: &EventQueue) -> Result<&'a User, ApiError> {
        let user = realm.user(queue.user_id).filter(|user| user.is_active);
        let user = user.ok_or_else(|| ApiError::NoQueue { queue_id: queue.id.clone() })?;
        Ok(holder(realm, user.id, self.secret)?)
    }

    /// Writes those records that the queue wants, up to the size of an answer.
    async fn take(&mut self, app: &AppState, queue: &EventQueue, records: &[Arc<LogRecord>]) -> Result<(), ApiError> {
        // Read after the records, so it holds what they changed.
        let realm = app.realm();
        let user = self.owner(&realm, queue)?;
        let reader = EventReceiver { user, queue_id: &queue.id, filter: &queue.filter, realm: &realm };
        for record in records {
            if self.text.len() >= ANSWER_BYTES {
                return Ok(());
            }
            self.at = record.id;
            if queue.filter.accepts_event(record, user, &realm) {
                let flags = match record.message_needing_flags() {
                    None => Vec::new(),
                    Some(message) => Box::pin(flags_of(app, user.id, message)).await?,
                };
                self.open();
                record.write_event_json(&reader, &flags, &mut self.text);
            }
        }
        Ok(())
    }

    /// A sign of life.
    fn push_heartbeat(&mut self) {
        self.open();
        // Writing to a string does not fail.
        let _ = write!(self.text, r#"{{"id":{},"type":"heartbeat"}}"#, self.at);
    }

    /// Makes room for one more event.
    fn open(&mut self) {
        if self.text.is_empty() {
            self.begin();
        } else {
            self.text.push(',');
        }
    }

    fn begin(&mut self) {
        self.text.reserve(EVENT_BYTES);
        // Queues are found by their names, which are letters, digits and hyphens.
        let _ = write!(self.text, r#"{{"queue_id":"{}","events":["#, self.queue_id);
    }

    fn answer(mut self) -> ApiResponsePayload {
        if self.text.is_empty() {
            self.begin();
        }
        self.text.push_str("]}");
        ApiResponsePayload::from_serialized_object(self.text.as_bytes())
    }
}

/// Returns the receiver's flags of a message, by now. One that is gone has none.
async fn flags_of(app: &AppState, user_id: UserId, message: MessageId) -> Result<Vec<MessageFlag>, ApiError> {
    let found = app.messages.find_messages(user_id, &[message]).await?;
    Ok(found.into_iter().next().map(|(_, flags)| flags).unwrap_or_default())
}

/// The parameters of `DELETE /events`.
pub(crate) struct QueueParams {
    queue_id: String,
}

impl EndpointParams for QueueParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { queue_id: reader.required::<TextParam>("queue_id")? })
    }
}

/// Ends a queue.
///
/// # Source
/// Specification, `DELETE /events`.
pub(crate) async fn delete(
    call: ApiCall<AuthenticatedCaller>,
    named: QueueParams,
) -> Result<ApiResponsePayload, ApiError> {
    let QueueParams { queue_id } = named;
    if !call.app.queues.delete_queue(&queue_id, call.caller.user_id()).await? {
        return Err(ApiError::NoQueue { queue_id });
    }
    call.app.polls.end(&queue_id);
    Ok(ApiResponsePayload::empty())
}

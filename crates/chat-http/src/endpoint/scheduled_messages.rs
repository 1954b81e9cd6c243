//! `/scheduled_messages` and `/scheduled_messages/{scheduled_message_id}`.

use chat_core::id::{EventId, ScheduledId};
use chat_core::messages::scheduled::change::{self, ScheduledTarget};
use chat_core::messages::scheduled::{
    ScheduledDestination, ScheduledError, ScheduledMessage, ScheduledMessageUpdate, ScheduledRecipient, ScheduledType,
    in_future,
};
use chat_core::messages::send::shows_what_it_sends;
use chat_core::permission::send::SendError;
use serde_json::{Value, json};

use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{
    Json, ParamError, ParamReader, Params, RawRecipients, RecipientsParam, TextParamWithNul, TrimmedText, WordEnum,
    WordParam,
};
use crate::response::ApiResponse;
use crate::routes::{Routes, get, no_members, patch};
use crate::schema::{Member, Schema, has};

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).documented("List the caller's scheduled messages.", listed))
        .post(endpoint(create).documented("Schedule a message.", scheduled));
    let one = patch(endpoint(edit).documented("Change a scheduled message.", no_members))
        .delete(endpoint(remove).documented("Give a scheduled message up.", no_members));
    Routes::of("scheduled messages")
        .api("/scheduled_messages", all)
        .api("/scheduled_messages/{scheduled_message_id}", one)
}

impl WordEnum for ScheduledType {
    const WORDS: &'static [(&'static str, Self)] =
        &[("direct", Self::Direct), ("private", Self::Direct), ("stream", Self::Channel), ("channel", Self::Channel)];
}

/// Returns the caller's messages that wait, and those that failed.
async fn list(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let scheduled = call.app.scheduled.scheduled_of(call.caller.id()).await?;
    ApiResponse::from_payload(
        &json!({"scheduled_messages": scheduled.iter().map(ScheduledMessage::object).collect::<Value>()}),
    )
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("scheduled_messages", Schema::list(Schema::named("ScheduledMessage")))]
}

/// The parameters of `POST /scheduled_messages`.
struct ScheduleParams {
    kind: ScheduledType,
    to: RawRecipients,
    topic: Option<String>,
    content: String,
    due_s: i64,
    read_by_sender: Option<bool>,
}

impl Params for ScheduleParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            kind: reader.required::<WordParam<ScheduledType>>("type")?,
            to: reader.required::<RecipientsParam>("to")?,
            topic: reader.optional_either::<TrimmedText>(["topic", "subject"])?,
            content: reader.required::<TextParamWithNul>("content")?,
            due_s: reader.required::<Json<i64>>("scheduled_delivery_timestamp")?,
            read_by_sender: reader.optional::<Json<bool>>("read_by_sender")?,
        })
    }
}

/// Schedules a message.
///
/// # Source
/// The specification names scheduled messages and describes editing them alone; this is what existing clients know.
async fn create(call: ApiCall<Caller>, later: ScheduleParams) -> Result<ApiResponse, ApiError> {
    let due_s = in_future(later.due_s, call.app.now_s())?;
    let client = call.client();
    let to = match receiver(later.kind, &later.to)? {
        ScheduledRecipient::Channel(id) => ScheduledDestination::Channel(id, later.topic.ok_or(SendError::NoTopic)?),
        ScheduledRecipient::Direct(users) => ScheduledDestination::Direct(users),
    };
    let message = ScheduledMessage {
        id: ScheduledId(0),
        user_id: call.caller.id(),
        to,
        content: later.content,
        html: String::new(),
        read_by_sender: later.read_by_sender.unwrap_or_else(|| shows_what_it_sends(&client)),
        client,
        due_s,
        failure: None,
        revision: EventId::NONE,
    };
    let id = change::schedule(&call.app.message_ports(), call.app.scheduled.as_ref(), message).await?;
    ApiResponse::from_payload(&json!({"scheduled_message_id": id}))
}

/// Returns the members of the response.
fn scheduled() -> Vec<Member> {
    vec![has("scheduled_message_id", Schema::integer())]
}

fn receiver(kind: ScheduledType, to: &RawRecipients) -> Result<ScheduledRecipient, ApiError> {
    let read = match kind {
        ScheduledType::Channel => to.channel_id().map(ScheduledRecipient::Channel),
        ScheduledType::Direct => to.user_ids().map(ScheduledRecipient::Direct),
    };
    read.map_err(|error| ApiError::Parameter(ParamError::Recipients(error)))
}

/// The parameters of `PATCH /scheduled_messages/{scheduled_message_id}`.
struct UpdateScheduledParams(ScheduledMessageUpdate<RawRecipients>);

impl Params for UpdateScheduledParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self(ScheduledMessageUpdate {
            kind: reader.optional::<WordParam<ScheduledType>>("type")?,
            to: reader.optional::<RecipientsParam>("to")?,
            content: reader.optional::<TextParamWithNul>("content")?,
            topic: reader.optional_either::<TrimmedText>(["topic", "subject"])?,
            due_s: reader.optional::<Json<i64>>("scheduled_delivery_timestamp")?,
        }))
    }
}

/// Changes a message that waits, or that failed.
///
/// # Source
/// Specification, `PATCH /scheduled_messages/{scheduled_message_id}`.
async fn edit(
    call: ApiCall<Caller>,
    UpdateScheduledParams(update): UpdateScheduledParams,
) -> Result<ApiResponse, ApiError> {
    let id = ScheduledId(call.path_id("scheduled_message_id")?);
    let client = call.client();
    let target = ScheduledTarget { user_id: call.caller.id(), id, client: &client };
    let (ports, scheduled) = (call.app.message_ports(), call.app.scheduled.as_ref());
    change::reschedule(&ports, scheduled, target, &update, receiver).await?;
    Ok(ApiResponse::empty())
}

/// Gives a message up.
async fn remove(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let id = ScheduledId(call.path_id("scheduled_message_id")?);
    if !call.app.scheduled.unschedule(call.caller.id(), id, call.app.now_s()).await? {
        return Err(ScheduledError::NoneSuch.into());
    }
    Ok(ApiResponse::empty())
}

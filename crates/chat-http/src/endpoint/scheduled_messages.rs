//! `/scheduled_messages` and `/scheduled_messages/{scheduled_message_id}`.

use chat_core::id::{EventId, ScheduledMessageId};
use chat_core::messages::scheduled::scheduling::{self, ScheduledMessageTarget};
use chat_core::messages::scheduled::{
    ScheduledDestination, ScheduledDestinationType, ScheduledMessage, ScheduledMessageError, ScheduledMessageUpdate,
    ScheduledRecipient, require_future_time,
};
use chat_core::messages::send::client_shows_sent_messages;
use chat_core::permission::send_message::SendError;
use serde_json::{Value, json};

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{
    EndpointParams, EnumWordParam, JsonParam, ParamError, ParamReader, RawRecipients, RawTextParamAllowingNul,
    RecipientsParam, TrimmedTextParam, WordEnum,
};
use crate::routes::{Routes, get, no_members, patch};

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).documented("List the caller's scheduled messages.", listed))
        .post(endpoint(create).documented("Schedule a message.", scheduled));
    let one = patch(endpoint(edit).documented("Change a scheduled message.", no_members))
        .delete(endpoint(remove).documented("Give a scheduled message up.", no_members));
    Routes::of("scheduled messages")
        .api("/scheduled_messages", all)
        .api("/scheduled_messages/{scheduled_message_id}", one)
}

impl WordEnum for ScheduledDestinationType {
    const WORDS: &'static [(&'static str, Self)] =
        &[("direct", Self::Direct), ("private", Self::Direct), ("stream", Self::Channel), ("channel", Self::Channel)];
}

/// Returns the caller's messages that wait, and those that failed.
async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let scheduled = call.app.scheduled.scheduled_messages_of_user(call.caller.user_id()).await?;
    ApiResponsePayload::from_payload(
        &json!({"scheduled_messages": scheduled.iter().map(ScheduledMessage::to_wire_object).collect::<Value>()}),
    )
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    vec![required_schema_member("scheduled_messages", JsonSchema::list(JsonSchema::reference_to("ScheduledMessage")))]
}

/// The parameters of `POST /scheduled_messages`.
struct ScheduleParams {
    kind: ScheduledDestinationType,
    to: RawRecipients,
    topic: Option<String>,
    content: String,
    due_s: i64,
    read_by_sender: Option<bool>,
}

impl EndpointParams for ScheduleParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            kind: reader.required::<EnumWordParam<ScheduledDestinationType>>("type")?,
            to: reader.required::<RecipientsParam>("to")?,
            topic: reader.optional_with_alias::<TrimmedTextParam>(["topic", "subject"])?,
            content: reader.required::<RawTextParamAllowingNul>("content")?,
            due_s: reader.required::<JsonParam<i64>>("scheduled_delivery_timestamp")?,
            read_by_sender: reader.optional::<JsonParam<bool>>("read_by_sender")?,
        })
    }
}

/// Schedules a message.
///
/// # Source
/// The specification names scheduled messages and describes editing them alone; this is what existing clients know.
async fn create(call: ApiCall<AuthenticatedCaller>, later: ScheduleParams) -> Result<ApiResponsePayload, ApiError> {
    let due_s = require_future_time(later.due_s, call.app.now_s())?;
    let client = call.client_name();
    let to = match receiver(later.kind, &later.to)? {
        ScheduledRecipient::Channel(id) => ScheduledDestination::Channel(id, later.topic.ok_or(SendError::NoTopic)?),
        ScheduledRecipient::Direct(users) => ScheduledDestination::Direct(users),
    };
    let message = ScheduledMessage {
        id: ScheduledMessageId(0),
        user_id: call.caller.user_id(),
        to,
        content: later.content,
        html: String::new(),
        read_by_sender: later.read_by_sender.unwrap_or_else(|| client_shows_sent_messages(&client)),
        client,
        due_s,
        failure: None,
        revision: EventId::BEFORE_FIRST,
    };
    let id = scheduling::schedule_message(&call.app.message_ports(), call.app.scheduled.as_ref(), message).await?;
    ApiResponsePayload::from_payload(&json!({"scheduled_message_id": id}))
}

/// Returns the members of the response.
fn scheduled() -> Vec<SchemaMember> {
    vec![required_schema_member("scheduled_message_id", JsonSchema::integer())]
}

fn receiver(kind: ScheduledDestinationType, to: &RawRecipients) -> Result<ScheduledRecipient, ApiError> {
    let read = match kind {
        ScheduledDestinationType::Channel => to.parse_channel_id().map(ScheduledRecipient::Channel),
        ScheduledDestinationType::Direct => to.parse_user_ids().map(ScheduledRecipient::Direct),
    };
    read.map_err(|error| ApiError::Parameter(ParamError::Recipients(error)))
}

/// The parameters of `PATCH /scheduled_messages/{scheduled_message_id}`.
struct UpdateScheduledParams(ScheduledMessageUpdate<RawRecipients>);

impl EndpointParams for UpdateScheduledParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self(ScheduledMessageUpdate {
            kind: reader.optional::<EnumWordParam<ScheduledDestinationType>>("type")?,
            to: reader.optional::<RecipientsParam>("to")?,
            content: reader.optional::<RawTextParamAllowingNul>("content")?,
            topic: reader.optional_with_alias::<TrimmedTextParam>(["topic", "subject"])?,
            due_s: reader.optional::<JsonParam<i64>>("scheduled_delivery_timestamp")?,
        }))
    }
}

/// Changes a message that waits, or that failed.
///
/// # Source
/// Specification, `PATCH /scheduled_messages/{scheduled_message_id}`.
async fn edit(
    call: ApiCall<AuthenticatedCaller>,
    UpdateScheduledParams(update): UpdateScheduledParams,
) -> Result<ApiResponsePayload, ApiError> {
    let id = ScheduledMessageId(call.path_id("scheduled_message_id")?);
    let client = call.client_name();
    let target = ScheduledMessageTarget { user_id: call.caller.user_id(), id, client: &client };
    let (ports, scheduled) = (call.app.message_ports(), call.app.scheduled.as_ref());
    scheduling::update_scheduled_message(&ports, scheduled, target, &update, receiver).await?;
    Ok(ApiResponsePayload::empty())
}

/// Gives a message up.
async fn remove(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = ScheduledMessageId(call.path_id("scheduled_message_id")?);
    if !call.app.scheduled.delete_scheduled_message(call.caller.user_id(), id, call.app.now_s()).await? {
        return Err(ScheduledMessageError::NoneSuch.into());
    }
    Ok(ApiResponsePayload::empty())
}

//! `/reminders` and `/reminders/{reminder_id}`.

use chat_core::id::{MessageId, ReminderId};
use chat_core::messages::reminders::{self, Reminder, ReminderError, ReminderRequest};
use serde_json::{Value, json};

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, TextParam};
use crate::routes::{Routes, delete, get, no_members};

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).documented("List the caller's reminders.", listed))
        .post(endpoint(create).documented("Be reminded of a message.", created));
    let one = delete(endpoint(remove).documented("Delete a reminder.", no_members));
    Routes::of("reminders").api("/reminders", all).api("/reminders/{reminder_id}", one)
}

/// Returns the caller's reminders, the next one first.
async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let reminders = call.app.reminders.reminders_of_user(call.caller.user_id()).await?;
    let shown: Value = reminders.iter().map(Reminder::to_wire_object).collect();
    ApiResponsePayload::from_payload(&json!({"reminders": shown}))
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    vec![required_schema_member("reminders", JsonSchema::list(JsonSchema::reference_to("Reminder")))]
}

/// The parameters of `POST /reminders`.
struct CreateReminderParams {
    message_id: MessageId,
    due_s: i64,
    note: String,
}

impl EndpointParams for CreateReminderParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            message_id: MessageId(reader.required::<JsonParam<i64>>("message_id")?),
            due_s: reader.required::<JsonParam<i64>>("scheduled_delivery_timestamp")?,
            note: reader.optional_or::<TextParam>("note", String::new())?,
        })
    }
}

/// Stores a reminder.
async fn create(
    call: ApiCall<AuthenticatedCaller>,
    CreateReminderParams { message_id, due_s, note }: CreateReminderParams,
) -> Result<ApiResponsePayload, ApiError> {
    let request = ReminderRequest { message_id, due_s, note: &note };
    let (ports, store) = (call.app.message_ports(), call.app.reminders.as_ref());
    let id = reminders::create_reminder(&ports, store, &call.caller.user, request).await?;
    ApiResponsePayload::from_payload(&json!({"reminder_id": id}))
}

/// Returns the members of the response.
fn created() -> Vec<SchemaMember> {
    vec![required_schema_member("reminder_id", JsonSchema::integer())]
}

/// Deletes a reminder.
async fn remove(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = ReminderId(call.path_id("reminder_id")?);
    if !call.app.reminders.delete_reminder(call.caller.user_id(), id, call.app.now_s()).await? {
        return Err(ReminderError::NoneSuch.into());
    }
    Ok(ApiResponsePayload::empty())
}

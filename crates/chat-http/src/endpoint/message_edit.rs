//! `/messages/{message_id}` as it is changed: edited, moved, deleted; and what it was before.

use chat_core::files::AttachmentWithMessages;
use chat_core::id::{ChannelId, MessageId};
use chat_core::messages::delete;
use chat_core::messages::edit::{
    self, MessageEditRequest, PropagateMode, message_edit_history, require_visible_edit_history,
};
use chat_core::messages::notices::MoveNotices;
use chat_core::messages::readable_message::{self, ReadableMessage};
use chat_core::messages::reports::{self, MAX_REPORT_DESCRIPTION_CHARS, MessageReport, ReportReason};
use chat_core::permission::access::shows_read_receipt;
use chat_core::permission::authentication::AccountLookup;
use serde_json::json;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, optional_schema_member, required_schema_member};
use crate::params::{
    EndpointParams, EnumWordParam, JsonParam, MaxCharsParam, ParamError, ParamReader, RawTextParamAllowingNul,
    TextParam, TrimmedTextParam, WordEnum,
};
use crate::routes::{Routes, get, no_members, patch, post};

pub(crate) fn routes() -> Routes {
    let one =
        patch(endpoint(patch_message).documented("Edit a message, or move it and others with it.", edited_schema))
            .delete(endpoint(remove).documented("Delete a message.", no_members));
    let topic = endpoint(delete_topic)
        .documented("Delete a topic.", || vec![required_schema_member("complete", JsonSchema::boolean())]);
    Routes::of("messages")
        .api("/messages/{message_id}", one)
        .api(
            "/messages/{message_id}/history",
            get(endpoint(past).documented("Tell what a message was before.", history_schema)),
        )
        .api(
            "/messages/{message_id}/read_receipts",
            get(endpoint(receipts).documented("Tell who has read a message.", readers)),
        )
        .api(
            "/messages/{message_id}/report",
            post(endpoint(report).documented("Report a message to the moderators.", no_members)),
        )
        .api("/streams/{stream_id}/delete_topic", post(topic))
}

/// What is to change of a message.
pub(crate) struct EditParams {
    content: Option<String>,
    topic: Option<String>,
    channel_id: Option<i64>,
    propagate: Option<PropagateMode>,
    prev_content_sha256: Option<String>,
    notices: MoveNotices,
}

impl WordEnum for PropagateMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("change_one", Self::One), ("change_later", Self::Later), ("change_all", Self::All)];
}

impl EndpointParams for EditParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            content: reader.optional::<RawTextParamAllowingNul>("content")?,
            topic: reader.optional_with_alias::<TrimmedTextParam>(["topic", "subject"])?,
            channel_id: reader.optional::<JsonParam<i64>>("stream_id")?,
            propagate: reader.optional::<EnumWordParam<PropagateMode>>("propagate_mode")?,
            prev_content_sha256: reader.optional::<TextParam>("prev_content_sha256")?,
            notices: MoveNotices {
                in_old_topic: reader.optional_or::<JsonParam<bool>>("send_notification_to_old_thread", false)?,
                in_new_topic: reader.optional_or::<JsonParam<bool>>("send_notification_to_new_thread", true)?,
            },
        })
    }
}

/// Edits a message, or moves it and those that go with it.
pub(crate) async fn patch_message(
    call: ApiCall<AuthenticatedCaller>,
    params: EditParams,
) -> Result<ApiResponsePayload, ApiError> {
    let id = MessageId(call.path_id("message_id")?);
    let request = MessageEditRequest {
        content: params.content.as_deref(),
        topic: params.topic.as_deref(),
        channel_id: params.channel_id.map(ChannelId),
        propagate: params.propagate,
        prev_content_sha256: params.prev_content_sha256.as_deref(),
        notices: params.notices,
    };
    let detached = edit::edit_or_move_message(&call.app.message_ports(), &call.caller.user, id, request).await?;
    let unused = |attachment| AttachmentWithMessages { attachment, messages: Vec::new() }.to_wire_object();
    let detached: Vec<_> = detached.into_iter().map(unused).collect();
    ApiResponsePayload::from_payload(&json!({"detached_uploads": detached}))
}

/// Returns the members of the response.
fn edited_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("detached_uploads", JsonSchema::list(JsonSchema::reference_to("Attachment")))]
}

/// Deletes a message.
pub(crate) async fn remove(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = MessageId(call.path_id("message_id")?);
    delete::delete_message(&call.app.message_ports(), &call.caller.user, id).await?;
    Ok(ApiResponsePayload::empty())
}

/// Returns the message of the path, when the caller may read it.
async fn found(call: &ApiCall<AuthenticatedCaller>) -> Result<ReadableMessage, ApiError> {
    let id = MessageId(call.path_id("message_id")?);
    Ok(readable_message::find_readable_message(&call.app.message_ports(), &call.caller.user, id).await?)
}

/// Returns what a message was before.
pub(crate) async fn past(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    require_visible_edit_history(&call.app.realm())?;
    let found = found(&call).await?;
    let past = call.app.messages.edit_history(found.message.id).await?;
    let states = message_edit_history(&found.message, &past, found.realm.edit_history_visibility());
    ApiResponsePayload::from_payload(&json!({"message_history": states}))
}

/// Returns the members of the response.
fn history_schema() -> Vec<SchemaMember> {
    let state = JsonSchema::object([
        required_schema_member("topic", JsonSchema::string()),
        required_schema_member("content", JsonSchema::string()),
        required_schema_member("rendered_content", JsonSchema::string()),
        required_schema_member("timestamp", JsonSchema::integer()),
        required_schema_member("user_id", JsonSchema::integer().nullable()),
        optional_schema_member("prev_content", JsonSchema::string()),
        optional_schema_member("prev_rendered_content", JsonSchema::string()),
        optional_schema_member("content_html_diff", JsonSchema::string()),
        optional_schema_member("prev_topic", JsonSchema::string()),
        optional_schema_member("prev_stream", JsonSchema::integer()),
        optional_schema_member("stream", JsonSchema::integer()),
    ]);
    vec![required_schema_member("message_history", JsonSchema::list(state))]
}

/// Returns who has read a message.
pub(crate) async fn receipts(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let found = found(&call).await?;
    let readers = call.app.messages.message_readers(&found.message).await?;
    let shown: Vec<_> =
        readers.into_iter().filter(|reader| shows_read_receipt(&found.realm, &found.user, *reader)).collect();
    ApiResponsePayload::from_payload(&json!({"user_ids": shown}))
}

/// Returns the members of the response.
fn readers() -> Vec<SchemaMember> {
    vec![required_schema_member("user_ids", JsonSchema::list(JsonSchema::integer()))]
}

impl WordEnum for ReportReason {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("spam", Self::Spam),
        ("harassment", Self::Harassment),
        ("inappropriate", Self::Inappropriate),
        ("norms", Self::Norms),
        ("other", Self::Other),
    ];
}

/// The parameters of `POST /messages/{message_id}/report`.
pub(crate) struct ReportParams {
    reason: ReportReason,
    description: String,
}

impl EndpointParams for ReportParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        type Description = MaxCharsParam<TextParam, MAX_REPORT_DESCRIPTION_CHARS>;
        Ok(Self {
            reason: reader.required::<EnumWordParam<ReportReason>>("report_type")?,
            description: reader.optional_or::<Description>("description", String::new())?,
        })
    }
}

/// Reports a message to the moderators.
pub(crate) async fn report(
    call: ApiCall<AuthenticatedCaller>,
    ReportParams { reason, description }: ReportParams,
) -> Result<ApiResponsePayload, ApiError> {
    let id = MessageId(call.path_id("message_id")?);
    let report = MessageReport { reason, description: &description };
    reports::report_message(&call.app.message_ports(), &call.caller.user, id, report).await?;
    Ok(ApiResponsePayload::empty())
}

/// The parameters of `POST /streams/{stream_id}/delete_topic`.
pub(crate) struct DeleteTopicParams {
    name: String,
}

impl EndpointParams for DeleteTopicParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { name: reader.required::<TextParam>("topic_name")? })
    }
}

/// Deletes all messages of a topic that the administrator may read, some hundreds in a transaction.
pub(crate) async fn delete_topic(
    call: ApiCall<AuthenticatedCaller>,
    params: DeleteTopicParams,
) -> Result<ApiResponsePayload, ApiError> {
    let channel_id = ChannelId(call.path_id("stream_id")?);
    let account: AccountLookup<'_> = &|realm| call.caller.account_in_realm(realm);
    let topic = (channel_id, params.name.as_str());
    delete::delete_topic(&call.app.message_ports(), &call.caller.user, account, topic).await?;
    ApiResponsePayload::from_payload(&json!({"complete": true}))
}

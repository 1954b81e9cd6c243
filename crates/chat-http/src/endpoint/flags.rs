//! Flags of the caller's own copies: one by one, by narrow, and whatever is not read.

use chat_core::id::{ChannelId, MessageId};
use chat_core::limits::MAX_MESSAGES_PER_RESPONSE;
use chat_core::messages::flag_update;
use chat_core::model::flag_change::FlagChange;
use serde::Serialize;
use serde_json::json;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::endpoint::narrow_selection::{self, AnchorParams};
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, RawNarrow, TextParam, TrimmedTextParam};
use crate::routes::{Routes, no_members, post};

pub(crate) fn routes() -> Routes {
    let all = endpoint(all_as_read)
        .documented("Mark everything as read.", || vec![required_schema_member("complete", JsonSchema::boolean())]);
    Routes::of("messages")
        .api("/messages/flags", post(endpoint(messages).documented("Set a flag on messages, or take it away.", marked)))
        .api(
            "/messages/flags/narrow",
            post(endpoint(narrow).documented("Set a flag on what a narrow selects.", stretched)),
        )
        .api("/mark_all_as_read", post(all))
        .api("/mark_stream_as_read", post(endpoint(channel_as_read).documented("Mark a channel as read.", no_members)))
        .api("/mark_topic_as_read", post(endpoint(topic_as_read).documented("Mark a topic as read.", no_members)))
}

/// The parameters of `POST /messages/flags`.
pub(crate) struct UpdateFlagsParams {
    ids: Vec<i64>,
    op: String,
    flag: String,
}

impl EndpointParams for UpdateFlagsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            ids: reader.required::<JsonParam<Vec<i64>>>("messages")?,
            op: reader.required::<TextParam>("op")?,
            flag: reader.required::<TextParam>("flag")?,
        })
    }
}

/// Sets a flag on messages, or takes it away.
pub(crate) async fn messages(
    call: ApiCall<AuthenticatedCaller>,
    params: UpdateFlagsParams,
) -> Result<ApiResponsePayload, ApiError> {
    let change = FlagChange::parse(&params.flag, &params.op)?;
    let ids: Vec<MessageId> = params.ids.iter().copied().map(MessageId).collect();
    let (ports, user) = (call.app.message_ports(), &call.caller.user);
    flag_update::update_message_flags(&ports, user, change, ids.clone()).await?;
    let kept_read = flag_update::channels_kept_read(&ports, user, change, &ids).await?;
    ApiResponsePayload::from_payload(&FlaggedIds {
        messages: &params.ids,
        ignored_because_not_subscribed_channels: kept_read,
    })
}

/// The response to `POST /messages/flags`; a list of thousands is written as it is.
#[derive(Serialize)]
struct FlaggedIds<'a> {
    messages: &'a [i64],
    ignored_because_not_subscribed_channels: Vec<ChannelId>,
}

/// Returns the members of the response.
fn marked() -> Vec<SchemaMember> {
    vec![required_schema_member("messages", JsonSchema::list(JsonSchema::integer())), kept_read()]
}

fn kept_read() -> SchemaMember {
    let channels = JsonSchema::list(JsonSchema::integer());
    let meaning = "The channels that the caller is not in, whose messages stay read.";
    required_schema_member("ignored_because_not_subscribed_channels", channels.with_description(meaning))
}

/// The parameters of `POST /messages/flags/narrow`.
pub(crate) struct UpdateNarrowFlagsParams {
    anchor: AnchorParams,
    narrow: Option<RawNarrow>,
    op: String,
    flag: String,
}

impl EndpointParams for UpdateNarrowFlagsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            anchor: AnchorParams::from_reader(reader)?,
            narrow: reader.required::<JsonParam<Option<RawNarrow>>>("narrow")?,
            op: reader.required::<TextParam>("op")?,
            flag: reader.required::<TextParam>("flag")?,
        })
    }
}

/// Sets a flag on messages around an anchor, as far as a narrow selects them, or takes it away.
///
/// # Source
/// The specification names it as what `POST /mark_topic_as_read` was replaced by and does not describe it. Who asks for
/// more messages than one answer holds gets fewer and no refusal: existing clients ask again from where it ended.
pub(crate) async fn narrow(
    call: ApiCall<AuthenticatedCaller>,
    params: UpdateNarrowFlagsParams,
) -> Result<ApiResponsePayload, ApiError> {
    let change = FlagChange::parse(&params.flag, &params.op)?;
    let window = params.anchor.window(cut(params.anchor.counts()), false)?;
    let AuthenticatedCaller { user, realm, .. } = &call.caller;
    let selection = narrow_selection::select(&call.app, realm, user, params.narrow.as_ref()).await?;
    let page = call.app.messages.load_message_window(&selection, window).await?;
    let ids: Vec<MessageId> = page.messages.iter().map(|(message, _)| message.id).collect();
    let updated = flag_update::update_readable_message_flags(&call.app.message_ports(), user, change, &ids).await?;
    let kept_read = flag_update::channels_kept_read(&call.app.message_ports(), user, change, &ids).await?;
    ApiResponsePayload::from_payload(&json!({
        "processed_count": ids.len(),
        "updated_count": updated,
        "first_processed_id": ids.first(),
        "last_processed_id": ids.last(),
        "found_oldest": page.found_oldest,
        "found_newest": page.found_newest,
        "ignored_because_not_subscribed_channels": kept_read,
    }))
}

/// Returns the members of the response.
fn stretched() -> Vec<SchemaMember> {
    vec![
        required_schema_member("processed_count", JsonSchema::integer()),
        required_schema_member("updated_count", JsonSchema::integer()),
        required_schema_member("first_processed_id", JsonSchema::integer().nullable()),
        required_schema_member("last_processed_id", JsonSchema::integer().nullable()),
        required_schema_member("found_oldest", JsonSchema::boolean()),
        required_schema_member("found_newest", JsonSchema::boolean()),
        kept_read(),
    ]
}

/// So many messages before and after an anchor as one call handles: each side gets half of them, and what the other
/// side leaves.
fn cut((before, after): (u64, u64)) -> (u64, u64) {
    let half = MAX_MESSAGES_PER_RESPONSE / 2;
    let before = before.min(MAX_MESSAGES_PER_RESPONSE.saturating_sub(after).max(half));
    (before, after.min(MAX_MESSAGES_PER_RESPONSE - before))
}

/// Everything is read.
pub(crate) async fn all_as_read(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let complete = flag_update::mark_matching_as_read(&call.app.message_ports(), &call.caller.user, Vec::new()).await?;
    ApiResponsePayload::from_payload(&json!({"complete": complete}))
}

/// The parameters of `POST /mark_stream_as_read`.
pub(crate) struct ReadChannelParams {
    channel_id: i64,
}

impl EndpointParams for ReadChannelParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { channel_id: reader.required::<JsonParam<i64>>("stream_id")? })
    }
}

/// Everything in a channel is read.
pub(crate) async fn channel_as_read(
    call: ApiCall<AuthenticatedCaller>,
    params: ReadChannelParams,
) -> Result<ApiResponsePayload, ApiError> {
    let channel_id = ChannelId(params.channel_id);
    flag_update::mark_channel_or_topic_read(&call.app.message_ports(), &call.caller.user, channel_id, None).await?;
    Ok(ApiResponsePayload::empty())
}

/// The parameters of `POST /mark_topic_as_read`.
pub(crate) struct ReadTopicParams {
    channel_id: i64,
    topic: String,
}

impl EndpointParams for ReadTopicParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            channel_id: reader.required::<JsonParam<i64>>("stream_id")?,
            topic: reader.required::<TrimmedTextParam>("topic_name")?,
        })
    }
}

/// Everything in a topic is read; without a name, in the channel.
///
/// # Source
/// Specification, `POST /mark_topic_as_read`.
pub(crate) async fn topic_as_read(
    call: ApiCall<AuthenticatedCaller>,
    params: ReadTopicParams,
) -> Result<ApiResponsePayload, ApiError> {
    let channel_id = ChannelId(params.channel_id);
    let topic = Some(params.topic.as_str()).filter(|topic| !topic.is_empty());
    flag_update::mark_channel_or_topic_read(&call.app.message_ports(), &call.caller.user, channel_id, topic).await?;
    Ok(ApiResponsePayload::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_of_an_anchor_gets_half_and_what_the_other_leaves() {
        assert_eq!(cut((10, 20)), (10, 20));
        assert_eq!(cut((9_000, 9_000)), (2_500, 2_500));
        assert_eq!(cut((0, 9_000)), (0, 5_000));
        assert_eq!(cut((9_000, 100)), (4_900, 100));
        assert_eq!(cut((u64::MAX, u64::MAX)), (2_500, 2_500));
    }
}

//! `/typing` and `/messages/{message_id}/typing`.

use chat_core::id::{ChannelId, MessageId, UserId};
use chat_core::messages::readable_message;
use chat_core::people::typing_notifications::{self, TypingOp};

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::params::{EndpointParams, EnumWordParam, JsonParam, ParamError, ParamReader, TrimmedTextParam, WordEnum};
use crate::routes::{self, Routes, no_members};

pub(crate) fn routes() -> Routes {
    let typing = endpoint(post).documented("Tell receivers that the caller writes, or stopped.", no_members);
    let edit =
        endpoint(post_edit).documented("Tell receivers that the caller changes a message, or stopped.", no_members);
    Routes::of("messages").api("/typing", routes::post(typing)).api("/messages/{message_id}/typing", routes::post(edit))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TypingKind {
    Direct,
    Channel,
}

impl WordEnum for TypingKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("direct", Self::Direct), ("stream", Self::Channel), ("channel", Self::Channel)];
}

impl WordEnum for TypingOp {
    const WORDS: &'static [(&'static str, Self)] = &[("start", Self::Start), ("stop", Self::Stop)];
}

/// The users or the topic that the caller types to.
enum TypingTarget {
    Users(Option<Vec<UserId>>),
    Channel(Option<ChannelId>, Option<String>),
}

/// The parameters of `POST /typing`.
pub(crate) struct TypingParams {
    op: TypingOp,
    to: TypingTarget,
}

/// The parameters of the other kind are ignored, whatever is in them.
impl EndpointParams for TypingParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let kind = reader.optional_or::<EnumWordParam<TypingKind>>("type", TypingKind::Direct)?;
        let op = reader.required::<EnumWordParam<TypingOp>>("op")?;
        let to = match kind {
            TypingKind::Direct => {
                reader.skip_params(&["stream_id", "topic", "subject"]);
                TypingTarget::Users(reader.optional::<JsonParam<Option<Vec<UserId>>>>("to")?.flatten())
            }
            TypingKind::Channel => {
                reader.skip_params(&["to"]);
                let channel = reader.optional::<JsonParam<Option<ChannelId>>>("stream_id")?.flatten();
                TypingTarget::Channel(channel, reader.optional_with_alias::<TrimmedTextParam>(["topic", "subject"])?)
            }
        };
        Ok(Self { op, to })
    }
}

/// Notifies the receivers that the caller types, or has stopped. Nothing is stored.
///
/// # Source
/// Specification, `POST /typing`.
pub(crate) async fn post(
    call: ApiCall<AuthenticatedCaller>,
    typed: TypingParams,
) -> Result<ApiResponsePayload, ApiError> {
    let AuthenticatedCaller { realm, user, .. } = &call.caller;
    let now_s = call.app.now_s();
    let typing = match &typed.to {
        TypingTarget::Users(to) => {
            typing_notifications::create_direct_typing_notification(realm, user, (typed.op, to.as_deref()), now_s)?
        }
        TypingTarget::Channel(channel, topic) => Some(typing_notifications::create_channel_typing_notification(
            realm,
            user,
            (typed.op, *channel, topic.as_deref()),
            now_s,
        )?),
    };
    if let Some(typing) = typing {
        call.app.typing.publish_typing(typing);
    }
    Ok(ApiResponsePayload::empty())
}

/// The parameters of `POST /messages/{message_id}/typing`.
pub(crate) struct TypingEditParams {
    op: TypingOp,
}

impl EndpointParams for TypingEditParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { op: reader.required::<EnumWordParam<TypingOp>>("op")? })
    }
}

/// Notifies those who have the message that the caller changes it, or has stopped. Nothing is stored.
pub(crate) async fn post_edit(
    call: ApiCall<AuthenticatedCaller>,
    params: TypingEditParams,
) -> Result<ApiResponsePayload, ApiError> {
    let id = MessageId(call.path_id("message_id")?);
    let found = readable_message::find_readable_message(&call.app.message_ports(), &call.caller.user, id).await?;
    let edited = (params.op, &found.message);
    call.app.typing.publish_typing(typing_notifications::of_edit(&found.realm, &found.user, edited, call.app.now_s())?);
    Ok(ApiResponsePayload::empty())
}

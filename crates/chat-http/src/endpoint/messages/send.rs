//! Sending.

use chat_core::event_log::event::LocalEchoId;
use chat_core::id::MessageId;
use chat_core::messages::compose::{ChannelRef, RequestedRecipient, SendRequest};
use chat_core::messages::send::{self, client_shows_sent_messages};
use chat_core::messages::topic_visibility_policy::TopicVisibilityPolicy;
use chat_core::messages::widget;
use chat_core::permission::send_message::SendError;
use serde::Serialize;

use crate::api_call::ApiCall;
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, optional_schema_member, required_schema_member};
use crate::params::{
    ChannelNameOrId, DirectMessageRecipients, EndpointParams, EnumWordParam, JsonParam, MaxCharsParam, ParamError,
    ParamReader, RawRecipients, RawTextParamAllowingNul, RecipientsParam, TextParam, WordEnum,
};

/// Longest name that a client may give its queue and its message, in characters. Not specified; we bound what is
/// kept with each message by a number that no known client comes near.
const LOCAL_NAME_MAX_CHARS: usize = 100;

/// The word for what a message goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageKind {
    Channel,
    Direct,
}

impl WordEnum for MessageKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("direct", Self::Direct), ("private", Self::Direct), ("stream", Self::Channel), ("channel", Self::Channel)];
}

type LocalName = MaxCharsParam<TextParam, LOCAL_NAME_MAX_CHARS>;

/// The parameters of `POST /messages`.
pub(crate) struct SendParams {
    kind: MessageKind,
    to: Option<RawRecipients>,
    topic: Option<String>,
    content: String,
    queue_id: Option<String>,
    local_id: Option<String>,
    read_by_sender: Option<bool>,
    forged_sender: Option<String>,
    widget_content: Option<String>,
}

impl EndpointParams for SendParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            kind: reader.required::<EnumWordParam<MessageKind>>("type")?,
            to: reader.optional::<RecipientsParam>("to")?,
            topic: reader.optional_with_alias::<RawTextParamAllowingNul>(["topic", "subject"])?,
            content: reader.required::<RawTextParamAllowingNul>("content")?,
            queue_id: reader.optional::<LocalName>("queue_id")?,
            local_id: reader.optional::<LocalName>("local_id")?,
            read_by_sender: reader.optional::<JsonParam<bool>>("read_by_sender")?,
            forged_sender: reader.optional::<TextParam>("sender")?,
            widget_content: reader.optional::<TextParam>("widget_content")?,
        })
    }
}

/// The response to a sender.
#[derive(Debug, Serialize)]
pub(crate) struct SendResponse {
    id: MessageId,
    /// How the sender follows the topic because of it, where that is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    automatic_new_visibility_policy: Option<i64>,
}

/// Sends a message.
pub(crate) async fn post(
    call: ApiCall<AuthenticatedCaller>,
    params: SendParams,
) -> Result<ApiResponsePayload, ApiError> {
    let address = SendTarget::of(&params)?;
    if params.forged_sender.is_some() {
        return Err(SendError::Forged.into());
    }
    let widget = params.widget_content.as_deref().map(widget::parse_choices_widget).transpose()?;
    let client = call.client_name();
    let request = SendRequest {
        to: address.target(),
        content: &params.content,
        client: &client,
        read_by_sender: params.read_by_sender.unwrap_or_else(|| client_shows_sent_messages(&client)),
        local: params.queue_id.zip(params.local_id).map(|(queue_id, local_id)| LocalEchoId { queue_id, local_id }),
        widget: widget.as_deref(),
    };
    let sent = send::send(&call.app.message_ports(), call.caller.user_id(), &request).await?;
    let automatic_new_visibility_policy = sent.followed.map(TopicVisibilityPolicy::wire_number);
    ApiResponsePayload::from_payload(&SendResponse { id: sent.id, automatic_new_visibility_policy })
}

/// Returns the members of the response.
pub(super) fn response_schema() -> Vec<SchemaMember> {
    let policy = JsonSchema::one_of_numbers(TopicVisibilityPolicy::WIRE_NUMBERS.iter().map(|(number, _)| *number));
    vec![
        required_schema_member("id", JsonSchema::integer()),
        optional_schema_member("automatic_new_visibility_policy", policy),
    ]
}

/// The recipient of a message, read from `to` and `topic`.
enum SendTarget {
    Channel(ChannelNameOrId, String),
    Direct(DirectMessageRecipients),
}

impl SendTarget {
    fn of(params: &SendParams) -> Result<Self, ApiError> {
        let read = |error| ApiError::Parameter(ParamError::Recipients(error));
        match (params.kind, &params.to) {
            (MessageKind::Channel, None) => Err(SendError::NoChannel.into()),
            (MessageKind::Channel, Some(to)) => {
                let channel = to.parse_channel().map_err(read)?;
                let topic = params.topic.clone().ok_or(SendError::NoTopic)?;
                Ok(Self::Channel(channel, topic))
            }
            (MessageKind::Direct, None) => Err(SendError::NoRecipients.into()),
            (MessageKind::Direct, Some(to)) => Ok(Self::Direct(to.parse_direct_recipients().map_err(read)?)),
        }
    }

    fn target(&self) -> RequestedRecipient<'_> {
        match self {
            Self::Channel(ChannelNameOrId::Id(id), topic) => RequestedRecipient::Channel(ChannelRef::Id(*id), topic),
            Self::Channel(ChannelNameOrId::Name(name), topic) => {
                RequestedRecipient::Channel(ChannelRef::Name(name), topic)
            }
            Self::Direct(DirectMessageRecipients::Ids(ids)) => RequestedRecipient::Ids(ids),
            Self::Direct(DirectMessageRecipients::Emails(emails)) => RequestedRecipient::Emails(emails),
        }
    }
}

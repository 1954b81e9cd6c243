//! Sending.

use chat_core::id::{MessageId, UserId};
use chat_core::log::event::LocalEcho;
use chat_core::messages::compose::{self, ChannelRef, RequestedRecipient, SendRequest, StoreAnswer, StoreQuestion};
use chat_core::messages::store::{NewMessage, SendOutcome};
use chat_core::messages::topic_policy::TopicPolicy;
use chat_core::messages::widget;
use chat_core::model::render_context::RenderSettings;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::permission::send::SendError;
use serde::Serialize;

use crate::auth::{AuthenticationError, Caller, may_enter};
use crate::call::ApiCall;
use crate::endpoint::topic_following::{self, SentTopic};
use crate::error::{ApiError, InternalError};
use crate::params::{
    ChannelNameOrId, DirectRecipients, Json, MaxChars, ParamError, ParamReader, Params, RawRecipients, RecipientsParam,
    TextParam, TextParamWithNul, WordEnum, WordParam,
};
use crate::response::ApiResponse;
use crate::schema::{Member, Schema, has, may};
use crate::state::{AppState, DECISIONS_MAX};

/// Longest name that a client may give its queue and its message, in characters. Not specified; we bound what is
/// kept with each message by a number that no known client comes near.
const LOCAL_NAME_MAX_CHARS: usize = 100;

/// Clients that show their user what they send, by which it is read.
///
/// # Source
/// The existing server's list; stored messages name their client in these words.
const SHOWING_CLIENTS: [&str; 10] = [
    "zulipandroid",
    "zulipios",
    "zulipdesktop",
    "zulipmobile",
    "zulipelectron",
    "zulipterminal",
    "snipe",
    "website",
    "ios",
    "android",
];

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

type LocalName = MaxChars<TextParam, LOCAL_NAME_MAX_CHARS>;

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

impl Params for SendParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            kind: reader.required::<WordParam<MessageKind>>("type")?,
            to: reader.optional::<RecipientsParam>("to")?,
            topic: reader.optional_either::<TextParamWithNul>(["topic", "subject"])?,
            content: reader.required::<TextParamWithNul>("content")?,
            queue_id: reader.optional::<LocalName>("queue_id")?,
            local_id: reader.optional::<LocalName>("local_id")?,
            read_by_sender: reader.optional::<Json<bool>>("read_by_sender")?,
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
pub(crate) async fn post(call: ApiCall<Caller>, params: SendParams) -> Result<ApiResponse, ApiError> {
    let address = SendTarget::of(&params)?;
    if params.forged_sender.is_some() {
        return Err(SendError::Forged.into());
    }
    let widget = params.widget_content.as_deref().map(widget::given).transpose()?;
    let client = call.client();
    let request = SendRequest {
        to: address.target(),
        content: &params.content,
        client: &client,
        read_by_sender: params.read_by_sender.unwrap_or_else(|| shows_what_it_sends(&client)),
        local: params.queue_id.zip(params.local_id).map(|(queue_id, local_id)| LocalEcho { queue_id, local_id }),
        widget: widget.as_deref(),
    };
    ApiResponse::from_payload(&send(&call.app, call.caller.id(), &request).await?)
}

/// Returns the members of the response.
pub(super) fn response_schema() -> Vec<Member> {
    let policy = Schema::numbers(TopicPolicy::NUMBERS.iter().map(|(number, _)| *number));
    vec![has("id", Schema::integer()), may("automatic_new_visibility_policy", policy)]
}

/// Returns whether the program shows its user what they send.
pub(crate) fn shows_what_it_sends(client: &str) -> bool {
    let client = client.to_lowercase();
    SHOWING_CLIENTS.contains(&client.as_str()) || client.contains("desktop app")
}

/// The recipient of a message, read from `to` and `topic`.
enum SendTarget {
    Channel(ChannelNameOrId, String),
    Direct(DirectRecipients),
}

impl SendTarget {
    fn of(params: &SendParams) -> Result<Self, ApiError> {
        let read = |error| ApiError::Parameter(ParamError::Recipients(error));
        match (params.kind, &params.to) {
            (MessageKind::Channel, None) => Err(SendError::NoChannel.into()),
            (MessageKind::Channel, Some(to)) => {
                let channel = to.channel().map_err(read)?;
                let topic = params.topic.clone().ok_or(SendError::NoTopic)?;
                Ok(Self::Channel(channel, topic))
            }
            (MessageKind::Direct, None) => Err(SendError::NoRecipients.into()),
            (MessageKind::Direct, Some(to)) => Ok(Self::Direct(to.direct().map_err(read)?)),
        }
    }

    fn target(&self) -> RequestedRecipient<'_> {
        match self {
            Self::Channel(ChannelNameOrId::Id(id), topic) => RequestedRecipient::Channel(ChannelRef::Id(*id), topic),
            Self::Channel(ChannelNameOrId::Name(name), topic) => {
                RequestedRecipient::Channel(ChannelRef::Name(name), topic)
            }
            Self::Direct(DirectRecipients::Ids(ids)) => RequestedRecipient::Ids(ids),
            Self::Direct(DirectRecipients::Emails(emails)) => RequestedRecipient::Emails(emails),
        }
    }
}

/// Sends a message, deciding again on the newer realm whenever the realm changed in between.
pub(crate) async fn send(
    app: &AppState,
    sender_id: UserId,
    request: &SendRequest<'_>,
) -> Result<SendResponse, ApiError> {
    for _ in 0..DECISIONS_MAX {
        let realm = app.realm();
        let sender = realm.user(sender_id).ok_or(AuthenticationError::UnknownKey)?;
        may_enter(&realm, sender)?;
        let (message, mentioned) = composed_with_mentioned(app, &realm, sender, request.clone()).await?;
        let place = SentTopic::of(&message);
        if let SendOutcome::Done { id, .. } = app.messages.append(message).await? {
            let followed = match place {
                Some(place) => topic_following::after_sending(app, sender_id, (&place, id), &mentioned).await,
                None => None,
            };
            return Ok(SendResponse { id, automatic_new_visibility_policy: followed.map(TopicPolicy::number) });
        }
    }
    Err(InternalError::without_cause("the realm changed faster than a message could be sent").into())
}

/// Returns the message, with what only the store knows asked for where it matters.
pub(crate) async fn composed(
    app: &AppState,
    realm: &RealmSnapshot,
    sender: &User,
    request: SendRequest<'_>,
) -> Result<NewMessage, ApiError> {
    composed_with_mentioned(app, realm, sender, request).await.map(|(message, _)| message)
}

/// As [`composed`], with whom the message mentions by name.
pub(crate) async fn composed_with_mentioned(
    app: &AppState,
    realm: &RealmSnapshot,
    sender: &User,
    request: SendRequest<'_>,
) -> Result<(NewMessage, Vec<UserId>), ApiError> {
    let render_context = app.render_context(realm);
    let uploads = app.upload_stores().linked(realm, sender, request.content).await?;
    let (realm_url, now_s) = (&app.settings.base_url, app.now_s());
    let setting = RenderSettings { realm_url, render_context: &render_context, uploads: Some(&uploads), now_s };
    let draft = compose::draft(&setting, realm, sender, request)?;
    let known = match draft.asks() {
        None => StoreAnswer::Nothing,
        Some(StoreQuestion::Participants(conversation)) => {
            StoreAnswer::Participants(app.messages.participants(conversation).await?)
        }
        Some(StoreQuestion::HaveWritten(users)) => StoreAnswer::HaveWritten(app.messages.have_written(users).await?),
    };
    let mentioned = draft.mentioned().to_vec();
    Ok((draft.finish(realm, sender, &known)?, mentioned))
}

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

use crate::answer::Answer;
use crate::auth::{Caller, Unauthenticated, may_enter};
use crate::call::Call;
use crate::endpoint::following::{self, Place};
use crate::endpoint::uploads;
use crate::error::{Failure, Fault};
use crate::params::{
    ChannelName, DirectTo, Json, MaxChars, ParamFault, Params, Reader, Recipients, Text, To, Verbatim, Word, Words,
};
use crate::schema::{Member, Schema, has, may};
use crate::state::{DECISIONS_MAX, Site};

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

/// What a message goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Channel,
    Direct,
}

impl Words for Kind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("direct", Self::Direct), ("private", Self::Direct), ("stream", Self::Channel), ("channel", Self::Channel)];
}

type LocalName = MaxChars<Text, LOCAL_NAME_MAX_CHARS>;

/// What is sent.
pub(crate) struct Sending {
    kind: Kind,
    to: Option<To>,
    topic: Option<String>,
    content: String,
    queue_id: Option<String>,
    local_id: Option<String>,
    read_by_sender: Option<bool>,
    forged_sender: Option<String>,
    widget_content: Option<String>,
}

impl Params for Sending {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            kind: given.required::<Word<Kind>>("type")?,
            to: given.optional::<Recipients>("to")?,
            topic: given.optional_either::<Verbatim>(["topic", "subject"])?,
            content: given.required::<Verbatim>("content")?,
            queue_id: given.optional::<LocalName>("queue_id")?,
            local_id: given.optional::<LocalName>("local_id")?,
            read_by_sender: given.optional::<Json<bool>>("read_by_sender")?,
            forged_sender: given.optional::<Text>("sender")?,
            widget_content: given.optional::<Text>("widget_content")?,
        })
    }
}

/// What a sender is told.
#[derive(Debug, Serialize)]
pub(crate) struct Accepted {
    id: MessageId,
    /// How the sender follows the topic because of it, where that is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    automatic_new_visibility_policy: Option<i64>,
}

/// Sends a message.
pub(crate) async fn post(call: Call<Caller>, params: Sending) -> Result<Answer, Fault> {
    let address = Address::of(&params)?;
    if params.forged_sender.is_some() {
        return Err(SendError::Forged.into());
    }
    let widget = params.widget_content.as_deref().map(widget::given).transpose()?;
    let client = call.client();
    let wish = SendRequest {
        to: address.target(),
        content: &params.content,
        client: &client,
        read_by_sender: params.read_by_sender.unwrap_or_else(|| shows_what_it_sends(&client)),
        local: params.queue_id.zip(params.local_id).map(|(queue_id, local_id)| LocalEcho { queue_id, local_id }),
        widget: widget.as_deref(),
    };
    Answer::of(&send(&call.app, call.who.id(), &wish).await?)
}

/// Returns the members of the response.
pub(super) fn told() -> Vec<Member> {
    let policy = Schema::numbers(TopicPolicy::NUMBERS.iter().map(|(number, _)| *number));
    vec![has("id", Schema::integer()), may("automatic_new_visibility_policy", policy)]
}

/// Returns whether the program shows its user what they send.
pub(crate) fn shows_what_it_sends(client: &str) -> bool {
    let client = client.to_lowercase();
    SHOWING_CLIENTS.contains(&client.as_str()) || client.contains("desktop app")
}

/// Where a message goes, read from `to` and `topic`.
enum Address {
    Channel(ChannelName, String),
    Direct(DirectTo),
}

impl Address {
    fn of(params: &Sending) -> Result<Self, Fault> {
        let read = |fault| Fault::Parameter(ParamFault::Recipients(fault));
        match (params.kind, &params.to) {
            (Kind::Channel, None) => Err(SendError::NoChannel.into()),
            (Kind::Channel, Some(to)) => {
                let channel = to.channel().map_err(read)?;
                let topic = params.topic.clone().ok_or(SendError::NoTopic)?;
                Ok(Self::Channel(channel, topic))
            }
            (Kind::Direct, None) => Err(SendError::NoRecipients.into()),
            (Kind::Direct, Some(to)) => Ok(Self::Direct(to.direct().map_err(read)?)),
        }
    }

    fn target(&self) -> RequestedRecipient<'_> {
        match self {
            Self::Channel(ChannelName::Id(id), topic) => RequestedRecipient::Channel(ChannelRef::Id(*id), topic),
            Self::Channel(ChannelName::Name(name), topic) => RequestedRecipient::Channel(ChannelRef::Name(name), topic),
            Self::Direct(DirectTo::Ids(ids)) => RequestedRecipient::Ids(ids),
            Self::Direct(DirectTo::Emails(emails)) => RequestedRecipient::Emails(emails),
        }
    }
}

/// Sends a message, deciding anew on the newer realm whenever the realm changed in between.
pub(crate) async fn send(app: &Site, sender_id: UserId, wish: &SendRequest<'_>) -> Result<Accepted, Fault> {
    for _ in 0..DECISIONS_MAX {
        let realm = app.realm();
        let sender = realm.user(sender_id).ok_or(Unauthenticated::UnknownKey)?;
        may_enter(&realm, sender)?;
        let (message, mentioned) = composed_with_mentioned(app, &realm, sender, wish.clone()).await?;
        let place = Place::of(&message);
        if let SendOutcome::Done { id, .. } = app.messages.append(message).await? {
            let followed = match place {
                Some(place) => following::after_sending(app, sender_id, (&place, id), &mentioned).await,
                None => None,
            };
            return Ok(Accepted { id, automatic_new_visibility_policy: followed.map(TopicPolicy::number) });
        }
    }
    Err(Failure::said("the realm changed faster than a message could be sent").into())
}

/// Returns the message, with what only the store knows asked for where it matters.
pub(crate) async fn composed(
    app: &Site,
    realm: &RealmSnapshot,
    sender: &User,
    wish: SendRequest<'_>,
) -> Result<NewMessage, Fault> {
    composed_with_mentioned(app, realm, sender, wish).await.map(|(message, _)| message)
}

/// As [`composed`], with whom the message mentions by name.
pub(crate) async fn composed_with_mentioned(
    app: &Site,
    realm: &RealmSnapshot,
    sender: &User,
    wish: SendRequest<'_>,
) -> Result<(NewMessage, Vec<UserId>), Fault> {
    let lexicon = app.lexicon(realm);
    let uploads = uploads::usable(app, realm, sender, wish.content).await?;
    let (realm_url, now_s) = (&app.settings.base_url, app.now_s());
    let setting = RenderSettings { realm_url, lexicon: &lexicon, uploads: Some(&uploads), now_s };
    let draft = compose::draft(&setting, realm, sender, wish)?;
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

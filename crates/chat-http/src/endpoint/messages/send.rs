//! Sending.

use chat_core::compose::{self, ChannelRef, Known, Question, To as Target, Wish};
use chat_core::event::Local;
use chat_core::id::{MessageId, UserId};
use chat_core::lexicon::Setting;
use chat_core::ports::{NewMessage, Sent};
use chat_core::send::SendError;
use chat_core::snapshot::RealmSnapshot;
use chat_core::user::User;
use serde::Serialize;

use crate::answer::Answer;
use crate::auth::{Caller, Unauthenticated, may_enter};
use crate::call::Call;
use crate::error::{Failure, Fault};
use crate::params::{
    ChannelName, DirectTo, Json, MaxChars, ParamFault, Params, Reader, Recipients, Text, To, Verbatim, Word, Words,
};
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
        })
    }
}

#[derive(Serialize)]
struct Accepted {
    id: MessageId,
}

/// Sends a message.
pub(crate) async fn post(call: Call<Caller>, params: Sending) -> Result<Answer, Fault> {
    let address = Address::of(&params)?;
    if params.forged_sender.is_some() {
        return Err(SendError::Forged.into());
    }
    let client = call.client();
    let wish = Wish {
        to: address.target(),
        content: &params.content,
        client: &client,
        read_by_sender: params.read_by_sender.unwrap_or_else(|| shows_what_it_sends(&client)),
        local: params.queue_id.zip(params.local_id).map(|(queue_id, local_id)| Local { queue_id, local_id }),
    };
    let id = send(&call.app, call.who.id(), &wish).await?;
    Answer::of(&Accepted { id })
}

/// Whether the program shows its user what they send.
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

    fn target(&self) -> Target<'_> {
        match self {
            Self::Channel(ChannelName::Id(id), topic) => Target::Channel(ChannelRef::Id(*id), topic),
            Self::Channel(ChannelName::Name(name), topic) => Target::Channel(ChannelRef::Name(name), topic),
            Self::Direct(DirectTo::Ids(ids)) => Target::Ids(ids),
            Self::Direct(DirectTo::Emails(emails)) => Target::Emails(emails),
        }
    }
}

/// Sends a message, deciding anew on the newer realm whenever the realm changed in between.
pub(crate) async fn send(app: &Site, sender_id: UserId, wish: &Wish<'_>) -> Result<MessageId, Fault> {
    for _ in 0..DECISIONS_MAX {
        let realm = app.realm();
        let sender = realm.user(sender_id).ok_or(Unauthenticated::UnknownKey)?;
        may_enter(&realm, sender)?;
        let message = composed(app, &realm, sender, wish.clone()).await?;
        match app.messages.append(message).await? {
            Sent::Done { id, .. } => return Ok(id),
            Sent::Stale(_) => {}
        }
    }
    Err(Failure::said("the realm changed faster than a message could be sent").into())
}

/// The message, with what only the store knows asked for where it matters.
pub(crate) async fn composed(
    app: &Site,
    realm: &RealmSnapshot,
    sender: &User,
    wish: Wish<'_>,
) -> Result<NewMessage, Fault> {
    let lexicon = app.lexicon(realm);
    let setting = Setting { realm_url: &app.settings.base_url, lexicon: &lexicon, now_s: app.now_s() };
    let draft = compose::draft(&setting, realm, sender, wish)?;
    let known = match draft.asks() {
        None => Known::Nothing,
        Some(Question::Participants(conversation)) => {
            Known::Participants(app.messages.participants(conversation).await?)
        }
        Some(Question::HaveWritten(users)) => Known::HaveWritten(app.messages.have_written(users).await?),
    };
    Ok(draft.finish(realm, sender, &known)?)
}

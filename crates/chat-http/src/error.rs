//! Every refusal and failure, and the one table from each to status, code, text and further keys.
//!
//! An endpoint returns the cause; what a caller sees of it is decided here and nowhere else. A failure is logged
//! here too, once, where it becomes an answer, and the caller never sees its text.

mod bots;
mod browser;
mod domains;
mod groups;
mod invites;
mod later;
mod messages;
mod people;
mod profile;
mod push;
mod request;
mod stale;
mod things;

use std::error::Error;
use std::fmt;
use std::io::ErrorKind;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use chat_core::channels::ChannelError;
use chat_core::files::FileError;
use chat_core::id::EventId;
use chat_core::log::event::UnsupportedOperator;
use chat_core::messages::compose::ComposeError;
use chat_core::messages::draft::DraftError;
use chat_core::messages::edit::{DeleteError, EditError};
use chat_core::messages::narrow::{NarrowError, WindowError};
use chat_core::messages::reaction::ReactionError;
use chat_core::messages::scheduled::ScheduledError;
use chat_core::messages::widget::WidgetError;
use chat_core::model::channel::ChannelNameError;
use chat_core::model::flag_change::FlagChangeError;
use chat_core::model::message::{ContentError, FlagError, TopicError};
use chat_core::model::user::{FullNameError, MalformedEmail};
use chat_core::organization::domains::DomainError;
use chat_core::people::address::EmailChangeError;
use chat_core::people::bots::BotError;
use chat_core::people::groups::GroupError;
use chat_core::people::invitation::{InviteError, JoinError};
use chat_core::people::presence::{PresenceError, UnknownPresenceStatus};
use chat_core::people::profile::{ProfileError, ProfileValueError};
use chat_core::people::typing::TypingError;
use chat_core::permission::access::{ChannelNotFound, MessageNotFound, PermissionError};
use chat_core::permission::administer::AccountError;
use chat_core::permission::membership::MembershipError;
use chat_core::permission::send::SendError;
use chat_core::push::PushError;
use chat_core::{StoreError, Unavailable};

use crate::answer;
use crate::auth::{CredentialsFault, LoginFault, Unauthenticated};
use crate::params::{ParamFault, RawFault};
use crate::rate::Exceeded;

pub use browser::BrowserFault;
pub(crate) use invites::OnPage;
pub use people::ChoiceFault;
pub use things::ThingFault;

/// Every code there is, for who has to know them all.
pub(crate) const CODES: [&str; 28] = [
    BAD_REQUEST,
    UNAUTHORIZED,
    "AUTHENTICATION_FAILED",
    "BAD_EVENT_QUEUE_ID",
    "BAD_IMAGE",
    "BAD_NARROW",
    "CANNOT_DEACTIVATE_GROUP_IN_USE",
    "CANNOT_DEACTIVATE_LAST_USER",
    "CSRF_FAILED",
    "EXPECTATION_MISMATCH",
    "INTERNAL_SERVER_ERROR",
    "INVALID_PUSH_DEVICE_TOKEN",
    "INVALID_REMOTE_PUSH_DEVICE_TOKEN",
    "INVITATION_FAILED",
    "METHOD_NOT_ALLOWED",
    "MOVE_MESSAGES_TIME_LIMIT_EXCEEDED",
    "RATE_LIMIT_HIT",
    "REACTION_ALREADY_EXISTS",
    "REACTION_DOES_NOT_EXIST",
    "REALM_DEACTIVATED",
    "REALM_UPLOAD_QUOTA",
    "REQUEST_CONFUSING_VAR",
    UNAVAILABLE,
    "STREAM_DOES_NOT_EXIST",
    "STREAM_WILDCARD_MENTION_NOT_ALLOWED",
    "SYSTEM_GROUP_REQUIRED",
    "TOPIC_WILDCARD_MENTION_NOT_ALLOWED",
    "USER_DEACTIVATED",
];
/// The code of everything that has none of its own.
const BAD_REQUEST: &str = "BAD_REQUEST";
const UNAUTHORIZED: &str = "UNAUTHORIZED";
/// The code of a server whose database cannot be used at the moment. Not specified: the existing server has none.
const UNAVAILABLE: &str = "SERVICE_UNAVAILABLE";
/// When to try again then, in seconds.
const RETRY_AFTER_S: u16 = 5;
/// What a 401 asks for.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Basic realm=\"chat\", charset=\"UTF-8\"");

/// The reason why a request is not answered with success.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A parameter is missing or wrong.
    #[error(transparent)]
    Parameter(#[from] ParamFault),
    /// Query or body cannot be read at all.
    #[error(transparent)]
    Form(#[from] RawFault),
    /// The body is larger than allowed.
    #[error("the body is larger than {limit_bytes} bytes")]
    BodyTooLarge {
        /// The size allowed.
        limit_bytes: usize,
    },
    /// The body broke off.
    #[error("the body did not arrive")]
    BodyBroken,
    /// The request shows no credentials.
    #[error(transparent)]
    Credentials(#[from] CredentialsFault),
    /// The credentials are refused.
    #[error(transparent)]
    Unauthenticated(#[from] Unauthenticated),
    /// The password is refused.
    #[error(transparent)]
    Login(#[from] LoginFault),
    /// Nobody answers at this address.
    #[error("no such address")]
    UnknownRoute,
    /// The address takes other methods.
    #[error("no such method here")]
    MethodNotAllowed {
        /// Those it takes, sorted.
        allowed: Vec<String>,
    },
    /// Too many requests.
    #[error("too many requests")]
    Throttled(#[from] Exceeded),
    /// The caller may not do this at all.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// An account may not become that.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// A name is no person's.
    #[error(transparent)]
    FullName(#[from] FullNameError),
    /// A text is no address.
    #[error(transparent)]
    Email(#[from] MalformedEmail),
    /// What developers may and production may not.
    #[error("Endpoint not available in production.")]
    ForDevelopment,
    /// Nobody is invited, or an invitation stays as it is.
    #[error(transparent)]
    Invite(#[from] InviteError),
    /// A device is not registered, forgotten or notified.
    #[error(transparent)]
    Push(#[from] PushError),
    /// An invitation opens nothing.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// An address stays what it was.
    #[error(transparent)]
    Address(#[from] EmailChangeError),
    /// A browser is not signed in, or what it sent did not come from a page of this server.
    #[error(transparent)]
    Browser(#[from] BrowserFault),
    /// A channel is not there for the caller.
    #[error(transparent)]
    NoChannel(#[from] ChannelNotFound),
    /// A channel or a subscription stays as it is.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A name is no channel's.
    #[error(transparent)]
    ChannelName(#[from] ChannelNameError),
    /// A user group stays as it is.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// A bot stays as it is.
    #[error(transparent)]
    Bot(#[from] BotError),
    /// The domains of the realm stay as they are.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// A profile field stays as it is.
    #[error(transparent)]
    ProfileField(#[from] ProfileError),
    /// An answer to a profile field is none.
    #[error(transparent)]
    ProfileAnswer(#[from] ProfileValueError),
    /// The caller may not enter, leave, make or fill a channel.
    #[error(transparent)]
    Membership(#[from] MembershipError),
    /// A message is not there for the caller.
    #[error(transparent)]
    NoMessage(#[from] MessageNotFound),
    /// A text is no message's.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// A text is no topic's.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// A message may not be sent there.
    #[error(transparent)]
    Send(#[from] SendError),
    /// Nothing is added to a message.
    #[error(transparent)]
    Widget(#[from] WidgetError),
    /// Drafts are not kept, or not given.
    #[error(transparent)]
    Draft(#[from] DraftError),
    /// A message is not scheduled, or stays as it is.
    #[error(transparent)]
    Scheduled(ScheduledError),
    /// Nobody is told that the caller writes.
    #[error(transparent)]
    Typing(#[from] TypingError),
    /// A message may not be changed so.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A message may not be deleted.
    #[error(transparent)]
    Delete(#[from] DeleteError),
    /// A flag is unknown or not the caller's to set.
    #[error(transparent)]
    Flag(#[from] FlagError),
    /// A flag cannot be set so.
    #[error(transparent)]
    Mark(#[from] FlagChangeError),
    /// A reaction cannot be added or taken away.
    #[error(transparent)]
    Reaction(#[from] ReactionError),
    /// A sign of life says nothing that is known.
    #[error(transparent)]
    Status(#[from] UnknownPresenceStatus),
    /// Of someone nothing can be said.
    #[error(transparent)]
    Presence(#[from] PresenceError),
    /// What somebody chooses cannot be so.
    #[error(transparent)]
    Choice(#[from] ChoiceFault),
    /// What an organization keeps stays as it is, or a file is not taken.
    #[error(transparent)]
    Thing(#[from] ThingFault),
    /// A topic is not there for the caller.
    #[error("No such topic '{name}'")]
    NoTopic {
        /// As asked for.
        name: String,
    },
    /// A narrow selects nothing that could be.
    #[error(transparent)]
    Narrow(#[from] NarrowError),
    /// Messages are asked for where there can be none, or too many.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// A queue cannot be narrowed so.
    #[error(transparent)]
    QueueNarrow(#[from] UnsupportedOperator),
    /// A queue is not there for the caller.
    #[error("Bad event queue ID: {queue_id}")]
    NoQueue {
        /// As asked for.
        queue_id: String,
    },
    /// A queue is asked for what follows an event that nobody was told.
    #[error("Event {event_id} was not in this queue")]
    NotInQueue {
        /// As asked for.
        event_id: EventId,
    },
    /// The caller may not hear of channels they are not in.
    #[error("User not authorized for this query")]
    NotAuthorizedForQuery,
    /// A handler panicked.
    #[error("a handler panicked: {0}")]
    Panicked(String),
    /// A search took longer than the server lets one run.
    #[error("This search takes too long. Narrow it to a channel or a sender, or search for rarer words")]
    SearchTooCostly,
    /// Something of ours failed.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// A failure of ours or of something behind us. Its text is for the log.
#[derive(Debug)]
pub struct Failure {
    what: &'static str,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    /// What failed, and why.
    pub fn new(what: &'static str, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { what, cause: Some(cause.into()) }
    }

    /// Returns what failed, where there is no cause beneath.
    #[must_use]
    pub const fn said(what: &'static str) -> Self {
        Self { what, cause: None }
    }

    /// Returns whether the database, or the disk behind it, cannot be used at the moment: the same request may succeed
    /// later.
    fn is_unavailable(&self) -> bool {
        let mut next: Option<&(dyn Error + 'static)> = Some(self);
        while let Some(error) = next {
            let io = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
            if error.is::<Unavailable>() || matches!(io, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)) {
                return true;
            }
            next = error.source();
        }
        false
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.what)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        if error.is_too_costly() {
            return Self::SearchTooCostly;
        }
        Failure::new("the database was not asked", error).into()
    }
}

impl From<FileError> for Fault {
    fn from(error: FileError) -> Self {
        Failure::new("a file was neither kept nor found", error).into()
    }
}

impl From<ComposeError> for Fault {
    fn from(refused: ComposeError) -> Self {
        match refused {
            ComposeError::Content(refused) => refused.into(),
            ComposeError::Topic(refused) => refused.into(),
            ComposeError::ChannelName(refused) => refused.into(),
            ComposeError::Send(refused) => refused.into(),
        }
    }
}

impl From<ScheduledError> for Fault {
    fn from(refused: ScheduledError) -> Self {
        match refused {
            ScheduledError::Compose(refused) => refused.into(),
            refused => Self::Scheduled(refused),
        }
    }
}

/// What a caller is told.
struct Verdict {
    status: StatusCode,
    code: &'static str,
    text: String,
    more: Map<String, Value>,
}

impl Verdict {
    fn new(status: StatusCode, code: &'static str, text: impl fmt::Display) -> Self {
        Self { status, code, text: text.to_string(), more: Map::new() }
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.more.insert(key.to_owned(), value.into());
        self
    }

    fn body(&self) -> Value {
        let mut body = json!({"result": "error", "msg": self.text, "code": self.code});
        if let Value::Object(members) = &mut body {
            members.extend(self.more.clone());
        }
        body
    }
}

impl Fault {
    /// Returns the text a caller is told.
    pub(crate) fn said(&self) -> String {
        self.verdict().text
    }

    /// Writes down, in one line with all its causes, that something failed that nobody asked for.
    pub(crate) fn log(&self, what: &'static str) {
        tracing::error!(error = chain(self), "{what}");
    }

    /// Returns the table.
    ///
    /// # Source
    /// Specification, "Errors"; where it is silent, the codes and texts existing clients know. Not specified: the
    /// status of a parameter fault is 400, and the code of 404 and 413 is the general one, because no client
    /// knows another.
    fn verdict(&self) -> Verdict {
        match self {
            Self::Parameter(fault) => request::parameter(fault),
            Self::Form(fault) => request::form(*fault),
            Self::BodyTooLarge { limit_bytes } => request::too_large(*limit_bytes),
            Self::BodyBroken => Verdict::new(StatusCode::BAD_REQUEST, BAD_REQUEST, "The request broke off"),
            Self::Credentials(fault) => Verdict::new(StatusCode::UNAUTHORIZED, UNAUTHORIZED, fault),
            Self::Failed(failure) if failure.is_unavailable() => unavailable(),
            Self::Panicked(_) | Self::Failed(_) => failure(),
            Self::Unauthenticated(refused) => Verdict::new(StatusCode::UNAUTHORIZED, UNAUTHORIZED, refused),
            Self::Login(refused) => people::login(*refused),
            Self::Send(refused) => messages::send(refused),
            Self::Typing(refused) => later::typing(refused),
            Self::Scheduled(refused) => later::scheduled(refused),
            Self::Draft(refused) => later::draft(refused),
            Self::Edit(refused) => messages::edit(refused),
            Self::Reaction(refused) => messages::reaction(refused),
            Self::Account(refused) => account(refused),
            Self::Choice(refused) => people::verdict(refused),
            Self::Thing(refused) => things::verdict(refused),
            Self::Invite(refused) => invites::invite(refused),
            Self::Join(refused) => invites::join(refused),
            Self::Address(refused) => invites::address(refused),
            Self::Browser(refused) => browser::verdict(refused),
            Self::Group(refused) => groups::group(refused),
            Self::Bot(refused) => bots::bot(refused),
            Self::Domain(refused) => domains::domain(refused),
            Self::ProfileField(refused) => profile::field(refused),
            Self::ProfileAnswer(refused) => profile::answer(refused),
            Self::Push(refused) => push::verdict(refused),
            Self::Narrow(refused) => refusal("BAD_NARROW", refused).with("desc", refused.desc.as_str()),
            Self::NoQueue { queue_id } => refusal("BAD_EVENT_QUEUE_ID", self).with("queue_id", queue_id.as_str()),
            Self::NotAllowed(_)
            | Self::Widget(_)
            | Self::FullName(_)
            | Self::Email(_)
            | Self::ForDevelopment
            | Self::NoChannel(_)
            | Self::Channel(_)
            | Self::ChannelName(_)
            | Self::Membership(_)
            | Self::NoMessage(_)
            | Self::Content(_)
            | Self::Topic(_)
            | Self::Delete(_)
            | Self::Flag(_)
            | Self::Mark(_)
            | Self::Status(_)
            | Self::Presence(_)
            | Self::NoTopic { .. }
            | Self::Window(_)
            | Self::QueueNarrow(_)
            | Self::NotInQueue { .. }
            | Self::SearchTooCostly
            | Self::NotAuthorizedForQuery => refusal(BAD_REQUEST, self),
            Self::UnknownRoute => Verdict::new(StatusCode::NOT_FOUND, BAD_REQUEST, "Not Found"),
            Self::MethodNotAllowed { allowed } => request::wrong_method(allowed),
            Self::Throttled(exceeded) => request::throttled(exceeded),
        }
    }

    /// What goes into the head of the answer.
    fn add_headers(&self, status: StatusCode, headers: &mut HeaderMap) {
        headers.insert(CONTENT_TYPE, answer::JSON);
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, CHALLENGE);
        }
        if let Self::MethodNotAllowed { allowed } = self
            && let Ok(methods) = HeaderValue::try_from(allowed.join(", "))
        {
            headers.insert(ALLOW, methods);
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, RETRY_AFTER_S.into());
        }
        if let Self::Throttled(exceeded) = self {
            headers.insert(RETRY_AFTER, exceeded.retry_after_s().into());
            exceeded.standing.add_headers(headers);
        }
    }
}

/// Returns what a caller is told when it was our fault.
fn failure() -> Verdict {
    Verdict::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_SERVER_ERROR", "Internal server error")
}

/// Returns what a caller is told while the database cannot be used.
fn unavailable() -> Verdict {
    Verdict::new(StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE, "Service temporarily unavailable")
}

/// A refusal with the usual status.
fn refusal(code: &'static str, text: impl fmt::Display) -> Verdict {
    Verdict::new(StatusCode::BAD_REQUEST, code, text)
}

/// Returns the part of the table for accounts.
fn account(refused: &AccountError) -> Verdict {
    let last = |entity: &str| {
        refusal("CANNOT_DEACTIVATE_LAST_USER", refused).with("is_last_owner", entity != "user").with("entity", entity)
    };
    match refused {
        AccountError::OwnLastOwner => last("organization owner"),
        AccountError::OwnLastUser => last("user"),
        AccountError::NotAllowed(_)
        | AccountError::NoSuchUser
        | AccountError::FullName(_)
        | AccountError::Email(_)
        | AccountError::Timezone(_)
        | AccountError::EmailTaken(_)
        | AccountError::OutsideDomains(_)
        | AccountError::PlusSign
        | AccountError::Disposable
        | AccountError::Password(_)
        | AccountError::WrongPassword
        | AccountError::LastOwnerRole
        | AccountError::LastOwner => refusal(BAD_REQUEST, refused),
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let verdict = self.verdict();
        if verdict.status.is_server_error() {
            tracing::error!(error = chain(&self), "a request failed");
        }
        let mut response = Response::new(Body::from(verdict.body().to_string()));
        *response.status_mut() = verdict.status;
        self.add_headers(verdict.status, response.headers_mut());
        response
    }
}

/// A failure with all its causes, in one line.
fn chain(fault: &dyn Error) -> String {
    let mut text = fault.to_string();
    let mut cause = fault.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests;

//! Every refusal and failure, and the one table from each to status, code, text and further keys.
//!
//! An endpoint returns the cause; what a caller sees of it is decided here and nowhere else. A failure is logged
//! here too, once, where it becomes an answer, and the caller never sees its text.

mod bots;
mod browser;
mod channels;
mod domains;
mod groups;
mod invites;
mod messages;
mod organization_items;
mod profile;
mod push;
mod request;
mod retry;
mod settings;
mod unsent_messages;
mod workflows;

use std::error::Error;
use std::fmt;
use std::io::ErrorKind;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use chat_core::channels::ChannelError;
use chat_core::event_log::event::UnsupportedNarrowOperator;
use chat_core::files::FileStoreError;
use chat_core::id::EventId;
use chat_core::messages::draft::SavedDraftError;
use chat_core::messages::edit::{EditHistoryHidden, MessageDeleteError, MessageEditError};
use chat_core::messages::narrow::{MessageWindowError, NarrowError};
use chat_core::messages::reaction::ReactionError;
use chat_core::messages::reminders::ReminderError;
use chat_core::messages::scheduled::ScheduledMessageError;
use chat_core::messages::widget::WidgetError;
use chat_core::model::channel::ChannelNameError;
use chat_core::model::flag_change::FlagChangeError;
use chat_core::model::message::{MessageContentError, MessageFlagError, TopicError};
use chat_core::model::user::{FullNameError, MalformedEmail};
use chat_core::organization::email_domains::RealmDomainError;
use chat_core::people::bots::BotError;
use chat_core::people::custom_profile_fields::{ProfileFieldError, ProfileFieldValueError};
use chat_core::people::email_change::EmailChangeError;
use chat_core::people::groups::UserGroupError;
use chat_core::people::invitation::{InvitationError, JoinError};
use chat_core::people::presence::{PresenceError, UnknownPresenceStatus};
use chat_core::people::typing_notifications::TypingError;
use chat_core::permission::access::{ChannelNotFound, MessageNotFound, PermissionError, TopicNotFound};
use chat_core::permission::account_administration::AccountChangeError;
use chat_core::permission::channel_membership::MembershipChangeError;
use chat_core::permission::send_message::SendError;
use chat_core::push_notifications::PushError;
use chat_core::{DatabaseUnavailable, StoreError};

use crate::api_response;
use crate::authentication::{AuthenticationError, AuthorizationHeaderError, PasswordLoginError};
use crate::params::{ParamError, RawRequestParamsError};
use crate::rate::RateLimitExceededError;

pub use browser::BrowserRequestError;
pub(crate) use invites::ErrorPage;
pub use organization_items::OrganizationItemError;
pub use settings::SettingChangeError;

/// Every code there is, for who has to know them all.
pub(crate) const ERROR_CODES: [&str; 30] = [
    BAD_REQUEST,
    UNAUTHORIZED,
    "AUTHENTICATION_FAILED",
    "BAD_EVENT_QUEUE_ID",
    "BAD_IMAGE",
    "BAD_NARROW",
    "CANNOT_DEACTIVATE_GROUP_IN_USE",
    "CANNOT_DEACTIVATE_LAST_USER",
    "CHANNEL_ALREADY_EXISTS",
    "CSRF_FAILED",
    "EXPECTATION_MISMATCH",
    "INTERNAL_SERVER_ERROR",
    "INVALID_PUSH_DEVICE_TOKEN",
    "INVALID_REMOTE_PUSH_DEVICE_TOKEN",
    "INVITATION_FAILED",
    "METHOD_NOT_ALLOWED",
    "MOVE_MESSAGES_TIME_LIMIT_EXCEEDED",
    "PUSH_SERVICE_NOT_CONFIGURED",
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

/// The error of an API request, from which status, code and text of the response follow.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// A parameter is missing or wrong.
    #[error(transparent)]
    Parameter(#[from] ParamError),
    /// Query or body cannot be read at all.
    #[error(transparent)]
    Form(#[from] RawRequestParamsError),
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
    Credentials(#[from] AuthorizationHeaderError),
    /// The credentials are refused.
    #[error(transparent)]
    Authentication(#[from] AuthenticationError),
    /// The password is refused.
    #[error(transparent)]
    Login(#[from] PasswordLoginError),
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
    Throttled(#[from] RateLimitExceededError),
    /// The caller may not do this at all.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// An account may not become that.
    #[error(transparent)]
    Account(#[from] AccountChangeError),
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
    Invite(#[from] InvitationError),
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
    Browser(#[from] BrowserRequestError),
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
    Group(#[from] UserGroupError),
    /// A bot stays as it is.
    #[error(transparent)]
    Bot(#[from] BotError),
    /// The domains of the realm stay as they are.
    #[error(transparent)]
    Domain(#[from] RealmDomainError),
    /// A profile field stays as it is.
    #[error(transparent)]
    ProfileField(#[from] ProfileFieldError),
    /// An answer to a profile field is none.
    #[error(transparent)]
    ProfileAnswer(#[from] ProfileFieldValueError),
    /// The caller may not enter, leave, make or fill a channel.
    #[error(transparent)]
    Membership(#[from] MembershipChangeError),
    /// A message is not there for the caller.
    #[error(transparent)]
    NoMessage(#[from] MessageNotFound),
    /// A text is no message's.
    #[error(transparent)]
    Content(#[from] MessageContentError),
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
    Draft(#[from] SavedDraftError),
    /// A message is not scheduled, or stays as it is.
    #[error(transparent)]
    Scheduled(#[from] ScheduledMessageError),
    /// A reminder is not stored, or not there.
    #[error(transparent)]
    Reminder(#[from] ReminderError),
    /// No receiver is notified that the caller types.
    #[error(transparent)]
    Typing(#[from] TypingError),
    /// A message may not be changed so.
    #[error(transparent)]
    Edit(#[from] MessageEditError),
    /// What messages were before is not shown.
    #[error(transparent)]
    EditHistory(#[from] EditHistoryHidden),
    /// A message may not be deleted.
    #[error(transparent)]
    Delete(#[from] MessageDeleteError),
    /// A flag is unknown or not the caller's to set.
    #[error(transparent)]
    Flag(#[from] MessageFlagError),
    /// A flag cannot be set so.
    #[error(transparent)]
    FlagChange(#[from] FlagChangeError),
    /// A reaction cannot be added or taken away.
    #[error(transparent)]
    Reaction(#[from] ReactionError),
    /// A sign of life says nothing that is known.
    #[error(transparent)]
    Status(#[from] UnknownPresenceStatus),
    /// Of someone nothing can be said.
    #[error(transparent)]
    Presence(#[from] PresenceError),
    /// A setting is not changed.
    #[error(transparent)]
    Setting(#[from] SettingChangeError),
    /// What an organization keeps stays as it is, or a file is not taken.
    #[error(transparent)]
    OrganizationItem(#[from] OrganizationItemError),
    /// A topic is not there for the caller.
    #[error(transparent)]
    NoTopic(#[from] TopicNotFound),
    /// A narrow selects nothing that could be.
    #[error(transparent)]
    Narrow(#[from] NarrowError),
    /// Messages are asked for where there can be none, or too many.
    #[error(transparent)]
    Window(#[from] MessageWindowError),
    /// A queue cannot be narrowed so.
    #[error(transparent)]
    QueueNarrow(#[from] UnsupportedNarrowOperator),
    /// A queue is not there for the caller.
    #[error("Bad event queue ID: {queue_id}")]
    NoQueue {
        /// As asked for.
        queue_id: String,
    },
    /// A queue is asked for what follows an event that was never sent.
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
    Internal(#[from] InternalError),
}

/// A failure of the server or of a service behind it. Its text is for the log.
#[derive(Debug)]
pub struct InternalError {
    what: &'static str,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl InternalError {
    /// Creates an internal error with its cause.
    pub fn new(what: &'static str, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { what, cause: Some(cause.into()) }
    }

    /// Creates an internal error without a cause.
    #[must_use]
    pub const fn without_cause(what: &'static str) -> Self {
        Self { what, cause: None }
    }

    /// Returns whether the database, or the disk behind it, cannot be used at the moment: the same request may succeed
    /// later.
    fn is_unavailable(&self) -> bool {
        let mut next: Option<&(dyn Error + 'static)> = Some(self);
        while let Some(error) = next {
            let io = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
            if error.is::<DatabaseUnavailable>()
                || matches!(io, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
            {
                return true;
            }
            next = error.source();
        }
        false
    }
}

impl fmt::Display for InternalError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.what)
    }
}

impl Error for InternalError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        if error.is_search_timeout() {
            return Self::SearchTooCostly;
        }
        InternalError::new("the database was not asked", error).into()
    }
}

impl From<FileStoreError> for ApiError {
    fn from(error: FileStoreError) -> Self {
        InternalError::new("a file was neither kept nor found", error).into()
    }
}

/// The status, code, text and further members of an error response.
struct ErrorResponse {
    status: StatusCode,
    code: &'static str,
    text: String,
    more: Map<String, Value>,
}

impl ErrorResponse {
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

impl ApiError {
    /// Writes down, in one line with all its causes, that something failed that nobody asked for.
    pub(crate) fn log(&self, what: &'static str) {
        tracing::error!(error = chain(self), "{what}");
    }

    /// Returns the table.
    ///
    /// # Source
    /// Specification, "Errors"; where it is silent, the codes and texts existing clients know. Not specified: the
    /// status of a parameter error is 400, and the code of 404 and 413 is the general one, because no client
    /// knows another.
    fn error_response(&self) -> ErrorResponse {
        match self {
            Self::Parameter(error) => request::parameter(error),
            Self::Form(error) => request::form(*error),
            Self::BodyTooLarge { limit_bytes } => request::too_large(*limit_bytes),
            Self::BodyBroken => ErrorResponse::new(StatusCode::BAD_REQUEST, BAD_REQUEST, "The request broke off"),
            Self::Credentials(error) => ErrorResponse::new(StatusCode::UNAUTHORIZED, UNAUTHORIZED, error),
            Self::Internal(failure) if failure.is_unavailable() => unavailable(),
            Self::Panicked(_) | Self::Internal(_) => failure(),
            Self::Authentication(error) => ErrorResponse::new(StatusCode::UNAUTHORIZED, UNAUTHORIZED, error),
            Self::Login(error) => settings::login(*error),
            Self::Send(error) => messages::send(error),
            Self::Typing(error) => unsent_messages::typing(error),
            Self::Scheduled(error) => unsent_messages::scheduled(error),
            Self::Reminder(error) => unsent_messages::reminder(*error),
            Self::Draft(error) => unsent_messages::draft(error),
            Self::Edit(error) => messages::edit(error),
            Self::Reaction(error) => messages::reaction(error),
            Self::Account(error) => account(error),
            Self::Setting(error) => settings::error_response(error),
            Self::OrganizationItem(error) => organization_items::error_response(error),
            Self::Invite(error) => invites::invite(error),
            Self::Join(error) => invites::join(error),
            Self::Address(error) => invites::address(error),
            Self::Browser(error) => browser::error_response(error),
            Self::Channel(error) => channels::channel(error),
            Self::Group(error) => groups::group(error),
            Self::Bot(error) => bots::bot(error),
            Self::Domain(error) => domains::domain(error),
            Self::ProfileField(error) => profile::field(error),
            Self::ProfileAnswer(error) => profile::answer(error),
            Self::Push(error) => push::error_response(error),
            Self::Narrow(error) => bad_request("BAD_NARROW", error).with("desc", error.desc.as_str()),
            Self::NoQueue { queue_id } => bad_request("BAD_EVENT_QUEUE_ID", self).with("queue_id", queue_id.as_str()),
            Self::NotAllowed(_)
            | Self::Widget(_)
            | Self::EditHistory(_)
            | Self::FullName(_)
            | Self::Email(_)
            | Self::ForDevelopment
            | Self::NoChannel(_)
            | Self::ChannelName(_)
            | Self::Membership(_)
            | Self::NoMessage(_)
            | Self::Content(_)
            | Self::Topic(_)
            | Self::Delete(_)
            | Self::Flag(_)
            | Self::FlagChange(_)
            | Self::Status(_)
            | Self::Presence(_)
            | Self::NoTopic(_)
            | Self::Window(_)
            | Self::QueueNarrow(_)
            | Self::NotInQueue { .. }
            | Self::SearchTooCostly
            | Self::NotAuthorizedForQuery => bad_request(BAD_REQUEST, self),
            Self::UnknownRoute => ErrorResponse::new(StatusCode::NOT_FOUND, BAD_REQUEST, "Not Found"),
            Self::MethodNotAllowed { allowed } => request::wrong_method(allowed),
            Self::Throttled(exceeded) => request::throttled(exceeded),
        }
    }

    /// Returns whether the request shows no credentials that open an account.
    pub(crate) fn is_unauthorized(&self) -> bool {
        self.error_response().status == StatusCode::UNAUTHORIZED
    }

    /// What goes into the head of the answer.
    fn add_headers(&self, status: StatusCode, headers: &mut HeaderMap) {
        headers.insert(CONTENT_TYPE, api_response::JSON);
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
            exceeded.status.add_headers(headers);
        }
    }
}

/// Returns the response to an internal error.
fn failure() -> ErrorResponse {
    ErrorResponse::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_SERVER_ERROR", "Internal server error")
}

/// Returns the response while the database cannot be used.
fn unavailable() -> ErrorResponse {
    ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE, "Service temporarily unavailable")
}

/// A refusal with the usual status.
fn bad_request(code: &'static str, text: impl fmt::Display) -> ErrorResponse {
    ErrorResponse::new(StatusCode::BAD_REQUEST, code, text)
}

/// Returns the part of the table for accounts.
fn account(error: &AccountChangeError) -> ErrorResponse {
    let last = |entity: &str| {
        bad_request("CANNOT_DEACTIVATE_LAST_USER", error).with("is_last_owner", entity != "user").with("entity", entity)
    };
    match error {
        AccountChangeError::OwnLastOwner => last("organization owner"),
        AccountChangeError::OwnLastUser => last("user"),
        AccountChangeError::NotAllowed(_)
        | AccountChangeError::NoSuchUser
        | AccountChangeError::FullName(_)
        | AccountChangeError::Email(_)
        | AccountChangeError::Timezone(_)
        | AccountChangeError::EmailTaken(_)
        | AccountChangeError::OutsideDomains(_)
        | AccountChangeError::PlusSign
        | AccountChangeError::Disposable
        | AccountChangeError::Password(_)
        | AccountChangeError::WrongPassword
        | AccountChangeError::LastOwnerRole
        | AccountChangeError::LastOwner => bad_request(BAD_REQUEST, error),
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error_response = self.error_response();
        if error_response.status.is_server_error() {
            tracing::error!(error = chain(&self), "a request failed");
        }
        let mut response = Response::new(Body::from(error_response.body().to_string()));
        *response.status_mut() = error_response.status;
        self.add_headers(error_response.status, response.headers_mut());
        response
    }
}

/// A failure with all its causes, in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests;

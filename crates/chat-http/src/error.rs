//! Every refusal and failure, and the one table from each to status, code, text and further keys.
//!
//! An endpoint returns the cause; what a caller sees of it is decided here and nowhere else. A failure is logged
//! here too, once, where it becomes an answer, and the caller never sees its text.

use std::error::Error;
use std::fmt;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use crate::answer;
use crate::auth::{CredentialsFault, Unauthenticated};
use crate::params::{ParamFault, RawFault};
use crate::rate::Exceeded;

/// The code of everything that has none of its own.
const BAD_REQUEST: &str = "BAD_REQUEST";
const UNAUTHORIZED: &str = "UNAUTHORIZED";
/// What a 401 asks for.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Basic realm=\"chat\", charset=\"UTF-8\"");

/// Why a request is not answered with success.
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
    /// A handler panicked.
    #[error("a handler panicked: {0}")]
    Panicked(String),
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

    /// What failed, where there is no cause beneath.
    #[must_use]
    pub const fn said(what: &'static str) -> Self {
        Self { what, cause: None }
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
    /// The table.
    ///
    /// # Source
    /// Specification, "Errors"; where it is silent, the codes and texts existing clients know. Not specified: the
    /// status of a parameter fault is 400, and the code of 404 and 413 is the general one, because no client
    /// knows another.
    fn verdict(&self) -> Verdict {
        match self {
            Self::Parameter(fault) => parameter(fault),
            Self::Form(fault @ (RawFault::Malformed | RawFault::TooMany)) => {
                Verdict::new(StatusCode::BAD_REQUEST, BAD_REQUEST, fault)
            }
            Self::Form(fault @ RawFault::TooLarge) => Verdict::new(StatusCode::PAYLOAD_TOO_LARGE, BAD_REQUEST, fault),
            Self::BodyTooLarge { limit_bytes } => {
                let text = format!("The request is larger than the allowed limit of {limit_bytes} bytes");
                Verdict::new(StatusCode::PAYLOAD_TOO_LARGE, BAD_REQUEST, text)
            }
            Self::BodyBroken => Verdict::new(StatusCode::BAD_REQUEST, BAD_REQUEST, "The request broke off"),
            Self::Credentials(fault) => Verdict::new(StatusCode::UNAUTHORIZED, UNAUTHORIZED, fault),
            Self::Unauthenticated(Unauthenticated::Failed(_)) | Self::Panicked(_) | Self::Failed(_) => {
                Verdict::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_SERVER_ERROR", "Internal server error")
            }
            Self::Unauthenticated(
                refused @ (Unauthenticated::UnknownKey
                | Unauthenticated::RealmDeactivated
                | Unauthenticated::AccountDeactivated
                | Unauthenticated::IncomingWebhook),
            ) => Verdict::new(StatusCode::UNAUTHORIZED, UNAUTHORIZED, refused),
            Self::UnknownRoute => Verdict::new(StatusCode::NOT_FOUND, BAD_REQUEST, "Not Found"),
            Self::MethodNotAllowed { allowed } => {
                Verdict::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "Method Not Allowed")
                    .with("allowed_methods", allowed.clone())
            }
            Self::Throttled(exceeded) => {
                Verdict::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMIT_HIT", "API usage exceeded rate limit")
                    .with("retry-after", exceeded.retry_after.as_secs_f64())
            }
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
        if let Self::Throttled(exceeded) = self {
            headers.insert(RETRY_AFTER, exceeded.retry_after_s().into());
            exceeded.standing.add_headers(headers);
        }
    }
}

/// The part of the table for parameters. Which texts exist is beside the causes, in [`ParamFault`].
///
/// # Source
/// Specification, "Errors": an invalid or missing parameter is `BAD_REQUEST`. The further keys are what existing
/// clients know.
fn parameter(fault: &ParamFault) -> Verdict {
    let bad = |code| Verdict::new(StatusCode::BAD_REQUEST, code, fault);
    match fault {
        ParamFault::Missing { name } => bad(BAD_REQUEST).with("var_name", *name),
        ParamFault::Unreadable { name, shown } => {
            bad(BAD_REQUEST).with("var_name", *name).with("bad_value", shown.as_str())
        }
        ParamFault::Confusing { first, second } => {
            bad("REQUEST_CONFUSING_VAR").with("var_name1", *first).with("var_name2", *second)
        }
        ParamFault::Incompatible { names } => bad(BAD_REQUEST).with("parameters", names.join(", ")),
        ParamFault::NotJson { .. }
        | ParamFault::WrongType { .. }
        | ParamFault::NotAWord { .. }
        | ParamFault::NotListed { .. }
        | ParamFault::Blank { .. }
        | ParamFault::TooLong { .. }
        | ParamFault::TooSmall { .. }
        | ParamFault::TooLarge { .. }
        | ParamFault::KeyMissing { .. }
        | ParamFault::KeyMissingFrom { .. }
        | ParamFault::KeyUnexpected { .. }
        | ParamFault::Recipients(_) => bad(BAD_REQUEST),
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

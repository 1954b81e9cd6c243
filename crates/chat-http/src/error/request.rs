//! The part of the table for requests that reach no endpoint, and for parameters.

use http::StatusCode;

use super::{BAD_REQUEST, ErrorResponse};
use crate::params::{ParamError, RawRequestParamsError};
use crate::rate::RateLimitExceededError;

pub(super) fn form(error: RawRequestParamsError) -> ErrorResponse {
    let status = match error {
        RawRequestParamsError::Malformed | RawRequestParamsError::TooMany => StatusCode::BAD_REQUEST,
        RawRequestParamsError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
    };
    ErrorResponse::new(status, BAD_REQUEST, error)
}

pub(super) fn too_large(limit_bytes: usize) -> ErrorResponse {
    let text = format!("The request is larger than the allowed limit of {limit_bytes} bytes");
    ErrorResponse::new(StatusCode::PAYLOAD_TOO_LARGE, BAD_REQUEST, text)
}

pub(super) fn wrong_method(allowed: &[String]) -> ErrorResponse {
    ErrorResponse::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "Method Not Allowed")
        .with("allowed_methods", allowed.to_vec())
}

pub(super) fn throttled(exceeded: &RateLimitExceededError) -> ErrorResponse {
    ErrorResponse::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMIT_HIT", "API usage exceeded rate limit")
        .with("retry-after", exceeded.retry_after.as_secs_f64())
}

/// Returns the part of the table for parameters. Which texts exist is beside the causes, in [`ParamError`].
///
/// # Source
/// Specification, "Errors": an invalid or missing parameter is `BAD_REQUEST`. The further keys are what existing
/// clients know.
pub(super) fn parameter(error: &ParamError) -> ErrorResponse {
    let bad = |code| ErrorResponse::new(StatusCode::BAD_REQUEST, code, error);
    match error {
        ParamError::Missing { name } => bad(BAD_REQUEST).with("var_name", *name),
        ParamError::Unreadable { name, shown } => {
            bad(BAD_REQUEST).with("var_name", *name).with("bad_value", shown.as_str())
        }
        ParamError::Confusing { first, second } => {
            bad("REQUEST_CONFUSING_VAR").with("var_name1", *first).with("var_name2", *second)
        }
        ParamError::Incompatible { names } => bad(BAD_REQUEST).with("parameters", names.join(", ")),
        ParamError::NotJson { .. }
        | ParamError::WrongType { .. }
        | ParamError::NotAWord { .. }
        | ParamError::NotListed { .. }
        | ParamError::Unfit { .. }
        | ParamError::UnknownProperty { .. }
        | ParamError::NothingToDo
        | ParamError::Blank { .. }
        | ParamError::TooLong { .. }
        | ParamError::TooSmall { .. }
        | ParamError::TooLarge { .. }
        | ParamError::KeyMissing { .. }
        | ParamError::KeyUnexpected { .. }
        | ParamError::NotAPair { .. }
        | ParamError::Operand(_)
        | ParamError::Recipients(_) => bad(BAD_REQUEST),
    }
}

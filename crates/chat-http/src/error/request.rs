//! The part of the table for requests that reach no endpoint, and for parameters.

use http::StatusCode;

use super::{BAD_REQUEST, Verdict};
use crate::params::{ParamFault, RawFault};
use crate::rate::Exceeded;

pub(super) fn form(fault: RawFault) -> Verdict {
    let status = match fault {
        RawFault::Malformed | RawFault::TooMany => StatusCode::BAD_REQUEST,
        RawFault::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
    };
    Verdict::new(status, BAD_REQUEST, fault)
}

pub(super) fn too_large(limit_bytes: usize) -> Verdict {
    let text = format!("The request is larger than the allowed limit of {limit_bytes} bytes");
    Verdict::new(StatusCode::PAYLOAD_TOO_LARGE, BAD_REQUEST, text)
}

pub(super) fn wrong_method(allowed: &[String]) -> Verdict {
    Verdict::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "Method Not Allowed")
        .with("allowed_methods", allowed.to_vec())
}

pub(super) fn throttled(exceeded: &Exceeded) -> Verdict {
    Verdict::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMIT_HIT", "API usage exceeded rate limit")
        .with("retry-after", exceeded.retry_after.as_secs_f64())
}

/// Returns the part of the table for parameters. Which texts exist is beside the causes, in [`ParamFault`].
///
/// # Source
/// Specification, "Errors": an invalid or missing parameter is `BAD_REQUEST`. The further keys are what existing
/// clients know.
pub(super) fn parameter(fault: &ParamFault) -> Verdict {
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
        | ParamFault::Unfit { .. }
        | ParamFault::UnknownProperty { .. }
        | ParamFault::NothingToDo
        | ParamFault::Blank { .. }
        | ParamFault::TooLong { .. }
        | ParamFault::TooSmall { .. }
        | ParamFault::TooLarge { .. }
        | ParamFault::KeyMissing { .. }
        | ParamFault::KeyUnexpected { .. }
        | ParamFault::NotAPair { .. }
        | ParamFault::Operand(_)
        | ParamFault::Recipients(_) => bad(BAD_REQUEST),
    }
}

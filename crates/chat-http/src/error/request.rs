//! The part of the table for requests that reach no endpoint.

use http::StatusCode;

use super::{BAD_REQUEST, Verdict};
use crate::params::RawFault;
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

//! The part of the table for domains.

use chat_core::organization::domains::DomainError;

use super::{BAD_REQUEST, ErrorResponse, bad_request};

pub(super) fn domain(error: &DomainError) -> ErrorResponse {
    match error {
        DomainError::NotAllowed(_)
        | DomainError::Malformed(_)
        | DomainError::Taken(_)
        | DomainError::Unknown(_)
        | DomainError::TooMany => bad_request(BAD_REQUEST, error),
    }
}

//! The part of the table for domains.

use chat_core::organization::email_domains::RealmDomainError;

use super::{BAD_REQUEST, ErrorResponse, bad_request};

pub(super) fn domain(error: &RealmDomainError) -> ErrorResponse {
    match error {
        RealmDomainError::NotAllowed(_)
        | RealmDomainError::Malformed(_)
        | RealmDomainError::Taken(_)
        | RealmDomainError::Unknown(_)
        | RealmDomainError::TooMany => bad_request(BAD_REQUEST, error),
    }
}

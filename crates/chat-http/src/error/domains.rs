//! The part of the table for domains.

use chat_core::organization::domains::DomainError;

use super::{BAD_REQUEST, Verdict, refusal};

pub(super) fn domain(refused: &DomainError) -> Verdict {
    match refused {
        DomainError::NotAllowed(_)
        | DomainError::Malformed(_)
        | DomainError::Taken(_)
        | DomainError::Unknown(_)
        | DomainError::TooMany => refusal(BAD_REQUEST, refused),
    }
}

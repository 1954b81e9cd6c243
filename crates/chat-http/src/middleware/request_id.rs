//! The name of one request: in its answer, and in every log line written while it runs.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::limits::REQUEST_ID_MAX_BYTES;
use crate::state::Outside;

/// The header that carries the name, both ways.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The caller's name for the request when it is well formed, else a fresh one.
///
/// Not specified; letters, digits, `.`, `_` and `-`, because whatever a caller sends here ends up in logs, where
/// anything else could forge lines.
pub(crate) fn of(headers: &HeaderMap, outside: &dyn Outside) -> HeaderValue {
    let sent = headers.get(HEADER).filter(|sent| well_formed(sent.as_bytes()));
    sent.cloned().unwrap_or_else(|| fresh(outside))
}

fn fresh(outside: &dyn Outside) -> HeaderValue {
    let name = format!("{:032x}", outside.fresh_id());
    HeaderValue::try_from(name).unwrap_or(HeaderValue::from_static("none"))
}

fn well_formed(name: &[u8]) -> bool {
    (1..=REQUEST_ID_MAX_BYTES).contains(&name.len())
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_plain_characters_is_taken() {
        for name in ["a", "Req.1_2-3", &"x".repeat(REQUEST_ID_MAX_BYTES)] {
            assert!(well_formed(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_name_that_could_forge_a_log_line_is_not_taken() {
        for name in ["", "a b", "a\"b", "a\u{7f}", "é", &"x".repeat(REQUEST_ID_MAX_BYTES + 1)] {
            assert!(!well_formed(name.as_bytes()), "{name}");
        }
    }
}

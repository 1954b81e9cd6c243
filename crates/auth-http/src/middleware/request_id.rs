//! The name of one request: in its answer, and in every log line written while it runs.

use http::{HeaderMap, HeaderName, HeaderValue};
use oauth_core::env::Env;

/// The header that carries the name, both ways.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Longest name taken from a caller, in bytes.
const MAX_BYTES: usize = 64;

/// The caller's name for the request when it is well formed, else a fresh one of 128 bits.
///
/// Not specified; letters, digits, `.`, `_` and `-`, because whatever a caller sends here ends up
/// in logs, where anything else could forge lines.
pub(crate) fn of(headers: &HeaderMap, env: &Env<'_>) -> Option<HeaderValue> {
    headers
        .get(HEADER)
        .filter(|sent| well_formed(sent.as_bytes()))
        .cloned()
        .or_else(|| HeaderValue::try_from(env.identifier()).ok())
}

fn well_formed(name: &[u8]) -> bool {
    (1..=MAX_BYTES).contains(&name.len())
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::well_formed;

    #[test]
    fn a_name_of_plain_characters_is_taken() {
        for name in ["a", "Req.1_2-3", &"x".repeat(64)] {
            assert!(well_formed(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_name_that_could_forge_a_log_line_is_not_taken() {
        for name in ["", "a b", "a\"b", "a\u{7f}", "é", &"x".repeat(65)] {
            assert!(!well_formed(name.as_bytes()), "{name}");
        }
    }
}

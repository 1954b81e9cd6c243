//! The id of one request: in its response, and in every log line that is written while it runs.

use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header of the request id in requests and responses: `x-request-id`.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Returns the caller's request id when it is well formed and short enough, else a fresh one.
///
/// Not specified; letters, digits, `.`, `_` and `-`, because an id is written to logs, where any other character could
/// forge lines.
pub fn caller_request_id_or_fresh(
    headers: &HeaderMap,
    max_bytes: usize,
    fresh: impl FnOnce() -> HeaderValue,
) -> HeaderValue {
    let sent = headers.get(REQUEST_ID_HEADER).filter(|sent| is_well_formed(sent.as_bytes(), max_bytes));
    // A copy, because the field itself would keep the whole buffer that it was read into.
    let sent = sent.and_then(|sent| HeaderValue::from_bytes(sent.as_bytes()).ok());
    sent.unwrap_or_else(fresh)
}

/// A generator of request ids that are unique across servers: steps from a random start. The ids need not be secret,
/// and drawing each at random took longer than routing a request.
#[derive(Debug)]
pub struct RequestIdGenerator {
    start: u128,
    given: AtomicU64,
}

/// Odd, so that no id repeats; with digits all over, so that neighbors do not look alike.
const STEP: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;

impl RequestIdGenerator {
    /// Creates a generator that begins at `start`, a random number.
    #[must_use]
    pub fn new(start: u128) -> Self {
        Self { start, given: AtomicU64::new(0) }
    }

    /// Returns the next id, 32 hexadecimal digits.
    pub fn next_id(&self) -> HeaderValue {
        let number = u128::from(self.given.fetch_add(1, Ordering::Relaxed));
        let digits = hexadecimal(self.start.wrapping_add(number.wrapping_mul(STEP)));
        HeaderValue::from_bytes(&digits).unwrap_or(HeaderValue::from_static("none"))
    }
}

/// Returns the 32 digits of a number. Written out, because every request needs one and the formatter takes five times
/// as long.
fn hexadecimal(number: u128) -> [u8; 32] {
    let mut digits = [0; 32];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(number.to_be_bytes()) {
        pair.copy_from_slice(
            &[byte >> 4, byte & 0xF].map(|digit| if digit < 10 { b'0' + digit } else { b'a' - 10 + digit }),
        );
    }
    digits
}

fn is_well_formed(id: &[u8], max_bytes: usize) -> bool {
    (1..=max_bytes).contains(&id.len()) && id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_formatter() {
        for number in [0, 1, 0x0123_4567_89AB_CDEF, STEP, u128::MAX] {
            assert_eq!(hexadecimal(number), *format!("{number:032x}").as_bytes());
        }
    }

    #[test]
    fn an_id_of_plain_characters_is_taken() {
        for id in ["a", "Req.1_2-3", &"x".repeat(64)] {
            assert!(is_well_formed(id.as_bytes(), 64), "{id}");
        }
    }

    #[test]
    fn an_id_that_could_forge_a_log_line_is_not_taken() {
        for id in ["", "a b", "a\"b", "a\u{7f}", "é", &"x".repeat(65)] {
            assert!(!is_well_formed(id.as_bytes(), 64), "{id}");
        }
    }
}

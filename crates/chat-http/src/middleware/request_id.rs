//! The name of one request: in its answer, and in every log line written while it runs.

use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::limits::REQUEST_ID_MAX_BYTES;
use crate::state::Outside;

/// The header that carries the name, both ways.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The caller's name for the request when it is well formed, else a fresh one.
///
/// Not specified; letters, digits, `.`, `_` and `-`, because whatever a caller sends here ends up in logs, where
/// anything else could forge lines.
pub(crate) fn of(headers: &HeaderMap, names: &Names) -> HeaderValue {
    let sent = headers.get(HEADER).filter(|sent| well_formed(sent.as_bytes()));
    // A copy: the field itself would keep the whole buffer that it was read into.
    let sent = sent.and_then(|sent| HeaderValue::from_bytes(sent.as_bytes()).ok());
    sent.unwrap_or_else(|| names.fresh())
}

/// Names that no other request has, of this server or another: steps from a place drawn by chance. They need not be
/// secret, and drawing each took longer than looking up its route.
pub(crate) struct Names {
    start: u128,
    given: AtomicU64,
}

/// Odd, so that no name comes twice; with digits all over, so that neighbours do not look alike.
const STEP: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;

impl Names {
    pub(crate) fn new(outside: &dyn Outside) -> Self {
        Self { start: outside.fresh_id(), given: AtomicU64::new(0) }
    }

    pub(crate) fn fresh(&self) -> HeaderValue {
        let number = u128::from(self.given.fetch_add(1, Ordering::Relaxed));
        let digits = hexadecimal(self.start.wrapping_add(number.wrapping_mul(STEP)));
        HeaderValue::from_bytes(&digits).unwrap_or(HeaderValue::from_static("none"))
    }
}

/// The 32 digits of a number. By hand, because every request has one, and the formatter takes five times as long.
fn hexadecimal(number: u128) -> [u8; 32] {
    let mut digits = [0; 32];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(number.to_be_bytes()) {
        pair.copy_from_slice(
            &[byte >> 4, byte & 0xF].map(|digit| if digit < 10 { b'0' + digit } else { b'a' - 10 + digit }),
        );
    }
    digits
}

fn well_formed(name: &[u8]) -> bool {
    (1..=REQUEST_ID_MAX_BYTES).contains(&name.len())
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
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

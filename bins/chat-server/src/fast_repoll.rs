//! Polls that a client sends again with another number, answered without the HTTP library.
//!
//! A client that polls sends the same bytes again and again but for the number of the last event it has. When a poll
//! was answered whose head is known, and the next bytes of the connection are that head with another number, then all
//! that the library, the routes and the checks of form would find is known: reading it once more was two thirds of what
//! an event took (`docs/performance-log.md`). What may have changed since is checked again
//! ([`chat_http::RepollableRequest`]).
//!
//! Only the plainest conversation is had here: `GET`, HTTP/1.1, kept alive, the whole head in one piece, an answer of
//! status 200 whose size is known. With any byte that is not expected the stream goes back to the library, bytes and
//! all, so a mistake here costs time and no answer.

use std::time::SystemTime;

use http::header::{CONNECTION, CONTENT_LENGTH, DATE, TRANSFER_ENCODING};
use http::{Method, Request, Response, StatusCode, Version};
use subtle::ConstantTimeEq as _;

/// Longest head that is kept.
pub(crate) const HEAD_MAX_BYTES: usize = 1024;
/// Largest body that is copied behind its head.
const BODY_MAX_BYTES: u64 = 64 * 1024;
/// Characters of a number.
const DIGITS_MAX: usize = 19;
const END: &[u8] = b"\r\n\r\n";

/// Returns whether these bytes, read in one go, may be one whole head.
pub(crate) fn is_whole_head(bytes: &[u8]) -> bool {
    bytes.len() <= HEAD_MAX_BYTES
        && bytes.starts_with(b"GET ")
        && bytes.ends_with(END)
        && bytes.windows(END.len()).filter(|window| *window == END).count() == 1
}

/// Returns whether a request may be answered here when it comes again, and these bytes are its head.
pub(crate) fn is_plain<B>(request: &Request<B>, head: &[u8]) -> bool {
    let mut connection = request.headers().get_all(CONNECTION).iter();
    let keeps_alive = connection.next().is_none_or(|value| value.as_bytes().eq_ignore_ascii_case(b"keep-alive"));
    let target = request.uri().path_and_query().map_or("", |target| target.as_str());
    request.method() == Method::GET
        && request.version() == Version::HTTP_11
        && keeps_alive
        && connection.next().is_none()
        && head.strip_prefix(b"GET ").and_then(|rest| rest.strip_prefix(target.as_bytes())).is_some_and(starts_fields)
}

fn starts_fields(rest: &[u8]) -> bool {
    rest.starts_with(b" HTTP/1.1\r\n")
}

/// A head, to be recognised when it comes with another number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// Up to the number.
    before: Box<[u8]>,
    /// From the number on. The credentials are in it, so it is compared in constant time.
    after: Box<[u8]>,
}

impl Pattern {
    /// `None` where the query of the head has not exactly one parameter of that name, or a name in another spelling
    /// that might be that one.
    pub(crate) fn of(head: &[u8], parameter: &str) -> Option<Self> {
        let line_end = head.windows(2).position(|window| window == b"\r\n")?;
        let line = head.get(..line_end)?;
        let query_start = line.iter().position(|byte| *byte == b'?')? + 1;
        let query_end = line.iter().rposition(|byte| *byte == b' ')?;
        let query = line.get(query_start..query_end)?;
        let (mut at, mut found) = (query_start, None);
        for pair in query.split(|byte| *byte == b'&') {
            let name_size = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
            let name = pair.get(..name_size)?;
            if name.iter().any(|byte| matches!(byte, b'%' | b'+')) {
                return None;
            }
            if name == parameter.as_bytes() {
                let value = at + name_size + 1..at + pair.len();
                head.get(value.clone()).and_then(number)?;
                if found.replace(value).is_some() {
                    return None;
                }
            }
            at += pair.len() + 1;
        }
        let value = found?;
        Some(Self { before: head.get(..value.start)?.into(), after: head.get(value.end..)?.into() })
    }

    /// Returns the number in `bytes`, when they are this head and nothing else.
    pub(crate) fn number(&self, bytes: &[u8]) -> Option<i64> {
        let from = bytes.strip_prefix(&*self.before)?;
        let size = from.len().checked_sub(self.after.len())?;
        let (digits, after) = from.split_at_checked(size)?;
        if after.ct_eq(&self.after).into() { number(digits) } else { None }
    }
}

/// A whole number as JSON writes it, in its one spelling.
fn number(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let (first, rest) = digits.split_first()?;
    let is_number = rest.len() < DIGITS_MAX
        && matches!((first, rest.is_empty(), digits.len() == text.len()), (b'1'..=b'9', ..) | (b'0', true, true))
        && rest.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(text).ok()?.parse().ok())?
}

/// Returns whether an answer is one that is written here: its head needs nothing but what is in it, a date, and its
/// size if that is not said.
pub(crate) fn is_ordinary<B: hyper::body::Body>(answer: &Response<B>) -> bool {
    let named = [CONNECTION, DATE, TRANSFER_ENCODING];
    answer.status() == StatusCode::OK
        && answer.body().size_hint().exact().is_some_and(|size_bytes| size_bytes <= BODY_MAX_BYTES)
        && named.iter().all(|name| !answer.headers().contains_key(name))
}

/// Returns the answer as it goes over the wire: as the HTTP library writes it.
pub(crate) fn written(answer: &Response<()>, body: &[u8], now: SystemTime) -> Vec<u8> {
    let mut text = Vec::with_capacity(256 + body.len());
    text.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    for (name, value) in answer.headers() {
        field(&mut text, name.as_str(), value.as_bytes());
    }
    if !answer.headers().contains_key(CONTENT_LENGTH) {
        field(&mut text, CONTENT_LENGTH.as_str(), body.len().to_string().as_bytes());
    }
    field(&mut text, DATE.as_str(), httpdate::fmt_http_date(now).as_bytes());
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(body);
    text
}

fn field(text: &mut Vec<u8>, name: &str, value: &[u8]) {
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b": ");
    text.extend_from_slice(value);
    text.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: &str = "GET /e?queue_id=a&last_event_id=7 HTTP/1.1\r\nhost: h\r\nauthorization: Basic YQ==\r\n\r\n";

    fn pattern(head: &str) -> Option<Pattern> {
        Pattern::of(head.as_bytes(), "last_event_id")
    }

    #[test]
    fn a_head_is_recognised_with_any_number() {
        let pattern = pattern(HEAD).unwrap();
        for number in [0, 7, -1, 1234, i64::MAX] {
            let again = HEAD.replace("=7 ", &format!("={number} "));
            assert_eq!(pattern.number(again.as_bytes()), Some(number), "{again}");
        }
    }

    #[test]
    fn what_differs_by_any_byte_is_not_recognised() {
        let pattern = pattern(HEAD).unwrap();
        for at in 0..HEAD.len() {
            let mut other = HEAD.as_bytes().to_vec();
            other[at] ^= 1;
            let digit = HEAD.find('7').unwrap();
            assert_eq!(pattern.number(&other).is_some(), at == digit, "{}", String::from_utf8_lossy(&other));
            assert_eq!(pattern.number(&HEAD.as_bytes()[..at]), None);
        }
        assert_eq!(pattern.number(format!("{HEAD}G").as_bytes()), None);
    }

    #[test]
    fn a_number_has_one_spelling() {
        let pattern = pattern(HEAD).unwrap();
        for other in ["", "-", "-0", "07", "+7", "7.0", "7e1", " 7", "%37", "99999999999999999999", "7&x=1"] {
            let again = HEAD.replace("=7 ", &format!("={other} "));
            assert_eq!(pattern.number(again.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_query_that_might_mean_another_number_has_no_pattern() {
        for query in [
            "",
            "?",
            "?queue_id=a",
            "?last_event_id",
            "?last_event_id=",
            "?last_event_id=x",
            "?last_event_id=7&last_event_id=8",
            "?last_event_id=7&last%5Fevent_id=8",
            "?last_event_id=7&last_event+id=8",
        ] {
            assert_eq!(pattern(&format!("GET /e{query} HTTP/1.1\r\n\r\n")), None, "{query}");
        }
        for query in ["?last_event_id=7", "?last_event_id=7&a=%20", "?last_event_idx=1&last_event_id=7&&b"] {
            assert!(pattern(&format!("GET /e{query} HTTP/1.1\r\n\r\n")).is_some(), "{query}");
        }
    }

    #[test]
    fn a_whole_head_is_one_and_all_there() {
        assert!(is_whole_head(HEAD.as_bytes()));
        let long = HEAD.replace("host: h", &format!("host: {}", "h".repeat(HEAD_MAX_BYTES)));
        for other in [&HEAD[1..], &HEAD[..HEAD.len() - 1], &HEAD.repeat(2), &HEAD.replace("GET", "PUT"), &long] {
            assert!(!is_whole_head(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_request_is_plain_by_what_the_library_read_of_it() {
        let request = |line: &str, connection: &[&str]| {
            let (method, rest) = line.split_once(' ').unwrap();
            let mut request = Request::builder().method(method).uri(rest);
            for value in connection {
                request = request.header(CONNECTION, *value);
            }
            request.body(()).unwrap()
        };
        let target = "GET /e?queue_id=a&last_event_id=7";
        for connection in [&[][..], &["keep-alive"], &["Keep-Alive"]] {
            assert!(is_plain(&request(target, connection), HEAD.as_bytes()), "{connection:?}");
        }
        for (line, connection) in [
            (target, &["close"][..]),
            (target, &["keep-alive", "close"]),
            (target, &["keep-alive, close"]),
            ("HEAD /e?queue_id=a&last_event_id=7", &[]),
            ("GET /e?queue_id=a&last_event_id=77", &[]),
            ("GET /e?queue_id=a&last_event_id=", &[]),
            ("GET /", &[]),
        ] {
            assert!(!is_plain(&request(line, connection), HEAD.as_bytes()), "{line} {connection:?}");
        }
    }

    proptest! {
        #[test]
        fn a_pattern_gives_back_the_number_it_was_made_with(
            before in "[a-z_]{0,9}(=[a-z0-9%+]{0,5})?",
            number: i64,
            fields in "(\r\n[a-z]{1,5}: [ -~]{0,9}){0,3}",
        ) {
            let head = |number: i64| format!("GET /e?{before}&last_event_id={number} HTTP/1.1{fields}\r\n\r\n");
            if let Some(pattern) = pattern(&head(number)) {
                prop_assert_eq!(pattern.number(head(number).as_bytes()), Some(number));
                prop_assert_eq!(pattern.number(head(8).as_bytes()), Some(8));
            } else {
                prop_assert_eq!(before, "last_event_id");
            }
        }

        #[test]
        fn no_bytes_are_a_reason_to_panic(head: Vec<u8>, bytes: Vec<u8>) {
            let _ = is_whole_head(&head);
            if let Some(pattern) = Pattern::of(&head, "a") {
                let _ = pattern.number(&bytes);
            }
        }
    }
}

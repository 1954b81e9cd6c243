//! Reading a body, up to a limit, and the JSON in it.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use bytes::{Bytes, BytesMut};
use fhir_service::error::ServiceError;
use fhir_store::body_validation;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::{BodyExt as _, Collected, LengthLimitError, Limited};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;

/// Returns the whole body, or the fault of being larger than `limit_bytes`.
///
/// A body that announces its size is refused before any of it is read.
pub(crate) async fn read(headers: &HeaderMap, body: Body, limit_bytes: usize) -> Result<Bytes, ApiError> {
    if announced(headers, &body).is_some_and(|length_bytes| length_bytes > limit_bytes) {
        return Err(ApiError::TooLarge { limit_bytes });
    }
    let whole = Limited::new(body, limit_bytes).collect().await;
    whole.map(Collected::to_bytes).map_err(|cause| broken(cause.as_ref(), limit_bytes))
}

fn broken(cause: &(dyn Error + Send + Sync + 'static), limit_bytes: usize) -> ApiError {
    if cause.is::<LengthLimitError>() { ApiError::TooLarge { limit_bytes } } else { ApiError::BodyBroken }
}

/// Returns the size a body announces, in bytes; `None` for one that is sent in pieces.
fn announced(headers: &HeaderMap, body: &Body) -> Option<usize> {
    let header = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    header.or_else(|| usize::try_from(body.size_hint().exact()?).ok())
}

/// Bytes of bodies that all requests hold at once, in KiB: read, parsed and worked on. What is parsed
/// takes many times its size, so this and not the number of connections bounds the memory.
const IN_FLIGHT_KIB: u32 = 48 * 1024;
/// Bodies up to this size, in bytes, do not count, so that few large ones hold up no small one.
const SMALL_BYTES: usize = 64 * 1024;

/// Longest wait for a place among the bodies in flight.
const PLACE_WAIT_MAX: Duration = Duration::from_secs(5);
/// A body that holds a place has this long, and a second more for every MiB: a place must not be held
/// by one that drips.
const PLACE_HELD_MIN: Duration = Duration::from_secs(10);

fn held_at_most(size_bytes: usize) -> Duration {
    PLACE_HELD_MIN + Duration::from_secs((size_bytes >> 20) as u64)
}

/// Most values in one body: 28 bytes of memory stand behind one byte of a dense list of numbers.
/// Not specified; a Bundle of 5,000 resources of 150 elements fits.
const VALUES_MAX: usize = 1_000_000;

/// There are at most this many values in `json`: what begins one is counted, in texts too, so that
/// nothing is built before it is known to fit.
fn values_at_most(json: &[u8]) -> usize {
    1 + json.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count()
}

/// The bodies being worked on.
pub(crate) struct BodyBytesInFlight(Arc<Semaphore>);

impl BodyBytesInFlight {
    /// None.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(IN_FLIGHT_KIB as usize)))
    }

    /// Waits until a body of this size may be read; the place is free again when the permit goes.
    async fn hold(&self, size_bytes: usize) -> Result<Option<OwnedSemaphorePermit>, ApiError> {
        if size_bytes <= SMALL_BYTES {
            return Ok(None);
        }
        let size_kib = u32::try_from(size_bytes.div_ceil(1024)).unwrap_or(u32::MAX).min(IN_FLIGHT_KIB);
        let permit = tokio::time::timeout(PLACE_WAIT_MAX, Arc::clone(&self.0).acquire_many_owned(size_kib)).await;
        permit.map_err(|_| ApiError::Crowded)?.map(Some).map_err(|_| ApiError::BodyBroken)
    }
}

/// Returns the whole body, and its place among the bodies in flight. One that is sent in pieces has no place until it
/// turns out to be large.
pub(crate) async fn read_held(
    in_flight: &BodyBytesInFlight,
    headers: &HeaderMap,
    body: Body,
    limit_bytes: usize,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), ApiError> {
    if let Some(size_bytes) = announced(headers, &body) {
        let held = in_flight.hold(size_bytes.min(limit_bytes)).await?;
        let whole = tokio::time::timeout(held_at_most(size_bytes), read(headers, body, limit_bytes)).await;
        return Ok((whole.map_err(|_| ApiError::BodyLate)??, held));
    }
    let mut body = Limited::new(body, limit_bytes);
    let mut bytes = BytesMut::new();
    while bytes.len() <= SMALL_BYTES {
        let Some(frame) = body.frame().await else { return Ok((bytes.freeze(), None)) };
        let frame = frame.map_err(|cause| broken(cause.as_ref(), limit_bytes))?;
        bytes.extend_from_slice(frame.data_ref().map_or(&[], Bytes::as_ref));
    }
    let held = in_flight.hold(limit_bytes).await?;
    let rest = tokio::time::timeout(held_at_most(limit_bytes), body.collect()).await;
    let rest = rest.map_err(|_| ApiError::BodyLate)?.map_err(|cause| broken(cause.as_ref(), limit_bytes))?;
    bytes.extend_from_slice(&rest.to_bytes());
    Ok((bytes.freeze(), held))
}

/// Parses a body; the fault says where it stops being JSON. The parser bounds nesting.
///
/// Numbers keep the digits they were sent with. What the store would refuse anywhere in a body,
/// a number or a name, is refused here of every body: also of a patch, which makes others of it.
pub(crate) fn json(body: &Bytes) -> Result<Value, ApiError> {
    if values_at_most(body) > VALUES_MAX {
        return Err(ApiError::TooManyValues { limit: VALUES_MAX });
    }
    let value = serde_json::from_slice(body).map_err(ApiError::Json)?;
    check(&value)?;
    Ok(value)
}

fn check(value: &Value) -> Result<(), ApiError> {
    match value {
        Value::Number(number) if body_validation::is_number_storable(number) => Ok(()),
        Value::Number(_) => Err(ServiceError::Number.into()),
        Value::Array(elements) => elements.iter().try_for_each(check),
        Value::Object(members) => members.iter().try_for_each(|(name, inner)| {
            if body_validation::is_element_name_storable(name) { check(inner) } else { Err(ApiError::ReservedName) }
        }),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn is_taken(number: &str) -> bool {
        json(&Bytes::from(format!("[{{\"a\": {number}}}]"))).is_ok()
    }

    #[test]
    fn a_body_of_too_many_values_is_refused_before_it_is_built() {
        let dense = |values: usize| Bytes::from(format!("[{}0]", "0,".repeat(values - 2)));
        assert!(json(&dense(VALUES_MAX)).is_ok());
        assert!(matches!(json(&dense(VALUES_MAX + 1)), Err(ApiError::TooManyValues { .. })));
    }

    #[test]
    fn a_number_is_taken_as_far_as_a_double_reaches() {
        for number in ["0", "-0.0", "0e300", "18446744073709551616", "1.10", "1e308", "1e-307", "-2.5E3"] {
            assert!(is_taken(number), "{number}");
        }
        let long = format!("0.{}", "1".repeat(256));
        for number in ["1e309", "-1e309", "1e-999", "1e99999999999999999999", &long] {
            assert!(!is_taken(number), "{number}");
        }
    }

    #[tokio::test]
    async fn large_bodies_wait_for_each_other_and_small_ones_for_nobody() {
        let bodies = BodyBytesInFlight::new();
        let half = IN_FLIGHT_KIB as usize * 1024 / 2;
        let first = bodies.hold(half).await.unwrap();
        let second = bodies.hold(half).await.unwrap();
        assert_eq!(bodies.0.available_permits(), 0);
        assert!(bodies.hold(SMALL_BYTES).await.unwrap().is_none());
        let mut third = Box::pin(bodies.hold(usize::MAX));
        assert!(futures_poll(&mut third).is_pending());
        drop((first, second));
        assert!(futures_poll(&mut third).is_ready(), "one larger than all there is still has its turn");
    }

    /// So many bytes that nothing announces.
    struct Pieces(usize);

    impl axum::body::HttpBody for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
            let size = self.0.min(10_000);
            self.0 -= size;
            Poll::Ready((size > 0).then(|| Ok(http_body::Frame::data(Bytes::from(vec![0; size])))))
        }
    }

    #[tokio::test]
    async fn a_body_in_pieces_has_a_place_only_once_it_is_large() {
        let bodies = BodyBytesInFlight::new();
        let limit = 1024 * 1024;
        let read = async |size: usize| read_held(&bodies, &HeaderMap::new(), Body::new(Pieces(size)), limit).await;
        let (small, none) = read(SMALL_BYTES).await.unwrap();
        assert_eq!((small.len(), none.is_none()), (SMALL_BYTES, true));
        let (large, held) = read(limit).await.unwrap();
        assert_eq!((large.len(), held.map(|held| held.num_permits())), (limit, Some(1024)));
        assert!(matches!(read(limit + 1).await, Err(ApiError::TooLarge { .. })));
        assert_eq!(bodies.0.available_permits(), IN_FLIGHT_KIB as usize);
    }

    fn futures_poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
        Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_decimal_keeps_its_digits() {
        assert_eq!(json(&Bytes::from_static(b"[1.10]")).unwrap().to_string(), "[1.10]");
    }
}

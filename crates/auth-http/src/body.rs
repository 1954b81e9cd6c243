//! Reading a body, up to a limit, and the JSON in it.

use axum::body::Body;
use bytes::Bytes;
use fhir_store::shape;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::Value;

use crate::error::Fault;

/// The whole body, or the fault of being larger than `limit_bytes`.
///
/// A body that announces its size is refused before any of it is read.
pub(crate) async fn read(headers: &HeaderMap, body: Body, limit_bytes: usize) -> Result<Bytes, Fault> {
    let announced = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limit_bytes) {
        return Err(Fault::TooLarge { limit_bytes });
    }
    match Limited::new(body, limit_bytes).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(cause) if cause.is::<LengthLimitError>() => Err(Fault::TooLarge { limit_bytes }),
        Err(_) => Err(Fault::BodyBroken),
    }
}

/// Parses a body; the fault says where it stops being JSON. The parser bounds nesting.
///
/// Numbers are kept to the digit they were sent with. What the store would refuse anywhere in a body,
/// a number or a name, is refused here of every body: also of a patch, which makes others of it.
pub(crate) fn json(body: &Bytes) -> Result<Value, Fault> {
    let value = serde_json::from_slice(body).map_err(Fault::Json)?;
    check(&value)?;
    Ok(value)
}

fn check(value: &Value) -> Result<(), Fault> {
    match value {
        Value::Number(number) if shape::is_number_storable(number) => Ok(()),
        Value::Number(_) => Err(Fault::Number),
        Value::Array(elements) => elements.iter().try_for_each(check),
        Value::Object(members) => members.iter().try_for_each(|(name, inner)| {
            if shape::is_name_storable(name) { check(inner) } else { Err(Fault::ReservedName) }
        }),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_taken(number: &str) -> bool {
        json(&Bytes::from(format!("[{{\"a\": {number}}}]"))).is_ok()
    }

    #[test]
    fn a_number_is_taken_as_far_as_a_double_reaches() {
        for number in ["0", "-0.0", "0e999999", "18446744073709551616", "1.10", "1e308", "1e-307", "-2.5E3"] {
            assert!(is_taken(number), "{number}");
        }
        let long = format!("0.{}", "1".repeat(256));
        for number in ["1e309", "-1e309", "1e-999", "1e99999999999999999999", &long] {
            assert!(!is_taken(number), "{number}");
        }
    }

    #[test]
    fn a_decimal_keeps_its_digits() {
        assert_eq!(json(&Bytes::from_static(b"[1.10]")).unwrap().to_string(), "[1.10]");
    }
}

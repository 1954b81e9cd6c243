//! The envelope of a success.

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde::Serialize;

use crate::error::{ApiError, InternalError};

/// The media type of every answer.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The envelope, open at its end.
const START: &[u8] = br#"{"result":"success","msg":"""#;

/// The payload of a successful API response, without `result` and `msg`: the bytes of one JSON object.
///
/// Bytes, because the large answers (events, messages) are put together from fragments that were serialized when
/// they were written; flattening a value into the envelope would parse and copy them again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiResponsePayload {
    /// The envelope and the fields, without the brace at the end.
    open: Vec<u8>,
}

impl ApiResponsePayload {
    /// Returns a response without a payload.
    #[must_use]
    pub fn empty() -> Self {
        Self { open: START.to_vec() }
    }

    /// Serializes the fields of `payload` into a response.
    ///
    /// # Errors
    /// When it does not serialize to an object: a mistake of ours.
    pub fn from_payload(payload: &impl Serialize) -> Result<Self, ApiError> {
        let mut body = Self::open_body(0);
        serde_json::to_writer(&mut body, payload)
            .map_err(|error| InternalError::new("an answer was not serialized", error))?;
        if body.get(START.len()) != Some(&b'{') {
            return Err(InternalError::without_cause("an answer is no object").into());
        }
        Ok(Self::close_body(body))
    }

    /// Returns the response with the fields of an object that was serialized before, `{` to `}` without white space at
    /// either end.
    #[must_use]
    pub fn from_serialized_object(object: &[u8]) -> Self {
        let mut body = Self::open_body(object.len());
        body.extend_from_slice(object);
        Self::close_body(body)
    }

    /// Bytes to append such an object to, for [`ApiResponsePayload::body`]: a large answer is not copied then.
    pub(crate) fn open_body(object_bytes: usize) -> Vec<u8> {
        let mut body = Vec::with_capacity(START.len() + object_bytes);
        body.extend_from_slice(START);
        body
    }

    /// Returns what [`ApiResponsePayload::open_body`] returned, with the object behind it.
    pub(crate) fn close_body(mut body: Vec<u8>) -> Self {
        // Its brace becomes the comma between the envelope and its first field.
        if let Some(brace) = body.get_mut(START.len()) {
            *brace = b',';
        }
        body.pop();
        if body.ends_with(b",") {
            body.pop();
        }
        Self { open: body }
    }

    /// Returns the whole body: the envelope around the fields, and the names of what was ignored.
    pub(crate) fn into_response(self, ignored: &[String]) -> Response {
        let Self { open: mut body } = self;
        if !ignored.is_empty() {
            body.extend_from_slice(br#","ignored_parameters_unsupported":"#);
            body.extend_from_slice(serde_json::Value::from(ignored.to_vec()).to_string().as_bytes());
        }
        body.push(b'}');
        let mut response = Response::new(Body::from(body));
        response.headers_mut().insert(CONTENT_TYPE, JSON);
        response
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use serde_json::json;

    use super::*;

    async fn text(answer: ApiResponsePayload, ignored: &[&str]) -> String {
        let ignored: Vec<_> = ignored.iter().map(|name| (*name).to_owned()).collect();
        let body = answer.into_response(&ignored).into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn the_fields_follow_the_envelope_and_ignored_names_follow_them() {
        assert_eq!(text(ApiResponsePayload::empty(), &[]).await, r#"{"result":"success","msg":""}"#);
        let answer = ApiResponsePayload::from_payload(&json!({"id": 5, "name": "}"})).unwrap();
        assert_eq!(text(answer.clone(), &[]).await, r#"{"result":"success","msg":"","id":5,"name":"}"}"#);
        assert_eq!(
            text(answer, &["a", "q\""]).await,
            r#"{"result":"success","msg":"","id":5,"name":"}","ignored_parameters_unsupported":["a","q\""]}"#
        );
        assert_eq!(
            text(ApiResponsePayload::empty(), &["a"]).await,
            r#"{"result":"success","msg":"","ignored_parameters_unsupported":["a"]}"#
        );
    }

    #[tokio::test]
    async fn an_object_that_was_serialized_before_is_taken_as_it_is() {
        for (object, fields) in [("{}", ""), (r#"{"a":[1,{"b":","}]}"#, r#","a":[1,{"b":","}]"#)] {
            let whole = format!(r#"{{"result":"success","msg":""{fields}}}"#);
            assert_eq!(text(ApiResponsePayload::from_serialized_object(object.as_bytes()), &[]).await, whole);
            let mut body = ApiResponsePayload::open_body(object.len());
            body.extend_from_slice(object.as_bytes());
            assert_eq!(text(ApiResponsePayload::close_body(body), &[]).await, whole);
        }
    }

    #[test]
    fn what_is_no_object_is_a_fault_of_ours() {
        for payload in [json!([1]), json!("x"), json!(null)] {
            assert!(matches!(ApiResponsePayload::from_payload(&payload), Err(ApiError::Internal(_))), "{payload}");
        }
    }
}

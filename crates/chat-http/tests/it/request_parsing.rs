//! Requests as bytes, and one way of asking them for one parameter.

use bytes::Bytes;
use chat_http::params::{BodyEncoding, ParamDecoder, ParamError, ParamReader, RawRequestParams};

/// The name every value here is sent under.
pub(crate) const NAME: &str = "value";

/// Runs a future that waits for nothing outside.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// A request with `value` in an urlencoded body.
pub(crate) fn urlencoded(value: &str) -> RawRequestParams {
    let body = form_urlencoded::Serializer::new(String::new()).append_pair(NAME, value).finish();
    wait(RawRequestParams::parse("", &BodyEncoding::Urlencoded, Bytes::from(body))).unwrap()
}

/// A request with `value` in a multipart body. The boundary is one no generated value holds.
pub(crate) fn multipart(value: &str) -> RawRequestParams {
    let boundary = "0123456789-the-boundary-9876543210";
    let body =
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{NAME}\"\r\n\r\n{value}\r\n--{boundary}--\r\n");
    wait(RawRequestParams::parse("", &BodyEncoding::Multipart(boundary.to_owned()), Bytes::from(body))).unwrap()
}

/// The value in `raw`, read as `K`.
pub(crate) fn asked<K: ParamDecoder>(raw: &RawRequestParams) -> Result<K::Value, ParamError> {
    ParamReader::new(raw).required::<K>(NAME)
}

/// `value` sent urlencoded and read as `K`.
pub(crate) fn sent<K: ParamDecoder>(value: &str) -> Result<K::Value, ParamError> {
    asked::<K>(&urlencoded(value))
}

/// The text a refusal tells.
pub(crate) fn refusal<K: ParamDecoder>(value: &str) -> String
where
    K::Value: std::fmt::Debug,
{
    sent::<K>(value).unwrap_err().to_string()
}

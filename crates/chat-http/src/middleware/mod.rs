//! What happens around every endpoint, in the order of [`crate::router::framed`].

use std::pin::Pin;

use axum::response::Response;

pub(crate) mod drain;
pub(crate) mod method;
pub(crate) mod observe;
pub(crate) mod panic;
pub(crate) mod request_id;

/// The answer to one request, in the making.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

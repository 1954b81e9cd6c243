//! What happens around every endpoint, in the order of [`crate::router::with_middleware`].

pub(crate) mod api_headers;
pub(crate) mod method;
pub(crate) mod observe;
pub(crate) mod panic;

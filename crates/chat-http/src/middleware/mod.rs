//! What happens around every endpoint, in the order of [`crate::router::framed`].

pub(crate) mod drain;
pub(crate) mod method;
pub(crate) mod observe;
pub(crate) mod panic;
pub(crate) mod request_id;

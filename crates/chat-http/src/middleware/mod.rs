//! What happens around every endpoint, in the order of [`crate::router::framed`].

pub(crate) mod method;
pub(crate) mod observe;
pub(crate) mod panic;
pub(crate) mod surface;

//! What happens around every handler, in the order of [`crate::router::router`].

pub(crate) mod accept;
pub(crate) mod cors;
pub(crate) mod drain;
pub(crate) mod observe;
pub(crate) mod panic;
pub(crate) mod rate;
pub(crate) mod request_id;
pub(crate) mod stall;

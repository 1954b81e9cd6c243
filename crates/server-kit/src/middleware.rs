//! What surrounds every handler of either server.

pub mod drain;
pub mod observe;
pub mod panic;
pub mod request_id;

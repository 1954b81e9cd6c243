//! What surrounds every handler of either server.

pub mod catch_panic;
pub mod drain_body;
pub mod request_id;
pub mod request_metrics;

//! Taking an organization over from another server, and handing one out.

pub mod export;
pub mod import;

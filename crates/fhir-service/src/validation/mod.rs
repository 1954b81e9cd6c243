//! Validation: by base definitions at every write, by profiles and rules on request (`$validate`).

pub(crate) mod base_definition;
mod issues;
mod request;
pub mod validate_operation;

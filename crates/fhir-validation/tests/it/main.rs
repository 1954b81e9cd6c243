//! Validation as its callers see it.
//!
//! `cfg(test)` on the modules makes the lints treat their helpers as test code.

#[cfg(test)]
mod base_definitions;

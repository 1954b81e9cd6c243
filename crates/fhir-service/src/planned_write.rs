//! A write and its place in a Bundle.

use fhir_store::Write;

/// A write that is to be done together with others.
#[derive(Debug)]
pub(crate) struct PlannedWrite {
    /// The write.
    pub(crate) write: Write,
    /// The entry of the Bundle it stands in, counted from 0.
    pub(crate) entry: Option<usize>,
}

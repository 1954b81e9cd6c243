//! A write and its place in a Bundle.

use fhir_store::ResourceWrite;

/// A write that is to be done together with others.
#[derive(Debug)]
pub(crate) struct PlannedWrite {
    /// The write.
    pub(crate) write: ResourceWrite,
    /// The entry of the Bundle it stands in, counted from 0.
    pub(crate) entry: Option<usize>,
}

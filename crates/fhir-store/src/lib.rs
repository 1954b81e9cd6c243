//! FHIR resources as JSON: references, bundles, conditional writes, format rewriting, outcomes.

pub mod bundle;
pub mod filter;
pub mod format;
pub mod key;
pub mod limits;
pub mod memory;
pub mod outcome;
pub mod patch;
pub mod plan;
pub mod ports;
pub mod query;
pub mod reference;
pub mod shape;
#[cfg(test)]
mod testing;

pub use filter::{Filter, FilterValue};
pub use key::{ResourceId, ResourceKey, ResourceType};
pub use ports::{
    IfMatch, ListQuery, Lookup, Operation, Page, PatchDocument, Precondition, ResourceStore, StoreError, Stored, Write,
    WriteFault, WriteRefusal, Written,
};

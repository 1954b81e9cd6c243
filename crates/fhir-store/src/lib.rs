//! FHIR resources as JSON: references, bundles, conditional writes, format rewriting, outcomes.

pub mod filter;
pub mod key;
pub mod limits;
pub mod memory;
pub mod patch;
pub mod plan;
pub mod ports;
pub mod reference;
pub mod shape;

pub use filter::{Filter, FilterValue};
pub use key::{ResourceId, ResourceKey, ResourceType};
pub use ports::{
    IfMatch, ListQuery, Lookup, Operation, Page, PatchDocument, Precondition, ResourceStore, StoreError, Stored, Write,
    WriteFault, WriteRefusal, Written,
};

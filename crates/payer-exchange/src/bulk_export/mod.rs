//! Bulk export: what a request asks for, and the line that a resource becomes.
//!
//! [`ExportParameters`] reads the parameters of a kick-off and refuses by name what is not served. [`ExportWork`] is
//! what a worker needs, as the job keeps it. [`ExportLineWriter`] decides row by row what is part of the export and
//! writes it, without reading a document where nothing has to be looked at.
//!
//! # Source
//! HL7 Bulk Data Access; `docs/decisions.md`, "Exports".

mod line;
mod parameters;
mod work;

pub use line::{ExportLineWriter, ExportRow, UnreadableRowError};
pub use parameters::{ExportParameters, ExportParametersError, NDJSON_MEDIA_TYPE};
pub use work::{
    ElementSelection, ExportQueryContext, ExportSubjects, ExportWork, ExportedType, SearchParameterPairs,
    access_filter_of_queries, is_type_exportable,
};

//! Bundles: the requests that come in one, and the answers that go out in one.

mod history;
mod request;
mod response;
mod search;

pub use history::{everything_bundle, history_bundle, history_entry};
pub use request::{
    BundleEntriesByAction, BundleEntryError, BundleEntryErrorKind, BundleEntryRequest, BundleReadRequest, BundleType,
    RequestBundle, RequestBundleError, WriteCriteriaParser, parse_request_bundle,
};
pub use response::{
    ListRequestUrl, batch_response_bundle, failed_batch_entry, list_searchset_bundle, read_response_entry,
    searchset_entry, transaction_response_bundle, write_response_entry,
};
pub use search::{SearchBundleWriter, SearchEntryMode, SearchPageLinks};

/// Returns the `FHIRPath` expression of a Bundle entry: `Bundle.entry[3]`, counted from 0.
#[must_use]
pub fn entry_fhirpath(index: usize) -> String {
    format!("Bundle.entry[{index}]")
}

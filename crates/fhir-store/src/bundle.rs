//! Bundles: the requests that come in one, and the answers that go out in one.

mod history;
mod request;
mod response;
mod search;

pub use history::{everything, history, history_entry};
pub use request::{
    BundleError, BundleRequest, BundleType, EntriesByAction, EntryError, EntryErrorKind, EntryRequest, ParseCriteria,
    ReadRequest, read,
};
pub use response::{
    ListLinks, batch_response, failed_entry, read_entry, search_entry, searchset, transaction_response, written_entry,
};
pub use search::{SearchBundle, SearchLinks, SearchMode};

/// Returns where an entry is, as a `FHIRPath`: `Bundle.entry[3]`, counted from 0.
#[must_use]
pub fn expression(index: usize) -> String {
    format!("Bundle.entry[{index}]")
}

//! Lists of what no search parameter is about, and of the native endpoint.

use fhir_store::bundle::{self, ListLinks};
use fhir_store::{AccessFilter, ListQuery, query};
use serde_json::Value;

use crate::asked::RequestQuery;
use crate::call::ResourceRequest;
use crate::confine::AccessDecision;
use crate::error::ApiError;
use crate::gate::{self, AccessCheck};
use crate::searching::SearchScope;
use crate::state::App;
use crate::{answer, confine, known_types};

/// A list that the caller may ask for.
pub(crate) struct ListEndpoint<'a> {
    query: ListQuery,
    within: AccessFilter,
    pairs: &'a [(String, String)],
    address: String,
}

/// Reads what a list asks for: the resources of a type that meet the query, a page at a time.
pub(crate) async fn prepare<'a>(
    app: &App,
    call: &ResourceRequest,
    extent: SearchScope<'_>,
    (pairs, asked): (&'a [(String, String)], &RequestQuery),
) -> Result<ListEndpoint<'a>, ApiError> {
    let kind = extent.kind;
    let within = extent.narrow(app, gate::permit(app, call, &AccessCheck::list(kind, asked)).await?);
    known_types::demand(app, call.dialect, kind).await?;
    let AccessDecision { within, others } = confine::narrow(app, kind, within, (call.dialect, pairs))?;
    Ok(ListEndpoint {
        query: query::list(kind.clone(), others)?,
        within,
        pairs,
        address: extent.address(app, call.dialect),
    })
}

impl ListEndpoint<'_> {
    /// Returns the Bundle that answers it.
    pub(crate) async fn answer(self, app: &App, call: &ResourceRequest) -> Result<Value, ApiError> {
        let (asked, page) = confine::page(app, self.query, self.within).await?;
        let base = answer::base(app, call.dialect);
        let entries = page.entries.iter();
        let entries =
            entries.map(|stored| bundle::search_entry(&base, stored, answer::shown(app, call.dialect, stored)));
        let links = ListLinks { address: &self.address, parameters: self.pairs };
        Ok(bundle::searchset(&asked, &page, links, entries.collect()))
    }
}

//! Lists of what no search parameter is about, and of the native endpoint.

use fhir_store::bundle::{self, Links};
use fhir_store::{ListQuery, Selection, query};
use serde_json::Value;

use crate::asked::Asked;
use crate::call::Call;
use crate::confine::Narrowed;
use crate::error::Fault;
use crate::gate::{self, Act};
use crate::searching::Extent;
use crate::state::App;
use crate::{answer, confine, known_types};

/// A list that the caller may ask for.
pub(crate) struct List<'a> {
    query: ListQuery,
    within: Selection,
    pairs: &'a [(String, String)],
    address: String,
}

/// Reads what a list asks for: the resources of a type that meet the query, a page at a time.
pub(crate) async fn prepare<'a>(
    app: &App,
    call: &Call,
    extent: Extent<'_>,
    (pairs, asked): (&'a [(String, String)], &Asked),
) -> Result<List<'a>, Fault> {
    let kind = extent.kind;
    let within = extent.narrow(app, gate::permit(app, call, &Act::list(kind, asked)).await?);
    known_types::demand(app, call.dialect, kind).await?;
    let Narrowed { within, others } = confine::narrow(app, kind, within, (call.dialect, pairs))?;
    Ok(List { query: query::list(kind.clone(), others)?, within, pairs, address: extent.address(app, call.dialect) })
}

impl List<'_> {
    /// Returns the Bundle that answers it.
    pub(crate) async fn answer(self, app: &App, call: &Call) -> Result<Value, Fault> {
        let (asked, page) = confine::page(app, self.query, self.within).await?;
        let base = answer::base(app, call.dialect);
        let entries = page.entries.iter();
        let entries =
            entries.map(|stored| bundle::search_entry(&base, stored, answer::shown(app, call.dialect, stored)));
        let links = Links { address: &self.address, parameters: self.pairs };
        Ok(bundle::searchset(&asked, &page, links, entries.collect()))
    }
}

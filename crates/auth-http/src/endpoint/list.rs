//! Lists of what no search parameter is about, and of the native endpoint.

use axum::response::Response;
use fhir_store::bundle::{self, Links};
use fhir_store::{ListQuery, Page, ResourceType, query};
use http::StatusCode;
use serde_json::Value;

use crate::call::Call;
use crate::confine::Narrowed;
use crate::error::Fault;
use crate::gate::{self, Act};
use crate::state::App;
use crate::surface::Dialect;
use crate::{answer, confine};

/// Lists the resources of a type that meet the query, a page at a time.
pub(crate) async fn answer(app: &App, kind: ResourceType, call: &Call) -> Result<Response, Fault> {
    let within = gate::permit(app, call, &Act::list(&kind, &call.asked)).await?;
    let Narrowed { within, others } = confine::narrow(app, &kind, within, (call.dialect, &call.query))?;
    let (asked, page) = confine::page(app, query::list(kind, others)?, within).await?;
    let set = searchset(app, call.dialect, &asked, &page, &call.query);
    Ok(answer::json(StatusCode::OK, call.dialect, &set))
}

/// The Bundle that answers a list.
pub(crate) fn searchset(
    app: &App,
    dialect: Dialect,
    asked: &ListQuery,
    page: &Page,
    parameters: &[(String, String)],
) -> Value {
    let base = answer::base(app, dialect);
    let address = format!("{base}/{}", asked.kind);
    let entries = page.entries.iter();
    let entries = entries.map(|stored| bundle::search_entry(&base, stored, answer::shown(app, dialect, stored)));
    bundle::searchset(asked, page, Links { address: &address, parameters }, entries.collect())
}

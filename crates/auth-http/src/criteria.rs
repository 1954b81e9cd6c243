//! The conditions of writes: read as the searches of the same endpoint are, and decided by the same statement.
//!
//! At the FHIR endpoint a condition names search parameters; of what no parameter is about, and at the native
//! endpoint, it names elements. It decides what is written over, so it is strict whatever the caller prefers.

use std::collections::BTreeMap;
use std::sync::Arc;

use fhir_store::search::{Catalog, Request};
use fhir_store::{Criteria, CriteriaFault, Precondition, ResourceType, Selection, Write};

use crate::call::Call;
use crate::error::Fault;
use crate::searching;
use crate::state::App;
use crate::surface::Dialect;
use crate::value_sets;

/// What conditions are read by.
pub(crate) struct Reader<'a> {
    app: &'a App,
    /// The search parameters; none where conditions name elements.
    catalog: Option<Arc<Catalog>>,
    own: String,
}

impl<'a> Reader<'a> {
    /// For the conditions of a request.
    pub(crate) async fn of(app: &'a App, dialect: Dialect) -> Result<Self, Fault> {
        let catalog = match dialect {
            Dialect::Fhir => Some(app.search.catalog().await?),
            Dialect::Native => None,
        };
        Ok(Self { app, catalog, own: app.settings.fhir_base() })
    }

    /// For a request without conditions, which are not read by this.
    pub(crate) fn of_none(app: &'a App) -> Self {
        Self { app, catalog: None, own: String::new() }
    }

    /// Reads one.
    pub(crate) fn read(&self, kind: &ResourceType, text: &str) -> Result<Criteria, CriteriaFault> {
        let searched = self.catalog.as_ref().filter(|catalog| self.app.search.indexes(catalog, kind));
        match searched {
            Some(catalog) => {
                let request = Request::strict(kind, &self.own, self.app.now_us());
                Criteria::by_parameters(catalog, &request, text)
            }
            None => Criteria::by_elements(text),
        }
    }
}

/// Returns the conditions of a create: `If-Match` and `If-None-Exist`.
pub(crate) async fn of_create(app: &App, call: &Call, kind: &ResourceType) -> Result<Precondition, Fault> {
    let if_none_exist = match call.if_none_exist()? {
        Some(text) => Some(read(app, call, kind, text).await?),
        None => None,
    };
    Ok(Precondition { if_match: call.if_match()?, if_none_match: call.if_none_match()?, if_none_exist })
}

/// Returns the conditions of a write whose target the query finds. A second condition in a header is refused: policies
/// are asked about the one that decides.
pub(crate) async fn of_address(app: &App, call: &Call, kind: &ResourceType) -> Result<Precondition, Fault> {
    if call.if_none_exist()?.is_some() {
        return Err(Fault::ConditionOnPut);
    }
    let text = call.asked.query.as_deref().unwrap_or_default();
    let if_none_exist = Some(read(app, call, kind, text).await?);
    Ok(Precondition { if_match: call.if_match()?, if_none_match: call.if_none_match()?, if_none_exist })
}

async fn read(app: &App, call: &Call, kind: &ResourceType, text: &str) -> Result<Criteria, Fault> {
    let mut criteria = Reader::of(app, call.dialect).await?.read(kind, text)?;
    expand(app, &mut criteria).await?;
    Ok(criteria)
}

/// Returns the write with the codes of the value sets that its condition names.
pub(crate) async fn expanded(app: &App, mut write: Write) -> Result<Write, Fault> {
    if let Some(criteria) = &mut write.precondition.if_none_exist {
        expand(app, criteria).await?;
    }
    Ok(write)
}

/// Puts the codes of the value sets that criteria name in their places.
pub(crate) async fn expand(app: &App, criteria: &mut Criteria) -> Result<(), Fault> {
    match &mut criteria.sought {
        Some(sought) => value_sets::expand(app, &mut sought.search).await,
        None => Ok(()),
    }
}

/// Returns what the caller reaches of the types that a condition looks at.
pub(crate) async fn chained(
    app: &App,
    call: &Call,
    criteria: &Criteria,
) -> Result<BTreeMap<ResourceType, Selection>, Fault> {
    searching::reaches(app, call, criteria.looks_at()).await
}

//! `/fhir/metadata`.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use fhir_store::search::SearchParameterCatalog;
use http::{HeaderMap, HeaderValue};
use migrations::package::InstalledPackage;
use oauth_core::document::StaticDocument;

use crate::error::ApiError;
use crate::state::App;
use crate::{capability, document, media};

/// Returns what the server can do.
pub(crate) async fn get(State(app): State<App>, headers: HeaderMap) -> Result<Response, ApiError> {
    let catalog = app.search.known_catalog().await?;
    let packages = app.packages.store().installed().await?;
    let statement = if let Some(known) = app.metadata.of(&catalog, &packages) {
        known
    } else {
        let conformance = app.packages.store().conformance().await?;
        let text = capability::statement(&app, &catalog, conformance).to_string();
        app.metadata.keep(&catalog, packages, StaticDocument::json(Bytes::from(text)))
    };
    Ok(document::answer(&headers, HeaderValue::from_static(media::FHIR_JSON), &statement))
}

/// The statement as it was made last. It is made again when the search parameters or the packages have changed.
#[derive(Default)]
pub(crate) struct CapabilityStatementCache(Mutex<Option<Kept>>);

struct Kept {
    catalog: Weak<SearchParameterCatalog>,
    packages: Vec<InstalledPackage>,
    document: Arc<StaticDocument>,
}

impl CapabilityStatementCache {
    fn of(&self, catalog: &Arc<SearchParameterCatalog>, packages: &[InstalledPackage]) -> Option<Arc<StaticDocument>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { catalog: of, packages: with, document } = kept.as_ref()?;
        (of.as_ptr() == Arc::as_ptr(catalog) && with == packages).then(|| Arc::clone(document))
    }

    fn keep(
        &self,
        catalog: &Arc<SearchParameterCatalog>,
        packages: Vec<InstalledPackage>,
        document: StaticDocument,
    ) -> Arc<StaticDocument> {
        let document = Arc::new(document);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(Kept { catalog: Arc::downgrade(catalog), packages, document: Arc::clone(&document) });
        document
    }
}

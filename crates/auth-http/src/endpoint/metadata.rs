//! `/fhir/metadata`.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use fhir_store::search::Catalog;
use http::{HeaderMap, HeaderValue};
use oauth_core::document::StaticDocument;

use crate::error::Fault;
use crate::state::App;
use crate::{capability, document, media};

/// What the server can do.
pub(crate) async fn get(State(app): State<App>, headers: HeaderMap) -> Result<Response, Fault> {
    let catalog = app.search.known_catalog().await?;
    let statement = if let Some(known) = app.metadata.of(&catalog) {
        known
    } else {
        let text = capability::statement(&app, &catalog).to_string();
        app.metadata.keep(&catalog, StaticDocument::json(Bytes::from(text)))
    };
    Ok(document::answer(&headers, HeaderValue::from_static(media::FHIR_JSON), &statement))
}

/// The statement as it was made last. It is made again when the search parameters are others.
#[derive(Default)]
pub(crate) struct Statement(Mutex<Option<(Weak<Catalog>, Arc<StaticDocument>)>>);

impl Statement {
    fn of(&self, catalog: &Arc<Catalog>) -> Option<Arc<StaticDocument>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, document) = kept.as_ref()?;
        (of.as_ptr() == Arc::as_ptr(catalog)).then(|| Arc::clone(document))
    }

    fn keep(&self, catalog: &Arc<Catalog>, document: StaticDocument) -> Arc<StaticDocument> {
        let document = Arc::new(document);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some((Arc::downgrade(catalog), Arc::clone(&document)));
        document
    }
}

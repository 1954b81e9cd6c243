//! The last `CapabilityStatement`. It is made again when the search parameters or the packages have changed.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use fhir_search::SearchParameterCatalog;
use migrations::package::InstalledPackage;
use oauth_core::static_document::StaticDocument;

/// The statement as it was made last.
#[derive(Default)]
pub(crate) struct CapabilityStatementCache(Mutex<Option<CachedStatement>>);

struct CachedStatement {
    catalog: Weak<SearchParameterCatalog>,
    packages: Vec<InstalledPackage>,
    document: Arc<StaticDocument>,
}

impl CapabilityStatementCache {
    /// Returns the statement if it was made of this catalog and these packages.
    pub(crate) fn get(
        &self,
        catalog: &Arc<SearchParameterCatalog>,
        packages: &[InstalledPackage],
    ) -> Option<Arc<StaticDocument>> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let CachedStatement { catalog: of, packages: with, document } = cached.as_ref()?;
        (of.as_ptr() == Arc::as_ptr(catalog) && with == packages).then(|| Arc::clone(document))
    }

    /// Stores a statement with what it was made of.
    pub(crate) fn put(
        &self,
        catalog: &Arc<SearchParameterCatalog>,
        packages: Vec<InstalledPackage>,
        document: StaticDocument,
    ) -> Arc<StaticDocument> {
        let document = Arc::new(document);
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *cached = Some(CachedStatement { catalog: Arc::downgrade(catalog), packages, document: Arc::clone(&document) });
        document
    }
}

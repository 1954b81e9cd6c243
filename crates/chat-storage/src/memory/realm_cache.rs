//! The realm in memory: what decisions are taken on.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use chat_core::event_log::event::LogRecord;
use chat_core::model::realm_snapshot::RealmSnapshot;

/// The newest realm that this node knows. Readers take no lock.
pub(crate) struct RealmCache(ArcSwap<RealmSnapshot>);

impl RealmCache {
    pub(crate) fn new(realm: RealmSnapshot) -> Self {
        Self(ArcSwap::from_pointee(realm))
    }

    /// Returns the realm for a moment. Costs less than [`RealmCache::current`] and is not held across a wait.
    pub(crate) fn load(&self) -> Guard<Arc<RealmSnapshot>> {
        self.0.load()
    }

    /// Returns the realm.
    pub(crate) fn current(&self) -> Arc<RealmSnapshot> {
        self.0.load_full()
    }

    /// Takes in a record of the log, and returns the realm after it. Only one caller at a time.
    pub(crate) fn apply(&self, record: &LogRecord) -> Arc<RealmSnapshot> {
        let realm = Arc::new(self.0.load().after_record(record));
        self.0.store(Arc::clone(&realm));
        realm
    }

    /// Replaces the realm by one that was read from the database.
    pub(crate) fn reset(&self, realm: RealmSnapshot) {
        self.0.store(Arc::new(realm));
    }
}

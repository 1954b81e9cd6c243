//! The cache of Clients, Users, Organizations and policies in memory, each with the version it was read at.
//!
//! Nothing here is believed on its own: the statement that admits a token request, and the one that
//! asks for a caller's standing, return the current versions, and a copy of another version is read
//! again before the answer is given. So a copy saves the reading and parsing, never the truth.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use b2b_claim::DeploymentUrls;
use moka::sync::Cache;
use serde_json::Value;

use crate::access_policies::{CombinedPolicyDecision, CompiledPolicies, PolicyEvaluationSubject};
use crate::client::Client;
use crate::end_user::EndUser;
use crate::limits::CLIENT_ID_MAX_BYTES;
use crate::ports::{CallerStatusQuery, RegistrationStore, StoreError};
use crate::settings::AuthorizationSettings;

/// Most Clients kept in memory; the least recently used leave first.
const CLIENTS_MAX: u64 = 10_000;
/// Most Organizations kept in memory.
const ORGANIZATIONS_MAX: u64 = 10_000;
/// Most Users kept in memory.
const PEOPLE_MAX: u64 = 10_000;

/// An Organization resource at one version.
#[derive(Debug)]
pub struct VersionedOrganization {
    /// The version this was read at.
    pub version: i64,
    /// The resource.
    pub resource: Value,
}

/// The cache of registrations (Clients, Organizations, Users, policies) of one node.
pub struct RegistrationCache {
    store: Arc<dyn RegistrationStore>,
    base_url: String,
    ext_base: String,
    clients: Cache<String, Arc<Client>>,
    organizations: Cache<String, Arc<VersionedOrganization>>,
    people: Cache<String, Arc<EndUser>>,
    policies: ArcSwapOption<CompiledPolicies>,
}

impl RegistrationCache {
    /// Creates an empty cache over `store` for the server with these settings.
    #[must_use]
    pub fn new(store: Arc<dyn RegistrationStore>, settings: &AuthorizationSettings) -> Self {
        Self {
            store,
            base_url: settings.base_url.clone(),
            ext_base: settings.ext_base.clone(),
            clients: Cache::new(CLIENTS_MAX),
            organizations: Cache::new(ORGANIZATIONS_MAX),
            people: Cache::new(PEOPLE_MAX),
            policies: ArcSwapOption::empty(),
        }
    }

    /// Returns the base address of the server, by which references to this server are recognised.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    fn deployment(&self) -> DeploymentUrls<'_> {
        DeploymentUrls { ext_base: &self.ext_base, base_url: Some(&self.base_url) }
    }

    /// Returns the store that the cache reads from.
    #[must_use]
    pub fn store(&self) -> &dyn RegistrationStore {
        self.store.as_ref()
    }

    /// Returns the copy of the Client, read when there is none. Unknown ids are not remembered.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn cached_or_loaded_client(&self, id: &str) -> Result<Option<Arc<Client>>, StoreError> {
        match self.clients.get(id) {
            Some(client) => Ok(Some(client)),
            None => self.load_current_client(id).await,
        }
    }

    /// Returns whether the Client is cached: as good as any knowledge of it that costs no database query.
    #[must_use]
    pub fn has_cached_client(&self, id: &str) -> bool {
        self.clients.contains_key(id)
    }

    /// Returns the Client as stored now; a copy of another version is replaced. An id longer than any is not looked up.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn load_current_client(&self, id: &str) -> Result<Option<Arc<Client>>, StoreError> {
        if id.len() > CLIENT_ID_MAX_BYTES {
            return Ok(None);
        }
        let Some(stored) = self.store.client(id).await? else {
            self.clients.invalidate(id);
            return Ok(None);
        };
        // The copy knows a secret that was verified.
        if let Some(held) = self.clients.get(id).filter(|held| held.version == stored.version) {
            return Ok(Some(held));
        }
        let client = Arc::new(Client::from_stored(id, &stored, self.deployment()));
        self.clients.insert(id.to_owned(), Arc::clone(&client));
        Ok(Some(client))
    }

    /// Returns the version of the Client as stored now, `None` when there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn current_client_version(&self, client_id: &str) -> Result<Option<i64>, StoreError> {
        let query = CallerStatusQuery { client_id: Some(client_id), ..CallerStatusQuery::default() };
        Ok(self.store.caller_status(&query).await?.client_version)
    }

    /// Returns the copy of the Client if it has `version`, else the Client as stored now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn client_at_version(&self, id: &str, version: i64) -> Result<Option<Arc<Client>>, StoreError> {
        match self.clients.get(id).filter(|client| client.version == version) {
            Some(client) => Ok(Some(client)),
            None => self.load_current_client(id).await,
        }
    }

    /// Returns the Organization at `version`: the copy if it has that version, else as stored now. `None` as version
    /// means it does not exist.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn organization_at_version(
        &self,
        id: &str,
        version: Option<i64>,
    ) -> Result<Option<Arc<VersionedOrganization>>, StoreError> {
        let Some(version) = version else { return Ok(None) };
        if let Some(held) = self.organizations.get(id).filter(|held| held.version == version) {
            return Ok(Some(held));
        }
        let Some(stored) = self.store.organization(id).await? else { return Ok(None) };
        let organization = Arc::new(VersionedOrganization { version: stored.version, resource: stored.resource });
        self.organizations.insert(id.to_owned(), Arc::clone(&organization));
        Ok(Some(organization))
    }

    /// Returns the person of this User if the copy has `version`, else the User as stored now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn end_user_at_version(&self, id: &str, version: i64) -> Result<Option<Arc<EndUser>>, StoreError> {
        if let Some(held) = self.people.get(id).filter(|held| held.version == version) {
            return Ok(Some(held));
        }
        let Some(stored) = self.store.user(id).await? else {
            self.people.invalidate(id);
            return Ok(None);
        };
        let person = Arc::new(EndUser::from_stored(id, &stored, &self.base_url));
        self.people.insert(id.to_owned(), Arc::clone(&person));
        Ok(Some(person))
    }

    /// Judges a request by the policies of `book`, which is of this directory.
    pub(crate) async fn judge(
        &self,
        book: &CompiledPolicies,
        subject: &PolicyEvaluationSubject<'_>,
        request: &(dyn Fn() -> Value + Send + Sync),
    ) -> CombinedPolicyDecision {
        book.evaluate_with_database(subject, request, self.store.as_ref()).await
    }

    /// Returns the policies at `revision`: the copy if it has that revision, else as stored now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn policies_at_revision(&self, revision: i64) -> Result<Arc<CompiledPolicies>, StoreError> {
        if let Some(held) = self.policies.load_full().filter(|held| held.revision() == revision) {
            return Ok(held);
        }
        let book = Arc::new(CompiledPolicies::compile(&self.store.stored_access_policies().await?));
        for skipped in book.uncompilable_policies() {
            tracing::warn!(policy = skipped.policy_id, issues = ?skipped.issues, "stored access policy allows nothing");
        }
        self.policies.store(Some(Arc::clone(&book)));
        Ok(book)
    }
}

impl std::fmt::Debug for RegistrationCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Directory").field("clients", &self.clients.entry_count()).finish_non_exhaustive()
    }
}

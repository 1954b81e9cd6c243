//! The apps that a user has connected, and the revocation of their access.
//!
//! Most were let in on the page and have a grant. What an app got by the person's password, or for a token of
//! another issuer, has none: it is shown by its families, and taken back for the app as a whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::audit::{AuditTrail, RevocationAudit};
use crate::authorization_endpoint::{AppSummary, in_words};
use crate::client::{Client, GrantType};
use crate::end_user::EndUser;
use crate::granted_authorization::GrantedAuthorization;
use crate::ports::{
    AuditAction, AuditRecord, ConsentGrant, ConsentGrantStore, PatientStore, PatientSummary, StoreError, TokenFamily,
    TokenFamilyStore,
};
use crate::registration_cache::RegistrationCache;
use crate::time_and_randomness::TimeAndRandomness;

/// The app to disconnect: by the grant of a person, or by the client id of an app without a consent page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppConnectionId {
    /// What the person allowed on the page: the id of the grant.
    Grant(String),
    /// What an app got without asking on the page: its `client_id`.
    Direct(String),
}

/// The way in which an app was authorized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppAuthorizationMethod {
    /// The person allowed it on the page.
    Page,
    /// The app was given the person's password.
    Password,
    /// The person was known to an issuer whose tokens the app may exchange.
    Issuer,
}

/// An app that a person has given access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedApp {
    /// What is taken back.
    pub held: AppConnectionId,
    /// How it was let in.
    pub by: AppAuthorizationMethod,
    /// The app, as registered now; its id alone when its registration is gone.
    pub app: AppSummary,
    /// Whose record it is about.
    pub patient: Option<PatientSummary>,
    /// When the person first allowed it, in seconds since the UNIX epoch; without a grant, when the oldest access
    /// that goes on began.
    pub since_s: i64,
    /// When the app last got a token, in seconds since the UNIX epoch; without a grant, when it last came with
    /// the proof and not with a refresh token.
    pub last_used_s: Option<i64>,
    /// What it may see and do, in plain words.
    pub allowed: Vec<String>,
}

/// Lists the apps that a person has let in, and takes their access back.
pub struct ConnectedAppService {
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) grants: Arc<dyn ConsentGrantStore>,
    pub(crate) families: Arc<dyn TokenFamilyStore>,
    pub(crate) patients: Arc<dyn PatientStore>,
    pub(crate) audit: AuditTrail,
}

impl ConnectedAppService {
    /// Returns what the person lets apps do, newest first; then what apps got without a grant, by their ids.
    ///
    /// Costs two statements, and one for each patient whose record it is about.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list_connected_apps(
        &self,
        env: &TimeAndRandomness<'_>,
        person: &EndUser,
    ) -> Result<Vec<ConnectedApp>, StoreError> {
        let mut apps = Vec::new();
        for grant in self.grants.active_grants_of_user(&person.id).await? {
            apps.push(self.granted(grant).await?);
        }
        let mut direct: BTreeMap<String, Vec<TokenFamily>> = BTreeMap::new();
        for family in self.families.grantless_families_of_user(&person.id, env.now_s()).await? {
            if family.credential == person.credential {
                direct.entry(family.client_id.clone()).or_default().push(family);
            }
        }
        for (client_id, families) in direct {
            apps.extend(self.got(client_id, &families).await?);
        }
        Ok(apps)
    }

    async fn granted(&self, grant: ConsentGrant) -> Result<ConnectedApp, StoreError> {
        let client = self.directory.cached_or_loaded_client(&grant.client_id).await?;
        Ok(ConnectedApp {
            app: card(client.as_deref(), &grant.client_id),
            allowed: in_words(&grant.granted, client.as_ref().map(|client| &client.authorization_code)),
            held: AppConnectionId::Grant(grant.id),
            by: AppAuthorizationMethod::Page,
            patient: self.patient(grant.patient_id.as_deref()).await?,
            since_s: grant.created_s,
            last_used_s: grant.used_s,
        })
    }

    /// Returns what an app got without a grant: all its families as one, newest first.
    async fn got(&self, client_id: String, families: &[TokenFamily]) -> Result<Option<ConnectedApp>, StoreError> {
        let read = |family: &TokenFamily| GrantedAuthorization::from_stored(&family.authorization).ok();
        let authorizations: Vec<GrantedAuthorization> = families.iter().filter_map(read).collect();
        let (Some(newest), Some(latest)) = (authorizations.first(), families.first()) else { return Ok(None) };
        let client = self.directory.cached_or_loaded_client(&client_id).await?;
        let settings = client.as_ref().and_then(|client| client.end_user_grant_settings(newest.grant));
        let scopes: Vec<&str> = authorizations.iter().map(|authorization| authorization.scope.as_str()).collect();
        Ok(Some(ConnectedApp {
            app: card(client.as_deref(), &client_id),
            allowed: in_words(&scopes.join(" "), settings),
            by: if newest.grant == GrantType::TokenExchange {
                AppAuthorizationMethod::Issuer
            } else {
                AppAuthorizationMethod::Password
            },
            patient: self.patient(newest.context.patient.as_deref()).await?,
            since_s: families.iter().map(|family| family.created_s).min().unwrap_or(latest.created_s),
            last_used_s: Some(latest.created_s),
            held: AppConnectionId::Direct(client_id),
        }))
    }

    async fn patient(&self, id: Option<&str>) -> Result<Option<PatientSummary>, StoreError> {
        match id {
            Some(id) => self.patients.patient_by_id(id).await,
            None => Ok(None),
        }
    }

    /// Takes access back: every token under it is good for nothing from now on. Returns whether this person had
    /// given it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn revoke_app_access(
        &self,
        env: &TimeAndRandomness<'_>,
        (person, address): (&EndUser, Option<&str>),
        held: &AppConnectionId,
    ) -> Result<bool, StoreError> {
        let grant_id = match held {
            AppConnectionId::Grant(grant_id) => grant_id,
            AppConnectionId::Direct(client_id) => {
                let had = self.families.revoke_grantless_families(&person.id, client_id, env.now_s()).await?;
                if had {
                    let revoked =
                        RevocationAudit { client_id, user_id: &person.id, grant_id: None, asked_by: None, address };
                    self.audit.revocation(env, &revoked);
                }
                return Ok(had);
            }
        };
        let grants = self.grants.active_grants_of_user(&person.id).await?;
        let had = self.grants.revoke_grant(&person.id, grant_id, &env.random_identifier()).await?;
        let grant = grants.into_iter().find(|grant| had && grant.id == *grant_id);
        if let Some(grant) = grant {
            self.audit.record(AuditRecord {
                client_id: Some(grant.client_id),
                user_id: Some(grant.user_id),
                patient_id: grant.patient_id,
                grant_id: Some(grant.id),
                address: address.map(str::to_owned),
                scope: Some(grant.granted),
                ..AuditRecord::new(env.now_us, AuditAction::Revocation)
            });
        }
        Ok(had)
    }
}

fn card(client: Option<&Client>, client_id: &str) -> AppSummary {
    client.map_or_else(|| AppSummary::gone(client_id), AppSummary::of)
}

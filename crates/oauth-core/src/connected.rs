//! The apps a person has let in, and taking that back.
//!
//! Most were let in on the page and have a grant. What an app got by the person's password, or for a token of
//! another issuer, has none: it is shown by its families, and taken back for the app as a whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::audit::{AuditTrail, RevocationAudit};
use crate::authorization::Authorization;
use crate::authorize::{AppCard, in_words};
use crate::client::{Client, GrantType};
use crate::directory::RegistrationCache;
use crate::env::Env;
use crate::person::Person;
use crate::ports::{
    AuditAction, AuditRecord, GrantStore, MemberGrant, PatientStore, PatientSummary, StoreError, TokenFamily,
    TokenFamilyStore,
};

/// The app to disconnect: by the grant of a person, or by the client id of an app without a consent page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionId {
    /// What the person allowed on the page: the id of the grant.
    Grant(String),
    /// What an app got without asking on the page: its `client_id`.
    Direct(String),
}

/// The way in which an app was authorized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorizedVia {
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
    pub held: ConnectionId,
    /// How it was let in.
    pub by: AuthorizedVia,
    /// The app, as registered now; its id alone when its registration is gone.
    pub app: AppCard,
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
    pub(crate) grants: Arc<dyn GrantStore>,
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
    pub async fn list(&self, env: &Env<'_>, person: &Person) -> Result<Vec<ConnectedApp>, StoreError> {
        let mut apps = Vec::new();
        for grant in self.grants.grants_of(&person.id).await? {
            apps.push(self.granted(grant).await?);
        }
        let mut direct: BTreeMap<String, Vec<TokenFamily>> = BTreeMap::new();
        for family in self.families.direct_families(&person.id, env.now_s()).await? {
            if family.credential == person.credential {
                direct.entry(family.client_id.clone()).or_default().push(family);
            }
        }
        for (client_id, families) in direct {
            apps.extend(self.got(client_id, &families).await?);
        }
        Ok(apps)
    }

    async fn granted(&self, grant: MemberGrant) -> Result<ConnectedApp, StoreError> {
        let client = self.directory.client(&grant.client_id).await?;
        Ok(ConnectedApp {
            app: card(client.as_deref(), &grant.client_id),
            allowed: in_words(&grant.granted, client.as_ref().map(|client| &client.authorization_code)),
            held: ConnectionId::Grant(grant.id),
            by: AuthorizedVia::Page,
            patient: self.patient(grant.patient_id.as_deref()).await?,
            since_s: grant.created_s,
            last_used_s: grant.used_s,
        })
    }

    /// Returns what an app got without a grant: all its families as one, newest first.
    async fn got(&self, client_id: String, families: &[TokenFamily]) -> Result<Option<ConnectedApp>, StoreError> {
        let read = |family: &TokenFamily| Authorization::read(&family.authorization).ok();
        let authorizations: Vec<Authorization> = families.iter().filter_map(read).collect();
        let (Some(newest), Some(latest)) = (authorizations.first(), families.first()) else { return Ok(None) };
        let client = self.directory.client(&client_id).await?;
        let settings = client.as_ref().and_then(|client| client.member_settings(newest.grant));
        let scopes: Vec<&str> = authorizations.iter().map(|authorization| authorization.scope.as_str()).collect();
        Ok(Some(ConnectedApp {
            app: card(client.as_deref(), &client_id),
            allowed: in_words(&scopes.join(" "), settings),
            by: if newest.grant == GrantType::TokenExchange { AuthorizedVia::Issuer } else { AuthorizedVia::Password },
            patient: self.patient(newest.context.patient.as_deref()).await?,
            since_s: families.iter().map(|family| family.created_s).min().unwrap_or(latest.created_s),
            last_used_s: Some(latest.created_s),
            held: ConnectionId::Direct(client_id),
        }))
    }

    async fn patient(&self, id: Option<&str>) -> Result<Option<PatientSummary>, StoreError> {
        match id {
            Some(id) => self.patients.patient(id).await,
            None => Ok(None),
        }
    }

    /// Takes access back: every token under it is good for nothing from now on. Returns whether this person had
    /// given it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn revoke(
        &self,
        env: &Env<'_>,
        (person, address): (&Person, Option<&str>),
        held: &ConnectionId,
    ) -> Result<bool, StoreError> {
        let grant_id = match held {
            ConnectionId::Grant(grant_id) => grant_id,
            ConnectionId::Direct(client_id) => {
                let had = self.families.revoke_direct_families(&person.id, client_id, env.now_s()).await?;
                if had {
                    let revoked =
                        RevocationAudit { client_id, user_id: &person.id, grant_id: None, asked_by: None, address };
                    self.audit.revocation(env, &revoked);
                }
                return Ok(had);
            }
        };
        let grants = self.grants.grants_of(&person.id).await?;
        let had = self.grants.revoke_grant(&person.id, grant_id, &env.identifier()).await?;
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

fn card(client: Option<&Client>, client_id: &str) -> AppCard {
    client.map_or_else(|| AppCard::gone(client_id), AppCard::of)
}

//! The apps a person has let in, and taking that back.

use crate::authority::Authority;
use crate::authorize::{AppCard, in_words};
use crate::env::Env;
use crate::person::Person;
use crate::ports::{AuditAction, AuditRecord, MemberGrant, PatientSummary, StoreError};

/// One app that a person lets see something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedApp {
    /// What is taken back.
    pub grant_id: String,
    /// The app, as registered now; its id alone when its registration is gone.
    pub app: AppCard,
    /// Whose record it is about.
    pub patient: Option<PatientSummary>,
    /// When the person first allowed it, in seconds since the UNIX epoch.
    pub since_s: i64,
    /// When the app last got a token, in seconds since the UNIX epoch.
    pub last_used_s: Option<i64>,
    /// What it may see and do, in plain words.
    pub allowed: Vec<String>,
}

/// What the person lets apps do, newest first.
///
/// Costs one statement, and one for each patient whose record it is about.
///
/// # Errors
/// [`StoreError`].
pub async fn list(_env: &Env<'_>, authority: &Authority, person: &Person) -> Result<Vec<ConnectedApp>, StoreError> {
    let mut apps = Vec::new();
    for grant in authority.members.grants_of(&person.id).await? {
        apps.push(shown(authority, grant).await?);
    }
    Ok(apps)
}

async fn shown(authority: &Authority, grant: MemberGrant) -> Result<ConnectedApp, StoreError> {
    let client = authority.directory.client(&grant.client_id).await?;
    let patient = match &grant.patient_id {
        Some(id) => authority.patients.patient(id).await?,
        None => None,
    };
    Ok(ConnectedApp {
        app: client.as_ref().map_or_else(|| AppCard::gone(&grant.client_id), |client| AppCard::of(client)),
        allowed: in_words(&grant.granted, client.as_ref().map(|client| &client.authorization_code)),
        grant_id: grant.id,
        patient,
        since_s: grant.created_s,
        last_used_s: grant.used_s,
    })
}

/// Takes a grant back: every token under it is good for nothing from now on. Returns whether this person had
/// such a grant.
///
/// # Errors
/// [`StoreError`].
pub async fn revoke(
    env: &Env<'_>,
    authority: &Authority,
    (person, address): (&Person, Option<&str>),
    grant_id: &str,
) -> Result<bool, StoreError> {
    let grants = authority.members.grants_of(&person.id).await?;
    let had = authority.members.revoke_grant(&person.id, grant_id).await?;
    let grant = grants.into_iter().find(|grant| had && grant.id == grant_id);
    if let Some(grant) = grant {
        authority.audit.record(AuditRecord {
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

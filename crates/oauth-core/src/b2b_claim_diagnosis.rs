//! The diagnosis of a Client's B2B claim: what its next token would carry, or which condition fails.

use b2b_claim::{B2bClaim, OmissionDiagnosis};
use serde::Serialize;

use crate::ports::StoreError;
use crate::registration_cache::RegistrationCache;
use crate::registration_cache::VersionedOrganization;
use crate::token_endpoint::b2b_of;

/// The response of `GET /Client/<id>/$b2b-claim`: what the Client's next token would carry, or which condition fails.
#[derive(Debug, Serialize)]
pub struct B2bClaimDiagnosis {
    /// The Client.
    pub client: String,
    /// The grant whose tokens are meant.
    pub grant: &'static str,
    /// Whether the next token carries the claim.
    pub embedded: bool,
    /// The claim.
    #[serde(rename = "hl7-b2b", skip_serializing_if = "Option::is_none")]
    pub claim: Option<B2bClaim>,
    /// The first condition that fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<OmissionDiagnosis>,
    /// One sentence that says it all.
    pub message: String,
}

/// Diagnoses the B2B claim of a Client from the Client and the Organization as stored now; `None` when there is no such
/// Client.
///
/// # Errors
/// [`StoreError`].
///
/// # Source
/// Specification, Access token claim (the three conditions) and Client registration rule (the
/// four steps of diagnosis).
pub async fn diagnose_b2b_claim(
    directory: &RegistrationCache,
    client_id: &str,
) -> Result<Option<B2bClaimDiagnosis>, StoreError> {
    let Some(client) = directory.load_current_client(client_id).await? else { return Ok(None) };
    let organization = match &client.b2b {
        Ok(registration) => directory.store().organization(&registration.organization.id).await?,
        Err(_) => None,
    };
    let organization =
        organization.map(|stored| VersionedOrganization { version: stored.version, resource: stored.resource });
    let outcome = b2b_of(&client, organization.as_ref());
    let message = match &outcome {
        Ok(_) => "the next token carries extensions.hl7-b2b".to_owned(),
        Err(omission) => format!("the next token carries no extensions.hl7-b2b: {omission}"),
    };
    Ok(Some(B2bClaimDiagnosis {
        client: client.id.clone(),
        grant: "client_credentials",
        embedded: outcome.is_ok(),
        failing: outcome.as_ref().err().map(b2b_claim::Omission::to_diagnosis),
        claim: outcome.ok(),
        message,
    }))
}

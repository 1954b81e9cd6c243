//! What the next token of a Client would carry, and if no B2B claim, which condition fails.

use b2b_claim::{Claim, Diagnosis};
use serde::Serialize;

use crate::directory::Organization;
use crate::directory::RegistrationCache;
use crate::ports::StoreError;
use crate::token::b2b_of;

/// The answer of `GET /Client/<id>/$b2b-claim`.
#[derive(Debug, Serialize)]
pub struct ClaimDiagnosis {
    /// The Client.
    pub client: String,
    /// The grant whose tokens are meant.
    pub grant: &'static str,
    /// Whether the next token carries the claim.
    pub embedded: bool,
    /// The claim.
    #[serde(rename = "hl7-b2b", skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// The first condition that fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<Diagnosis>,
    /// One sentence that says it all.
    pub message: String,
}

/// Looks at the Client and the Organization as stored now; `None` when there is no such Client.
///
/// # Errors
/// [`StoreError`].
///
/// # Source
/// Specification, Access token claim (the three conditions) and Client registration rule (the
/// four steps of diagnosis).
pub async fn diagnose(directory: &RegistrationCache, client_id: &str) -> Result<Option<ClaimDiagnosis>, StoreError> {
    let Some(client) = directory.read_client(client_id).await? else { return Ok(None) };
    let organization = match &client.b2b {
        Ok(registration) => directory.store().organization(&registration.organization.id).await?,
        Err(_) => None,
    };
    let organization = organization.map(|stored| Organization { version: stored.version, resource: stored.resource });
    let outcome = b2b_of(&client, organization.as_ref());
    let message = match &outcome {
        Ok(_) => "the next token carries extensions.hl7-b2b".to_owned(),
        Err(omission) => format!("the next token carries no extensions.hl7-b2b: {omission}"),
    };
    Ok(Some(ClaimDiagnosis {
        client: client.id.clone(),
        grant: "client_credentials",
        embedded: outcome.is_ok(),
        failing: outcome.as_ref().err().map(b2b_claim::Omission::diagnosis),
        claim: outcome.ok(),
        message,
    }))
}

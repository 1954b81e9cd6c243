//! `$b2b-claim`: why the next token of a Client carries the B2B claim, or why not.

use fhir_resource::ResourceKey;
use oauth_core::b2b_claim_diagnosis::{self, B2bClaimDiagnosis};

use crate::access::{self, AccessCheck};
use crate::error::ServiceError;
use crate::request_context::RequestContext;
use crate::service_state::FhirService;

/// Diagnoses why the next token of a Client carries the B2B claim or not, for a caller whom a policy lets read the
/// Client.
///
/// # Errors
/// [`ServiceError::NotFound`]; [`ServiceError::Denied`] when the caller may not read the Client.
pub async fn diagnose_b2b_claim(
    service: &FhirService,
    context: &RequestContext,
    key: ResourceKey,
) -> Result<B2bClaimDiagnosis, ServiceError> {
    let within = access::authorize(service, context, &AccessCheck::diagnose(&key, &context.query)).await?;
    if within.is_restricted() {
        // A Client is in no part of its type that scopes can name.
        return Err(ServiceError::NotFound(key));
    }
    let diagnosis = b2b_claim_diagnosis::diagnose_b2b_claim(&service.directory, key.id.as_str()).await?;
    diagnosis.ok_or(ServiceError::NotFound(key))
}

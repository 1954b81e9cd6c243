//! `$b2b-claim`: why the next token of a Client carries the B2B claim, or why not.

use fhir_resource::ResourceKey;
use oauth_core::diagnosis::{self, ClaimDiagnosis};

use crate::access::{self, AccessCheck};
use crate::error::ServiceError;
use crate::request_context::RequestContext;
use crate::service::FhirService;

/// Diagnoses a Client, for a caller whom a policy by name lets read it: the diagnosis names an organization and its
/// identifiers, which the Client does not.
///
/// # Errors
/// [`ServiceError::NotFound`], or why the caller may not.
pub async fn diagnose(
    service: &FhirService,
    context: &RequestContext,
    key: ResourceKey,
) -> Result<ClaimDiagnosis, ServiceError> {
    let within = access::authorize(service, context, &AccessCheck::diagnose(&key, &context.query)).await?;
    if within.is_confined() {
        // A Client is in no part of its type that scopes can name.
        return Err(ServiceError::NotFound(key));
    }
    let diagnosis = diagnosis::diagnose(&service.directory, key.id.as_str()).await?;
    diagnosis.ok_or(ServiceError::NotFound(key))
}

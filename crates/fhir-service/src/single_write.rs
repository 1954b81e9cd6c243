//! Writes that are requests by themselves, and not entries of a Bundle.

use fhir_store::{ResourceWrite, WriteOutcome};

use crate::access::{self, AccessCheck};
use crate::error::ServiceError;
use crate::request_budget::RequestBudget;
use crate::request_context::RequestContext;
use crate::service_state::FhirService;
use crate::{conditional_references, patch, write as pipeline, write_target};

/// Executes a create, update or delete that is a request by itself: resolves conditional references, authorizes,
/// validates and stores it.
///
/// # Errors
/// [`ServiceError`]; nothing was written then.
pub async fn execute_write(
    service: &FhirService,
    context: &RequestContext,
    write: ResourceWrite,
) -> Result<WriteOutcome, ServiceError> {
    let mut budget = RequestBudget::new(service.settings.searches_time());
    let write = conditional_references::resolved(service, context, write, &mut budget).await?;
    let reach = access::authorize_write(service, context, &AccessCheck::write(&write, &context.query)).await?;
    pipeline::write_one(service, context.format, ResourceWrite { reach, ..write }).await
}

/// Patches the one resource that the condition of the write matches.
///
/// # Errors
/// [`ServiceError`]: as for [`patch_resource`](patch::patch_resource), and when no resource or several match.
pub async fn patch_by_condition(
    service: &FhirService,
    context: &RequestContext,
    write: &ResourceWrite,
) -> Result<WriteOutcome, ServiceError> {
    let key = write_target::find_target(service, context, write, &context.query).await?;
    patch::patch_resource(service, context, write, &key).await
}

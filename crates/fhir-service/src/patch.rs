//! Patches: judged by the document that they make, and stored as that document.

use fhir_resource::{ResourceKey, StoredResource, format_conversion};
use fhir_store::{
    AccessFilter, IfMatch, PatchDocument, ResourceWrite, WriteError, WriteOperation, WriteOutcome, patch,
    transaction_plan, write_conversion,
};
use serde_json::Value;

use crate::access::{self, AccessCheck};
use crate::error::ServiceError;
use crate::request_context::RequestContext;
use crate::resource_format::ResourceFormat;
use crate::service_state::FhirService;
use crate::validation::base_definition;
use crate::{resource_lookup, security_resources, write as pipeline};

/// How often a patch is applied again to what another writer stored in the meantime.
const ATTEMPTS: usize = 4;

/// Patches a resource in the format of the endpoint, if the caller may store the patched document.
///
/// The patched document is validated like any other, and stored only if no other writer stored the resource in the
/// meantime; else the patch is authorized and applied again.
///
/// # Errors
/// [`ServiceError`] when the patch is refused; [`ServiceError::Unsettled`] when other writers changed the resource
/// during every attempt.
pub async fn patch_resource(
    service: &FhirService,
    context: &RequestContext,
    write: &ResourceWrite,
    key: &ResourceKey,
) -> Result<WriteOutcome, ServiceError> {
    pipeline::check_writable(write)?;
    let WriteOperation::Patch(change) = &write.operation else { return Err(ServiceError::Unanswered) };
    let mut hashed = None;
    for _ in 0..ATTEMPTS {
        let PatchableResource { stored, within } =
            authorize_patch(service, context, &AccessCheck::write(write, &context.query), PatchRequest { key, change })
                .await?;
        let change = match hashed.take() {
            Some(change) => change,
            // Hashing is expensive, so it is done only for a caller who may patch.
            None => {
                security_resources::prepare_patch(
                    service,
                    &key.resource_type,
                    (change.clone(), stored.resource.clone()),
                )
                .await?
            }
        };
        let expected = match write.precondition.if_match {
            Some(IfMatch::Version(version)) => version,
            Some(IfMatch::Any) | None => stored.version,
        };
        let mut put = ResourceWrite::unconditional(
            key.clone(),
            WriteOperation::Put(apply(service, context.format, &stored, &change)?),
        );
        put.precondition.if_match = Some(IfMatch::Version(expected));
        put.precondition.if_none_match = write.precondition.if_none_match;
        put.reach.target = within;
        match pipeline::store_one(service, put).await {
            Err(ServiceError::Refused { cause: WriteError::VersionMismatch { .. }, .. })
                if expected == stored.version => {}
            done => return done,
        }
        hashed = Some(change);
    }
    Err(ServiceError::Unsettled)
}

/// A patch and the resource it is for.
#[derive(Clone, Copy)]
pub(crate) struct PatchRequest<'a> {
    pub(crate) key: &'a ResourceKey,
    pub(crate) change: &'a PatchDocument,
}

/// A resource that may be patched.
pub(crate) struct PatchableResource {
    /// The version the patch was judged on.
    pub(crate) stored: StoredResource,
    /// Where the patched resource has to stay.
    pub(crate) within: AccessFilter,
}

/// Returns the version of a resource that the caller may patch, judged by the document the patch makes of it.
///
/// A caller who may not patch does not learn whether the resource is there, nor whether the patch fits: a patch that
/// does not fit is judged without a document, and refused where it is applied.
///
/// # Errors
/// Why the caller may not, and [`ServiceError::NotFound`].
pub(crate) async fn authorize_patch(
    service: &FhirService,
    context: &RequestContext,
    check: &AccessCheck<'_>,
    patch: PatchRequest<'_>,
) -> Result<PatchableResource, ServiceError> {
    let PatchRequest { key, change } = patch;
    let found = resource_lookup::current(service, key, &access::scope_filter(service, context, check).await?).await;
    let made = found.as_ref().ok().and_then(|stored| {
        let before = in_format(service, context.format, stored);
        let patched = patch::apply_patch(&before, change).ok()?;
        Some(security_resources::judged(&key.resource_type, &before, patched))
    });
    let within = access::authorize(service, context, &check.making(made.as_ref())).await?;
    Ok(PatchableResource { stored: found?, within })
}

/// Returns the document a patch is written against.
fn in_format(service: &FhirService, format: ResourceFormat, stored: &StoredResource) -> Value {
    if service.settings.converts(format) {
        format_conversion::convert_to_fhir(stored.to_document())
    } else {
        stored.to_document()
    }
}

/// Returns the patched document as it would be stored; its secrets are hashes already.
fn apply(
    service: &FhirService,
    format: ResourceFormat,
    stored: &StoredResource,
    change: &PatchDocument,
) -> Result<Value, ServiceError> {
    let patched = if service.settings.converts(format) {
        write_conversion::apply_fhir_patch_to_native(stored, change)
    } else {
        patch::apply_patch(&stored.to_document(), change)
    };
    let body =
        patched.map_err(|fault| ServiceError::Refused { cause: WriteError::Patch(fault.to_string()), entry: None })?;
    transaction_plan::check_no_added_conditional_reference(&stored.key, &stored.to_document(), &body)
        .map_err(|cause| ServiceError::Refused { cause, entry: None })?;
    base_definition::check(format, &stored.key.resource_type, &body)?;
    security_resources::check(service, &stored.key.resource_type, &body)?;
    Ok(body)
}

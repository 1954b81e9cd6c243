//! `$export` of the system, of all patients and of a Group, and `$davinci-data-export`: kick-off.
//!
//! # Source
//! HL7 Bulk Data Access; `docs/decisions.md`, "Exports".

use std::collections::BTreeSet;

use fhir_resource::{ResourceId, ResourceType};
use fhir_store::match_group;
use oauth_core::access::AccessError;
use oauth_core::caller::CallerIdentity;
use payer_exchange::consent::ConsentRule;
use payer_exchange::davinci_export::{DavinciExportError, ExportType, member_ids};
use payer_exchange::export::{
    ElementSelection, ExportError, ExportParameters, ExportSubjects, ExportWork, SearchParameters, TypeExport,
    exportable,
};
use payer_exchange::jobs::JobWork;
use payer_exchange::member_match::group;
use serde_json::Value;

use crate::access::{OperationAddress, OperationCall};
use crate::error::{PayerError, ServiceError};
use crate::operation_audit::OperationAudit;
use crate::request_context::RequestContext;
use crate::service::FhirService;
use crate::{access_filter, payer};

/// The parameters of an export of everything, which names no patients.
const SYSTEM: &[&str] = &["_type", "_since", "_until", "_typeFilter", "_elements", "_outputFormat"];
/// The parameters of a Da Vinci export.
const DAVINCI: &[&str] = &["exportType", "_type", "_since", "_until", "_typeFilter", "_outputFormat", "patient"];

/// Begins an export of everything, and returns its job.
///
/// # Errors
/// Why it is refused.
pub async fn system(
    service: &FhirService,
    context: &RequestContext,
    address: OperationAddress<'_>,
    body: Option<Value>,
) -> Result<ResourceId, ServiceError> {
    let operation = OperationCall { name: "FhirExport", address };
    let audit = OperationAudit::of(service, context, &operation, None);
    let begun = begin_system(service, context, &operation, body).await;
    audit.record_job(service, begun.as_ref());
    begun
}

async fn begin_system(
    service: &FhirService,
    context: &RequestContext,
    operation: &OperationCall<'_>,
    body: Option<Value>,
) -> Result<ResourceId, ServiceError> {
    payer::require_async(context)?;
    let parameters = parameters(context, body, SYSTEM)?;
    begin(service, context, operation, parameters, ExportRequest::plain(ExportSubjects::Everything)).await
}

/// Begins an export of what belongs to patients, and returns its job.
///
/// # Errors
/// Why it is refused.
pub async fn patients(
    service: &FhirService,
    context: &RequestContext,
    address: OperationAddress<'_>,
    body: Option<Value>,
) -> Result<ResourceId, ServiceError> {
    let operation = OperationCall { name: "FhirExport", address };
    let audit = OperationAudit::of(service, context, &operation, None);
    let begun = begin_patients(service, context, &operation, body).await;
    audit.record_job(service, begun.as_ref());
    begun
}

async fn begin_patients(
    service: &FhirService,
    context: &RequestContext,
    operation: &OperationCall<'_>,
    body: Option<Value>,
) -> Result<ResourceId, ServiceError> {
    payer::require_async(context)?;
    let parameters = parameters(context, body, ExportParameters::BULK)?;
    let subjects = parameters.patients.clone().map_or(ExportSubjects::Patients, ExportSubjects::These);
    begin(service, context, operation, parameters, ExportRequest::plain(subjects)).await
}

/// Begins an export of what belongs to the members of a Group, and returns its job.
///
/// # Errors
/// Why it is refused.
pub async fn of_group(
    service: &FhirService,
    context: &RequestContext,
    address: OperationAddress<'_>,
    id: &str,
    body: Option<Value>,
) -> Result<ResourceId, ServiceError> {
    let operation = OperationCall { name: "FhirExport", address };
    let audit = OperationAudit::of(service, context, &operation, Some(id));
    let begun = begin_group(service, context, &operation, id, body).await;
    audit.record_job(service, begun.as_ref());
    begun
}

async fn begin_group(
    service: &FhirService,
    context: &RequestContext,
    operation: &OperationCall<'_>,
    id: &str,
    body: Option<Value>,
) -> Result<ResourceId, ServiceError> {
    payer::require_async(context)?;
    let parameters = parameters(context, body, ExportParameters::BULK)?;
    payer::owner(service, context)?;
    let group = payer::readable_group(service, context, operation, id).await?;
    let is_administrator = matches!(context.caller.identity, CallerIdentity::Root);
    if group::made_for(&group).is_some() && !is_administrator {
        return Err(PayerError::MatchedGroup.into());
    }
    let members = member_ids(&group, &format!("{}/", service.settings.fhir_base()));
    let subjects = ExportSubjects::These(requested_members(members, &parameters)?);
    begin(service, context, operation, parameters, ExportRequest::plain(subjects)).await
}

/// Begins an export of what the members of a Group let the caller's organization have, and returns its job.
///
/// # Errors
/// Why it is refused.
pub async fn davinci(
    service: &FhirService,
    context: &RequestContext,
    address: OperationAddress<'_>,
    id: &str,
    body: Option<Value>,
) -> Result<ResourceId, ServiceError> {
    let operation = OperationCall { name: "FhirDavinciDataExport", address };
    let audit = OperationAudit::of(service, context, &operation, Some(id));
    let begun = begin_davinci(service, context, &operation, id, body).await;
    audit.record_job(service, begun.as_ref());
    begun
}

async fn begin_davinci(
    service: &FhirService,
    context: &RequestContext,
    operation: &OperationCall<'_>,
    id: &str,
    body: Option<Value>,
) -> Result<ResourceId, ServiceError> {
    let requester = payer::requester(service, context, PayerError::NoClaimForExport).await?;
    payer::require_async(context)?;
    let parameters = ExportParameters::of_body(&body.ok_or(ExportError::NotParameters)?, DAVINCI)?;
    let export_type = ExportType::of(&parameters)?;
    let group = payer::group(service, context, id).await?;
    // Another organization's Group is answered as one that is not there.
    if requester.as_ref().is_some_and(|one| !match_group::is_made_for(&group, &one.system, &one.value)) {
        return Err(payer::no_group(id));
    }
    export_type.check(&group, service.now_us())?;
    let members = member_ids(&group, &format!("{}/", service.settings.fhir_base()));
    let export = ExportRequest {
        subjects: ExportSubjects::These(requested_members(members, &parameters)?),
        consent: Some(export_type.consent(&group, requester)?),
        shape: export_type.shape(service.now_us()),
    };
    begin(service, context, operation, parameters, export).await
}

/// Returns the parameters of the body, or of the address where there is no body.
fn parameters(
    context: &RequestContext,
    body: Option<Value>,
    supported: &[&str],
) -> Result<ExportParameters, PayerError> {
    match body {
        Some(body) => Ok(ExportParameters::of_body(&body, supported)?),
        None => Ok(ExportParameters::of_query(&context.parameters, supported)?),
    }
}

/// Returns the members, or those of them that the request names.
fn requested_members(members: BTreeSet<String>, parameters: &ExportParameters) -> Result<BTreeSet<String>, PayerError> {
    let Some(patients) = &parameters.patients else { return Ok(members) };
    match patients.iter().find(|patient| !members.contains(*patient)) {
        Some(stranger) => Err(DavinciExportError::NoMember(format!("Patient/{stranger}")).into()),
        None => Ok(patients.clone()),
    }
}

/// The scope of an export, besides the parameters of its request.
struct ExportRequest {
    subjects: ExportSubjects,
    consent: Option<ConsentRule>,
    shape: ElementSelection,
}

impl ExportRequest {
    /// Returns an export of whole resources, without consents.
    const fn plain(subjects: ExportSubjects) -> Self {
        Self { subjects, consent: None, shape: ElementSelection::Whole }
    }
}

/// Puts an export into the queue.
///
/// # Errors
/// When the caller may see none of the types, or not one that it names.
async fn begin(
    service: &FhirService,
    context: &RequestContext,
    operation: &OperationCall<'_>,
    parameters: ExportParameters,
    export: ExportRequest,
) -> Result<ResourceId, ServiceError> {
    let ExportRequest { subjects, consent, shape } = export;
    let types = types(service, context, operation, &parameters, &subjects).await?;
    let work =
        ExportWork { types, subjects, since_us: parameters.since_us, until_us: parameters.until_us, consent, shape };
    payer::enqueue(service, context, operation, JobWork::Export(work)).await
}

/// Returns the types to write. Where the request names none, those the caller may see.
async fn types(
    service: &FhirService,
    context: &RequestContext,
    operation: &OperationCall<'_>,
    parameters: &ExportParameters,
    subjects: &ExportSubjects,
) -> Result<Vec<TypeExport>, ServiceError> {
    let named: Vec<&str> = match &parameters.types {
        Some(types) => types.iter().map(ResourceType::as_str).collect(),
        None => subjects.default_types(),
    };
    let mut types = Vec::with_capacity(named.len());
    let mut denied = AccessError::InsufficientScope { needed: "system/*.read".to_owned() };
    for name in named {
        let kind: ResourceType = name.parse().map_err(|_| PayerError::NoJob)?;
        if !exportable(&kind, subjects) {
            return Err(PayerError::NotExported(kind).into());
        }
        match payer::authorized_queries(service, context, operation, name).await {
            Ok(mut within) => {
                let filters = parameters.filters.iter().filter(|(of, _)| *of == kind).map(|(_, query)| query.clone());
                let filters: Vec<SearchParameters> = filters.collect();
                within.extend((!filters.is_empty()).then_some(filters));
                let (elements, ownership) =
                    (parameters.elements_of(&kind), access_filter::ownership(&context.caller, &kind));
                types.push(TypeExport { resource_type: name.to_owned(), within, elements, ownership });
            }
            Err(AccessError::Store(cause)) => return Err(AccessError::Store(cause).into()),
            Err(cause) if parameters.types.is_some() => return Err(cause.into()),
            Err(cause) => denied = cause,
        }
    }
    if types.is_empty() { Err(denied.into()) } else { Ok(types) }
}

//! `$export` of the system, of all patients and of a Group, and `$davinci-data-export`: kick-off.
//!
//! # Source
//! HL7 Bulk Data Access; `docs/decisions.md`, "Exports".

use std::collections::BTreeSet;

use fhir_resource::{ResourceId, ResourceType};
use fhir_store::member_match_group;
use oauth_core::access::AccessError;
use oauth_core::resource_caller::CallerIdentity;
use payer_exchange::bulk_export::{
    ElementSelection, ExportParameters, ExportParametersError, ExportSubjects, ExportWork, ExportedType,
    SearchParameterPairs, is_type_exportable,
};
use payer_exchange::consent::ExportConsentRule;
use payer_exchange::davinci_export::{DavinciExportError, DavinciExportType, active_member_patient_ids};
use payer_exchange::jobs::JobWork;
use payer_exchange::member_match::match_group;
use serde_json::Value;

use crate::access::{OperationCall, OperationRequestLine};
use crate::error::{PayerOperationError, ServiceError};
use crate::operation_audit::OperationAudit;
use crate::request_context::RequestContext;
use crate::service_state::FhirService;
use crate::{access_filter, payer};

/// The parameters of an export of everything, which names no patients.
const SYSTEM: &[&str] = &["_type", "_since", "_until", "_typeFilter", "_elements", "_outputFormat"];
/// The parameters of a Da Vinci export.
const DAVINCI: &[&str] = &["exportType", "_type", "_since", "_until", "_typeFilter", "_outputFormat", "patient"];

/// Starts an export of the whole system, and returns the job id.
///
/// # Errors
/// [`ServiceError`]: the caller may not export, a parameter is wrong, or the client has too many open jobs.
pub async fn start_system_export(
    service: &FhirService,
    context: &RequestContext,
    address: OperationRequestLine<'_>,
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

/// Starts an export of the resources of all patients, and returns the job id.
///
/// # Errors
/// [`ServiceError`]: the caller may not export, a parameter is wrong, or the client has too many open jobs.
pub async fn start_patient_export(
    service: &FhirService,
    context: &RequestContext,
    address: OperationRequestLine<'_>,
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
    let parameters = parameters(context, body, ExportParameters::COMMON_PARAMETER_NAMES)?;
    let subjects = parameters.patients.clone().map_or(ExportSubjects::Patients, ExportSubjects::These);
    begin(service, context, operation, parameters, ExportRequest::plain(subjects)).await
}

/// Starts an export of the resources of a Group's members, and returns the job id.
///
/// # Errors
/// [`ServiceError`]: the caller may not export, a parameter is wrong, or the client has too many open jobs.
pub async fn start_group_export(
    service: &FhirService,
    context: &RequestContext,
    address: OperationRequestLine<'_>,
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
    let parameters = parameters(context, body, ExportParameters::COMMON_PARAMETER_NAMES)?;
    payer::owner(service, context)?;
    let group = payer::readable_group(service, context, operation, id).await?;
    let is_administrator = matches!(context.caller.identity, CallerIdentity::Root);
    if match_group::group_recipient_organization(&group).is_some() && !is_administrator {
        return Err(PayerOperationError::MatchedGroup.into());
    }
    let members = active_member_patient_ids(&group, &format!("{}/", service.settings.fhir_base_url()));
    let subjects = ExportSubjects::These(requested_members(members, &parameters)?);
    begin(service, context, operation, parameters, ExportRequest::plain(subjects)).await
}

/// Starts a Da Vinci export of a Group's members, as far as they consent, and returns the job id.
///
/// # Errors
/// [`ServiceError`]: the caller may not export, a parameter is wrong, or the client has too many open jobs.
pub async fn start_davinci_export(
    service: &FhirService,
    context: &RequestContext,
    address: OperationRequestLine<'_>,
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
    let requester = payer::requester(service, context, PayerOperationError::NoClaimForExport).await?;
    payer::require_async(context)?;
    let parameters = ExportParameters::from_body(&body.ok_or(ExportParametersError::NotParameters)?, DAVINCI)?;
    let export_type = DavinciExportType::from_parameters(&parameters)?;
    let group = payer::group(service, context, id).await?;
    // Another organization's Group is answered as one that is not there.
    if requester
        .as_ref()
        .is_some_and(|one| !member_match_group::is_made_for_organization(&group, &one.system, &one.value))
    {
        return Err(payer::no_group(id));
    }
    export_type.check_group(&group, service.now_us())?;
    let members = active_member_patient_ids(&group, &format!("{}/", service.settings.fhir_base_url()));
    let export = ExportRequest {
        subjects: ExportSubjects::These(requested_members(members, &parameters)?),
        consent: Some(export_type.required_consent(&group, requester)?),
        shape: export_type.element_selection(service.now_us()),
    };
    begin(service, context, operation, parameters, export).await
}

/// Returns the parameters of the body, or of the address where there is no body.
fn parameters(
    context: &RequestContext,
    body: Option<Value>,
    supported: &[&str],
) -> Result<ExportParameters, PayerOperationError> {
    match body {
        Some(body) => Ok(ExportParameters::from_body(&body, supported)?),
        None => Ok(ExportParameters::from_query(&context.parameters, supported)?),
    }
}

/// Returns the members, or those of them that the request names.
fn requested_members(
    members: BTreeSet<String>,
    parameters: &ExportParameters,
) -> Result<BTreeSet<String>, PayerOperationError> {
    let Some(patients) = &parameters.patients else { return Ok(members) };
    match patients.iter().find(|patient| !members.contains(*patient)) {
        Some(stranger) => Err(DavinciExportError::NoMember(format!("Patient/{stranger}")).into()),
        None => Ok(patients.clone()),
    }
}

/// The scope of an export, besides the parameters of its request.
struct ExportRequest {
    subjects: ExportSubjects,
    consent: Option<ExportConsentRule>,
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
) -> Result<Vec<ExportedType>, ServiceError> {
    let named: Vec<&str> = match &parameters.types {
        Some(types) => types.iter().map(ResourceType::as_str).collect(),
        None => subjects.default_types(),
    };
    let mut types = Vec::with_capacity(named.len());
    let mut denied = AccessError::InsufficientScope { needed: "system/*.read".to_owned() };
    for name in named {
        let kind: ResourceType = name.parse().map_err(|_| PayerOperationError::NoJob)?;
        if !is_type_exportable(&kind, subjects) {
            return Err(PayerOperationError::NotExported(kind).into());
        }
        match payer::authorized_queries(service, context, operation, name).await {
            Ok(mut within) => {
                let filters = parameters.filters.iter().filter(|(of, _)| *of == kind).map(|(_, query)| query.clone());
                let filters: Vec<SearchParameterPairs> = filters.collect();
                within.extend((!filters.is_empty()).then_some(filters));
                let (elements, ownership) =
                    (parameters.elements_of_type(&kind), access_filter::ownership(&context.caller, &kind));
                types.push(ExportedType { resource_type: name.to_owned(), within, elements, ownership });
            }
            Err(AccessError::Store(cause)) => return Err(AccessError::Store(cause).into()),
            Err(cause) if parameters.types.is_some() => return Err(cause.into()),
            Err(cause) => denied = cause,
        }
    }
    if types.is_empty() { Err(denied.into()) } else { Ok(types) }
}

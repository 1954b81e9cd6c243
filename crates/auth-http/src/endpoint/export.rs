//! `$export` of the system, of all patients, of a Group, and `$davinci-data-export`: kick-off.
//!
//! # Source
//! HL7 Bulk Data Access; `docs/decisions.md`, "Exports".

use std::collections::BTreeSet;

use axum::extract::{Path, State};
use axum::response::Response;
use fhir_store::ResourceId;
use fhir_store::export::{ElementSelection, ExportError, ExportParameters, ExportSubjects};
use fhir_store::payer::davinci::{DavinciExportError, ExportType, member_ids};
use fhir_store::payer::group;
use http::{Method, Uri};
use oauth_core::caller::CallerIdentity;

use super::jobs;
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::payer::{self, ExportRequest, OperationCall, PayerError};
use crate::recorded;
use crate::state::App;

/// The parameters of an export of everything, where no patient is anybody's.
const SYSTEM: &[&str] = &["_type", "_since", "_until", "_typeFilter", "_elements", "_outputFormat"];
/// Those of a Da Vinci export.
const DAVINCI: &[&str] = &["exportType", "_type", "_since", "_until", "_typeFilter", "_outputFormat", "patient"];

/// Exports everything.
pub(crate) async fn system(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let operation = OperationCall { name: "FhirExport", method: &method, uri: &uri };
    let told = recorded::AuditedRequest::of(&app, &call, &operation, None);
    answered(&app, told, begin_system(&app, &mut call, &operation).await)
}

async fn begin_system(
    app: &App,
    call: &mut ResourceRequest,
    operation: &OperationCall<'_>,
) -> Result<ResourceId, ApiError> {
    payer::demand_async(call)?;
    let asked = asked(call, SYSTEM)?;
    let export = ExportRequest { subjects: ExportSubjects::Everything, consent: None, shape: ElementSelection::Whole };
    payer::begin_export(app, call, operation, asked, export).await
}

/// Exports what is of patients.
pub(crate) async fn patients(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let operation = OperationCall { name: "FhirExport", method: &method, uri: &uri };
    let told = recorded::AuditedRequest::of(&app, &call, &operation, None);
    answered(&app, told, begin_patients(&app, &mut call, &operation).await)
}

async fn begin_patients(
    app: &App,
    call: &mut ResourceRequest,
    operation: &OperationCall<'_>,
) -> Result<ResourceId, ApiError> {
    payer::demand_async(call)?;
    let asked = asked(call, ExportParameters::BULK)?;
    let subjects = asked.patients.clone().map_or(ExportSubjects::Patients, ExportSubjects::These);
    let export = ExportRequest { subjects, consent: None, shape: ElementSelection::Whole };
    payer::begin_export(app, call, operation, asked, export).await
}

/// Exports what is of the members of a Group.
pub(crate) async fn group(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    Path(id): Path<String>,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let operation = OperationCall { name: "FhirExport", method: &method, uri: &uri };
    let told = recorded::AuditedRequest::of(&app, &call, &operation, Some(&id));
    answered(&app, told, begin_group(&app, &mut call, &operation, &id).await)
}

async fn begin_group(
    app: &App,
    call: &mut ResourceRequest,
    operation: &OperationCall<'_>,
    id: &str,
) -> Result<ResourceId, ApiError> {
    payer::demand_async(call)?;
    let asked = asked(call, ExportParameters::BULK)?;
    payer::owner(app, call)?;
    let group = payer::readable_group(app, call, operation, id).await?;
    let is_administrator = matches!(call.caller.identity, CallerIdentity::Root);
    if group::made_for(&group).is_some() && !is_administrator {
        return Err(PayerError::MatchedGroup.into());
    }
    let members = member_ids(&group, &format!("{}/", app.settings.fhir_base()));
    let subjects = ExportSubjects::These(members_asked(members, &asked)?);
    let export = ExportRequest { subjects, consent: None, shape: ElementSelection::Whole };
    payer::begin_export(app, call, operation, asked, export).await
}

/// Exports what the members of a Group let the asking organization have.
pub(crate) async fn davinci(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    Path(id): Path<String>,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let operation = OperationCall { name: "FhirDavinciDataExport", method: &method, uri: &uri };
    let told = recorded::AuditedRequest::of(&app, &call, &operation, Some(&id));
    answered(&app, told, begin_davinci(&app, &mut call, &operation, &id).await)
}

async fn begin_davinci(
    app: &App,
    call: &mut ResourceRequest,
    operation: &OperationCall<'_>,
    id: &str,
) -> Result<ResourceId, ApiError> {
    let requester = payer::requester(app, call, PayerError::NoClaimForExport).await?;
    payer::demand_async(call)?;
    let asked = ExportParameters::of_body(&call.take_resource().map_err(|_| ExportError::NotParameters)?, DAVINCI)?;
    let export_type = ExportType::of(&asked)?;
    let group = payer::group(app, call, id).await?;
    // Another organization's Group is answered as one that is not there.
    if requester.as_ref().is_some_and(|one| !group::is_made_for(&group, &one.system, &one.value)) {
        return Err(payer::no_group(id));
    }
    export_type.check(&group, app.now_us())?;
    let members = member_ids(&group, &format!("{}/", app.settings.fhir_base()));
    let export = ExportRequest {
        subjects: ExportSubjects::These(members_asked(members, &asked)?),
        consent: Some(export_type.consent(&group, requester)?),
        shape: export_type.shape(app.now_us()),
    };
    payer::begin_export(app, call, operation, asked, export).await
}

/// Tells the auditor and the caller what came of it.
fn answered(
    app: &App,
    told: recorded::AuditedRequest,
    begun: Result<ResourceId, ApiError>,
) -> Result<Response, ApiError> {
    told.begun(app, begun.as_ref());
    Ok(jobs::accepted(app, jobs::EXPORT_STATUS, &begun?))
}

/// Returns the parameters of the body, or of the address where there is none.
fn asked(call: &mut ResourceRequest, takes: &[&str]) -> Result<ExportParameters, PayerError> {
    match call.take_resource() {
        Ok(body) => Ok(ExportParameters::of_body(&body, takes)?),
        Err(_) => Ok(ExportParameters::of_query(&call.query, takes)?),
    }
}

/// Returns the members, or those of them that are asked for.
fn members_asked(members: BTreeSet<String>, asked: &ExportParameters) -> Result<BTreeSet<String>, PayerError> {
    let Some(patients) = &asked.patients else { return Ok(members) };
    match patients.iter().find(|patient| !members.contains(*patient)) {
        Some(stranger) => Err(DavinciExportError::NoMember(format!("Patient/{stranger}")).into()),
        None => Ok(patients.clone()),
    }
}

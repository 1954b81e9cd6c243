//! `$member-match`, `$bulk-member-match` and `$provider-member-match`.
//!
//! # Source
//! HL7 Da Vinci `HRex` and `PDex`; `docs/decisions.md`, "Member match". Which scopes are needed is not specified: those
//! for reading and searching Patients, because an answer contains that.

use fhir_resource::ResourceId;
use payer_exchange::bulk_export::{
    ExportParametersError, ExportQueryContext, SearchParameterPairs, access_filter_of_queries,
};
use payer_exchange::consent::ConsentContext;
use payer_exchange::jobs::JobWork;
use payer_exchange::member_match::{
    MatchWork, MatchedMembers, PatientMatchRules, RequiredDemographics, SubmittedMember, match_request,
};
use payer_exchange::{MatchRequesterKind, RequestingOrganization};
use serde_json::Value;

use crate::access::{OperationCall, OperationRequestLine};
use crate::error::{PayerOperationError, ServiceError};
use crate::operation_audit::OperationAudit;
use crate::request_context::RequestContext;
use crate::service_state::FhirService;
use crate::{member_identifier, payer};

/// Matches one member for another payer (`$member-match`), and returns the response, which names the patient.
///
/// # Errors
/// [`PayerOperationError::NoMatch`] when no single patient may be reported, [`ServiceError::TooManyGuesses`],
/// [`ServiceError::Denied`], and [`PayerOperationError::Sent`] for a wrong request.
pub async fn match_single_member(
    service: &FhirService,
    context: &RequestContext,
    address: OperationRequestLine<'_>,
    body: Option<Value>,
) -> Result<Value, ServiceError> {
    let operation = OperationCall { name: "FhirMemberMatch", address };
    let audit = OperationAudit::of(service, context, &operation, None);
    let found = find(service, context, &operation, body).await;
    audit.record_member(service, found.as_deref());
    let patient = found?;
    Ok(match_request::matched_member_response(&patient, &member_identifier::of(service, &patient).await?))
}

/// Starts a bulk match of a payer's members or a provider's patients, and returns the job id.
///
/// # Errors
/// [`ServiceError`]: the caller may not match, the request is wrong, or the client has too many open jobs.
pub async fn start_bulk_match(
    service: &FhirService,
    context: &RequestContext,
    address: OperationRequestLine<'_>,
    kind: MatchRequesterKind,
    body: Option<Value>,
) -> Result<ResourceId, ServiceError> {
    let name = match kind {
        MatchRequesterKind::Payer => "FhirBulkMemberMatch",
        MatchRequesterKind::Provider => "FhirProviderMemberMatch",
    };
    let operation = OperationCall { name, address };
    let audit = OperationAudit::of(service, context, &operation, None);
    let begun = enqueue(service, context, &operation, kind, body).await;
    audit.record_job(service, begun.as_ref());
    begun
}

async fn enqueue(
    service: &FhirService,
    context: &RequestContext,
    operation: &OperationCall<'_>,
    kind: MatchRequesterKind,
    body: Option<Value>,
) -> Result<ResourceId, ServiceError> {
    let requester = payer::requester(service, context, PayerOperationError::NoClaim).await?;
    payer::require_async(context)?;
    let within = payer::authorized_queries(service, context, operation, "Patient").await?;
    let members = match_request::parse_members(&body.ok_or(ServiceError::NoBody)?)?;
    let requester = match requester {
        Some(requester) => requester,
        None => payer::payor(service, &members).await?,
    };
    let work = MatchWork { kind, requester, members, within, identifier: service.settings.identifier_rule };
    payer::enqueue(service, context, operation, JobWork::Match(Box::new(work))).await
}

/// Returns the patient who is the one member of the request.
async fn find(
    service: &FhirService,
    context: &RequestContext,
    operation: &OperationCall<'_>,
    body: Option<Value>,
) -> Result<String, ServiceError> {
    let requester = payer::requester(service, context, PayerOperationError::NoClaim).await?;
    service.guess_limit.check_and_count(&payer::owner(service, context)?)?;
    let within = payer::authorized_queries(service, context, operation, "Patient").await?;
    let member = match_request::parse_single_member(&body.ok_or(ServiceError::NoBody)?)?;
    let members = std::slice::from_ref(&member);
    let requester = match requester {
        Some(requester) => requester,
        None => payer::payor(service, members).await?,
    };
    single_match(service, &requester, members, &within).await
}

/// Returns the one patient who is the member, and whose consent allows the answer.
async fn single_match(
    service: &FhirService,
    requester: &RequestingOrganization,
    members: &[SubmittedMember],
    within: &[Vec<SearchParameterPairs>],
) -> Result<String, ServiceError> {
    let base = service.settings.fhir_base_url();
    let base_url = format!("{base}/");
    let kind = "Patient".parse().map_err(|_| PayerOperationError::NoMatch)?;
    let terms = ExportQueryContext { base_url: &base, now_us: service.now_us() };
    let within = within.iter().map(|any| access_filter_of_queries(&kind, any, terms)).collect::<Result<Vec<_>, _>>();
    let within = within.map_err(ExportParametersError::from)?;
    let wanted: Vec<Option<RequiredDemographics>> = members.iter().map(RequiredDemographics::from_member).collect();
    let known = service.payers.load_member_records(&wanted.iter().flatten().collect::<Vec<_>>()).await?;
    let terms = PatientMatchRules {
        kind: MatchRequesterKind::Payer,
        base_url: &base_url,
        identifier: service.settings.identifier_rule,
    };
    let found = MatchedMembers::find_patients(members, &wanted, &known, terms, &within);
    let consents = service.payers.consents_of_patients(&found.patient_ids(), &base).await?;
    let judge = ConsentContext { requester, now_us: service.now_us(), base_url: &base_url };
    Ok(found.into_single_patient(&judge, &consents).ok_or(PayerOperationError::NoMatch)?)
}

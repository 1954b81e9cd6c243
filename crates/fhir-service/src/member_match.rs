//! `$member-match`, `$bulk-member-match` and `$provider-member-match`.
//!
//! # Source
//! HL7 Da Vinci `HRex` and `PDex`; `docs/decisions.md`, "Member match". Which scopes are needed is not specified: those
//! for reading and searching Patients, because an answer contains that.

use fhir_resource::ResourceId;
use payer_exchange::consent::ConsentContext;
use payer_exchange::export::{ExportError, QueryTerms, SearchParameters, selection};
use payer_exchange::jobs::JobWork;
use payer_exchange::member_match::{
    MatchTerms, MatchWork, MatchedMembers, RequiredDemographics, SubmittedMember, request,
};
use payer_exchange::{MatchKind, RequestingOrganization};
use serde_json::Value;

use crate::access::{OperationAddress, OperationCall};
use crate::error::{PayerError, ServiceError};
use crate::operation_audit::OperationAudit;
use crate::request_context::RequestContext;
use crate::service::FhirService;
use crate::{member_identifier, payer};

/// Finds one member for another payer, and returns the answer.
///
/// # Errors
/// Why it is refused.
pub async fn one(
    service: &FhirService,
    context: &RequestContext,
    address: OperationAddress<'_>,
    body: Option<Value>,
) -> Result<Value, ServiceError> {
    let operation = OperationCall { name: "FhirMemberMatch", address };
    let audit = OperationAudit::of(service, context, &operation, None);
    let found = find(service, context, &operation, body).await;
    audit.record_member(service, found.as_deref());
    let patient = found?;
    Ok(request::member_answer(&patient, &member_identifier::of(service, &patient).await?))
}

/// Begins a match of many: of another payer's members, or of a provider's patients. Returns its job.
///
/// # Errors
/// Why it is refused.
pub async fn many(
    service: &FhirService,
    context: &RequestContext,
    address: OperationAddress<'_>,
    kind: MatchKind,
    body: Option<Value>,
) -> Result<ResourceId, ServiceError> {
    let name = match kind {
        MatchKind::Payer => "FhirBulkMemberMatch",
        MatchKind::Provider => "FhirProviderMemberMatch",
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
    kind: MatchKind,
    body: Option<Value>,
) -> Result<ResourceId, ServiceError> {
    let requester = payer::requester(service, context, PayerError::NoClaim).await?;
    payer::require_async(context)?;
    let within = payer::authorized_queries(service, context, operation, "Patient").await?;
    let members = request::members(&body.ok_or(ServiceError::NoBody)?)?;
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
    let requester = payer::requester(service, context, PayerError::NoClaim).await?;
    service.guess_limit.check(&payer::owner(service, context)?)?;
    let within = payer::authorized_queries(service, context, operation, "Patient").await?;
    let member = request::one_member(&body.ok_or(ServiceError::NoBody)?)?;
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
    within: &[Vec<SearchParameters>],
) -> Result<String, ServiceError> {
    let base = service.settings.fhir_base();
    let base_url = format!("{base}/");
    let kind = "Patient".parse().map_err(|_| PayerError::NoMatch)?;
    let terms = QueryTerms { base_url: &base, now_us: service.now_us() };
    let within = within.iter().map(|any| selection(&kind, any, terms)).collect::<Result<Vec<_>, _>>();
    let within = within.map_err(ExportError::from)?;
    let wanted: Vec<Option<RequiredDemographics>> = members.iter().map(RequiredDemographics::of).collect();
    let known = service.payers.known(&wanted.iter().flatten().collect::<Vec<_>>()).await?;
    let terms =
        MatchTerms { kind: MatchKind::Payer, base_url: &base_url, identifier: service.settings.identifier_rule };
    let found = MatchedMembers::of(members, &wanted, &known, terms, &within);
    let consents = service.payers.consents(&found.patients(), &base).await?;
    let judge = ConsentContext { requester, now_us: service.now_us(), base_url: &base_url };
    Ok(found.one(&judge, &consents).ok_or(PayerError::NoMatch)?)
}

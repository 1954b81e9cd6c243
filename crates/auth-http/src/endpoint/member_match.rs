//! `$member-match`, `$bulk-member-match` and `$provider-member-match`.
//!
//! # Source
//! HL7 Da Vinci `HRex` and `PDex`; `docs/decisions.md`, "Member match". Which scopes are needed is not specified: those for
//! reading and searching Patients, because that is what an answer tells.

use axum::extract::State;
use axum::response::Response;
use fhir_store::ResourceId;
use fhir_store::export::{QueryTerms, SearchParameters, selection};
use fhir_store::jobs::JobWork;
use fhir_store::payer::consent::ConsentContext;
use fhir_store::payer::{
    MatchKind, MatchTerms, MatchWork, MatchedMembers, RequestingOrganization, RequiredDemographics, SubmittedMember,
    sent,
};
use http::{Method, StatusCode, Uri};

use super::jobs;
use crate::answer;
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::member_identifier;
use crate::payer::{self, OperationCall, PayerError};
use crate::recorded;
use crate::state::App;

/// Another payer asks which of many are members.
pub(crate) async fn bulk(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let operation = OperationCall { name: "FhirBulkMemberMatch", method: &method, uri: &uri };
    begin(&app, call, &operation, MatchKind::Payer).await
}

/// A provider asks which of its patients are members.
pub(crate) async fn provider(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let operation = OperationCall { name: "FhirProviderMemberMatch", method: &method, uri: &uri };
    begin(&app, call, &operation, MatchKind::Provider).await
}

/// Another payer asks who one member is, and is told at once.
pub(crate) async fn one(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let operation = OperationCall { name: "FhirMemberMatch", method: &method, uri: &uri };
    let told = recorded::AuditedRequest::of(&app, &call, &operation, None);
    let found = find(&app, &mut call, &operation).await;
    told.answered(&app, found.as_deref());
    let patient = found?;
    let answer = sent::member_answer(&patient, &member_identifier::of(&app, &patient).await?);
    Ok(answer::json(StatusCode::OK, call.dialect, &answer))
}

async fn begin(
    app: &App,
    mut call: ResourceRequest,
    operation: &OperationCall<'_>,
    kind: MatchKind,
) -> Result<Response, ApiError> {
    let told = recorded::AuditedRequest::of(app, &call, operation, None);
    let begun = enqueue(app, &mut call, operation, kind).await;
    told.begun(app, begun.as_ref());
    Ok(jobs::accepted(app, jobs::match_status(kind), &begun?))
}

async fn enqueue(
    app: &App,
    call: &mut ResourceRequest,
    operation: &OperationCall<'_>,
    kind: MatchKind,
) -> Result<ResourceId, ApiError> {
    let requester = payer::requester(app, call, PayerError::NoClaim).await?;
    payer::demand_async(call)?;
    let within = payer::reach(app, call, operation, "Patient").await?;
    let members = sent::members(&call.take_resource()?)?;
    let requester = match requester {
        Some(requester) => requester,
        None => payer::payor(app, &members).await?,
    };
    let work = MatchWork { kind, requester, members, within, identifier: app.settings.identifier_rule };
    payer::enqueue(app, call, operation, JobWork::Match(Box::new(work))).await
}

/// Returns the patient that one member is.
async fn find(app: &App, call: &mut ResourceRequest, operation: &OperationCall<'_>) -> Result<String, ApiError> {
    let requester = payer::requester(app, call, PayerError::NoClaim).await?;
    app.guesses.check(&payer::owner(app, call)?)?;
    let within = payer::reach(app, call, operation, "Patient").await?;
    let member = sent::one_member(&call.take_resource()?)?;
    let members = std::slice::from_ref(&member);
    let requester = match requester {
        Some(requester) => requester,
        None => payer::payor(app, members).await?,
    };
    found(app, &requester, members, &within).await
}

/// Returns the one patient that the member is, whose consent allows to say so.
async fn found(
    app: &App,
    requester: &RequestingOrganization,
    members: &[SubmittedMember],
    within: &[Vec<SearchParameters>],
) -> Result<String, ApiError> {
    let base = app.settings.fhir_base();
    let own = format!("{base}/");
    let kind = "Patient".parse().map_err(|_| PayerError::NoMatch)?;
    let terms = QueryTerms { own: &base, now_us: app.now_us() };
    let within = within.iter().map(|any| selection(&kind, any, terms)).collect::<Result<Vec<_>, _>>();
    let within = within.map_err(fhir_store::export::ExportError::from)?;
    let asked: Vec<Option<RequiredDemographics>> = members.iter().map(RequiredDemographics::of).collect();
    let known = app.payers.known(&asked.iter().flatten().collect::<Vec<_>>()).await?;
    let terms = MatchTerms { kind: MatchKind::Payer, own: &own, identifier: app.settings.identifier_rule };
    let found = MatchedMembers::of(members, &asked, &known, terms, &within);
    let consents = app.payers.consents(&found.patients(), &base).await?;
    let judge = ConsentContext { requester, now_us: app.now_us(), own: &own };
    Ok(found.one(&judge, &consents).ok_or(PayerError::NoMatch)?)
}

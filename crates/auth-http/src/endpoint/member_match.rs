//! `$member-match`, `$bulk-member-match` and `$provider-member-match`.
//!
//! # Source
//! HL7 Da Vinci `HRex` and `PDex`; `docs/decisions.md`, "Member match". Which scopes are needed is not specified: those for
//! reading and searching Patients, because that is what an answer tells.

use axum::extract::State;
use axum::response::Response;
use fhir_store::ResourceId;
use fhir_store::export::{Query, Terms, selection};
use fhir_store::jobs::Work;
use fhir_store::payer::consent::Judge;
use fhir_store::payer::{Demographics, Found, MatchKind, MatchTerms, MatchWork, Member, Requester, sent};
use http::{Method, StatusCode, Uri};

use super::jobs;
use crate::answer;
use crate::call::Call;
use crate::error::Fault;
use crate::member_identifier;
use crate::payer::{self, Invoked, PayerFault};
use crate::recorded;
use crate::state::App;

/// Another payer asks which of many are members.
pub(crate) async fn bulk(State(app): State<App>, method: Method, uri: Uri, call: Call) -> Result<Response, Fault> {
    let operation = Invoked { name: "FhirBulkMemberMatch", method: &method, uri: &uri };
    begin(&app, call, &operation, MatchKind::Payer).await
}

/// A provider asks which of its patients are members.
pub(crate) async fn provider(State(app): State<App>, method: Method, uri: Uri, call: Call) -> Result<Response, Fault> {
    let operation = Invoked { name: "FhirProviderMemberMatch", method: &method, uri: &uri };
    begin(&app, call, &operation, MatchKind::Provider).await
}

/// Another payer asks who one member is, and is told at once.
pub(crate) async fn one(State(app): State<App>, method: Method, uri: Uri, mut call: Call) -> Result<Response, Fault> {
    let operation = Invoked { name: "FhirMemberMatch", method: &method, uri: &uri };
    let told = recorded::Asked::of(&app, &call, &operation, None);
    let found = find(&app, &mut call, &operation).await;
    told.answered(&app, found.as_deref());
    let patient = found?;
    let answer = sent::member_answer(&patient, &member_identifier::of(&app, &patient).await?);
    Ok(answer::json(StatusCode::OK, call.dialect, &answer))
}

async fn begin(app: &App, mut call: Call, operation: &Invoked<'_>, kind: MatchKind) -> Result<Response, Fault> {
    let told = recorded::Asked::of(app, &call, operation, None);
    let begun = enqueue(app, &mut call, operation, kind).await;
    told.begun(app, begun.as_ref());
    Ok(jobs::accepted(app, jobs::match_status(kind), &begun?))
}

async fn enqueue(app: &App, call: &mut Call, operation: &Invoked<'_>, kind: MatchKind) -> Result<ResourceId, Fault> {
    let requester = payer::requester(app, call, PayerFault::NoClaim).await?;
    payer::demand_async(call)?;
    let within = payer::reach(app, call, operation, "Patient").await?;
    let members = sent::members(&call.take_resource()?)?;
    let requester = match requester {
        Some(requester) => requester,
        None => payer::payor(app, &members).await?,
    };
    let work = MatchWork { kind, requester, members, within, identifier: app.settings.identifier_rule };
    payer::enqueue(app, call, operation, Work::Match(Box::new(work))).await
}

/// Returns the patient that one member is.
async fn find(app: &App, call: &mut Call, operation: &Invoked<'_>) -> Result<String, Fault> {
    let requester = payer::requester(app, call, PayerFault::NoClaim).await?;
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
async fn found(app: &App, requester: &Requester, members: &[Member], within: &[Vec<Query>]) -> Result<String, Fault> {
    let base = app.settings.fhir_base();
    let own = format!("{base}/");
    let kind = "Patient".parse().map_err(|_| PayerFault::NoMatch)?;
    let terms = Terms { own: &base, now_us: app.now_us() };
    let within = within.iter().map(|any| selection(&kind, any, terms)).collect::<Result<Vec<_>, _>>();
    let within = within.map_err(fhir_store::export::ExportFault::from)?;
    let asked: Vec<Option<Demographics>> = members.iter().map(Demographics::of).collect();
    let known = app.payers.known(&asked.iter().flatten().collect::<Vec<_>>()).await?;
    let terms = MatchTerms { kind: MatchKind::Payer, own: &own, identifier: app.settings.identifier_rule };
    let found = Found::of(members, &asked, &known, terms, &within);
    let consents = app.payers.consents(&found.patients(), &base).await?;
    let judge = Judge { requester, now_us: app.now_us(), own: &own };
    Ok(found.one(&judge, &consents).ok_or(PayerFault::NoMatch)?)
}

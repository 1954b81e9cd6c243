//! What the operations of payers are asked for, by whom, and why they are not done.

use fhir_store::export::{
    ElementSelection, ExportError, ExportParameters, ExportSubjects, ExportWork, QueryTerms, SearchParameters,
    TypeExport, exportable,
};
use fhir_store::jobs::{JobWork, NewJob, TooManyJobsError};
use fhir_store::payer::davinci::DavinciExportError;
use fhir_store::payer::{ConsentRule, MatchRequestError, RequestingOrganization, SubmittedMember, sent};
use fhir_store::{AccessFilter, ResourceId, ResourceKey, ResourceLookup, ResourceType};
use http::{HeaderName, Method, Uri};
use oauth_core::access::{self, AccessError};
use oauth_core::caller::CallerIdentity;
use oauth_core::reach::{ScopeAccess, ScopeFilter};
use serde_json::Value;
use smart_scopes::{Interaction, ScopeQuery};

use crate::call::ResourceRequest;
use crate::confine;
use crate::error::ApiError;
use crate::gate::{self, AccessCheck};
use crate::state::App;

const PREFER: HeaderName = HeaderName::from_static("prefer");

/// The reason why an operation of payers is not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayerError {
    #[error("This operation requires Prefer: respond-async header")]
    Prefer,
    #[error("{0}")]
    Export(#[from] ExportError),
    #[error("_type names a type that is not exported here: {0}")]
    NotExported(ResourceType),
    #[error(
        "A Group that a member match made is exported by $davinci-data-export, which asks for its members' consent"
    )]
    MatchedGroup,
    #[error("{0}")]
    Davinci(#[from] DavinciExportError),
    #[error("The access token must carry the hl7-b2b organization_id claim; it is missing")]
    NoClaim,
    #[error("payertopayer export requires the caller UDAP hl7-b2b organization_id claim; it is missing")]
    NoClaimForExport,
    #[error("{0}")]
    Sent(#[from] MatchRequestError),
    #[error("More than one Organization has the identifier {system}#{value}")]
    SeveralOrganizations { system: String, value: String },
    #[error("Coverage.payor[0] of the first member names no Organization that is registered here")]
    UnresolvedPayor,
    #[error("No single member with an acceptable consent was found")]
    NoMatch,
    #[error("There is no such job")]
    NoJob,
    #[error("Internal error processing request")]
    JobFailed,
    #[error("{0}")]
    TooManyJobs(#[from] TooManyJobsError),
}

impl From<PayerError> for ApiError {
    fn from(cause: PayerError) -> Self {
        Self::Payer(Box::new(cause))
    }
}

impl From<ExportError> for ApiError {
    fn from(cause: ExportError) -> Self {
        PayerError::from(cause).into()
    }
}

impl From<DavinciExportError> for ApiError {
    fn from(cause: DavinciExportError) -> Self {
        PayerError::from(cause).into()
    }
}

impl From<MatchRequestError> for ApiError {
    fn from(cause: MatchRequestError) -> Self {
        PayerError::from(cause).into()
    }
}

/// A call of an operation by its name: where, and how.
pub(crate) struct OperationCall<'a> {
    /// Its name as policies know it.
    pub(crate) name: &'static str,
    /// The method it was called by.
    pub(crate) method: &'a Method,
    /// The address it was called at.
    pub(crate) uri: &'a Uri,
}

/// Whether the caller wants to be answered later, which is the only way these operations answer.
pub(crate) fn demand_async(call: &ResourceRequest) -> Result<(), PayerError> {
    let sent = call.headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let mut words = sent.flat_map(|value| value.split([',', ';']));
    if words.any(|word| word.trim().eq_ignore_ascii_case("respond-async")) { Ok(()) } else { Err(PayerError::Prefer) }
}

/// Returns whose jobs the caller's are: the client's, whichever token it comes with. A person has none: what is
/// exported is what the client may see by itself.
pub(crate) fn owner(app: &App, call: &ResourceRequest) -> Result<String, AccessError> {
    if call.caller.user_id().is_some() {
        return Err(AccessError::InsufficientScope { needed: "system/*.read".to_owned() });
    }
    call.caller.id(&app.authority).map(str::to_owned).ok_or(AccessError::Unauthenticated)
}

/// Returns the organization that the caller's token proves; `None` for an administrator, who may come without one.
///
/// # Errors
/// `missing`, for everybody else without one.
pub(crate) async fn requester(
    app: &App,
    call: &ResourceRequest,
    missing: PayerError,
) -> Result<Option<RequestingOrganization>, ApiError> {
    let claim = match &call.caller.identity {
        CallerIdentity::Anonymous => return Err(AccessError::Unauthenticated.into()),
        CallerIdentity::Root => return Ok(None),
        CallerIdentity::Client(_) => None,
        CallerIdentity::Token(bearer) => bearer.token.claims.extensions.as_ref(),
    };
    let claim = claim.ok_or(missing)?;
    let id = &claim.hl7_b2b.organization_id;
    Ok(Some(registered(app, id.system(), id.value()).await?))
}

/// Returns the organization with an identifier, with its id here if it is registered.
async fn registered(app: &App, system: &str, value: &str) -> Result<RequestingOrganization, ApiError> {
    let (system, value) = (system.to_owned(), value.to_owned());
    let mut found = app.payers.organizations(&system, &value).await?;
    if found.len() > 1 {
        return Err(PayerError::SeveralOrganizations { system, value }.into());
    }
    Ok(RequestingOrganization { system, value, organization: found.pop() })
}

/// For whom an administrator without a claim asks: the payer of the first member's coverage.
///
/// # Errors
/// [`PayerError::UnresolvedPayor`].
pub(crate) async fn payor(app: &App, members: &[SubmittedMember]) -> Result<RequestingOrganization, ApiError> {
    let payor = sent::payor(members).ok_or(PayerError::UnresolvedPayor)?;
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let pair = |value: &Value| Some((text(value, "system")?, text(value, "value")?));
    let mut identifier = payor.get("identifier").and_then(pair);
    if let Some(Ok(key)) = text(payor, "reference").map(|reference| reference.parse::<ResourceKey>())
        && let ResourceLookup::Found(organization) = app.resources.read(&key).await?
    {
        let all = organization.resource.get("identifier").and_then(Value::as_array);
        identifier = all.into_iter().flatten().find_map(pair);
    }
    let (system, value) = identifier.ok_or(PayerError::UnresolvedPayor)?;
    let requester = registered(app, &system, &value).await?;
    if requester.organization.is_some() { Ok(requester) } else { Err(PayerError::UnresolvedPayor.into()) }
}

/// Returns what the caller may see of a type by an operation: of each of these a resource has to meet one query.
/// Policies are asked about the call itself, scopes about reading and searching the type.
///
/// # Errors
/// Why nothing.
pub(crate) async fn reach(
    app: &App,
    call: &ResourceRequest,
    operation: &OperationCall<'_>,
    kind: &str,
) -> Result<Vec<Vec<SearchParameters>>, AccessError> {
    let mut all = Vec::new();
    for interaction in [Interaction::Search, Interaction::Read] {
        gate::permit_operation(app, call, operation, (kind, interaction)).await?;
        let ScopeAccess::Parts(parts) = access::reach(&call.caller, Some((kind, interaction)))? else { continue };
        let needed = || AccessError::InsufficientScope { needed: format!("system/{kind}.{}", interaction.letter()) };
        let queries: Option<Vec<SearchParameters>> = parts.iter().map(query).collect();
        let queries = queries.ok_or_else(needed)?;
        applied(app, kind, &queries).map_err(|cause| AccessError::UnappliedQuery {
            needed: format!("system/{kind}.{}", interaction.letter()),
            cause,
        })?;
        if !all.contains(&queries) {
            all.push(queries);
        }
    }
    Ok(all)
}

/// Returns the query of a part; `None` where it is a patient's.
fn query(part: &ScopeFilter) -> Option<SearchParameters> {
    let parameters = part.query.iter().flat_map(ScopeQuery::parameters);
    let query = parameters.map(|parameter| (parameter.name.clone(), parameter.value.clone())).collect();
    part.patient.is_none().then_some(query)
}

fn applied(app: &App, kind: &str, queries: &[SearchParameters]) -> Result<(), String> {
    let kind: ResourceType = kind.parse().map_err(|_| kind.to_owned())?;
    let terms = QueryTerms { own: &app.settings.fhir_base(), now_us: app.now_us() };
    fhir_store::export::selection(&kind, queries, terms).map(drop).map_err(|cause| cause.to_string())
}

/// What an export adds to the parameters of its request.
pub(crate) struct ExportRequest {
    pub(crate) subjects: ExportSubjects,
    pub(crate) consent: Option<ConsentRule>,
    pub(crate) shape: ElementSelection,
}

/// Puts an export into the queue.
///
/// # Errors
/// That the caller may see none of the types, or not one it names.
pub(crate) async fn begin_export(
    app: &App,
    call: &ResourceRequest,
    operation: &OperationCall<'_>,
    asked: ExportParameters,
    export: ExportRequest,
) -> Result<ResourceId, ApiError> {
    let ExportRequest { subjects, consent, shape } = export;
    let types = types(app, call, operation, &asked, &subjects).await?;
    let work = ExportWork { types, subjects, since_us: asked.since_us, until_us: asked.until_us, consent, shape };
    enqueue(app, call, operation, JobWork::Export(work)).await
}

/// Returns the types to write. Where the request names none, those the caller may see.
async fn types(
    app: &App,
    call: &ResourceRequest,
    operation: &OperationCall<'_>,
    asked: &ExportParameters,
    subjects: &ExportSubjects,
) -> Result<Vec<TypeExport>, ApiError> {
    let named: Vec<&str> = match &asked.types {
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
        match reach(app, call, operation, name).await {
            Ok(mut within) => {
                let filters = asked.filters.iter().filter(|(of, _)| *of == kind).map(|(_, query)| query.clone());
                let filters: Vec<SearchParameters> = filters.collect();
                within.extend((!filters.is_empty()).then_some(filters));
                let (elements, ownership) = (asked.elements_of(&kind), confine::ownership(&call.caller, &kind));
                types.push(TypeExport { kind: name.to_owned(), within, elements, ownership });
            }
            Err(AccessError::Store(cause)) => return Err(AccessError::Store(cause).into()),
            Err(cause) if asked.types.is_some() => return Err(cause.into()),
            Err(cause) => denied = cause,
        }
    }
    if types.is_empty() { Err(denied.into()) } else { Ok(types) }
}

/// Puts work into the queue.
pub(crate) async fn enqueue(
    app: &App,
    call: &ResourceRequest,
    operation: &OperationCall<'_>,
    work: JobWork,
) -> Result<ResourceId, ApiError> {
    let path_and_query = operation.uri.path_and_query().map_or("", |path| path.as_str());
    let url = format!("{}{path_and_query}", app.settings.base_url);
    let job = NewJob { owner: owner(app, call)?, url, work };
    Ok(app.jobs.enqueue(job, app.now_us()).await?.map_err(PayerError::from)?)
}

/// Returns the current version of a Group that no match made, or that one made for the caller's organization.
pub(crate) async fn group(app: &App, call: &ResourceRequest, id: &str) -> Result<Value, ApiError> {
    let key = group_key(id)?;
    let within = confine::ownership(&call.caller, &key.kind).map_or(AccessFilter::Everything, AccessFilter::of_groups);
    Ok(confine::current(app, &key, &within).await?.resource)
}

/// Returns the current version of a Group that the caller may read: who exports its members learns who they are.
pub(crate) async fn readable_group(
    app: &App,
    call: &ResourceRequest,
    operation: &OperationCall<'_>,
    id: &str,
) -> Result<Value, ApiError> {
    let key = group_key(id)?;
    gate::permit_operation(app, call, operation, ("Group", Interaction::Read)).await?;
    let within = gate::reached(app, call, &AccessCheck::read(&key, &call.asked)).await?;
    Ok(confine::current(app, &key, &within).await?.resource)
}

fn group_key(id: &str) -> Result<ResourceKey, ApiError> {
    Ok(ResourceKey { kind: "Group".parse().map_err(|_| PayerError::NoJob)?, id: id.parse()? })
}

/// Returns the Group itself as one that is not there.
pub(crate) fn no_group(id: &str) -> ApiError {
    format!("Group/{id}").parse::<ResourceKey>().map_or(PayerError::NoJob.into(), ApiError::NotFound)
}

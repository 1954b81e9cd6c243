//! What the operations of payers are asked for, by whom, and why they are not done.

use fhir_store::export::{Asked, ExportFault, ExportWork, Query, Shape, Subjects, Terms, TypeWork, exportable};
use fhir_store::jobs::{NewJob, TooManyJobs, Work};
use fhir_store::payer::davinci::DavinciFault;
use fhir_store::payer::{ConsentRule, Member, Requester, SentFault, sent};
use fhir_store::{Lookup, ResourceId, ResourceKey, ResourceType, Selection};
use http::{HeaderName, Method, Uri};
use oauth_core::access::{self, Denied};
use oauth_core::caller::Identity;
use oauth_core::reach::{Part, Reach};
use serde_json::Value;
use smart_scopes::{Interaction, ScopeQuery};

use crate::call::Call;
use crate::confine;
use crate::error::Fault;
use crate::gate::{self, Act};
use crate::state::App;

const PREFER: HeaderName = HeaderName::from_static("prefer");

/// The reason why an operation of payers is not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayerFault {
    #[error("This operation requires Prefer: respond-async header")]
    Prefer,
    #[error("{0}")]
    Export(#[from] ExportFault),
    #[error("_type names a type that is not exported here: {0}")]
    NotExported(ResourceType),
    #[error(
        "A Group that a member match made is exported by $davinci-data-export, which asks for its members' consent"
    )]
    MatchedGroup,
    #[error("{0}")]
    Davinci(#[from] DavinciFault),
    #[error("The access token must carry the hl7-b2b organization_id claim; it is missing")]
    NoClaim,
    #[error("payertopayer export requires the caller UDAP hl7-b2b organization_id claim; it is missing")]
    NoClaimForExport,
    #[error("{0}")]
    Sent(#[from] SentFault),
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
    TooManyJobs(#[from] TooManyJobs),
}

impl From<PayerFault> for Fault {
    fn from(cause: PayerFault) -> Self {
        Self::Payer(Box::new(cause))
    }
}

impl From<ExportFault> for Fault {
    fn from(cause: ExportFault) -> Self {
        PayerFault::from(cause).into()
    }
}

impl From<DavinciFault> for Fault {
    fn from(cause: DavinciFault) -> Self {
        PayerFault::from(cause).into()
    }
}

impl From<SentFault> for Fault {
    fn from(cause: SentFault) -> Self {
        PayerFault::from(cause).into()
    }
}

/// A call of an operation by its name: where, and how.
pub(crate) struct Invoked<'a> {
    /// Its name as policies know it.
    pub(crate) name: &'static str,
    /// The method it was called by.
    pub(crate) method: &'a Method,
    /// The address it was called at.
    pub(crate) uri: &'a Uri,
}

/// Whether the caller wants to be answered later, which is the only way these operations answer.
pub(crate) fn demand_async(call: &Call) -> Result<(), PayerFault> {
    let sent = call.headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let mut words = sent.flat_map(|value| value.split([',', ';']));
    if words.any(|word| word.trim().eq_ignore_ascii_case("respond-async")) { Ok(()) } else { Err(PayerFault::Prefer) }
}

/// Returns whose jobs the caller's are: the client's, whichever token it comes with. A person has none: what is
/// exported is what the client may see by itself.
pub(crate) fn owner(app: &App, call: &Call) -> Result<String, Denied> {
    if call.caller.user_id().is_some() {
        return Err(Denied::InsufficientScope { needed: "system/*.read".to_owned() });
    }
    call.caller.id(&app.authority).map(str::to_owned).ok_or(Denied::Unauthenticated)
}

/// Returns the organization that the caller's token proves; `None` for an administrator, who may come without one.
///
/// # Errors
/// `missing`, for everybody else without one.
pub(crate) async fn requester(app: &App, call: &Call, missing: PayerFault) -> Result<Option<Requester>, Fault> {
    let claim = match &call.caller.identity {
        Identity::Anonymous => return Err(Denied::Unauthenticated.into()),
        Identity::Root => return Ok(None),
        Identity::Client(_) => None,
        Identity::Token(bearer) => bearer.token.claims.extensions.as_ref(),
    };
    let claim = claim.ok_or(missing)?;
    let id = &claim.hl7_b2b.organization_id;
    Ok(Some(registered(app, id.system(), id.value()).await?))
}

/// Returns the organization with an identifier, with its id here if it is registered.
async fn registered(app: &App, system: &str, value: &str) -> Result<Requester, Fault> {
    let (system, value) = (system.to_owned(), value.to_owned());
    let mut found = app.payers.organizations(&system, &value).await?;
    if found.len() > 1 {
        return Err(PayerFault::SeveralOrganizations { system, value }.into());
    }
    Ok(Requester { system, value, organization: found.pop() })
}

/// For whom an administrator without a claim asks: the payer of the first member's coverage.
///
/// # Errors
/// [`PayerFault::UnresolvedPayor`].
pub(crate) async fn payor(app: &App, members: &[Member]) -> Result<Requester, Fault> {
    let payor = sent::payor(members).ok_or(PayerFault::UnresolvedPayor)?;
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let pair = |value: &Value| Some((text(value, "system")?, text(value, "value")?));
    let mut identifier = payor.get("identifier").and_then(pair);
    if let Some(Ok(key)) = text(payor, "reference").map(|reference| reference.parse::<ResourceKey>())
        && let Lookup::Found(organization) = app.resources.read(&key).await?
    {
        let all = organization.resource.get("identifier").and_then(Value::as_array);
        identifier = all.into_iter().flatten().find_map(pair);
    }
    let (system, value) = identifier.ok_or(PayerFault::UnresolvedPayor)?;
    let requester = registered(app, &system, &value).await?;
    if requester.organization.is_some() { Ok(requester) } else { Err(PayerFault::UnresolvedPayor.into()) }
}

/// Returns what the caller may see of a type by an operation: of each of these a resource has to meet one query.
/// Policies are asked about the call itself, scopes about reading and searching the type.
///
/// # Errors
/// Why nothing.
pub(crate) async fn reach(
    app: &App,
    call: &Call,
    operation: &Invoked<'_>,
    kind: &str,
) -> Result<Vec<Vec<Query>>, Denied> {
    let mut all = Vec::new();
    for interaction in [Interaction::Search, Interaction::Read] {
        gate::permit_operation(app, call, operation, (kind, interaction)).await?;
        let Reach::Parts(parts) = access::reach(&call.caller, Some((kind, interaction)))? else { continue };
        let needed = || Denied::InsufficientScope { needed: format!("system/{kind}.{}", interaction.letter()) };
        let queries: Option<Vec<Query>> = parts.iter().map(query).collect();
        let queries = queries.ok_or_else(needed)?;
        applied(app, kind, &queries).map_err(|cause| Denied::UnappliedQuery {
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
fn query(part: &Part) -> Option<Query> {
    let parameters = part.query.iter().flat_map(ScopeQuery::parameters);
    let query = parameters.map(|parameter| (parameter.name.clone(), parameter.value.clone())).collect();
    part.patient.is_none().then_some(query)
}

fn applied(app: &App, kind: &str, queries: &[Query]) -> Result<(), String> {
    let kind: ResourceType = kind.parse().map_err(|_| kind.to_owned())?;
    let terms = Terms { own: &app.settings.fhir_base(), now_us: app.now_us() };
    fhir_store::export::selection(&kind, queries, terms).map(drop).map_err(|cause| cause.to_string())
}

/// What an export adds to the parameters of its request.
pub(crate) struct Export {
    pub(crate) subjects: Subjects,
    pub(crate) consent: Option<ConsentRule>,
    pub(crate) shape: Shape,
}

/// Puts an export into the queue.
///
/// # Errors
/// That the caller may see none of the types, or not one it names.
pub(crate) async fn begin_export(
    app: &App,
    call: &Call,
    operation: &Invoked<'_>,
    asked: Asked,
    export: Export,
) -> Result<ResourceId, Fault> {
    let Export { subjects, consent, shape } = export;
    let types = types(app, call, operation, &asked, &subjects).await?;
    let work = ExportWork { types, subjects, since_us: asked.since_us, until_us: asked.until_us, consent, shape };
    enqueue(app, call, operation, Work::Export(work)).await
}

/// Returns the types to write. Where the request names none, those the caller may see.
async fn types(
    app: &App,
    call: &Call,
    operation: &Invoked<'_>,
    asked: &Asked,
    subjects: &Subjects,
) -> Result<Vec<TypeWork>, Fault> {
    let named: Vec<&str> = match &asked.types {
        Some(types) => types.iter().map(ResourceType::as_str).collect(),
        None => subjects.default_types(),
    };
    let mut types = Vec::with_capacity(named.len());
    let mut denied = Denied::InsufficientScope { needed: "system/*.read".to_owned() };
    for name in named {
        let kind: ResourceType = name.parse().map_err(|_| PayerFault::NoJob)?;
        if !exportable(&kind, subjects) {
            return Err(PayerFault::NotExported(kind).into());
        }
        match reach(app, call, operation, name).await {
            Ok(mut within) => {
                let filters = asked.filters.iter().filter(|(of, _)| *of == kind).map(|(_, query)| query.clone());
                let filters: Vec<Query> = filters.collect();
                within.extend((!filters.is_empty()).then_some(filters));
                let (elements, ownership) = (asked.elements_of(&kind), confine::ownership(&call.caller, &kind));
                types.push(TypeWork { kind: name.to_owned(), within, elements, ownership });
            }
            Err(Denied::Store(cause)) => return Err(Denied::Store(cause).into()),
            Err(cause) if asked.types.is_some() => return Err(cause.into()),
            Err(cause) => denied = cause,
        }
    }
    if types.is_empty() { Err(denied.into()) } else { Ok(types) }
}

/// Puts work into the queue.
pub(crate) async fn enqueue(app: &App, call: &Call, operation: &Invoked<'_>, work: Work) -> Result<ResourceId, Fault> {
    let path_and_query = operation.uri.path_and_query().map_or("", |path| path.as_str());
    let url = format!("{}{path_and_query}", app.settings.base_url);
    let job = NewJob { owner: owner(app, call)?, url, work };
    Ok(app.jobs.enqueue(job, app.now_us()).await?.map_err(PayerFault::from)?)
}

/// Returns the current version of a Group that no match made, or that one made for the caller's organization.
pub(crate) async fn group(app: &App, call: &Call, id: &str) -> Result<Value, Fault> {
    let key = group_key(id)?;
    let within = confine::ownership(&call.caller, &key.kind).map_or(Selection::Everything, Selection::of_groups);
    Ok(confine::current(app, &key, &within).await?.resource)
}

/// Returns the current version of a Group that the caller may read: who exports its members learns who they are.
pub(crate) async fn readable_group(app: &App, call: &Call, operation: &Invoked<'_>, id: &str) -> Result<Value, Fault> {
    let key = group_key(id)?;
    gate::permit_operation(app, call, operation, ("Group", Interaction::Read)).await?;
    let within = gate::reached(app, call, &Act::read(&key, &call.asked)).await?;
    Ok(confine::current(app, &key, &within).await?.resource)
}

fn group_key(id: &str) -> Result<ResourceKey, Fault> {
    Ok(ResourceKey { kind: "Group".parse().map_err(|_| PayerFault::NoJob)?, id: id.parse()? })
}

/// Returns the Group itself as one that is not there.
pub(crate) fn no_group(id: &str) -> Fault {
    format!("Group/{id}").parse::<ResourceKey>().map_or(PayerFault::NoJob.into(), Fault::NotFound)
}

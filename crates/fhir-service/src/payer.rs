//! The operations of payers: who calls, for which organization, what the caller may see, and the queue of jobs.

use fhir_resource::{ResourceId, ResourceKey, ResourceType};
use fhir_store::{AccessFilter, ResourceLookup};
use oauth_core::access::AccessError;
use oauth_core::resource_caller::CallerIdentity;
use oauth_core::scope_access::{ScopeAccess, SingleScopeFilter};
use payer_exchange::RequestingOrganization;
use payer_exchange::bulk_export::{ExportQueryContext, SearchParameterPairs};
use payer_exchange::jobs::{JobWork, NewJob};
use payer_exchange::member_match::{SubmittedMember, match_request};
use serde_json::Value;
use smart_scopes::{Interaction, ScopeQuery};

use crate::access::{self, AccessCheck, OperationCall};
use crate::error::{PayerOperationError, ServiceError};
use crate::request_context::RequestContext;
use crate::service_state::FhirService;
use crate::{access_filter, resource_lookup};

/// Checks that the caller takes an answer that comes later, the only one that these operations have.
///
/// # Errors
/// [`PayerOperationError::Prefer`].
pub(crate) fn require_async(context: &RequestContext) -> Result<(), PayerOperationError> {
    if context.preferences.responds_async { Ok(()) } else { Err(PayerOperationError::Prefer) }
}

/// Returns the owner of the caller's jobs: the client, whichever token it comes with. A person has none: an export
/// holds what the client may see by itself.
///
/// # Errors
/// When the caller is a person or anonymous.
pub(crate) fn owner(service: &FhirService, context: &RequestContext) -> Result<String, AccessError> {
    if context.caller.user_id().is_some() {
        return Err(AccessError::InsufficientScope { needed: "system/*.read".to_owned() });
    }
    context.caller.audit_id(service.root_id.as_deref()).map(str::to_owned).ok_or(AccessError::Unauthenticated)
}

/// Returns the organization that the caller's token proves; `None` for an administrator, who may come without one.
///
/// # Errors
/// `missing`, for every other caller without one.
pub(crate) async fn requester(
    service: &FhirService,
    context: &RequestContext,
    missing: PayerOperationError,
) -> Result<Option<RequestingOrganization>, ServiceError> {
    let claim = match &context.caller.identity {
        CallerIdentity::Anonymous => return Err(AccessError::Unauthenticated.into()),
        CallerIdentity::Root => return Ok(None),
        CallerIdentity::Client(_) => None,
        CallerIdentity::Token(bearer) => bearer.token.claims.extensions.as_ref(),
    };
    let claim = claim.ok_or(missing)?;
    let id = &claim.hl7_b2b.organization_id;
    Ok(Some(registered(service, id.system(), id.value()).await?))
}

/// Returns the organization with an identifier, with its id here if it is registered.
async fn registered(service: &FhirService, system: &str, value: &str) -> Result<RequestingOrganization, ServiceError> {
    let (system, value) = (system.to_owned(), value.to_owned());
    let mut found = service.payers.organization_ids_by_identifier(&system, &value).await?;
    if found.len() > 1 {
        return Err(PayerOperationError::SeveralOrganizations { system, value }.into());
    }
    Ok(RequestingOrganization { system, value, organization: found.pop() })
}

/// Returns the organization that an administrator without a claim asks for: the payer of the first member's coverage.
///
/// # Errors
/// [`PayerOperationError::UnresolvedPayor`].
pub(crate) async fn payor(
    service: &FhirService,
    members: &[SubmittedMember],
) -> Result<RequestingOrganization, ServiceError> {
    let payor = match_request::first_member_payer(members).ok_or(PayerOperationError::UnresolvedPayor)?;
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let pair = |value: &Value| Some((text(value, "system")?, text(value, "value")?));
    let mut identifier = payor.get("identifier").and_then(pair);
    if let Some(Ok(key)) = text(payor, "reference").map(|reference| reference.parse::<ResourceKey>())
        && let ResourceLookup::Found(organization) = service.resources.read(&key).await?
    {
        let all = organization.resource.get("identifier").and_then(Value::as_array);
        identifier = all.into_iter().flatten().find_map(pair);
    }
    let (system, value) = identifier.ok_or(PayerOperationError::UnresolvedPayor)?;
    let requester = registered(service, &system, &value).await?;
    if requester.organization.is_some() { Ok(requester) } else { Err(PayerOperationError::UnresolvedPayor.into()) }
}

/// Returns the queries that limit what the caller may see of a type by an operation: of each list, a resource has to
/// meet one query. Policies judge the call itself, scopes reading and searching the type.
///
/// # Errors
/// Why the caller may see nothing.
pub(crate) async fn authorized_queries(
    service: &FhirService,
    context: &RequestContext,
    operation: &OperationCall<'_>,
    kind: &str,
) -> Result<Vec<Vec<SearchParameterPairs>>, AccessError> {
    let mut all = Vec::new();
    for interaction in [Interaction::Search, Interaction::Read] {
        access::authorize_operation(service, context, operation, (kind, interaction)).await?;
        let ScopeAccess::Parts(parts) = oauth_core::access::scope_access(&context.caller, Some((kind, interaction)))?
        else {
            continue;
        };
        let needed = || AccessError::InsufficientScope { needed: format!("system/{kind}.{}", interaction.letter()) };
        let queries: Option<Vec<SearchParameterPairs>> = parts.iter().map(query).collect();
        let queries = queries.ok_or_else(needed)?;
        applied(service, kind, &queries).map_err(|cause| AccessError::UnappliedQuery {
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
fn query(part: &SingleScopeFilter) -> Option<SearchParameterPairs> {
    let parameters = part.query.iter().flat_map(ScopeQuery::parameters);
    let query = parameters.map(|parameter| (parameter.name.clone(), parameter.value.clone())).collect();
    part.patient.is_none().then_some(query)
}

fn applied(service: &FhirService, kind: &str, queries: &[SearchParameterPairs]) -> Result<(), String> {
    let kind: ResourceType = kind.parse().map_err(|_| kind.to_owned())?;
    let terms = ExportQueryContext { base_url: &service.settings.fhir_base_url(), now_us: service.now_us() };
    payer_exchange::bulk_export::access_filter_of_queries(&kind, queries, terms)
        .map(drop)
        .map_err(|cause| cause.to_string())
}

/// Puts work into the queue.
pub(crate) async fn enqueue(
    service: &FhirService,
    context: &RequestContext,
    operation: &OperationCall<'_>,
    work: JobWork,
) -> Result<ResourceId, ServiceError> {
    let url = format!("{}{}", service.settings.base_url, operation.address.path_and_query);
    let job = NewJob { owner: owner(service, context)?, url, work };
    Ok(service.jobs.enqueue(job, service.now_us()).await?.map_err(PayerOperationError::from)?)
}

/// Returns the current version of a Group that no match made, or that one made for the caller's organization.
pub(crate) async fn group(service: &FhirService, context: &RequestContext, id: &str) -> Result<Value, ServiceError> {
    let key = group_key(id)?;
    let within = access_filter::ownership(&context.caller, &key.resource_type)
        .map_or(AccessFilter::Everything, AccessFilter::of_owned_groups);
    Ok(resource_lookup::current(service, &key, &within).await?.resource)
}

/// Returns the current version of a Group that the caller may read: who exports its members learns who they are.
pub(crate) async fn readable_group(
    service: &FhirService,
    context: &RequestContext,
    operation: &OperationCall<'_>,
    id: &str,
) -> Result<Value, ServiceError> {
    let key = group_key(id)?;
    access::authorize_operation(service, context, operation, ("Group", Interaction::Read)).await?;
    let within = access::scope_filter(service, context, &AccessCheck::read(&key, &context.query)).await?;
    Ok(resource_lookup::current(service, &key, &within).await?.resource)
}

fn group_key(id: &str) -> Result<ResourceKey, ServiceError> {
    Ok(ResourceKey { resource_type: "Group".parse().map_err(|_| PayerOperationError::NoJob)?, id: id.parse()? })
}

/// Returns the Group itself as one that is not there.
pub(crate) fn no_group(id: &str) -> ServiceError {
    format!("Group/{id}").parse::<ResourceKey>().map_or(PayerOperationError::NoJob.into(), ServiceError::NotFound)
}

//! Access decisions: whether a caller may do what it asks for, and on which resources.
//!
//! Scopes and policies are [`oauth_core`]'s. Here a request becomes what they judge, and what scopes leave open becomes
//! an [`AccessFilter`], which goes into the statement that reads or writes.

use std::collections::{BTreeMap, BTreeSet};

use fhir_resource::{ResourceId, ResourceKey, ResourceType, StoredResource};
use fhir_store::bundle::BundleReadRequest;
use fhir_store::{AccessFilter, ConditionalWriteCriteria, PatchDocument, ResourceWrite, WriteAccess, WriteOperation};
use oauth_core::access::{self, AccessError, ResourceAccessRequest};
use oauth_core::access_explanation::{self, AccessExplanation};
use oauth_core::resource_caller::CallerIdentity;
use serde_json::Value;
use smart_scopes::Interaction;

use crate::access_filter;
use crate::error::ServiceError;
use crate::policy_request::{PolicyInput, RouteFacts};
use crate::request_context::RequestContext;
use crate::request_query::RequestQuery;
use crate::resource_format::ResourceFormat;
use crate::service_state::FhirService;

/// An interaction that access is decided for: of a request, or of an entry of a Bundle.
#[derive(Clone, Copy)]
pub(crate) struct AccessCheck<'a> {
    kind: &'a ResourceType,
    id: Option<&'a ResourceId>,
    /// The rest of the address below the type or the resource.
    beneath: &'a str,
    method: &'static str,
    operation: &'static str,
    interaction: Interaction,
    query: &'a RequestQuery,
    /// The condition that finds the target. The caller then has to be allowed to list what meets it, because the
    /// answer shows what does.
    criteria: Option<&'a ConditionalWriteCriteria>,
    /// Whether a policy has to spell it out.
    explicit: bool,
    /// Whether no policy can spell it out: it is the administrator's.
    privileged: bool,
    body: Option<SentBody<'a>>,
    resource: Option<&'a Value>,
}

/// The body of a write.
#[derive(Clone, Copy)]
enum SentBody<'a> {
    Resource(&'a Value),
    Patch(&'a PatchDocument),
}

impl<'a> AccessCheck<'a> {
    /// Reading one resource.
    pub(crate) fn read(key: &'a ResourceKey, query: &'a RequestQuery) -> Self {
        Self {
            id: Some(&key.id),
            operation: "FhirRead",
            interaction: Interaction::Read,
            ..Self::list(&key.resource_type, query)
        }
    }

    /// Reading one version of a resource; `beneath` is `/_history/` and its number.
    pub(crate) fn vread(key: &'a ResourceKey, beneath: &'a str, query: &'a RequestQuery) -> Self {
        Self { beneath, operation: "FhirVread", ..Self::read(key, query) }
    }

    /// Reading the versions of one resource.
    pub(crate) fn history_of(key: &'a ResourceKey, query: &'a RequestQuery) -> Self {
        Self { beneath: "/_history", operation: "FhirHistory", ..Self::read(key, query) }
    }

    /// Reading the versions of a type's resources.
    pub(crate) fn history(kind: &'a ResourceType, query: &'a RequestQuery) -> Self {
        Self { beneath: "/_history", operation: "FhirHistory", ..Self::list(kind, query) }
    }

    /// Reading a patient with all that is the patient's; what else is read is permitted type by type.
    pub(crate) fn everything(key: &'a ResourceKey, query: &'a RequestQuery) -> Self {
        Self { beneath: "/$everything", operation: "FhirEverything", ..Self::read(key, query) }
    }

    /// Looking into a registration, which says more than the resource.
    pub(crate) fn diagnose(key: &'a ResourceKey, query: &'a RequestQuery) -> Self {
        Self { explicit: true, ..Self::read(key, query) }
    }

    /// Listing a type.
    pub(crate) fn list(kind: &'a ResourceType, query: &'a RequestQuery) -> Self {
        Self {
            kind,
            id: None,
            beneath: "",
            method: "get",
            operation: "FhirSearch",
            interaction: Interaction::Search,
            query,
            criteria: None,
            explicit: access::read_is_security_sensitive(kind.as_str()),
            privileged: false,
            body: None,
            resource: None,
        }
    }

    /// A write. Of a patch this shows the patch alone; what it makes is added by [`AccessCheck::making`].
    pub(crate) fn write(write: &'a ResourceWrite, query: &'a RequestQuery) -> Self {
        let criteria = write.precondition.if_none_exist.as_ref();
        let (method, operation, interaction) = match (&write.operation, criteria.is_some()) {
            (WriteOperation::Create(_), false) => ("post", "FhirCreate", Interaction::Create),
            (WriteOperation::Create(_), true) => ("post", "FhirConditionalCreate", Interaction::Create),
            (WriteOperation::Put(_), false) => ("put", "FhirUpdate", Interaction::Update),
            (WriteOperation::Put(_), true) => ("put", "FhirConditionalUpdate", Interaction::Update),
            (WriteOperation::Patch(_), _) => ("patch", "FhirPatch", Interaction::Update),
            (WriteOperation::Delete, _) => ("delete", "FhirDelete", Interaction::Delete),
        };
        let (body, resource) = match &write.operation {
            WriteOperation::Create(body) | WriteOperation::Put(body) => (Some(SentBody::Resource(body)), Some(body)),
            WriteOperation::Patch(change) => (Some(SentBody::Patch(change)), None),
            WriteOperation::Delete => (None, None),
        };
        let explicit = access::write_is_security_sensitive(write.resource_type.as_str());
        // Not specified; SQL may do everything, and a migration that is gone is run again.
        let privileged = write.resource_type.as_str() == migrations::MIGRATION_RESOURCE_TYPE;
        let (id, kind) = (write.id.as_ref(), &write.resource_type);
        Self {
            id,
            method,
            operation,
            interaction,
            criteria,
            explicit,
            privileged,
            body,
            resource,
            ..Self::list(kind, query)
        }
    }

    /// The same patch with the document that it makes, or without one where it cannot be applied.
    pub(crate) const fn making(self, resource: Option<&'a Value>) -> Self {
        Self { resource, ..self }
    }

    /// A read that an entry of a Bundle asks for.
    pub(crate) fn entry(read: &'a BundleReadRequest, query: &'a RequestQuery) -> Self {
        match read {
            BundleReadRequest::One(key) => Self::read(key, query),
            BundleReadRequest::Version(key, _) => Self::vread(key, query.beneath(), query),
            BundleReadRequest::List { resource_type: kind, .. } => Self::list(kind, query),
            BundleReadRequest::History { resource_type: kind, id: None, .. } => Self::history(kind, query),
            BundleReadRequest::History { resource_type: kind, id: Some(id), .. } => {
                Self { id: Some(id), interaction: Interaction::Read, ..Self::history(kind, query) }
            }
        }
    }

    /// Returns the name policies know it by.
    pub(crate) const fn operation(&self) -> &'static str {
        self.operation
    }

    fn path(&self, format: ResourceFormat) -> String {
        let prefix = format.path_prefix();
        match self.id {
            Some(id) => format!("{prefix}/{}/{id}{}", self.kind, self.beneath),
            None => format!("{prefix}/{}{}", self.kind, self.beneath),
        }
    }
}

impl SentBody<'_> {
    fn to_json(self) -> Value {
        match self {
            Self::Resource(value) | Self::Patch(PatchDocument::Merge(value)) => value.clone(),
            // It was read from JSON, so it is written as JSON.
            Self::Patch(PatchDocument::Json(operations) | PatchDocument::FhirJson(operations)) => {
                serde_json::to_value(operations).unwrap_or_default()
            }
        }
    }
}

/// The method and the path of an operation call, for policies.
#[derive(Debug, Clone, Copy)]
pub struct OperationRequestLine<'a> {
    /// The method in lower case.
    pub method: &'a str,
    /// The path.
    pub path: &'a str,
    /// The path with the query.
    pub path_and_query: &'a str,
}

/// A call of an operation by its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperationCall<'a> {
    /// Its name as policies know it.
    pub(crate) name: &'static str,
    /// The address it was called at.
    pub(crate) address: OperationRequestLine<'a>,
}

/// Checks that the caller may make the RPC call `call`, in the name of `operation`.
///
/// # Errors
/// [`AccessError`], when no policy allows the call or the store fails.
pub async fn authorize_rpc(
    service: &FhirService,
    context: &RequestContext,
    operation: &str,
    call: &Value,
) -> Result<(), AccessError> {
    let request = || {
        let body = Some(call.clone());
        PolicyInput { body, ..policy_request(service, context, ("post", "/rpc"), None) }.into_value()
    };
    let access = ResourceAccessRequest { target: None, operation, explicit: true, request: &request };
    access::authorize(&service.directory, &context.caller, access).await.map(|_| ())
}

/// Checks that the caller may have an operation of payers touch resources of a type. Policies see the call as it was
/// sent, and the type as the parameter `resource/type`.
///
/// # Errors
/// Why not.
pub(crate) async fn authorize_operation(
    service: &FhirService,
    context: &RequestContext,
    operation: &OperationCall<'_>,
    target: (&str, Interaction),
) -> Result<(), AccessError> {
    let route = RouteFacts { resource_type: Some(target.0), resource_id: None };
    let called = (operation.address.method, operation.address.path);
    let request =
        || PolicyInput { route, ..policy_request(service, context, called, context.query.query_string()) }.into_value();
    let explicit = access::read_is_security_sensitive(target.0);
    let access = ResourceAccessRequest { target: Some(target), operation: operation.name, explicit, request: &request };
    access::authorize(&service.directory, &context.caller, access).await.map(drop)
}

/// Returns what the caller may do the interaction on, which is no write.
///
/// # Errors
/// Why on nothing.
pub(crate) async fn authorize(
    service: &FhirService,
    context: &RequestContext,
    check: &AccessCheck<'_>,
) -> Result<AccessFilter, AccessError> {
    let is_administrators =
        check.resource.is_some_and(|resource| access::is_admin_only_write(check.kind.as_str(), resource));
    if check.privileged || is_administrators {
        require_administrator(context)?;
    }
    let access = ResourceAccessRequest {
        target: Some((check.kind.as_str(), check.interaction)),
        operation: check.operation,
        explicit: check.explicit,
        request: &|| describe(service, context, check),
    };
    match access::authorize(&service.directory, &context.caller, access).await {
        Ok(allowed) => {
            access_filter::from_scopes(service, context, (check.kind, check.interaction), allowed.reach).await
        }
        // A token that no policy would help gets to know the scope it lacks.
        Err(AccessError::Forbidden)
            if check.explicit && matches!(check.interaction, Interaction::Read | Interaction::Search) =>
        {
            scope_filter(service, context, check).await?;
            Err(AccessError::Forbidden)
        }
        Err(denied) => Err(denied),
    }
}

/// Returns what the decision about an interaction is made from.
///
/// # Errors
/// When the store fails.
pub(crate) async fn explain(
    service: &FhirService,
    context: &RequestContext,
    check: &AccessCheck<'_>,
) -> Result<AccessExplanation, AccessError> {
    let access = ResourceAccessRequest {
        target: Some((check.kind.as_str(), check.interaction)),
        operation: check.operation,
        explicit: check.explicit,
        request: &|| describe(service, context, check),
    };
    Ok(access_explanation::explain_access(&service.directory, &context.caller, access).await?)
}

/// Returns an error unless the caller is the administrator.
///
/// # Errors
/// [`AccessError::Unauthenticated`] without credentials, [`AccessError::Forbidden`] for every other caller.
pub fn require_administrator(context: &RequestContext) -> Result<(), AccessError> {
    match context.caller.identity {
        CallerIdentity::Root => Ok(()),
        CallerIdentity::Anonymous => Err(AccessError::Unauthenticated),
        CallerIdentity::Client(_) | CallerIdentity::Token(_) => Err(AccessError::Forbidden),
    }
}

/// Returns among what the caller may find the target of a write, and what it may write.
///
/// # Errors
/// Why nothing.
pub(crate) async fn authorize_write(
    service: &FhirService,
    context: &RequestContext,
    check: &AccessCheck<'_>,
) -> Result<WriteAccess, ServiceError> {
    let mut reach = WriteAccess::default();
    if let Some(criteria) = check.criteria {
        reach.search = authorize_search(service, context, check.kind, (check.query, criteria)).await?;
        reach.chained = searchable_types(service, context, criteria.chained_resource_types()).await?;
    }
    Ok(WriteAccess { target: authorize(service, context, check).await?, ..reach })
}

/// Returns which resources that meet the condition of a write the caller may list. The condition is a list, whatever
/// becomes of it, and policies see it as one.
///
/// # Errors
/// Why none.
pub(crate) async fn authorize_search(
    service: &FhirService,
    context: &RequestContext,
    kind: &ResourceType,
    (query, criteria): (&RequestQuery, &ConditionalWriteCriteria),
) -> Result<AccessFilter, AccessError> {
    let within = authorize(service, context, &AccessCheck::list(kind, &query.as_list())).await?;
    if criteria.search.is_none() {
        access_filter::check_listable(kind, &within)?;
    }
    Ok(within)
}

/// Returns what the caller may find of the types that a search looks at besides its own.
///
/// # Errors
/// When the store fails.
pub(crate) async fn searchable_types(
    service: &FhirService,
    context: &RequestContext,
    kinds: BTreeSet<&ResourceType>,
) -> Result<BTreeMap<ResourceType, AccessFilter>, ServiceError> {
    let mut reaches = BTreeMap::new();
    for kind in kinds {
        if let Some(within) = searchable(service, context, kind).await? {
            reaches.insert(kind.clone(), within);
        }
    }
    Ok(reaches)
}

/// Returns what the caller may find of a type by a search; `None` for nothing.
///
/// # Errors
/// When the store fails.
pub(crate) async fn searchable(
    service: &FhirService,
    context: &RequestContext,
    kind: &ResourceType,
) -> Result<Option<AccessFilter>, ServiceError> {
    match authorize(service, context, &AccessCheck::list(kind, &RequestQuery::EMPTY)).await {
        Ok(within) => Ok(Some(within)),
        Err(cause @ AccessError::Store(_)) => Err(cause.into()),
        Err(_) => Ok(None),
    }
}

/// Returns what scopes alone leave open, for what has to be looked at before policies can be asked.
///
/// # Errors
/// That they leave nothing open.
pub(crate) async fn scope_filter(
    service: &FhirService,
    context: &RequestContext,
    check: &AccessCheck<'_>,
) -> Result<AccessFilter, AccessError> {
    let reach = access::scope_access(&context.caller, Some((check.kind.as_str(), check.interaction)))?;
    access_filter::from_scopes(service, context, (check.kind, check.interaction), reach).await
}

/// Returns whether the caller may read a resource that it wrote, and so see it in the answer.
///
/// The write is done by now, so a failure of the store counts as a refusal.
pub(crate) async fn may_read(service: &FhirService, context: &RequestContext, stored: &StoredResource) -> bool {
    let reached = authorize(service, context, &AccessCheck::read(&stored.key, &RequestQuery::EMPTY)).await;
    reached.is_ok_and(|within| within.contains_resource(&stored.key, &stored.resource))
}

/// Returns the request object that policies are matched against. Credentials are left out: no policy needs them, and
/// traces of policies show what they see.
fn describe(service: &FhirService, context: &RequestContext, check: &AccessCheck<'_>) -> Value {
    let path = check.path(context.format);
    let request = PolicyInput {
        route: RouteFacts { resource_type: Some(check.kind.as_str()), resource_id: check.id.map(ResourceId::as_str) },
        body: check.body.map(SentBody::to_json),
        resource: check.resource.cloned(),
        ..policy_request(service, context, (check.method, &path), check.query.query_string())
    };
    request.into_value()
}

/// Returns a request without what its route determines.
fn policy_request<'a>(
    service: &'a FhirService,
    context: &'a RequestContext,
    (method, path): (&'a str, &str),
    query: Option<&'a str>,
) -> PolicyInput<'a> {
    PolicyInput {
        method,
        uri: path.to_owned(),
        scheme: service.settings.base_url.split(':').next(),
        headers: &context.headers,
        query,
        remote_addr: context.address,
        route: RouteFacts::default(),
        body: None,
        resource: None,
    }
}

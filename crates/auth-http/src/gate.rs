//! Asking the rules whether a caller may do what it asks for, and on what.

use fhir_store::bundle::ReadRequest;
use fhir_store::{
    AccessFilter, PatchDocument, ResourceId, ResourceKey, ResourceType, StoredResource, Write, WriteAccess,
    WriteCriteria, WriteOperation,
};
use oauth_core::access::{self, AccessError, AccessRequest};
use oauth_core::caller::CallerIdentity;
use oauth_core::explanation::{self, AccessExplanation};
use serde_json::Value;
use smart_scopes::Interaction;

use crate::asked::RequestQuery;
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::payer::OperationCall;
use crate::policy_request::{PolicyInput, RouteFacts};
use crate::state::App;
use crate::surface::ResourceFormat;
use crate::{confine, criteria};

/// What is asked for: by a request of its own, or by an entry of a Bundle.
#[derive(Clone, Copy)]
pub(crate) struct AccessCheck<'a> {
    kind: &'a ResourceType,
    id: Option<&'a ResourceId>,
    /// What the address has below the type or the resource.
    beneath: &'a str,
    method: &'static str,
    operation: &'static str,
    interaction: Interaction,
    asked: &'a RequestQuery,
    /// The condition that finds the target: then the caller has to be one who may list what meets it,
    /// because the answer tells what does.
    criteria: Option<&'a WriteCriteria>,
    /// Whether a policy has to spell it out.
    explicit: bool,
    /// Whether no policy can spell it out: it is the administrator's.
    privileged: bool,
    body: Option<Body<'a>>,
    resource: Option<&'a Value>,
}

/// What was sent to be written.
#[derive(Clone, Copy)]
enum Body<'a> {
    Resource(&'a Value),
    Patch(&'a PatchDocument),
}

impl<'a> AccessCheck<'a> {
    /// Reading one resource.
    pub(crate) fn read(key: &'a ResourceKey, asked: &'a RequestQuery) -> Self {
        Self {
            id: Some(&key.id),
            operation: "FhirRead",
            interaction: Interaction::Read,
            ..Self::list(&key.kind, asked)
        }
    }

    /// Reading one version of a resource; `beneath` is `/_history/` and its number.
    pub(crate) fn vread(key: &'a ResourceKey, beneath: &'a str, asked: &'a RequestQuery) -> Self {
        Self { beneath, operation: "FhirVread", ..Self::read(key, asked) }
    }

    /// Reading the versions of one resource.
    pub(crate) fn history_of(key: &'a ResourceKey, asked: &'a RequestQuery) -> Self {
        Self { beneath: "/_history", operation: "FhirHistory", ..Self::read(key, asked) }
    }

    /// Reading the versions of a type's resources.
    pub(crate) fn history(kind: &'a ResourceType, asked: &'a RequestQuery) -> Self {
        Self { beneath: "/_history", operation: "FhirHistory", ..Self::list(kind, asked) }
    }

    /// Reading a patient with all that is the patient's; what else is read is permitted type by type.
    pub(crate) fn everything(key: &'a ResourceKey, asked: &'a RequestQuery) -> Self {
        Self { beneath: "/$everything", operation: "FhirEverything", ..Self::read(key, asked) }
    }

    /// Looking into a registration, which says more than the resource.
    pub(crate) fn diagnose(key: &'a ResourceKey, asked: &'a RequestQuery) -> Self {
        Self { explicit: true, ..Self::read(key, asked) }
    }

    /// Listing a type.
    pub(crate) fn list(kind: &'a ResourceType, asked: &'a RequestQuery) -> Self {
        Self {
            kind,
            id: None,
            beneath: "",
            method: "get",
            operation: "FhirSearch",
            interaction: Interaction::Search,
            asked,
            criteria: None,
            explicit: access::is_registration(kind.as_str()),
            privileged: false,
            body: None,
            resource: None,
        }
    }

    /// A write. Of a patch this shows the patch alone; what it makes is added by [`AccessCheck::making`].
    pub(crate) fn write(write: &'a Write, asked: &'a RequestQuery) -> Self {
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
            WriteOperation::Create(body) | WriteOperation::Put(body) => (Some(Body::Resource(body)), Some(body)),
            WriteOperation::Patch(change) => (Some(Body::Patch(change)), None),
            WriteOperation::Delete => (None, None),
        };
        let explicit = access::registers(write.kind.as_str());
        // Not specified; SQL may do everything, and a migration that is gone is run again.
        let privileged = write.kind.as_str() == migrations::RESOURCE_TYPE;
        let (id, kind) = (write.id.as_ref(), &write.kind);
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
            ..Self::list(kind, asked)
        }
    }

    /// A patch that makes this document, or none where it cannot be applied.
    pub(crate) const fn making(self, resource: Option<&'a Value>) -> Self {
        Self { resource, ..self }
    }

    /// A read that an entry of a Bundle asks for.
    pub(crate) fn entry(read: &'a ReadRequest, asked: &'a RequestQuery) -> Self {
        match read {
            ReadRequest::One(key) => Self::read(key, asked),
            ReadRequest::Version(key, _) => Self::vread(key, asked.beneath(), asked),
            ReadRequest::List { kind, .. } => Self::list(kind, asked),
            ReadRequest::History { kind, id: None, .. } => Self::history(kind, asked),
            ReadRequest::History { kind, id: Some(id), .. } => {
                Self { id: Some(id), interaction: Interaction::Read, ..Self::history(kind, asked) }
            }
        }
    }

    /// Returns the name policies know it by.
    pub(crate) const fn operation(&self) -> &'static str {
        self.operation
    }

    fn path(&self, dialect: ResourceFormat) -> String {
        let prefix = dialect.prefix();
        match self.id {
            Some(id) => format!("{prefix}/{}/{id}{}", self.kind, self.beneath),
            None => format!("{prefix}/{}{}", self.kind, self.beneath),
        }
    }
}

impl Body<'_> {
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

/// Whether the caller may do an operation that is called by name; `asked` is the call.
///
/// # Errors
/// Why not.
pub(crate) async fn permit_rpc(
    app: &App,
    call: &ResourceRequest,
    operation: &str,
    asked: &Value,
) -> Result<(), AccessError> {
    let request = || {
        let body = Some(asked.clone());
        PolicyInput { body, ..policy_request(app, call, ("post", "/rpc"), None) }.into_value()
    };
    let access = AccessRequest { target: None, operation, explicit: true, request: &request };
    access::authorize(&app.authority, &call.caller, access).await.map(|_| ())
}

/// Whether the caller may have an operation of payers touch resources of a type. Policies see the call as it was sent,
/// and the type as the parameter `resource/type`.
///
/// # Errors
/// Why not.
pub(crate) async fn permit_operation(
    app: &App,
    call: &ResourceRequest,
    operation: &OperationCall<'_>,
    target: (&str, Interaction),
) -> Result<(), AccessError> {
    let route = RouteFacts { resource_type: Some(target.0), resource_id: None };
    let method = operation.method.as_str().to_ascii_lowercase();
    let called = (method.as_str(), operation.uri.path());
    let query = call.asked.query.as_deref();
    let request = || PolicyInput { route, ..policy_request(app, call, called, query) }.into_value();
    let explicit = access::is_registration(target.0);
    let access = AccessRequest { target: Some(target), operation: operation.name, explicit, request: &request };
    access::authorize(&app.authority, &call.caller, access).await.map(drop)
}

/// Returns whether the caller of `call` may do `act`, which is no write, and on what.
///
/// # Errors
/// Why not.
pub(crate) async fn permit(
    app: &App,
    call: &ResourceRequest,
    act: &AccessCheck<'_>,
) -> Result<AccessFilter, AccessError> {
    if act.privileged || act.resource.is_some_and(|resource| access::is_administrators(act.kind.as_str(), resource)) {
        permit_administrator(call)?;
    }
    let access = AccessRequest {
        target: Some((act.kind.as_str(), act.interaction)),
        operation: act.operation,
        explicit: act.explicit,
        request: &|| describe(app, call, act),
    };
    match access::authorize(&app.authority, &call.caller, access).await {
        Ok(allowed) => confine::selection(app, call, (act.kind, act.interaction), allowed.reach).await,
        // A token that no policy would help is told of the scope it lacks.
        Err(AccessError::Forbidden)
            if act.explicit && matches!(act.interaction, Interaction::Read | Interaction::Search) =>
        {
            reached(app, call, act).await?;
            Err(AccessError::Forbidden)
        }
        Err(denied) => Err(denied),
    }
}

/// Returns what the decision about `act` is made from.
///
/// # Errors
/// When the store fails.
pub(crate) async fn explain(
    app: &App,
    call: &ResourceRequest,
    act: &AccessCheck<'_>,
) -> Result<AccessExplanation, AccessError> {
    let access = AccessRequest {
        target: Some((act.kind.as_str(), act.interaction)),
        operation: act.operation,
        explicit: act.explicit,
        request: &|| describe(app, call, act),
    };
    Ok(explanation::explain(&app.authority, &call.caller, access).await?)
}

/// Whether the caller is the administrator, whatever policies say.
///
/// # Errors
/// That it is not.
pub(crate) fn permit_administrator(call: &ResourceRequest) -> Result<(), AccessError> {
    match call.caller.identity {
        CallerIdentity::Root => Ok(()),
        CallerIdentity::Anonymous => Err(AccessError::Unauthenticated),
        CallerIdentity::Client(_) | CallerIdentity::Token(_) => Err(AccessError::Forbidden),
    }
}

/// Returns whether the caller of `call` may do the write `act`, what it may find its target among and what it may
/// write.
///
/// # Errors
/// Why not.
pub(crate) async fn permit_write(
    app: &App,
    call: &ResourceRequest,
    act: &AccessCheck<'_>,
) -> Result<WriteAccess, ApiError> {
    let mut reach = WriteAccess::default();
    if let Some(criteria) = act.criteria {
        reach.search = permit_search(app, call, act.kind, (act.asked, criteria)).await?;
        reach.chained = criteria::chained(app, call, criteria).await?;
    }
    Ok(WriteAccess { target: permit(app, call, act).await?, ..reach })
}

/// Returns whether the caller may list what meets the condition that a write was asked with, and which of it: the
/// condition is a list, whatever becomes of it, and policies see it as one.
///
/// # Errors
/// Why not.
pub(crate) async fn permit_search(
    app: &App,
    call: &ResourceRequest,
    kind: &ResourceType,
    (asked, criteria): (&RequestQuery, &WriteCriteria),
) -> Result<AccessFilter, AccessError> {
    let within = permit(app, call, &AccessCheck::list(kind, &asked.as_list())).await?;
    if criteria.sought.is_none() {
        confine::check_listable(kind, &within)?;
    }
    Ok(within)
}

/// Returns what scopes alone leave open of `act`, for what has to be looked at before policies can be asked.
///
/// # Errors
/// That they leave nothing open.
pub(crate) async fn reached(
    app: &App,
    call: &ResourceRequest,
    act: &AccessCheck<'_>,
) -> Result<AccessFilter, AccessError> {
    let reach = access::reach(&call.caller, Some((act.kind.as_str(), act.interaction)))?;
    confine::selection(app, call, (act.kind, act.interaction), reach).await
}

/// Returns whether the caller may read a resource that it wrote, and so see it in the answer.
///
/// The write is done by now, so a store that fails here is answered as one that says no.
pub(crate) async fn may_read(app: &App, call: &ResourceRequest, stored: &StoredResource) -> bool {
    let reached = permit(app, call, &AccessCheck::read(&stored.key, &RequestQuery::NOTHING)).await;
    reached.is_ok_and(|within| within.contains(&stored.key, &stored.resource))
}

/// Returns the request object policies are matched against. Credentials are left out: no policy needs them, and traces
/// of policies show what they see.
fn describe(app: &App, call: &ResourceRequest, act: &AccessCheck<'_>) -> Value {
    let path = act.path(call.dialect);
    let request = PolicyInput {
        route: RouteFacts { resource_type: Some(act.kind.as_str()), resource_id: act.id.map(ResourceId::as_str) },
        body: act.body.map(Body::to_json),
        resource: act.resource.cloned(),
        ..policy_request(app, call, (act.method, &path), act.asked.query.as_deref())
    };
    request.into_value()
}

/// A request without what its route determines.
fn policy_request<'a>(
    app: &'a App,
    call: &'a ResourceRequest,
    (method, path): (&'a str, &str),
    query: Option<&'a str>,
) -> PolicyInput<'a> {
    PolicyInput {
        method,
        uri: path.to_owned(),
        scheme: app.settings.base_url.split(':').next(),
        headers: &call.headers,
        query,
        remote_addr: call.address,
        route: RouteFacts::default(),
        body: None,
        resource: None,
    }
}

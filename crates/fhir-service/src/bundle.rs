//! Bundles of requests, and plain lists of resources.

use std::collections::BTreeMap;

use fhir_resource::{ResourceId, ResourceKey};
use fhir_store::bundle::{
    self, BundleEntriesByAction, BundleEntryRequest, BundleReadRequest, BundleType, RequestBundle, RequestBundleError,
};
use fhir_store::limits::MAX_BUNDLE_ENTRIES;
use fhir_store::operation_outcome::OperationOutcome;
use fhir_store::{
    AccessFilter, IfMatch, ResourceWrite, WriteAccess, WriteError, WriteOperation, WriteOutcome, WritePrecondition,
};
use oauth_core::resource_caller::CallerIdentity;
use oauth_core::security_resource_rules::ResourceIssue;
use serde_json::Value;

use crate::access::{self, AccessCheck};
use crate::error::ServiceError;
use crate::patch::{self, PatchRequest, PatchableResource};
use crate::planned_write::PlannedWrite;
use crate::prefer_header::ReturnPreference;
use crate::request_budget::RequestBudget;
use crate::request_context::RequestContext;
use crate::request_query::RequestQuery;
use crate::search::{self, PreparedRead, SearchScope};
use crate::service_state::FhirService;
use crate::write_criteria::{self, CriteriaReader};
use crate::write_remarks::{self, REMARKS_MAX};
use crate::{
    conditional_references, history, representation, resource_lookup, security_resources, write as pipeline,
    write_target,
};

/// Executes a posted batch or transaction Bundle, and returns the response Bundle.
///
/// # Errors
/// [`ServiceError`], when nothing was done. An entry of a batch that fails is reported in its response entry.
///
/// # Source
/// FHIR R4, `RESTful` API, batch/transaction.
pub async fn post_bundle(
    service: &FhirService,
    context: &RequestContext,
    body: Option<Value>,
) -> Result<Value, ServiceError> {
    let body = body.ok_or(ServiceError::NoBody)?;
    let queries = RequestQuery::of_bundle_entries(&body);
    let request = parse_bundle(service, context, body, &queries).await?;
    execute_bundle(service, context, request, &queries).await
}

/// Parses a Bundle, with the conditions of its entries; `queries` are the queries of the entries.
///
/// # Errors
/// [`ServiceError::Bundle`] for a body that is not a Bundle that can be executed.
pub async fn parse_bundle(
    service: &FhirService,
    context: &RequestContext,
    body: Value,
    queries: &[RequestQuery],
) -> Result<RequestBundle, ServiceError> {
    let asks = queries.iter().any(RequestQuery::asks);
    let criteria =
        if asks { CriteriaReader::of(service, context.format).await? } else { CriteriaReader::of_none(service) };
    Ok(bundle::parse_request_bundle(body, &|kind, text| criteria.read(kind, text))?)
}

/// Executes a parsed Bundle, and returns the response Bundle.
///
/// # Errors
/// [`ServiceError`]; nothing was written then.
pub async fn execute_bundle(
    service: &FhirService,
    context: &RequestContext,
    request: RequestBundle,
    queries: &[RequestQuery],
) -> Result<Value, ServiceError> {
    match request.bundle_type {
        BundleType::Batch => batch(service, context, request, queries).await,
        BundleType::Transaction => transaction(service, context, request, queries).await,
    }
}

/// The resources that a list write has written.
#[derive(Debug)]
pub struct WrittenResourceList {
    /// The resources that the caller may read, as it sees them.
    pub shown: Vec<Value>,
    /// Issues that the writer should know of, although the write succeeded.
    pub remarks: Vec<ResourceIssue>,
}

/// Creates or replaces every resource of a list, in one transaction.
///
/// # Errors
/// [`ServiceError`]; nothing was written then.
pub async fn put_resource_list(
    service: &FhirService,
    context: &RequestContext,
    body: Option<Value>,
) -> Result<WrittenResourceList, ServiceError> {
    let Value::Array(resources) = body.ok_or(ServiceError::NoBody)? else { return Err(ServiceError::NotAList) };
    if resources.len() > MAX_BUNDLE_ENTRIES {
        return Err(ServiceError::Bundle(RequestBundleError::TooManyEntries));
    }
    let mut writes = Vec::with_capacity(resources.len());
    for (index, resource) in resources.into_iter().enumerate() {
        let key = key_in(&resource).ok_or(ServiceError::Unnamed { index })?;
        writes.push((index, ResourceWrite::unconditional(key, WriteOperation::Put(resource))));
    }
    let mut budget = RequestBudget::new(service.settings.searches_time());
    conditional_references::resolve(service, context, &mut writes, &mut budget).await?;
    let mut planned = Vec::with_capacity(writes.len());
    for (index, write) in writes {
        let check = AccessCheck::write(&write, &RequestQuery::EMPTY);
        let authorized = access::authorize_write(service, context, &check).await;
        let reach = authorized.map_err(|fault| fault.at_bundle_entry(Some(index)))?;
        planned.push(PlannedWrite { write: ResourceWrite { reach, ..write }, entry: Some(index) });
    }
    let written = pipeline::write_all(service, context.format, planned).await?;
    let (mut shown, mut remarks) = (Vec::with_capacity(written.len()), Vec::new());
    for written in &written {
        let one = representation::write_response_content(service, context, written).await;
        shown.extend(one.shown);
        remarks.extend(one.remarks);
    }
    remarks.truncate(REMARKS_MAX);
    Ok(WrittenResourceList { shown, remarks })
}

/// Returns `resourceType` and `id` of a document.
fn key_in(resource: &Value) -> Option<ResourceKey> {
    let text = |name: &str| resource.get(name).and_then(Value::as_str);
    Some(ResourceKey { resource_type: text("resourceType")?.parse().ok()?, id: text("id")?.parse().ok()? })
}

/// Executes each entry by itself: one that fails, or that the caller may not do, is answered in its place.
async fn batch(
    service: &FhirService,
    context: &RequestContext,
    request: RequestBundle,
    queries: &[RequestQuery],
) -> Result<Value, ServiceError> {
    if matches!(context.caller.identity, CallerIdentity::Anonymous) {
        refuse_anonymous(service, context, &request, queries).await?;
    }
    let mut budget = RequestBudget::new(service.settings.searches_time());
    let mut answers = Vec::with_capacity(request.entries.len());
    for (entry, query) in request.entries.into_iter().zip(queries) {
        let answered = match entry {
            Ok(BundleEntryRequest::Write(write)) => write_entry(service, context, write, query, &mut budget).await,
            Ok(BundleEntryRequest::Read(read)) => read_entry(service, context, &read, query, &mut budget).await,
            Err(fault) => Err(ServiceError::Entry(fault)),
        };
        let answered = answered.unwrap_or_else(service.failed_entry);
        budget.spend(&answered);
        answers.push(answered);
    }
    Ok(bundle::batch_response_bundle(answers))
}

/// Not specified; a batch without credentials, of which any entry needs them, is refused as a whole
/// with 401, because a client looks for that status to know that it has to authenticate.
async fn refuse_anonymous(
    service: &FhirService,
    context: &RequestContext,
    request: &RequestBundle,
    queries: &[RequestQuery],
) -> Result<(), ServiceError> {
    for (entry, query) in request.entries.iter().zip(queries) {
        match entry {
            Ok(BundleEntryRequest::Write(write)) => {
                if let Err(refused @ ServiceError::Denied { .. }) =
                    authorize_write(service, context, write, query).await
                {
                    return Err(refused);
                }
            }
            Ok(BundleEntryRequest::Read(read)) => {
                access::authorize(service, context, &AccessCheck::entry(read, query)).await?;
            }
            Err(_) => {}
        }
    }
    Ok(())
}

async fn write_entry(
    service: &FhirService,
    context: &RequestContext,
    write: ResourceWrite,
    query: &RequestQuery,
    budget: &mut RequestBudget,
) -> Result<Value, ServiceError> {
    let write = conditional_references::resolved(service, context, write, budget).await?;
    let searches = write.precondition.if_none_exist.is_some();
    let writing = async {
        let write = write_criteria::expanded(service, write).await?;
        let authorized = authorize_write(service, context, &write, query).await?;
        pipeline::write_one(service, context.format, authorized.apply(write)).await
    };
    let written = if searches { budget.write(writing).await? } else { writing.await? };
    Ok(written_entry(service, context, &written, budget).await)
}

async fn read_entry(
    service: &FhirService,
    context: &RequestContext,
    read: &BundleReadRequest,
    query: &RequestQuery,
    budget: &mut RequestBudget,
) -> Result<Value, ServiceError> {
    let ready = AuthorizedRead::of(service, context, read, query).await?;
    budget.check()?;
    ready.answer_within(service, context, budget).await
}

/// All or none; reads see what the writes did, whatever their place.
async fn transaction(
    service: &FhirService,
    context: &RequestContext,
    request: RequestBundle,
    queries: &[RequestQuery],
) -> Result<Value, ServiceError> {
    let BundleEntriesByAction { mut writes, reads, faults } = request.into_entries_by_action();
    if let Some(fault) = faults.into_iter().next() {
        return Err(ServiceError::Entry(fault));
    }
    let query_at = |index: usize| queries.get(index).unwrap_or(&RequestQuery::EMPTY);
    let mut budget = RequestBudget::new(service.settings.searches_time());
    conditional_references::resolve(service, context, &mut writes, &mut budget).await?;
    let planned = plan(service, context, (writes, &query_at), &mut budget).await?;
    let mut ready = Vec::with_capacity(reads.len());
    for (index, read) in &reads {
        let authorized = AuthorizedRead::of(service, context, read, query_at(*index)).await;
        ready.push(authorized.map_err(|fault| fault.at_bundle_entry(Some(*index)))?);
    }
    let places: Vec<Option<usize>> = planned.iter().map(|planned| planned.entry).collect();
    let written = pipeline::write_all(service, context.format, planned).await?;

    let mut answers: BTreeMap<usize, Value> = BTreeMap::new();
    for (place, written) in places.into_iter().flatten().zip(&written) {
        let answered = written_entry(service, context, written, &budget).await;
        budget.spend(&answered);
        answers.insert(place, answered);
    }
    for ((index, _), ready) in reads.iter().zip(ready) {
        // What a read finds missing does not undo what is committed by now.
        let answered = match budget.check() {
            Ok(()) => ready.answer_within(service, context, &mut budget).await,
            Err(spent) => Err(spent),
        };
        let answered = answered.unwrap_or_else(service.failed_entry);
        budget.spend(&answered);
        answers.insert(*index, answered);
    }
    Ok(bundle::transaction_response_bundle(answers.into_values().collect()))
}

/// Returns the writes of a transaction, as far as the caller may do them.
async fn plan<'a>(
    service: &FhirService,
    context: &RequestContext,
    (writes, query_at): (Vec<(usize, ResourceWrite)>, &impl Fn(usize) -> &'a RequestQuery),
    budget: &mut RequestBudget,
) -> Result<Vec<PlannedWrite>, ServiceError> {
    let mut planned = Vec::with_capacity(writes.len());
    for (index, write) in writes {
        let entry = Some(index);
        let searches = write.precondition.if_none_exist.is_some();
        let planning = async {
            let write = write_criteria::expanded(service, write).await?;
            let authorized = authorize_write(service, context, &write, query_at(index)).await?;
            Ok(authorized.apply(write))
        };
        let write = if searches { budget.search(planning).await } else { planning.await };
        planned.push(PlannedWrite { write: write.map_err(|fault: ServiceError| fault.at_bundle_entry(entry))?, entry });
    }
    Ok(planned)
}

/// A write that the caller may do, and on what.
struct AuthorizedWrite {
    reach: WriteAccess,
    pin: Option<JudgedVersion>,
}

/// The version that a write was judged on, the only one it may be applied to.
struct JudgedVersion {
    id: ResourceId,
    version: i64,
}

impl AuthorizedWrite {
    /// Returns the write, bound to what was authorized.
    fn apply(self, write: ResourceWrite) -> ResourceWrite {
        let write = ResourceWrite { reach: self.reach, ..write };
        let Some(JudgedVersion { id, version }) = self.pin else { return write };
        let if_none_match = write.precondition.if_none_match;
        let precondition =
            WritePrecondition { if_match: Some(IfMatch::Version(version)), if_none_match, if_none_exist: None };
        ResourceWrite { id: Some(id), precondition, ..write }
    }
}

/// Authorizes a write. A patch is judged by the document that it makes, so it may be applied to nothing else than the
/// version that it was judged on: neither to a version the caller guessed nor to another resource that meets its
/// condition by then.
async fn authorize_write(
    service: &FhirService,
    context: &RequestContext,
    write: &ResourceWrite,
    query: &RequestQuery,
) -> Result<AuthorizedWrite, ServiceError> {
    let check = AccessCheck::write(write, query);
    let whole =
        security_resources::is_ruled(&write.resource_type) || matches!(context.caller.identity, CallerIdentity::Root);
    let change = match &write.operation {
        // Patches of ruled types are refused in any Bundle, and the administrator is not judged.
        WriteOperation::Patch(change) if !whole => change,
        _ => return Ok(AuthorizedWrite { reach: access::authorize_write(service, context, &check).await?, pin: None }),
    };
    let key = match &write.id {
        Some(id) => ResourceKey { resource_type: write.resource_type.clone(), id: id.clone() },
        None => write_target::find_target(service, context, write, query).await?,
    };
    let PatchableResource { stored, within } =
        patch::authorize_patch(service, context, &check, PatchRequest { key: &key, change }).await?;
    match write.precondition.if_match {
        Some(IfMatch::Version(asked_for)) if asked_for != stored.version => {
            let cause = WriteError::VersionMismatch { key, current: Some(stored.version) };
            Err(ServiceError::Refused { cause, entry: None })
        }
        _ => {
            let reach = WriteAccess { target: within, ..WriteAccess::default() };
            Ok(AuthorizedWrite { reach, pin: Some(JudgedVersion { id: key.id, version: stored.version }) })
        }
    }
}

/// Returns the entry that answers a write. Once the answer is full, the entry has no content.
async fn written_entry(
    service: &FhirService,
    context: &RequestContext,
    written: &WriteOutcome,
    budget: &RequestBudget,
) -> Value {
    let remarks = write_remarks::of(service, context, written).await;
    let shown = match budget.check() {
        Ok(()) => representation::after_write(service, context, written, &remarks).await,
        Err(_) => None,
    };
    match (context.preferences.content, shown) {
        (ReturnPreference::OperationOutcome, Some(outcome)) => {
            with_outcome(bundle::write_response_entry(written, None), outcome)
        }
        (_, shown) if remarks.is_empty() => bundle::write_response_entry(written, shown),
        (_, shown) => {
            let outcome = OperationOutcome::from_issues(write_remarks::issues(remarks).collect()).to_value();
            with_outcome(bundle::write_response_entry(written, shown), outcome)
        }
    }
}

fn with_outcome(mut entry: Value, outcome: Value) -> Value {
    if let Some(response) = entry.get_mut("response").and_then(Value::as_object_mut) {
        response.insert("outcome".to_owned(), outcome);
    }
    entry
}

/// A read that was understood and authorized, to be answered when its turn comes.
enum AuthorizedRead<'a> {
    Read(&'a BundleReadRequest, AccessFilter),
    List(PreparedRead<'a>),
}

impl<'a> AuthorizedRead<'a> {
    async fn of(
        service: &FhirService,
        context: &RequestContext,
        read: &'a BundleReadRequest,
        query: &RequestQuery,
    ) -> Result<Self, ServiceError> {
        match read {
            BundleReadRequest::List { resource_type: kind, parameters } => {
                search::prepare(service, context, SearchScope::of_type(kind), (parameters, query)).await.map(Self::List)
            }
            _ => Ok(Self::Read(read, access::authorize(service, context, &AccessCheck::entry(read, query)).await?)),
        }
    }

    /// Returns the answer, for a search as far as there is time for it.
    async fn answer_within(
        self,
        service: &FhirService,
        context: &RequestContext,
        budget: &mut RequestBudget,
    ) -> Result<Value, ServiceError> {
        match self {
            Self::List(_) => budget.search(self.answer(service, context)).await,
            Self::Read(..) => self.answer(service, context).await,
        }
    }

    async fn answer(self, service: &FhirService, context: &RequestContext) -> Result<Value, ServiceError> {
        match self {
            Self::List(prepared) => {
                let found = prepared.answer(service, context).await?;
                Ok(bundle::read_response_entry(None, serde_json::from_slice(&found).map_err(ServiceError::Unwritable)?))
            }
            Self::Read(BundleReadRequest::One(key), within) => {
                let stored = resource_lookup::current(service, key, &within).await?;
                Ok(bundle::read_response_entry(Some(&stored), representation::render(service, context.format, &stored)))
            }
            Self::Read(BundleReadRequest::Version(key, number), within) => {
                let stored = resource_lookup::version(service, (key, *number), &within).await?;
                Ok(bundle::read_response_entry(Some(&stored), representation::render(service, context.format, &stored)))
            }
            Self::Read(BundleReadRequest::History { resource_type: kind, id, window }, within) => {
                let page = history::of_entry(service, context, (kind, id.as_ref()), (*window, within)).await?;
                Ok(bundle::read_response_entry(None, page))
            }
            Self::Read(BundleReadRequest::List { .. }, _) => Err(ServiceError::Unanswered),
        }
    }
}

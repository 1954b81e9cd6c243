//! The base of an endpoint: Bundles of requests, and plain lists of resources.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use fhir_store::bundle::{self, BundleError, BundleRequest, BundleType, EntriesByAction, EntryRequest, ReadRequest};
use fhir_store::limits::MAX_BUNDLE_ENTRIES;
use fhir_store::outcome::OperationOutcome;
use fhir_store::{
    AccessFilter, IfMatch, Precondition, ResourceId, ResourceKey, Write, WriteAccess, WriteError, WriteOperation,
    WriteOutcome,
};
use http::StatusCode;
use oauth_core::caller::CallerIdentity;
use serde_json::Value;

use super::{history, search};
use crate::asked::RequestQuery;
use crate::budget::RequestBudget;
use crate::call::ResourceRequest;
use crate::criteria::{self, CriteriaReader};
use crate::error::ApiError;
use crate::gate::{self, AccessCheck};
use crate::prefer::ReturnPreference;
use crate::save::{PatchRequest, PatchableResource, PlannedWrite};
use crate::searching::SearchScope;
use crate::state::App;
use crate::{answer, conditional_references, confine, guarded, remarks, save};

/// Executes a Bundle.
///
/// # Source
/// FHIR R4, `RESTful` API, batch/transaction.
pub(crate) async fn post(State(app): State<App>, mut call: ResourceRequest) -> Result<Response, ApiError> {
    let body = call.take_resource()?;
    let asked = RequestQuery::by_entries(&body);
    let request = read(&app, &call, body, &asked).await?;
    let answered = execute(&app, &call, request, &asked).await?;
    Ok(answer::json(StatusCode::OK, call.dialect, &answered))
}

/// Reads a Bundle, its conditions as those of requests of their own; `asked` is of its entries.
pub(crate) async fn read(
    app: &App,
    call: &ResourceRequest,
    body: Value,
    asked: &[RequestQuery],
) -> Result<BundleRequest, ApiError> {
    let asks = asked.iter().any(|asked| asked.query.is_some() || asked.condition.is_some());
    let criteria = if asks { CriteriaReader::of(app, call.dialect).await? } else { CriteriaReader::of_none(app) };
    Ok(bundle::read(body, &|kind, text| criteria.read(kind, text))?)
}

/// Returns the Bundle that answers a Bundle; `asked` is of its entries.
pub(crate) async fn execute(
    app: &App,
    call: &ResourceRequest,
    request: BundleRequest,
    asked: &[RequestQuery],
) -> Result<Value, ApiError> {
    match request.kind {
        BundleType::Batch => batch(app, call, request, asked).await,
        BundleType::Transaction => transaction(app, call, request, asked).await,
    }
}

/// Creates or replaces every resource of a list, in one transaction.
pub(crate) async fn put(State(app): State<App>, mut call: ResourceRequest) -> Result<Response, ApiError> {
    let Value::Array(resources) = call.take_resource()? else { return Err(ApiError::NotAList) };
    if resources.len() > MAX_BUNDLE_ENTRIES {
        return Err(ApiError::Bundle(BundleError::TooManyEntries));
    }
    let mut writes = Vec::with_capacity(resources.len());
    for (index, resource) in resources.into_iter().enumerate() {
        let key = key_in(&resource).ok_or(ApiError::Unnamed { index })?;
        writes.push((index, Write::to(key, WriteOperation::Put(resource))));
    }
    let mut budget = RequestBudget::new(app.settings.searches_time());
    conditional_references::resolve(&app, &call, &mut writes, &mut budget).await?;
    let mut planned = Vec::with_capacity(writes.len());
    for (index, write) in writes {
        let permitted = gate::permit_write(&app, &call, &AccessCheck::write(&write, &RequestQuery::NOTHING)).await;
        let reach = permitted.map_err(|fault| fault.at_entry(Some(index)))?;
        planned.push(PlannedWrite { write: Write { reach, ..write }, entry: Some(index) });
    }
    let written = save::all(&app, call.dialect, planned).await?;
    let (mut shown, mut remarks) = (Vec::with_capacity(written.len()), Vec::new());
    for written in &written {
        let of_one = remarks::of(&app, &call, written).await;
        shown.extend(answer::readable(&app, &call, written, &of_one).await);
        remarks.extend(of_one);
    }
    remarks.truncate(remarks::REMARKS_MAX);
    let mut response = answer::json(StatusCode::OK, call.dialect, &Value::Array(shown));
    remarks::append(response.headers_mut(), &remarks);
    Ok(response)
}

/// `resourceType` and `id` of a document.
fn key_in(resource: &Value) -> Option<ResourceKey> {
    let text = |name: &str| resource.get(name).and_then(Value::as_str);
    Some(ResourceKey { kind: text("resourceType")?.parse().ok()?, id: text("id")?.parse().ok()? })
}

/// Each entry on its own: one that fails, or that the caller may not do, is answered in its place.
async fn batch(
    app: &App,
    call: &ResourceRequest,
    request: BundleRequest,
    asked: &[RequestQuery],
) -> Result<Value, ApiError> {
    if matches!(call.caller.identity, CallerIdentity::Anonymous) {
        refuse_strangers(app, call, &request, asked).await?;
    }
    let mut budget = RequestBudget::new(app.settings.searches_time());
    let mut answers = Vec::with_capacity(request.entries.len());
    for (entry, asked) in request.entries.into_iter().zip(asked) {
        let answered = match entry {
            Ok(EntryRequest::Write(write)) => write_alone(app, call, write, asked, &mut budget).await,
            Ok(EntryRequest::Read(read)) => read_alone(app, call, &read, asked, &mut budget).await,
            Err(fault) => Err(ApiError::Entry(fault)),
        };
        let answered = answered.unwrap_or_else(ApiError::into_entry);
        budget.spend(&answered);
        answers.push(answered);
    }
    Ok(bundle::batch_response(answers))
}

/// Not specified; a batch without credentials, of which any entry needs them, is refused as a whole
/// with 401, because a client looks for that status to know that it has to authenticate.
async fn refuse_strangers(
    app: &App,
    call: &ResourceRequest,
    request: &BundleRequest,
    asked: &[RequestQuery],
) -> Result<(), ApiError> {
    for (entry, asked) in request.entries.iter().zip(asked) {
        match entry {
            Ok(EntryRequest::Write(write)) => {
                if let Err(refused @ ApiError::Denied { .. }) = permit_write(app, call, write, asked).await {
                    return Err(refused);
                }
            }
            Ok(EntryRequest::Read(read)) => {
                gate::permit(app, call, &AccessCheck::entry(read, asked)).await?;
            }
            Err(_) => {}
        }
    }
    Ok(())
}

async fn write_alone(
    app: &App,
    call: &ResourceRequest,
    write: Write,
    asked: &RequestQuery,
    budget: &mut RequestBudget,
) -> Result<Value, ApiError> {
    let write = conditional_references::resolved(app, call, write, budget).await?;
    let searches = write.precondition.if_none_exist.is_some();
    let writing = async {
        let write = criteria::expanded(app, write).await?;
        let permit = permit_write(app, call, &write, asked).await?;
        save::one(app, call.dialect, permit.apply(write)).await
    };
    let written = if searches { budget.write(writing).await? } else { writing.await? };
    Ok(written_entry(app, call, &written, budget).await)
}

async fn read_alone(
    app: &App,
    call: &ResourceRequest,
    read: &ReadRequest,
    asked: &RequestQuery,
    budget: &mut RequestBudget,
) -> Result<Value, ApiError> {
    let ready = Ready::of(app, call, read, asked).await?;
    budget.check()?;
    ready.answer_within(app, call, budget).await
}

/// All or none; reads see what the writes did, whatever their place.
async fn transaction(
    app: &App,
    call: &ResourceRequest,
    request: BundleRequest,
    asked: &[RequestQuery],
) -> Result<Value, ApiError> {
    let EntriesByAction { mut writes, reads, faults } = request.into_entries();
    if let Some(fault) = faults.into_iter().next() {
        return Err(ApiError::Entry(fault));
    }
    let asked_at = |index: usize| asked.get(index).unwrap_or(&RequestQuery::NOTHING);
    let mut budget = RequestBudget::new(app.settings.searches_time());
    conditional_references::resolve(app, call, &mut writes, &mut budget).await?;
    let planned = plan(app, call, (writes, &asked_at), &mut budget).await?;
    let mut ready = Vec::with_capacity(reads.len());
    for (index, read) in &reads {
        let permitted = Ready::of(app, call, read, asked_at(*index)).await;
        ready.push(permitted.map_err(|fault| fault.at_entry(Some(*index)))?);
    }
    let places: Vec<Option<usize>> = planned.iter().map(|planned| planned.entry).collect();
    let written = save::all(app, call.dialect, planned).await?;

    let mut answers: BTreeMap<usize, Value> = BTreeMap::new();
    for (place, written) in places.into_iter().flatten().zip(&written) {
        let answered = written_entry(app, call, written, &budget).await;
        budget.spend(&answered);
        answers.insert(place, answered);
    }
    for ((index, _), ready) in reads.iter().zip(ready) {
        // What a read finds missing does not undo what is committed by now.
        let answered = match budget.check() {
            Ok(()) => ready.answer_within(app, call, &mut budget).await,
            Err(spent) => Err(spent),
        };
        let answered = answered.unwrap_or_else(ApiError::into_entry);
        budget.spend(&answered);
        answers.insert(*index, answered);
    }
    Ok(bundle::transaction_response(answers.into_values().collect()))
}

/// Returns the writes of a transaction, as far as the caller may do them.
async fn plan<'a>(
    app: &App,
    call: &ResourceRequest,
    (writes, asked_at): (Vec<(usize, Write)>, &impl Fn(usize) -> &'a RequestQuery),
    budget: &mut RequestBudget,
) -> Result<Vec<PlannedWrite>, ApiError> {
    let mut planned = Vec::with_capacity(writes.len());
    for (index, write) in writes {
        let entry = Some(index);
        let searches = write.precondition.if_none_exist.is_some();
        let planning = async {
            let write = criteria::expanded(app, write).await?;
            let permit = permit_write(app, call, &write, asked_at(index)).await?;
            Ok(permit.apply(write))
        };
        let write = if searches { budget.search(planning).await } else { planning.await };
        planned.push(PlannedWrite { write: write.map_err(|fault: ApiError| fault.at_entry(entry))?, entry });
    }
    Ok(planned)
}

/// A write that the caller may do, and on what.
struct Permit {
    reach: WriteAccess,
    pin: Option<Pin>,
}

/// What a write was judged on, and so the only thing it may be applied to.
struct Pin {
    id: ResourceId,
    version: i64,
}

impl Permit {
    /// Returns the write, held to what was permitted.
    fn apply(self, write: Write) -> Write {
        let write = Write { reach: self.reach, ..write };
        let Some(Pin { id, version }) = self.pin else { return write };
        let if_none_match = write.precondition.if_none_match;
        let precondition =
            Precondition { if_match: Some(IfMatch::Version(version)), if_none_match, if_none_exist: None };
        Write { id: Some(id), precondition, ..write }
    }
}

/// Returns whether the caller may do a write. A patch is judged by what it makes, so it may be applied to nothing else
/// than what it was judged on: neither to a version the caller guessed nor to another resource that meets its condition
/// by then.
async fn permit_write(
    app: &App,
    call: &ResourceRequest,
    write: &Write,
    asked: &RequestQuery,
) -> Result<Permit, ApiError> {
    let act = AccessCheck::write(write, asked);
    let whole = guarded::is_ruled(&write.kind) || matches!(call.caller.identity, CallerIdentity::Root);
    let change = match &write.operation {
        // Patches of ruled types are refused in any Bundle, and nobody judges the administrator.
        WriteOperation::Patch(change) if !whole => change,
        _ => return Ok(Permit { reach: gate::permit_write(app, call, &act).await?, pin: None }),
    };
    let key = match &write.id {
        Some(id) => ResourceKey { kind: write.kind.clone(), id: id.clone() },
        None => save::found_target(app, call, write, asked).await?,
    };
    let PatchableResource { stored, within } =
        save::permit_patch(app, call, &act, PatchRequest { key: &key, change }).await?;
    match write.precondition.if_match {
        Some(IfMatch::Version(asked_for)) if asked_for != stored.version => {
            let cause = WriteError::VersionMismatch { key, current: Some(stored.version) };
            Err(ApiError::Refused { cause, entry: None })
        }
        _ => {
            let reach = WriteAccess { target: within, ..WriteAccess::default() };
            Ok(Permit { reach, pin: Some(Pin { id: key.id, version: stored.version }) })
        }
    }
}

/// Once the answer is full, what was written is told without its content.
async fn written_entry(app: &App, call: &ResourceRequest, written: &WriteOutcome, budget: &RequestBudget) -> Value {
    let remarks = remarks::of(app, call, written).await;
    let shown = match budget.check() {
        Ok(()) => answer::readable(app, call, written, &remarks).await,
        Err(_) => None,
    };
    match (ReturnPreference::of(&call.headers), shown) {
        (ReturnPreference::OperationOutcome, Some(told)) => with_outcome(bundle::written_entry(written, None), told),
        (_, shown) if remarks.is_empty() => bundle::written_entry(written, shown),
        (_, shown) => {
            let outcome = OperationOutcome::of(remarks::issues(remarks).collect()).to_value();
            with_outcome(bundle::written_entry(written, shown), outcome)
        }
    }
}

fn with_outcome(mut entry: Value, outcome: Value) -> Value {
    if let Some(response) = entry.get_mut("response").and_then(Value::as_object_mut) {
        response.insert("outcome".to_owned(), outcome);
    }
    entry
}

/// A read that was understood and permitted, to be answered when its turn comes.
enum Ready<'a> {
    Read(&'a ReadRequest, AccessFilter),
    List(search::PreparedRead<'a>),
}

impl<'a> Ready<'a> {
    async fn of(
        app: &App,
        call: &ResourceRequest,
        read: &'a ReadRequest,
        asked: &RequestQuery,
    ) -> Result<Self, ApiError> {
        match read {
            ReadRequest::List { kind, parameters } => {
                search::prepare(app, call, SearchScope::of_type(kind), (parameters, asked)).await.map(Self::List)
            }
            _ => Ok(Self::Read(read, gate::permit(app, call, &AccessCheck::entry(read, asked)).await?)),
        }
    }

    /// Returns the answer, for a search as far as there is time for it.
    async fn answer_within(
        self,
        app: &App,
        call: &ResourceRequest,
        budget: &mut RequestBudget,
    ) -> Result<Value, ApiError> {
        match self {
            Self::List(_) => budget.search(self.answer(app, call)).await,
            Self::Read(..) => self.answer(app, call).await,
        }
    }

    async fn answer(self, app: &App, call: &ResourceRequest) -> Result<Value, ApiError> {
        match self {
            Self::List(prepared) => {
                let found = search::answer(app, call, prepared).await?;
                Ok(bundle::read_entry(None, serde_json::from_slice(&found).map_err(ApiError::Unwritable)?))
            }
            Self::Read(ReadRequest::One(key), within) => {
                let stored = confine::current(app, key, &within).await?;
                Ok(bundle::read_entry(Some(&stored), answer::shown(app, call.dialect, &stored)))
            }
            Self::Read(ReadRequest::Version(key, number), within) => {
                let stored = confine::version(app, (key, *number), &within).await?;
                Ok(bundle::read_entry(Some(&stored), answer::shown(app, call.dialect, &stored)))
            }
            Self::Read(ReadRequest::History { kind, id, window }, within) => {
                let told = history::entry(app, call, (kind, id.as_ref()), (*window, within)).await?;
                Ok(bundle::read_entry(None, told))
            }
            Self::Read(ReadRequest::List { .. }, _) => Err(ApiError::Unanswered),
        }
    }
}

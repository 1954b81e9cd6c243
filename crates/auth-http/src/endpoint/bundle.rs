//! The base of an endpoint: Bundles of requests, and plain lists of resources.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use fhir_store::bundle::{self, BundleKind, BundleRequest, Entries, EntryRequest, ReadRequest};
use fhir_store::{Operation, ResourceKey, Write, Written};
use http::StatusCode;
use oauth_core::caller::Identity;
use serde_json::Value;

use super::list;
use crate::call::Call;
use crate::error::Fault;
use crate::gate::{self, Act};
use crate::save::Planned;
use crate::state::App;
use crate::{answer, guarded, save};

/// Executes a Bundle.
///
/// # Source
/// FHIR R4, `RESTful` API, batch/transaction.
pub(crate) async fn post(State(app): State<App>, call: Call) -> Result<Response, Fault> {
    let request = bundle::read(call.resource()?)?;
    let answered = match request.kind {
        BundleKind::Batch => batch(&app, &call, request).await?,
        BundleKind::Transaction => transaction(&app, &call, request).await?,
    };
    Ok(answer::json(StatusCode::OK, call.dialect, &answered))
}

/// Creates or replaces every resource of a list, in one transaction.
pub(crate) async fn put(State(app): State<App>, call: Call) -> Result<Response, Fault> {
    let Value::Array(resources) = call.resource()? else { return Err(Fault::NotAList) };
    let mut planned = Vec::with_capacity(resources.len());
    for (index, resource) in resources.into_iter().enumerate() {
        let key = key_in(&resource).ok_or(Fault::Unnamed { index })?;
        let write = Write::to(key, Operation::Put(resource));
        permit(&app, &call, &Act::write(&write), Some(index)).await?;
        planned.push(Planned { write, entry: Some(index) });
    }
    let written = save::all(&app, call.dialect, planned).await?;
    let shown = written.iter().filter_map(Written::stored).map(|stored| answer::shown(&app, call.dialect, stored));
    Ok(answer::json(StatusCode::OK, call.dialect, &shown.collect()))
}

/// `resourceType` and `id` of a document.
fn key_in(resource: &Value) -> Option<ResourceKey> {
    let text = |name: &str| resource.get(name).and_then(Value::as_str);
    Some(ResourceKey { kind: text("resourceType")?.parse().ok()?, id: text("id")?.parse().ok()? })
}

/// Each entry on its own: one that fails, or that the caller may not do, is answered in its place.
async fn batch(app: &App, call: &Call, request: BundleRequest) -> Result<Value, Fault> {
    if matches!(call.caller.identity, Identity::Anonymous) {
        refuse_strangers(app, call, &request).await?;
    }
    let mut answers = Vec::with_capacity(request.entries.len());
    for entry in request.entries {
        let answered = match entry {
            Ok(EntryRequest::Write(write)) => write_alone(app, call, write).await,
            Ok(EntryRequest::Read(read)) => read_alone(app, call, &read).await,
            Err(fault) => Err(Fault::Entry(fault)),
        };
        answers.push(answered.unwrap_or_else(Fault::into_entry));
    }
    Ok(bundle::batch_response(answers))
}

/// Not specified; a batch without credentials, of which any entry needs them, is refused as a whole
/// with 401, because a client looks for that status to know that it has to authenticate.
async fn refuse_strangers(app: &App, call: &Call, request: &BundleRequest) -> Result<(), Fault> {
    for entry in request.entries.iter().flatten() {
        let act = match entry {
            EntryRequest::Write(write) => Act::write(write),
            EntryRequest::Read(read) => Act::entry(read),
        };
        permit(app, call, &act, None).await?;
    }
    Ok(())
}

async fn write_alone(app: &App, call: &Call, write: Write) -> Result<Value, Fault> {
    permit(app, call, &Act::write(&write), None).await?;
    let written = save::one(app, call.dialect, write).await?;
    Ok(written_entry(app, call, &written))
}

async fn read_alone(app: &App, call: &Call, read: &ReadRequest) -> Result<Value, Fault> {
    permit(app, call, &Act::entry(read), None).await?;
    read_entry(app, call, read).await
}

/// All or none; reads see what the writes did, whatever their place.
async fn transaction(app: &App, call: &Call, request: BundleRequest) -> Result<Value, Fault> {
    let Entries { writes, reads, faults } = request.into_entries();
    if let Some(fault) = faults.into_iter().next() {
        return Err(Fault::Entry(fault));
    }
    for (index, write) in &writes {
        permit(app, call, &Act::write(write), Some(*index)).await?;
    }
    for (index, read) in &reads {
        permit(app, call, &Act::entry(read), Some(*index)).await?;
    }
    let places: Vec<usize> = writes.iter().map(|(index, _)| *index).collect();
    let planned = writes.into_iter().map(|(index, write)| Planned { write, entry: Some(index) });
    let written = save::all(app, call.dialect, planned.collect()).await?;

    let mut answers: BTreeMap<usize, Value> = BTreeMap::new();
    answers.extend(places.into_iter().zip(written.iter().map(|written| written_entry(app, call, written))));
    for (index, read) in &reads {
        // What a read finds missing does not undo what is committed by now.
        let answered = read_entry(app, call, read).await.unwrap_or_else(Fault::into_entry);
        answers.insert(*index, answered);
    }
    Ok(bundle::transaction_response(answers.into_values().collect()))
}

async fn permit(app: &App, call: &Call, act: &Act<'_>, entry: Option<usize>) -> Result<(), Fault> {
    match gate::permit(app, call, act).await {
        Ok(_) => Ok(()),
        Err(cause) => Err(Fault::Denied { cause, entry }),
    }
}

fn written_entry(app: &App, call: &Call, written: &Written) -> Value {
    let shown = written.stored().map(|stored| answer::shown(app, call.dialect, stored));
    bundle::written_entry(written, shown)
}

async fn read_entry(app: &App, call: &Call, read: &ReadRequest) -> Result<Value, Fault> {
    match read {
        ReadRequest::One(key) => {
            let stored = save::current(app, key).await?;
            Ok(bundle::read_entry(Some(&stored), answer::shown(app, call.dialect, &stored)))
        }
        ReadRequest::List(query) => {
            guarded::check_filters(&query.kind, &query.filters)?;
            let page = app.resources.list(query).await?;
            Ok(bundle::read_entry(None, list::searchset(app, call.dialect, query, &page, &[])))
        }
    }
}

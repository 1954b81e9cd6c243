//! `/{type}/{id}`, and `/{type}?condition` where the condition finds the id.

use axum::extract::State;
use axum::response::Response;
use fhir_store::{Operation, Write};

use crate::address::{Kind, Target};
use crate::call::Call;
use crate::error::Fault;
use crate::gate::{self, Act};
use crate::state::App;
use crate::{answer, save};

/// Reads a resource.
pub(crate) async fn get(State(app): State<App>, Target(key): Target, call: Call) -> Result<Response, Fault> {
    gate::permit(&app, &call, &Act::read(&key)).await?;
    let stored = save::current(&app, &key).await?;
    Ok(answer::found(&app, &call, &stored))
}

/// Creates or replaces a resource.
pub(crate) async fn put(State(app): State<App>, Target(key): Target, call: Call) -> Result<Response, Fault> {
    let precondition = call.precondition()?;
    let write = Write { precondition, ..Write::to(key, Operation::Put(call.resource()?)) };
    write_one(&app, &call, write).await
}

/// Changes a resource.
pub(crate) async fn patch(State(app): State<App>, Target(key): Target, call: Call) -> Result<Response, Fault> {
    let act = Write::to(key.clone(), Operation::Patch(call.patch(call.resource()?)?));
    gate::permit(&app, &call, &Act::write(&act)).await?;
    let written = save::patched(&app, &call, &key).await?;
    Ok(answer::written(&app, &call, &written))
}

/// Removes a resource.
pub(crate) async fn delete(State(app): State<App>, Target(key): Target, call: Call) -> Result<Response, Fault> {
    let mut write = Write::to(key, Operation::Delete);
    write.precondition.if_match = call.if_match()?;
    write_one(&app, &call, write).await
}

/// Creates a resource; an id in the body is honoured.
pub(crate) async fn post(State(app): State<App>, Kind(kind): Kind, call: Call) -> Result<Response, Fault> {
    let precondition = call.precondition()?;
    let operation = Operation::Create(call.resource()?);
    write_one(&app, &call, Write { kind, id: None, operation, precondition, full_url: None }).await
}

/// Creates or replaces the resource the query finds.
pub(crate) async fn put_found(State(app): State<App>, Kind(kind): Kind, call: Call) -> Result<Response, Fault> {
    let precondition = call.search()?;
    let operation = Operation::Put(call.resource()?);
    write_one(&app, &call, Write { kind, id: None, operation, precondition, full_url: None }).await
}

/// Changes the resource the query finds.
pub(crate) async fn patch_found(State(app): State<App>, Kind(kind): Kind, call: Call) -> Result<Response, Fault> {
    let precondition = call.search()?;
    let operation = Operation::Patch(call.patch(call.resource()?)?);
    let act = Write { kind, id: None, operation, precondition, full_url: None };
    gate::permit(&app, &call, &Act::write(&act)).await?;
    let key = save::target(&app, &act.kind, act.precondition).await?;
    let written = save::patched(&app, &call, &key).await?;
    Ok(answer::written(&app, &call, &written))
}

/// Removes the resource the query finds.
pub(crate) async fn delete_found(State(app): State<App>, Kind(kind): Kind, call: Call) -> Result<Response, Fault> {
    let precondition = call.search()?;
    write_one(&app, &call, Write { kind, id: None, operation: Operation::Delete, precondition, full_url: None }).await
}

async fn write_one(app: &App, call: &Call, write: Write) -> Result<Response, Fault> {
    gate::permit(app, call, &Act::write(&write)).await?;
    let written = save::one(app, call.dialect, write).await?;
    Ok(answer::written(app, call, &written))
}

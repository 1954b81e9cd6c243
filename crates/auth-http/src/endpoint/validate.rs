//! `/fhir/{type}/$validate` and `/fhir/{type}/{id}/$validate`: whether a write would be taken, and everything that
//! is wrong with it. Nothing is written.
//!
//! # Source
//! FHIR R4, Resource, Operation `$validate`. The answer is 200 whatever is found; who may not do what is asked
//! about is refused like for the write itself.

use axum::extract::State;
use axum::response::Response;
use fhir_store::outcome::Outcome;
use fhir_store::{Operation, ResourceKey, Write};
use http::StatusCode;
use serde_json::Value;

use crate::address::{Kind, Target};
use crate::asked::Asked;
use crate::call::Call;
use crate::error::Fault;
use crate::gate::{self, Act};
use crate::state::App;
use crate::surface::Dialect;
use crate::validation::{self, Mode, Question, ValidateFault};
use crate::{answer, confine};

/// Judges a document as a new resource, or as another version of the one it names.
pub(crate) async fn of_type(State(app): State<App>, Kind(kind): Kind, mut call: Call) -> Result<Response, Fault> {
    let question = Question::read(&kind, &mut call)?;
    let resource = question.resource.ok_or(ValidateFault::NoResource)?;
    let operation = match question.mode.unwrap_or(Mode::Create) {
        Mode::Create => Operation::Create(resource),
        Mode::Update => Operation::Put(resource),
        Mode::Delete | Mode::Profile => return Err(ValidateFault::NoInstance.into()),
    };
    let id = fhir_store::shape::id_of(&kind, document(&operation)).ok().flatten();
    let write = Write { id, ..Write::by_condition(kind, operation, fhir_store::Precondition::default()) };
    judged(&app, &call, write, &question.profiles).await
}

/// Judges a document as another version of the resource, the deletion of it, or the resource as it is stored.
pub(crate) async fn of_id(State(app): State<App>, Target(key): Target, mut call: Call) -> Result<Response, Fault> {
    let question = Question::read(&key.kind, &mut call)?;
    let operation = match (question.mode.unwrap_or(Mode::Update), question.resource) {
        (Mode::Create, _) => return Err(ValidateFault::Instance.into()),
        (Mode::Update, Some(resource)) => Operation::Put(resource),
        (Mode::Update, None) => return Err(ValidateFault::NoResource.into()),
        (Mode::Delete, _) => return deletion(&app, &call, key).await,
        (Mode::Profile, _) => return stored(&app, &call, &key, &question.profiles).await,
    };
    judged(&app, &call, Write::to(key, operation), &question.profiles).await
}

fn document(operation: &Operation) -> &Value {
    match operation {
        Operation::Create(document) | Operation::Put(document) => document,
        Operation::Patch(_) | Operation::Delete => &Value::Null,
    }
}

async fn judged(app: &App, call: &Call, write: Write, profiles: &[String]) -> Result<Response, Fault> {
    gate::permit_write(app, call, &Act::write(&write, &Asked::NOTHING)).await?;
    let mut issues = validation::of_profiles(app, &write.kind, document(&write.operation), profiles).await?;
    issues.splice(0..0, validation::of_write(app, write).await?);
    Ok(told(issues))
}

async fn deletion(app: &App, call: &Call, key: ResourceKey) -> Result<Response, Fault> {
    let write = Write::to(key.clone(), Operation::Delete);
    let reach = gate::permit_write(app, call, &Act::write(&write, &Asked::NOTHING)).await?;
    confine::current(app, &key, &reach.target).await?;
    Ok(told(Vec::new()))
}

async fn stored(app: &App, call: &Call, key: &ResourceKey, profiles: &[String]) -> Result<Response, Fault> {
    let within = gate::permit(app, call, &Act::read(key, &Asked::NOTHING)).await?;
    let stored = confine::current(app, key, &within).await?;
    let document = answer::shown(app, Dialect::Fhir, &stored);
    let mut issues = validation::of_document(&key.kind, &document);
    issues.extend(validation::of_profiles(app, &key.kind, &document, profiles).await?);
    Ok(told(issues))
}

fn told(mut issues: Vec<fhir_store::outcome::Issue>) -> Response {
    if issues.is_empty() {
        issues.push(validation::information("informational", "nothing is wrong with it"));
    }
    answer::json(StatusCode::OK, Dialect::Fhir, &Outcome::of(issues).to_value())
}

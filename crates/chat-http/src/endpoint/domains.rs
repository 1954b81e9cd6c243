//! `/realm/domains`: the domains of mail that belong to the realm.

use axum::Router;
use axum::routing::{get, patch};
use chat_core::change::Commit;
use chat_core::domains::{self, DomainError};
use chat_core::snapshot::RealmSnapshot;
use chat_core::user::User;
use serde_json::json;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{Json, ParamFault, Params, Reader, Text};
use crate::router::ApiRoutes;
use crate::state::App;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .api("/realm/domains", get(endpoint(list)).post(endpoint(add)))
        .api("/realm/domains/{domain}", patch(endpoint(change)).delete(endpoint(remove)))
}

/// All domains, in the order they were added.
async fn list(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    Answer::of(&json!({"domains": domains::list(&call.who.realm)}))
}

/// A domain to be added.
struct Addition {
    domain: String,
    allow_subdomains: bool,
}

impl Params for Addition {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            domain: given.required::<Text>("domain")?,
            allow_subdomains: given.or::<Json<bool>>("allow_subdomains", false)?,
        })
    }
}

/// Adds a domain. The answer is its number and how it is written.
async fn add(call: Call<Caller>, new: Addition) -> Result<Answer, Fault> {
    let wish = (new.domain.as_str(), new.allow_subdomains);
    let added = decide(&call, |realm, caller, commit| domains::add(realm, caller, wish, commit)).await?;
    Answer::of(&json!({"new_domain": added}))
}

/// What shall be different.
struct Change {
    allow_subdomains: bool,
}

impl Params for Change {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self { allow_subdomains: given.required::<Json<bool>>("allow_subdomains")? })
    }
}

/// Says whether a domain includes those below it.
async fn change(call: Call<Caller>, wish: Change) -> Result<Answer, Fault> {
    let wish = (call.path_text("domain")?, wish.allow_subdomains);
    decide(&call, |realm, caller, commit| domains::change(realm, caller, wish, commit)).await?;
    Ok(Answer::empty())
}

/// Takes a domain away.
async fn remove(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let domain = call.path_text("domain")?;
    decide(&call, |realm, caller, commit| domains::remove(realm, caller, domain, commit)).await?;
    Ok(Answer::empty())
}

/// Takes a decision about domains as the caller.
async fn decide<T>(
    call: &Call<Caller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut Commit) -> Result<T, DomainError> + Send + Sync,
) -> Result<T, Fault> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.who.again(realm)?, commit)?)).await
}

//! `/realm/domains`: the domains of mail that belong to the realm.

use chat_core::log::commit::RealmCommit;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::organization::domains::{self, DomainError};
use serde_json::json;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{Json, ParamFault, Params, Reader, Text};
use crate::routes::{Routes, get, nothing, patch};
use crate::schema::{Member, Schema, has};

pub(crate) fn routes() -> Routes {
    const DOMAIN: (&str, &str) = ("domain", "The name of the domain.");
    let all = get(endpoint(list).says("List the domains of the realm.", listed))
        .post(endpoint(add).says("Add a domain to the realm.", added));
    let one = patch(endpoint(change).says("Say whether a domain includes those below it.", nothing).by(&[DOMAIN]))
        .delete(endpoint(remove).says("Take a domain away from the realm.", nothing).by(&[DOMAIN]));
    Routes::of("organization").api("/realm/domains", all).api("/realm/domains/{domain}", one)
}

/// All domains, in the order they were added.
async fn list(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    Answer::of(&json!({"domains": domains::list(&call.who.realm)}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    let domain = Schema::object([has("domain", Schema::string()), has("allow_subdomains", Schema::boolean())]);
    vec![has("domains", Schema::list(domain))]
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

/// Returns the members of the response.
fn added() -> Vec<Member> {
    let number_and_name = Schema::list(Schema::any_of([Schema::integer(), Schema::string()]));
    vec![has("new_domain", number_and_name.with("minItems", 2).with("maxItems", 2))]
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
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<T, DomainError> + Send + Sync,
) -> Result<T, Fault> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.who.again(realm)?, commit)?)).await
}

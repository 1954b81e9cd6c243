//! `/realm/domains`: the domains of mail that belong to the realm.

use chat_core::log::commit::RealmCommit;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::organization::domains::{self, DomainError};
use serde_json::json;

use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{Json, ParamError, ParamReader, Params, TextParam};
use crate::response::ApiResponse;
use crate::routes::{Routes, get, no_members, patch};
use crate::schema::{Member, Schema, has};

pub(crate) fn routes() -> Routes {
    const DOMAIN: (&str, &str) = ("domain", "The name of the domain.");
    let all = get(endpoint(list).documented("List the domains of the realm.", listed))
        .post(endpoint(add).documented("Add a domain to the realm.", added));
    let one =
        patch(endpoint(change).documented("Say whether a domain includes those below it.", no_members).by(&[DOMAIN]))
            .delete(endpoint(remove).documented("Take a domain away from the realm.", no_members).by(&[DOMAIN]));
    Routes::of("organization").api("/realm/domains", all).api("/realm/domains/{domain}", one)
}

/// All domains, in the order they were added.
async fn list(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    ApiResponse::from_payload(&json!({"domains": domains::list(&call.caller.realm)}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    let domain = Schema::object([has("domain", Schema::string()), has("allow_subdomains", Schema::boolean())]);
    vec![has("domains", Schema::list(domain))]
}

/// The parameters of `POST /realm/domains`.
struct AddDomainParams {
    domain: String,
    allow_subdomains: bool,
}

impl Params for AddDomainParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            domain: reader.required::<TextParam>("domain")?,
            allow_subdomains: reader.or::<Json<bool>>("allow_subdomains", false)?,
        })
    }
}

/// Adds a domain. The answer is its number and how it is written.
async fn add(call: ApiCall<Caller>, new: AddDomainParams) -> Result<ApiResponse, ApiError> {
    let domain = (new.domain.as_str(), new.allow_subdomains);
    let added = decide(&call, |realm, caller, commit| domains::add(realm, caller, domain, commit)).await?;
    ApiResponse::from_payload(&json!({"new_domain": added}))
}

/// Returns the members of the response.
fn added() -> Vec<Member> {
    let number_and_name = Schema::list(Schema::any_of([Schema::integer(), Schema::string()]));
    vec![has("new_domain", number_and_name.with("minItems", 2).with("maxItems", 2))]
}

/// The parameters of `PATCH /realm/domains/{domain}`.
struct UpdateDomainParams {
    allow_subdomains: bool,
}

impl Params for UpdateDomainParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { allow_subdomains: reader.required::<Json<bool>>("allow_subdomains")? })
    }
}

/// Says whether a domain includes those below it.
async fn change(call: ApiCall<Caller>, params: UpdateDomainParams) -> Result<ApiResponse, ApiError> {
    let domain = (call.path_text("domain")?, params.allow_subdomains);
    decide(&call, |realm, caller, commit| domains::change(realm, caller, domain, commit)).await?;
    Ok(ApiResponse::empty())
}

/// Takes a domain away.
async fn remove(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let domain = call.path_text("domain")?;
    decide(&call, |realm, caller, commit| domains::remove(realm, caller, domain, commit)).await?;
    Ok(ApiResponse::empty())
}

/// Takes a decision about domains as the caller.
async fn decide<T>(
    call: &ApiCall<Caller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<T, DomainError> + Send + Sync,
) -> Result<T, ApiError> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.caller.account_in(realm)?, commit)?)).await
}

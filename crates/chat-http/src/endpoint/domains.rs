//! `/realm/domains`: the domains of mail that belong to the realm.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::organization::email_domains::{self, RealmDomainError};
use serde_json::json;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, TextParam};
use crate::routes::{Routes, get, no_members, patch};

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
async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    ApiResponsePayload::from_payload(&json!({"domains": email_domains::list_realm_domains(&call.caller.realm)}))
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    let domain = JsonSchema::object([
        required_schema_member("domain", JsonSchema::string()),
        required_schema_member("allow_subdomains", JsonSchema::boolean()),
    ]);
    vec![required_schema_member("domains", JsonSchema::list(domain))]
}

/// The parameters of `POST /realm/domains`.
struct AddDomainParams {
    domain: String,
    allow_subdomains: bool,
}

impl EndpointParams for AddDomainParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            domain: reader.required::<TextParam>("domain")?,
            allow_subdomains: reader.optional_or::<JsonParam<bool>>("allow_subdomains", false)?,
        })
    }
}

/// Adds a domain. The answer is its number and how it is written.
async fn add(call: ApiCall<AuthenticatedCaller>, new: AddDomainParams) -> Result<ApiResponsePayload, ApiError> {
    let domain = (new.domain.as_str(), new.allow_subdomains);
    let added =
        decide(&call, |realm, caller, commit| email_domains::add_realm_domain(realm, caller, domain, commit)).await?;
    ApiResponsePayload::from_payload(&json!({"new_domain": added}))
}

/// Returns the members of the response.
fn added() -> Vec<SchemaMember> {
    let number_and_name = JsonSchema::list(JsonSchema::any_of([JsonSchema::integer(), JsonSchema::string()]));
    vec![required_schema_member("new_domain", number_and_name.with_keyword("minItems", 2).with_keyword("maxItems", 2))]
}

/// The parameters of `PATCH /realm/domains/{domain}`.
struct UpdateDomainParams {
    allow_subdomains: bool,
}

impl EndpointParams for UpdateDomainParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { allow_subdomains: reader.required::<JsonParam<bool>>("allow_subdomains")? })
    }
}

/// Says whether a domain includes those below it.
async fn change(
    call: ApiCall<AuthenticatedCaller>,
    params: UpdateDomainParams,
) -> Result<ApiResponsePayload, ApiError> {
    let domain = (call.path_text("domain")?, params.allow_subdomains);
    decide(&call, |realm, caller, commit| email_domains::update_realm_domain(realm, caller, domain, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

/// Takes a domain away.
async fn remove(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let domain = call.path_text("domain")?;
    decide(&call, |realm, caller, commit| email_domains::remove_realm_domain(realm, caller, domain, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

/// Takes a decision about domains as the caller.
async fn decide<T>(
    call: &ApiCall<AuthenticatedCaller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<T, RealmDomainError> + Send + Sync,
) -> Result<T, ApiError> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.caller.account_in_realm(realm)?, commit)?)).await
}

//! `/realm/linkifiers` and `/realm/filters`: patterns that become links.

use chat_core::log::commit::RealmCommit;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::organization::linkifiers::{self, LinkifierRequest, LinkifiersError};
use chat_core::wire::item;
use serde_json::json;

use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{Json, ParamError, ParamReader, Params, TextParam};
use crate::response::ApiResponse;
use crate::routes::{Routes, get, no_members, patch, post};
use crate::schema::{Member, Schema, has};

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).documented("List the linkifiers, in the order in which they apply.", listed))
        .patch(endpoint(put_in_order).documented("Put the linkifiers into another order.", no_members));
    let add = endpoint(add).documented("Add a linkifier.", || vec![has("id", Schema::integer())]);
    let one = patch(endpoint(update).documented("Change a linkifier.", no_members))
        .delete(endpoint(remove).documented("Remove a linkifier.", no_members));
    Routes::of("organization")
        .api("/realm/linkifiers", all)
        .api("/realm/filters", post(add))
        .api("/realm/filters/{filter_id}", one)
}

/// Takes a decision as the caller.
async fn decide<T>(
    call: &ApiCall<Caller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<T, LinkifiersError> + Send + Sync,
) -> Result<T, ApiError> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.caller.account_in(realm)?, commit)?)).await
}

/// Returns the linkifiers in the order in which they apply.
async fn list(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    ApiResponse::from_payload(&json!({"linkifiers": item::linkifiers(&call.caller.realm)}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("linkifiers", Schema::list(Schema::named("Linkifier")))]
}

/// The parameters that describe a linkifier.
struct LinkifierParams {
    pattern: String,
    url_template: String,
}

impl Params for LinkifierParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            pattern: reader.required::<TextParam>("pattern")?,
            url_template: reader.required::<TextParam>("url_template")?,
        })
    }
}

impl LinkifierParams {
    fn request(&self) -> LinkifierRequest<'_> {
        LinkifierRequest { pattern: &self.pattern, url_template: &self.url_template }
    }
}

/// Adds a linkifier.
async fn add(call: ApiCall<Caller>, params: LinkifierParams) -> Result<ApiResponse, ApiError> {
    let id = decide(&call, |realm, caller, commit| linkifiers::add(realm, caller, params.request(), commit)).await?;
    ApiResponse::from_payload(&json!({"id": id}))
}

/// Changes a linkifier.
async fn update(call: ApiCall<Caller>, params: LinkifierParams) -> Result<ApiResponse, ApiError> {
    let id = call.path_id("filter_id")?;
    decide(&call, |realm, caller, commit| linkifiers::update(realm, caller, (id, params.request()), commit)).await?;
    Ok(ApiResponse::empty())
}

/// Removes a linkifier.
async fn remove(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let id = call.path_id("filter_id")?;
    decide(&call, |realm, caller, commit| linkifiers::remove(realm, caller, id, commit)).await?;
    Ok(ApiResponse::empty())
}

/// The parameters of `PATCH /realm/linkifiers`: the order in which linkifiers apply.
struct LinkifierOrderParams(Vec<i64>);

impl Params for LinkifierOrderParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self(reader.required::<Json<Vec<i64>>>("ordered_linkifier_ids")?))
    }
}

/// Puts the linkifiers into another order.
async fn put_in_order(
    call: ApiCall<Caller>,
    LinkifierOrderParams(ids): LinkifierOrderParams,
) -> Result<ApiResponse, ApiError> {
    decide(&call, |realm, caller, commit| linkifiers::put_in_order(realm, caller, &ids, commit)).await?;
    Ok(ApiResponse::empty())
}

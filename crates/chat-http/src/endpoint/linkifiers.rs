//! `/realm/linkifiers` and `/realm/filters`: patterns that become links.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::organization::linkifiers::{self, LinkifierRequest, RealmLinkifierError};
use chat_core::wire_format::realm_and_user_items;
use serde_json::json;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, TextParam};
use crate::routes::{Routes, get, no_members, patch, post};

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).documented("List the linkifiers, in the order in which they apply.", listed))
        .patch(endpoint(put_in_order).documented("Put the linkifiers into another order.", no_members));
    let add =
        endpoint(add).documented("Add a linkifier.", || vec![required_schema_member("id", JsonSchema::integer())]);
    let one = patch(endpoint(update).documented("Change a linkifier.", no_members))
        .delete(endpoint(remove).documented("Remove a linkifier.", no_members));
    Routes::of("organization")
        .api("/realm/linkifiers", all)
        .api("/realm/filters", post(add))
        .api("/realm/filters/{filter_id}", one)
}

/// Takes a decision as the caller.
async fn decide<T>(
    call: &ApiCall<AuthenticatedCaller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<T, RealmLinkifierError> + Send + Sync,
) -> Result<T, ApiError> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.caller.account_in_realm(realm)?, commit)?)).await
}

/// Returns the linkifiers in the order in which they apply.
async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    ApiResponsePayload::from_payload(
        &json!({"linkifiers": realm_and_user_items::linkifier_objects(&call.caller.realm)}),
    )
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    vec![required_schema_member("linkifiers", JsonSchema::list(JsonSchema::reference_to("Linkifier")))]
}

/// The parameters that describe a linkifier.
struct LinkifierParams {
    pattern: String,
    url_template: String,
}

impl EndpointParams for LinkifierParams {
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
async fn add(call: ApiCall<AuthenticatedCaller>, params: LinkifierParams) -> Result<ApiResponsePayload, ApiError> {
    let id = decide(&call, |realm, caller, commit| linkifiers::add_linkifier(realm, caller, params.request(), commit))
        .await?;
    ApiResponsePayload::from_payload(&json!({"id": id}))
}

/// Changes a linkifier.
async fn update(call: ApiCall<AuthenticatedCaller>, params: LinkifierParams) -> Result<ApiResponsePayload, ApiError> {
    let id = call.path_id("filter_id")?;
    decide(&call, |realm, caller, commit| linkifiers::update_linkifier(realm, caller, (id, params.request()), commit))
        .await?;
    Ok(ApiResponsePayload::empty())
}

/// Removes a linkifier.
async fn remove(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = call.path_id("filter_id")?;
    decide(&call, |realm, caller, commit| linkifiers::remove_linkifier(realm, caller, id, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

/// The parameters of `PATCH /realm/linkifiers`: the order in which linkifiers apply.
struct LinkifierOrderParams(Vec<i64>);

impl EndpointParams for LinkifierOrderParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self(reader.required::<JsonParam<Vec<i64>>>("ordered_linkifier_ids")?))
    }
}

/// Puts the linkifiers into another order.
async fn put_in_order(
    call: ApiCall<AuthenticatedCaller>,
    LinkifierOrderParams(ids): LinkifierOrderParams,
) -> Result<ApiResponsePayload, ApiError> {
    decide(&call, |realm, caller, commit| linkifiers::reorder_linkifiers(realm, caller, &ids, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

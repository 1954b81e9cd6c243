//! `/navigation_views` and `/navigation_views/{fragment}`: the views that the caller's clients list.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::limits::{MAX_FRAGMENT_CHARS, MAX_VIEW_NAME_CHARS};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::people::personal_settings::navigation_view::{
    self, NavigationViewError, NavigationViewUpdate, NewNavigationView,
};
use serde_json::json;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, MaxCharsParam, NonBlankParam, ParamError, ParamReader, TextParam};
use crate::routes::{Routes, get, no_members, patch};

type Fragment = MaxCharsParam<NonBlankParam<TextParam>, MAX_FRAGMENT_CHARS>;
type Name = MaxCharsParam<TextParam, MAX_VIEW_NAME_CHARS>;

pub(super) fn routes() -> Routes {
    const FRAGMENT: &[(&str, &str)] = &[("fragment", "The view's fragment, percent-encoded; it may have slashes.")];
    let all = get(endpoint(list).documented("List the caller's navigation views.", list_schema))
        .post(endpoint(create).documented("Add a navigation view.", no_members));
    let one = patch(endpoint(update).documented("Change a navigation view.", no_members).by(FRAGMENT))
        .delete(endpoint(remove).documented("Remove a navigation view.", no_members).by(FRAGMENT));
    Routes::of("users").api("/navigation_views", all).api("/navigation_views/{*fragment}", one)
}

async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let views = navigation_view::list(&call.caller.realm, call.caller.user_id());
    ApiResponsePayload::from_payload(&json!({"navigation_views": views}))
}

fn list_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("navigation_views", JsonSchema::list(JsonSchema::reference_to("NavigationView")))]
}

/// The parameters of `POST /navigation_views`.
struct CreateViewParams {
    fragment: String,
    is_pinned: bool,
    name: Option<String>,
}

impl EndpointParams for CreateViewParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            fragment: reader.required::<Fragment>("fragment")?,
            is_pinned: reader.required::<JsonParam<bool>>("is_pinned")?,
            name: reader.optional::<Name>("name")?,
        })
    }
}

async fn create(call: ApiCall<AuthenticatedCaller>, params: CreateViewParams) -> Result<ApiResponsePayload, ApiError> {
    let CreateViewParams { fragment, is_pinned, name } = &params;
    let view = NewNavigationView { fragment, is_pinned: *is_pinned, name: name.as_deref() };
    commit(&call, |realm, user, commit| navigation_view::create(realm, user, view, commit)).await
}

/// The parameters of `PATCH /navigation_views/{fragment}`.
struct UpdateViewParams {
    is_pinned: Option<bool>,
    name: Option<String>,
}

impl EndpointParams for UpdateViewParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { is_pinned: reader.optional::<JsonParam<bool>>("is_pinned")?, name: reader.optional::<Name>("name")? })
    }
}

async fn update(call: ApiCall<AuthenticatedCaller>, params: UpdateViewParams) -> Result<ApiResponsePayload, ApiError> {
    let fragment = call.path_text("fragment")?;
    let update = NavigationViewUpdate { is_pinned: params.is_pinned, name: params.name.as_deref() };
    commit(&call, |realm, user, commit| navigation_view::update(realm, user, (fragment, update), commit)).await
}

async fn remove(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let fragment = call.path_text("fragment")?;
    commit(&call, |realm, user, commit| navigation_view::remove(realm, user, fragment, commit)).await
}

/// Commits a decision of the caller about their navigation views.
async fn commit(
    call: &ApiCall<AuthenticatedCaller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<(), NavigationViewError> + Send + Sync,
) -> Result<ApiResponsePayload, ApiError> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.caller.account_in_realm(realm)?, commit)?)).await?;
    Ok(ApiResponsePayload::empty())
}

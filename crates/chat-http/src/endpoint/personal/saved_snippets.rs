//! `/saved_snippets` and `/saved_snippets/{saved_snippet_id}`: texts the caller keeps to write them again.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::id::SnippetId;
use chat_core::limits::{MAX_MESSAGE_CHARS, MAX_SNIPPET_TITLE_CHARS};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::people::personal_settings::snippet::{self, SnippetError, SnippetUpdate};
use serde_json::json;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, MaxCharsParam, NonBlankParam, ParamError, ParamReader, TrimmedTextParam};
use crate::routes::{Routes, get, no_members, patch};

type Title = MaxCharsParam<NonBlankParam<TrimmedTextParam>, MAX_SNIPPET_TITLE_CHARS>;
type Content = MaxCharsParam<NonBlankParam<TrimmedTextParam>, MAX_MESSAGE_CHARS>;

pub(super) fn routes() -> Routes {
    let all = get(endpoint(list).documented("List the caller's saved snippets.", list_schema))
        .post(endpoint(create).documented("Save a snippet.", create_schema));
    let one = patch(endpoint(update).documented("Change a saved snippet.", no_members))
        .delete(endpoint(delete).documented("Delete a saved snippet.", no_members));
    Routes::of("users").api("/saved_snippets", all).api("/saved_snippets/{saved_snippet_id}", one)
}

async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    ApiResponsePayload::from_payload(
        &json!({"saved_snippets": snippet::list(&call.caller.realm, call.caller.user_id())}),
    )
}

fn list_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("saved_snippets", JsonSchema::list(JsonSchema::reference_to("SavedSnippet")))]
}

/// The parameters of `POST /saved_snippets`.
struct CreateSnippetParams {
    title: String,
    content: String,
}

impl EndpointParams for CreateSnippetParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { title: reader.required::<Title>("title")?, content: reader.required::<Content>("content")? })
    }
}

async fn create(
    call: ApiCall<AuthenticatedCaller>,
    params: CreateSnippetParams,
) -> Result<ApiResponsePayload, ApiError> {
    let decide = |realm: &RealmSnapshot, user: &User, commit: &mut RealmCommit| {
        snippet::create(realm, user, &params.title, &params.content, commit)
    };
    ApiResponsePayload::from_payload(&json!({"saved_snippet_id": commit(&call, decide).await?}))
}

fn create_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("saved_snippet_id", JsonSchema::integer())]
}

/// The parameters of `PATCH /saved_snippets/{saved_snippet_id}`.
struct UpdateSnippetParams {
    title: Option<String>,
    content: Option<String>,
}

impl EndpointParams for UpdateSnippetParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { title: reader.optional::<Title>("title")?, content: reader.optional::<Content>("content")? })
    }
}

async fn update(
    call: ApiCall<AuthenticatedCaller>,
    params: UpdateSnippetParams,
) -> Result<ApiResponsePayload, ApiError> {
    let id = in_path(&call)?;
    let update = SnippetUpdate { title: params.title.as_deref(), content: params.content.as_deref() };
    commit(&call, |realm, user, commit| snippet::update(realm, user, (id, update), commit)).await?;
    Ok(ApiResponsePayload::empty())
}

async fn delete(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = in_path(&call)?;
    commit(&call, |realm, user, commit| snippet::delete(realm, user, id, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

fn in_path(call: &ApiCall<AuthenticatedCaller>) -> Result<SnippetId, ApiError> {
    call.path_id("saved_snippet_id").map(SnippetId)
}

/// Commits a decision of the caller about their snippets.
async fn commit<T>(
    call: &ApiCall<AuthenticatedCaller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<T, SnippetError> + Send + Sync,
) -> Result<T, ApiError> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.caller.account_in_realm(realm)?, commit)?)).await
}

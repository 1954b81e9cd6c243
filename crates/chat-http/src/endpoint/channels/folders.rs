//! `/channel_folders`: named groups of channels.

use chat_core::channels::{self, ChannelFolderUpdate};
use chat_core::limits::{MAX_CHANNEL_FOLDER_DESCRIPTION_CHARS, MAX_CHANNEL_FOLDER_NAME_CHARS};
use chat_core::wire_format::realm_and_user_items;
use serde_json::{Value, json};

use super::decide;
use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, MaxCharsParam, ParamError, ParamReader, TextParam, TrimmedTextParam};
use crate::routes::{Routes, get, no_members, patch, post};

type Name = MaxCharsParam<TrimmedTextParam, MAX_CHANNEL_FOLDER_NAME_CHARS>;
type Description = MaxCharsParam<TextParam, MAX_CHANNEL_FOLDER_DESCRIPTION_CHARS>;

pub(super) fn routes() -> Routes {
    let all = get(endpoint(list).documented("List the channel folders.", list_schema))
        .patch(endpoint(reorder).documented("Put the channel folders into an order.", no_members));
    let one = patch(endpoint(update).documented("Change a channel folder.", no_members));
    Routes::of("channels")
        .api("/channel_folders", all)
        .api("/channel_folders/create", post(endpoint(create).documented("Create a channel folder.", create_schema)))
        .api("/channel_folders/{channel_folder_id}", one)
}

/// The parameters of `GET /channel_folders`.
struct ListFoldersParams {
    with_archived: bool,
}

impl EndpointParams for ListFoldersParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { with_archived: reader.optional_or::<JsonParam<bool>>("include_archived", false)? })
    }
}

async fn list(call: ApiCall<AuthenticatedCaller>, params: ListFoldersParams) -> Result<ApiResponsePayload, ApiError> {
    let mut folders = realm_and_user_items::channel_folder_objects(&call.caller.realm);
    folders.retain(|folder| params.with_archived || folder.get("is_archived") == Some(&Value::Bool(false)));
    ApiResponsePayload::from_payload(&json!({"channel_folders": folders}))
}

fn list_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("channel_folders", JsonSchema::list(JsonSchema::reference_to("ChannelFolder")))]
}

/// The parameters of `POST /channel_folders/create`. The description may be left out: the published description of the
/// API says so, and the existing server requires it.
struct CreateFolderParams {
    name: String,
    description: String,
}

impl EndpointParams for CreateFolderParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.required::<Name>("name")?,
            description: reader.optional_or::<Description>("description", String::new())?,
        })
    }
}

async fn create(
    call: ApiCall<AuthenticatedCaller>,
    params: CreateFolderParams,
) -> Result<ApiResponsePayload, ApiError> {
    let folder = (params.name.as_str(), params.description.as_str());
    let id = decide(&call, [], |env, commit| channels::create_channel_folder(env, folder, commit)).await?;
    ApiResponsePayload::from_payload(&json!({"channel_folder_id": id}))
}

fn create_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("channel_folder_id", JsonSchema::integer())]
}

/// The parameters of `PATCH /channel_folders/{channel_folder_id}`.
struct UpdateFolderParams(ChannelFolderUpdate);

impl EndpointParams for UpdateFolderParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self(ChannelFolderUpdate {
            name: reader.optional::<Name>("name")?,
            description: reader.optional::<Description>("description")?,
            is_archived: reader.optional::<JsonParam<bool>>("is_archived")?,
        }))
    }
}

async fn update(
    call: ApiCall<AuthenticatedCaller>,
    UpdateFolderParams(params): UpdateFolderParams,
) -> Result<ApiResponsePayload, ApiError> {
    let id = call.path_id("channel_folder_id")?;
    decide(&call, [], |env, commit| channels::update_channel_folder(env, id, &params, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

/// The parameters of `PATCH /channel_folders`.
struct ReorderFoldersParams {
    order: Vec<i64>,
}

impl EndpointParams for ReorderFoldersParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { order: reader.required::<JsonParam<Vec<i64>>>("order")? })
    }
}

async fn reorder(
    call: ApiCall<AuthenticatedCaller>,
    params: ReorderFoldersParams,
) -> Result<ApiResponsePayload, ApiError> {
    decide(&call, [], |env, commit| channels::reorder_channel_folders(env, &params.order, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

//! `/bot_storage`: what a bot's program keeps at the server, under keys of its own. Every account has such a place.

use std::collections::{BTreeMap, BTreeSet};

use chat_core::limits::{MAX_BOT_STORAGE_CHARS, MAX_BOT_STORAGE_KEY_CHARS};
use chat_core::people::bots::{BotError, BotStorageOutcome, MissingBotStorageKey};
use serde_json::json;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, ParamValuePath, check_max_chars};
use crate::routes::{Routes, get, no_members};

pub(crate) fn routes() -> Routes {
    let storage = get(endpoint(read).documented("Tell what the caller has kept at the server.", kept))
        .put(endpoint(write).documented("Keep texts for the caller, under keys of its own.", no_members))
        .delete(endpoint(forget).documented("Forget what the caller has kept.", no_members));
    Routes::of("bots").api("/bot_storage", storage)
}

/// The parameters of `PUT /bot_storage`: the entries to store.
struct StoreParams(Vec<(String, String)>);

impl EndpointParams for StoreParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let storage = reader.required::<JsonParam<BTreeMap<String, String>>>("storage")?;
        let whole = ParamValuePath::root("storage");
        storage.keys().try_for_each(|key| check_max_chars(key, MAX_BOT_STORAGE_KEY_CHARS, &whole.member(key)))?;
        Ok(Self(storage.into_iter().collect()))
    }
}

/// Keeps texts, in place of those under the same keys.
async fn write(
    call: ApiCall<AuthenticatedCaller>,
    StoreParams(entries): StoreParams,
) -> Result<ApiResponsePayload, ApiError> {
    match call.app.bot_storage.store_bot_values(call.caller.user_id(), &entries, MAX_BOT_STORAGE_CHARS).await? {
        BotStorageOutcome::Done => Ok(ApiResponsePayload::empty()),
        BotStorageOutcome::TooMuch(by) => Err(BotError::StorageFull(by).into()),
    }
}

/// The parameters of `GET` and `DELETE /bot_storage`: the keys, each once; all of them when none is named.
struct StorageKeysParams(Option<Vec<String>>);

impl EndpointParams for StorageKeysParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let keys = reader.optional::<JsonParam<Option<Vec<String>>>>("keys")?.flatten();
        let each_once = |keys: Vec<String>| keys.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        Ok(Self(keys.map(each_once)))
    }
}

/// What is kept.
async fn read(
    call: ApiCall<AuthenticatedCaller>,
    StorageKeysParams(keys): StorageKeysParams,
) -> Result<ApiResponsePayload, ApiError> {
    let found = call.app.bot_storage.load_bot_values(call.caller.user_id(), keys.as_deref()).await?;
    if keys.is_some_and(|keys| keys.len() > found.len()) {
        return Err(BotError::from(MissingBotStorageKey).into());
    }
    let storage: BTreeMap<String, String> = found.into_iter().collect();
    ApiResponsePayload::from_payload(&json!({"storage": storage}))
}

/// Returns the members of the response.
fn kept() -> Vec<SchemaMember> {
    vec![required_schema_member("storage", JsonSchema::map(JsonSchema::string()))]
}

/// Forgets what is kept.
async fn forget(
    call: ApiCall<AuthenticatedCaller>,
    StorageKeysParams(keys): StorageKeysParams,
) -> Result<ApiResponsePayload, ApiError> {
    call.app.bot_storage.delete_bot_values(call.caller.user_id(), keys.as_deref()).await?.map_err(BotError::from)?;
    Ok(ApiResponsePayload::empty())
}

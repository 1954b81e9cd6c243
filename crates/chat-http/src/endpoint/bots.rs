//! `/bots`: the bots people make and keep.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::id::UserId;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::people::account;
use chat_core::people::bots::{self, BotUpdate, NewBot};
use chat_core::wire_format::avatar_url;
use serde_json::{Map, Value, json};

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, optional_schema_member, required_schema_member};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, TextParam};
use crate::routes::{Routes, get, no_members, patch, post};

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).documented("List the caller's bots that are in use, with their keys.", listed))
        .post(endpoint(create).documented("Make a bot.", made));
    let one = patch(endpoint(update).documented("Change a bot's name, or who answers for it.", changed))
        .delete(endpoint(deactivate).documented("Close a bot's account.", no_members));
    let key = post(
        endpoint(regenerate_key)
            .documented("Give a bot another key.", || vec![required_schema_member("api_key", JsonSchema::string())]),
    );
    Routes::of("bots").api("/bots", all).api("/bots/{bot_id}", one).api("/bots/{bot_id}/api_key/regenerate", key)
}

/// Returns how the addresses of bots end: the host of this address, without its port. Where it is no name that an
/// address could end with, bots are local ones.
pub(crate) fn domain(base_url: &str) -> &str {
    let host = base_url.split_once("://").map_or(base_url, |(_, host)| host);
    let host = host.split(['/', ':']).next().unwrap_or_default();
    if host.is_empty() || host.starts_with('[') { "localhost" } else { host }
}

/// Returns the bots of the caller that are in use, with their keys.
async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    chat_core::permission::access::require_member(&call.caller.user)?;
    let mut shown = Vec::new();
    for bot in bots::active_bots_owned_by(&call.caller.realm, call.caller.user_id()) {
        let credentials = call.app.realm.load_credentials(bot.id).await?;
        let key = credentials.and_then(|credentials| credentials.api_key);
        let mut object = channels_of_its_own();
        object.insert("user_id".to_owned(), json!(bot.id));
        object.insert("username".to_owned(), bot.email.as_str().into());
        object.insert("full_name".to_owned(), bot.full_name.as_str().into());
        object.insert("avatar_url".to_owned(), avatar_url(bot).into());
        object.insert("api_key".to_owned(), json!(key.as_ref().map(chat_core::model::user::ApiKey::expose)));
        shown.push(object);
    }
    ApiResponsePayload::from_payload(&json!({"bots": shown}))
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    let null = || JsonSchema::any().with_keyword("type", "null");
    let bot = JsonSchema::object([
        required_schema_member("user_id", JsonSchema::integer()),
        required_schema_member("username", JsonSchema::string().with_description("The bot's address.")),
        required_schema_member("full_name", JsonSchema::string()),
        required_schema_member("avatar_url", JsonSchema::string()),
        required_schema_member("api_key", JsonSchema::string().nullable()),
        required_schema_member("default_sending_stream", null()),
        required_schema_member("default_events_register_stream", null()),
        required_schema_member("default_all_public_streams", JsonSchema::boolean()),
    ]);
    vec![required_schema_member("bots", JsonSchema::list(bot))]
}

/// Channels a bot sends to or hears of without naming them. There are none here; the keys are what existing clients
/// read.
fn channels_of_its_own() -> Map<String, Value> {
    [
        ("default_sending_stream", Value::Null),
        ("default_events_register_stream", Value::Null),
        ("default_all_public_streams", Value::Bool(false)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect()
}

/// Returns the members of the response.
fn pictured() -> Vec<SchemaMember> {
    let null = || JsonSchema::any().with_keyword("type", "null");
    vec![
        required_schema_member("avatar_url", JsonSchema::string()),
        required_schema_member("default_sending_stream", null()),
        required_schema_member("default_events_register_stream", null()),
        required_schema_member("default_all_public_streams", JsonSchema::boolean()),
    ]
}

/// The parameters of `POST /bots`.
struct CreateBotParams {
    full_name: String,
    short_name: String,
    kind: i64,
}

impl EndpointParams for CreateBotParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            full_name: reader.required::<TextParam>("full_name")?,
            short_name: reader.required::<TextParam>("short_name")?,
            kind: reader.optional_or::<JsonParam<i64>>("bot_type", 1)?,
        })
    }
}

/// Creates a bot. The response has its key.
async fn create(call: ApiCall<AuthenticatedCaller>, params: CreateBotParams) -> Result<ApiResponsePayload, ApiError> {
    let new = NewBot {
        full_name: params.full_name,
        short_name: params.short_name,
        domain: domain(&call.app.settings.base_url).to_owned(),
        kind: params.kind,
        api_key: call.app.fresh_key()?,
    };
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(bots::create_bot(realm, call.caller.account_in_realm(realm)?, &new, commit)?)
    };
    let user_id = call.app.commit(decide).await?;
    let realm = call.app.realm();
    let mut response = channels_of_its_own();
    response.insert("user_id".to_owned(), json!(user_id));
    response.insert("api_key".to_owned(), new.api_key.expose().into());
    response.insert("avatar_url".to_owned(), json!(realm.user(user_id).map(|bot| avatar_url(bot))));
    ApiResponsePayload::from_payload(&response)
}

/// Returns the members of the response.
fn made() -> Vec<SchemaMember> {
    [required_schema_member("user_id", JsonSchema::integer()), required_schema_member("api_key", JsonSchema::string())]
        .into_iter()
        .chain(pictured())
        .collect()
}

impl EndpointParams for BotUpdate {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            full_name: reader.optional::<TextParam>("full_name")?,
            owner_id: reader.optional::<JsonParam<UserId>>("bot_owner_id")?,
        })
    }
}

/// Changes a bot's name and who answers for it, together or not at all.
async fn update(call: ApiCall<AuthenticatedCaller>, params: BotUpdate) -> Result<ApiResponsePayload, ApiError> {
    let id = in_path(&call)?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let bot = bots::update_bot(realm, call.caller.account_in_realm(realm)?, (id, &params), commit)?;
        let owner = bot.bot.as_ref().and_then(|bot| bot.owner_id).and_then(|owner| realm.user(owner));
        let owner = owner.map(|owner| owner.public_email().into_owned());
        Ok((bot, owner))
    };
    let (bot, owner) = call.app.commit(decide).await?;
    let mut response = channels_of_its_own();
    response.insert("full_name".to_owned(), bot.full_name.as_str().into());
    response.insert("avatar_url".to_owned(), avatar_url(&bot).into());
    if params.owner_id.is_some() {
        response.insert("bot_owner".to_owned(), json!(owner));
    }
    ApiResponsePayload::from_payload(&response)
}

/// Returns the members of the response.
fn changed() -> Vec<SchemaMember> {
    let more = [
        required_schema_member("full_name", JsonSchema::string()),
        optional_schema_member("bot_owner", JsonSchema::string().nullable()),
    ];
    more.into_iter().chain(pictured()).collect()
}

/// Closes a bot's account. Once more changes nothing.
async fn deactivate(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = in_path(&call)?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        account::deactivate_account(realm, kept(&call, realm, id)?, commit);
        Ok(())
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}

/// Gives a bot another key; the one before opens nothing any more.
async fn regenerate_key(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = in_path(&call)?;
    let key = call.app.fresh_key()?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        commit.set_api_key(realm, kept(&call, realm, id)?.id, key.clone());
        Ok(())
    };
    call.app.commit(decide).await?;
    ApiResponsePayload::from_payload(&json!({"api_key": key.expose()}))
}

fn kept<'a>(call: &ApiCall<AuthenticatedCaller>, realm: &'a RealmSnapshot, id: UserId) -> Result<&'a User, ApiError> {
    Ok(bots::find_manageable_bot(realm, call.caller.account_in_realm(realm)?, id)?)
}

/// Returns the bot in the path.
fn in_path(call: &ApiCall<AuthenticatedCaller>) -> Result<UserId, ApiError> {
    call.path_id("bot_id").map(UserId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_bot_ends_with_the_host_alone() {
        for (url, host) in [
            ("https://chat.example.org", "chat.example.org"),
            ("http://127.0.0.1:9991", "127.0.0.1"),
            ("http://localhost:9991", "localhost"),
            ("http://[::1]:9991", "localhost"),
        ] {
            assert_eq!(domain(url), host, "{url}");
            assert!(chat_core::model::user::parse_email(&format!("x-bot@{host}")).is_ok(), "{url}");
        }
    }
}

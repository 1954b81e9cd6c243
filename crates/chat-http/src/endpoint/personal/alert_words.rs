//! `/users/me/alert_words`: the words the caller watches for. Every answer has all of them.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::limits::MAX_ALERT_WORD_CHARS;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::people::personal_settings::alert_words;
use serde_json::json;

use crate::api_call::ApiCall;
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{BoundedString, EndpointParams, JsonParam, ParamError, ParamReader};

/// The parameters of `POST` and `DELETE /users/me/alert_words`.
pub(crate) struct AlertWordsParams(Vec<String>);

impl EndpointParams for AlertWordsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let words = reader.required::<JsonParam<Vec<BoundedString<MAX_ALERT_WORD_CHARS>>>>("alert_words")?;
        Ok(Self(words.into_iter().map(|BoundedString(word)| word).collect()))
    }
}

/// Returns the caller's words.
pub(crate) async fn get(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    answer(&alert_words::alert_words_of_user(&call.caller.realm, call.caller.user_id()))
}

/// Watches for more words.
pub(crate) async fn post(
    call: ApiCall<AuthenticatedCaller>,
    AlertWordsParams(words): AlertWordsParams,
) -> Result<ApiResponsePayload, ApiError> {
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(alert_words::add_alert_words(realm, call.caller.account_in_realm(realm)?, &words, commit)?)
    };
    answer(&call.app.commit(decide).await?)
}

/// Watches for words no longer.
pub(crate) async fn delete(
    call: ApiCall<AuthenticatedCaller>,
    AlertWordsParams(words): AlertWordsParams,
) -> Result<ApiResponsePayload, ApiError> {
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(alert_words::remove_alert_words(realm, call.caller.account_in_realm(realm)?, &words, commit))
    };
    answer(&call.app.commit(decide).await?)
}

fn answer(words: &[String]) -> Result<ApiResponsePayload, ApiError> {
    ApiResponsePayload::from_payload(&json!({"alert_words": words}))
}

/// Returns the members of the response.
pub(super) fn response_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("alert_words", JsonSchema::list(JsonSchema::string()))]
}

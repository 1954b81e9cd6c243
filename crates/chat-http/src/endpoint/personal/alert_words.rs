//! `/users/me/alert_words`: the words the caller watches for. Every answer has all of them.

use chat_core::limits::MAX_ALERT_WORD_CHARS;
use chat_core::log::commit::RealmCommit;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::people::personal::alert;
use serde_json::json;

use crate::auth::Caller;
use crate::call::ApiCall;
use crate::error::ApiError;
use crate::params::{BoundedString, Json, ParamError, ParamReader, Params};
use crate::response::ApiResponse;
use crate::schema::{Member, Schema, has};

/// The parameters of `POST` and `DELETE /users/me/alert_words`.
pub(crate) struct AlertWordsParams(Vec<String>);

impl Params for AlertWordsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let words = reader.required::<Json<Vec<BoundedString<MAX_ALERT_WORD_CHARS>>>>("alert_words")?;
        Ok(Self(words.into_iter().map(|BoundedString(word)| word).collect()))
    }
}

/// Returns the caller's words.
pub(crate) async fn get(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    answer(&alert::of(&call.caller.realm, call.caller.id()))
}

/// Watches for more words.
pub(crate) async fn post(
    call: ApiCall<Caller>,
    AlertWordsParams(words): AlertWordsParams,
) -> Result<ApiResponse, ApiError> {
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(alert::watch(realm, call.caller.account_in(realm)?, &words, commit)?)
    };
    answer(&call.app.commit(decide).await?)
}

/// Watches for words no longer.
pub(crate) async fn delete(
    call: ApiCall<Caller>,
    AlertWordsParams(words): AlertWordsParams,
) -> Result<ApiResponse, ApiError> {
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(alert::forget(realm, call.caller.account_in(realm)?, &words, commit))
    };
    answer(&call.app.commit(decide).await?)
}

fn answer(words: &[String]) -> Result<ApiResponse, ApiError> {
    ApiResponse::from_payload(&json!({"alert_words": words}))
}

/// Returns the members of the response.
pub(super) fn response_schema() -> Vec<Member> {
    vec![has("alert_words", Schema::list(Schema::string()))]
}

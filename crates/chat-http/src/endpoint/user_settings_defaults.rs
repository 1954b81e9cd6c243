//! `/realm/user_settings_defaults`: what users begin with who join later.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::people::personal_settings::preferences::{
    self, MAX_EMAIL_BATCHING_PERIOD_S, MAX_SOUND_NAME_CHARS, PreferenceChange, PreferenceRange, PreferenceScope,
};
use chat_core::permission::access;
use chat_core::wire_format::user_settings::UserSettingDefault;
use serde_json::Value;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::JsonSchema;
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, TextParam};
use crate::routes::{Routes, no_members, patch};

pub(crate) fn routes() -> Routes {
    let update = endpoint(update).documented("Change what users begin with who join later.", no_members);
    Routes::of("organization").api("/realm/user_settings_defaults", patch(update))
}

/// Returns the preferences of that scope that were sent, each of its type.
pub(crate) fn chosen(
    reader: &mut ParamReader<'_>,
    scope: PreferenceScope,
) -> Result<Vec<PreferenceChange>, ParamError> {
    let mut chosen = Vec::new();
    for (name, preset) in scope.available_preferences() {
        let value = match preset {
            UserSettingDefault::Flag(_) => reader.optional::<JsonParam<bool>>(name)?.map(Value::from),
            UserSettingDefault::Number(_) => reader.optional::<JsonParam<i64>>(name)?.map(Value::from),
            UserSettingDefault::Word(_) => reader.optional::<TextParam>(name)?.map(Value::from),
        };
        reader.refine_last_schema(|schema| within(preferences::preference_range(name), schema));
        chosen.extend(value.map(|value| (name, value)));
    }
    Ok(chosen)
}

/// Returns what a preference of that range can be.
fn within(range: PreferenceRange, schema: JsonSchema) -> JsonSchema {
    match range {
        PreferenceRange::Any | PreferenceRange::Language => schema,
        PreferenceRange::UpTo(last) => JsonSchema::one_of_numbers(1..=last),
        PreferenceRange::Between(first, last) => schema.with_minimum(first).with_maximum(last),
        PreferenceRange::Batching => schema.with_minimum(1).with_maximum(MAX_EMAIL_BATCHING_PERIOD_S),
        PreferenceRange::Words(words) | PreferenceRange::ListedWords(words) => {
            JsonSchema::one_of_words(words.iter().copied())
        }
        PreferenceRange::Name => schema.with_max_length(MAX_SOUND_NAME_CHARS),
    }
}

/// The parameters of `PATCH /realm/user_settings_defaults`.
struct DefaultSettingsParams(Vec<PreferenceChange>);

impl EndpointParams for DefaultSettingsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self(chosen(reader, PreferenceScope::Newcomers)?))
    }
}

/// Changes what newcomers begin with.
async fn update(
    call: ApiCall<AuthenticatedCaller>,
    DefaultSettingsParams(chosen): DefaultSettingsParams,
) -> Result<ApiResponsePayload, ApiError> {
    access::require_administrator(&call.caller.user)?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(preferences::change_default_preferences(realm, call.caller.account_in_realm(realm)?, &chosen, commit)?)
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}

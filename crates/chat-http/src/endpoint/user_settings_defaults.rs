//! `/realm/user_settings_defaults`: what users begin with who join later.

use chat_core::log::commit::RealmCommit;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::people::personal::preference::{
    self, BATCHING_MAX_S, PreferenceChange, PreferenceRange, PreferenceScope, SOUND_MAX_CHARS,
};
use chat_core::permission::access;
use chat_core::wire::settings::UserSettingDefaults;
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
    for (name, preset) in scope.settings() {
        let value = match preset {
            UserSettingDefaults::Flag(_) => reader.optional::<JsonParam<bool>>(name)?.map(Value::from),
            UserSettingDefaults::Number(_) => reader.optional::<JsonParam<i64>>(name)?.map(Value::from),
            UserSettingDefaults::Word(_) => reader.optional::<TextParam>(name)?.map(Value::from),
        };
        reader.refine_last_schema(|schema| within(preference::range(name), schema));
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
        PreferenceRange::Batching => schema.with_minimum(1).with_maximum(BATCHING_MAX_S),
        PreferenceRange::Words(words) | PreferenceRange::ListedWords(words) => {
            JsonSchema::one_of_words(words.iter().copied())
        }
        PreferenceRange::Name => schema.with_max_length(SOUND_MAX_CHARS),
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
        Ok(preference::choose_for_newcomers(realm, call.caller.account_in_realm(realm)?, &chosen, commit)?)
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}

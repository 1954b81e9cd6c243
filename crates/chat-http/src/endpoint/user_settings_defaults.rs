//! `/realm/user_settings_defaults`: what users begin with who join later.

use chat_core::log::commit::RealmCommit;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::people::personal::preference::{
    self, BATCHING_MAX_S, PreferenceChange, PreferenceRange, PreferenceScope, SOUND_MAX_CHARS,
};
use chat_core::permission::access;
use chat_core::wire::settings::UserSettingDefaults;
use serde_json::Value;

use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{Json, ParamError, ParamReader, Params, TextParam};
use crate::response::ApiResponse;
use crate::routes::{Routes, no_members, patch};
use crate::schema::Schema;

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
            UserSettingDefaults::Flag(_) => reader.optional::<Json<bool>>(name)?.map(Value::from),
            UserSettingDefaults::Number(_) => reader.optional::<Json<i64>>(name)?.map(Value::from),
            UserSettingDefaults::Word(_) => reader.optional::<TextParam>(name)?.map(Value::from),
        };
        reader.more_precisely(|schema| within(preference::range(name), schema));
        chosen.extend(value.map(|value| (name, value)));
    }
    Ok(chosen)
}

/// Returns what a preference of that range can be.
fn within(range: PreferenceRange, schema: Schema) -> Schema {
    match range {
        PreferenceRange::Any | PreferenceRange::Language => schema,
        PreferenceRange::UpTo(last) => Schema::numbers(1..=last),
        PreferenceRange::Between(first, last) => schema.at_least(first).at_most(last),
        PreferenceRange::Batching => schema.at_least(1).at_most(BATCHING_MAX_S),
        PreferenceRange::Words(words) | PreferenceRange::ListedWords(words) => Schema::words(words.iter().copied()),
        PreferenceRange::Name => schema.at_most_chars(SOUND_MAX_CHARS),
    }
}

/// The parameters of `PATCH /realm/user_settings_defaults`.
struct DefaultSettingsParams(Vec<PreferenceChange>);

impl Params for DefaultSettingsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self(chosen(reader, PreferenceScope::Newcomers)?))
    }
}

/// Changes what newcomers begin with.
async fn update(
    call: ApiCall<Caller>,
    DefaultSettingsParams(chosen): DefaultSettingsParams,
) -> Result<ApiResponse, ApiError> {
    access::require_administrator(&call.caller.user)?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(preference::choose_for_newcomers(realm, call.caller.account_in(realm)?, &chosen, commit)?)
    };
    call.app.commit(decide).await?;
    Ok(ApiResponse::empty())
}

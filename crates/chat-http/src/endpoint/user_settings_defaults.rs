//! `/realm/user_settings_defaults`: what users begin with who join later.

use chat_core::log::commit::RealmCommit;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::people::personal::preference::{
    self, BATCHING_MAX_S, PreferenceChange, PreferenceRange, PreferenceScope, SOUND_MAX_CHARS,
};
use chat_core::permission::access;
use chat_core::wire::settings::UserSettingDefaults;
use serde_json::Value;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{Json, ParamFault, Params, Reader, Text};
use crate::routes::{Routes, nothing, patch};
use crate::schema::Schema;

pub(crate) fn routes() -> Routes {
    let update = endpoint(update).says("Change what users begin with who join later.", nothing);
    Routes::of("organization").api("/realm/user_settings_defaults", patch(update))
}

/// Returns the preferences of that scope that were sent, each of its type.
pub(crate) fn chosen(given: &mut Reader<'_>, scope: PreferenceScope) -> Result<Vec<PreferenceChange>, ParamFault> {
    let mut chosen = Vec::new();
    for (name, preset) in scope.settings() {
        let value = match preset {
            UserSettingDefaults::Flag(_) => given.optional::<Json<bool>>(name)?.map(Value::from),
            UserSettingDefaults::Number(_) => given.optional::<Json<i64>>(name)?.map(Value::from),
            UserSettingDefaults::Word(_) => given.optional::<Text>(name)?.map(Value::from),
        };
        given.more_precisely(|schema| within(preference::range(name), schema));
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

/// What shall be otherwise.
struct Update(Vec<PreferenceChange>);

impl Params for Update {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self(chosen(given, PreferenceScope::Newcomers)?))
    }
}

/// Changes what newcomers begin with.
async fn update(call: Call<Caller>, Update(chosen): Update) -> Result<Answer, Fault> {
    access::require_administrator(&call.who.user)?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(preference::choose_for_newcomers(realm, call.who.again(realm)?, &chosen, commit)?)
    };
    call.app.commit(decide).await?;
    Ok(Answer::empty())
}

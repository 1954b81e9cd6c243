//! `/realm`: what administrators choose for the organization.

use chat_core::log::commit::RealmCommit;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::organization::settings::{self, FOR_EVER, RealmSettingChange, RealmSettingType, SETTINGS};
use chat_core::permission::access;
use serde_json::Value;

use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{FromJson, Json, JsonPath, ParamError, ParamReader, Params, TextParam};
use crate::response::ApiResponse;
use crate::routes::{Routes, patch};
use crate::schema::{Member, Schema, has, may};

pub(crate) fn routes() -> Routes {
    let update = endpoint(update).documented("Change settings of the organization.", changed);
    Routes::of("organization").api("/realm", patch(update))
}

/// The parameters of `PATCH /realm`: the settings to change.
struct UpdateOrganizationParams(Vec<RealmSettingChange>);

impl Params for UpdateOrganizationParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let mut changes = Vec::new();
        for setting in SETTINGS {
            let name = setting.name;
            let value = match setting.kind {
                RealmSettingType::Text(..) => reader.optional::<TextParam>(name)?.map(Value::from),
                RealmSettingType::Switch(_) => reader.optional::<Json<bool>>(name)?.map(Value::from),
                RealmSettingType::Days(_) | RealmSettingType::Policy(..) => {
                    reader.optional::<Json<i64>>(name)?.map(Value::from)
                }
                RealmSettingType::Limit(_) => {
                    reader.optional::<Json<TimeLimitSetting>>(name)?.map(|TimeLimitSetting(value)| value)
                }
                RealmSettingType::Keep(_) => {
                    reader.optional::<Json<RetentionSetting>>(name)?.map(|RetentionSetting(value)| value)
                }
                RealmSettingType::Group(..) => {
                    reader.optional::<Json<GroupSettingId>>(name)?.map(|GroupSettingId(id)| id.into())
                }
            };
            reader.more_precisely(|schema| match setting.kind {
                RealmSettingType::Text(chars, _) => schema.at_most_chars(chars),
                RealmSettingType::Days(_) => schema.at_least(0),
                RealmSettingType::Policy(numbers, _) => Schema::numbers(numbers.iter().map(|(number, _)| *number)),
                RealmSettingType::Switch(_)
                | RealmSettingType::Limit(_)
                | RealmSettingType::Keep(_)
                | RealmSettingType::Group(..) => schema,
            });
            changes.extend(value.map(|value| (setting, value)));
        }
        Ok(Self(changes))
    }
}

/// Seconds, or a word that says that there is no limit: null then.
struct TimeLimitSetting(Value);

impl FromJson for TimeLimitSetting {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        match &value {
            Value::String(word) if word == "unlimited" => Ok(Self(Value::Null)),
            Value::String(_) => Ok(Self(value)),
            _ => i64::from_json(value, path).map(|seconds| Self(seconds.into())),
        }
    }

    fn schema() -> Schema {
        Schema::any_of([Schema::integer().meaning("Seconds."), Schema::words(["unlimited"])])
    }
}

/// Days, or a word that says for ever. No number says that, so one that is not above 0 becomes a text, which is refused
/// as it was sent.
struct RetentionSetting(Value);

impl FromJson for RetentionSetting {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        match &value {
            Value::String(word) if word == "unlimited" => Ok(Self(FOR_EVER.into())),
            Value::String(_) => Ok(Self(value)),
            _ => i64::from_json(value, path)
                .map(|days| Self(if days > 0 { days.into() } else { days.to_string().into() })),
        }
    }

    fn schema() -> Schema {
        let days = Schema::integer().at_least(1).meaning("Days.");
        Schema::any_of([days, Schema::words(["unlimited"])])
    }
}

/// The number of a group, by itself or as the new of a change that may also say what was before.
struct GroupSettingId(i64);

impl FromJson for GroupSettingId {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        match value {
            Value::Object(mut change) => {
                let new = change.remove("new").unwrap_or_default();
                i64::from_json(new, &path.key("new")).map(Self)
            }
            value => i64::from_json(value, path).map(Self),
        }
    }

    fn schema() -> Schema {
        let change = Schema::object([has("new", Schema::integer()), may("old", Schema::any())]);
        Schema::any_of([Schema::integer(), change])
    }
}

/// Changes the organization. The answer repeats what is otherwise than before.
async fn update(
    call: ApiCall<Caller>,
    UpdateOrganizationParams(changes): UpdateOrganizationParams,
) -> Result<ApiResponse, ApiError> {
    access::require_administrator(&call.caller.user)?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(settings::change(realm, call.caller.account_in(realm)?, &changes, commit)?)
    };
    ApiResponse::from_payload(&call.app.commit(decide).await?)
}

/// Returns the members of the response.
fn changed() -> Vec<Member> {
    let value = |kind: &RealmSettingType| match kind {
        RealmSettingType::Text(..) => Schema::string(),
        RealmSettingType::Switch(_) => Schema::boolean(),
        RealmSettingType::Limit(_) => Schema::integer().or_null(),
        RealmSettingType::Days(_)
        | RealmSettingType::Keep(_)
        | RealmSettingType::Policy(..)
        | RealmSettingType::Group(..) => Schema::integer(),
    };
    SETTINGS.iter().map(|setting| may(setting.name, value(&setting.kind))).collect()
}

//! `/realm`: what administrators choose for the organization.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::organization::settings::{
    self, REALM_SETTINGS, RealmSettingChange, RealmSettingType, RealmSettingValue, UNLIMITED_RETENTION_DAYS,
};
use chat_core::permission::access;
use serde_json::Value;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::endpoint::group_setting::RealmGroupSettingParam;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, optional_schema_member};
use crate::params::{EndpointParams, FromJson, JsonParam, ParamError, ParamReader, ParamValuePath, TextParam};
use crate::routes::{Routes, patch};

pub(crate) fn routes() -> Routes {
    let update = endpoint(update).documented("Change settings of the organization.", changed);
    Routes::of("organization").api("/realm", patch(update))
}

/// The parameters of `PATCH /realm`: the settings to change.
struct UpdateOrganizationParams(Vec<RealmSettingChange>);

impl EndpointParams for UpdateOrganizationParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let mut changes = Vec::new();
        for setting in REALM_SETTINGS {
            let name = setting.name;
            let value = match setting.kind {
                RealmSettingType::Text(..) | RealmSettingType::Word(_) => {
                    reader.optional::<TextParam>(name)?.map(RealmSettingValue::from)
                }
                RealmSettingType::Switch(_) => reader.optional::<JsonParam<bool>>(name)?.map(RealmSettingValue::from),
                RealmSettingType::Days(_) | RealmSettingType::Policy(_) | RealmSettingType::Channel(_) => {
                    reader.optional::<JsonParam<i64>>(name)?.map(RealmSettingValue::from)
                }
                RealmSettingType::Limit(_) => {
                    reader.optional::<JsonParam<TimeLimitSetting>>(name)?.map(|TimeLimitSetting(value)| value.into())
                }
                RealmSettingType::Keep(_) => {
                    reader.optional::<JsonParam<RetentionSetting>>(name)?.map(|RetentionSetting(value)| value.into())
                }
                RealmSettingType::Group(_) => {
                    reader.optional::<RealmGroupSettingParam>(name)?.map(RealmSettingValue::Group)
                }
            };
            reader.refine_last_schema(|schema| match setting.kind {
                RealmSettingType::Text(chars, _) => schema.with_max_length(chars),
                RealmSettingType::Days(_) => schema.with_minimum(0),
                RealmSettingType::Policy(policy) => JsonSchema::one_of_numbers(policy.numbers()),
                RealmSettingType::Word(ref word) => JsonSchema::one_of_words(word.words.iter().copied()),
                RealmSettingType::Switch(_)
                | RealmSettingType::Channel(_)
                | RealmSettingType::Limit(_)
                | RealmSettingType::Keep(_)
                | RealmSettingType::Group(_) => schema,
            });
            changes.extend(value.map(|value| (setting, value)));
        }
        Ok(Self(changes))
    }
}

/// Seconds, or a word that says that there is no limit: null then.
struct TimeLimitSetting(Value);

impl FromJson for TimeLimitSetting {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        match &value {
            Value::String(word) if word == "unlimited" => Ok(Self(Value::Null)),
            Value::String(_) => Ok(Self(value)),
            _ => i64::from_json(value, path).map(|seconds| Self(seconds.into())),
        }
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::any_of([
            JsonSchema::integer().with_description("Seconds."),
            JsonSchema::one_of_words(["unlimited"]),
        ])
    }
}

/// Days, or a word that says for ever. No number says that, so one that is not above 0 becomes a text, which is refused
/// as it was sent.
struct RetentionSetting(Value);

impl FromJson for RetentionSetting {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        match &value {
            Value::String(word) if word == "unlimited" => Ok(Self(UNLIMITED_RETENTION_DAYS.into())),
            Value::String(_) => Ok(Self(value)),
            _ => i64::from_json(value, path)
                .map(|days| Self(if days > 0 { days.into() } else { days.to_string().into() })),
        }
    }

    fn json_schema() -> JsonSchema {
        let days = JsonSchema::integer().with_minimum(1).with_description("Days.");
        JsonSchema::any_of([days, JsonSchema::one_of_words(["unlimited"])])
    }
}

/// Changes the organization. The answer repeats what is otherwise than before.
async fn update(
    call: ApiCall<AuthenticatedCaller>,
    UpdateOrganizationParams(changes): UpdateOrganizationParams,
) -> Result<ApiResponsePayload, ApiError> {
    access::require_administrator(&call.caller.user)?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(settings::change_realm_settings(realm, call.caller.account_in_realm(realm)?, &changes, commit)?)
    };
    ApiResponsePayload::from_payload(&call.app.commit(decide).await?)
}

/// Returns the members of the response.
fn changed() -> Vec<SchemaMember> {
    let value = |kind: &RealmSettingType| match kind {
        RealmSettingType::Text(..) | RealmSettingType::Word(_) => JsonSchema::string(),
        RealmSettingType::Switch(_) => JsonSchema::boolean(),
        RealmSettingType::Limit(_) => JsonSchema::integer().nullable(),
        RealmSettingType::Days(_)
        | RealmSettingType::Keep(_)
        | RealmSettingType::Policy(_)
        | RealmSettingType::Channel(_) => JsonSchema::integer(),
        RealmSettingType::Group(_) => JsonSchema::reference_to("Permission"),
    };
    REALM_SETTINGS.iter().map(|setting| optional_schema_member(setting.name, value(&setting.kind))).collect()
}

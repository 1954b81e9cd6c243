//! Parameters that user groups are described with.

use chat_core::id::{UserGroupId, UserId};
use chat_core::model::group::GroupSetting;
use chat_core::people::groups::GroupSettingChange;
use serde_json::Value;

use crate::params::{Expected, FromJson, Json, JsonObject, JsonPath, ParamError, ParamFormat, ParamKind, RawParam};
use crate::schema::Schema;

/// Who a permission is given to, as JSON: the number of a group, or an object with `direct_members` and
/// `direct_subgroups`.
///
/// # Source
/// Specification, `POST /user_groups/create`: "integer group id, or an object form of a group-setting value".
#[derive(Debug)]
pub(super) struct GroupSettingParam;

impl ParamKind for GroupSettingParam {
    type Value = GroupSetting;

    fn form() -> ParamFormat {
        Json::<JsonGroupSetting>::form()
    }

    fn decode(param: RawParam<'_>) -> Result<GroupSetting, ParamError> {
        Json::<JsonGroupSetting>::decode(param).map(|JsonGroupSetting(setting)| setting)
    }
}

/// A permission that shall be another, as JSON: an object with `new` and maybe `old`.
#[derive(Debug)]
pub(super) struct GroupSettingChangeParam;

impl ParamKind for GroupSettingChangeParam {
    type Value = GroupSettingChange;

    fn form() -> ParamFormat {
        Json::<JsonGroupSettingChange>::form()
    }

    fn decode(param: RawParam<'_>) -> Result<GroupSettingChange, ParamError> {
        Json::<JsonGroupSettingChange>::decode(param).map(|JsonGroupSettingChange(change)| change)
    }
}

struct JsonGroupSetting(GroupSetting);

impl FromJson for JsonGroupSetting {
    /// Whatever it is instead, the error names the first of the two shapes, as existing clients know it.
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let is_number = value.is_number();
        let setting = if is_number {
            UserGroupId::from_json(value, path).map(GroupSetting::Group)
        } else {
            JsonObject::of(value, path).and_then(named)
        };
        setting.map(Self).map_err(|_| path.key("int").is_not(Expected::Integer))
    }

    fn schema() -> Schema {
        Schema::any_of([UserGroupId::schema(), JsonObject::schema(named)])
    }
}

fn named(mut object: JsonObject<'_>) -> Result<GroupSetting, ParamError> {
    let direct_members = object.required::<Vec<UserId>>("direct_members")?;
    let direct_subgroups = object.required::<Vec<UserGroupId>>("direct_subgroups")?;
    object.end()?;
    Ok(GroupSetting::Named { direct_members, direct_subgroups })
}

struct JsonGroupSettingChange(GroupSettingChange);

impl FromJson for JsonGroupSettingChange {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        change(JsonObject::of(value, path)?).map(Self)
    }

    fn schema() -> Schema {
        JsonObject::schema(change)
    }
}

fn change(mut object: JsonObject<'_>) -> Result<GroupSettingChange, ParamError> {
    let JsonGroupSetting(new) = object.required("new")?;
    let old = object.optional::<Option<JsonGroupSetting>>("old")?.flatten();
    object.end()?;
    Ok(GroupSettingChange { new, old: old.map(|JsonGroupSetting(old)| old) })
}

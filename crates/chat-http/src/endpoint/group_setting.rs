//! Parameters of group settings: who has a permission.

use chat_core::id::{UserGroupId, UserId};
use chat_core::model::group::{GroupSettingChange, GroupSettingValue};
use serde_json::Value;

use crate::json_schema::JsonSchema;
use crate::params::{
    ExpectedJsonType, FromJson, JsonObjectReader, JsonParam, ParamDecoder, ParamError, ParamValuePath, ParamWireFormat,
    RawParam,
};

/// Who a permission is given to, as JSON: the number of a group, or an object with `direct_members` and
/// `direct_subgroups`.
///
/// # Source
/// Specification, `POST /user_groups/create`: "integer group id, or an object form of a group-setting value".
#[derive(Debug)]
pub(super) struct GroupSettingParam;

impl ParamDecoder for GroupSettingParam {
    type Value = GroupSettingValue;

    fn wire_format() -> ParamWireFormat {
        JsonParam::<JsonGroupSetting>::wire_format()
    }

    fn decode(param: RawParam<'_>) -> Result<GroupSettingValue, ParamError> {
        JsonParam::<JsonGroupSetting>::decode(param).map(|JsonGroupSetting(setting)| setting)
    }
}

/// A change of a permission, as JSON: an object with `new` and maybe `old`.
#[derive(Debug)]
pub(super) struct GroupSettingChangeParam;

impl ParamDecoder for GroupSettingChangeParam {
    type Value = GroupSettingChange;

    fn wire_format() -> ParamWireFormat {
        JsonParam::<JsonGroupSettingChange>::wire_format()
    }

    fn decode(param: RawParam<'_>) -> Result<GroupSettingChange, ParamError> {
        JsonParam::<JsonGroupSettingChange>::decode(param).map(|JsonGroupSettingChange(change)| change)
    }
}

struct JsonGroupSetting(GroupSettingValue);

impl FromJson for JsonGroupSetting {
    /// Whatever it is instead, the error names the first of the two shapes, as existing clients know it.
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let is_number = value.is_number();
        let setting = if is_number {
            UserGroupId::from_json(value, path).map(GroupSettingValue::Group)
        } else {
            JsonObjectReader::from_value(value, path).and_then(named)
        };
        setting.map(Self).map_err(|_| path.member("int").wrong_type_error(ExpectedJsonType::Integer))
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::any_of([UserGroupId::json_schema(), JsonObjectReader::infer_schema(named)])
    }
}

fn named(mut object: JsonObjectReader<'_>) -> Result<GroupSettingValue, ParamError> {
    let direct_members = object.required_member::<Vec<UserId>>("direct_members")?;
    let direct_subgroups = object.required_member::<Vec<UserGroupId>>("direct_subgroups")?;
    object.reject_unread_members()?;
    Ok(GroupSettingValue::Named { direct_members, direct_subgroups })
}

struct JsonGroupSettingChange(GroupSettingChange);

impl FromJson for JsonGroupSettingChange {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        change(JsonObjectReader::from_value(value, path)?).map(Self)
    }

    fn json_schema() -> JsonSchema {
        JsonObjectReader::infer_schema(change)
    }
}

fn change(mut object: JsonObjectReader<'_>) -> Result<GroupSettingChange, ParamError> {
    let JsonGroupSetting(new) = object.required_member("new")?;
    let old = object.optional_member::<Option<JsonGroupSetting>>("old")?.flatten();
    object.reject_unread_members()?;
    Ok(GroupSettingChange { new, old: old.map(|JsonGroupSetting(old)| old) })
}

/// A change of a permission of the organization, as JSON: an object with `new` and maybe `old`, or the number of a group
/// as older clients send it.
#[derive(Debug)]
pub(super) struct RealmGroupSettingParam;

impl ParamDecoder for RealmGroupSettingParam {
    type Value = GroupSettingChange;

    fn wire_format() -> ParamWireFormat {
        JsonParam::<JsonRealmGroupSetting>::wire_format()
    }

    fn decode(param: RawParam<'_>) -> Result<GroupSettingChange, ParamError> {
        JsonParam::<JsonRealmGroupSetting>::decode(param).map(|JsonRealmGroupSetting(change)| change)
    }
}

struct JsonRealmGroupSetting(GroupSettingChange);

impl FromJson for JsonRealmGroupSetting {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        if value.is_object() {
            return JsonGroupSettingChange::from_json(value, path).map(|JsonGroupSettingChange(change)| Self(change));
        }
        let new = UserGroupId::from_json(value, path).map(GroupSettingValue::Group)?;
        Ok(Self(GroupSettingChange { new, old: None }))
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::any_of([UserGroupId::json_schema(), JsonGroupSettingChange::json_schema()])
    }
}

//! Parameters that user groups are described with.

use chat_core::id::{UserGroupId, UserId};
use chat_core::model::group::GroupSetting;
use chat_core::people::groups::GroupSettingChange;
use serde_json::Value;

use crate::params::{Expected, Form, FromJson, Given, Json, Kind, Object, ParamFault, Path};
use crate::schema::Schema;

/// Who a permission is given to, as JSON: the number of a group, or an object with `direct_members` and
/// `direct_subgroups`.
///
/// # Source
/// Specification, `POST /user_groups/create`: "integer group id, or an object form of a group-setting value".
#[derive(Debug)]
pub(super) struct Setting;

impl Kind for Setting {
    type Value = GroupSetting;

    fn form() -> Form {
        Json::<SettingValue>::form()
    }

    fn decode(given: Given<'_>) -> Result<GroupSetting, ParamFault> {
        Json::<SettingValue>::decode(given).map(|SettingValue(setting)| setting)
    }
}

/// A permission that shall be another, as JSON: an object with `new` and maybe `old`.
#[derive(Debug)]
pub(super) struct SettingWish;

impl Kind for SettingWish {
    type Value = GroupSettingChange;

    fn form() -> Form {
        Json::<Changed>::form()
    }

    fn decode(given: Given<'_>) -> Result<GroupSettingChange, ParamFault> {
        Json::<Changed>::decode(given).map(|Changed(change)| change)
    }
}

struct SettingValue(GroupSetting);

impl FromJson for SettingValue {
    /// Whatever it is instead, existing clients are told of the first of the two shapes.
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        let is_number = value.is_number();
        let setting = if is_number {
            UserGroupId::from_json(value, path).map(GroupSetting::Group)
        } else {
            Object::of(value, path).and_then(named)
        };
        setting.map(Self).map_err(|_| path.key("int").is_not(Expected::Integer))
    }

    fn schema() -> Schema {
        Schema::any_of([UserGroupId::schema(), Object::schema(named)])
    }
}

fn named(mut object: Object<'_>) -> Result<GroupSetting, ParamFault> {
    let direct_members = object.required::<Vec<UserId>>("direct_members")?;
    let direct_subgroups = object.required::<Vec<UserGroupId>>("direct_subgroups")?;
    object.end()?;
    Ok(GroupSetting::Named { direct_members, direct_subgroups })
}

struct Changed(GroupSettingChange);

impl FromJson for Changed {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        change(Object::of(value, path)?).map(Self)
    }

    fn schema() -> Schema {
        Object::schema(change)
    }
}

fn change(mut object: Object<'_>) -> Result<GroupSettingChange, ParamFault> {
    let SettingValue(new) = object.required("new")?;
    let old = object.optional::<Option<SettingValue>>("old")?.flatten();
    object.end()?;
    Ok(GroupSettingChange { new, old: old.map(|SettingValue(old)| old) })
}

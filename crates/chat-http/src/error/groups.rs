//! The part of the table for user groups.

use chat_core::people::groups::{UserGroupError, UserGroupUse};
use serde_json::{Value, json};

use super::{BAD_REQUEST, ErrorResponse, bad_request, settings};

pub(super) fn group(error: &UserGroupError) -> ErrorResponse {
    match error {
        UserGroupError::InUse(uses) => {
            let objections: Vec<Value> = uses.iter().map(objection).collect();
            bad_request("CANNOT_DEACTIVATE_GROUP_IN_USE", error).with("objections", objections)
        }
        UserGroupError::Setting(error) => settings::group_setting(error),
        UserGroupError::NotAllowed(_)
        | UserGroupError::Name(_)
        | UserGroupError::NameTaken(_)
        | UserGroupError::NoSuchGroup
        | UserGroupError::Deactivated
        | UserGroupError::NoSuchUser(_)
        | UserGroupError::AlreadyMember(_)
        | UserGroupError::NotAMember(_)
        | UserGroupError::NoSuchSubgroup(_)
        | UserGroupError::AlreadySubgroup(_)
        | UserGroupError::NotASubgroup(_)
        | UserGroupError::Circular(_)
        | UserGroupError::NothingNew => bad_request(BAD_REQUEST, error),
    }
}

fn objection(of: &UserGroupUse) -> Value {
    match of {
        UserGroupUse::Subgroup(groups) => json!({"type": "subgroup", "supergroup_ids": groups}),
        UserGroupUse::Realm(settings) => json!({"type": "realm", "settings": settings}),
        UserGroupUse::CanMention(group) => {
            json!({"type": "user_group", "group_id": group, "settings": ["can_mention_group"]})
        }
    }
}

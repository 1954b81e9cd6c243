//! The part of the table for user groups.

use chat_core::people::groups::{GroupError, GroupUse};
use serde_json::{Value, json};

use super::{BAD_REQUEST, ErrorResponse, bad_request};

pub(super) fn group(error: &GroupError) -> ErrorResponse {
    match error {
        GroupError::InUse(uses) => {
            let objections: Vec<Value> = uses.iter().map(objection).collect();
            bad_request("CANNOT_DEACTIVATE_GROUP_IN_USE", error).with("objections", objections)
        }
        GroupError::SettingChanged => bad_request("EXPECTATION_MISMATCH", error),
        GroupError::NotAllowed(_)
        | GroupError::Name(_)
        | GroupError::NameTaken(_)
        | GroupError::NoSuchGroup
        | GroupError::Deactivated
        | GroupError::NoSuchUser(_)
        | GroupError::AlreadyMember(_)
        | GroupError::NotAMember(_)
        | GroupError::NoSuchSubgroup(_)
        | GroupError::AlreadySubgroup(_)
        | GroupError::NotASubgroup(_)
        | GroupError::Circular(_)
        | GroupError::SettingRefused(_)
        | GroupError::NothingNew => bad_request(BAD_REQUEST, error),
    }
}

fn objection(of: &GroupUse) -> Value {
    match of {
        GroupUse::Subgroup(groups) => json!({"type": "subgroup", "supergroup_ids": groups}),
        GroupUse::CanMention(group) => {
            json!({"type": "user_group", "group_id": group, "settings": ["can_mention_group"]})
        }
    }
}

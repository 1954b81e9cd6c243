//! The part of the table for user groups.

use chat_core::people::groups::{GroupError, GroupUse};
use serde_json::{Value, json};

use super::{BAD_REQUEST, Verdict, refusal};

pub(super) fn group(refused: &GroupError) -> Verdict {
    match refused {
        GroupError::InUse(uses) => {
            let objections: Vec<Value> = uses.iter().map(objection).collect();
            refusal("CANNOT_DEACTIVATE_GROUP_IN_USE", refused).with("objections", objections)
        }
        GroupError::SettingChanged => refusal("EXPECTATION_MISMATCH", refused),
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
        | GroupError::NothingNew => refusal(BAD_REQUEST, refused),
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

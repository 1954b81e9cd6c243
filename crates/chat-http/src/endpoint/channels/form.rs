//! Parameters that channels are described with.

use chat_core::channels::RetentionPolicy;
use chat_core::id::UserGroupId;
use chat_core::model::channel::PostPolicy;
use serde_json::Value;

use crate::limits::BAD_VALUE_MAX_CHARS;
use crate::params::{Form, Given, Json, Kind, Listed, Numbers, ParamFault};
use crate::schema::Schema;

/// `stream_post_policy`, as JSON.
#[derive(Debug)]
pub(crate) struct PostPolicyNumber;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Policy(PostPolicy);

impl Numbers for Policy {
    const NUMBERS: &'static [(i64, Self)] = &[
        (1, Self(PostPolicy::Everyone)),
        (2, Self(PostPolicy::Administrators)),
        (3, Self(PostPolicy::FullMembers)),
        (4, Self(PostPolicy::Moderators)),
    ];
}

impl Kind for PostPolicyNumber {
    type Value = PostPolicy;

    fn form() -> Form {
        Json::<Listed<Policy>>::form()
    }

    fn decode(given: Given<'_>) -> Result<PostPolicy, ParamFault> {
        Json::<Listed<Policy>>::decode(given).map(|Listed(Policy(policy))| policy)
    }
}

/// Returns the older way to say who may write.
pub(crate) fn announcing(is_announcement_only: bool) -> PostPolicy {
    if is_announcement_only { PostPolicy::Administrators } else { PostPolicy::Everyone }
}

/// `message_retention_days`: days, or one of two words, with or without quotes.
#[derive(Debug)]
pub(crate) struct RetentionText;

impl Kind for RetentionText {
    type Value = RetentionPolicy;

    fn form() -> Form {
        let words = Schema::words(["realm_default", "unlimited", "forever"]);
        Form::raw(Schema::any_of([Schema::integer().at_least(1).meaning("Days."), words]))
    }

    fn told(retention: &RetentionPolicy) -> Option<Value> {
        Some(match retention {
            RetentionPolicy::Realm => "realm_default".into(),
            RetentionPolicy::Unlimited => "unlimited".into(),
            RetentionPolicy::Days(days) => (*days).into(),
        })
    }

    fn decode(given: Given<'_>) -> Result<RetentionPolicy, ParamFault> {
        let quoted = given.text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        match quoted.unwrap_or(given.text) {
            "realm_default" => Ok(RetentionPolicy::Realm),
            "unlimited" | "forever" => Ok(RetentionPolicy::Unlimited),
            text => match text.parse() {
                Ok(days) if days > 0 => Ok(RetentionPolicy::Days(days)),
                _ => {
                    let shown = given.text.chars().take(BAD_VALUE_MAX_CHARS).collect();
                    Err(ParamFault::Unreadable { name: given.name, shown })
                }
            },
        }
    }
}

/// The number of a group, as JSON.
#[derive(Debug)]
pub(crate) struct GroupNumber;

impl Kind for GroupNumber {
    type Value = UserGroupId;

    fn form() -> Form {
        Json::<UserGroupId>::form()
    }

    fn decode(given: Given<'_>) -> Result<UserGroupId, ParamFault> {
        Json::<UserGroupId>::decode(given)
    }
}

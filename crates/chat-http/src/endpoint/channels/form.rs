//! Parameters that channels are described with.

use chat_core::channels::RetentionPolicy;
use chat_core::id::UserGroupId;
use chat_core::model::channel::PostPolicy;
use serde_json::Value;

use crate::limits::BAD_VALUE_MAX_CHARS;
use crate::params::{Json, ListedNumber, NumberEnum, ParamError, ParamFormat, ParamKind, RawParam};
use crate::schema::Schema;

/// `stream_post_policy`, as JSON.
#[derive(Debug)]
pub(crate) struct PostPolicyNumber;

#[derive(Debug, Clone, Copy, PartialEq)]
struct PostPolicyValue(PostPolicy);

impl NumberEnum for PostPolicyValue {
    const NUMBERS: &'static [(i64, Self)] = &[
        (1, Self(PostPolicy::Everyone)),
        (2, Self(PostPolicy::Administrators)),
        (3, Self(PostPolicy::FullMembers)),
        (4, Self(PostPolicy::Moderators)),
    ];
}

impl ParamKind for PostPolicyNumber {
    type Value = PostPolicy;

    fn form() -> ParamFormat {
        Json::<ListedNumber<PostPolicyValue>>::form()
    }

    fn decode(param: RawParam<'_>) -> Result<PostPolicy, ParamError> {
        Json::<ListedNumber<PostPolicyValue>>::decode(param).map(|ListedNumber(PostPolicyValue(policy))| policy)
    }
}

/// Returns the older way to say who may write.
pub(crate) fn announcing(is_announcement_only: bool) -> PostPolicy {
    if is_announcement_only { PostPolicy::Administrators } else { PostPolicy::Everyone }
}

/// `message_retention_days`: days, or one of two words, with or without quotes.
#[derive(Debug)]
pub(crate) struct RetentionText;

impl ParamKind for RetentionText {
    type Value = RetentionPolicy;

    fn form() -> ParamFormat {
        let words = Schema::words(["realm_default", "unlimited", "forever"]);
        ParamFormat::raw(Schema::any_of([Schema::integer().at_least(1).meaning("Days."), words]))
    }

    fn to_json(retention: &RetentionPolicy) -> Option<Value> {
        Some(match retention {
            RetentionPolicy::Realm => "realm_default".into(),
            RetentionPolicy::Unlimited => "unlimited".into(),
            RetentionPolicy::Days(days) => (*days).into(),
        })
    }

    fn decode(param: RawParam<'_>) -> Result<RetentionPolicy, ParamError> {
        let quoted = param.text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        match quoted.unwrap_or(param.text) {
            "realm_default" => Ok(RetentionPolicy::Realm),
            "unlimited" | "forever" => Ok(RetentionPolicy::Unlimited),
            text => match text.parse() {
                Ok(days) if days > 0 => Ok(RetentionPolicy::Days(days)),
                _ => {
                    let shown = param.text.chars().take(BAD_VALUE_MAX_CHARS).collect();
                    Err(ParamError::Unreadable { name: param.name, shown })
                }
            },
        }
    }
}

/// The number of a group, as JSON.
#[derive(Debug)]
pub(crate) struct GroupNumber;

impl ParamKind for GroupNumber {
    type Value = UserGroupId;

    fn form() -> ParamFormat {
        Json::<UserGroupId>::form()
    }

    fn decode(param: RawParam<'_>) -> Result<UserGroupId, ParamError> {
        Json::<UserGroupId>::decode(param)
    }
}

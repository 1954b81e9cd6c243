//! Parameters that channels are described with.

use chat_core::channels::RetentionPolicy;
use chat_core::id::UserGroupId;
use chat_core::model::channel::ChannelPostPolicy;
use serde_json::Value;

use crate::json_schema::JsonSchema;
use crate::limits::ECHOED_VALUE_MAX_CHARS;
use crate::params::{EnumNumberJson, JsonParam, NumberEnum, ParamDecoder, ParamError, ParamWireFormat, RawParam};

/// `stream_post_policy`, as JSON.
#[derive(Debug)]
pub(crate) struct PostPolicyNumber;

#[derive(Debug, Clone, Copy, PartialEq)]
struct PostPolicyValue(ChannelPostPolicy);

impl NumberEnum for PostPolicyValue {
    const NUMBERS: &'static [(i64, Self)] = &[
        (1, Self(ChannelPostPolicy::Everyone)),
        (2, Self(ChannelPostPolicy::Administrators)),
        (3, Self(ChannelPostPolicy::FullMembers)),
        (4, Self(ChannelPostPolicy::Moderators)),
    ];
}

impl ParamDecoder for PostPolicyNumber {
    type Value = ChannelPostPolicy;

    fn wire_format() -> ParamWireFormat {
        JsonParam::<EnumNumberJson<PostPolicyValue>>::wire_format()
    }

    fn decode(param: RawParam<'_>) -> Result<ChannelPostPolicy, ParamError> {
        JsonParam::<EnumNumberJson<PostPolicyValue>>::decode(param)
            .map(|EnumNumberJson(PostPolicyValue(policy))| policy)
    }
}

/// Returns the older way to say who may write.
pub(crate) fn announcing(is_announcement_only: bool) -> ChannelPostPolicy {
    if is_announcement_only { ChannelPostPolicy::Administrators } else { ChannelPostPolicy::Everyone }
}

/// `message_retention_days`: days, or one of two words, with or without quotes.
#[derive(Debug)]
pub(crate) struct RetentionText;

impl ParamDecoder for RetentionText {
    type Value = RetentionPolicy;

    fn wire_format() -> ParamWireFormat {
        let words = JsonSchema::one_of_words(["realm_default", "unlimited", "forever"]);
        ParamWireFormat::raw(JsonSchema::any_of([
            JsonSchema::integer().with_minimum(1).with_description("Days."),
            words,
        ]))
    }

    fn documented_default(retention: &RetentionPolicy) -> Option<Value> {
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
                    let shown = param.text.chars().take(ECHOED_VALUE_MAX_CHARS).collect();
                    Err(ParamError::Unreadable { name: param.name, shown })
                }
            },
        }
    }
}

/// `include_subscribers`: a boolean as JSON, or `partial`, which may leave out subscribers of large channels. All are
/// listed then too, as the API permits.
#[derive(Debug)]
pub(crate) struct IncludeSubscribersParam;

impl ParamDecoder for IncludeSubscribersParam {
    type Value = bool;

    fn wire_format() -> ParamWireFormat {
        ParamWireFormat::raw(JsonSchema::any_of([JsonSchema::boolean(), JsonSchema::one_of_words(["partial"])]))
    }

    fn documented_default(is_included: &bool) -> Option<Value> {
        Some((*is_included).into())
    }

    fn decode(param: RawParam<'_>) -> Result<bool, ParamError> {
        if param.text == "partial" { Ok(true) } else { JsonParam::<bool>::decode(param) }
    }
}

/// The number of a group, as JSON.
#[derive(Debug)]
pub(crate) struct GroupNumber;

impl ParamDecoder for GroupNumber {
    type Value = UserGroupId;

    fn wire_format() -> ParamWireFormat {
        JsonParam::<UserGroupId>::wire_format()
    }

    fn decode(param: RawParam<'_>) -> Result<UserGroupId, ParamError> {
        JsonParam::<UserGroupId>::decode(param)
    }
}

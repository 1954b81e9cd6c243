//! Parameters that subscriptions are described with.

use chat_core::channels::{
    ChannelToSubscribe, NewChannelSettings, Principals, RequestedPrivacy, RetentionPolicy, SubscriptionPropertyChange,
};
use chat_core::id::{ChannelId, UserId};
use chat_core::limits::MAX_CHANNEL_DESCRIPTION_CHARS;
use chat_core::model::channel::ChannelPostPolicy;
use serde_json::Value;

use crate::endpoint::channels::{GroupNumber, PostPolicyNumber, RetentionText};
use crate::json_schema::JsonSchema;
use crate::params::{
    BoundedString, ExpectedJsonType, FromJson, JsonObjectReader, JsonParam, ParamDecoder, ParamError, ParamReader,
    ParamValuePath, ParamWireFormat, RawParam,
};

/// Channels to enter, as JSON: objects with `name`, and maybe `color` and `description`. Further keys are not
/// looked at.
#[derive(Debug)]
pub(crate) struct SubscribeTargetsParam;

impl ParamDecoder for SubscribeTargetsParam {
    type Value = Vec<ChannelToSubscribe>;

    fn wire_format() -> ParamWireFormat {
        JsonParam::<Vec<JsonSubscribeTarget>>::wire_format()
    }

    fn decode(param: RawParam<'_>) -> Result<Vec<ChannelToSubscribe>, ParamError> {
        let target = JsonParam::<Vec<JsonSubscribeTarget>>::decode(param)?;
        Ok(target.into_iter().map(|JsonSubscribeTarget(target)| target).collect())
    }
}

/// A channel to enter.
#[derive(Debug)]
pub(crate) struct JsonSubscribeTarget(ChannelToSubscribe);

impl FromJson for JsonSubscribeTarget {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let target = target(JsonObjectReader::from_value(value, path)?)?;
        if let Some(color) = &target.color {
            hex_color(color, "add.color", path)?;
        }
        Ok(Self(target))
    }

    fn json_schema() -> JsonSchema {
        JsonObjectReader::infer_schema(target)
    }
}

fn target(mut object: JsonObjectReader<'_>) -> Result<ChannelToSubscribe, ParamError> {
    let name = object.required_member::<String>("name")?;
    let color = object.optional_member::<Option<String>>("color")?.flatten();
    let description =
        object.optional_member::<Option<BoundedString<MAX_CHANNEL_DESCRIPTION_CHARS>>>("description")?.flatten();
    Ok(ChannelToSubscribe { name, color, description: description.map(|BoundedString(text)| text).unwrap_or_default() })
}

/// Refuses what is no color. Not specified; as existing clients know it, 3 to 6 digits are.
fn hex_color(color: &str, what: &str, path: &ParamValuePath<'_>) -> Result<(), ParamError> {
    let digits = color.strip_prefix('#').unwrap_or_default();
    if (3..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(());
    }
    Err(ParamError::Unfit { path: path.to_string(), what: format!("{what} is not a valid hex color code") })
}

/// Whose subscriptions change, as JSON: numbers or addresses. None is the caller.
#[derive(Debug)]
pub(crate) struct PrincipalsParam;

impl ParamDecoder for PrincipalsParam {
    type Value = Principals;

    fn wire_format() -> ParamWireFormat {
        ParamWireFormat::json(JsonSchema::any_of([
            JsonSchema::list(UserId::json_schema()),
            JsonSchema::list(String::json_schema()),
        ]))
    }

    fn decode(param: RawParam<'_>) -> Result<Principals, ParamError> {
        let values = JsonParam::<Vec<Value>>::decode(param)?;
        let whole = ParamValuePath::root(param.name);
        match values.first() {
            None => Ok(Principals::Caller),
            Some(Value::String(_)) => each(values, &whole).map(Principals::Emails),
            Some(_) => each::<UserId>(values, &whole).map(Principals::Ids),
        }
    }
}

fn each<T: FromJson>(values: Vec<Value>, whole: &ParamValuePath<'_>) -> Result<Vec<T>, ParamError> {
    Vec::from_json(Value::Array(values), whole)
}

/// Channels nothing is said of.
pub(crate) const USUAL: NewChannelSettings = NewChannelSettings {
    openness: RequestedPrivacy { invite_only: false, is_web_public: false, shares_history: None },
    post_policy: ChannelPostPolicy::Everyone,
    retention: RetentionPolicy::Realm,
    can_remove_subscribers_group: None,
    is_default: false,
    folder_id: None,
};

/// Returns the settings of channels to create.
///
/// # Errors
/// When a parameter is not valid.
pub(crate) fn new_channel_settings(reader: &mut ParamReader<'_>) -> Result<NewChannelSettings, ParamError> {
    let announcing =
        reader.optional::<JsonParam<bool>>("is_announcement_only")?.map(crate::endpoint::channels::announcing);
    let policy = reader.optional::<PostPolicyNumber>("stream_post_policy")?.or(announcing);
    Ok(NewChannelSettings {
        openness: RequestedPrivacy {
            invite_only: reader.optional_or::<JsonParam<bool>>("invite_only", false)?,
            is_web_public: reader.optional_or::<JsonParam<bool>>("is_web_public", false)?,
            shares_history: reader.optional::<JsonParam<Option<bool>>>("history_public_to_subscribers")?.flatten(),
        },
        post_policy: policy.unwrap_or(USUAL.post_policy),
        retention: reader.optional_or::<RetentionText>("message_retention_days", USUAL.retention)?,
        can_remove_subscribers_group: reader.optional::<GroupNumber>("can_remove_subscribers_group")?,
        is_default: reader.optional_or::<JsonParam<bool>>("is_default_stream", false)?,
        folder_id: reader.optional::<JsonParam<Option<i64>>>("folder_id")?.flatten(),
    })
}

/// Choices for channels, as JSON: objects with `stream_id`, `property` and `value`.
#[derive(Debug)]
pub(crate) struct PropertyChangesParam;

impl ParamDecoder for PropertyChangesParam {
    type Value = Vec<(ChannelId, SubscriptionPropertyChange)>;

    fn wire_format() -> ParamWireFormat {
        JsonParam::<Vec<JsonPropertyChange>>::wire_format()
    }

    fn decode(param: RawParam<'_>) -> Result<Self::Value, ParamError> {
        let choices = JsonParam::<Vec<JsonPropertyChange>>::decode(param)?;
        Ok(choices.into_iter().map(|JsonPropertyChange(channel_id, choice)| (channel_id, choice)).collect())
    }
}

#[derive(Debug)]
struct JsonPropertyChange(ChannelId, SubscriptionPropertyChange);

impl FromJson for JsonPropertyChange {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let (channel_id, property, value) = chosen(JsonObjectReader::from_value(value, path)?)?;
        if !value.is_boolean() && !value.is_string() && !value.is_null() {
            return Err(path.member("value").member("bool").wrong_type_error(ExpectedJsonType::Boolean));
        }
        Ok(Self(channel_id, choice(&property, value, path)?))
    }

    fn json_schema() -> JsonSchema {
        JsonObjectReader::infer_schema(chosen)
    }
}

fn chosen(mut object: JsonObjectReader<'_>) -> Result<(ChannelId, String, Value), ParamError> {
    let channel_id = object.required_member("stream_id")?;
    let PropertyName(property) = object.required_member("property")?;
    let PropertyValue(value) = object.required_member("value")?;
    Ok((channel_id, property, value))
}

/// The name of a property. Which there are is said where it is looked for.
struct PropertyName(String);

impl FromJson for PropertyName {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        String::from_json(value, path).map(Self)
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::one_of_words(PROPERTIES)
    }
}

/// What a property can be. Which of the three, its name says.
struct PropertyValue(Value);

impl FromJson for PropertyValue {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        Value::from_json(value, path).map(Self)
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::any_of([JsonSchema::boolean(), JsonSchema::string()]).nullable()
    }
}

/// The names of the properties of [`choice`].
pub(crate) const PROPERTIES: [&str; 9] = [
    "is_muted",
    "in_home_view",
    "pin_to_top",
    "desktop_notifications",
    "audible_notifications",
    "push_notifications",
    "email_notifications",
    "wildcard_mentions_notify",
    "color",
];

/// A choice by the name of its property. `in_home_view` is the older name of the opposite of `is_muted`.
///
/// Not specified: `null` makes a notification follow the caller's settings again. Existing servers take no value that
/// does so.
pub(crate) fn choice(
    property: &str,
    value: Value,
    path: &ParamValuePath<'_>,
) -> Result<SubscriptionPropertyChange, ParamError> {
    let unfit = |what: String| ParamError::Unfit { path: path.to_string(), what };
    if property == "color" {
        let Value::String(color) = value else { return Err(unfit("color is not a string".to_owned())) };
        hex_color(&color, "color", path)?;
        return Ok(SubscriptionPropertyChange::Color(color));
    }
    let follows = value.is_null();
    let is_on = value.as_bool();
    let change = match property {
        "in_home_view" => is_on.map(|on| SubscriptionPropertyChange::Muted(!on)),
        "is_muted" => is_on.map(SubscriptionPropertyChange::Muted),
        "pin_to_top" => is_on.map(SubscriptionPropertyChange::Pinned),
        _ => {
            let make = match property {
                "desktop_notifications" => SubscriptionPropertyChange::Desktop,
                "audible_notifications" => SubscriptionPropertyChange::Audible,
                "push_notifications" => SubscriptionPropertyChange::Push,
                "email_notifications" => SubscriptionPropertyChange::Email,
                "wildcard_mentions_notify" => SubscriptionPropertyChange::WildcardMentions,
                _ => return Err(ParamError::UnknownProperty { property: property.to_owned() }),
            };
            (follows || is_on.is_some()).then(|| make(is_on))
        }
    };
    change.ok_or_else(|| unfit(format!("{property} is not a boolean")))
}

//! Parameters that subscriptions are described with.

use chat_core::channels::{
    ChannelVisibility, NewChannelSettings, Principals, RetentionPolicy, SubscribeTarget, SubscriptionPropertyChange,
};
use chat_core::id::{ChannelId, UserId};
use chat_core::limits::MAX_CHANNEL_DESCRIPTION_CHARS;
use chat_core::model::channel::PostPolicy;
use serde_json::Value;

use crate::endpoint::channels::{GroupNumber, PostPolicyNumber, RetentionText};
use crate::params::{
    BoundedString, Expected, FromJson, Json, JsonObject, JsonPath, ParamError, ParamFormat, ParamKind, ParamReader,
    RawParam,
};
use crate::schema::Schema;

/// Channels to enter, as JSON: objects with `name`, and maybe `color` and `description`. Further keys are not
/// looked at.
#[derive(Debug)]
pub(crate) struct SubscribeTargetsParam;

impl ParamKind for SubscribeTargetsParam {
    type Value = Vec<SubscribeTarget>;

    fn form() -> ParamFormat {
        Json::<Vec<JsonSubscribeTarget>>::form()
    }

    fn decode(param: RawParam<'_>) -> Result<Vec<SubscribeTarget>, ParamError> {
        let target = Json::<Vec<JsonSubscribeTarget>>::decode(param)?;
        Ok(target.into_iter().map(|JsonSubscribeTarget(target)| target).collect())
    }
}

/// A channel to enter.
#[derive(Debug)]
pub(crate) struct JsonSubscribeTarget(SubscribeTarget);

impl FromJson for JsonSubscribeTarget {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let target = target(JsonObject::of(value, path)?)?;
        if let Some(color) = &target.color {
            hex_color(color, "add.color", path)?;
        }
        Ok(Self(target))
    }

    fn schema() -> Schema {
        JsonObject::schema(target)
    }
}

fn target(mut object: JsonObject<'_>) -> Result<SubscribeTarget, ParamError> {
    let name = object.required::<String>("name")?;
    let color = object.optional::<Option<String>>("color")?.flatten();
    let description = object.optional::<Option<BoundedString<MAX_CHANNEL_DESCRIPTION_CHARS>>>("description")?.flatten();
    Ok(SubscribeTarget { name, color, description: description.map(|BoundedString(text)| text).unwrap_or_default() })
}

/// Refuses what is no color. Not specified; as existing clients know it, 3 to 6 digits are.
fn hex_color(color: &str, what: &str, path: &JsonPath<'_>) -> Result<(), ParamError> {
    let digits = color.strip_prefix('#').unwrap_or_default();
    if (3..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(());
    }
    Err(ParamError::Unfit { path: path.to_string(), what: format!("{what} is not a valid hex color code") })
}

/// Whose subscriptions change, as JSON: numbers or addresses. None is the caller.
#[derive(Debug)]
pub(crate) struct PrincipalsParam;

impl ParamKind for PrincipalsParam {
    type Value = Principals;

    fn form() -> ParamFormat {
        ParamFormat::json(Schema::any_of([Schema::list(UserId::schema()), Schema::list(String::schema())]))
    }

    fn decode(param: RawParam<'_>) -> Result<Principals, ParamError> {
        let values = Json::<Vec<Value>>::decode(param)?;
        let whole = JsonPath::name(param.name);
        match values.first() {
            None => Ok(Principals::Caller),
            Some(Value::String(_)) => each(values, &whole).map(Principals::Emails),
            Some(_) => each::<UserId>(values, &whole).map(Principals::Ids),
        }
    }
}

fn each<T: FromJson>(values: Vec<Value>, whole: &JsonPath<'_>) -> Result<Vec<T>, ParamError> {
    Vec::from_json(Value::Array(values), whole)
}

/// Channels nothing is said of.
pub(crate) const USUAL: NewChannelSettings = NewChannelSettings {
    openness: ChannelVisibility { invite_only: false, is_web_public: false, shares_history: None },
    post_policy: PostPolicy::Everyone,
    retention: RetentionPolicy::Realm,
    can_remove_subscribers_group: None,
    is_default: false,
};

/// Returns what channels are like that have to be made.
pub(crate) fn new_channels(reader: &mut ParamReader<'_>) -> Result<NewChannelSettings, ParamError> {
    let announcing = reader.optional::<Json<bool>>("is_announcement_only")?.map(crate::endpoint::channels::announcing);
    let policy = reader.optional::<PostPolicyNumber>("stream_post_policy")?.or(announcing);
    Ok(NewChannelSettings {
        openness: ChannelVisibility {
            invite_only: reader.or::<Json<bool>>("invite_only", false)?,
            is_web_public: reader.or::<Json<bool>>("is_web_public", false)?,
            shares_history: reader.optional::<Json<Option<bool>>>("history_public_to_subscribers")?.flatten(),
        },
        post_policy: policy.unwrap_or(USUAL.post_policy),
        retention: reader.or::<RetentionText>("message_retention_days", USUAL.retention)?,
        can_remove_subscribers_group: reader.optional::<GroupNumber>("can_remove_subscribers_group")?,
        is_default: reader.or::<Json<bool>>("is_default_stream", false)?,
    })
}

/// Choices for channels, as JSON: objects with `stream_id`, `property` and `value`.
#[derive(Debug)]
pub(crate) struct PropertyChangesParam;

impl ParamKind for PropertyChangesParam {
    type Value = Vec<(ChannelId, SubscriptionPropertyChange)>;

    fn form() -> ParamFormat {
        Json::<Vec<JsonPropertyChange>>::form()
    }

    fn decode(param: RawParam<'_>) -> Result<Self::Value, ParamError> {
        let choices = Json::<Vec<JsonPropertyChange>>::decode(param)?;
        Ok(choices.into_iter().map(|JsonPropertyChange(channel_id, choice)| (channel_id, choice)).collect())
    }
}

#[derive(Debug)]
struct JsonPropertyChange(ChannelId, SubscriptionPropertyChange);

impl FromJson for JsonPropertyChange {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let (channel_id, property, value) = chosen(JsonObject::of(value, path)?)?;
        if !value.is_boolean() && !value.is_string() && !value.is_null() {
            return Err(path.key("value").key("bool").is_not(Expected::Boolean));
        }
        Ok(Self(channel_id, choice(&property, value, path)?))
    }

    fn schema() -> Schema {
        JsonObject::schema(chosen)
    }
}

fn chosen(mut object: JsonObject<'_>) -> Result<(ChannelId, String, Value), ParamError> {
    let channel_id = object.required("stream_id")?;
    let PropertyName(property) = object.required("property")?;
    let PropertyValue(value) = object.required("value")?;
    Ok((channel_id, property, value))
}

/// The name of a property. Which there are is said where it is looked for.
struct PropertyName(String);

impl FromJson for PropertyName {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        String::from_json(value, path).map(Self)
    }

    fn schema() -> Schema {
        Schema::words(PROPERTIES)
    }
}

/// What a property can be. Which of the three, its name says.
struct PropertyValue(Value);

impl FromJson for PropertyValue {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        Value::from_json(value, path).map(Self)
    }

    fn schema() -> Schema {
        Schema::any_of([Schema::boolean(), Schema::string()]).or_null()
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
    path: &JsonPath<'_>,
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

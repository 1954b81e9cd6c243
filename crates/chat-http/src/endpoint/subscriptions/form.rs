//! Parameters that subscriptions are described with.

use chat_core::channels::{
    ChannelVisibility, NewChannelSettings, Principals, RetentionPolicy, SubscribeTarget, SubscriptionPropertyChange,
};
use chat_core::id::{ChannelId, UserId};
use chat_core::limits::MAX_CHANNEL_DESCRIPTION_CHARS;
use chat_core::model::channel::PostPolicy;
use serde_json::Value;

use crate::endpoint::channels::{GroupNumber, PostPolicyNumber, RetentionText};
use crate::params::{Expected, Form, FromJson, Given, Json, Kind, Object, ParamFault, Path, Reader, Short};
use crate::schema::Schema;

/// Channels to enter, as JSON: objects with `name`, and maybe `color` and `description`. Further keys are not
/// looked at.
#[derive(Debug)]
pub(crate) struct Subscriptions;

impl Kind for Subscriptions {
    type Value = Vec<SubscribeTarget>;

    fn form() -> Form {
        Json::<Vec<Named>>::form()
    }

    fn decode(given: Given<'_>) -> Result<Vec<SubscribeTarget>, ParamFault> {
        let wanted = Json::<Vec<Named>>::decode(given)?;
        Ok(wanted.into_iter().map(|Named(wanted)| wanted).collect())
    }
}

/// A channel to enter.
#[derive(Debug)]
pub(crate) struct Named(SubscribeTarget);

impl FromJson for Named {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        let wanted = wanted(Object::of(value, path)?)?;
        if let Some(color) = &wanted.color {
            hex_color(color, "add.color", path)?;
        }
        Ok(Self(wanted))
    }

    fn schema() -> Schema {
        Object::schema(wanted)
    }
}

fn wanted(mut object: Object<'_>) -> Result<SubscribeTarget, ParamFault> {
    let name = object.required::<String>("name")?;
    let color = object.optional::<Option<String>>("color")?.flatten();
    let description = object.optional::<Option<Short<MAX_CHANNEL_DESCRIPTION_CHARS>>>("description")?.flatten();
    Ok(SubscribeTarget { name, color, description: description.map(|Short(text)| text).unwrap_or_default() })
}

/// Refuses what is no color. Not specified; as existing clients know it, 3 to 6 digits are.
fn hex_color(color: &str, what: &str, path: &Path<'_>) -> Result<(), ParamFault> {
    let digits = color.strip_prefix('#').unwrap_or_default();
    if (3..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(());
    }
    Err(ParamFault::Unfit { path: path.to_string(), what: format!("{what} is not a valid hex color code") })
}

/// Whose subscriptions change, as JSON: numbers or addresses. None is the caller.
#[derive(Debug)]
pub(crate) struct People;

impl Kind for People {
    type Value = Principals;

    fn form() -> Form {
        Form::json(Schema::any_of([Schema::list(UserId::schema()), Schema::list(String::schema())]))
    }

    fn decode(given: Given<'_>) -> Result<Principals, ParamFault> {
        let values = Json::<Vec<Value>>::decode(given)?;
        let whole = Path::name(given.name);
        match values.first() {
            None => Ok(Principals::Caller),
            Some(Value::String(_)) => each(values, &whole).map(Principals::Emails),
            Some(_) => each::<UserId>(values, &whole).map(Principals::Ids),
        }
    }
}

fn each<T: FromJson>(values: Vec<Value>, whole: &Path<'_>) -> Result<Vec<T>, ParamFault> {
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
pub(crate) fn new_channels(given: &mut Reader<'_>) -> Result<NewChannelSettings, ParamFault> {
    let announcing = given.optional::<Json<bool>>("is_announcement_only")?.map(crate::endpoint::channels::announcing);
    let policy = given.optional::<PostPolicyNumber>("stream_post_policy")?.or(announcing);
    Ok(NewChannelSettings {
        openness: ChannelVisibility {
            invite_only: given.or::<Json<bool>>("invite_only", false)?,
            is_web_public: given.or::<Json<bool>>("is_web_public", false)?,
            shares_history: given.optional::<Json<Option<bool>>>("history_public_to_subscribers")?.flatten(),
        },
        post_policy: policy.unwrap_or(USUAL.post_policy),
        retention: given.or::<RetentionText>("message_retention_days", USUAL.retention)?,
        can_remove_subscribers_group: given.optional::<GroupNumber>("can_remove_subscribers_group")?,
        is_default: given.or::<Json<bool>>("is_default_stream", false)?,
    })
}

/// Choices for channels, as JSON: objects with `stream_id`, `property` and `value`.
#[derive(Debug)]
pub(crate) struct Choices;

impl Kind for Choices {
    type Value = Vec<(ChannelId, SubscriptionPropertyChange)>;

    fn form() -> Form {
        Json::<Vec<Chosen>>::form()
    }

    fn decode(given: Given<'_>) -> Result<Self::Value, ParamFault> {
        let choices = Json::<Vec<Chosen>>::decode(given)?;
        Ok(choices.into_iter().map(|Chosen(channel_id, choice)| (channel_id, choice)).collect())
    }
}

#[derive(Debug)]
struct Chosen(ChannelId, SubscriptionPropertyChange);

impl FromJson for Chosen {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        let (channel_id, property, value) = chosen(Object::of(value, path)?)?;
        if !value.is_boolean() && !value.is_string() {
            return Err(path.key("value").key("bool").is_not(Expected::Boolean));
        }
        Ok(Self(channel_id, choice(&property, value, path)?))
    }

    fn schema() -> Schema {
        Object::schema(chosen)
    }
}

fn chosen(mut object: Object<'_>) -> Result<(ChannelId, String, Value), ParamFault> {
    let channel_id = object.required("stream_id")?;
    let Property(property) = object.required("property")?;
    let Setting(value) = object.required("value")?;
    Ok((channel_id, property, value))
}

/// The name of a property. Which there are is said where it is looked for.
struct Property(String);

impl FromJson for Property {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        String::from_json(value, path).map(Self)
    }

    fn schema() -> Schema {
        Schema::words(PROPERTIES)
    }
}

/// What a property can be. Which of the two, its name says.
struct Setting(Value);

impl FromJson for Setting {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        Value::from_json(value, path).map(Self)
    }

    fn schema() -> Schema {
        Schema::any_of([Schema::boolean(), Schema::string()])
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
pub(crate) fn choice(property: &str, value: Value, path: &Path<'_>) -> Result<SubscriptionPropertyChange, ParamFault> {
    let unfit = |what: String| ParamFault::Unfit { path: path.to_string(), what };
    if property == "color" {
        let Value::String(color) = value else { return Err(unfit("color is not a string".to_owned())) };
        hex_color(&color, "color", path)?;
        return Ok(SubscriptionPropertyChange::Color(color));
    }
    let make = match property {
        "in_home_view" => |on: bool| SubscriptionPropertyChange::Muted(!on),
        "is_muted" => SubscriptionPropertyChange::Muted,
        "pin_to_top" => SubscriptionPropertyChange::Pinned,
        "desktop_notifications" => SubscriptionPropertyChange::Desktop,
        "audible_notifications" => SubscriptionPropertyChange::Audible,
        "push_notifications" => SubscriptionPropertyChange::Push,
        "email_notifications" => SubscriptionPropertyChange::Email,
        "wildcard_mentions_notify" => SubscriptionPropertyChange::WildcardMentions,
        _ => return Err(ParamFault::UnknownProperty { property: property.to_owned() }),
    };
    value.as_bool().map(make).ok_or_else(|| unfit(format!("{property} is not a boolean")))
}

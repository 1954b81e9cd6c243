//! A channel as clients see it together with what its reader chose for it.

use serde_json::{Map, Value};

use super::channel::{self, ChannelStatistics};
use crate::feature_level::FeatureLevel;
use crate::id::{ChannelId, UserId};
use crate::model::channel::{Channel, Subscription, SubscriptionNotificationSettings};
use crate::model::realm_change::UserItemKind;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access;

/// The optional fields of subscription objects that a client requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SubscriptionFields {
    /// `null` where the reader follows their own settings; else what those say.
    pub null_notifications: bool,
    /// `email_address`, which is empty.
    pub email_address: bool,
    /// Who else is in the channel.
    pub subscribers: bool,
}

/// The default color of a subscription.
pub const DEFAULT_SUBSCRIPTION_COLOR: &str = "#c2c2c2";

/// Returns the subscription object of a current or former subscriber. Settings that are not chosen are as for a new
/// subscription.
///
/// # Source
/// Keys as existing clients know them: those of the channel and the reader's own. `email_address` is gone since level
/// 226. The released terminal client still gets it, because it cannot show a channel without it; it is empty, because no
/// mail is taken for channels.
#[must_use]
pub fn subscription_object(
    realm: &RealmSnapshot,
    channel: &Channel,
    subscription: &Subscription,
    figures: &ChannelStatistics,
    fields: SubscriptionFields,
) -> Map<String, Value> {
    let mut object = channel::basic_channel_object(channel, figures, realm.active_subscriber_count(channel.id));
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    put("color", subscription.color.as_str().into());
    put("is_muted", subscription.is_muted.into());
    put("in_home_view", (!subscription.is_muted).into());
    put("pin_to_top", subscription.pin_to_top.into());
    if fields.email_address {
        put("email_address", "".into());
    }
    for (key, shown) in notification_choices(realm, subscription, fields.null_notifications) {
        put(key, shown.into());
    }
    if fields.subscribers {
        put("subscribers", subscribers(realm, channel.id));
    }
    object
}

/// Returns the ids of a channel's subscribers whose accounts are in use, ascending.
pub(crate) fn subscribers(realm: &RealmSnapshot, channel_id: ChannelId) -> Value {
    let in_use = |user: &UserId| realm.user(*user).is_some_and(|user| user.is_active);
    realm.subscribers(channel_id).filter(in_use).map(|user| user.0).collect()
}

/// Returns the name that answers to requests to subscribe have for a user at that level: their id, or their address.
#[must_use]
pub fn subscriber_key(level: FeatureLevel, user: &User) -> String {
    if level.names_subscribers_by_id() { user.id.to_string() } else { user.public_email().into_owned() }
}

/// Returns a subscription with default settings, for a user who is not subscribed.
#[must_use]
pub fn default_subscription(channel: &Channel, user_id: UserId) -> Subscription {
    Subscription {
        channel_id: channel.id,
        user_id,
        color: DEFAULT_SUBSCRIPTION_COLOR.to_owned(),
        is_muted: false,
        pin_to_top: false,
        notifications: SubscriptionNotificationSettings::default(),
    }
}

/// Returns the object of a channel that the reader may see but never subscribed to, with its subscribers where they are
/// requested and the reader may see them.
#[must_use]
pub fn never_subscribed_object(
    realm: &RealmSnapshot,
    user: &User,
    channel: &Channel,
    figures: &ChannelStatistics,
    fields: SubscriptionFields,
) -> Map<String, Value> {
    let mut object = channel::basic_channel_object(channel, figures, realm.active_subscriber_count(channel.id));
    if fields.subscribers && access::may_see_subscribers(realm, user, channel) {
        object.insert("subscribers".to_owned(), subscribers(realm, channel.id));
    }
    object
}

/// Each notification's key, the user's setting it falls back to, what was chosen, and what a new user has.
fn settings(chosen: SubscriptionNotificationSettings) -> [(&'static str, &'static str, Option<bool>, bool); 5] {
    [
        ("desktop_notifications", "enable_stream_desktop_notifications", chosen.desktop, false),
        ("audible_notifications", "enable_stream_audible_notifications", chosen.audible, false),
        ("push_notifications", "enable_stream_push_notifications", chosen.push, false),
        ("email_notifications", "enable_stream_email_notifications", chosen.email, false),
        ("wildcard_mentions_notify", "wildcard_mentions_notify", chosen.wildcard_mentions, true),
    ]
}

/// Returns the notification settings as a client is shown them: `None` follows the user's own, which older clients are
/// shown in its place.
pub(crate) fn notification_choices(
    realm: &RealmSnapshot,
    subscription: &Subscription,
    null_notifications: bool,
) -> [(&'static str, Option<bool>); 5] {
    settings(subscription.notifications).map(|(key, setting, chosen, otherwise)| {
        let own = || own_setting(realm, subscription.user_id, setting).unwrap_or(otherwise);
        (key, if null_notifications { chosen } else { Some(chosen.unwrap_or_else(own)) })
    })
}

/// What may differ between the objects of [`subscription_object`] of two subscribers of one channel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShownChoices<'s> {
    channel_id: ChannelId,
    color: &'s str,
    is_muted: bool,
    pin_to_top: bool,
    notifications: [Option<bool>; 5],
}

impl<'s> ShownChoices<'s> {
    /// Returns them as a client is shown them that knows, or does not know, settings that follow the user's own.
    pub(crate) fn of(realm: &RealmSnapshot, subscription: &'s Subscription, null_notifications: bool) -> Self {
        let Subscription { channel_id, user_id: _, ref color, is_muted, pin_to_top, notifications: _ } = *subscription;
        let notifications = notification_choices(realm, subscription, null_notifications).map(|(_, shown)| shown);
        Self { channel_id, color, is_muted, pin_to_top, notifications }
    }
}

fn own_setting(realm: &RealmSnapshot, user_id: UserId, setting: &str) -> Option<bool> {
    realm.user_item(user_id, UserItemKind::Settings, "")?.get(setting)?.as_bool()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::channel::ChannelPrivacy;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing;

    fn realm(settings: &Value) -> RealmSnapshot {
        let chosen =
            SubscriptionNotificationSettings { desktop: Some(true), ..SubscriptionNotificationSettings::default() };
        let settings = RealmChange::UserItem {
            user_id: UserId(4),
            kind: UserItemKind::Settings,
            key: String::new(),
            document: Some(settings.clone()),
        };
        testing::realm(
            RealmPermissionSettings::default(),
            vec![
                RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public))),
                RealmChange::Subscription(Box::new(Subscription {
                    is_muted: true,
                    notifications: chosen,
                    ..testing::subscription(20, 4)
                })),
                RealmChange::Subscription(Box::new(testing::subscription(20, 3))),
                settings,
            ],
        )
    }

    #[test]
    fn level_289_names_subscribers_by_their_ids() {
        let realm = realm(&json!({}));
        let user = realm.user(UserId(4)).unwrap();
        let [before, since] = [288, 289].map(|level| subscriber_key(FeatureLevel(level), user));
        assert_eq!((before, since), (user.public_email().into_owned(), "4".to_owned()));
    }

    fn shown(realm: &RealmSnapshot, fields: SubscriptionFields) -> Value {
        let channel = realm.channel(ChannelId(20)).unwrap();
        let subscription = realm.subscription(ChannelId(20), UserId(4)).unwrap();
        subscription_object(realm, channel, subscription, &ChannelStatistics::default(), fields).into()
    }

    #[test]
    fn what_the_user_did_not_choose_is_null_or_follows_their_settings() {
        let realm = realm(&json!({"enable_stream_push_notifications": true, "wildcard_mentions_notify": false}));
        let notifications = |fields| {
            let object = shown(&realm, fields);
            ["desktop", "audible", "push", "email"].map(|kind| object[format!("{kind}_notifications")].clone())
        };
        assert_eq!(
            notifications(SubscriptionFields::default()),
            [json!(true), json!(false), json!(true), json!(false)]
        );
        let null = SubscriptionFields { null_notifications: true, ..SubscriptionFields::default() };
        assert_eq!(notifications(null), [json!(true), Value::Null, Value::Null, Value::Null]);
        assert_eq!(shown(&realm, SubscriptionFields::default())["wildcard_mentions_notify"], json!(false));
    }

    #[test]
    fn a_subscription_is_its_channel_and_more() {
        let realm = realm(&json!({}));
        let with_all = SubscriptionFields { null_notifications: false, email_address: true, subscribers: true };
        let object = shown(&realm, with_all);
        assert_eq!((&object["stream_id"], &object["color"]), (&json!(20), &json!("#c2c2c2")));
        assert_eq!((&object["is_muted"], &object["in_home_view"]), (&json!(true), &json!(false)));
        assert_eq!((&object["pin_to_top"], &object["subscribers"]), (&json!(false), &json!([3, 4])));
        assert_eq!((object.as_object().unwrap().len(), &object["email_address"]), (30, &json!("")));
        let plain = shown(&realm, SubscriptionFields::default());
        assert_eq!((plain.get("subscribers"), plain.get("email_address")), (None, None));
    }

    #[test]
    fn email_address_is_gone_for_clients_that_know_of_capabilities() {
        let fields = SubscriptionFields { null_notifications: true, ..SubscriptionFields::default() };
        assert_eq!(shown(&realm(&json!({})), fields).get("email_address"), None);
    }

    #[test]
    fn who_may_not_know_the_subscribers_is_not_told() {
        let realm = realm(&json!({}));
        let channel = realm.channel(ChannelId(20)).unwrap();
        let fields = SubscriptionFields { subscribers: true, ..SubscriptionFields::default() };
        let shown = |user| {
            never_subscribed_object(
                &realm,
                realm.user(UserId(user)).unwrap(),
                channel,
                &ChannelStatistics::default(),
                fields,
            )
            .contains_key("subscribers")
        };
        assert_eq!([2, 6].map(shown), [true, false]);
    }
}

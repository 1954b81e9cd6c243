//! A channel as clients see it.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::feature_level::FeatureLevel;
use crate::id::{ChannelId, MessageId};
use crate::limits::SECONDS_PER_DAY;
use crate::model::channel::{Channel, ChannelPostPolicy, ChannelPrivacy};

/// The message statistics of channels that channel objects include: first message and weekly traffic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelStatistics {
    first: HashMap<ChannelId, MessageId>,
    weekly: HashMap<ChannelId, i64>,
}

impl ChannelStatistics {
    /// Makes the statistics from the first message of each channel, as
    /// [`crate::messages::store::MessageStore::first_channel_messages`] returns it.
    #[must_use]
    pub fn from_first_messages(first: impl IntoIterator<Item = (ChannelId, MessageId)>) -> Self {
        Self { first: first.into_iter().collect(), weekly: HashMap::new() }
    }

    /// Adds the weekly traffic of channels. Channels that are left out have `null`: unknown.
    #[must_use]
    pub fn with_weekly_traffic(mut self, weekly: impl IntoIterator<Item = (ChannelId, i64)>) -> Self {
        self.weekly = weekly.into_iter().collect();
        self
    }

    /// Returns the id of a channel's first message; `None` when it has none.
    #[must_use]
    pub fn first_message_id(&self, channel_id: ChannelId) -> Option<MessageId> {
        self.first.get(&channel_id).copied()
    }

    /// Returns a channel's average weekly messages; `None` when it is too new.
    #[must_use]
    pub fn weekly_traffic(&self, channel_id: ChannelId) -> Option<i64> {
        self.weekly.get(&channel_id).copied()
    }
}

/// The number of days over which a channel's traffic is averaged.
pub const TRAFFIC_AVERAGE_DAYS: i64 = 28;
/// Days after which a channel is old enough for an average.
const TRAFFIC_LEAST_DAYS: i64 = 7;

/// Returns the average messages per week of a channel of that age, from its messages in the last
/// [`TRAFFIC_AVERAGE_DAYS`]; `None` when it is too new. Zero only if there was no message.
///
/// Not specified how it is counted; we average over four weeks, or over the channel's life when that is shorter, and
/// round to two digits, because it is for people to compare channels by.
#[must_use]
pub fn average_weekly_traffic(messages: i64, age_s: i64) -> Option<i64> {
    let age_days = age_s / SECONDS_PER_DAY;
    if age_days < TRAFFIC_LEAST_DAYS {
        return None;
    }
    let a_week = messages.saturating_mul(7) / age_days.min(TRAFFIC_AVERAGE_DAYS);
    let unit = 10_i64.pow(a_week.max(1).ilog10().saturating_sub(1));
    let rounded = (a_week + unit / 2) / unit * unit;
    Some(rounded.max(messages.min(1)))
}

/// Returns the channel with all keys of the wire's basic object. `subscriber_count` are the active subscribers that its
/// reader counts on from, by later events.
///
/// # Source
/// Specification, "Channel object"; `is_default` is added by who is asked for it.
#[must_use]
pub fn basic_channel_object(
    channel: &Channel,
    figures: &ChannelStatistics,
    subscriber_count: usize,
) -> Map<String, Value> {
    let object = json!({
        "stream_id": channel.id,
        "name": channel.name,
        "description": channel.description,
        "rendered_description": channel.rendered_description,
        "date_created": channel.created_s,
        "creator_id": channel.creator_id,
        "first_message_id": figures.first_message_id(channel.id),
        "is_archived": channel.is_archived,
        "folder_id": channel.folder_id,
        "is_recently_active": channel.is_recently_active,
        "invite_only": channel.privacy.is_invite_only(),
        "is_web_public": channel.privacy == ChannelPrivacy::WebPublic,
        "is_announcement_only": channel.post_policy == ChannelPostPolicy::Administrators,
        "history_public_to_subscribers": channel.privacy.history_public_to_subscribers(),
        "message_retention_days": channel.message_retention_days,
        "stream_post_policy": channel.post_policy.wire_number(),
        "stream_weekly_traffic": figures.weekly_traffic(channel.id),
        "can_remove_subscribers_group": channel.can_remove_subscribers_group,
        "subscriber_count": subscriber_count,
    });
    match object {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Returns a default channel as that level lists it: its id, or its object.
#[must_use]
pub fn default_channel_value(
    level: FeatureLevel,
    channel: &Channel,
    figures: &ChannelStatistics,
    subscriber_count: usize,
) -> Value {
    if level.lists_default_channels_by_id() {
        return json!(channel.id);
    }
    Value::Object(basic_channel_object(channel, figures, subscriber_count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn traffic_is_an_average_of_four_weeks_or_of_the_channels_life() {
        let days = |days: i64, messages| average_weekly_traffic(messages, days * SECONDS_PER_DAY);
        assert_eq!(days(6, 1_000), None);
        assert_eq!([days(7, 10), days(14, 10), days(28, 40), days(999, 40)], [Some(10), Some(5), Some(10), Some(10)]);
        assert_eq!([days(28, 0), days(28, 1), days(28, 3)], [Some(0), Some(1), Some(1)]);
        assert_eq!(
            [days(7, 99), days(7, 124), days(7, 125), days(7, 98_765)].map(Option::unwrap),
            [99, 120, 130, 99_000]
        );
    }

    #[test]
    fn level_330_lists_default_channels_by_their_ids() {
        let channel = testing::channel(20, ChannelPrivacy::Public);
        let listed = |level| default_channel_value(FeatureLevel(level), &channel, &ChannelStatistics::default(), 0);
        assert_eq!([listed(330), listed(421)], [json!(20), json!(20)]);
        assert_eq!((&listed(277)["stream_id"], &listed(329)["stream_id"]), (&json!(20), &json!(20)));
    }

    #[test]
    fn a_channel_has_every_key_and_what_its_messages_come_to() {
        let channel = Channel {
            post_policy: ChannelPostPolicy::Administrators,
            ..testing::channel(20, ChannelPrivacy::PrivateProtectedHistory)
        };
        let figures = ChannelStatistics::from_first_messages([(ChannelId(20), MessageId(7))])
            .with_weekly_traffic([(ChannelId(20), 12)]);
        let expected = json!({
            "stream_id": 20, "name": "Channel 20", "description": "", "rendered_description": "",
            "date_created": testing::NOW_S - 1_000, "creator_id": null, "first_message_id": 7, "invite_only": true,
            "is_archived": false, "folder_id": null, "is_recently_active": true,
            "is_web_public": false, "is_announcement_only": true, "history_public_to_subscribers": false,
            "message_retention_days": null, "stream_post_policy": 2, "stream_weekly_traffic": 12,
            "can_remove_subscribers_group": 1, "subscriber_count": 3,
        });
        assert_eq!(Value::Object(basic_channel_object(&channel, &figures, 3)), expected);
        let quiet = basic_channel_object(&channel, &ChannelStatistics::default(), 0);
        assert_eq!((&quiet["first_message_id"], &quiet["stream_weekly_traffic"]), (&Value::Null, &Value::Null));
    }
}

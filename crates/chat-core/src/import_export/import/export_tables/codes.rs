//! The numbers and names that columns have, both for who reads a layout and for who writes one.
//!
//! # Source
//! Not specified; those existing servers use, held against `zerver/models/` of the public repository zulip/zulip.

use serde_json::{Map, Value};

use crate::model::channel::ChannelPostPolicy;
use crate::model::group::SystemGroup;
use crate::model::message::MessageFlag;
use crate::model::user::BotKind;

/// Messages go to a person.
pub(crate) const PERSON: i64 = 1;
/// Messages go to a channel.
pub(crate) const CHANNEL: i64 = 2;
/// Messages go to several people.
pub(crate) const PEOPLE: i64 = 3;

/// The program of what does not say with which.
pub(crate) const UNKNOWN_CLIENT: &str = "unknown";

/// A topic may be empty.
pub(crate) const TOPICS_FREE: i64 = 2;
/// Every message to a channel has a topic.
pub(crate) const TOPICS_NEEDED: i64 = 3;

/// A user came into a channel: for the first time, or again.
pub(crate) const BEGAN: [i64; 2] = [301, 302];
/// A user left a channel.
pub(crate) const ENDED: i64 = 303;
/// The server imported the organization. What was noted before has the message numbers of another server: the import of
/// the original server leaves them as they are.
pub(crate) const IMPORTED: i64 = 229;

/// The bits of a copy, as they are written.
pub(crate) const BITS: [(i64, MessageFlag); 8] = [
    (1, MessageFlag::Read),
    (1 << 1, MessageFlag::Starred),
    (1 << 2, MessageFlag::Collapsed),
    (1 << 3, MessageFlag::Mentioned),
    (1 << 4, MessageFlag::StreamWildcardMentioned),
    (1 << 5, MessageFlag::TopicWildcardMentioned),
    (1 << 9, MessageFlag::HasAlertWord),
    (1 << 10, MessageFlag::Historical),
];
/// A bit that is read as [`MessageFlag::Mentioned`] too: a group was mentioned.
pub(crate) const GROUP_MENTIONED: i64 = 1 << 6;
/// A bit that follows from where a message is, and is written all the same: it went to people, not to a channel.
pub(crate) const PRIVATE: i64 = 1 << 11;

/// Returns the bit of a flag.
pub(crate) fn bit(flag: MessageFlag) -> i64 {
    BITS.iter().find(|(_, known)| *known == flag).map_or(0, |(bit, _)| *bit)
}

/// Returns the flags of a copy.
pub(crate) fn flags(bits: i64) -> impl Iterator<Item = MessageFlag> {
    let bits = if bits & GROUP_MENTIONED == 0 { bits } else { bits | bit(MessageFlag::Mentioned) };
    BITS.into_iter().filter(move |(bit, _)| bits & bit != 0).map(|(_, flag)| flag)
}

/// The number of a bot whose program is in the server.
pub(crate) const EMBEDDED_BOT: i64 = 4;

/// A bot of that number.
pub(crate) fn bot_kind(number: Option<i64>) -> BotKind {
    match number {
        Some(2) => BotKind::IncomingWebhook,
        Some(3) => BotKind::OutgoingWebhook,
        _ => BotKind::Generic,
    }
}

/// Returns the number of a kind of bot.
pub(crate) fn bot_number(kind: BotKind) -> i64 {
    match kind {
        BotKind::Generic | BotKind::System => 1,
        BotKind::IncomingWebhook => 2,
        BotKind::OutgoingWebhook => 3,
    }
}

/// Returns who may write to a channel, by the system group that may. There are fewer ways to say that here;
/// no user may write who could not before. Says also whether it is the same.
pub(crate) fn post_policy(group: Option<SystemGroup>) -> (ChannelPostPolicy, bool) {
    match group {
        Some(SystemGroup::Everyone | SystemGroup::Internet) => (ChannelPostPolicy::Everyone, true),
        Some(SystemGroup::FullMembers) => (ChannelPostPolicy::FullMembers, true),
        Some(SystemGroup::Members) => (ChannelPostPolicy::FullMembers, false),
        Some(SystemGroup::Moderators) => (ChannelPostPolicy::Moderators, true),
        Some(SystemGroup::Administrators) => (ChannelPostPolicy::Administrators, true),
        Some(SystemGroup::Owners | SystemGroup::Nobody) | None => (ChannelPostPolicy::Administrators, false),
    }
}

/// Returns the system group that may write to such a channel.
pub(crate) fn writers(policy: ChannelPostPolicy) -> SystemGroup {
    match policy {
        ChannelPostPolicy::Everyone => SystemGroup::Everyone,
        ChannelPostPolicy::Administrators => SystemGroup::Administrators,
        ChannelPostPolicy::FullMembers => SystemGroup::FullMembers,
        ChannelPostPolicy::Moderators => SystemGroup::Moderators,
    }
}

/// A preference that is a word here and a number in an export.
const NUMBERED_PREFERENCE: &str = "resolved_topic_notice_auto_read_policy";
/// The words of [`NUMBERED_PREFERENCE`] in the order of their numbers, from 1.
const NUMBERED_WORDS: [&str; 3] = ["always", "except_followed", "never"];

/// Replaces the words of preferences by the numbers that exports have for them.
pub(crate) fn number_preferences(columns: &mut Map<String, Value>) {
    let Some(value) = columns.get_mut(NUMBERED_PREFERENCE) else { return };
    let place = NUMBERED_WORDS.iter().position(|word| *value == *word);
    *value = place.map_or(Value::Null, |place| (place + 1).into());
}

/// Replaces the numbers of preferences in an export by their words; a number of none stays.
pub(crate) fn name_preferences(columns: &mut Map<String, Value>) {
    let Some(value) = columns.get_mut(NUMBERED_PREFERENCE) else { return };
    let place = value.as_u64().and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
    if let Some(word) = place.and_then(|place| NUMBERED_WORDS.get(place)) {
        *value = (*word).into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_has_a_bit_of_its_own_and_is_read_from_it() {
        for flag in MessageFlag::ALL {
            assert_eq!(flags(bit(flag)).collect::<Vec<_>>(), [flag]);
        }
        assert_eq!(flags(GROUP_MENTIONED | 1).collect::<Vec<_>>(), [MessageFlag::Read, MessageFlag::Mentioned]);
    }

    #[test]
    fn what_is_written_of_bots_and_writers_is_read_as_it_was() {
        for kind in [BotKind::Generic, BotKind::IncomingWebhook, BotKind::OutgoingWebhook] {
            assert_eq!(bot_kind(Some(bot_number(kind))), kind);
        }
        for policy in ChannelPostPolicy::ALL {
            assert_eq!(post_policy(Some(writers(policy))), (policy, true));
        }
    }
}

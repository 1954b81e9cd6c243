//! Who may send what where.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::id::{ChannelId, UserId};
use crate::limits::MAX_DIRECT_MESSAGE_USERS;
use crate::model::channel::{Channel, ChannelPostPolicy};
use crate::model::group::SystemGroup;
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::User;
use crate::permission::access::{may_know_channel_name, participates_in_channel};
use crate::permission::group_settings::has_realm_permission;
use crate::text_processing::search_words::escape_html;

/// Subscribers above which mentioning everybody needs a permission. Not specified; the number existing servers use.
const LARGE_CHANNEL: usize = 15;

/// The reason why a message may not be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// There is no channel of that number.
    #[error("Channel with ID '{0}' does not exist")]
    NoChannelWithId(ChannelId),
    /// There is no channel of that name, which clients show as HTML.
    #[error("Channel '{}' does not exist", escape_html(.0))]
    NoChannelNamed(String),
    /// The channel is private and the sender is not in it, or it is closed.
    #[error("Not authorized to send to channel '{0}'")]
    NotInChannel(String),
    /// Announcements only.
    #[error("Only organization administrators can send to this channel.")]
    AdministratorsOnly,
    /// Moderators only.
    #[error("Only organization administrators and moderators can send to this channel.")]
    ModeratorsOnly,
    /// Full members only, and the sender is a guest.
    #[error("Guests cannot send to this channel.")]
    GuestRefused,
    /// Full members only, and the sender is not one yet.
    #[error("New members cannot send to this channel.")]
    NewMemberRefused,
    /// No channel was named.
    #[error("Missing channel")]
    NoChannel,
    /// No topic was named.
    #[error("Missing topic")]
    NoTopic,
    /// The sender wants to be someone else.
    #[error("Invalid mirrored message")]
    Forged,
    /// The group may not be mentioned by this sender.
    #[error("You are not allowed to mention user group '{0}'.")]
    GroupMentionRefused(String),
    /// Nobody was named.
    #[error("Message must have recipients")]
    NoRecipients,
    /// More were named than a conversation has.
    #[error("Too many recipients (maximum {MAX_DIRECT_MESSAGE_USERS}).")]
    TooManyRecipients,
    /// There is no user of that number.
    #[error("Invalid user ID {0}")]
    NoUserWithId(UserId),
    /// There is no user of that address.
    #[error("Invalid email '{0}'")]
    NoUserWithEmail(String),
    /// The account is not in use.
    #[error("'{0}' is no longer using the chat.")]
    UserDeactivated(String),
    /// The realm has no direct messages.
    #[error("Direct messages are disabled in this organization.")]
    DirectDisabled,
    /// Nobody in the conversation may have one.
    #[error("This conversation does not include any users who can authorize it.")]
    DirectNotAuthorized,
    /// The sender may not begin one.
    #[error("You do not have permission to initiate direct message conversations.")]
    DirectNotInitiated,
    /// The realm wants a topic.
    #[error("Topics are required in this organization")]
    TopicRequired,
    /// Everybody in a large channel may not be mentioned by this sender.
    #[error("You do not have permission to use channel wildcard mentions in this channel.")]
    ChannelWildcardRefused,
    /// Everybody in a topic of a large channel may not be mentioned by this sender.
    #[error("You do not have permission to use topic wildcard mentions in this topic.")]
    TopicWildcardRefused,
}

/// The topic that stands for none.
pub(crate) const NO_TOPIC: &str = "(no topic)";

/// Returns the channel of that id, if the sender may send messages to it.
///
/// # Errors
/// See [`SendError`].
pub fn find_sendable_channel<'a>(
    realm: &'a RealmSnapshot,
    sender: &User,
    id: ChannelId,
    now_s: i64,
) -> Result<&'a Arc<Channel>, SendError> {
    // What is said of a channel by its number must not tell a stranger its name.
    let is_told = |channel: &Channel| sender.is_system_bot() || may_know_channel_name(realm, sender, channel);
    let known = realm.channel(id).filter(|channel| is_told(channel));
    let channel = known.ok_or(SendError::NoChannelWithId(id))?;
    may_send_to_channel(realm, sender, channel, now_s)?;
    Ok(channel)
}

/// Returns the channel of that name, if the sender may send messages to it.
///
/// # Errors
/// See [`SendError`].
pub fn find_sendable_channel_by_name<'a>(
    realm: &'a RealmSnapshot,
    sender: &User,
    name: &str,
    now_s: i64,
) -> Result<&'a Arc<Channel>, SendError> {
    let channel = realm.channel_by_name(name).ok_or_else(|| SendError::NoChannelNamed(name.to_owned()))?;
    may_send_to_channel(realm, sender, channel, now_s)?;
    Ok(channel)
}

/// Checks whether the sender may send messages to the channel. Guests may only where they are subscribed; web-public
/// channels they only read. System bots may send to every channel that is not archived.
///
/// # Errors
/// See [`SendError`].
pub fn may_send_to_channel(
    realm: &RealmSnapshot,
    sender: &User,
    channel: &Channel,
    now_s: i64,
) -> Result<(), SendError> {
    let waiting_days = realm.realm().map_or(0, |realm| realm.rules.waiting_period_days);
    if sender.is_system_bot() && !channel.is_archived {
        return Ok(());
    }
    let is_visiting = sender.is_guest() && realm.subscription(channel.id, sender.id).is_none();
    if is_visiting || !participates_in_channel(realm, sender, channel) {
        return Err(SendError::NotInChannel(channel.name.clone()));
    }
    match channel.post_policy {
        ChannelPostPolicy::Administrators if !sender.is_administrator() => Err(SendError::AdministratorsOnly),
        ChannelPostPolicy::Moderators if sender.role > Role::Moderator => Err(SendError::ModeratorsOnly),
        ChannelPostPolicy::FullMembers if sender.is_guest() => Err(SendError::GuestRefused),
        ChannelPostPolicy::FullMembers if !sender.is_full_member(waiting_days, now_s) => {
            Err(SendError::NewMemberRefused)
        }
        _ => Ok(()),
    }
}

/// Checks whether the realm allows messages with that topic: no topic is refused where topics are mandatory.
///
/// # Errors
/// [`SendError::TopicRequired`].
pub fn may_use_topic(realm: &RealmSnapshot, topic: &str) -> Result<(), SendError> {
    let mandatory = realm.realm().is_some_and(|realm| realm.rules.mandatory_topics);
    if mandatory && topic == NO_TOPIC { Err(SendError::TopicRequired) } else { Ok(()) }
}

/// The wildcard mention of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WildcardMention {
    /// Everybody in the channel.
    Channel,
    /// Everybody who took part in the topic; there are this many.
    Topic(usize),
}

/// Checks whether the sender may use the wildcard mention in the channel.
///
/// # Errors
/// When they may not, and it would reach many.
pub fn may_mention_wildcard(
    realm: &RealmSnapshot,
    sender: &User,
    (channel, wildcard): (ChannelId, WildcardMention),
    now_s: i64,
) -> Result<(), SendError> {
    let (reached, refusal) = match wildcard {
        WildcardMention::Channel => (realm.subscriber_count(channel), SendError::ChannelWildcardRefused),
        WildcardMention::Topic(participants) => (participants, SendError::TopicWildcardRefused),
    };
    let permitted = has_realm_permission(realm, sender, RealmPermission::MentionManyUsers, now_s);
    if permitted || reached <= LARGE_CHANNEL { Ok(()) } else { Err(refusal) }
}

/// Returns the users of a direct-message conversation, including the sender, in ascending order, if the sender may
/// write to them.
///
/// `is_new` says that the conversation has no message yet.
///
/// # Errors
/// See [`SendError`].
pub fn find_direct_recipients(
    realm: &RealmSnapshot,
    sender: &User,
    recipients: &[UserId],
    (is_new, now_s): (bool, i64),
) -> Result<Vec<UserId>, SendError> {
    if recipients.is_empty() {
        return Err(SendError::NoRecipients);
    }
    let all: BTreeSet<UserId> = recipients.iter().copied().chain([sender.id]).collect();
    if all.len() > MAX_DIRECT_MESSAGE_USERS {
        return Err(SendError::TooManyRecipients);
    }
    let find = |id: &UserId| realm.user(*id).ok_or(SendError::NoUserWithId(*id));
    let users: Vec<&Arc<User>> = all.iter().map(find).collect::<Result<_, _>>()?;
    for user in &users {
        if !user.is_active {
            return Err(SendError::UserDeactivated(user.public_email().into_owned()));
        }
    }
    check_direct_policies(realm, sender, &users, (is_new, now_s))?;
    Ok(all.into_iter().collect())
}

fn check_direct_policies(
    realm: &RealmSnapshot,
    sender: &User,
    users: &[&Arc<User>],
    (is_new, now_s): (bool, i64),
) -> Result<(), SendError> {
    // One's own notes, and messages of and to the realm's own bots, need no permission.
    let is_own_bot = |user: &User| user.bot.as_ref().is_some_and(|bot| bot.owner_id.is_none());
    let only_bots = users.iter().all(|user| user.id == sender.id || is_own_bot(user));
    let exempt = only_bots || sender.is_system_bot();
    let Some(rules) = realm.realm().map(|realm| &realm.rules).filter(|_| !exempt) else { return Ok(()) };
    let permits = |user: &User, permission| has_realm_permission(realm, user, permission, now_s);
    if rules.direct_messages == SystemGroup::Nobody.into() {
        return Err(SendError::DirectDisabled);
    }
    if !users.iter().any(|user| permits(user, RealmPermission::DirectMessages)) {
        return Err(SendError::DirectNotAuthorized);
    }
    if is_new && !permits(sender, RealmPermission::InitiateDirectMessages) {
        return Err(SendError::DirectNotInitiated);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::event::LogRecord;
    use crate::id::EventId;
    use crate::model::channel::ChannelPrivacy;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing::{self, NOW_S};

    fn text<T>(result: Result<T, SendError>) -> String {
        result.map_or_else(|error| error.to_string(), |_| "sent".to_owned())
    }

    fn with_channel(
        policy: ChannelPostPolicy,
        privacy: ChannelPrivacy,
        rules: RealmPermissionSettings,
    ) -> RealmSnapshot {
        let channel = Channel { post_policy: policy, ..testing::channel(20, privacy) };
        testing::realm(rules, vec![RealmChange::Channel(Box::new(channel))])
    }

    /// The same with the guest in it.
    fn with_guest(realm: &RealmSnapshot) -> RealmSnapshot {
        let inside = vec![RealmChange::Subscription(Box::new(testing::subscription(20, 6)))];
        realm.after_record(&LogRecord::new(EventId(11), 0, inside, None))
    }

    fn said_to(realm: &RealmSnapshot) -> [String; 5] {
        [1, 2, 3, 4, 6].map(|id| {
            let sender = realm.user(UserId(id)).unwrap();
            text(find_sendable_channel(realm, sender, ChannelId(20), NOW_S))
        })
    }

    #[test]
    fn a_post_policy_says_who_may_write() {
        let in_private = "Not authorized to send to channel 'Channel 20'";
        let public = |policy, rules| said_to(&with_guest(&with_channel(policy, ChannelPrivacy::WebPublic, rules)));
        assert_eq!(public(ChannelPostPolicy::Everyone, RealmPermissionSettings::default()), ["sent"; 5]);
        let refused = "Only organization administrators can send to this channel.";
        assert_eq!(
            public(ChannelPostPolicy::Administrators, RealmPermissionSettings::default()),
            ["sent", "sent", refused, refused, refused]
        );
        let refused = "Only organization administrators and moderators can send to this channel.";
        assert_eq!(
            public(ChannelPostPolicy::Moderators, RealmPermissionSettings::default()),
            ["sent", "sent", "sent", refused, refused]
        );
        let new = "New members cannot send to this channel.";
        let guest = "Guests cannot send to this channel.";
        let slow = RealmPermissionSettings { waiting_period_days: 1, ..RealmPermissionSettings::default() };
        assert_eq!(public(ChannelPostPolicy::FullMembers, slow), ["sent", "sent", "sent", new, guest]);
        let private = with_channel(
            ChannelPostPolicy::Everyone,
            ChannelPrivacy::PrivateSharedHistory,
            RealmPermissionSettings::default(),
        );
        let unknown = "Channel with ID '20' does not exist";
        assert_eq!(said_to(&private), [in_private, in_private, unknown, unknown, unknown]);
    }

    #[test]
    fn a_guest_reads_what_is_open_to_the_web_and_writes_only_where_they_are() {
        let visited =
            with_channel(ChannelPostPolicy::Everyone, ChannelPrivacy::WebPublic, RealmPermissionSettings::default());
        let refused = "Not authorized to send to channel 'Channel 20'";
        assert_eq!(said_to(&visited), ["sent", "sent", "sent", "sent", refused]);
        assert_eq!(said_to(&with_guest(&visited)), ["sent"; 5]);
    }

    #[test]
    fn a_channel_that_is_not_there_is_named_as_it_was_asked_for() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let sender = realm.user(UserId(4)).unwrap();
        assert_eq!(
            text(find_sendable_channel(&realm, sender, ChannelId(9), NOW_S)),
            "Channel with ID '9' does not exist"
        );
        assert_eq!(text(find_sendable_channel_by_name(&realm, sender, "x", NOW_S)), "Channel 'x' does not exist");
    }

    #[test]
    fn a_conversation_is_its_users_and_the_sender() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let sender = realm.user(UserId(4)).unwrap();
        let to = |ids: &[i64]| {
            let ids: Vec<UserId> = ids.iter().copied().map(UserId).collect();
            find_direct_recipients(&realm, sender, &ids, (true, NOW_S))
        };
        assert_eq!(to(&[6, 1, 6]), Ok(vec![UserId(1), UserId(4), UserId(6)]));
        assert_eq!(to(&[4]), Ok(vec![UserId(4)]));
        assert_eq!(text(to(&[])), "Message must have recipients");
        assert_eq!(text(to(&[1, 99])), "Invalid user ID 99");
        assert_eq!(text(to(&(100..400).collect::<Vec<_>>())), "Too many recipients (maximum 200).");
    }

    #[test]
    fn nobody_writes_to_a_deactivated_account() {
        let gone = User { is_active: false, ..testing::user(7, Role::Member) };
        let realm = testing::realm(RealmPermissionSettings::default(), vec![RealmChange::User(Box::new(gone))]);
        let sender = realm.user(UserId(4)).unwrap();
        assert_eq!(
            text(find_direct_recipients(&realm, sender, &[UserId(7)], (false, NOW_S))),
            "'User7@example.org' is no longer using the chat."
        );
    }

    #[test]
    fn a_realm_may_have_no_direct_messages_but_ones_own_notes() {
        let rules = RealmPermissionSettings {
            direct_messages: SystemGroup::Nobody.into(),
            ..RealmPermissionSettings::default()
        };
        let realm = testing::realm(rules, Vec::new());
        let owner = realm.user(UserId(1)).unwrap();
        assert_eq!(
            text(find_direct_recipients(&realm, owner, &[UserId(4)], (false, NOW_S))),
            "Direct messages are disabled in this organization."
        );
        assert_eq!(text(find_direct_recipients(&realm, owner, &[UserId(1)], (true, NOW_S))), "sent");
    }

    #[test]
    fn one_user_of_a_conversation_suffices_to_permit_it_but_not_to_begin_it() {
        let rules = RealmPermissionSettings {
            direct_messages: SystemGroup::Administrators.into(),
            initiate_direct_messages: SystemGroup::Moderators.into(),
            ..RealmPermissionSettings::default()
        };
        let realm = testing::realm(rules, Vec::new());
        let member = realm.user(UserId(4)).unwrap();
        let to = |id, is_new| text(find_direct_recipients(&realm, member, &[UserId(id)], (is_new, NOW_S)));
        assert_eq!(to(6, false), "This conversation does not include any users who can authorize it.");
        assert_eq!(to(2, false), "sent");
        assert_eq!(to(2, true), "You do not have permission to initiate direct message conversations.");
    }

    #[test]
    fn everybody_in_a_large_channel_is_mentioned_by_permission_only() {
        let mut changes = vec![RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public)))];
        for id in 100..116 {
            changes.push(RealmChange::User(Box::new(testing::user(id, Role::Member))));
            changes.push(RealmChange::Subscription(Box::new(testing::subscription(20, id))));
        }
        let realm = testing::realm(RealmPermissionSettings::default(), changes);
        let mention = |id, wildcard| {
            let sender = realm.user(UserId(id)).unwrap();
            text(may_mention_wildcard(&realm, sender, (ChannelId(20), wildcard), NOW_S))
        };
        assert_eq!(mention(2, WildcardMention::Channel), "sent");
        assert_eq!(
            mention(4, WildcardMention::Channel),
            "You do not have permission to use channel wildcard mentions in this channel."
        );
        assert_eq!(mention(4, WildcardMention::Topic(15)), "sent");
        assert_eq!(
            mention(4, WildcardMention::Topic(16)),
            "You do not have permission to use topic wildcard mentions in this topic."
        );
    }
}

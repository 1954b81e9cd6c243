//! Who may edit, move and delete a message, and for how long.

mod apply;
mod history;
mod html_diff;
mod permission;
mod text;
mod write;

use std::sync::Arc;

use crate::id::{ChannelId, MessageId};
use crate::limits::EDIT_GRACE_PERIOD_S;
use crate::messages::notices::MoveNotices;
use crate::model::channel::Channel;
use crate::model::message::{Message, MessageContentError, Recipient, TopicError};
use crate::model::realm::RealmPermissionSettings;
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::User;
use crate::permission::access::{ChannelNotFound, find_visible_channel, may_react_or_edit};
use crate::permission::group_settings::has_realm_permission;
use crate::permission::send_message::{SendError, may_send_to_channel};

use apply::{EditContext, RenderedText, apply, companions};
pub use history::{EditHistoryHidden, message_edit_history, require_visible_edit_history};
pub use html_diff::html_diff;
pub use permission::MessageDeleteError;
pub(in crate::messages) use permission::may_delete;
use permission::{may_change_topic, only_resolves};
pub use write::edit_or_move_message;

/// The messages of a topic that move together with an edited one: `propagate_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PropagateMode {
    /// None.
    One,
    /// Those after it.
    Later,
    /// All.
    All,
}

impl PropagateMode {
    /// Returns the name of the mode on the wire.
    #[must_use]
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::One => "change_one",
            Self::Later => "change_later",
            Self::All => "change_all",
        }
    }

    /// Parses the wire's `propagate_mode`.
    ///
    /// # Errors
    /// When it is none of the three names.
    pub fn parse(name: &str) -> Result<Self, MessageEditError> {
        let mut all = [Self::One, Self::Later, Self::All].into_iter();
        all.find(|mode| mode.wire_name() == name).ok_or(MessageEditError::UnknownPropagate)
    }
}

/// A request to edit or move a message. What is `None` stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct MessageEditRequest<'a> {
    /// The text, as typed; blank takes the text away.
    pub content: Option<&'a str>,
    /// The topic: as typed for [`edit_or_move_message`], checked by [`crate::model::message::normalize_topic`] for
    /// [`plan`].
    pub topic: Option<&'a str>,
    /// The channel.
    pub channel_id: Option<ChannelId>,
    /// What moves with it; `None` for the message alone.
    pub propagate: Option<PropagateMode>,
    /// The SHA-256 of the text that the caller edits, in lower-case hexadecimal; with another text nothing is edited.
    pub prev_content_sha256: Option<&'a str>,
    /// The topics that get a notice when messages move.
    pub notices: MoveNotices,
}

/// The changes that an edit makes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EditPlan {
    /// The new text.
    content: Option<String>,
    /// Where the message goes.
    to: Option<MessageMove>,
}

/// The destination of a moved message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MessageMove {
    /// The channel it will be in; the same or another.
    channel_id: ChannelId,
    /// The topic it will be under; the same or another.
    topic: String,
    /// What goes with it.
    propagate: PropagateMode,
}

/// What stands in the place of a text that was taken away.
const DELETED: &str = "(deleted)";

/// The reason why a message may not be edited or moved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageEditError {
    /// What it shows is not in its text.
    #[error("Widgets cannot be edited.")]
    Widget,
    /// Nothing would be different.
    #[error("Nothing to change")]
    NothingToChange,
    /// The realm lets nobody edit.
    #[error("Your organization has turned off message editing")]
    EditingOff,
    /// The text is not the one that the caller edits.
    #[error("'prev_content_sha256' value does not match the expected value.")]
    ContentChanged,
    /// It is another user's.
    #[error("You don't have permission to edit this message")]
    NotPermitted,
    /// The text may not change any more.
    #[error("The time limit for editing this message has passed")]
    ContentTooLate,
    /// The topic may not change any more.
    #[error("The time limit for editing this message's topic has passed.")]
    TopicTooLate,
    /// The channel may not change any more.
    #[error("The time limit for editing this message's channel has passed")]
    ChannelTooLate,
    /// A message to users stays one.
    #[error("Direct messages cannot be moved to channels.")]
    DirectToChannel,
    /// A message to users has no topic.
    #[error("Direct messages cannot have topics.")]
    DirectTopic,
    /// There is no such way to take others along.
    #[error("Invalid propagate_mode")]
    UnknownPropagate,
    /// Others only come along when it moves.
    #[error("Invalid propagate_mode without topic edit")]
    PropagateWithoutMove,
    /// One thing at a time.
    #[error("Cannot change message content while changing channel")]
    ContentAndChannel,
    /// The realm does not let this user mark topics as resolved.
    #[error("You don't have permission to resolve topics in this channel.")]
    ResolveNotPermitted,
    /// The realm does not let this user move between channels.
    #[error("You don't have permission to move this message")]
    MoveNotPermitted,
    /// The text cannot be one.
    #[error(transparent)]
    Content(#[from] MessageContentError),
    /// The topic cannot be one.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The channel is not there for them.
    #[error(transparent)]
    Channel(#[from] ChannelNotFound),
    /// They may not write to the channel it would go to.
    #[error(transparent)]
    Send(#[from] SendError),
    /// Some messages of the topic are too old to move.
    #[error("You only have permission to move the {allowed}/{total} most recent messages in this topic.")]
    PartlyTooLate {
        /// The oldest that may move.
        first_allowed: MessageId,
        /// How many may.
        allowed: u64,
        /// How many there are.
        total: u64,
    },
}

/// Returns what a user, who may read the message, may change of what they want to.
fn plan(
    realm: &RealmSnapshot,
    user: &User,
    message: &Message,
    (request, now_s): (MessageEditRequest<'_>, i64),
) -> Result<EditPlan, MessageEditError> {
    let default = RealmPermissionSettings::default();
    let rules = realm.realm().map_or(&default, |realm| &realm.rules);
    may_react_or_edit(realm, user, message).map_err(|_| MessageEditError::NotPermitted)?;
    let content = plan_content(rules, user, message, (request.content, now_s))?;
    let to = match message.recipient {
        Recipient::Direct(_) => {
            refuse_move_of_direct(&request)?;
            None
        }
        Recipient::Channel(from) => plan_move(realm, user, message, (from, request, now_s))?,
    };
    if content.is_none() && to.is_none() {
        return Err(MessageEditError::NothingToChange);
    }
    Ok(EditPlan { content, to })
}

fn plan_content(
    rules: &RealmPermissionSettings,
    user: &User,
    message: &Message,
    (content, now_s): (Option<&str>, i64),
) -> Result<Option<String>, MessageEditError> {
    let Some(content) = content else { return Ok(None) };
    check_content_edit(rules, user, message, now_s)?;
    let content = match crate::model::message::normalize_message_content(content) {
        Err(MessageContentError::Empty) => DELETED.to_owned(),
        written => written?,
    };
    Ok((content != message.content).then_some(content))
}

fn check_content_edit(
    rules: &RealmPermissionSettings,
    user: &User,
    message: &Message,
    now_s: i64,
) -> Result<(), MessageEditError> {
    if !rules.allow_editing {
        return Err(MessageEditError::EditingOff);
    }
    if message.sender_id != user.id {
        return Err(MessageEditError::NotPermitted);
    }
    if is_too_late(rules.edit_limit_s, message, now_s) {
        return Err(MessageEditError::ContentTooLate);
    }
    if message.content_flags.is_widget { Err(MessageEditError::Widget) } else { Ok(()) }
}

/// Returns whether a user, who may read the message, may change its text now.
///
/// # Errors
/// The reason why they may not; see [`MessageEditError`].
pub fn may_edit_content(
    realm: &RealmSnapshot,
    user: &User,
    message: &Message,
    now_s: i64,
) -> Result<(), MessageEditError> {
    let default = RealmPermissionSettings::default();
    let rules = realm.realm().map_or(&default, |realm| &realm.rules);
    may_react_or_edit(realm, user, message).map_err(|_| MessageEditError::NotPermitted)?;
    check_content_edit(rules, user, message, now_s)
}

fn refuse_move_of_direct(request: &MessageEditRequest<'_>) -> Result<(), MessageEditError> {
    match request {
        MessageEditRequest { channel_id: Some(_), .. } => Err(MessageEditError::DirectToChannel),
        MessageEditRequest { topic: Some(_), .. } => Err(MessageEditError::DirectTopic),
        _ => Ok(()),
    }
}

fn plan_move(
    realm: &RealmSnapshot,
    user: &User,
    message: &Message,
    (from, request, now_s): (ChannelId, MessageEditRequest<'_>, i64),
) -> Result<Option<MessageMove>, MessageEditError> {
    let default = RealmPermissionSettings::default();
    let rules = realm.realm().map_or(&default, |realm| &realm.rules);
    let topic = request.topic.filter(|topic| *topic != message.topic);
    let channel_id = request.channel_id.filter(|channel_id| *channel_id != from);
    if topic.is_none() && channel_id.is_none() {
        let alone = matches!(request.propagate, None | Some(PropagateMode::One));
        return if alone { Ok(None) } else { Err(MessageEditError::PropagateWithoutMove) };
    }
    let exempt = user.role <= Role::Moderator;
    if let Some(topic) = topic {
        may_change_topic(realm, user, message, (only_resolves(&message.topic, topic), now_s))?;
    }
    if let Some(channel_id) = channel_id {
        if request.content.is_some() {
            return Err(MessageEditError::ContentAndChannel);
        }
        if !has_realm_permission(realm, user, RealmPermission::MoveBetweenChannels, now_s) {
            return Err(MessageEditError::MoveNotPermitted);
        }
        let to: &Arc<Channel> = find_visible_channel(realm, user, channel_id)?;
        may_send_to_channel(realm, user, to, now_s)?;
        if !exempt && is_too_late(rules.move_channel_limit_s, message, now_s) {
            return Err(MessageEditError::ChannelTooLate);
        }
    }
    Ok(Some(MessageMove {
        channel_id: channel_id.unwrap_or(from),
        topic: topic.unwrap_or(&message.topic).to_owned(),
        propagate: request.propagate.unwrap_or(PropagateMode::One),
    }))
}

/// Whether the messages that would come along are young enough: `messages` are all of them, with the time each was
/// sent in unix seconds, the oldest first.
fn may_take_along(
    rules: &RealmPermissionSettings,
    user: &User,
    messages: &[(MessageId, i64)],
    (to_other_channel, now_s): (bool, i64),
) -> Result<(), MessageEditError> {
    let limit_s = if to_other_channel { rules.move_channel_limit_s } else { rules.move_topic_limit_s };
    let Some(limit_s) = limit_s.filter(|_| user.role > Role::Moderator) else { return Ok(()) };
    let oldest_s = now_s.saturating_sub(limit_s);
    let young = messages.partition_point(|(_, sent_s)| *sent_s < oldest_s);
    match messages.get(young) {
        _ if young == 0 => Ok(()),
        Some((first_allowed, _)) => {
            let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
            let (allowed, total) = (count(messages.len() - young), count(messages.len()));
            Err(MessageEditError::PartlyTooLate { first_allowed: *first_allowed, allowed, total })
        }
        None => Err(MessageEditError::TopicTooLate),
    }
}

fn is_too_late(limit_s: Option<i64>, message: &Message, now_s: i64) -> bool {
    limit_s.is_some_and(|limit_s| now_s > message.sent_s.saturating_add(limit_s).saturating_add(EDIT_GRACE_PERIOD_S))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{DirectConversationId, EventId, UserId};
    use crate::model::channel::ChannelPrivacy;
    use crate::model::message::ContentFlags;
    use crate::model::realm_change::RealmChange;
    use crate::testing::{self, NOW_S};

    fn message(sender: i64, recipient: Recipient) -> Message {
        Message {
            id: MessageId(50),
            sender_id: UserId(sender),
            recipient,
            direct_users: Vec::new(),
            topic: "lunch".to_owned(),
            content: "hi".to_owned(),
            html: "<p>hi</p>".to_owned(),
            sent_s: NOW_S,
            client: "test".to_owned(),
            content_flags: ContentFlags::default(),
            last_edit_s: None,
            revision: EventId(50),
            reactions: Vec::new(),
            submessages: Vec::new(),
        }
    }

    fn realm(rules: RealmPermissionSettings) -> RealmSnapshot {
        let channels = [20, 21].map(|id| RealmChange::Channel(Box::new(testing::channel(id, ChannelPrivacy::Public))));
        let closed = RealmChange::Channel(Box::new(testing::channel(22, ChannelPrivacy::PrivateSharedHistory)));
        let guest = RealmChange::Subscription(Box::new(testing::subscription(20, 6)));
        testing::realm(rules, channels.into_iter().chain([closed, guest]).collect())
    }

    /// Returns what user `id` is told who wants to edit a message of user 4.
    fn outcome(rules: RealmPermissionSettings, id: i64, (request, after_s): (MessageEditRequest<'_>, i64)) -> String {
        let realm = realm(rules);
        let user = realm.user(UserId(id)).unwrap();
        let message = message(4, Recipient::Channel(ChannelId(20)));
        match plan(&realm, user, &message, (request, NOW_S + after_s)) {
            Ok(plan) => format!("{plan:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_text_is_its_senders_for_a_while() {
        let request = MessageEditRequest { content: Some("new"), ..MessageEditRequest::default() };
        assert_eq!(
            outcome(RealmPermissionSettings::default(), 4, (request, 620)),
            "EditPlan { content: Some(\"new\"), to: None }"
        );
        assert_eq!(
            outcome(RealmPermissionSettings::default(), 4, (request, 621)),
            "The time limit for editing this message has passed"
        );
        assert_eq!(
            outcome(RealmPermissionSettings::default(), 1, (request, 0)),
            "You don't have permission to edit this message"
        );
        let off = RealmPermissionSettings { allow_editing: false, ..RealmPermissionSettings::default() };
        assert_eq!(outcome(off, 4, (request, 0)), "Your organization has turned off message editing");
        let blank = MessageEditRequest { content: Some(" "), ..MessageEditRequest::default() };
        assert_eq!(
            outcome(RealmPermissionSettings::default(), 4, (blank, 0)),
            "EditPlan { content: Some(\"(deleted)\"), to: None }"
        );
    }

    #[test]
    fn a_nul_does_not_delete_the_text() {
        let nul = MessageEditRequest { content: Some("a\0b"), ..MessageEditRequest::default() };
        assert_eq!(outcome(RealmPermissionSettings::default(), 4, (nul, 0)), "Message must not contain null bytes");
    }

    #[test]
    fn an_edit_that_changes_nothing_is_refused() {
        let same = MessageEditRequest { content: Some("hi"), topic: Some("lunch"), ..MessageEditRequest::default() };
        assert_eq!(outcome(RealmPermissionSettings::default(), 4, (same, 0)), "Nothing to change");
        let alone = MessageEditRequest { propagate: Some(PropagateMode::All), ..same };
        assert_eq!(
            outcome(RealmPermissionSettings::default(), 4, (alone, 0)),
            "Invalid propagate_mode without topic edit"
        );
    }

    #[test]
    fn a_topic_moves_within_a_week_unless_a_moderator_does_it() {
        let request = MessageEditRequest {
            topic: Some("dinner"),
            propagate: Some(PropagateMode::Later),
            ..MessageEditRequest::default()
        };
        let moved = "EditPlan { content: None, to: Some(MessageMove { channel_id: ChannelId(20), topic: \"dinner\", \
                     propagate: Later }) }";
        assert_eq!(outcome(RealmPermissionSettings::default(), 6, (request, 0)), moved);
        let late = "The time limit for editing this message's topic has passed.";
        assert_eq!(outcome(RealmPermissionSettings::default(), 6, (request, 604_821)), late);
        assert_eq!(outcome(RealmPermissionSettings::default(), 3, (request, 604_821)), moved);
    }

    #[test]
    fn a_message_moves_to_where_its_mover_may_write() {
        let to = |id| MessageEditRequest { channel_id: Some(ChannelId(id)), ..MessageEditRequest::default() };
        assert!(outcome(RealmPermissionSettings::default(), 4, (to(21), 0)).contains("channel_id: ChannelId(21)"));
        assert_eq!(outcome(RealmPermissionSettings::default(), 4, (to(22), 0)), "Invalid channel ID");
        assert_eq!(
            outcome(RealmPermissionSettings::default(), 6, (to(21), 0)),
            "You don't have permission to move this message"
        );
        let both = MessageEditRequest { content: Some("new"), ..to(21) };
        assert_eq!(
            outcome(RealmPermissionSettings::default(), 4, (both, 0)),
            "Cannot change message content while changing channel"
        );
    }

    #[test]
    fn a_direct_message_does_not_move() {
        let realm = realm(RealmPermissionSettings::default());
        let user = realm.user(UserId(4)).unwrap();
        let direct = message(4, Recipient::Direct(DirectConversationId(3)));
        let outcome = |request| plan(&realm, user, &direct, (request, NOW_S)).unwrap_err().to_string();
        assert_eq!(
            outcome(MessageEditRequest { topic: Some("x"), ..MessageEditRequest::default() }),
            "Direct messages cannot have topics."
        );
        let to_channel = MessageEditRequest { channel_id: Some(ChannelId(20)), ..MessageEditRequest::default() };
        assert_eq!(outcome(to_channel), "Direct messages cannot be moved to channels.");
    }

    #[test]
    fn of_an_old_topic_the_younger_part_may_move() {
        let rules = RealmPermissionSettings { move_topic_limit_s: Some(100), ..RealmPermissionSettings::default() };
        let messages: Vec<_> = (0..10).map(|place| (MessageId(place), NOW_S - 90 + 10 * place)).collect();
        let outcome = |id: i64, after_s| {
            let role = if id == 3 { Role::Moderator } else { Role::Member };
            may_take_along(&rules, &testing::user(id, role), &messages, (false, NOW_S + after_s))
                .map_err(|error| error.to_string())
        };
        assert_eq!(outcome(4, 10), Ok(()));
        assert_eq!(
            outcome(4, 35),
            Err("You only have permission to move the 7/10 most recent messages in this topic.".to_owned())
        );
        assert_eq!(outcome(4, 1_000), Err("The time limit for editing this message's topic has passed.".to_owned()));
        assert_eq!(outcome(3, 1_000), Ok(()));
    }
}

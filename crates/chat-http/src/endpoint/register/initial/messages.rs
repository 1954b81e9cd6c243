//! What the state says of messages. Newer ones than the queue's first event are left to the queue.

use chat_core::id::{ChannelId, EventId, MessageId, UserId};
use chat_core::messages::narrow::{Anchor, MessageWindow, ReadableMessageSelection};
use chat_core::messages::reminders::Reminder;
use chat_core::messages::scheduled::ScheduledMessage;
use chat_core::messages::{draft, flag_update, topic_visibility_policy};
use chat_core::model::message::{MessageFlag, Recipient};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user_message::{UnreadConversation, UnreadMessages};
use serde::Serialize;
use serde_json::{Value, json};

use super::{InitialState, InitialStateRequest};
use crate::error::ApiError;

/// The most unread messages that the state lists, the newest.
const UNREAD_MAX: usize = 50_000;
/// The most sets of users that the state lists, those with the newest messages.
const DIRECTS_MAX: usize = 1_000;

pub(super) async fn add(request: &InitialStateRequest<'_>, state: &mut InitialState) -> Result<(), ApiError> {
    let wants = |kind| request.wants(kind);
    if wants("message") {
        state.put("max_message_id", max_message_id(request).await?);
    }
    if wants("message") && wants("update_message_flags") {
        state.write("unread_msgs", &unread(request).await?)?;
    }
    if wants("starred_messages") {
        state.put("starred_messages", starred(request).await?);
    }
    if wants("scheduled_messages") {
        state.put("scheduled_messages", scheduled(request).await?);
    }
    if wants("reminders") {
        state.put("reminders", reminders(request).await?);
    }
    if wants("drafts") {
        state.put("drafts", drafts(request).await?);
    }
    if wants("recent_private_conversations") {
        state.put("recent_private_conversations", recent_directs(request).await?);
    }
    Ok(())
}

/// Returns whether the message is in the state and not left to the queue.
fn is_listed(request: &InitialStateRequest<'_>, message: MessageId) -> bool {
    EventId::from(message) <= request.realm.log_position()
}

/// Returns the newest message the user has; -1 without one. It may be newer than the queue's first event, which asks
/// for no more than clients do anyway: to take a number they have seen already again.
async fn max_message_id(request: &InitialStateRequest<'_>) -> Result<Value, ApiError> {
    let selection = ReadableMessageSelection::new(request.realm, request.user, Vec::new());
    let newest = MessageWindow { anchor: Anchor::Newest, before: 1, after: 0, include_anchor: false };
    let page = request.app.messages.load_message_window(&selection, newest).await?;
    Ok(page.messages.last().map_or(json!(-1), |(message, _)| json!(message.id)))
}

async fn starred(request: &InitialStateRequest<'_>) -> Result<Value, ApiError> {
    let mut ids = request.app.messages.flagged_message_ids(request.user.id, MessageFlag::Starred).await?;
    ids.retain(|id| is_listed(request, *id));
    // A message that was moved out of the user's sight keeps its star and is not named.
    Ok(json!(flag_update::readable_message_ids(&request.app.message_ports(), request.user, &ids).await?))
}

/// As they are now. What changed since the queue's first event is in the queue too; what came since, in the queue
/// alone.
async fn scheduled(request: &InitialStateRequest<'_>) -> Result<Value, ApiError> {
    let scheduled = request.app.scheduled.scheduled_messages_of_user(request.user.id).await?;
    let shown = scheduled.iter().filter(|message| message.id.0 <= request.realm.log_position().0);
    Ok(shown.map(ScheduledMessage::to_wire_object).collect())
}

/// As [`scheduled`].
async fn reminders(request: &InitialStateRequest<'_>) -> Result<Value, ApiError> {
    let reminders = request.app.reminders.reminders_of_user(request.user.id).await?;
    let shown = reminders.iter().filter(|reminder| reminder.id.0 <= request.realm.log_position().0);
    Ok(shown.map(Reminder::to_wire_object).collect())
}

/// As [`scheduled`].
async fn drafts(request: &InitialStateRequest<'_>) -> Result<Value, ApiError> {
    if !draft::is_draft_sync_enabled(request.realm, request.user.id) {
        return Ok(json!([]));
    }
    let drafts = request.app.drafts.drafts_of_user(request.user.id).await?;
    let shown = drafts.iter().filter(|(id, _)| id.0 <= request.realm.log_position().0);
    Ok(shown.map(|(id, draft)| draft.to_wire_object(*id)).collect())
}

async fn recent_directs(request: &InitialStateRequest<'_>) -> Result<Value, ApiError> {
    let own = request.user.id;
    let recent = request.app.messages.recent_direct_conversations(own, DIRECTS_MAX).await?;
    let shown = recent.into_iter().map(|(mut users, max_message_id)| {
        users.retain(|user| *user != own);
        json!({"user_ids": users, "max_message_id": max_message_id})
    });
    Ok(shown.collect())
}

async fn unread(request: &InitialStateRequest<'_>) -> Result<UnreadSummary, ApiError> {
    let selection = ReadableMessageSelection::new(request.realm, request.user, Vec::new());
    let unread = request.app.messages.unread_messages(&selection, UNREAD_MAX).await?;
    let is_cut = unread.count() == UNREAD_MAX;
    Ok(UnreadSummary::of(
        (request.realm, request.user.id),
        unread.keep_sent_until(request.realm.log_position()),
        is_cut,
    ))
}

/// The unread messages of the state, by conversation.
#[derive(Serialize)]
struct UnreadSummary {
    count: usize,
    /// By the other user; the own number for messages to oneself.
    pms: Vec<UnreadDirect>,
    huddles: Vec<UnreadGroupDirect>,
    streams: Vec<UnreadTopic>,
    mentions: Vec<MessageId>,
    old_unreads_missing: bool,
}

/// Both names of the other user are in use.
#[derive(Serialize)]
struct UnreadDirect {
    other_user_id: UserId,
    sender_id: UserId,
    unread_message_ids: Vec<MessageId>,
}

#[derive(Serialize)]
struct UnreadGroupDirect {
    /// The numbers of all users, joined by commas.
    user_ids_string: String,
    unread_message_ids: Vec<MessageId>,
}

#[derive(Serialize)]
struct UnreadTopic {
    stream_id: ChannelId,
    topic: String,
    unread_message_ids: Vec<MessageId>,
}

impl UnreadSummary {
    /// Lists muted messages without counting them, as existing clients know it.
    fn of((realm, own): (&RealmSnapshot, UserId), unread: UnreadMessages, is_cut: bool) -> Self {
        let is_muted = |channel, topic: &str| topic_visibility_policy::is_topic_muted(realm, own, channel, topic);
        let mut count = 0;
        let (mut pms, mut huddles, mut streams) = (Vec::new(), Vec::new(), Vec::new());
        for UnreadConversation { recipient, direct_users, topic, ids: unread_message_ids } in unread.places {
            let counts = !matches!(recipient, Recipient::Channel(channel) if is_muted(channel, &topic));
            count += if counts { unread_message_ids.len() } else { 0 };
            match (recipient, direct_users.as_slice()) {
                (Recipient::Channel(stream_id), _) => {
                    streams.push(UnreadTopic { stream_id, topic, unread_message_ids });
                }
                (Recipient::Direct(_), users @ ([_] | [_, _])) => {
                    let other = users.iter().copied().find(|user| *user != own).unwrap_or(own);
                    pms.push(UnreadDirect { other_user_id: other, sender_id: other, unread_message_ids });
                }
                (Recipient::Direct(_), users) => {
                    let users: Vec<_> = users.iter().map(ToString::to_string).collect();
                    huddles.push(UnreadGroupDirect { user_ids_string: users.join(","), unread_message_ids });
                }
            }
        }
        pms.sort_unstable_by_key(|place| place.other_user_id);
        huddles.sort_unstable_by(|one, other| one.user_ids_string.cmp(&other.user_ids_string));
        streams.sort_unstable_by(|one, other| (one.stream_id, &one.topic).cmp(&(other.stream_id, &other.topic)));
        Self { count, pms, huddles, streams, mentions: unread.mentions, old_unreads_missing: is_cut }
    }
}

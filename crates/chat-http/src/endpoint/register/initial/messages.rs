//! What the state says of messages. Newer ones than the queue's first event are left to the queue.

use chat_core::id::{ChannelId, EventId, MessageId, UserId};
use chat_core::messages::narrow::{Anchor, MessageSelection, MessageWindow};
use chat_core::messages::scheduled::ScheduledMessage;
use chat_core::messages::{draft, topic_policy};
use chat_core::model::message::{Flag, Recipient};
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user_message::{UnreadConversation, UnreadMessages};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Newcomer, State};
use crate::endpoint::flags::readable_by;
use crate::error::Fault;

/// Unread messages told at most, the newest.
const UNREAD_MAX: usize = 50_000;
/// Sets of users told at most, those with the newest messages.
const DIRECTS_MAX: usize = 1_000;

pub(super) async fn add(newcomer: &Newcomer<'_>, state: &mut State) -> Result<(), Fault> {
    let wants = |kind| newcomer.wants(kind);
    if wants("message") {
        state.put("max_message_id", max_message_id(newcomer).await?);
    }
    if wants("message") && wants("update_message_flags") {
        state.write("unread_msgs", &unread(newcomer).await?)?;
    }
    if wants("starred_messages") {
        state.put("starred_messages", starred(newcomer).await?);
    }
    if wants("scheduled_messages") {
        state.put("scheduled_messages", scheduled(newcomer).await?);
    }
    if wants("drafts") {
        state.put("drafts", drafts(newcomer).await?);
    }
    if wants("recent_private_conversations") {
        state.put("recent_private_conversations", recent_directs(newcomer).await?);
    }
    Ok(())
}

/// Returns whether the message is in the state and not left to the queue.
fn is_told(newcomer: &Newcomer<'_>, message: MessageId) -> bool {
    EventId::from(message) <= newcomer.realm.at()
}

/// Returns the newest message the user has; -1 without one. It may be newer than the queue's first event, which asks
/// for no more than clients do anyway: to take a number they have seen already again.
async fn max_message_id(newcomer: &Newcomer<'_>) -> Result<Value, Fault> {
    let selection = MessageSelection::new(newcomer.realm, newcomer.user, Vec::new());
    let newest = MessageWindow { anchor: Anchor::Newest, before: 1, after: 0, include_anchor: false };
    let page = newcomer.app.messages.window(&selection, newest).await?;
    Ok(page.messages.last().map_or(json!(-1), |(message, _)| json!(message.id)))
}

async fn starred(newcomer: &Newcomer<'_>) -> Result<Value, Fault> {
    let mut ids = newcomer.app.messages.flagged(newcomer.user.id, Flag::Starred).await?;
    ids.retain(|id| is_told(newcomer, *id));
    // A message that was moved out of the user's sight keeps its star and is not named.
    Ok(json!(readable_by(newcomer.app, newcomer.user, &ids).await?))
}

/// As they are now. What changed since the queue's first event is told again; what came since, by the queue alone.
async fn scheduled(newcomer: &Newcomer<'_>) -> Result<Value, Fault> {
    let scheduled = newcomer.app.scheduled.scheduled_of(newcomer.user.id).await?;
    let told = scheduled.iter().filter(|message| message.id.0 <= newcomer.realm.at().0);
    Ok(told.map(ScheduledMessage::object).collect())
}

/// As [`scheduled`].
async fn drafts(newcomer: &Newcomer<'_>) -> Result<Value, Fault> {
    if !draft::are_kept(newcomer.realm, newcomer.user.id) {
        return Ok(json!([]));
    }
    let drafts = newcomer.app.drafts.drafts_of(newcomer.user.id).await?;
    let told = drafts.iter().filter(|(id, _)| id.0 <= newcomer.realm.at().0);
    Ok(told.map(|(id, draft)| draft.object(*id)).collect())
}

async fn recent_directs(newcomer: &Newcomer<'_>) -> Result<Value, Fault> {
    let own = newcomer.user.id;
    let recent = newcomer.app.messages.recent_directs(own, DIRECTS_MAX).await?;
    let shown = recent.into_iter().map(|(mut users, max_message_id)| {
        users.retain(|user| *user != own);
        json!({"user_ids": users, "max_message_id": max_message_id})
    });
    Ok(shown.collect())
}

async fn unread(newcomer: &Newcomer<'_>) -> Result<Told, Fault> {
    let selection = MessageSelection::new(newcomer.realm, newcomer.user, Vec::new());
    let unread = newcomer.app.messages.unread(&selection, UNREAD_MAX).await?;
    let is_cut = unread.count() == UNREAD_MAX;
    Ok(Told::of((newcomer.realm, newcomer.user.id), unread.until(newcomer.realm.at()), is_cut))
}

/// Unread messages as clients are told of them, by where they are.
#[derive(Serialize)]
struct Told {
    count: usize,
    /// By the other user; the own number for messages to oneself.
    pms: Vec<WithUser>,
    huddles: Vec<WithUsers>,
    streams: Vec<InTopic>,
    mentions: Vec<MessageId>,
    old_unreads_missing: bool,
}

/// Both names of the other user are in use.
#[derive(Serialize)]
struct WithUser {
    other_user_id: UserId,
    sender_id: UserId,
    unread_message_ids: Vec<MessageId>,
}

#[derive(Serialize)]
struct WithUsers {
    /// The numbers of all users, joined by commas.
    user_ids_string: String,
    unread_message_ids: Vec<MessageId>,
}

#[derive(Serialize)]
struct InTopic {
    stream_id: ChannelId,
    topic: String,
    unread_message_ids: Vec<MessageId>,
}

impl Told {
    /// Returns what is muted is told and not counted, as existing clients know it.
    fn of((realm, own): (&RealmSnapshot, UserId), unread: UnreadMessages, is_cut: bool) -> Self {
        let is_muted = |channel, topic: &str| topic_policy::is_muted(realm, own, channel, topic);
        let mut count = 0;
        let (mut pms, mut huddles, mut streams) = (Vec::new(), Vec::new(), Vec::new());
        for UnreadConversation { recipient, direct_users, topic, ids: unread_message_ids } in unread.places {
            let counts = !matches!(recipient, Recipient::Channel(channel) if is_muted(channel, &topic));
            count += if counts { unread_message_ids.len() } else { 0 };
            match (recipient, direct_users.as_slice()) {
                (Recipient::Channel(stream_id), _) => streams.push(InTopic { stream_id, topic, unread_message_ids }),
                (Recipient::Direct(_), users @ ([_] | [_, _])) => {
                    let other = users.iter().copied().find(|user| *user != own).unwrap_or(own);
                    pms.push(WithUser { other_user_id: other, sender_id: other, unread_message_ids });
                }
                (Recipient::Direct(_), users) => {
                    let users: Vec<_> = users.iter().map(ToString::to_string).collect();
                    huddles.push(WithUsers { user_ids_string: users.join(","), unread_message_ids });
                }
            }
        }
        pms.sort_unstable_by_key(|place| place.other_user_id);
        huddles.sort_unstable_by(|one, other| one.user_ids_string.cmp(&other.user_ids_string));
        streams.sort_unstable_by(|one, other| (one.stream_id, &one.topic).cmp(&(other.stream_id, &other.topic)));
        Self { count, pms, huddles, streams, mentions: unread.mentions, old_unreads_missing: is_cut }
    }
}

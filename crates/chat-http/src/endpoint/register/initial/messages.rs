//! What the state says of messages. Newer ones than the queue's first event are left to the queue.

use chat_core::draft;
use chat_core::id::{EventId, MessageId};
use chat_core::message::{Flag, Recipient};
use chat_core::narrow::{Anchor, Selection, Window};
use chat_core::ports::Unread;
use chat_core::scheduled::Scheduled;
use serde_json::{Map, Value, json};

use super::{Newcomer, State};
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
        state.put("unread_msgs", unread(newcomer).await?);
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

/// Whether the message is in the state and not left to the queue.
fn is_told(newcomer: &Newcomer<'_>, message: MessageId) -> bool {
    EventId::from(message) <= newcomer.realm.at()
}

/// The newest message the user has; -1 without one. It may be newer than the queue's first event, which asks for
/// no more than clients do anyway: to take a number they have seen already again.
async fn max_message_id(newcomer: &Newcomer<'_>) -> Result<Value, Fault> {
    let selection = Selection::new(newcomer.realm, newcomer.user, Vec::new());
    let newest = Window { anchor: Anchor::Newest, before: 1, after: 0, include_anchor: false };
    let page = newcomer.app.messages.window(&selection, newest).await?;
    Ok(page.messages.last().map_or(json!(-1), |(message, _)| json!(message.id)))
}

async fn starred(newcomer: &Newcomer<'_>) -> Result<Value, Fault> {
    let mut ids = newcomer.app.messages.flagged(newcomer.user.id, Flag::Starred).await?;
    ids.retain(|id| is_told(newcomer, *id));
    Ok(json!(ids))
}

/// As they are now. What changed since the queue's first event is told again; what came since, by the queue alone.
async fn scheduled(newcomer: &Newcomer<'_>) -> Result<Value, Fault> {
    let scheduled = newcomer.app.scheduled.scheduled_of(newcomer.user.id).await?;
    let told = scheduled.iter().filter(|message| message.id.0 <= newcomer.realm.at().0);
    Ok(told.map(Scheduled::object).collect())
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

async fn unread(newcomer: &Newcomer<'_>) -> Result<Value, Fault> {
    let selection = Selection::new(newcomer.realm, newcomer.user, Vec::new());
    let mut unread = newcomer.app.messages.unread(&selection, UNREAD_MAX).await?;
    let is_cut = unread.len() == UNREAD_MAX;
    unread.retain(|unread| is_told(newcomer, unread.id));
    Ok(UnreadMessages::of(newcomer, &unread).object(unread.len(), is_cut))
}

/// Unread messages by where they are, each list in the order of their numbers.
#[derive(Default)]
struct UnreadMessages {
    /// By the other user; the own number for messages to oneself.
    direct: Groups<i64>,
    /// By the numbers of all users, joined by commas.
    groups: Groups<String>,
    topics: Groups<(i64, String)>,
    mentions: Vec<MessageId>,
}

type Groups<K> = std::collections::BTreeMap<K, Vec<MessageId>>;

impl UnreadMessages {
    fn of(newcomer: &Newcomer<'_>, unread: &[Unread]) -> Self {
        let mut sorted = Self::default();
        for message in unread {
            if message.mentioned {
                sorted.mentions.push(message.id);
            }
            match message.recipient {
                Recipient::Channel(channel) => {
                    sorted.topics.entry((channel.0, message.topic.clone())).or_default().push(message.id);
                }
                Recipient::Direct(_) => match message.direct_users.as_slice() {
                    [_] | [_, _] => {
                        let other = message.direct_users.iter().find(|user| **user != newcomer.user.id);
                        sorted.direct.entry(other.unwrap_or(&newcomer.user.id).0).or_default().push(message.id);
                    }
                    users => {
                        let users: Vec<_> = users.iter().map(ToString::to_string).collect();
                        sorted.groups.entry(users.join(",")).or_default().push(message.id);
                    }
                },
            }
        }
        sorted
    }

    fn object(self, count: usize, is_cut: bool) -> Value {
        let list = |members: Value, ids: Vec<MessageId>| {
            let mut members = match members {
                Value::Object(members) => members,
                _ => Map::new(),
            };
            members.insert("unread_message_ids".to_owned(), json!(ids));
            Value::Object(members)
        };
        let direct = self.direct.into_iter().map(|(other, ids)| {
            // Both names of the other user are in use.
            list(json!({"other_user_id": other, "sender_id": other}), ids)
        });
        let groups = self.groups.into_iter().map(|(users, ids)| list(json!({"user_ids_string": users}), ids));
        let topics = self
            .topics
            .into_iter()
            .map(|((channel, topic), ids)| list(json!({"stream_id": channel, "topic": topic}), ids));
        json!({
            "count": count,
            "pms": direct.collect::<Value>(),
            "huddles": groups.collect::<Value>(),
            "streams": topics.collect::<Value>(),
            "mentions": self.mentions,
            "old_unreads_missing": is_cut,
        })
    }
}

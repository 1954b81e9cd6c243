//! Messages that got a flag of a user's, or lost it.
//!
//! Thousands at once are common, so the log has their numbers once, by where they are and as steps from one to the
//! next, and the text that clients are told is written when it is first asked for and shared by the user's queues. The
//! road not taken is the text itself: of what is not read any more it names the topic beside each message.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;

use super::{EventAudience, EventBody, NewEvent, QueueCondition};
use crate::id::{ChannelId, EventId, MessageId, UserId};
use crate::model::flag_change::FlagChange;

/// A flag change and the messages that it applies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageFlagsUpdate {
    /// The flag, and what became of it.
    pub mark: FlagChange,
    /// The messages, each once.
    pub places: Vec<ConversationFlagsUpdate>,
}

/// The messages of a flag change in one conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Logged")]
pub struct ConversationFlagsUpdate {
    /// Where they are, if clients are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<MessageLocation>,
    /// The messages; in the log, how far each is from the one before.
    #[serde(rename = "steps", serialize_with = "write_steps")]
    pub messages: Vec<MessageId>,
    /// Those of them that mention the user, in the same order, as far as clients are told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<MessageId>,
}

/// The same as a log has it: by steps, or by numbers where it was written before there were steps.
#[derive(Deserialize)]
struct Logged {
    #[serde(default)]
    place: Option<MessageLocation>,
    #[serde(default)]
    messages: Vec<MessageId>,
    #[serde(default)]
    steps: Vec<i64>,
    #[serde(default)]
    mentions: Vec<MessageId>,
}

impl From<Logged> for ConversationFlagsUpdate {
    fn from(Logged { place, mut messages, steps, mentions }: Logged) -> Self {
        let mut last = 0_i64;
        messages.extend(steps.into_iter().map(|step| {
            last = last.wrapping_add(step);
            MessageId(last)
        }));
        Self { place, messages, mentions }
    }
}

/// Neighbours are near each other, so steps are short texts where numbers are long ones.
fn write_steps<S: Serializer>(messages: &[MessageId], serializer: S) -> Result<S::Ok, S::Error> {
    let mut last = 0_i64;
    serializer.collect_seq(messages.iter().map(|id| {
        let step = id.0.wrapping_sub(last);
        last = id.0;
        step
    }))
}

/// The topic or the direct-message users of a message whose flag changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageLocation {
    /// In a topic.
    Topic {
        /// Its channel.
        channel_id: ChannelId,
        /// Its name.
        topic: String,
        /// Whether the user does not want to hear of it.
        is_muted: bool,
    },
    /// Among these users, the reader left out where there are others.
    Users(Vec<UserId>),
}

impl MessageFlagsUpdate {
    /// Returns an update of messages whose locations clients are not told.
    #[must_use]
    pub fn without_locations(mark: FlagChange, messages: Vec<MessageId>) -> Self {
        Self { mark, places: vec![ConversationFlagsUpdate { messages, ..ConversationFlagsUpdate::default() }] }
    }

    /// Returns the ids of all messages of the update, in ascending order.
    #[must_use]
    pub fn message_ids(&self) -> Vec<MessageId> {
        let mut messages: Vec<MessageId> =
            self.places.iter().flat_map(|place| place.messages.iter().copied()).collect();
        messages.sort_unstable();
        messages
    }

    /// Returns the event for the user's clients.
    #[must_use]
    pub fn event_for_user(self, user_id: UserId) -> NewEvent {
        NewEvent {
            audience: EventAudience::from_users([user_id]),
            gate: QueueCondition::Any,
            body: EventBody::Flagged(self),
        }
    }

    /// Returns the event as clients see it.
    pub(super) fn object(&self, id: EventId) -> String {
        let op = self.mark.op.wire_name();
        let mut event = json!({
            "id": id,
            "type": EventBody::FLAGS_EVENT_TYPE,
            "op": op,
            "operation": op,
            "flag": self.mark.flag.wire_name(),
            "all": false,
        })
        .to_string();
        event.pop();
        event.push_str(",\"messages\":");
        write_list(&self.message_ids(), &mut event);
        if self.mark.needs_message_details() {
            event.push_str(",\"message_details\":{");
            self.places.iter().for_each(|place| place.write_details(&mut event));
            // What stands behind the last of them.
            if event.ends_with(',') {
                event.pop();
            }
            event.push('}');
        }
        event.push('}');
        event
    }

    /// About how many bytes of memory it takes with its text.
    pub(super) fn weight_bytes(&self) -> usize {
        self.places.iter().map(ConversationFlagsUpdate::weight_bytes).sum()
    }
}

impl ConversationFlagsUpdate {
    /// The JSON of each message, with a comma behind it.
    fn write_details(&self, out: &mut String) {
        let place = match &self.place {
            Some(MessageLocation::Topic { channel_id, topic, is_muted }) => json!({
                "type": "stream", "stream_id": channel_id, "topic": topic, "unmuted_stream_msg": !is_muted,
            }),
            Some(MessageLocation::Users(users)) => json!({"type": "private", "user_ids": users}),
            None => return,
        };
        let place = place.to_string();
        let place = place.trim_end_matches('}');
        // They are among the messages in the same order.
        let mut mentions = self.mentions.iter().peekable();
        for id in &self.messages {
            let mentioned = mentions.next_if_eq(&id).map_or("", |_| ",\"mentioned\":true");
            // Writing to memory does not fail.
            let _ = write!(out, "\"{id}\":{place}{mentioned}}},");
        }
    }

    fn weight_bytes(&self) -> usize {
        /// The location of a message in JSON, or its details beside names.
        const PLACE: usize = 128;
        /// A number, here and in the text.
        const NUMBER: usize = 20;
        let name = match &self.place {
            Some(MessageLocation::Topic { topic, .. }) => PLACE + topic.len(),
            Some(MessageLocation::Users(users)) => PLACE + NUMBER * users.len(),
            None => 0,
        };
        PLACE + name + self.messages.len() * (NUMBER + name)
    }
}

/// Numbers as a JSON list.
fn write_list(messages: &[MessageId], out: &mut String) {
    out.push('[');
    for (place, id) in messages.iter().enumerate() {
        // Writing to memory does not fail.
        let _ = write!(out, "{}{id}", if place == 0 { "" } else { "," });
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn event_object(flag: &str, op: &str, places: Vec<ConversationFlagsUpdate>) -> Value {
        let flagged = MessageFlagsUpdate { mark: FlagChange::parse(flag, op).unwrap(), places };
        let back: MessageFlagsUpdate = serde_json::from_str(&serde_json::to_string(&flagged).unwrap()).unwrap();
        assert_eq!(back, flagged);
        serde_json::from_str(&flagged.object(EventId(9))).unwrap()
    }

    fn ids(ids: &[i64]) -> Vec<MessageId> {
        ids.iter().copied().map(MessageId).collect()
    }

    #[test]
    fn the_log_has_steps_and_is_read_with_numbers_too() {
        let steps = |messages: &[i64]| {
            let there = ConversationFlagsUpdate { messages: ids(messages), ..ConversationFlagsUpdate::default() };
            let text = serde_json::to_string(&there).unwrap();
            assert_eq!(serde_json::from_str::<ConversationFlagsUpdate>(&text).unwrap(), there);
            text
        };
        assert_eq!(steps(&[995_584, 995_585, 995_590, 7]), r#"{"steps":[995584,1,5,-995583]}"#);
        assert_eq!(steps(&[]), r#"{"steps":[]}"#);
        assert_eq!(steps(&[i64::MIN, i64::MAX]), r#"{"steps":[-9223372036854775808,-1]}"#);
        let before: ConversationFlagsUpdate =
            serde_json::from_str(r#"{"place":{"users":[3]},"messages":[5,8],"mentions":[8]}"#).unwrap();
        let place = Some(MessageLocation::Users(vec![UserId(3)]));
        assert_eq!(before, ConversationFlagsUpdate { place, messages: ids(&[5, 8]), mentions: ids(&[8]) });
    }

    #[test]
    fn a_flag_is_told_with_its_messages_in_order() {
        let places = vec![
            ConversationFlagsUpdate { messages: ids(&[5, 7]), ..ConversationFlagsUpdate::default() },
            ConversationFlagsUpdate { messages: ids(&[6]), ..ConversationFlagsUpdate::default() },
        ];
        assert_eq!(
            event_object("starred", "add", places),
            json!({
                "id": 9, "type": "update_message_flags", "op": "add", "operation": "add", "flag": "starred",
                "messages": [5, 6, 7], "all": false,
            })
        );
    }

    #[test]
    fn what_is_no_longer_read_is_told_with_its_place() {
        let topic = MessageLocation::Topic { channel_id: ChannelId(20), topic: "a \"}".to_owned(), is_muted: true };
        let places = vec![
            ConversationFlagsUpdate { place: Some(topic), messages: ids(&[5, 8]), mentions: ids(&[8]) },
            ConversationFlagsUpdate {
                place: Some(MessageLocation::Users(vec![UserId(3)])),
                messages: ids(&[6]),
                ..ConversationFlagsUpdate::default()
            },
        ];
        let in_topic = json!({"type": "stream", "stream_id": 20, "topic": "a \"}", "unmuted_stream_msg": false});
        let mut mentioning = in_topic.clone();
        mentioning["mentioned"] = json!(true);
        assert_eq!(
            event_object("read", "remove", places),
            json!({
                "id": 9, "type": "update_message_flags", "op": "remove", "operation": "remove", "flag": "read",
                "messages": [5, 6, 8], "all": false, "message_details":
                    {"5": in_topic, "8": mentioning, "6": {"type": "private", "user_ids": [3]}},
            })
        );
        assert_eq!(event_object("read", "remove", Vec::new())["message_details"], json!({}));
    }
}

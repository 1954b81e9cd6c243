//! Events as data, written once in the log and read by every queue that they reach.
//!
//! An event names its receivers by a description, not by a list: "who was in the channel then". So a message costs
//! one row whatever the number of subscribers, and whether a queue gets it is decided when the queue reads.
//! What differs between receivers is few things: the form of a message's text, the picture of its sender, and each
//! user's flags. Each form is serialised once and shared; the flags are added at the end.

mod audience;
mod filter;
mod flagged;
mod message;
mod message_changes;
mod weight;

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use audience::{EventAudience, QueueCondition};
pub use filter::{ClientCapability, QueueFilter, QueueNarrowTerm, UnsupportedNarrowOperator};
pub use flagged::{ConversationFlagsUpdate, MessageFlagsUpdate, MessageLocation};
pub use message::{LocalEchoId, NewMessageEvent};
pub use message_changes::{
    delete_message_events, first_message_changed_event, lost_access_delete_events, message_audience, reaction_event,
};

use crate::id::{EventId, MessageId};
use crate::model::message::{MessageFlag, wire_flag_names};
use crate::model::realm_change::RealmChange;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::wire_format::MessageFormat;

/// An event that has not been written to the log yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewEvent {
    /// Who it is for.
    pub audience: EventAudience,
    /// Which of their queues get it.
    #[serde(default)]
    pub gate: QueueCondition,
    /// What it says.
    pub body: EventBody,
}

/// The content of an event.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventBody {
    /// The same to everybody.
    Plain {
        /// Its `type`.
        kind: String,
        /// The event as a JSON object, without its `id`.
        event: Value,
    },
    /// A message was sent.
    Message(Box<NewMessageEvent>),
    /// A message was edited: the event and, to each receiver, their own flags of that message.
    Edit {
        /// The message whose flags are told.
        message_id: MessageId,
        /// The event as a JSON object, without its `id` and `flags`.
        event: Value,
    },
    /// A user changed a flag of messages.
    Flagged(MessageFlagsUpdate),
}

impl EventBody {
    /// The wire `type` of events that report changes of message flags.
    pub const FLAGS_EVENT_TYPE: &str = "update_message_flags";
}

impl NewEvent {
    /// Returns an event whose content is the same for every receiver. `event` is an object with a `type`.
    #[must_use]
    pub fn same_for_everyone(audience: EventAudience, event: Value) -> Self {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        Self { audience, gate: QueueCondition::Any, body: EventBody::Plain { kind, event } }
    }

    /// Returns an event of type `update_message`, to which each receiver's flags of `message_id` are added.
    #[must_use]
    pub fn message_edit(audience: EventAudience, message_id: MessageId, event: Value) -> Self {
        Self { audience, gate: QueueCondition::Any, body: EventBody::Edit { message_id, event } }
    }

    /// Returns the event restricted to queues that meet the condition.
    #[must_use]
    pub fn with_queue_condition(mut self, gate: QueueCondition) -> Self {
        self.gate = gate;
        self
    }
}

/// A record of the log: its changes and its events. Shared by everything that reads it.
#[derive(Debug)]
pub struct LogRecord {
    /// The place.
    pub id: EventId,
    /// When, in unix seconds.
    pub at_s: i64,
    /// What changed, in order.
    pub changes: Vec<RealmChange>,
    /// The event; `None` when a change notifies no user.
    pub event: Option<NewEvent>,
    /// The event's text, one for each form, made when first asked for.
    texts: [OnceLock<Arc<str>>; MessageFormat::COUNT],
}

impl LogRecord {
    /// Makes a record from what was read from the log or just written to it.
    #[must_use]
    pub fn new(id: EventId, at_s: i64, changes: Vec<RealmChange>, event: Option<NewEvent>) -> Self {
        Self { id, at_s, changes, event, texts: Default::default() }
    }

    /// Returns the message whose flags for the receiver [`LogRecord::write_event_json`] needs.
    #[must_use]
    pub fn message_needing_flags(&self) -> Option<MessageId> {
        match self.event.as_ref()?.body {
            EventBody::Edit { message_id, .. } => Some(message_id),
            EventBody::Plain { .. } | EventBody::Message(_) | EventBody::Flagged(_) => None,
        }
    }

    /// Returns about how many bytes of memory the record takes with all its texts.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        const ANY: usize = 1_024;
        match self.event.as_ref().map(|event| &event.body) {
            Some(EventBody::Message(message)) => ANY + 3 * (message.message.content.len() + message.message.html.len()),
            // Its text, when it is made, is no longer than what it is made of.
            Some(EventBody::Plain { event, .. } | EventBody::Edit { event, .. }) => ANY + 2 * weight::of(event),
            Some(EventBody::Flagged(flagged)) => ANY + flagged.weight_bytes(),
            None => ANY,
        }
    }

    /// Returns the `type` of the event; empty when the record has no event.
    #[must_use]
    pub fn event_type(&self) -> &str {
        match self.event.as_ref().map(|event| &event.body) {
            Some(EventBody::Plain { kind, .. }) => kind,
            Some(EventBody::Message(_)) => "message",
            Some(EventBody::Edit { .. }) => "update_message",
            Some(EventBody::Flagged(_)) => EventBody::FLAGS_EVENT_TYPE,
            None => "",
        }
    }

    /// Appends the event as its receiver sees it: a JSON object with its `id`. Only for queues that
    /// [`QueueFilter::accepts_event`] it for. `flags` are those that [`LogRecord::message_needing_flags`] asks for.
    pub fn write_event_json(&self, reader: &EventReceiver<'_>, flags: &[MessageFlag], out: &mut String) {
        let Some(event) = &self.event else { return };
        match &event.body {
            EventBody::Plain { event, .. } => {
                out.push_str(self.text(MessageFormat::ANY, || object_with_id(self.id, event)));
            }
            EventBody::Flagged(flagged) => out.push_str(self.text(MessageFormat::ANY, || flagged.object(self.id))),
            EventBody::Edit { event, .. } => {
                out.push_str(self.text(MessageFormat::ANY, || open_object_with_id(self.id, event)));
                write_flags(flags, out);
                out.push('}');
            }
            EventBody::Message(message) => {
                let form = MessageFormat::for_queue(reader.filter);
                out.push_str(self.text(form, || message.open_object(self.id, form)));
                // Who overhears a public channel has no copy of their own, and no flags.
                let received = event.audience.includes_user(self.id, reader.user, reader.realm);
                let flags = if received { message.flags_for_receiver(reader.user.id) } else { Vec::new() };
                write_flags(&flags, out);
                if let Some(local) = message.local.as_ref().filter(|local| local.queue_id == reader.queue_id) {
                    out.push_str(",\"local_message_id\":");
                    out.push_str(&json!(local.local_id).to_string());
                }
                out.push('}');
            }
        }
    }

    /// Appends an event that is not in the log as JSON, under the given queue event id. Only for records with a plain
    /// event that are not written in another way.
    pub fn write_unlogged_event_json(&self, id: EventId, out: &mut String) {
        let Some(NewEvent { body: EventBody::Plain { event, .. }, .. }) = &self.event else { return };
        // Its text without the number is the same for all queues.
        let object = self.text(MessageFormat::ANY, || event.to_string());
        let members = object.strip_prefix('{').unwrap_or_default();
        let comma = if members == "}" { "" } else { "," };
        out.extend(["{\"id\":", &id.to_string(), comma, members]);
    }

    fn text(&self, form: MessageFormat, make: impl FnOnce() -> String) -> &str {
        match self.texts.get(form.place()) {
            Some(text) => text.get_or_init(|| make().into()),
            None => "",
        }
    }
}

impl RealmSnapshot {
    /// Returns the realm after a record of the log. A record that is in it already changes nothing.
    #[must_use]
    pub fn after_record(&self, record: &LogRecord) -> Self {
        self.after_changes(record.id, &record.changes)
    }
}

/// The queue and the user for whom an event is serialized.
#[derive(Debug, Clone, Copy)]
pub struct EventReceiver<'a> {
    /// The owner.
    pub user: &'a User,
    /// The queue.
    pub queue_id: &'a str,
    /// What the queue wants.
    pub filter: &'a QueueFilter,
    /// The realm, no older than the event.
    pub realm: &'a RealmSnapshot,
}

/// `{"type":…}` as `{"id":5,"type":…`, without the end.
fn open_object_with_id(id: EventId, object: &Value) -> String {
    let object = object.to_string();
    let members = object.trim_start_matches('{').strip_suffix('}').unwrap_or_default();
    let comma = if members.is_empty() { "" } else { "," };
    format!("{{\"id\":{id}{comma}{members}")
}

fn object_with_id(id: EventId, object: &Value) -> String {
    let mut text = open_object_with_id(id, object);
    text.push('}');
    text
}

fn write_flags(flags: &[MessageFlag], out: &mut String) {
    out.push_str(",\"flags\":[");
    for (place, name) in wire_flag_names(flags).enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.extend(["\"", name, "\""]);
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ChannelId, UserId};
    use crate::model::channel::ChannelPrivacy;
    use crate::model::message::Recipient;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::role::Role;
    use crate::testing;

    fn written(record: &LogRecord, flags: &[MessageFlag]) -> Value {
        let user = testing::user(1, Role::Member);
        let (filter, realm) = (QueueFilter::default(), RealmSnapshot::default());
        let mut out = String::new();
        record.write_event_json(
            &EventReceiver { user: &user, queue_id: "q", filter: &filter, realm: &realm },
            flags,
            &mut out,
        );
        serde_json::from_str(&out).unwrap()
    }

    #[test]
    fn a_plain_event_is_its_object_with_an_id() {
        let event = NewEvent::same_for_everyone(
            EventAudience::Everyone,
            json!({"type": "realm", "op": "update", "value": "{}"}),
        );
        let record = LogRecord::new(EventId(9), 1, Vec::new(), Some(event));
        assert_eq!(record.event_type(), "realm");
        assert_eq!(written(&record, &[]), json!({"id": 9, "type": "realm", "op": "update", "value": "{}"}));
    }

    #[test]
    fn an_edit_tells_each_receiver_their_flags() {
        let event = NewEvent::message_edit(EventAudience::Everyone, MessageId(4), json!({"type": "update_message"}));
        let record = LogRecord::new(EventId(9), 1, Vec::new(), Some(event));
        assert_eq!(record.message_needing_flags(), Some(MessageId(4)));
        assert_eq!(
            written(&record, &[MessageFlag::Read, MessageFlag::Starred]),
            json!({"id": 9, "type": "update_message", "flags": ["read", "starred"]})
        );
    }

    #[test]
    fn an_event_survives_the_log() {
        let event = NewEvent::same_for_everyone(
            EventAudience::from_users([UserId(3), UserId(1), UserId(3)]),
            json!({"type": "x"}),
        )
        .with_queue_condition(QueueCondition::Without(ClientCapability::SlimPresence));
        let back: NewEvent = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
        assert_eq!(back.audience, EventAudience::Users(vec![UserId(1), UserId(3)]));
        assert_eq!(back.gate, QueueCondition::Without(ClientCapability::SlimPresence));
    }

    /// A message of user 2 in channel 20, which user 4 is in.
    fn channel_event(public: bool) -> (LogRecord, RealmSnapshot) {
        let realm = testing::realm(
            RealmPermissionSettings::default(),
            vec![
                RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public))),
                RealmChange::Subscription(Box::new(testing::subscription(20, 4))),
            ],
        );
        let mut message = testing::message_event(2, Recipient::Channel(ChannelId(20)));
        message.flags = vec![(UserId(4), MessageFlag::Mentioned)];
        message.wildcard = true;
        message.local = Some(LocalEchoId { queue_id: "q".to_owned(), local_id: "7.\"1".to_owned() });
        let audience = EventAudience::Subscribers { channel_id: ChannelId(20), public };
        let event = NewEvent { audience, gate: QueueCondition::Any, body: EventBody::Message(Box::new(message)) };
        (LogRecord::new(EventId(50), 1, Vec::new(), Some(event)), realm)
    }

    fn shown(
        record: &LogRecord,
        realm: &RealmSnapshot,
        (user, queue_id): (i64, &str),
        filter: &QueueFilter,
    ) -> Option<Value> {
        let user = realm.user(UserId(user)).unwrap();
        let mut out = String::new();
        filter.accepts_event(record, user, realm).then(|| {
            record.write_event_json(&EventReceiver { user, queue_id, filter, realm }, &[], &mut out);
            serde_json::from_str(&out).unwrap()
        })
    }

    #[test]
    fn a_message_is_written_in_the_form_its_queue_asked_for() {
        let (record, realm) = channel_event(false);
        let raw = shown(&record, &realm, (4, "q"), &QueueFilter::default()).unwrap();
        assert_eq!(raw["message"]["content"], json!("hi"));
        assert_eq!(raw["message"]["content_type"], json!("text/x-markdown"));
        assert_eq!(raw["message"]["avatar_url"], json!("/a.png"));
        assert_eq!(raw["flags"], json!(["mentioned", "stream_wildcard_mentioned", "wildcard_mentioned"]));
        assert_eq!(raw["local_message_id"], json!("7.\"1"));
        let html = QueueFilter { apply_markdown: true, client_gravatar: true, ..QueueFilter::default() };
        let html = shown(&record, &realm, (4, "other"), &html).unwrap();
        assert_eq!(html["message"]["content"], json!("<p>hi</p>"));
        assert_eq!(html["message"]["avatar_url"], Value::Null);
        assert_eq!(html.get("local_message_id"), None);
    }

    #[test]
    fn a_public_channel_is_overheard_by_who_asks_and_is_no_guest() {
        let (record, realm) = channel_event(true);
        let all = QueueFilter { all_public: true, ..QueueFilter::default() };
        assert_eq!(shown(&record, &realm, (3, "q"), &QueueFilter::default()), None);
        assert_eq!(shown(&record, &realm, (3, "q"), &all).unwrap()["flags"], json!([]));
        assert_eq!(shown(&record, &realm, (6, "q"), &all), None);
        let (private, realm) = channel_event(false);
        assert_eq!(shown(&private, &realm, (3, "q"), &all), None);
    }

    #[test]
    fn a_queue_gets_the_types_and_messages_it_asked_for() {
        let (record, realm) = channel_event(false);
        let gets = |filter: &QueueFilter| shown(&record, &realm, (4, "q"), filter).is_some();
        let types = |kind: &str| QueueFilter { event_types: Some([kind.to_owned()].into()), ..QueueFilter::default() };
        assert!(gets(&types("message")) && !gets(&types("reaction")));
        let narrow = |pairs: &[(&str, &str)]| {
            let terms = pairs.iter().map(|(operator, operand)| QueueNarrowTerm::parse(operator, operand).unwrap());
            QueueFilter { narrow: terms.collect(), ..QueueFilter::default() }
        };
        assert!(gets(&narrow(&[("stream", "channel 20"), ("topic", "LUNCH"), ("sender", "user2@example.org")])));
        assert!(gets(&narrow(&[("is", "mentioned"), ("is", "unread")])));
        for other in
            [("stream", "x"), ("topic", "x"), ("sender", "x"), ("is", "dm"), ("is", "starred"), ("is", "resolved")]
        {
            assert!(!gets(&narrow(&[other])), "{other:?}");
        }
        let refused = QueueNarrowTerm::parse("dm", "1").unwrap_err();
        assert_eq!(refused.to_string(), "Operator dm not supported.");
    }

    #[test]
    fn of_two_events_a_queue_gets_the_one_it_understands() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let user = realm.user(UserId(4)).unwrap();
        let slim = QueueFilter { capabilities: [ClientCapability::SlimPresence].into(), ..QueueFilter::default() };
        let accepted = |gate| {
            let event = NewEvent::same_for_everyone(EventAudience::Everyone, json!({"type": "presence"}))
                .with_queue_condition(gate);
            let record = LogRecord::new(EventId(50), 1, Vec::new(), Some(event));
            [&slim, &QueueFilter::default()].map(|filter| filter.accepts_event(&record, user, &realm))
        };
        assert_eq!(accepted(QueueCondition::With(ClientCapability::SlimPresence)), [true, false]);
        assert_eq!(accepted(QueueCondition::Without(ClientCapability::SlimPresence)), [false, true]);
        let both = |slim, fields| {
            QueueCondition::Both([
                (ClientCapability::SlimPresence, slim),
                (ClientCapability::UserListIncomplete, fields),
            ])
        };
        assert_eq!(accepted(both(true, false)), [true, false]);
        assert_eq!(accepted(both(false, false)), [false, true]);
        assert_eq!(accepted(both(true, true)), [false, false]);
    }

    #[test]
    fn an_audience_is_who_it_says() {
        let (_, realm) = channel_event(false);
        let reached = |audience: &EventAudience| {
            [1, 2, 3, 4, 6].map(|id| audience.includes_user(EventId(50), realm.user(UserId(id)).unwrap(), &realm))
        };
        let channel_id = ChannelId(20);
        assert_eq!(reached(&EventAudience::Everyone), [true; 5]);
        assert_eq!(reached(&EventAudience::Members), [true, true, true, true, false]);
        assert_eq!(reached(&EventAudience::Administrators), [true, true, false, false, false]);
        assert_eq!(reached(&EventAudience::from_users([UserId(6), UserId(1)])), [true, false, false, false, true]);
        assert_eq!(
            reached(&EventAudience::Subscribers { channel_id, public: false }),
            [false, false, false, true, false]
        );
        let except = vec![UserId(3)];
        assert_eq!(reached(&EventAudience::ChannelWatchers { channel_id, except }), [true, true, false, true, false]);
        let message_id = MessageId(5);
        assert_eq!(
            reached(&EventAudience::MessageReaders { channel_id, message_id, moved_in: false }),
            [true, true, true, true, false]
        );
    }
}

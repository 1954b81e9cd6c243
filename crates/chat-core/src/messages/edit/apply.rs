//! A plan as what is written down and told.

use serde_json::{Value, json};

use super::{EditPlan, MessageEditError, MessageMove, PropagateMode, may_take_along, only_resolves};
use crate::event_log::event::{self, EventAudience, NewEvent};
use crate::id::{AttachmentId, ChannelId, MessageId, UserId};
use crate::messages::store::MessageEdit;
use crate::model::channel::ChannelPrivacy;
use crate::model::message::{ContentFlags, Message, MessageFlag, Recipient};
use crate::model::realm::RealmPermissionSettings;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::readable_history;
use crate::wire_format::{TopicLinkObject, add};

/// A rendered text: its HTML, properties, flags of receivers and uploads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RenderedText {
    /// The HTML.
    pub(super) html: String,
    /// What it has in it.
    pub(super) content_flags: ContentFlags,
    /// Whom it mentions and whose words it has: receivers and the flag each gets.
    pub(super) flags: Vec<(UserId, MessageFlag)>,
    /// The uploads that it uses.
    pub(super) attachments: Vec<AttachmentId>,
}

/// Returns the messages that go with one, itself among them, the oldest first. `topic` are the messages of its topic
/// with the time each was sent in unix seconds, the oldest first; only those the user may read move, and none when some
/// are too old.
pub(super) fn companions(
    realm: &RealmSnapshot,
    user: &User,
    message: &Message,
    (to, topic, now_s): (&MessageMove, &[(MessageId, i64)], i64),
) -> Result<Vec<MessageId>, MessageEditError> {
    let Recipient::Channel(from) = message.recipient else { return Ok(Vec::new()) };
    let Some(channel) = realm.channel(from) else { return Ok(Vec::new()) };
    let readable = readable_history(realm, user, channel);
    let goes = |id: MessageId| match to.propagate {
        PropagateMode::One => id == message.id,
        PropagateMode::Later => id >= message.id,
        PropagateMode::All => true,
    };
    let mut moving: Vec<_> =
        topic.iter().copied().filter(|(id, _)| goes(*id) && readable.includes_message(*id)).collect();
    if !moving.iter().any(|(id, _)| *id == message.id) {
        moving.push((message.id, message.sent_s));
        moving.sort_unstable();
    }
    let default = RealmPermissionSettings::default();
    let rules = realm.realm().map_or(&default, |realm| &realm.rules);
    let to_other_channel = to.channel_id != from;
    if to.propagate != PropagateMode::One && (to_other_channel || !only_resolves(&message.topic, &to.topic)) {
        may_take_along(rules, user, &moving, (to_other_channel, now_s))?;
    }
    Ok(moving.into_iter().map(|(id, _)| id).collect())
}

/// The context of an edit: its rendered text, the messages that move, the links of the topic and the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct EditContext<'a> {
    /// What the new text says; only where the text changes.
    pub(super) text: Option<&'a RenderedText>,
    /// The messages that move, from [`companions`].
    pub(super) moves: &'a [MessageId],
    /// Links in the topic the message will be under.
    pub(super) topic_links: &'a [TopicLinkObject],
    /// When, in unix seconds.
    pub(super) now_s: i64,
}

/// Returns the plan as what is written down and told.
///
/// Those who can read the message afterwards are notified of the edit; those who cannot any more are notified that the
/// messages are gone, so that nothing of the new place reaches them.
pub(super) fn apply(
    realm: &RealmSnapshot,
    user: &User,
    message: &Message,
    (plan, around): (&EditPlan, EditContext<'_>),
) -> MessageEdit {
    let EditContext { text, moves, now_s, .. } = around;
    let content = plan.content.as_ref().zip(text).map(|(content, text)| {
        let ContentFlags { read_by_sender, moved_in, .. } = message.content_flags;
        let content_flags = ContentFlags { read_by_sender, moved_in, ..text.content_flags };
        (content.clone(), text.html.clone(), content_flags)
    });
    let to = plan.to.as_ref().map(|to| (to.channel_id, to.topic.clone()));
    let events = events(realm, user, message, (plan, around));
    MessageEdit {
        decided_at: realm.changed_at(),
        id: message.id,
        revision: message.revision,
        content,
        attachments: text.map(|text| text.attachments.clone()).unwrap_or_default(),
        to,
        moves: moves.to_vec(),
        flags: text.map(|text| text.flags.clone()).unwrap_or_default(),
        user_id: Some(user.id),
        at_s: now_s,
        events,
    }
}

fn events(
    realm: &RealmSnapshot,
    user: &User,
    message: &Message,
    (plan, around): (&EditPlan, EditContext<'_>),
) -> Vec<NewEvent> {
    let content = |event: &mut Value| {
        if let Some((content, text)) = plan.content.as_ref().zip(around.text) {
            let members = json!({
                "orig_content": message.content,
                "orig_rendered_content": message.html,
                "prev_rendered_content_version": 1,
                "content": content,
                "rendered_content": text.html,
                "is_me_message": text.content_flags.is_me,
            });
            add(event, members);
        }
    };
    let Some((to, from)) = plan.to.as_ref().zip(channel_of(message)) else {
        let mut event = base(realm, user, message, (&[message.id], around.now_s));
        content(&mut event);
        return vec![NewEvent::message_edit(event::message_audience(message), message.id, event)];
    };
    let mut moved = base(realm, user, message, (around.moves, around.now_s));
    say_where(&mut moved, message, (from, to, around.topic_links));
    let moved_in = to.channel_id != from || message.content_flags.moved_in;
    let audience = EventAudience::AnyReaders { channel_id: to.channel_id, messages: around.moves.to_vec(), moved_in };
    if plan.content.is_none() {
        let mut events = vec![NewEvent::message_edit(audience, message.id, moved)];
        if to.channel_id != from {
            events.extend(event::lost_access_delete_events(message, around.moves, (from, to.channel_id)));
        }
        return events;
    }
    // A text moves within its channel only. Where a reader of one message may not be one of another, what the text
    // says and where the others go are distinguished.
    let shares = realm.channel(from).is_some_and(|channel| channel.privacy != ChannelPrivacy::PrivateProtectedHistory);
    if shares || around.moves.len() <= 1 {
        content(&mut moved);
        return vec![NewEvent::message_edit(event::message_audience(message), message.id, moved)];
    }
    let mut edited = base(realm, user, message, (&[message.id], around.now_s));
    content(&mut edited);
    vec![
        NewEvent::message_edit(event::message_audience(message), message.id, edited),
        NewEvent::message_edit(audience, message.id, moved),
    ]
}

fn channel_of(message: &Message) -> Option<ChannelId> {
    match message.recipient {
        Recipient::Channel(id) => Some(id),
        Recipient::Direct(_) => None,
    }
}

fn base(realm: &RealmSnapshot, user: &User, message: &Message, (ids, now_s): (&[MessageId], i64)) -> Value {
    let mut event = json!({
        "type": "update_message",
        "user_id": user.id,
        "rendering_only": false,
        "message_id": message.id,
        "message_ids": ids,
        "edit_timestamp": now_s,
    });
    if let Some(channel_id) = channel_of(message) {
        let name = realm.channel(channel_id).map_or("", |channel| &channel.name);
        add(&mut event, json!({"stream_id": channel_id, "stream_name": name}));
    }
    event
}

/// What existing clients insist on: all of it when something moved, and nothing of it when not.
fn say_where(
    event: &mut Value,
    message: &Message,
    (from, to, topic_links): (ChannelId, &MessageMove, &[TopicLinkObject]),
) {
    add(event, json!({"propagate_mode": to.propagate.wire_name(), "orig_subject": message.topic}));
    if to.topic != message.topic {
        add(event, json!({"subject": to.topic, "topic_links": topic_links}));
    }
    if to.channel_id != from {
        add(event, json!({"new_stream_id": to.channel_id}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::event::{EventBody, LogRecord, QueueFilter};
    use crate::id::EventId;
    use crate::model::realm_change::RealmChange;
    use crate::testing::{self, NOW_S};

    /// Channel 20 is private with user 4 and 6 in it, 21 private with 4 alone, 22 public.
    fn realm(privacy: ChannelPrivacy) -> RealmSnapshot {
        let channel = |id, privacy| RealmChange::Channel(Box::new(testing::channel(id, privacy)));
        let within = |channel, user| RealmChange::Subscription(Box::new(testing::subscription(channel, user)));
        let changes = vec![
            channel(20, privacy),
            channel(21, ChannelPrivacy::PrivateSharedHistory),
            channel(22, ChannelPrivacy::Public),
            within(20, 4),
            within(20, 6),
            within(21, 4),
        ];
        testing::realm(RealmPermissionSettings::default(), changes)
    }

    fn message() -> Message {
        testing::message(4, Recipient::Channel(ChannelId(20)))
    }

    fn moving(channel: i64, topic: &str, propagate: PropagateMode) -> EditPlan {
        let to = MessageMove { channel_id: ChannelId(channel), topic: topic.to_owned(), propagate };
        EditPlan { content: None, to: Some(to) }
    }

    fn around(moves: &[MessageId]) -> EditContext<'_> {
        EditContext { text: None, moves, topic_links: &[], now_s: NOW_S }
    }

    fn applied(realm: &RealmSnapshot, plan: &EditPlan, around: EditContext<'_>) -> MessageEdit {
        apply(realm, realm.user(UserId(4)).unwrap(), &message(), (plan, around))
    }

    fn body(event: &NewEvent) -> &Value {
        match &event.body {
            EventBody::Plain { event, .. } | EventBody::Edit { event, .. } => event,
            EventBody::Message(_) | EventBody::Flagged(_) => &Value::Null,
        }
    }

    /// Returns the types of the events that reach the user.
    fn heard(realm: &RealmSnapshot, edit: &MessageEdit, user: i64) -> Vec<&'static str> {
        let user = realm.user(UserId(user)).unwrap();
        let kind = |event: &NewEvent| {
            let record = LogRecord::new(EventId(60), 0, Vec::new(), Some(event.clone()));
            match record.event_type() {
                _ if !QueueFilter::default().accepts_event(&record, user, realm) => None,
                "update_message" => Some("update_message"),
                _ => Some("delete_message"),
            }
        };
        edit.events.iter().filter_map(kind).collect()
    }

    #[test]
    fn an_edited_text_says_nothing_of_a_move() {
        let new = RenderedText {
            html: "<p>new</p>".to_owned(),
            flags: vec![(UserId(4), MessageFlag::Mentioned)],
            ..RenderedText::default()
        };
        let plan = EditPlan { content: Some("new".to_owned()), to: None };
        let realm = realm(ChannelPrivacy::PrivateSharedHistory);
        let edit = applied(&realm, &plan, EditContext { text: Some(&new), ..around(&[]) });
        assert_eq!(edit.flags, new.flags);
        assert_eq!(
            edit.events.iter().map(body).collect::<Vec<_>>(),
            [&json!({
                "type": "update_message", "user_id": 4, "rendering_only": false, "message_id": 50, "message_ids": [50],
                "edit_timestamp": NOW_S, "stream_id": 20, "stream_name": "Channel 20",
                "orig_content": "hi", "orig_rendered_content": "<p>hi</p>", "prev_rendered_content_version": 1,
                "content": "new", "rendered_content": "<p>new</p>", "is_me_message": false,
            })]
        );
    }

    #[test]
    fn a_move_says_what_is_new_and_no_more() {
        let realm = realm(ChannelPrivacy::PrivateSharedHistory);
        let ids = [MessageId(50), MessageId(55)];
        let topic = applied(&realm, &moving(20, "Dinner", PropagateMode::All), around(&ids));
        let event = body(topic.events.first().unwrap());
        assert_eq!(event["message_ids"], json!([50, 55]));
        assert_eq!((&event["orig_subject"], &event["subject"]), (&json!("Lunch"), &json!("Dinner")));
        assert_eq!((&event["propagate_mode"], &event["topic_links"]), (&json!("change_all"), &json!([])));
        assert_eq!((event.get("new_stream_id"), event.get("content")), (None, None));
        let channel = applied(&realm, &moving(22, "Lunch", PropagateMode::All), around(&ids));
        let event = body(channel.events.first().unwrap());
        assert_eq!((&event["stream_id"], &event["new_stream_id"]), (&json!(20), &json!(22)));
        assert_eq!((event.get("subject"), event.get("topic_links")), (None, None));
    }

    #[test]
    fn who_cannot_follow_a_message_is_told_it_is_gone_and_not_where() {
        let realm = realm(ChannelPrivacy::PrivateSharedHistory);
        let ids = [MessageId(50)];
        let hidden = applied(&realm, &moving(21, "Lunch", PropagateMode::One), around(&ids));
        assert_eq!(heard(&realm, &hidden, 4), ["update_message"]);
        assert_eq!(heard(&realm, &hidden, 6), ["delete_message"]);
        assert_eq!(heard(&realm, &hidden, 1), [""; 0]);
        let opened = applied(&realm, &moving(22, "Lunch", PropagateMode::One), around(&ids));
        assert_eq!(heard(&realm, &opened, 1), ["update_message"]);
        assert_eq!(heard(&realm, &opened, 6), ["delete_message"]);
        let gone = hidden.events.iter().find(|event| body(event)["type"] == "delete_message").unwrap();
        assert!(!body(gone).to_string().contains("21"), "{}", body(gone));
    }

    #[test]
    fn in_a_protected_channel_a_text_and_a_topic_are_told_apart() {
        let realm = realm(ChannelPrivacy::PrivateProtectedHistory);
        let text = RenderedText::default();
        let plan = EditPlan { content: Some("new".to_owned()), ..moving(20, "Dinner", PropagateMode::All) };
        let ids = [MessageId(50), MessageId(55)];
        let edit = applied(&realm, &plan, EditContext { text: Some(&text), ..around(&ids) });
        let has_text = |event| body(event).get("content").is_some();
        assert_eq!(edit.events.iter().map(has_text).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn only_what_its_mover_may_read_and_is_young_goes_along() {
        let realm = realm(ChannelPrivacy::PrivateProtectedHistory);
        let user = realm.user(UserId(4)).unwrap();
        let topic = [(MessageId(5), NOW_S), (MessageId(50), NOW_S), (MessageId(55), NOW_S)];
        let go = |propagate, now_s| {
            let EditPlan { to: Some(to), .. } = moving(20, "Dinner", propagate) else {
                return Err(MessageEditError::NothingToChange);
            };
            companions(&realm, user, &message(), (&to, &topic, now_s))
        };
        assert_eq!(go(PropagateMode::One, NOW_S), Ok(vec![MessageId(50)]));
        assert_eq!(go(PropagateMode::Later, NOW_S), Ok(vec![MessageId(50), MessageId(55)]));
        assert_eq!(go(PropagateMode::All, NOW_S), Ok(vec![MessageId(50), MessageId(55)]));
        assert_eq!(go(PropagateMode::All, NOW_S + 604_801), Err(MessageEditError::TopicTooLate));
    }
}

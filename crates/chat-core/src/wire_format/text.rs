//! The text of a message, serialized once for all who read it.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::id::EventId;
use crate::model::message::Message;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::wire_format::MessageFormat;

/// Bytes of a message object beside its texts, about.
const OBJECT_BYTES: usize = 768;
/// Bytes of a reaction, in the message and in its text, about.
const REACTION_BYTES: usize = 384;

/// The JSON of a message object, in pieces from which each format is assembled.
///
/// One text for all forms, and not one for each: they differ in two members, and this takes half the memory of two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageJson {
    bytes: Box<[u8]>,
    /// Where what all forms share ends, then the HTML, then what was typed. The rest is the picture.
    ends: [usize; 3],
    /// What stands for the picture where the client works it out by itself; `None` when it cannot.
    left_picture: Option<&'static str>,
}

impl MessageJson {
    /// Puts the pieces together: what all forms share, the HTML, what was typed, the picture, and what stands for
    /// that where it is left to the client.
    pub(super) fn of(pieces: [&[u8]; 4], left_picture: Option<&'static str>) -> Self {
        let [shared, html, typed, _] = pieces.map(<[u8]>::len);
        let ends = [shared, shared + html, shared + html + typed];
        Self { bytes: pieces.concat().into(), ends, left_picture }
    }

    /// Appends the message object in that format without the closing brace, so that fields can be added.
    pub fn write_without_end(&self, form: MessageFormat, out: &mut Vec<u8>) {
        let [shared, html, typed] = self.ends;
        let content = if form.html { shared..html } else { html..typed };
        let picture = match self.left_picture.filter(|_| form.client_gravatar) {
            Some(left) => left.as_bytes(),
            None => self.piece(typed..self.bytes.len()),
        };
        for piece in [self.piece(0..shared), self.piece(content), picture] {
            out.extend_from_slice(piece);
        }
    }

    fn piece(&self, range: std::ops::Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }
}

/// A message as a store returns it: shared by all readers, with the JSON that was last made of it.
///
/// The text shows names that may change after the message was written. So it is kept with the place in the log up to
/// which it holds ([`RealmSnapshot::names_changed_at`]), and made again for another one.
///
/// One that is not cached ([`MessageWithCachedJson::without_cache`]) is read once, so of it the form that is asked for
/// is written and no text is made.
#[derive(Debug)]
pub struct MessageWithCachedJson {
    message: Message,
    text: Mutex<Option<(EventId, Arc<MessageJson>)>>,
    is_passing: bool,
}

impl MessageWithCachedJson {
    /// Makes a message that is used once and not cached.
    #[must_use]
    pub fn without_cache(message: Message) -> Self {
        Self { is_passing: true, ..Self::from(message) }
    }

    /// Returns whether nobody keeps it.
    pub(super) fn is_passing(&self) -> bool {
        self.is_passing
    }

    /// Returns the cached JSON of the message in that realm, made again when it is outdated.
    pub fn cached_json(&self, realm: &RealmSnapshot, make: impl FnOnce() -> MessageJson) -> Arc<MessageJson> {
        let names = realm.names_changed_at();
        let mut kept = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = kept.as_ref().filter(|(of, _)| *of == names) {
            return Arc::clone(text);
        }
        let text = Arc::new(make());
        *kept = Some((names, Arc::clone(&text)));
        text
    }

    /// Returns about how many bytes of memory the message and its JSON take.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let Message { content, html, topic, direct_users, reactions, .. } = &self.message;
        let texts = content.len() + html.len() + topic.len();
        size_of::<Self>()
            + OBJECT_BYTES
            + 2 * texts
            + REACTION_BYTES * reactions.len()
            + REACTION_BYTES / 2 * direct_users.len()
    }
}

impl From<Message> for MessageWithCachedJson {
    fn from(message: Message) -> Self {
        Self { message, text: Mutex::default(), is_passing: false }
    }
}

impl Deref for MessageWithCachedJson {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.message
    }
}

impl PartialEq for MessageWithCachedJson {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

impl Eq for MessageWithCachedJson {}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::event_log::event::LogRecord;
    use crate::id::ChannelId;
    use crate::model::channel::ChannelPrivacy;
    use crate::model::message::{MessageFlag, Recipient};
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::model::render_context::RenderContext;
    use crate::model::role::Role;
    use crate::testing;
    use crate::text_processing::search_words::SearchWords;
    use crate::wire_format::message::{MessageWithContext, MessageWriter, ReaderMessageFields};

    #[test]
    fn a_text_in_pieces_is_the_message_in_each_form() {
        let mut event = testing::message_event(2, Recipient::Channel(ChannelId(20)));
        event.message.content = "\"ü\u{1}".to_owned();
        for has_gravatar in [false, true] {
            event.sender.has_gravatar = has_gravatar;
            let (message, sender, display_recipient) = (&event.message, &event.sender, &event.display_recipient);
            let scene =
                MessageWithContext { message, sender, display_recipient, topic_links: &event.topic_links, realm: None };
            let text = scene.to_message_json();
            for (html, client_gravatar) in [(false, false), (false, true), (true, false), (true, true)] {
                let form = MessageFormat { html, client_gravatar };
                let (mut whole, mut pieces) = (Vec::new(), Vec::new());
                scene.write_object(form, &mut whole);
                text.write_without_end(form, &mut pieces);
                pieces.push(b'}');
                assert_eq!(String::from_utf8(pieces), String::from_utf8(whole.clone()), "{form:?}");
                let shown: serde_json::Value = serde_json::from_slice(&whole).unwrap();
                assert_eq!(shown["content"], if html { "<p>hi</p>" } else { "\"ü\u{1}" });
                assert_eq!(shown["avatar_url"].is_null(), client_gravatar && has_gravatar, "{form:?}");
            }
        }
    }

    #[test]
    fn a_message_that_nobody_keeps_is_told_as_one_that_is_kept() {
        let channel = RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public)));
        let realm = testing::realm(RealmPermissionSettings::default(), vec![channel]);
        let render_context = RenderContext::from_realm(&realm);
        let message = testing::message_event(2, Recipient::Channel(ChannelId(20))).message;
        let marked = SearchWords::parse("hi").highlight_message(&message.topic, &message.html);
        let extras = ReaderMessageFields { flags: &[MessageFlag::Read], edits: &[], marked: Some(&marked) };
        for (html, client_gravatar) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut writer = MessageWriter::new(&realm, &render_context, MessageFormat { html, client_gravatar });
            let mut written = |message: &MessageWithCachedJson| {
                let mut out = Vec::new();
                writer.write_message(message, extras, &mut out);
                String::from_utf8(out).unwrap()
            };
            let kept = written(&MessageWithCachedJson::from(message.clone()));
            assert_eq!(written(&MessageWithCachedJson::without_cache(message.clone())), kept);
            let shown: serde_json::Value = serde_json::from_str(&kept).unwrap();
            assert_eq!((&shown["display_recipient"], &shown["flags"][0]), (&"Channel 20".into(), &"read".into()));
        }
    }

    #[test]
    fn a_text_holds_until_a_name_changes() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let stored = MessageWithCachedJson::from(testing::message_event(2, Recipient::Channel(ChannelId(20))).message);
        let made = Cell::new(0);
        let read = |realm: &RealmSnapshot| {
            stored.cached_json(realm, || {
                made.set(made.get() + 1);
                MessageJson::of([b"{", b"", b"", b""], None)
            });
            made.get()
        };
        assert_eq!([read(&realm), read(&realm)], [1, 1]);
        let joined = RealmChange::Subscription(Box::new(testing::subscription(20, 4)));
        let realm = realm.after_record(&LogRecord::new(EventId(1_000), 0, vec![joined], None));
        assert_eq!(read(&realm), 1);
        let renamed = RealmChange::User(Box::new(testing::user(2, Role::Member)));
        let realm = realm.after_record(&LogRecord::new(EventId(1_001), 0, vec![renamed], None));
        assert_eq!([read(&realm), read(&realm)], [2, 2]);
    }
}

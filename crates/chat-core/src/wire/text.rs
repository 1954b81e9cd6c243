//! The text of a message, serialized once for all who read it.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::id::EventId;
use crate::model::message::Message;
use crate::model::snapshot::RealmSnapshot;
use crate::wire::MessageFormat;

/// Bytes of a message object beside its texts, about.
const OBJECT_BYTES: usize = 768;
/// Bytes of a reaction, in the message and in its text, about.
const REACTION_BYTES: usize = 384;

/// The message object of the wire, in pieces of which each form is put together.
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

    /// Appends the message object in that form, without its end: more members may follow.
    pub fn write_open(&self, form: MessageFormat, out: &mut Vec<u8>) {
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

/// A message as a store hands it out: shared by all who read it, with the text that was last made of it.
///
/// The text shows names that may change after the message was written. So it is kept with the place in the log up to
/// which it holds ([`RealmSnapshot::names_changed`]), and made again for another one.
///
/// One that nobody keeps ([`StoredMessage::passing`]) is read once, so of it the form that is asked for is written and
/// no text is made.
#[derive(Debug)]
pub struct StoredMessage {
    message: Message,
    text: Mutex<Option<(EventId, Arc<MessageJson>)>>,
    is_passing: bool,
}

impl StoredMessage {
    /// A message that is handed out once and kept by nobody.
    #[must_use]
    pub fn passing(message: Message) -> Self {
        Self { is_passing: true, ..Self::from(message) }
    }

    /// Returns whether nobody keeps it.
    pub(super) fn is_passing(&self) -> bool {
        self.is_passing
    }

    /// Returns the text of the message in that realm; made when there is none that holds.
    pub fn text(&self, realm: &RealmSnapshot, make: impl FnOnce() -> MessageJson) -> Arc<MessageJson> {
        let names = realm.names_changed();
        let mut kept = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = kept.as_ref().filter(|(of, _)| *of == names) {
            return Arc::clone(text);
        }
        let text = Arc::new(make());
        *kept = Some((names, Arc::clone(&text)));
        text
    }

    /// About how many bytes of memory it takes with its text.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        let Message { content, html, topic, direct_users, reactions, .. } = &self.message;
        let texts = content.len() + html.len() + topic.len();
        size_of::<Self>()
            + OBJECT_BYTES
            + 2 * texts
            + REACTION_BYTES * reactions.len()
            + REACTION_BYTES / 2 * direct_users.len()
    }
}

impl From<Message> for StoredMessage {
    fn from(message: Message) -> Self {
        Self { message, text: Mutex::default(), is_passing: false }
    }
}

impl Deref for StoredMessage {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.message
    }
}

impl PartialEq for StoredMessage {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

impl Eq for StoredMessage {}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::id::ChannelId;
    use crate::log::event::EventRecord;
    use crate::model::change::RealmChange;
    use crate::model::channel::Privacy;
    use crate::model::message::{Flag, Recipient};
    use crate::model::realm::RealmRules;
    use crate::model::render_context::RenderContext;
    use crate::model::role::Role;
    use crate::testing;
    use crate::text::search_words::SearchWords;
    use crate::wire::message::{MessageContext, MessageWriter, ReaderExtras};

    #[test]
    fn a_text_in_pieces_is_the_message_in_each_form() {
        let mut event = testing::message_event(2, Recipient::Channel(ChannelId(20)));
        event.message.content = "\"ü\u{1}".to_owned();
        for has_gravatar in [false, true] {
            event.sender.has_gravatar = has_gravatar;
            let (message, sender, display_recipient) = (&event.message, &event.sender, &event.display_recipient);
            let scene =
                MessageContext { message, sender, display_recipient, topic_links: &event.topic_links, realm: None };
            let text = scene.text();
            for (html, client_gravatar) in [(false, false), (false, true), (true, false), (true, true)] {
                let form = MessageFormat { html, client_gravatar };
                let (mut whole, mut pieces) = (Vec::new(), Vec::new());
                scene.write(form, &mut whole);
                text.write_open(form, &mut pieces);
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
        let channel = RealmChange::Channel(Box::new(testing::channel(20, Privacy::Public)));
        let realm = testing::realm(RealmRules::default(), vec![channel]);
        let render_context = RenderContext::of(&realm);
        let message = testing::message_event(2, Recipient::Channel(ChannelId(20))).message;
        let marked = SearchWords::parse("hi").mark(&message.topic, &message.html);
        let extras = ReaderExtras { flags: &[Flag::Read], edits: &[], marked: Some(&marked) };
        for (html, client_gravatar) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut writer = MessageWriter::new(&realm, &render_context, MessageFormat { html, client_gravatar });
            let mut written = |message: &StoredMessage| {
                let mut out = Vec::new();
                writer.write(message, extras, &mut out);
                String::from_utf8(out).unwrap()
            };
            let kept = written(&StoredMessage::from(message.clone()));
            assert_eq!(written(&StoredMessage::passing(message.clone())), kept);
            let shown: serde_json::Value = serde_json::from_str(&kept).unwrap();
            assert_eq!((&shown["display_recipient"], &shown["flags"][0]), (&"Channel 20".into(), &"read".into()));
        }
    }

    #[test]
    fn a_text_holds_until_a_name_changes() {
        let realm = testing::realm(RealmRules::default(), Vec::new());
        let stored = StoredMessage::from(testing::message_event(2, Recipient::Channel(ChannelId(20))).message);
        let made = Cell::new(0);
        let read = |realm: &RealmSnapshot| {
            stored.text(realm, || {
                made.set(made.get() + 1);
                MessageJson::of([b"{", b"", b"", b""], None)
            });
            made.get()
        };
        assert_eq!([read(&realm), read(&realm)], [1, 1]);
        let joined = RealmChange::Subscription(Box::new(testing::subscription(20, 4)));
        let realm = realm.with(&EventRecord::new(EventId(1_000), 0, vec![joined], None));
        assert_eq!(read(&realm), 1);
        let renamed = RealmChange::User(Box::new(testing::user(2, Role::Member)));
        let realm = realm.with(&EventRecord::new(EventId(1_001), 0, vec![renamed], None));
        assert_eq!([read(&realm), read(&realm)], [2, 2]);
    }
}

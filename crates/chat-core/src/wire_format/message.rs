//! The message as clients see it, written straight into bytes: an answer holds thousands.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::id::{ChannelId, MessageId, UserId};
use crate::markdown;
use crate::model::message::{
    EditHistoryEntry, Message, MessageFlag, Reaction, Recipient, Submessage, WIDGET_SUBMESSAGE_TYPE, last_edit_s,
    last_moved_s, wire_flag_names,
};
use crate::model::realm::EditHistoryVisibility;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::render_context::RenderContext;
use crate::text_processing::search_words::HighlightedMessage;
use crate::wire_format::{
    self, DisplayRecipient, DisplayUser, MessageFormat, MessageJson, MessageSender, MessageWithCachedJson,
    TopicLinkObject,
};

/// A message with the data about its sender and recipient that its object includes.
#[derive(Debug, Clone, Copy)]
pub struct MessageWithContext<'a> {
    /// The message.
    pub message: &'a Message,
    /// Who sent it.
    pub sender: &'a MessageSender,
    /// Where it went, in words.
    pub display_recipient: &'a DisplayRecipient,
    /// Links in its topic.
    pub topic_links: &'a [TopicLinkObject],
    /// Who is looked up for its reactions.
    pub realm: Option<&'a RealmSnapshot>,
}

#[derive(Serialize)]
struct Shown<'a> {
    id: MessageId,
    sender_id: UserId,
    recipient_id: i64,
    timestamp: i64,
    client: &'a str,
    subject: &'a str,
    topic_links: &'a [TopicLinkObject],
    is_me_message: bool,
    reactions: Vec<ShownReaction<'a>>,
    submessages: Vec<Value>,
    sender_full_name: &'a str,
    sender_email: &'a str,
    sender_realm_str: &'static str,
    display_recipient: &'a DisplayRecipient,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_id: Option<ChannelId>,
}

#[derive(Serialize)]
struct ShownReaction<'a> {
    emoji_name: &'a str,
    emoji_code: &'a str,
    reaction_type: &'static str,
    user_id: UserId,
    user: Option<Reactor<'a>>,
}

/// Kept for existing clients, which know the number beside it too.
#[derive(Serialize)]
struct Reactor<'a> {
    id: UserId,
    email: Cow<'a, str>,
    full_name: &'a str,
}

impl<'a> MessageWithContext<'a> {
    /// Appends the message object of the wire, without flags.
    pub fn write_object(&self, form: MessageFormat, out: &mut Vec<u8>) {
        self.write_open(form, out);
        out.push(b'}');
    }

    /// The same without its end: more members may follow.
    fn write_open(&self, form: MessageFormat, out: &mut Vec<u8>) {
        self.write_shared(out);
        self.write_content(form.html, out);
        match self.left_picture().filter(|_| form.client_gravatar) {
            Some(left) => out.extend_from_slice(left.as_bytes()),
            None => self.write_picture(out),
        }
    }

    /// Returns the message object in all formats, without flags.
    #[must_use]
    pub fn to_message_json(&self) -> MessageJson {
        let mut pieces = [const { Vec::new() }; 4];
        let [shared, html, typed, picture] = &mut pieces;
        self.write_shared(shared);
        self.write_content(true, html);
        self.write_content(false, typed);
        self.write_picture(picture);
        MessageJson::of(pieces.each_ref().map(Vec::as_slice), self.left_picture())
    }

    /// What all forms share, without the object's end.
    fn write_shared(&self, out: &mut Vec<u8>) {
        let message = self.message;
        let (kind, stream_id) = match message.recipient {
            Recipient::Channel(id) => ("stream", Some(id)),
            Recipient::Direct(_) => ("private", None),
        };
        let shown = Shown {
            id: message.id,
            sender_id: message.sender_id,
            recipient_id: message.recipient.into(),
            timestamp: message.sent_s,
            client: &message.client,
            subject: &message.topic,
            topic_links: self.topic_links,
            is_me_message: message.content_flags.is_me,
            reactions: message.reactions.iter().map(|reaction| self.reaction(reaction)).collect(),
            submessages: message.submessages.iter().map(|more| submessage(message.id, more)).collect(),
            sender_full_name: &self.sender.full_name,
            sender_email: &self.sender.email,
            sender_realm_str: "",
            display_recipient: self.display_recipient,
            kind,
            stream_id,
        };
        put(out, &shown);
        out.pop();
    }

    fn write_content(&self, html: bool, out: &mut Vec<u8>) {
        let (content, kind) =
            if html { (&self.message.html, "text/html") } else { (&self.message.content, "text/x-markdown") };
        out.extend_from_slice(b",\"content\":");
        put(out, content);
        out.extend_from_slice(b",\"content_type\":");
        put(out, &kind);
    }

    fn write_picture(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"avatar_url\":");
        put(out, &self.sender.avatar_url);
    }

    fn left_picture(&self) -> Option<&'static str> {
        self.sender.has_gravatar.then_some(",\"avatar_url\":null")
    }

    fn reaction(&self, reaction: &'a Reaction) -> ShownReaction<'a> {
        let user = self.realm.and_then(|realm| realm.user(reaction.user_id));
        ShownReaction {
            emoji_name: &reaction.emoji_name,
            emoji_code: &reaction.emoji_code,
            reaction_type: reaction.reaction_type.wire_name(),
            user_id: reaction.user_id,
            user: user.map(|user| Reactor { id: user.id, email: user.public_email(), full_name: &user.full_name }),
        }
    }
}

/// Writing to memory fails for no type of this module.
fn put(out: &mut Vec<u8>, value: &impl Serialize) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

/// Returns the `display_recipient`: the channel's name, or the users of a direct message.
#[must_use]
pub fn display_recipient(realm: &RealmSnapshot, recipient: Recipient, direct_users: &[UserId]) -> DisplayRecipient {
    match recipient {
        Recipient::Channel(id) => {
            DisplayRecipient::Channel(realm.channel(id).map(|channel| channel.name.clone()).unwrap_or_default())
        }
        Recipient::Direct(_) => DisplayRecipient::Users(display_users(realm, direct_users)),
    }
}

/// Returns the `display_recipient` users of a direct message, as far as they are known.
#[must_use]
pub fn display_users(realm: &RealmSnapshot, users: &[UserId]) -> Vec<DisplayUser> {
    let users = users.iter().filter_map(|id| realm.user(*id));
    users
        .map(|user| DisplayUser {
            id: user.id,
            email: user.public_email().into_owned(),
            full_name: user.full_name.clone(),
            is_mirror_dummy: false,
        })
        .collect()
}

/// Returns the `topic_links` of a topic.
///
/// What could end an attribute of HTML is encoded in their addresses: they leave as text, and a client may be careless.
#[must_use]
pub fn topic_link_objects(topic: &str, render_context: &RenderContext) -> Vec<TopicLinkObject> {
    let links = markdown::find_topic_links(topic, render_context.linkifiers()).into_iter();
    links.map(|link| TopicLinkObject { text: link.text, url: encoded(link.url.as_str()) }).collect()
}

fn encoded(url: &str) -> String {
    let mut encoded = String::with_capacity(url.len());
    for character in url.chars() {
        match character {
            '"' => encoded.push_str("%22"),
            '\'' => encoded.push_str("%27"),
            '<' => encoded.push_str("%3C"),
            '>' => encoded.push_str("%3E"),
            '`' => encoded.push_str("%60"),
            other => encoded.push(other),
        }
    }
    encoded
}

/// The fields of a message object that differ by reader.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReaderMessageFields<'a> {
    /// The reader's flags.
    pub flags: &'a [MessageFlag],
    /// Its earlier states, the newest first; the organization decides which of them the object has.
    pub edits: &'a [EditHistoryEntry],
    /// Itself with the words marked that were looked for.
    pub marked: Option<&'a HighlightedMessage>,
}

/// One earlier state of a message.
#[derive(Serialize)]
struct ShownEdit<'a> {
    timestamp: i64,
    user_id: Option<UserId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prev_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prev_rendered_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prev_stream: Option<ChannelId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<ChannelId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prev_topic: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<&'a str>,
}

impl<'a> ShownEdit<'a> {
    /// Returns the entry as far as the organization shows it.
    fn of(edit: &'a EditHistoryEntry, visibility: EditHistoryVisibility) -> Option<Self> {
        let all = Self::from(edit);
        match visibility {
            EditHistoryVisibility::All => Some(all),
            EditHistoryVisibility::Moves if edit.channel.is_some() || edit.topic.is_some() => {
                Some(Self { prev_content: None, prev_rendered_content: None, ..all })
            }
            EditHistoryVisibility::Moves | EditHistoryVisibility::None => None,
        }
    }
}

impl<'a> From<&'a EditHistoryEntry> for ShownEdit<'a> {
    fn from(edit: &'a EditHistoryEntry) -> Self {
        let (prev_content, prev_rendered_content) =
            edit.content.as_ref().map(|(text, html)| (&**text, &**html)).unzip();
        let (prev_stream, stream) = edit.channel.unzip();
        let (prev_topic, topic) = edit.topic.as_ref().map(|(before, after)| (&**before, &**after)).unzip();
        let (timestamp, user_id) = (edit.at_s, edit.user_id);
        Self { timestamp, user_id, prev_content, prev_rendered_content, prev_stream, stream, prev_topic, topic }
    }
}

/// A writer of message objects for one reader, as the realm is now. What many messages share is computed once.
#[derive(Debug)]
pub struct MessageWriter<'r> {
    realm: &'r RealmSnapshot,
    render_context: &'r RenderContext,
    form: MessageFormat,
    senders: HashMap<UserId, MessageSender>,
    places: HashMap<Recipient, DisplayRecipient>,
    topics: HashMap<String, Vec<TopicLinkObject>>,
}

impl<'r> MessageWriter<'r> {
    /// Makes a writer of messages in that format.
    #[must_use]
    pub fn new(realm: &'r RealmSnapshot, render_context: &'r RenderContext, form: MessageFormat) -> Self {
        let (senders, places, topics) = Default::default();
        Self { realm, render_context, form, senders, places, topics }
    }

    /// Appends the message object for the reader.
    pub fn write_message(
        &mut self,
        message: &MessageWithCachedJson,
        extras: ReaderMessageFields<'_>,
        out: &mut Vec<u8>,
    ) {
        let (realm, form) = (self.realm, self.form);
        if message.is_passing() {
            self.scene(message).write_open(form, out);
        } else {
            message.cached_json(realm, || self.scene(message).to_message_json()).write_without_end(form, out);
        }
        write_edits(message, extras.edits, realm.edit_history_visibility(), out);
        if let Some(marked) = extras.marked {
            out.extend_from_slice(b",\"match_content\":");
            put(out, &marked.html);
            out.extend_from_slice(b",\"match_subject\":");
            put(out, &marked.topic);
        }
        write_flags(extras.flags, out);
        out.push(b'}');
    }

    fn scene<'s>(&'s mut self, message: &'s Message) -> MessageWithContext<'s> {
        let (realm, render_context) = (self.realm, self.render_context);
        let display_recipient = self
            .places
            .entry(message.recipient)
            .or_insert_with(|| display_recipient(realm, message.recipient, &message.direct_users));
        let sender = self.senders.entry(message.sender_id).or_insert_with(|| of_sender(realm, message.sender_id));
        if !self.topics.contains_key(&message.topic) {
            self.topics.insert(message.topic.clone(), topic_link_objects(&message.topic, render_context));
        }
        let topic_links = self.topics.get(&message.topic).map(Vec::as_slice).unwrap_or_default();
        MessageWithContext { message, sender, display_recipient, topic_links, realm: Some(realm) }
    }
}

/// The members that report earlier states, after others. The times are those of all of them, shown or not.
fn write_edits(message: &Message, edits: &[EditHistoryEntry], visibility: EditHistoryVisibility, out: &mut Vec<u8>) {
    let shown: Vec<ShownEdit<'_>> = edits.iter().filter_map(|edit| ShownEdit::of(edit, visibility)).collect();
    if !shown.is_empty() {
        out.extend_from_slice(b",\"edit_history\":");
        put(out, &shown);
    }
    if let Some(edited_s) = last_edit_s(message, edits) {
        out.extend_from_slice(b",\"last_edit_timestamp\":");
        put(out, &edited_s);
    }
    if let Some(moved_s) = last_moved_s(edits) {
        out.extend_from_slice(b",\"last_moved_timestamp\":");
        put(out, &moved_s);
    }
}

/// The member `flags`, after others. The names are of this crate and need no escapes.
fn write_flags(flags: &[MessageFlag], out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"flags\":[");
    for (place, name) in wire_flag_names(flags).enumerate() {
        out.extend_from_slice(if place == 0 { b"\"" } else { b",\"" });
        out.extend_from_slice(name.as_bytes());
        out.push(b'"');
    }
    out.push(b']');
}

/// Accounts are never removed, so there is always one.
fn of_sender(realm: &RealmSnapshot, id: UserId) -> MessageSender {
    let nobody = || MessageSender {
        email: String::new(),
        full_name: String::new(),
        avatar_url: String::new(),
        has_gravatar: false,
    };
    realm.user(id).map_or_else(nobody, |user| wire_format::message_sender(user))
}

/// Returns a submessage as clients see it.
fn submessage(message_id: MessageId, submessage: &Submessage) -> Value {
    let Submessage { id, sender_id, content } = submessage;
    json!({"id": id, "message_id": message_id, "sender_id": sender_id, "msg_type": WIDGET_SUBMESSAGE_TYPE, "content": content})
}

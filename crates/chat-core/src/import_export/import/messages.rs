//! From rows of messages to messages.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use percent_encoding::percent_decode_str;

use super::export_tables::codes::{self, CHANNEL, PEOPLE, PERSON, UNKNOWN_CLIENT};
use super::export_tables::{EditHistoryRow, MessageFile, MessageRow, ReactionRow, RealmTables, UserMessageRow};
use super::files::ImportedUpload;
use super::organization::{clean, head};
use super::rendered_names::RenderedNames;
use super::spans::{Happened, known};
use super::{ImportedEdit, ImportedMessage, ImportedReactions, TransferReport};
use crate::files::{Attachment, PathId, ReadableLinkedUploads};
use crate::id::{ChannelId, DirectConversationId, EventId, MessageId, UserId};
use crate::markdown::RenderedMessage;
use crate::messages::compose::content_flags;
use crate::messages::widget;
use crate::model::message::{Message, MessageFlag, Reaction, ReactionType, Recipient, Submessage};
use crate::model::realm_change::RealmItemKind;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::render_context::RenderSettings;
use crate::model::user::User;
use crate::permission::send_message::NO_TOPIC;

/// A summary of all message files of an export, collected before anything is written.
#[derive(Debug, Default)]
pub struct MessageSurvey {
    messages: u64,
    last_message: i64,
    last_submessage: i64,
    /// By recipient, how many messages there are that were not moved there.
    sent: HashMap<i64, u64>,
    /// By user and recipient, what was received of a channel when it was sent.
    received: HashMap<(i64, i64), Vec<ReceivedRun>>,
    /// By recipient, the messages that were moved there from another channel, and who has a copy of each.
    moved: HashMap<i64, BTreeMap<i64, BTreeSet<i64>>>,
}

/// Runs of messages that are kept of a user and a channel, the latest ones. A subscriber receives all messages, so
/// there are few.
const RUNS_MAX: usize = 1_000;

/// Messages to a recipient that a user received one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceivedRun {
    /// The smallest number of one.
    pub(super) first: i64,
    /// The largest number of one.
    pub(super) last: i64,
    /// The place of the next message to the recipient.
    next: u64,
}

impl ReceivedRun {
    #[cfg(test)]
    pub(super) fn of(first: i64, last: i64) -> Self {
        Self { first, last, next: 0 }
    }
}

impl MessageSurvey {
    /// Adds a message file to the survey.
    pub fn add_file(&mut self, file: &MessageFile) {
        let recipients: HashMap<i64, i64> = file.messages.iter().map(|row| (row.id, row.recipient)).collect();
        self.messages = self.messages.saturating_add(u64::try_from(recipients.len()).unwrap_or(u64::MAX));
        self.last_message = recipients.keys().copied().max().unwrap_or_default().max(self.last_message);
        let mut moved: HashMap<i64, BTreeSet<i64>> =
            file.messages.iter().filter(|row| was_moved(row)).map(|row| (row.id, BTreeSet::new())).collect();
        let parts = file.submessages.iter().map(|row| row.id);
        self.last_submessage = parts.max().unwrap_or_default().max(self.last_submessage);
        self.look_at_copies(file, &mut moved);
        for (message, readers) in moved {
            let Some(recipient) = recipients.get(&message) else { continue };
            self.moved.entry(*recipient).or_default().insert(message, readers);
        }
    }

    fn look_at_copies(&mut self, file: &MessageFile, moved: &mut HashMap<i64, BTreeSet<i64>>) {
        let mut places: HashMap<i64, (u64, i64)> = HashMap::new();
        for row in file.messages.iter().filter(|row| !moved.contains_key(&row.id)) {
            let next = self.sent.entry(row.recipient).or_default();
            places.insert(row.id, (*next, row.recipient));
            *next = next.saturating_add(1);
        }
        let passed_over = codes::PRIVATE | codes::bit(MessageFlag::Historical);
        let received = file.copies.iter().filter(|copy| copy.flags_mask & passed_over == 0);
        let mut copies: Vec<(u64, i64, &UserMessageRow)> = Vec::new();
        for copy in received {
            if let Some(readers) = moved.get_mut(&copy.message) {
                readers.insert(copy.user_profile);
            } else if let Some((place, recipient)) = places.get(&copy.message) {
                copies.push((*place, *recipient, copy));
            }
        }
        copies.sort_unstable_by_key(|(place, ..)| *place);
        for (place, recipient, copy) in copies {
            self.receive((copy.user_profile, recipient), copy.message, place);
        }
    }

    fn receive(&mut self, to: (i64, i64), message: i64, place: u64) {
        let runs = self.received.entry(to).or_default();
        let next = place.saturating_add(1);
        match runs.last_mut() {
            Some(run) if run.next >= place => {
                *run = ReceivedRun { first: run.first.min(message), last: run.last.max(message), next };
            }
            _ => runs.push(ReceivedRun { first: message, last: message, next }),
        }
        if runs.len() > RUNS_MAX {
            runs.remove(0);
        }
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn message_count(&self) -> u64 {
        self.messages
    }

    /// Returns the largest id of a message or submessage, after which the log begins; 0 for none.
    #[must_use]
    pub fn largest_id(&self) -> i64 {
        self.last_message.max(self.last_submessage)
    }

    /// Returns whether the export has parts of polls and lists.
    pub(super) fn has_parts(&self) -> bool {
        self.last_submessage > 0
    }

    /// Returns the messages that were moved to a recipient, each with whether the user has a copy.
    pub(super) fn moved(&self, user: i64, recipient: i64) -> impl Iterator<Item = (i64, bool)> {
        let moved = self.moved.get(&recipient).into_iter().flatten();
        moved.map(move |(message, readers)| (*message, readers.contains(&user)))
    }

    pub(super) fn received(&self, user: i64, recipient: i64) -> &[ReceivedRun] {
        self.received.get(&(user, recipient)).map_or(&[], Vec::as_slice)
    }
}

/// What a recipient's number stands for.
#[derive(Debug)]
enum Place {
    Channel(ChannelId),
    Person(UserId),
    People(BTreeSet<UserId>),
}

/// What the path of an upload follows in a link.
const UPLOADS: &str = "user_uploads/";

/// The lookup tables for what imported messages refer to, such as recipients, clients and uploads.
#[derive(Debug)]
pub struct ImportReferences {
    places: HashMap<i64, Place>,
    clients: HashMap<i64, String>,
    idle: HashSet<UserId>,
    /// Whether the export has the parts of polls and lists; otherwise the first of each is made of its text.
    has_parts: bool,
    /// The uploads that a message uses, each with its path there and here.
    uploads: HashMap<i64, Vec<(String, PathId)>>,
    /// Messages that were moved, and that others received than were here: the spans tell all of it.
    given: HashSet<i64>,
    /// Where uploads are whose path changed, by their path there.
    moved: HashMap<String, PathId>,
}

impl ImportReferences {
    /// Makes the references from the tables of an export and the survey of its messages.
    #[must_use]
    pub fn from_tables(tables: &RealmTables, survey: &MessageSurvey) -> Self {
        let place = |kind: i64, of: i64| match kind {
            PERSON => Some(Place::Person(UserId(of))),
            CHANNEL => Some(Place::Channel(ChannelId(of))),
            PEOPLE => Some(Place::People(BTreeSet::new())),
            _ => None,
        };
        let places = tables.recipients.iter().filter_map(|row| Some((row.id, place(row.r#type, row.type_id)?)));
        let mut places: HashMap<i64, Place> = places.collect();
        let of_bots = tables.system_bots.iter().filter_map(|row| Some((row.recipient_id?, row.id)));
        places.extend(of_bots.map(|(recipient, bot)| (recipient, Place::Person(UserId(bot)))));
        for row in &tables.subscriptions {
            if let Some(Place::People(users)) = places.get_mut(&row.recipient) {
                users.insert(UserId(row.user_profile));
            }
        }
        let idle = tables.users.iter().filter(|row| row.columns.long_term_idle);
        Self {
            places,
            clients: tables.clients.iter().map(|row| (row.id, clean(&row.name))).collect(),
            idle: idle.map(|row| UserId(row.columns.id)).collect(),
            has_parts: survey.last_submessage > 0,
            uploads: HashMap::new(),
            given: given(tables, survey),
            moved: HashMap::new(),
        }
    }

    /// Returns the references with the given uploads added.
    #[must_use]
    pub fn with_uploads(mut self, uploads: &[ImportedUpload]) -> Self {
        for upload in uploads {
            if upload.row.path_id != upload.path_id.as_str() {
                self.moved.insert(upload.row.path_id.clone(), upload.path_id.clone());
            }
            for message in &upload.row.messages {
                let names = (upload.row.path_id.clone(), upload.path_id.clone());
                self.uploads.entry(*message).or_default().push(names);
            }
        }
        self
    }

    /// Returns the paths of the uploads that the messages of a file use.
    #[must_use]
    pub fn uploads_used_by(&self, file: &MessageFile) -> Vec<PathId> {
        let used = file.messages.iter().filter_map(|row| self.uploads.get(&row.id)).flatten();
        let used: BTreeSet<&PathId> = used.map(|(_, path_id)| path_id).collect();
        used.into_iter().cloned().collect()
    }

    /// A text with links to uploads where they are now.
    pub(super) fn relinked(&self, written: &str) -> String {
        let mut text = String::with_capacity(written.len());
        let mut rest = written;
        while let Some((before, after)) = rest.split_once(UPLOADS) {
            let end = after.find(|letter: char| letter.is_whitespace() || "()<>[]\"'`".contains(letter));
            let link = after.get(..end.unwrap_or(after.len())).unwrap_or_default();
            let (now, length) = self.now_at(link).map_or((link, link.len()), |(path, length)| (path.as_str(), length));
            text.extend([before, UPLOADS, now]);
            rest = after.get(length..).unwrap_or_default();
        }
        text.push_str(rest);
        text
    }

    /// Returns where the upload is now that a link begins with, and how long its path in the link is. Clients encode
    /// what is not ASCII, or do not.
    fn now_at(&self, link: &str) -> Option<(&PathId, usize)> {
        let path = link.split(['?', '#']).next().unwrap_or(link);
        [path, path.trim_end_matches(['.', ',', ';', ':', '!'])].into_iter().find_map(|path| {
            let decoded = percent_decode_str(path).decode_utf8().ok()?;
            Some((self.moved.get(decoded.as_ref())?, path.len()))
        })
    }

    /// Returns the program of that number.
    pub(super) fn client(&self, id: Option<i64>) -> &str {
        id.and_then(|id| self.clients.get(&id)).map_or(UNKNOWN_CLIENT, String::as_str)
    }

    /// Returns the channel of a recipient's number.
    pub(super) fn channel(&self, recipient: i64) -> Option<Recipient> {
        match self.places.get(&recipient)? {
            Place::Channel(id) => Some(Recipient::Channel(*id)),
            Place::Person(_) | Place::People(_) => None,
        }
    }

    /// Returns where a message goes, and to users to whom.
    pub(super) fn place(&self, sender: i64, recipient: i64) -> Option<(Recipient, Vec<UserId>)> {
        let sender = UserId(sender);
        let users: BTreeSet<UserId> = match self.places.get(&recipient)? {
            Place::Channel(id) => return Some((Recipient::Channel(*id), Vec::new())),
            Place::Person(user) => BTreeSet::from([sender, *user]),
            Place::People(users) => users.iter().copied().chain([sender]).collect(),
        };
        Some((Recipient::Direct(DirectConversationId(0)), users.into_iter().collect()))
    }
}

/// Converts the messages of an export's file. `realm` is the organization as it was imported; `uploads` are those of
/// [`ImportReferences::uploads_used_by`] the file that are stored here.
#[must_use]
pub fn convert_messages(
    setting: &RenderSettings<'_>,
    realm: &RealmSnapshot,
    atlas: &ImportReferences,
    (file, uploads): (&MessageFile, &[Attachment]),
    report: &mut TransferReport,
) -> Vec<ImportedMessage> {
    let mut copies: HashMap<i64, BTreeMap<UserId, i64>> = HashMap::new();
    for copy in file.copies.iter().filter(|copy| realm.user(UserId(copy.user_profile)).is_some()) {
        copies.entry(copy.message).or_default().insert(UserId(copy.user_profile), copy.flags_mask);
    }
    let mut parts: HashMap<i64, BTreeMap<i64, Submessage>> = HashMap::new();
    for row in file.submessages.iter().filter(|row| realm.user(UserId(row.sender)).is_some()) {
        let part = Submessage { id: row.id, sender_id: UserId(row.sender), content: clean(&row.content) };
        parts.entry(row.message).or_default().insert(row.id, part);
    }
    let (nobody, nothing) = (BTreeMap::new(), BTreeMap::new());
    let uploads = uploads.iter().map(|upload| (&upload.path_id, upload)).collect();
    let work = Work { setting, realm, atlas, uploads };
    let made = file.messages.iter().filter_map(|row| {
        work.message(row, (copies.get(&row.id).unwrap_or(&nobody), parts.get(&row.id).unwrap_or(&nothing)))
    });
    let mut made: Vec<ImportedMessage> = made.collect();
    made.sort_by_key(|made| made.message.id);
    made.dedup_by_key(|made| made.message.id);
    report.count_transferred("messages", made.len());
    report.count_transferred("earlier states of messages", made.iter().map(|made| made.past.len()).sum());
    report.count_transferred("parts of polls and lists", made.iter().map(|made| made.message.submessages.len()).sum());
    report.count_omitted("messages of or to somebody the export does not have", file.messages.len() - made.len());
    for (table, rows) in &file.others {
        report.count_omitted(table, usize::try_from(*rows).unwrap_or(usize::MAX));
    }
    made
}

struct Work<'a> {
    setting: &'a RenderSettings<'a>,
    realm: &'a RealmSnapshot,
    atlas: &'a ImportReferences,
    uploads: HashMap<&'a PathId, &'a Attachment>,
}

impl Work<'_> {
    /// Returns the uploads of a message that are here.
    fn uploads(&self, id: i64) -> ReadableLinkedUploads {
        let names = self.atlas.uploads.get(&id).into_iter().flatten();
        ReadableLinkedUploads::new(names.filter_map(|(_, path_id)| self.uploads.get(path_id).copied().cloned()))
    }

    fn message(
        &self,
        row: &MessageRow,
        (copies, parts): (&BTreeMap<UserId, i64>, &BTreeMap<i64, Submessage>),
    ) -> Option<ImportedMessage> {
        let sender = self.realm.user(UserId(row.sender))?;
        let (recipient, direct_users) = self.atlas.place(row.sender, row.recipient)?;
        let is_known = match recipient {
            Recipient::Channel(id) => self.realm.channel(id).is_some(),
            Recipient::Direct(_) => direct_users.iter().all(|user| self.realm.user(*user).is_some()),
        };
        if !is_known || row.id < 1 {
            return None;
        }
        let topic = topic(recipient, &row.subject);
        let past = self.past(sender, row, (recipient, &topic));
        let (content, uploads) = (self.atlas.relinked(&clean(&row.content)), self.uploads(row.id));
        let setting = RenderSettings { uploads: Some(&uploads), ..*self.setting };
        let rendered = self.render(&setting, sender, (&content, row.rendered_content.as_deref()));
        let read_by_sender = copies.get(&sender.id).is_none_or(|flags| is(*flags, MessageFlag::Read));
        let mut content_flags = content_flags(&rendered, read_by_sender);
        content_flags.moved_in = past.iter().any(|edit| edit.channel.is_some()) && !self.atlas.given.contains(&row.id);
        content_flags.has_link = row.has_link.unwrap_or(content_flags.has_link);
        // Only who may mention everybody did, and that they did stands in the copies.
        content_flags.mentions_channel &=
            copies.is_empty() || copies.values().any(|flags| is(*flags, MessageFlag::StreamWildcardMentioned));
        let mut submessages: Vec<Submessage> = parts.values().cloned().collect();
        if !self.atlas.has_parts {
            let first = widget::initial_widget_submessage(&content).map(|content| Submessage {
                id: row.id,
                sender_id: sender.id,
                content,
            });
            submessages.extend(first);
        }
        content_flags.is_widget = !submessages.is_empty();
        let uses = setting.linked_attachment_ids(&rendered);
        // Newer servers leave the time out where a message has only moved.
        let last_edit_s = row.last_edit_time.max(past.last().map(|edit| edit.at_s));
        let message = Message {
            id: MessageId(row.id),
            sender_id: sender.id,
            recipient,
            direct_users,
            topic,
            content,
            html: rendered.html,
            sent_s: row.date_sent,
            client: self.atlas.client(row.sending_client).to_owned(),
            content_flags,
            last_edit_s,
            revision: EventId(row.id),
            reactions: Vec::new(),
            submessages,
        };
        Some(ImportedMessage { readers: self.readers(&message, copies), flags: flags(copies), message, past, uses })
    }

    /// Renders a text, with the names that its HTML in the export has.
    fn render(
        &self,
        setting: &RenderSettings<'_>,
        writer: &User,
        (content, known): (&str, Option<&str>),
    ) -> RenderedMessage {
        let Some(html) = known.filter(|html| !html.is_empty()) else {
            return setting.render_message(self.realm, writer, content);
        };
        let names = RenderedNames::of(self.realm, html);
        let linkifiers = names.linkifiers(setting.render_context.linkifiers());
        setting.render_with(self.realm, (&names, &linkifiers), writer, content)
    }

    /// Returns who received the message, and whether they read it. Who has no copy was not there to read it, so it is
    /// not shown to them as new; who has been away for long is given their copies, unread, when they are back.
    fn readers(&self, message: &Message, copies: &BTreeMap<UserId, i64>) -> Vec<(UserId, bool)> {
        let read = |user: UserId| match copies.get(&user) {
            Some(flags) => is(*flags, MessageFlag::Read),
            None => !self.atlas.idle.contains(&user),
        };
        let mut users: BTreeSet<UserId> = message.direct_users.iter().copied().collect();
        if let Recipient::Channel(channel) = message.recipient {
            let received = |user: UserId| {
                self.realm.membership(channel, user).is_some_and(|membership| membership.was_subscribed_at(message.id))
            };
            let subscribed = self.realm.subscribers(channel).chain(copies.keys().copied());
            users.extend(subscribed.filter(|user| received(*user)));
        }
        users.into_iter().map(|user| (user, read(user))).collect()
    }

    /// Returns the earlier states, the oldest first. In the export the newest comes first, and each says what was
    /// before it.
    fn past(&self, sender: &User, row: &MessageRow, (recipient, topic): (Recipient, &str)) -> Vec<ImportedEdit> {
        let text = row.edit_history.as_deref().unwrap_or("[]");
        let rows: Vec<EditHistoryRow> = serde_json::from_str(text).unwrap_or_default();
        let (mut place, mut now) = (recipient, topic.to_owned());
        let mut past = Vec::with_capacity(rows.len());
        for edit in rows {
            let before = edit.prev_topic.map_or_else(|| now.clone(), |before| self::topic(recipient, &before));
            let from = edit.prev_stream.map_or(place, |channel| Recipient::Channel(ChannelId(channel)));
            let content = edit.prev_content.map(|content| {
                let content = self.atlas.relinked(&clean(&content));
                let known = edit.prev_rendered_content.as_deref();
                let html = self.render(self.setting, sender, (&content, known)).html;
                (content, html)
            });
            past.push(ImportedEdit {
                at_s: edit.timestamp,
                user_id: edit.user_id.map(UserId).filter(|user| self.realm.user(*user).is_some()),
                content,
                channel: (from != place).then_some((from, place)),
                topic: (before.clone(), now),
            });
            (place, now) = (from, before);
        }
        past.reverse();
        past
    }
}

/// Returns the moved messages of which the copies say something else than who was in the channel when they were sent.
fn given(tables: &RealmTables, survey: &MessageSurvey) -> HashSet<i64> {
    if survey.moved.is_empty() {
        return HashSet::new();
    }
    let happened = Happened::of(tables);
    let head = EventId(head(tables, survey));
    let channels = tables.recipients.iter().filter(|row| row.r#type == CHANNEL);
    let channels: HashMap<i64, ChannelId> = channels.map(|row| (row.id, ChannelId(row.type_id))).collect();
    let mut given = HashSet::new();
    for row in &tables.subscriptions {
        let Some(channel) = channels.get(&row.recipient).filter(|_| survey.moved.contains_key(&row.recipient)) else {
            continue;
        };
        let known = known(survey, (row.user_profile, row.recipient), row.active);
        let spans = happened.spans((*channel, UserId(row.user_profile)), known, head);
        let was_here = |message: i64| spans.iter().any(|span| span.contains(EventId(message)));
        let moved = survey.moved(row.user_profile, row.recipient);
        given.extend(moved.filter(|(message, has_copy)| was_here(*message) != *has_copy).map(|(message, _)| message));
    }
    given
}

/// Returns whether the message came from another channel.
fn was_moved(row: &MessageRow) -> bool {
    row.edit_history.as_deref().is_some_and(|edits| edits.contains("\"prev_stream\""))
}

fn topic(recipient: Recipient, written: &str) -> String {
    match recipient {
        Recipient::Direct(_) => String::new(),
        Recipient::Channel(_) => {
            let topic = clean(written);
            if topic.trim().is_empty() { NO_TOPIC.to_owned() } else { topic.trim().to_owned() }
        }
    }
}

fn is(bits: i64, flag: MessageFlag) -> bool {
    bits & codes::bit(flag) != 0
}

/// Returns the flags that are rows: the others follow from where a message is, who received it and what it says.
fn flags(copies: &BTreeMap<UserId, i64>) -> Vec<(UserId, MessageFlag)> {
    let is_row = |flag: &MessageFlag| {
        !matches!(flag, MessageFlag::Read | MessageFlag::StreamWildcardMentioned | MessageFlag::Historical)
    };
    let of = |(user, bits): (&UserId, &i64)| {
        let user = *user;
        codes::flags(*bits).filter(is_row).map(move |flag| (user, flag)).collect::<Vec<_>>()
    };
    copies.iter().flat_map(of).collect()
}

/// Converts the reactions of an export, by message. Those with a custom emoji that does not exist here are omitted.
#[must_use]
pub fn convert_reactions(
    realm: &RealmSnapshot,
    rows: &[ReactionRow],
    report: &mut TransferReport,
) -> Vec<ImportedReactions> {
    let mut by_message: BTreeMap<i64, BTreeMap<i64, Reaction>> = BTreeMap::new();
    let (mut taken, mut custom, mut unknown) = (0, 0, 0);
    for row in rows {
        let kind = ReactionType::from_wire_name(&row.reaction_type);
        match kind.filter(|_| realm.user(UserId(row.user_profile)).is_some()) {
            None => unknown += 1,
            Some(ReactionType::RealmEmoji) if !has_emoji(realm, &row.emoji_code) => custom += 1,
            Some(reaction_type) => {
                let reaction = Reaction {
                    user_id: UserId(row.user_profile),
                    emoji_name: clean(&row.emoji_name),
                    emoji_code: clean(&row.emoji_code),
                    reaction_type,
                };
                by_message.entry(row.message).or_default().insert(row.id, reaction);
                taken += 1;
            }
        }
    }
    report.count_transferred("reactions", taken);
    report.count_omitted("reactions with a custom emoji that is not here", custom);
    report.count_omitted("reactions of somebody the export does not have, or of an unknown kind", unknown);
    by_message.into_iter().map(|(id, given)| (MessageId(id), given.into_values().collect())).collect()
}

fn has_emoji(realm: &RealmSnapshot, code: &str) -> bool {
    code.parse().is_ok_and(|id| realm.realm_item(RealmItemKind::Emoji, id).is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The messages 1 to 8 of a channel, of which 3 was moved there.
    fn file(copies: &[(i64, i64)]) -> MessageFile {
        let message = |id: i64| {
            let edits = if id == 3 { r#"[{"prev_stream": 5}]"# } else { "[]" };
            json!({"id": id, "sender": 8, "recipient": 1, "content": "x", "date_sent": id, "edit_history": edits})
        };
        let copy = |(message, flags): &(i64, i64)| json!({"user_profile": 7, "message": message, "flags_mask": flags});
        let messages: Vec<Value> = (1..=8).map(message).collect();
        let copies: Vec<Value> = copies.iter().map(copy).collect();
        serde_json::from_value(json!({"zerver_message": messages, "zerver_usermessage": copies})).unwrap()
    }

    fn runs(copies: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let mut survey = MessageSurvey::default();
        survey.add_file(&file(copies));
        survey.received(7, 1).iter().map(|run| (run.first, run.last)).collect()
    }

    #[test]
    fn messages_received_one_after_the_other_are_a_run_whatever_was_moved_between_them() {
        assert_eq!(runs(&[(5, 0), (2, 1), (4, 1), (8, 0)]), [(2, 5), (8, 8)]);
        assert_eq!(runs(&[(3, 1)]), []);
    }

    #[test]
    fn neither_a_historical_copy_nor_one_of_a_direct_message_is_received_in_a_channel() {
        assert_eq!(runs(&[(1, codes::bit(MessageFlag::Historical)), (2, codes::PRIVATE), (4, 0)]), [(4, 4)]);
    }
}

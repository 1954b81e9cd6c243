//! Showing an organization to whoever hands it out.
//!
//! All of it is read in one transaction that sees one state, so that no message is there without its channel and
//! nothing twice, while others write. It changes nothing and takes no lock; an engine keeps what was overwritten in the
//! meantime until the transaction ends.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::files::AttachmentStore as _;
use chat_core::id::{ChannelId, DraftId, MessageId, UserId};
use chat_core::import_export::export::{
    ExportError, ExportMessageCounts, ExportStore, ExportedMessage, OrganizationExport,
};
use chat_core::model::message::{EditHistoryEntry, Message, MessageFlag, Reaction, Recipient, Submessage};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::KeyHasher;
use chat_core::organization::data_exports::OrganizationSize;

use crate::edit::{self, EditRow};
use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::flags::{MessageFacts, RecipientFlags};
use crate::message_decoding::{self, MessageRow, ReactionRow};
use crate::store::ChatStore;
use crate::{attachment, flag_set, read_set, realm, scheduled};

/// Things that are read at once.
const PAGE: i64 = 1_000;
/// Copies of messages that are held in memory at once: a page has fewer messages where channels have many members.
const COPIES_MAX: usize = 1_000_000;
/// Messages of a page, whatever the members.
const PAGE_MIN: i64 = 20;

const COUNT_UP_TO: &str = "SELECT count(*) FROM (SELECT id FROM message ORDER BY id LIMIT $1) AS counted";
const COUNT: &str = "SELECT count(*), coalesce(max(id), 0) FROM message";
const MESSAGES: &str = "SELECT m.id, m.sender_id, m.recipient_id, d.users, m.topic, m.content, m.html, m.sent_s,
    m.client, m.marks, m.last_edit_s, m.revision
FROM message AS m LEFT JOIN direct AS d ON d.recipient_id = m.recipient_id
WHERE m.id > $1 ORDER BY m.id LIMIT $2";
const REACTIONS: &str = "SELECT message_id, user_id, name, code, kind FROM reaction
WHERE message_id > $1 AND message_id <= $2 ORDER BY message_id, event_id";
const SUBMESSAGES: &str = "SELECT id, message_id, sender_id, content FROM submessage
WHERE message_id > $1 AND message_id <= $2 ORDER BY message_id, id";
const EDITS: &str = "SELECT message_id, at_s, user_id, content, html, recipient_id, to_recipient_id, topic, to_topic
FROM message_edit WHERE message_id > $1 AND message_id <= $2 ORDER BY message_id, event_id DESC";
const FLAGS: &str = "SELECT message_id, user_id, flag FROM message_flag WHERE message_id > $1 AND message_id <= $2";

const UPLOADS: &str = "SELECT id, path_id, owner_id, name, media_type, size_bytes, created_s, width, height,
    is_animated
FROM attachment WHERE id > $1 ORDER BY id LIMIT $2";
const USES: &str = "SELECT attachment_id, message_id FROM attachment_use
WHERE attachment_id > $1 AND attachment_id <= $2 ORDER BY attachment_id, message_id";
const SCHEDULED: &str = "SELECT id, user_id, channel_id, users, topic, content, html, client, read_by_sender, due_s,
    failure, revision
FROM scheduled_message ORDER BY id";
const DRAFTS: &str = "SELECT id, user_id, document FROM draft WHERE id > $1 ORDER BY id LIMIT $2";
const KEEPERS: &str = "SELECT user_id FROM bot_storage_size ORDER BY user_id";
const KEPT: &str = "SELECT item_key, value FROM bot_storage WHERE user_id = $1";
/// What an export has no place for.
const LEFT: [(&str, &str); 3] = [
    ("telephones that are notified, which register anew", "SELECT count(*) FROM push_device"),
    ("times at which users were last there", "SELECT count(*) FROM presence"),
    ("reminders of messages", "SELECT count(*) FROM reminder"),
];

#[async_trait]
impl ExportStore for ChatStore {
    async fn export_organization(&self, export: &mut OrganizationExport<'_>) -> Result<(), ExportError> {
        let mut tx = self.shared.db.begin_reading().await.map_err(failed)?;
        let shown = show(&mut tx, self.shared.cipher.hasher(), export).await;
        tx.roll_back().await.map_err(failed)?;
        shown
    }

    async fn organization_size(&self, messages_max: u64) -> Result<OrganizationSize, StoreError> {
        let limit = i64::try_from(messages_max.saturating_add(1)).unwrap_or(i64::MAX);
        let counted: i64 =
            run!(self.shared.db.reader(), fetch_one: sqlx::query_scalar(COUNT_UP_TO).bind(limit)).map_err(failed)?;
        let upload_bytes = self.total_upload_bytes().await?;
        Ok(OrganizationSize { messages: counted.unsigned_abs(), upload_bytes })
    }
}

async fn show(tx: &mut Tx, key_hasher: &KeyHasher, export: &mut OrganizationExport<'_>) -> Result<(), ExportError> {
    let realm = Arc::new(realm::load_in(tx, key_hasher).await?);
    let (count, last): (i64, i64) = run!(tx.on(), fetch_one: sqlx::query_as(COUNT)).map_err(failed)?;
    let messages = ExportMessageCounts { count: count.unsigned_abs(), last: MessageId(last) };
    export.write_organization(&realm, messages)?;
    let ever = ever_in(&realm);
    let limit = page_limit(&ever);
    let mut after = 0;
    loop {
        let page = page(tx, (&realm, &ever), (after, limit)).await?;
        let Some(last) = page.last() else { break };
        after = last.message.id.0;
        export.write_message_page(&page)?;
    }
    let waiting: Vec<scheduled::Row> = run!(tx.on(), fetch_all: sqlx::query_as(SCHEDULED)).map_err(failed)?;
    export.write_scheduled_messages(&waiting.into_iter().map(scheduled::scheduled).collect::<Vec<_>>())?;
    uploads(tx, export).await?;
    drafts(tx, export).await?;
    bot_storage(tx, export).await?;
    for (what, sql) in LEFT {
        let count: i64 = run!(tx.on(), fetch_one: sqlx::query_scalar(sql)).map_err(failed)?;
        export.count_omitted(what, usize::try_from(count).unwrap_or_default());
    }
    Ok(export.write_message_references()?)
}

/// Shows uploads, each with the messages that use it.
async fn uploads(tx: &mut Tx, export: &mut OrganizationExport<'_>) -> Result<(), ExportError> {
    let mut after = 0;
    loop {
        let rows: Vec<attachment::Row> =
            run!(tx.on(), fetch_all: sqlx::query_as(UPLOADS).bind(after).bind(PAGE)).map_err(failed)?;
        let Some(until) = rows.last().map(|row| row.0) else { return Ok(()) };
        let uses: Vec<(i64, i64)> =
            run!(tx.on(), fetch_all: sqlx::query_as(USES).bind(after).bind(until)).map_err(failed)?;
        let mut messages: HashMap<i64, Vec<MessageId>> = HashMap::new();
        for (upload, message) in uses {
            messages.entry(upload).or_default().push(MessageId(message));
        }
        let with_messages = |row| {
            let upload = attachment::attachment(row)?;
            let messages = messages.remove(&upload.id.0).unwrap_or_default();
            Ok((upload, messages))
        };
        export.write_uploads(&rows.into_iter().map(with_messages).collect::<Result<Vec<_>, StoreError>>()?)?;
        after = until;
    }
}

async fn drafts(tx: &mut Tx, export: &mut OrganizationExport<'_>) -> Result<(), ExportError> {
    let mut after = 0;
    loop {
        let rows: Vec<(i64, i64, String)> =
            run!(tx.on(), fetch_all: sqlx::query_as(DRAFTS).bind(after).bind(PAGE)).map_err(failed)?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.0;
        let draft = |(id, author, document): (i64, i64, String)| {
            Ok((DraftId(id), UserId(author), serde_json::from_str(&document).map_err(failed)?))
        };
        export.write_drafts(&rows.into_iter().map(draft).collect::<Result<Vec<_>, StoreError>>()?)?;
    }
}

/// Shows what programs of bots keep, bot by bot: each has a bound.
async fn bot_storage(tx: &mut Tx, export: &mut OrganizationExport<'_>) -> Result<(), ExportError> {
    let bots: Vec<i64> = run!(tx.on(), fetch_all: sqlx::query_scalar(KEEPERS)).map_err(failed)?;
    for bot in bots {
        let rows: Vec<(String, String)> = run!(tx.on(), fetch_all: sqlx::query_as(KEPT).bind(bot)).map_err(failed)?;
        // The engines order texts differently.
        let mut kept: Vec<_> = rows.into_iter().map(|(key, value)| (UserId(bot), key, value)).collect();
        kept.sort();
        export.write_bot_storage(&kept)?;
    }
    Ok(())
}

/// Who is or was in each channel.
type Ever = HashMap<ChannelId, Vec<UserId>>;

fn ever_in(realm: &RealmSnapshot) -> Ever {
    let mut ever = Ever::new();
    for user in realm.users() {
        for (channel, _) in realm.memberships_of_user(user.id) {
            ever.entry(channel).or_default().push(user.id);
        }
    }
    ever
}

fn page_limit(ever: &Ever) -> i64 {
    let most = ever.values().map(Vec::len).max().unwrap_or_default().max(1);
    i64::try_from(COPIES_MAX / most).unwrap_or(PAGE).clamp(PAGE_MIN, PAGE)
}

/// Returns the messages after one, that many at most.
async fn page(
    tx: &mut Tx,
    (realm, ever): (&RealmSnapshot, &Ever),
    (after, limit): (i64, i64),
) -> Result<Vec<ExportedMessage>, StoreError> {
    let rows: Vec<MessageRow> =
        run!(tx.on(), fetch_all: sqlx::query_as(MESSAGES).bind(after).bind(limit)).map_err(failed)?;
    let until = rows.last().map_or(after, |row| row.0);
    let mut beside = MessageDetails::load(tx, (after, until)).await?;
    let messages: Vec<Message> = rows.into_iter().map(|row| beside.message(row)).collect();
    let recipients: BTreeSet<Recipient> = messages.iter().map(|message| message.recipient).collect();
    let read = read_set::load_all_in(tx, recipients).await?;
    let page = messages.into_iter().map(|message| {
        let facts = MessageFacts::from(&message);
        let mut flags = beside.flags.remove(&message.id.0).unwrap_or_default();
        // Who came back has the copies from before they left, also of what had been moved in.
        let has_copy = |user: &UserId| match message.recipient {
            Recipient::Direct(_) => false,
            Recipient::Channel(channel) => {
                realm.membership(channel, *user).is_some_and(|membership| membership.was_subscribed_at(message.id))
            }
        };
        let mut users: BTreeSet<UserId> = flags.keys().copied().collect();
        match message.recipient {
            Recipient::Direct(_) => users.extend(&message.direct_users),
            Recipient::Channel(channel) => {
                let there = ever.get(&channel).into_iter().flatten().copied();
                users.extend(there.filter(has_copy));
            }
        }
        let copy = |user: UserId| {
            let set = read.get(&(message.recipient, user));
            let own = RecipientFlags::new((realm, user), message.recipient, set);
            let mut flags = own.flags_of(&facts, flags.remove(&user).unwrap_or_default());
            flags.retain(|flag| *flag != MessageFlag::Historical || !has_copy(&user));
            (user, flags)
        };
        let copies = users.into_iter().map(copy).collect();
        let past = beside.past.remove(&message.id.0).unwrap_or_default();
        ExportedMessage { message, past, copies }
    });
    Ok(page.collect())
}

/// What stands beside the messages of a page, by their numbers.
struct MessageDetails {
    reactions: HashMap<i64, Vec<Reaction>>,
    submessages: HashMap<i64, Vec<Submessage>>,
    past: HashMap<i64, Vec<EditHistoryEntry>>,
    flags: HashMap<i64, BTreeMap<UserId, Vec<MessageFlag>>>,
}

impl MessageDetails {
    async fn load(tx: &mut Tx, (after, until): (i64, i64)) -> Result<Self, StoreError> {
        let rows: Vec<ReactionRow> =
            run!(tx.on(), fetch_all: sqlx::query_as(REACTIONS).bind(after).bind(until)).map_err(failed)?;
        let reactions = message_decoding::reactions_of(rows)?;
        let rows: Vec<(i64, i64, i64, String)> =
            run!(tx.on(), fetch_all: sqlx::query_as(SUBMESSAGES).bind(after).bind(until)).map_err(failed)?;
        let mut submessages: HashMap<i64, Vec<Submessage>> = HashMap::new();
        for (id, message, sender, content) in rows {
            submessages.entry(message).or_default().push(Submessage { id, sender_id: UserId(sender), content });
        }
        let rows: Vec<EditRow> =
            run!(tx.on(), fetch_all: sqlx::query_as(EDITS).bind(after).bind(until)).map_err(failed)?;
        let mut past: HashMap<i64, Vec<EditHistoryEntry>> = HashMap::new();
        for (message, edit) in rows.into_iter().map(edit::past) {
            past.entry(message.0).or_default().push(edit);
        }
        let rows: Vec<(i64, i64, i64)> =
            run!(tx.on(), fetch_all: sqlx::query_as(FLAGS).bind(after).bind(until)).map_err(failed)?;
        let mut flags: HashMap<i64, BTreeMap<UserId, Vec<MessageFlag>>> = HashMap::new();
        let own = flag_set::between(tx, (after, until)).await?;
        for (message, user, flag) in rows.into_iter().chain(own) {
            flags
                .entry(message)
                .or_default()
                .entry(UserId(user))
                .or_default()
                .extend(MessageFlag::from_database_number(flag));
        }
        Ok(Self { reactions, submessages, past, flags })
    }

    fn message(&mut self, row: MessageRow) -> Message {
        let id = row.0;
        let reactions = self.reactions.remove(&id).unwrap_or_default();
        message_decoding::message(row, reactions, self.submessages.remove(&id).unwrap_or_default())
    }
}

//! Drafts, scheduled messages and the storage of bots.

use super::TransferReport;
use super::export_tables::{DraftRow, RealmTables, ScheduledMessageRow};
use super::messages::ImportReferences;
use super::organization::clean;
use crate::id::{DraftId, EventId, ScheduledMessageId, UserId};
use crate::messages::draft::{Draft, DraftDestination};
use crate::messages::scheduled::{ScheduledDestination, ScheduledMessage};
use crate::model::message::Recipient;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::render_context::RenderSettings;

/// What a message is that waits for its time; others are reminders.
const MESSAGE: i64 = 1;
/// The reason why a message did not go out that does not say.
const FAILED: &str = "Message could not be sent at the scheduled time.";

/// The drafts, scheduled messages and bot storage of an export, ready to be written.
#[derive(Debug, Default)]
pub struct ImportedDraftsAndBotStorage {
    /// Messages that wait for their time.
    pub scheduled: Vec<ScheduledMessage>,
    /// Drafts, and who.
    pub drafts: Vec<(DraftId, UserId, Draft)>,
    /// What programs of bots keep: whose, under which key, what; in the order of the bots.
    pub bot_storage: Vec<(UserId, String, String)>,
}

/// Converts the drafts, scheduled messages and bot storage of an export's tables. `realm` is the organization as it was
/// imported.
#[must_use]
pub fn convert_drafts_and_bot_storage(
    setting: &RenderSettings<'_>,
    realm: &RealmSnapshot,
    (tables, atlas): (&RealmTables, &ImportReferences),
    report: &mut TransferReport,
) -> ImportedDraftsAndBotStorage {
    let scheduled: Vec<ScheduledMessage> =
        tables.scheduled.iter().filter_map(|row| scheduled(setting, realm, atlas, row)).collect();
    let waiting = tables.scheduled.iter().filter(|row| !row.delivered).count();
    report.count_transferred("scheduled messages", scheduled.len());
    report.count_omitted("scheduled messages", waiting - scheduled.len());
    let drafts: Vec<_> = tables.drafts.iter().filter_map(|row| draft(realm, atlas, row)).collect();
    report.count_transferred("drafts", drafts.len());
    report.count_omitted("drafts", tables.drafts.len() - drafts.len());
    let of_bots = tables.bot_storage.iter().filter(|row| realm.user(UserId(row.bot_profile)).is_some());
    let mut bot_storage: Vec<_> =
        of_bots.map(|row| (UserId(row.bot_profile), clean(&row.key), clean(&row.value))).collect();
    bot_storage.sort();
    bot_storage.dedup_by(|one, other| (one.0, &one.1) == (other.0, &other.1));
    report.count_transferred("texts that programs of bots keep", bot_storage.len());
    report.count_omitted("texts that programs of bots keep", tables.bot_storage.len() - bot_storage.len());
    ImportedDraftsAndBotStorage { scheduled, drafts, bot_storage }
}

fn scheduled(
    setting: &RenderSettings<'_>,
    realm: &RealmSnapshot,
    atlas: &ImportReferences,
    row: &ScheduledMessageRow,
) -> Option<ScheduledMessage> {
    if row.delivered || row.delivery_type.is_some_and(|kind| kind != MESSAGE) || row.id < 1 {
        return None;
    }
    let sender = realm.user(UserId(row.sender))?;
    let to = match place(realm, atlas, (row.sender, row.recipient))? {
        (Recipient::Channel(id), _) => ScheduledDestination::Channel(id, clean(&row.subject)),
        (Recipient::Direct(_), users) => ScheduledDestination::Direct(without(sender.id, users)),
    };
    let content = atlas.relinked(&clean(&row.content));
    Some(ScheduledMessage {
        id: ScheduledMessageId(row.id),
        user_id: sender.id,
        to,
        html: setting.render_message(realm, sender, &content).html,
        content,
        client: atlas.client(row.sending_client).to_owned(),
        read_by_sender: row.read_by_sender.unwrap_or(true),
        due_s: row.scheduled_timestamp,
        failure: row.failed.then(|| row.failure_message.as_deref().map_or_else(|| FAILED.to_owned(), clean)),
        revision: EventId(row.id),
    })
}

fn draft(realm: &RealmSnapshot, atlas: &ImportReferences, row: &DraftRow) -> Option<(DraftId, UserId, Draft)> {
    let author = realm.user(UserId(row.user_profile))?.id;
    let to = match row.recipient {
        None if row.kind == "private" => DraftDestination::Direct(Vec::new()),
        None => DraftDestination::Nowhere,
        Some(recipient) => match place(realm, atlas, (row.user_profile, recipient))? {
            (Recipient::Channel(id), _) => DraftDestination::Channel(id, clean(&row.topic)),
            (Recipient::Direct(_), users) => DraftDestination::Direct(without(author, users)),
        },
    };
    let draft = Draft { to, content: atlas.relinked(&clean(&row.content)), touched_s: row.last_edit_time.max(0) };
    (row.id > 0).then_some((DraftId(row.id), author, draft))
}

/// Returns where a user writes to, when all of that is here.
fn place(
    realm: &RealmSnapshot,
    atlas: &ImportReferences,
    (sender, recipient): (i64, i64),
) -> Option<(Recipient, Vec<UserId>)> {
    let (recipient, users) = atlas.place(sender, recipient)?;
    let is_known = match recipient {
        Recipient::Channel(id) => realm.channel(id).is_some(),
        Recipient::Direct(_) => users.iter().all(|user| realm.user(*user).is_some()),
    };
    is_known.then_some((recipient, users))
}

/// Returns who is written to; the author is named only when nobody else is.
fn without(author: UserId, mut users: Vec<UserId>) -> Vec<UserId> {
    if users.len() > 1 {
        users.retain(|user| *user != author);
    }
    users
}

//! Handing an organization out: the rows of its tables, as existing servers write them and
//! [`crate::import_export::import`] reads them.
//!
//! A store shows an organization as it was at one moment ([`ExportStore`]), piece by piece, and [`OrganizationExport`]
//! makes rows of each piece, so what is held in memory is the realm, which a server holds anyway, and one page of
//! messages. Numbers are those that things have here. Passwords, keys and the secrets of links never get here: a store
//! does not show them.
//!
//! An export that is imported and exported again is the same: what is written says all that is read.

mod messages;
mod organization;
mod organization_items;
mod original_address;
mod release;
mod rendered_html;
mod required_columns;
mod scope;
mod uploads_and_drafts;

pub use messages::ExportedMessage;
pub use release::OriginalServerRelease;
pub use scope::ExportContent;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::StoreError;
use crate::files::{FileKey, PathId};
use crate::id::{ChannelId, MessageId, ScheduledMessageId, UserId};
use crate::import_export::import::TransferReport;
use crate::import_export::import::export_tables::codes::{CHANNEL, PEOPLE, PERSON};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::organization::data_exports::OrganizationSize;
use scope::ExportScope;

/// A file of an export that holds table rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExportTableFile {
    /// `realm.json`.
    Organization,
    /// `messages-000001.json` and those that follow, from 1.
    Messages(usize),
    /// `attachment.json`.
    Attachments,
}

/// A folder of an export that holds uploaded files and their list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExportUploadFolder {
    /// Uploads, under their paths.
    Uploads,
    /// Pictures of users.
    Avatars,
    /// Custom emoji.
    Emoji,
    /// Pictures of the organization itself.
    Emblems,
}

impl ExportUploadFolder {
    /// All folders of an export.
    pub const ALL: [Self; 4] = [Self::Uploads, Self::Avatars, Self::Emoji, Self::Emblems];

    /// Returns the folder's name.
    #[must_use]
    pub fn folder_name(self) -> &'static str {
        match self {
            Self::Uploads => "uploads",
            Self::Avatars => "avatars",
            Self::Emoji => "emoji",
            Self::Emblems => "realm_icons",
        }
    }
}

/// An uploaded file that belongs to an export.
#[derive(Debug, Clone)]
pub struct ExportedUploadFile {
    /// The folder.
    pub cabinet: ExportUploadFolder,
    /// The key of its bytes in this server's store of files.
    pub key: FileKey,
    /// Where they are in the folder: names of ours with slashes between.
    pub path: String,
    /// What the list says of it.
    pub record: Value,
}

/// The rows of an export could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the export cannot be written")]
pub struct ExportWriteError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// The writer of an export's table rows.
pub trait ExportWriter: Send {
    /// Announces the number of messages, once, before they are written.
    fn expect_messages(&mut self, messages: u64);

    /// Writes a row of a table. All rows of a table of a file come one after the other; those of another file may come
    /// between.
    ///
    /// # Errors
    /// When it cannot be kept; the export is none then.
    fn write_row(&mut self, sheet: ExportTableFile, table: &'static str, row: Value) -> Result<(), ExportWriteError>;

    /// Adds an uploaded file whose bytes belong to the export; they are fetched after everything was read.
    fn add_uploaded_file(&mut self, file: ExportedUploadFile);
}

/// The reason why an export failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It could not be written.
    #[error(transparent)]
    Sheet(#[from] ExportWriteError),
}

/// The number of messages in an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportMessageCounts {
    /// All of them.
    pub count: u64,
    /// The number of the last one; 0 when there is none.
    pub last: MessageId,
}

/// The database from which an organization is exported.
#[async_trait]
pub trait ExportStore: Send + Sync {
    /// Exports the organization as it is at one moment, whatever changes concurrently:
    /// [`OrganizationExport::write_organization`], then messages in ascending order, other objects, then
    /// [`OrganizationExport::write_message_references`].
    async fn export_organization(&self, export: &mut OrganizationExport<'_>) -> Result<(), ExportError>;

    /// Returns the size of the organization. Messages are counted up to one more than so many; the count reads the
    /// index of their numbers.
    async fn organization_size(&self, messages_max: u64) -> Result<OrganizationSize, StoreError>;
}

/// An export of the organization in progress.
pub struct OrganizationExport<'a> {
    sheets: &'a mut dyn ExportWriter,
    release: OriginalServerRelease,
    now_s: i64,
    content: ExportContent,
    scope: ExportScope,
    /// The realm as the export has it.
    realm: Arc<RealmSnapshot>,
    report: TransferReport,
    pages: usize,
    /// How many rows the tables have whose rows have no number of their own.
    rows: HashMap<&'static str, i64>,
    clients: Clients,
    circles: Circles,
    /// The uploads that messages link which wait for their time. A server deletes what nothing uses.
    waiting: HashMap<PathId, Vec<ScheduledMessageId>>,
}

/// The programs that messages were sent with, numbered in the order in which they appear.
#[derive(Default)]
struct Clients(HashMap<String, i64>);

/// Sets of three users and more that write to each other, numbered in the order in which they appear.
#[derive(Default)]
struct Circles {
    numbers: HashMap<Vec<UserId>, i64>,
    in_order: Vec<Vec<UserId>>,
}

impl Circles {
    fn number(&mut self, users: &[UserId]) -> i64 {
        if let Some(number) = self.numbers.get(users) {
            return *number;
        }
        self.in_order.push(users.to_vec());
        let number = i64::try_from(self.in_order.len()).unwrap_or(i64::MAX);
        self.numbers.insert(users.to_vec(), number);
        number
    }
}

impl<'a> OrganizationExport<'a> {
    /// Begins an export to a writer, for that release; `now_s` is in unix seconds.
    pub fn new(sheets: &'a mut dyn ExportWriter, release: OriginalServerRelease, now_s: i64) -> Self {
        Self {
            sheets,
            release,
            now_s,
            content: ExportContent::Everything,
            scope: ExportScope::of(ExportContent::Everything, &Arc::default()).0,
            realm: Arc::default(),
            report: TransferReport::default(),
            pages: 0,
            rows: HashMap::new(),
            clients: Clients::default(),
            circles: Circles::default(),
            waiting: HashMap::new(),
        }
    }

    /// The same of a part of the organization.
    #[must_use]
    pub fn with_content(self, content: ExportContent) -> Self {
        Self { content, ..self }
    }

    /// Counts data that the export omits.
    pub fn count_omitted(&mut self, what: &str, count: usize) {
        self.report.count_omitted(what, count);
    }

    /// Returns the report of what was exported and omitted.
    #[must_use]
    pub fn into_report(self) -> TransferReport {
        self.report
    }

    /// Writes the organization without its messages, of which it is given the counts.
    ///
    /// # Errors
    /// [`ExportWriteError`], as those of all that follow.
    pub fn write_organization(
        &mut self,
        realm: &Arc<RealmSnapshot>,
        messages: ExportMessageCounts,
    ) -> Result<(), ExportWriteError> {
        let (scope, realm) = ExportScope::of(self.content, realm);
        self.scope = scope;
        self.realm = Arc::clone(&realm);
        self.sheets.expect_messages(messages.count);
        self.organization(&realm, messages.last)?;
        self.organization_items(&realm)
    }

    /// Writes what messages refer to: clients, group conversations, recipients and subscriptions.
    ///
    /// # Errors
    /// [`ExportWriteError`].
    pub fn write_message_references(&mut self) -> Result<(), ExportWriteError> {
        let mut clients: Vec<(String, i64)> = std::mem::take(&mut self.clients.0).into_iter().collect();
        clients.sort_by_key(|(_, number)| *number);
        for (name, number) in clients {
            self.put("zerver_client", json!({"id": number, "name": name}))?;
        }
        let circles = std::mem::take(&mut self.circles).in_order;
        for (number, users) in (1_i64..).zip(&circles) {
            self.put("zerver_huddle", json!({"id": number, "group_size": users.len()}))?;
        }
        let realm = Arc::clone(&self.realm);
        for user in organization::accounts(&realm) {
            self.recipient(person(user.id), (PERSON, user.id.0))?;
        }
        for channel in organization::channels(&realm) {
            self.recipient(channel_recipient(channel.id), (CHANNEL, channel.id.0))?;
        }
        for number in numbers(&circles) {
            self.recipient(circle(number), (PEOPLE, number))?;
        }
        self.subscriptions(&circles)
    }

    fn recipient(&mut self, id: i64, (kind, of): (i64, i64)) -> Result<(), ExportWriteError> {
        self.put("zerver_recipient", json!({"id": id, "type": kind, "type_id": of}))
    }

    fn subscriptions(&mut self, circles: &[Vec<UserId>]) -> Result<(), ExportWriteError> {
        let realm = Arc::clone(&self.realm);
        for user in organization::accounts(&realm) {
            self.subscribed(user.id, person(user.id))?;
        }
        self.channel_subscriptions(&realm)?;
        for (number, users) in (1..).zip(circles) {
            for user in users {
                self.subscribed(*user, circle(number))?;
            }
        }
        Ok(())
    }

    /// Returns where messages go that a user sends to these users, in the order of their numbers.
    fn people(&mut self, sender: UserId, users: &[UserId]) -> i64 {
        let others: Vec<UserId> = users.iter().copied().filter(|user| *user != sender).collect();
        match others.as_slice() {
            [] => person(sender),
            [other] if users.len() <= 2 => person(*other),
            _ => circle(self.circles.number(users)),
        }
    }

    fn client(&mut self, name: &str) -> i64 {
        let next = i64::try_from(self.clients.0.len()).unwrap_or(i64::MAX).saturating_add(1);
        *self.clients.0.entry(name.to_owned()).or_insert(next)
    }

    /// Writes a row of `realm.json`.
    fn put(&mut self, table: &'static str, mut row: Value) -> Result<(), ExportWriteError> {
        required_columns::complete(table, &mut row);
        self.release.fit(table, &mut row);
        self.sheets.write_row(ExportTableFile::Organization, table, row)
    }

    /// Writes one that has no number of its own here.
    fn put_numbered(&mut self, table: &'static str, mut row: Value) -> Result<(), ExportWriteError> {
        let number = self.rows.entry(table).or_default();
        *number = number.saturating_add(1);
        if let Value::Object(columns) = &mut row {
            columns.insert("id".to_owned(), (*number).into());
        }
        self.put(table, row)
    }
}

fn numbers<T>(things: &[T]) -> impl Iterator<Item = i64> + use<T> {
    1..=i64::try_from(things.len()).unwrap_or(i64::MAX)
}

/// Returns the numbers of what messages go to: of people, channels and circles three sequences that do not meet.
fn person(user: UserId) -> i64 {
    user.0.saturating_mul(3)
}

fn channel_recipient(channel: ChannelId) -> i64 {
    channel.0.saturating_mul(3).saturating_add(1)
}

fn circle(number: i64) -> i64 {
    number.saturating_mul(3).saturating_add(2)
}

//! Uploads, and which messages use them.
//!
//! What a message uses is written in the transaction that writes the message, so that nobody who reads one finds a
//! file closed.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::files::{
    Attachment, AttachmentStore, AttachmentWithMessages, ImageMetadata, MAX_LISTED_ATTACHMENT_MESSAGES, NewAttachment,
    PathId, TemporaryFileAccess,
};
use chat_core::id::{AttachmentId, MessageId, UserId};
use chat_core::messages::attachment_event::{self, AttachmentChange};
use sql_engines::encode_numbers_parameter;

use crate::dialect::Sql;
use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::log_transaction::LogTransaction;
use crate::store::ChatStore;

const INSERT: &str = "INSERT INTO attachment
    (id, path_id, owner_id, name, media_type, size_bytes, created_s, width, height, is_animated)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
const TAKE_ROOM: &str = "UPDATE attachment_total SET used_bytes = used_bytes + $1
WHERE one = 1 AND used_bytes + $1 <= $2";
const TOTAL: &str = "SELECT used_bytes FROM attachment_total WHERE one = 1";
static FIND: Sql = Sql::new(
    "SELECT id, path_id, owner_id, name, media_type, size_bytes, created_s, width, height, is_animated
FROM attachment WHERE path_id {in_texts:$1}",
);
static FIND_NUMBERED: Sql = Sql::new(
    "SELECT id, path_id, owner_id, name, media_type, size_bytes, created_s, width, height, is_animated
FROM attachment WHERE id {in_numbers:$1}",
);
const OF_OWNER: &str =
    "SELECT id, path_id, owner_id, name, media_type, size_bytes, created_s, width, height, is_animated
FROM attachment WHERE owner_id = $1 ORDER BY id DESC";
/// The newest messages of each.
static MESSAGES: Sql = Sql::new(
    "SELECT attachment_id, message_id, sent_s FROM (
    SELECT u.attachment_id, u.message_id, m.sent_s,
        row_number() OVER (PARTITION BY u.attachment_id ORDER BY u.message_id DESC) AS place
    FROM attachment_use AS u JOIN message AS m ON m.id = u.message_id WHERE u.attachment_id {in_numbers:$1}
) AS newest WHERE place <= $2 ORDER BY message_id DESC",
);
const USES: &str = "SELECT message_id FROM attachment_use WHERE attachment_id = $1 AND message_id < $2
ORDER BY message_id DESC LIMIT $3";
const USE: &str = "INSERT INTO attachment_use (attachment_id, message_id)
SELECT id, CAST($2 AS BIGINT) FROM attachment WHERE id = $1
ON CONFLICT (attachment_id, message_id) DO NOTHING";
const USED_BY: &str = "SELECT attachment_id FROM attachment_use WHERE message_id = $1";
const USE_NO_LONGER: &str = "DELETE FROM attachment_use WHERE attachment_id = $1 AND message_id = $2";
const FORGET_USES: &str = "DELETE FROM attachment_use WHERE attachment_id = $1";
const DELETE: &str = "DELETE FROM attachment WHERE id = $1 AND owner_id = $2";
const LEND: &str = "INSERT INTO file_ticket (hash, path_id, until_s) VALUES ($1, $2, $3)";
const FORGET_TICKETS: &str = "DELETE FROM file_ticket WHERE until_s < $1";
const LENT: &str = "SELECT path_id FROM file_ticket WHERE hash = $1 AND until_s >= $2";

/// An upload.
pub(crate) type Row = (i64, String, i64, String, String, i64, i64, Option<i64>, Option<i64>, Option<i64>);

pub(crate) fn attachment(row: Row) -> Result<Attachment, StoreError> {
    let (id, path_id, owner_id, name, media_type, size_bytes, created_s, width, height, is_animated) = row;
    let path_id = PathId::parse(&path_id).ok_or_else(|| failed(format!("upload {id} has no path")))?;
    let side = |side: i64| u32::try_from(side).unwrap_or(u32::MAX);
    let picture = width.zip(height).map(|(width, height)| ImageMetadata {
        width: side(width),
        height: side(height),
        is_animated: is_animated == Some(1),
    });
    let (id, owner_id) = (AttachmentId(id), UserId(owner_id));
    Ok(Attachment { id, path_id, owner_id, name, media_type, size_bytes, created_s, picture })
}

/// Returns the uploads with the newest messages that use each, in the order given.
async fn used(tx: &mut Tx, attachments: Vec<Attachment>) -> Result<Vec<AttachmentWithMessages>, StoreError> {
    let ids = encode_numbers_parameter(attachments.iter().map(|attachment| attachment.id.0));
    let sql = MESSAGES.text_for_dialect(tx.dialect());
    let rows: Vec<(i64, i64, i64)> =
        run!(tx.on(), fetch_all: sqlx::query_as(sql.clone()).bind(&ids).bind(MAX_LISTED_ATTACHMENT_MESSAGES))
            .map_err(failed)?;
    let mut messages: BTreeMap<i64, Vec<(MessageId, i64)>> = BTreeMap::new();
    for (id, message_id, sent_s) in rows {
        messages.entry(id).or_default().push((MessageId(message_id), sent_s));
    }
    let with = |attachment: Attachment| AttachmentWithMessages {
        messages: messages.remove(&attachment.id.0).unwrap_or_default(),
        attachment,
    };
    Ok(attachments.into_iter().map(with).collect())
}

async fn total(tx: &mut Tx) -> Result<i64, StoreError> {
    run!(tx.on(), fetch_one: sqlx::query_scalar(TOTAL)).map_err(failed)
}

/// Has messages use uploads that there are, and tells their owners. Each use says when its message was sent, in unix
/// seconds.
pub(crate) async fn use_in(
    writing: &mut LogTransaction,
    uses: &[(AttachmentId, MessageId, i64)],
) -> Result<(), StoreError> {
    let Some((.., at_s)) = uses.last() else { return Ok(()) };
    let mut changed = BTreeSet::new();
    for (id, message_id, _) in uses {
        let added = run!(writing.tx.on(), execute: sqlx::query(USE).bind(id.0).bind(message_id.0)).map_err(failed)?;
        if added > 0 {
            changed.insert(*id);
        }
    }
    tell_used(writing, &changed, *at_s).await.map(drop)
}

/// Has a message use these uploads, of those that there are, and no others; tells the owners of what changes. Returns
/// the uploads that it used before and no message uses any more.
pub(crate) async fn use_only(
    writing: &mut LogTransaction,
    (message_id, wanted): (MessageId, &[AttachmentId]),
    at_s: i64,
) -> Result<Vec<Attachment>, StoreError> {
    let before: Vec<i64> =
        run!(writing.tx.on(), fetch_all: sqlx::query_scalar(USED_BY).bind(message_id.0)).map_err(failed)?;
    let before: BTreeSet<AttachmentId> = before.into_iter().map(AttachmentId).collect();
    let wanted: BTreeSet<AttachmentId> = wanted.iter().copied().collect();
    for id in before.difference(&wanted) {
        run!(writing.tx.on(), execute: sqlx::query(USE_NO_LONGER).bind(id.0).bind(message_id.0)).map_err(failed)?;
    }
    for id in wanted.difference(&before) {
        run!(writing.tx.on(), execute: sqlx::query(USE).bind(id.0).bind(message_id.0)).map_err(failed)?;
    }
    let changed = tell_used(writing, &before.symmetric_difference(&wanted).copied().collect(), at_s).await?;
    let unused = changed.into_iter().filter(|used| used.messages.is_empty()).map(|used| used.attachment);
    Ok(unused.filter(|upload| before.contains(&upload.id)).collect())
}

/// Notifies the owners of uploads of the messages that use them now. Returns that, by the numbers of the uploads.
async fn tell_used(
    writing: &mut LogTransaction,
    changed: &BTreeSet<AttachmentId>,
    at_s: i64,
) -> Result<Vec<AttachmentWithMessages>, StoreError> {
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    let sql = FIND_NUMBERED.text_for_dialect(writing.tx.dialect());
    let ids = encode_numbers_parameter(changed.iter().map(|id| id.0));
    let rows: Vec<Row> = run!(writing.tx.on(), fetch_all: sqlx::query_as(sql.clone()).bind(&ids)).map_err(failed)?;
    let mut attachments = rows.into_iter().map(attachment).collect::<Result<Vec<_>, _>>()?;
    attachments.sort_unstable_by_key(|attachment| attachment.id);
    let used_bytes = total(&mut writing.tx).await?;
    let changed = used(&mut writing.tx, attachments).await?;
    for used in &changed {
        let event = attachment_event::attachment_changed_event(AttachmentChange::Update, used, used_bytes);
        writing.push(at_s, Vec::new(), Some(event));
    }
    Ok(changed)
}

/// Writes an upload down, inside a transaction.
pub(crate) async fn insert(tx: &mut Tx, upload: &Attachment) -> Result<(), StoreError> {
    let Attachment { id, path_id, owner_id, name, media_type, size_bytes, created_s, picture } = upload;
    run!(tx.on(), execute: sqlx::query(INSERT)
        .bind(id.0)
        .bind(path_id.as_str())
        .bind(owner_id.0)
        .bind(name)
        .bind(media_type)
        .bind(*size_bytes)
        .bind(*created_s)
        .bind(picture.map(|picture| i64::from(picture.width)))
        .bind(picture.map(|picture| i64::from(picture.height)))
        .bind(picture.map(|picture| i64::from(picture.is_animated))))
    .map_err(failed)?;
    Ok(())
}

/// Takes room for so many bytes, inside a transaction. Says whether there was as much within the quota.
pub(crate) async fn take_room(tx: &mut Tx, size_bytes: i64, quota_bytes: i64) -> Result<bool, StoreError> {
    let taken = run!(tx.on(), execute: sqlx::query(TAKE_ROOM).bind(size_bytes).bind(quota_bytes)).map_err(failed)?;
    Ok(taken > 0)
}

#[async_trait]
impl AttachmentStore for ChatStore {
    async fn add_attachment(
        &self,
        upload: NewAttachment,
        quota_bytes: Option<i64>,
    ) -> Result<Option<Attachment>, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        let quota_bytes = quota_bytes.unwrap_or(i64::MAX);
        if !take_room(&mut writing.tx, upload.size_bytes, quota_bytes).await? {
            writing.roll_back().await?;
            return Ok(None);
        }
        let id = AttachmentId(writing.next().0);
        let NewAttachment { path_id, owner_id, name, media_type, size_bytes, created_s, picture } = upload;
        let media_type = media_type.to_owned();
        let attachment = Attachment { id, path_id, owner_id, name, media_type, size_bytes, created_s, picture };
        insert(&mut writing.tx, &attachment).await?;
        let used = AttachmentWithMessages { attachment, messages: Vec::new() };
        let used_bytes = total(&mut writing.tx).await?;
        writing.push(
            created_s,
            Vec::new(),
            Some(attachment_event::attachment_changed_event(AttachmentChange::Add, &used, used_bytes)),
        );
        let records = writing.commit().await?;
        self.shared.publish(records).await;
        Ok(Some(used.attachment))
    }

    async fn attachments_at_paths(&self, paths: &[PathId]) -> Result<Vec<Attachment>, StoreError> {
        let paths = serde_json::to_string(paths).map_err(failed)?;
        let sql = FIND.text_for_dialect(self.shared.db.dialect());
        let rows: Vec<Row> =
            run!(self.shared.db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(&paths)).map_err(failed)?;
        rows.into_iter().map(attachment).collect()
    }

    async fn messages_using_attachment(
        &self,
        id: AttachmentId,
        before: MessageId,
        limit: i64,
    ) -> Result<Vec<MessageId>, StoreError> {
        let rows: Vec<i64> = run!(self.shared.db.reader(), fetch_all: sqlx::query_scalar(USES)
            .bind(id.0).bind(before.0).bind(limit))
        .map_err(failed)?;
        Ok(rows.into_iter().map(MessageId).collect())
    }

    async fn attachments_of_owner(&self, owner_id: UserId) -> Result<Vec<AttachmentWithMessages>, StoreError> {
        let mut tx = self.shared.db.begin_reading().await.map_err(failed)?;
        let rows: Vec<Row> = run!(tx.on(), fetch_all: sqlx::query_as(OF_OWNER).bind(owner_id.0)).map_err(failed)?;
        let attachments = rows.into_iter().map(attachment).collect::<Result<_, _>>()?;
        let used = used(&mut tx, attachments).await?;
        tx.roll_back().await.map_err(failed)?;
        Ok(used)
    }

    async fn delete_attachment(
        &self,
        (owner_id, id): (UserId, AttachmentId),
        at_s: i64,
    ) -> Result<Option<Attachment>, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        let sql = FIND_NUMBERED.text_for_dialect(writing.tx.dialect());
        let rows: Vec<Row> =
            run!(writing.tx.on(), fetch_all: sqlx::query_as(sql.clone()).bind(encode_numbers_parameter([id.0])))
                .map_err(failed)?;
        let found = rows.into_iter().next().map(attachment).transpose()?;
        let Some(found) = found.filter(|found| found.owner_id == owner_id) else {
            writing.roll_back().await?;
            return Ok(None);
        };
        run!(writing.tx.on(), execute: sqlx::query(FORGET_USES).bind(id.0)).map_err(failed)?;
        run!(writing.tx.on(), execute: sqlx::query(DELETE).bind(id.0).bind(owner_id.0)).map_err(failed)?;
        run!(writing.tx.on(), execute: sqlx::query(TAKE_ROOM).bind(-found.size_bytes).bind(i64::MAX))
            .map_err(failed)?;
        let used_bytes = total(&mut writing.tx).await?;
        writing.push(at_s, Vec::new(), Some(attachment_event::attachment_removed_event(&found, used_bytes)));
        let records = writing.commit().await?;
        self.shared.publish(records).await;
        Ok(Some(found))
    }

    async fn total_upload_bytes(&self) -> Result<i64, StoreError> {
        run!(self.shared.db.reader(), fetch_one: sqlx::query_scalar(TOTAL)).map_err(failed)
    }

    async fn grant_temporary_access(&self, ticket: TemporaryFileAccess, now_s: i64) -> Result<(), StoreError> {
        let mut tx = self.shared.db.begin().await.map_err(failed)?;
        run!(tx.on(), execute: sqlx::query(FORGET_TICKETS).bind(now_s)).map_err(failed)?;
        let TemporaryFileAccess { hash, path_id, until_s } = ticket;
        run!(tx.on(), execute: sqlx::query(LEND).bind(&hash).bind(path_id.as_str()).bind(until_s)).map_err(failed)?;
        tx.commit().await.map_err(failed)
    }

    async fn find_temporary_access_path(&self, hash: &str, now_s: i64) -> Result<Option<PathId>, StoreError> {
        let found: Option<String> =
            run!(self.shared.db.reader(), fetch_optional: sqlx::query_scalar(LENT).bind(hash).bind(now_s))
                .map_err(failed)?;
        Ok(found.as_deref().and_then(PathId::parse))
    }
}

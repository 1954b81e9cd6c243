//! Reminders. The end of a reminder and its message are one transaction, as with scheduled messages.

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::id::{MessageId, ReminderId, UserId};
use chat_core::messages::reminders::{MAX_REMINDERS_PER_USER, Reminder, ReminderEnd, ReminderStore};
use chat_core::messages::store::NewMessage;

use crate::engine::run;
use crate::fault::failed;
use crate::log_transaction::LogTransaction;
use crate::scheduled::{finish, finish_with};
use crate::store::ChatStore;
use crate::write_guard;

const COUNT: &str = "SELECT count(*) FROM reminder WHERE user_id = $1";
const INSERT: &str = "INSERT INTO reminder (id, user_id, message_id, note, content, html, due_s)
VALUES ($1, $2, $3, $4, $5, $6, $7)";
const DELETE: &str = "DELETE FROM reminder WHERE id = $1 AND user_id = $2";
const OF: &str = "SELECT id, user_id, message_id, note, content, html, due_s
FROM reminder WHERE user_id = $1 ORDER BY due_s, id";
const DUE: &str = "SELECT id, user_id, message_id, note, content, html, due_s
FROM reminder WHERE due_s <= $1 ORDER BY due_s, id LIMIT $2";

type Row = (i64, i64, i64, String, String, String, i64);

fn reminder((id, user_id, message_id, note, content, html, due_s): Row) -> Reminder {
    let (id, user_id, message_id) = (ReminderId(id), UserId(user_id), MessageId(message_id));
    Reminder { id, user_id, message_id, note, content, html, due_s }
}

async fn delete(writing: &mut LogTransaction, user_id: UserId, id: ReminderId) -> Result<bool, StoreError> {
    let deleted = run!(writing.tx.on(), execute: sqlx::query(DELETE).bind(id.0).bind(user_id.0)).map_err(failed)?;
    Ok(deleted > 0)
}

#[async_trait]
impl ReminderStore for ChatStore {
    async fn add_reminder(&self, reminder: Reminder, at_s: i64) -> Result<Option<ReminderId>, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        let have: i64 =
            run!(writing.tx.on(), fetch_one: sqlx::query_scalar(COUNT).bind(reminder.user_id.0)).map_err(failed)?;
        if usize::try_from(have).is_ok_and(|have| have >= MAX_REMINDERS_PER_USER) {
            writing.roll_back().await?;
            return Ok(None);
        }
        let reminder = Reminder { id: ReminderId(writing.next().0), ..reminder };
        run!(writing.tx.on(), execute: sqlx::query(INSERT)
            .bind(reminder.id.0)
            .bind(reminder.user_id.0)
            .bind(reminder.message_id.0)
            .bind(&reminder.note)
            .bind(&reminder.content)
            .bind(&reminder.html)
            .bind(reminder.due_s))
        .map_err(failed)?;
        finish(&self.shared, writing, (at_s, reminder.added_event())).await?;
        Ok(Some(reminder.id))
    }

    async fn reminders_of_user(&self, user_id: UserId) -> Result<Vec<Reminder>, StoreError> {
        let rows: Vec<Row> =
            run!(self.shared.db.reader(), fetch_all: sqlx::query_as(OF).bind(user_id.0)).map_err(failed)?;
        Ok(rows.into_iter().map(reminder).collect())
    }

    async fn delete_reminder(&self, user_id: UserId, id: ReminderId, at_s: i64) -> Result<bool, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        if !delete(&mut writing, user_id, id).await? {
            writing.roll_back().await?;
            return Ok(false);
        }
        finish(&self.shared, writing, (at_s, Reminder::removed_event(user_id, id))).await?;
        Ok(true)
    }

    async fn due_reminders(&self, now_s: i64, limit: usize) -> Result<Vec<Reminder>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows: Vec<Row> =
            run!(self.shared.db.reader(), fetch_all: sqlx::query_as(DUE).bind(now_s).bind(limit)).map_err(failed)?;
        Ok(rows.into_iter().map(reminder).collect())
    }

    async fn end_reminder(
        &self,
        reminder: &Reminder,
        message: Option<NewMessage>,
        at_s: i64,
    ) -> Result<ReminderEnd, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        if !delete(&mut writing, reminder.user_id, reminder.id).await? {
            writing.roll_back().await?;
            return Ok(ReminderEnd::Gone);
        }
        if message.as_ref().is_some_and(|message| message.decided_at < writing.rules_changed(&self.shared)) {
            write_guard::refuse(&self.shared, writing).await?;
            return Ok(ReminderEnd::Stale);
        }
        let event = (at_s, Reminder::removed_event(reminder.user_id, reminder.id));
        match message {
            None => finish(&self.shared, writing, event).await?,
            Some(message) => finish_with(&self.shared, writing, (&[message], event)).await.map(drop)?,
        }
        Ok(ReminderEnd::Done)
    }
}

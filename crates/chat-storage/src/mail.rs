//! Letters that wait to be sent, written down with what they tell of. They are encrypted: most have a link in them that
//! opens something.

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::event_log::email_queue::{ClaimedEmail, EmailQueueStore, OutgoingEmail, OutgoingEmailId};

use crate::encryption::{SecretCipher, SecretLocation};
use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::store::ChatStore;

const INSERT: &str =
    "INSERT INTO outgoing_mail (event_id, place, due_s, tries, encrypted_document) VALUES ($1, $2, $3, 0, $4)";
// The outer condition is asked again of a row that another node has just taken.
const TAKE: &str = "UPDATE outgoing_mail SET due_s = $2, tries = tries + 1
WHERE due_s <= $1 AND (event_id, place) IN (
    SELECT event_id, place FROM outgoing_mail WHERE due_s <= $1 ORDER BY due_s, event_id, place LIMIT $3
)
RETURNING event_id, place, tries, encrypted_document";
const FINISH: &str = "DELETE FROM outgoing_mail WHERE event_id = $1 AND place = $2";
const POSTPONE: &str = "UPDATE outgoing_mail SET due_s = $3 WHERE event_id = $1 AND place = $2";

/// Writes letters down in the transaction of a commit that stands at that place of the log.
pub(crate) async fn put(
    tx: &mut Tx,
    cipher: &SecretCipher,
    (event_id, at_s): (i64, i64),
    letters: &[OutgoingEmail],
) -> Result<(), StoreError> {
    for (place, mail) in (0_i64..).zip(letters) {
        let document = serde_json::to_string(mail).map_err(failed)?;
        let document = cipher.encrypt(SecretLocation::Letter(event_id, place), &document)?;
        run!(tx.on(), execute: sqlx::query(INSERT).bind(event_id).bind(place).bind(at_s).bind(&document))
            .map_err(failed)?;
    }
    Ok(())
}

#[async_trait]
impl EmailQueueStore for ChatStore {
    async fn wait_for_new_email(&self) {
        self.shared.mail_written.notified().await;
    }

    async fn claim_due_emails(&self, now_s: i64, until_s: i64, limit: i64) -> Result<Vec<ClaimedEmail>, StoreError> {
        let rows: Vec<(i64, i64, i64, String)> =
            run!(self.shared.db.writer(), fetch_all: sqlx::query_as(TAKE).bind(now_s).bind(until_s).bind(limit))
                .map_err(failed)?;
        let waiting = |(event_id, place, tries, document): (i64, i64, i64, String)| {
            let document = self.shared.cipher.decrypt(SecretLocation::Letter(event_id, place), &document)?;
            let mail = serde_json::from_str(&document).map_err(failed)?;
            Ok(ClaimedEmail { id: OutgoingEmailId { event_id, place }, tries, mail })
        };
        let mut taken = rows.into_iter().map(waiting).collect::<Result<Vec<_>, StoreError>>()?;
        taken.sort_unstable_by_key(|waiting| waiting.id);
        Ok(taken)
    }

    async fn remove_email(&self, id: OutgoingEmailId) -> Result<(), StoreError> {
        run!(self.shared.db.writer(), execute: sqlx::query(FINISH).bind(id.event_id).bind(id.place)).map_err(failed)?;
        Ok(())
    }

    async fn postpone_email(&self, id: OutgoingEmailId, due_s: i64) -> Result<(), StoreError> {
        run!(self.shared.db.writer(), execute: sqlx::query(POSTPONE).bind(id.event_id).bind(id.place).bind(due_s))
            .map_err(failed)?;
        Ok(())
    }
}

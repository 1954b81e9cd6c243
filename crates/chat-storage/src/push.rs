//! Devices that are notified, whose turn it is to look through messages for notifications, and which devices were told
//! of.

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::id::{EventId, MessageId, UserId};
use chat_core::push_notifications::{
    MAX_PUSH_DEVICES_PER_USER, PushDevice, PushDeviceKind, PushStore, WithdrawnNotifications,
};
use sql_engines::{encode_numbers_parameter, insert_rows_statement, power_of_two_chunks};

use crate::dialect::Sql;
use crate::engine::run;
use crate::fault::failed;
use crate::store::ChatStore;

const PUT: &str = "INSERT INTO push_device (user_id, kind, token, app_id, registered_s) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (user_id, kind, token) DO UPDATE SET app_id = excluded.app_id, registered_s = excluded.registered_s";
const FORGET_OLDEST: &str = "DELETE FROM push_device WHERE user_id = $1 AND (kind, token) NOT IN (
    SELECT kind, token FROM push_device WHERE user_id = $1 ORDER BY registered_s DESC, kind, token LIMIT $2
)";
const FORGET: &str = "DELETE FROM push_device WHERE user_id = $1 AND kind = $2 AND token = $3";
static OF_USERS: Sql = Sql::new(
    "SELECT user_id, kind, token, app_id FROM push_device WHERE user_id {in_numbers:$1} ORDER BY user_id, kind, token",
);
const OWNERS: &str = "SELECT DISTINCT user_id FROM push_device ORDER BY user_id";
const TAKE_TURN: &str = "UPDATE push_turn SET node = $1, until_s = $3
WHERE one = 1 AND (node = $1 OR until_s <= $2) RETURNING event_id";
const MOVE_TURN: &str = "UPDATE push_turn SET event_id = $2 WHERE one = 1 AND node = $1 AND event_id < $2";
const NOTE_SENT: &str = "INSERT INTO push_sent (user_id, message_id, at_s)";
const OR_KEEP: &str = " ON CONFLICT (user_id, message_id) DO NOTHING";
/// Who read something reads a stretch of their own rows, however many messages it were.
static SENT: Sql = Sql::new(
    "SELECT user_id, message_id FROM push_sent WHERE user_id {in_numbers:$1} AND message_id BETWEEN $2 AND $3
UNION SELECT user_id, message_id FROM push_sent WHERE message_id {in_numbers:$4}
ORDER BY user_id, message_id",
);
static FORGET_SENT: Sql = Sql::new("DELETE FROM push_sent WHERE user_id = $1 AND message_id {in_numbers:$2}");
const FORGET_SENT_BEFORE: &str = "DELETE FROM push_sent WHERE at_s < $1";

#[async_trait]
impl PushStore for ChatStore {
    async fn store_device(&self, device: &PushDevice, now_s: i64) -> Result<(), StoreError> {
        let PushDevice { user_id, kind, token, app_id } = device;
        let mut tx = self.shared.db.begin().await.map_err(failed)?;
        run!(tx.on(), execute: sqlx::query(PUT)
            .bind(user_id.0)
            .bind(kind.wire_number())
            .bind(token)
            .bind(app_id.as_deref())
            .bind(now_s))
        .map_err(failed)?;
        run!(tx.on(), execute: sqlx::query(FORGET_OLDEST).bind(user_id.0).bind(MAX_PUSH_DEVICES_PER_USER))
            .map_err(failed)?;
        tx.commit().await.map_err(failed)
    }

    async fn remove_device(&self, user_id: UserId, kind: PushDeviceKind, token: &str) -> Result<bool, StoreError> {
        let forgotten = run!(self.shared.db.writer(), execute: sqlx::query(FORGET)
            .bind(user_id.0)
            .bind(kind.wire_number())
            .bind(token))
        .map_err(failed)?;
        Ok(forgotten > 0)
    }

    async fn devices_of_users(&self, users: &[UserId]) -> Result<Vec<PushDevice>, StoreError> {
        let sql = OF_USERS.text_for_dialect(self.shared.db.dialect());
        let users = encode_numbers_parameter(users.iter().map(|id| id.0));
        let rows: Vec<(i64, i64, String, Option<String>)> =
            run!(self.shared.db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(&users)).map_err(failed)?;
        let device = |(user_id, kind, token, app_id): (i64, i64, String, Option<String>)| {
            let kind = PushDeviceKind::from_wire_number(kind)
                .ok_or_else(|| failed(format!("unknown kind of device {kind}")))?;
            Ok(PushDevice { user_id: UserId(user_id), kind, token, app_id })
        };
        rows.into_iter().map(device).collect()
    }

    async fn users_with_devices(&self) -> Result<Vec<UserId>, StoreError> {
        let owners: Vec<i64> = run!(self.shared.db.reader(), fetch_all: sqlx::query_scalar(OWNERS)).map_err(failed)?;
        Ok(owners.into_iter().map(UserId).collect())
    }

    async fn acquire_push_lease(&self, node: &str, now_s: i64, until_s: i64) -> Result<Option<EventId>, StoreError> {
        let at: Option<i64> = run!(self.shared.db.writer(), fetch_optional: sqlx::query_scalar(TAKE_TURN)
            .bind(node)
            .bind(now_s)
            .bind(until_s))
        .map_err(failed)?;
        Ok(at.map(EventId))
    }

    async fn advance_push_position(&self, node: &str, to: EventId) -> Result<bool, StoreError> {
        let moved =
            run!(self.shared.db.writer(), execute: sqlx::query(MOVE_TURN).bind(node).bind(to.0)).map_err(failed)?;
        Ok(moved > 0)
    }

    async fn record_sent_notifications(&self, sent: &[(UserId, MessageId)], now_s: i64) -> Result<(), StoreError> {
        let mut tx = self.shared.db.begin().await.map_err(failed)?;
        for piece in power_of_two_chunks(sent) {
            let sql = insert_rows_statement(tx.dialect(), NOTE_SENT, (piece.len(), 3), OR_KEEP);
            run!(tx.on(), execute: {
                let mut query = sqlx::query(sql.clone());
                for (user_id, message_id) in piece {
                    query = query.bind(user_id.0).bind(message_id.0).bind(now_s);
                }
                query
            })
            .map_err(failed)?;
        }
        tx.commit().await.map_err(failed)
    }

    async fn sent_notifications_to_withdraw(
        &self,
        withdrawn: &WithdrawnNotifications,
    ) -> Result<Vec<(UserId, MessageId)>, StoreError> {
        let sql = SENT.text_for_dialect(self.shared.db.dialect());
        let readers = encode_numbers_parameter(withdrawn.readers().map(|id| id.0));
        let (oldest, newest) = withdrawn.read_message_range().unwrap_or((MessageId(0), MessageId(0)));
        let gone = encode_numbers_parameter(withdrawn.removed_messages().map(|id| id.0));
        let rows: Vec<(i64, i64)> = run!(self.shared.db.reader(), fetch_all: sqlx::query_as(sql.clone())
            .bind(&readers)
            .bind(oldest.0)
            .bind(newest.0)
            .bind(&gone))
        .map_err(failed)?;
        Ok(rows.into_iter().map(|(user_id, message_id)| (UserId(user_id), MessageId(message_id))).collect())
    }

    async fn remove_sent_notifications(&self, user_id: UserId, messages: &[MessageId]) -> Result<(), StoreError> {
        let sql = FORGET_SENT.text_for_dialect(self.shared.db.dialect());
        let messages = encode_numbers_parameter(messages.iter().map(|id| id.0));
        run!(self.shared.db.writer(), execute: sqlx::query(sql.clone()).bind(user_id.0).bind(&messages))
            .map_err(failed)?;
        Ok(())
    }

    async fn remove_sent_notifications_before(&self, before_s: i64) -> Result<u64, StoreError> {
        run!(self.shared.db.writer(), execute: sqlx::query(FORGET_SENT_BEFORE).bind(before_s)).map_err(failed)
    }
}

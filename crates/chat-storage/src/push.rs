//! Devices that are notified, and whose turn it is to look through messages for notifications.

use async_trait::async_trait;
use chat_core::id::{EventId, UserId};
use chat_core::ports::StoreError;
use chat_core::push::{DEVICES_MAX, Device, DeviceKind, PushStore};

use crate::dialect::{Sql, numbers};
use crate::engine::run;
use crate::fault::failed;
use crate::store::Store;

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

#[async_trait]
impl PushStore for Store {
    async fn register_device(&self, device: &Device, now_s: i64) -> Result<(), StoreError> {
        let Device { user_id, kind, token, app_id } = device;
        let mut tx = self.shared.db.begin().await.map_err(failed)?;
        run!(tx.on(), execute: sqlx::query(PUT)
            .bind(user_id.0)
            .bind(kind.number())
            .bind(token)
            .bind(app_id.as_deref())
            .bind(now_s))
        .map_err(failed)?;
        run!(tx.on(), execute: sqlx::query(FORGET_OLDEST).bind(user_id.0).bind(DEVICES_MAX)).map_err(failed)?;
        tx.commit().await.map_err(failed)
    }

    async fn forget_device(&self, user_id: UserId, kind: DeviceKind, token: &str) -> Result<bool, StoreError> {
        let forgotten = run!(self.shared.db.writer(), execute: sqlx::query(FORGET)
            .bind(user_id.0)
            .bind(kind.number())
            .bind(token))
        .map_err(failed)?;
        Ok(forgotten > 0)
    }

    async fn devices(&self, users: &[UserId]) -> Result<Vec<Device>, StoreError> {
        let sql = OF_USERS.on(self.shared.db.dialect());
        let users = numbers(users.iter().map(|id| id.0));
        let rows: Vec<(i64, i64, String, Option<String>)> =
            run!(self.shared.db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(&users)).map_err(failed)?;
        let device = |(user_id, kind, token, app_id): (i64, i64, String, Option<String>)| {
            let kind = DeviceKind::numbered(kind).ok_or_else(|| failed(format!("unknown kind of device {kind}")))?;
            Ok(Device { user_id: UserId(user_id), kind, token, app_id })
        };
        rows.into_iter().map(device).collect()
    }

    async fn device_owners(&self) -> Result<Vec<UserId>, StoreError> {
        let owners: Vec<i64> = run!(self.shared.db.reader(), fetch_all: sqlx::query_scalar(OWNERS)).map_err(failed)?;
        Ok(owners.into_iter().map(UserId).collect())
    }

    async fn take_push_turn(&self, node: &str, now_s: i64, until_s: i64) -> Result<Option<EventId>, StoreError> {
        let at: Option<i64> = run!(self.shared.db.writer(), fetch_optional: sqlx::query_scalar(TAKE_TURN)
            .bind(node)
            .bind(now_s)
            .bind(until_s))
        .map_err(failed)?;
        Ok(at.map(EventId))
    }

    async fn move_push_turn(&self, node: &str, to: EventId) -> Result<bool, StoreError> {
        let moved =
            run!(self.shared.db.writer(), execute: sqlx::query(MOVE_TURN).bind(node).bind(to.0)).map_err(failed)?;
        Ok(moved > 0)
    }
}

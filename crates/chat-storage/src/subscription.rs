//! Subscriptions and the periods in which users were in channels, written many in one statement.
//!
//! **Cost**: thousands of users put into a channel are three statements; one for each user took longer than everything
//! else about them.

use std::collections::BTreeMap;

use chat_core::StoreError;
use chat_core::id::{ChannelId, EventId, UserId};
use chat_core::model::change::RealmChange;
use serde_json::{Value, json};

use crate::dialect::Sql;
use crate::engine::{Tx, run};
use crate::fault::failed;

/// `WHERE true` lets SQLite tell the conflict clause from a join.
static PUT: Sql = Sql::new(
    "INSERT INTO subscription (channel_id, user_id, document)
SELECT {member:0}, {member:1}, item.value ->> 2 FROM {rows:$1} AS item WHERE true
ON CONFLICT (channel_id, user_id) DO UPDATE SET document = excluded.document",
);
static BEGIN_PERIOD: Sql = Sql::new(
    "INSERT INTO subscription_span (channel_id, user_id, after_event)
SELECT {member:0}, {member:1}, $2 FROM {rows:$1} AS item WHERE NOT EXISTS (
    SELECT 1 FROM subscription_span AS open
    WHERE open.channel_id = {member:0} AND open.user_id = {member:1} AND open.until_event IS NULL
)",
);
static DELETE: Sql = Sql::new(
    "DELETE FROM subscription WHERE (channel_id, user_id) IN (SELECT {member:0}, {member:1} FROM {rows:$1} AS item)",
);
static END_PERIOD: Sql = Sql::new(
    "UPDATE subscription_span SET until_event = $2 WHERE until_event IS NULL
AND (channel_id, user_id) IN (SELECT {member:0}, {member:1} FROM {rows:$1} AS item)",
);

const BEGIN_EARLIER: &str = "UPDATE subscription_span SET after_event = $3
WHERE channel_id = $1 AND user_id = $2 AND until_event IS NULL AND after_event > $3";

/// Reports whether two changes beside each other are written by the same statements.
pub(crate) fn are_alike(one: &RealmChange, other: &RealmChange) -> bool {
    matches!(
        (one, other),
        (RealmChange::Subscription(_), RealmChange::Subscription(_))
            | (RealmChange::Unsubscription { .. }, RealmChange::Unsubscription { .. })
    )
}

/// Writes changes of one kind, subscriptions that begin or change or subscriptions that end, at a place of the log.
pub(crate) async fn put(tx: &mut Tx, at: EventId, changes: &[RealmChange]) -> Result<(), StoreError> {
    // A statement may not meet a row twice on Postgres: of several changes of one subscription the last one stands.
    let mut rows: BTreeMap<(ChannelId, UserId), Value> = BTreeMap::new();
    let mut ends = false;
    for change in changes {
        match change {
            RealmChange::Subscription(subscription) => {
                let key = (subscription.channel_id, subscription.user_id);
                rows.insert(key, serde_json::to_value(subscription).map_err(failed)?);
            }
            RealmChange::Unsubscription { channel_id, user_id } => {
                ends = true;
                rows.insert((*channel_id, *user_id), Value::Null);
            }
            _ => {}
        }
    }
    let rows: Value = rows.into_iter().map(|((channel, user), document)| json!([channel, user, document])).collect();
    let (rows, dialect) = (rows.to_string(), tx.dialect());
    let (now, period) = if ends { (&DELETE, &END_PERIOD) } else { (&PUT, &BEGIN_PERIOD) };
    let (now, period) = (now.on(dialect), period.on(dialect));
    run!(tx.on(), execute: sqlx::query(now.clone()).bind(&rows)).map_err(failed)?;
    run!(tx.on(), execute: sqlx::query(period.clone()).bind(&rows).bind(at.0)).map_err(failed)?;
    Ok(())
}

/// Lets the period that lasts begin at a place of the log before that where it began.
pub(crate) async fn begin_earlier(
    tx: &mut Tx,
    (channel_id, user_id): (ChannelId, UserId),
    after: EventId,
) -> Result<(), StoreError> {
    run!(tx.on(), execute: sqlx::query(BEGIN_EARLIER).bind(channel_id.0).bind(user_id.0).bind(after.0))
        .map_err(failed)?;
    Ok(())
}

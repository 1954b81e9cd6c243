//! Subscriptions and the periods in which users were in channels, written many in one statement.
//!
//! **Cost**: thousands of users put into a channel are three statements; one for each user took longer than everything
//! else about them.

use std::collections::BTreeMap;

use chat_core::StoreError;
use chat_core::id::{ChannelId, EventId, UserId};
use chat_core::model::change::RealmChange;
use sql_engines::On;

use crate::dialect::Sql;
use crate::engine::{Tx, run};
use crate::fault::failed;

/// `WHERE true` lets SQLite tell the conflict clause from a join.
static PUT: Sql = Sql::new(
    "INSERT INTO subscription (channel_id, user_id, document)
SELECT new.channel_id, new.user_id, new.document FROM {subscriptions} AS new WHERE true
ON CONFLICT (channel_id, user_id) DO UPDATE SET document = excluded.document",
);
static BEGIN_PERIOD: Sql = Sql::new(
    "INSERT INTO subscription_span (channel_id, user_id, after_event)
SELECT new.channel_id, new.user_id, {at} FROM {subscriptions} AS new WHERE NOT EXISTS (
    SELECT 1 FROM subscription_span AS open
    WHERE open.channel_id = new.channel_id AND open.user_id = new.user_id AND open.until_event IS NULL
)",
);
static DELETE: Sql = Sql::new(
    "DELETE FROM subscription
WHERE (channel_id, user_id) IN (SELECT old.channel_id, old.user_id FROM {subscriptions} AS old)",
);
static END_PERIOD: Sql = Sql::new(
    "UPDATE subscription_span SET until_event = {at} WHERE until_event IS NULL
AND (channel_id, user_id) IN (SELECT old.channel_id, old.user_id FROM {subscriptions} AS old)",
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
    let mut rows: BTreeMap<(ChannelId, UserId), Option<String>> = BTreeMap::new();
    let mut ends = false;
    for change in changes {
        match change {
            RealmChange::Subscription(subscription) => {
                let document = serde_json::to_string(subscription).map_err(failed)?;
                rows.insert((subscription.channel_id, subscription.user_id), Some(document));
            }
            RealmChange::Unsubscription { channel_id, user_id } => {
                ends = true;
                rows.insert((*channel_id, *user_id), None);
            }
            _ => {}
        }
    }
    let (now, period) = if ends { (&DELETE, &END_PERIOD) } else { (&PUT, &BEGIN_PERIOD) };
    execute(tx, now, &rows, None).await?;
    execute(tx, period, &rows, Some(at)).await
}

/// Runs a statement about subscriptions, and about a place of the log where it takes one.
async fn execute(
    tx: &mut Tx,
    statement: &Sql,
    rows: &BTreeMap<(ChannelId, UserId), Option<String>>,
    at: Option<EventId>,
) -> Result<(), StoreError> {
    let sql = statement.on(tx.dialect()).clone();
    let done = match tx.on() {
        On::Postgres(mut session) => {
            let (channels, users): (Vec<i64>, Vec<i64>) =
                rows.keys().map(|(channel, user)| (channel.0, user.0)).unzip();
            let documents: Vec<Option<&str>> = rows.values().map(Option::as_deref).collect();
            let outage = session.outage;
            let mut query = sqlx::query(sql).bind(channels).bind(users).bind(documents);
            if let Some(at) = at {
                query = query.bind(at.0);
            }
            outage.bound(query.execute(session.executor())).await.map(drop)
        }
        On::Sqlite(connection) => {
            let rows: Vec<_> = rows.iter().map(|((channel, user), document)| (channel, user, document)).collect();
            let mut query = sqlx::query(sql).bind(serde_json::to_string(&rows).map_err(failed)?);
            if let Some(at) = at {
                query = query.bind(at.0);
            }
            query.execute(connection).await.map(drop)
        }
    };
    done.map_err(failed)
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

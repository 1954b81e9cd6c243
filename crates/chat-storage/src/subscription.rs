//! Subscriptions and the periods in which users were in channels, written many in one statement.
//!
//! **Cost**: thousands of users put into a channel are two statements; one for each user took longer than everything
//! else about them.

use std::collections::{BTreeMap, BTreeSet};

use chat_core::StoreError;
use chat_core::id::{ChannelId, EventId, UserId};
use chat_core::model::realm_change::RealmChange;
use sql_engines::PerEngine;

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
SELECT new.channel_id, new.user_id, {at} FROM {memberships} AS new WHERE NOT EXISTS (
    SELECT 1 FROM subscription_span AS open
    WHERE open.channel_id = new.channel_id AND open.user_id = new.user_id AND open.until_event IS NULL
)",
);
static DELETE: Sql = Sql::new(
    "DELETE FROM subscription
WHERE (channel_id, user_id) IN (SELECT old.channel_id, old.user_id FROM {memberships} AS old)",
);
static END_PERIOD: Sql = Sql::new(
    "UPDATE subscription_span SET until_event = {at} WHERE until_event IS NULL
AND (channel_id, user_id) IN (SELECT old.channel_id, old.user_id FROM {memberships} AS old)",
);

/// The statements about many users at once.
#[cfg(test)]
pub(crate) static IN_BULK: [&Sql; 4] = [&PUT, &BEGIN_PERIOD, &DELETE, &END_PERIOD];

const BEGIN_EARLIER: &str = "UPDATE subscription_span SET after_event = $3
WHERE channel_id = $1 AND user_id = $2 AND until_event IS NULL AND after_event > $3";

/// A channel and a user in it.
type MembershipKey = (ChannelId, UserId);

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
    let mut begun = BTreeMap::new();
    let mut ended = BTreeSet::new();
    for change in changes {
        match change {
            RealmChange::Subscription(subscription) => {
                let document = serde_json::to_string(subscription).map_err(failed)?;
                begun.insert((subscription.channel_id, subscription.user_id), document);
            }
            RealmChange::Unsubscription { channel_id, user_id } => {
                ended.insert((*channel_id, *user_id));
            }
            _ => {}
        }
    }
    if !begun.is_empty() {
        put_documents(tx, &begun).await?;
        change_memberships(tx, &BEGIN_PERIOD, &begun.into_keys().collect::<Vec<_>>(), Some(at)).await?;
    }
    if !ended.is_empty() {
        let ended: Vec<_> = ended.into_iter().collect();
        change_memberships(tx, &DELETE, &ended, None).await?;
        change_memberships(tx, &END_PERIOD, &ended, Some(at)).await?;
    }
    Ok(())
}

/// Writes what users chose for channels.
async fn put_documents(tx: &mut Tx, documents: &BTreeMap<MembershipKey, String>) -> Result<(), StoreError> {
    let sql = PUT.text_for_dialect(tx.dialect()).clone();
    match tx.on() {
        PerEngine::Postgres(mut session) => {
            let (channels, users) = columns(documents.keys());
            let documents: Vec<&str> = documents.values().map(String::as_str).collect();
            let query = sqlx::query(sql).bind(channels).bind(users).bind(documents);
            let outage = session.outage;
            outage.bound(query.execute(session.executor())).await.map(drop)
        }
        PerEngine::Sqlite(connection) => {
            let rows: Vec<_> = documents.iter().map(|((channel, user), text)| (channel, user, text)).collect();
            let rows = serde_json::to_string(&rows).map_err(failed)?;
            sqlx::query(sql).bind(rows).execute(connection).await.map(drop)
        }
    }
    .map_err(failed)
}

/// Runs a statement about memberships, and about a place of the log where it takes one.
async fn change_memberships(
    tx: &mut Tx,
    statement: &Sql,
    memberships: &[MembershipKey],
    at: Option<EventId>,
) -> Result<(), StoreError> {
    let sql = statement.text_for_dialect(tx.dialect()).clone();
    match tx.on() {
        PerEngine::Postgres(mut session) => {
            let (channels, users) = columns(memberships);
            let mut query = sqlx::query(sql).bind(channels).bind(users);
            if let Some(at) = at {
                query = query.bind(at.0);
            }
            let outage = session.outage;
            outage.bound(query.execute(session.executor())).await.map(drop)
        }
        PerEngine::Sqlite(connection) => {
            let mut query = sqlx::query(sql).bind(serde_json::to_string(memberships).map_err(failed)?);
            if let Some(at) = at {
                query = query.bind(at.0);
            }
            query.execute(connection).await.map(drop)
        }
    }
    .map_err(failed)
}

/// Returns the columns that Postgres takes as arrays.
fn columns<'a>(memberships: impl IntoIterator<Item = &'a MembershipKey>) -> (Vec<i64>, Vec<i64>) {
    memberships.into_iter().map(|(channel, user)| (channel.0, user.0)).unzip()
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

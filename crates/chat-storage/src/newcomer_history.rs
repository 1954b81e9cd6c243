//! What a new user is given of the past of their channels, in the transaction that makes their account.

use chat_core::StoreError;
use chat_core::event_log::newcomer_backlog::{BacklogMessage, MAX_BACKLOG_MESSAGES, Newcomer, NewcomerBacklog};
use chat_core::id::{ChannelId, MessageId};
use chat_core::model::message::Recipient;
use chat_core::model::realm_change::RealmChange;

use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::read_set;

const NEWEST: &str = "SELECT id, sent_s FROM message WHERE recipient_id = $1 ORDER BY id DESC LIMIT $2";

/// Writes down what a newcomer has read of the messages they are given, and returns the changes that give them those.
pub(crate) async fn welcome(tx: &mut Tx, newcomer: &Newcomer, now_s: i64) -> Result<Vec<RealmChange>, StoreError> {
    let mut past = Vec::new();
    for channel_id in &newcomer.channels {
        past.extend(newest(tx, *channel_id).await?);
    }
    let Some(NewcomerBacklog { after, read_until }) = NewcomerBacklog::from_recent_messages(past, now_s) else {
        return Ok(Vec::new());
    };
    let recipients = newcomer.channels.iter().map(|channel| Recipient::Channel(*channel));
    read_set::begin(tx, newcomer.user_id, recipients, read_until).await?;
    let user_id = newcomer.user_id;
    let given =
        newcomer.channels.iter().map(|channel| RealmChange::ReceivedSince { channel_id: *channel, user_id, after });
    Ok(given.collect())
}

async fn newest(
    tx: &mut Tx,
    channel_id: ChannelId,
) -> Result<impl Iterator<Item = BacklogMessage> + use<>, StoreError> {
    let (recipient, limit) =
        (i64::from(Recipient::Channel(channel_id)), i64::try_from(MAX_BACKLOG_MESSAGES).map_err(failed)?);
    let rows: Vec<(i64, i64)> =
        run!(tx.on(), fetch_all: sqlx::query_as(NEWEST).bind(recipient).bind(limit)).map_err(failed)?;
    Ok(rows.into_iter().map(|(id, sent_s)| BacklogMessage { id: MessageId(id), sent_s }))
}

//! The first message of a channel: what is sent when it goes, or another comes before it.

use chat_core::StoreError;
use chat_core::event_log::event::{self, NewEvent};
use chat_core::id::{ChannelId, MessageId};
use chat_core::model::message::Recipient;
use sql_engines::encode_numbers_parameter;

use crate::dialect::Sql;
use crate::engine::run;
use crate::fault::failed;
use crate::log_transaction::LogTransaction;
use crate::store::Shared;

static PLACES: Sql = Sql::new("SELECT DISTINCT recipient_id FROM message WHERE id {in_numbers:$1}");
const FIRST: &str = "SELECT min(id) FROM message WHERE recipient_id = $1";

/// The channels that a write takes messages from, or brings them to, each with its first message before.
pub(crate) struct FirstMessages(Vec<(ChannelId, Option<MessageId>)>);

impl FirstMessages {
    /// Of the channels that have one of these messages, and of one more. To be asked before the write.
    pub(crate) async fn before(
        writing: &mut LogTransaction,
        messages: &[MessageId],
        to: Option<ChannelId>,
    ) -> Result<Self, StoreError> {
        if messages.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let sql = PLACES.text_for_dialect(writing.tx.dialect());
        let ids = encode_numbers_parameter(messages.iter().map(|id| id.0));
        let places: Vec<i64> =
            run!(writing.tx.on(), fetch_all: sqlx::query_scalar(sql.clone()).bind(&ids)).map_err(failed)?;
        let mut channels: Vec<ChannelId> = places.into_iter().filter_map(channel).chain(to).collect();
        channels.sort_unstable();
        channels.dedup();
        let mut firsts = Vec::with_capacity(channels.len());
        for id in channels {
            firsts.push((id, first(writing, id).await?));
        }
        Ok(Self(firsts))
    }

    /// Returns the events of the channels that begin otherwise now. To be asked after the write, within its
    /// transaction.
    pub(crate) async fn events(
        self,
        shared: &Shared,
        writing: &mut LogTransaction,
    ) -> Result<Vec<NewEvent>, StoreError> {
        let realm = shared.memory.realm.current();
        let mut events = Vec::new();
        for (id, before) in self.0 {
            let now = first(writing, id).await?;
            if let Some(channel) = realm.channel(id).filter(|_| now != before) {
                events.push(event::first_message_changed_event(channel, now));
            }
        }
        Ok(events)
    }
}

fn channel(recipient: i64) -> Option<ChannelId> {
    match Recipient::from(recipient) {
        Recipient::Channel(id) => Some(id),
        Recipient::Direct(_) => None,
    }
}

async fn first(writing: &mut LogTransaction, id: ChannelId) -> Result<Option<MessageId>, StoreError> {
    let recipient = i64::from(Recipient::Channel(id));
    let first: Option<i64> =
        run!(writing.tx.on(), fetch_one: sqlx::query_scalar(FIRST).bind(recipient)).map_err(failed)?;
    Ok(first.map(MessageId))
}

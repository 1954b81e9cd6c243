//! Taking over an organization that was somewhere else.
//!
//! What is written looks as if it had happened here, but for the log: it begins after all of it, since nobody had a
//! queue that could want it. A step and the mark that it is done are one transaction.

use std::collections::BTreeMap;

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::event_log::realm_commit::CredentialChange;
use chat_core::files::Attachment;
use chat_core::id::{DirectConversationId, MessageId, UserId};
use chat_core::import_export::import::{
    ImportCheckpoint, ImportStepOutcome, ImportStore, ImportedDraftsAndBotStorage, ImportedMessage,
    ImportedOrganization, ImportedReactions,
};
use chat_core::model::message::{MessageFlag, Recipient};
use chat_core::model::realm_change::RealmChange;
use sql_engines::{encode_numbers_parameter, insert_rows_statement, power_of_two_chunks};

use crate::dialect::Sql;
use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::log_transaction::LogTransaction;
use crate::message_decoding::users_key;
use crate::read_set::{self, ReadChange};
use crate::store::ChatStore;
use crate::word_index::{self, WordIndexEntry};
use crate::{attachment, bot_storage, draft, flag_set, message_rows, realm, scheduled, widget};

const MARK: &str = "SELECT source, steps, is_done, report FROM import_mark WHERE one = 1";
const BEGIN: &str = "INSERT INTO import_mark (one, source, steps, is_done, report) VALUES (1, $1, $2, $3, $4)
ON CONFLICT (one) DO NOTHING";
const GO_ON: &str = "UPDATE import_mark SET steps = $2, is_done = $3, report = $4
WHERE one = 1 AND source = $1 AND steps = $2 - 1 AND is_done = 0";
const HEAD: &str = "UPDATE log_head SET last_event = $1, last_change = $1, last_id = $2, pruned = $1 WHERE one = 1";
const PUSHED: &str = "UPDATE push_turn SET event_id = $1 WHERE one = 1";
const INSERT_SUBSCRIPTIONS: &str = "INSERT INTO subscription (channel_id, user_id, document)";
const INSERT_SPANS: &str = "INSERT INTO subscription_span (channel_id, user_id, after_event, until_event)";
const INSERT_EDITS: &str = "INSERT INTO message_edit (message_id, event_id, at_s, user_id, content, html,
    recipient_id, to_recipient_id, topic, to_topic)";
const INSERT_USES: &str = "INSERT INTO attachment_use (attachment_id, message_id)";
const INSERT_REACTIONS: &str = "INSERT INTO reaction (message_id, user_id, kind, code, name, event_id)";
static THERE: Sql = Sql::new("SELECT id FROM message WHERE id {in_numbers:$1}");

#[async_trait]
impl ImportStore for ChatStore {
    async fn import_checkpoint(&self) -> Result<Option<ImportCheckpoint>, StoreError> {
        let row: Option<(String, i64, i64, String)> =
            run!(self.shared.db.reader(), fetch_optional: sqlx::query_as(MARK)).map_err(failed)?;
        let mark = |(source, steps, is_done, report): (String, i64, i64, String)| {
            let report = serde_json::from_str(&report).map_err(failed)?;
            Ok(ImportCheckpoint { source, steps, is_done: is_done == 1, report })
        };
        row.map(mark).transpose()
    }

    async fn import_organization(
        &self,
        organization: &ImportedOrganization,
        after: &ImportCheckpoint,
    ) -> Result<ImportStepOutcome, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        // The first writer of an empty database is here alone: the head is locked.
        if writing.draft.head().0 > 0 || !mark(&mut writing.tx, BEGIN, after).await? {
            writing.roll_back().await?;
            return Ok(ImportStepOutcome::Refused);
        }
        let (subscriptions, others): (Vec<&RealmChange>, Vec<&RealmChange>) =
            organization.changes.iter().partition(|change| matches!(change, RealmChange::Subscription(_)));
        for change in others {
            realm::put(&mut writing, organization.head, change).await?;
        }
        for (user_id, key) in &organization.keys {
            let credential = CredentialChange::ApiKey(*user_id, key.clone());
            realm::put_credential(&mut writing.tx, &self.shared.cipher, &credential).await?;
        }
        write_subscriptions(&mut writing.tx, &subscriptions).await?;
        write_spans(&mut writing.tx, organization).await?;
        let (head, last_id) = (organization.head.0, writing.last_id);
        run!(writing.tx.on(), execute: sqlx::query(HEAD).bind(head).bind(last_id)).map_err(failed)?;
        run!(writing.tx.on(), execute: sqlx::query(PUSHED).bind(head)).map_err(failed)?;
        writing.tx.commit().await.map_err(failed)?;
        Ok(ImportStepOutcome::Done)
    }

    async fn import_messages(
        &self,
        messages: &[ImportedMessage],
        after: &ImportCheckpoint,
    ) -> Result<ImportStepOutcome, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        let tx = &mut writing.tx;
        if !mark(tx, GO_ON, after).await? {
            writing.roll_back().await?;
            return Ok(ImportStepOutcome::Refused);
        }
        let messages = placed(tx, messages).await?;
        message_rows::messages(tx, &messages.iter().map(|imported| &imported.message).collect::<Vec<_>>()).await?;
        let dialect = tx.dialect();
        let indexed: Vec<_> = messages.iter().map(|imported| WordIndexEntry::new(dialect, &imported.message)).collect();
        word_index::add(tx, &indexed).await?;
        widget::write(tx, messages.iter().map(|imported| &imported.message)).await?;
        let (own, of_text): (Vec<_>, Vec<_>) =
            flags(&messages).into_iter().partition(|(_, flag, _)| flag_set::keeps(*flag));
        message_rows::flags(tx, &of_text).await?;
        flag_set::add(tx, &own).await?;
        write_past(tx, &messages).await?;
        write_uses(tx, &messages).await?;
        read_set::change_each(tx, &self.shared.memory.realm.current(), &readings(&messages)).await?;
        writing.tx.commit().await.map_err(failed)?;
        Ok(ImportStepOutcome::Done)
    }

    async fn import_uploads(
        &self,
        uploads: &[Attachment],
        after: &ImportCheckpoint,
    ) -> Result<ImportStepOutcome, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        let tx = &mut writing.tx;
        if !mark(tx, GO_ON, after).await? {
            writing.roll_back().await?;
            return Ok(ImportStepOutcome::Refused);
        }
        for upload in uploads {
            attachment::insert(tx, upload).await?;
        }
        attachment::take_room(tx, uploads.iter().map(|upload| upload.size_bytes).sum(), i64::MAX).await?;
        writing.tx.commit().await.map_err(failed)?;
        Ok(ImportStepOutcome::Done)
    }

    async fn import_drafts_and_bot_storage(
        &self,
        things: &ImportedDraftsAndBotStorage,
        after: &ImportCheckpoint,
    ) -> Result<ImportStepOutcome, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        let tx = &mut writing.tx;
        if !mark(tx, GO_ON, after).await? {
            writing.roll_back().await?;
            return Ok(ImportStepOutcome::Refused);
        }
        for message in &things.scheduled {
            scheduled::insert(tx, message).await?;
        }
        let drafts = things.drafts.iter().map(|(id, author, draft)| Ok((*id, *author, draft::text(draft)?)));
        draft::insert(tx, &drafts.collect::<Result<Vec<_>, StoreError>>()?).await?;
        for of_bot in things.bot_storage.chunk_by(|one, other| one.0 == other.0) {
            let Some((bot, ..)) = of_bot.first() else { continue };
            let entries: Vec<_> = of_bot.iter().map(|(_, key, value)| (key.clone(), value.clone())).collect();
            bot_storage::fill(tx, *bot, &entries).await?;
        }
        writing.tx.commit().await.map_err(failed)?;
        Ok(ImportStepOutcome::Done)
    }

    async fn import_reactions(
        &self,
        reactions: &[ImportedReactions],
        after: &ImportCheckpoint,
    ) -> Result<ImportStepOutcome, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        let tx = &mut writing.tx;
        if !mark(tx, GO_ON, after).await? {
            writing.roll_back().await?;
            return Ok(ImportStepOutcome::Refused);
        }
        let sql = THERE.text_for_dialect(tx.dialect());
        let wanted = encode_numbers_parameter(reactions.iter().map(|(id, _)| id.0));
        let there: Vec<i64> =
            run!(tx.on(), fetch_all: sqlx::query_scalar(sql.clone()).bind(&wanted)).map_err(failed)?;
        let there: std::collections::HashSet<i64> = there.into_iter().collect();
        let there = reactions.iter().filter(|(id, _)| there.contains(&id.0));
        // The places of the log are larger: who reacts later comes after these.
        let rows: Vec<_> = there
            .flat_map(|(id, given)| (1_i64..).zip(given).map(|(order, reaction)| (id.0, order, reaction)))
            .collect();
        for piece in power_of_two_chunks(&rows) {
            let sql =
                insert_rows_statement(tx.dialect(), INSERT_REACTIONS, (piece.len(), 6), " ON CONFLICT DO NOTHING");
            run!(tx.on(), execute: {
                let mut query = sqlx::query(sql.clone());
                for (id, order, reaction) in piece {
                    query = query
                        .bind(*id)
                        .bind(reaction.user_id.0)
                        .bind(reaction.reaction_type.wire_name())
                        .bind(&reaction.emoji_code)
                        .bind(&reaction.emoji_name)
                        .bind(*order);
                }
                query
            })
            .map_err(failed)?;
        }
        writing.tx.commit().await.map_err(failed)?;
        Ok(ImportStepOutcome::Done)
    }
}

/// Notes that a step is done; says whether it was its turn.
async fn mark(tx: &mut Tx, sql: &'static str, after: &ImportCheckpoint) -> Result<bool, StoreError> {
    let report = serde_json::to_string(&after.report).map_err(failed)?;
    let done = run!(tx.on(), execute: sqlx::query(sql)
        .bind(&after.source)
        .bind(after.steps)
        .bind(i64::from(after.is_done))
        .bind(&report))
    .map_err(failed)?;
    Ok(done == 1)
}

async fn write_subscriptions(tx: &mut Tx, changes: &[&RealmChange]) -> Result<(), StoreError> {
    let mut rows = Vec::with_capacity(changes.len());
    for change in changes {
        if let RealmChange::Subscription(subscription) = change {
            let document = serde_json::to_string(subscription).map_err(failed)?;
            rows.push((subscription.channel_id.0, subscription.user_id.0, document));
        }
    }
    for piece in power_of_two_chunks(&rows) {
        let sql = insert_rows_statement(tx.dialect(), INSERT_SUBSCRIPTIONS, (piece.len(), 3), "");
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (channel, user, document) in piece {
                query = query.bind(*channel).bind(*user).bind(document);
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

async fn write_spans(tx: &mut Tx, organization: &ImportedOrganization) -> Result<(), StoreError> {
    for piece in power_of_two_chunks(&organization.spans) {
        let sql = insert_rows_statement(tx.dialect(), INSERT_SPANS, (piece.len(), 4), "");
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (channel, user, span) in piece {
                query = query.bind(channel.0).bind(user.0).bind(span.after.0).bind(span.until.map(|until| until.0));
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

/// Returns the messages with the numbers of their sets of users; those that write to each other for the first time get
/// the number of that message.
async fn placed(tx: &mut Tx, messages: &[ImportedMessage]) -> Result<Vec<ImportedMessage>, StoreError> {
    let of_users = |imported: &&ImportedMessage| matches!(imported.message.recipient, Recipient::Direct(_));
    let wanted: Vec<String> =
        messages.iter().filter(of_users).map(|imported| users_key(&imported.message.direct_users)).collect();
    let dialect = tx.dialect();
    let mut known = message_rows::find_directs(tx.on(), dialect, &wanted).await?;
    let (mut directs, mut users) = (Vec::new(), Vec::new());
    let mut placed = messages.to_vec();
    for imported in &mut placed {
        let message = &mut imported.message;
        if let Recipient::Direct(_) = message.recipient {
            let key = users_key(&message.direct_users);
            message.recipient = *known.entry(key.clone()).or_insert_with(|| {
                let recipient = Recipient::Direct(DirectConversationId(message.id.0));
                directs.push((recipient.into(), key));
                users.extend(message.direct_users.iter().map(|user| (*user, i64::from(recipient))));
                recipient
            });
        }
    }
    message_rows::directs(tx, &directs, &users).await?;
    Ok(placed)
}

fn flags(messages: &[ImportedMessage]) -> Vec<(UserId, MessageFlag, MessageId)> {
    let of = |imported: &ImportedMessage| {
        let id = imported.message.id;
        imported.flags.iter().map(move |(user, flag)| (*user, *flag, id)).collect::<Vec<_>>()
    };
    messages.iter().flat_map(of).collect()
}

async fn write_uses(tx: &mut Tx, messages: &[ImportedMessage]) -> Result<(), StoreError> {
    let rows: Vec<(i64, i64)> = messages
        .iter()
        .flat_map(|imported| imported.uses.iter().map(|upload| (upload.0, imported.message.id.0)))
        .collect();
    for piece in power_of_two_chunks(&rows) {
        let sql = insert_rows_statement(tx.dialect(), INSERT_USES, (piece.len(), 2), "");
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (upload, message) in piece {
                query = query.bind(*upload).bind(*message);
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

/// A message's earlier states are numbered from 1: the places of later edits are larger.
async fn write_past(tx: &mut Tx, messages: &[ImportedMessage]) -> Result<(), StoreError> {
    let rows: Vec<_> = messages
        .iter()
        .flat_map(|imported| (1_i64..).zip(&imported.past).map(|(order, edit)| (&imported.message, order, edit)))
        .collect();
    for piece in power_of_two_chunks(&rows) {
        let sql = insert_rows_statement(tx.dialect(), INSERT_EDITS, (piece.len(), 10), "");
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (message, order, edit) in piece {
                let (from, to) = edit.channel.unwrap_or((message.recipient, message.recipient));
                let (content, html) = edit.content.as_ref().map(|(content, html)| (content, html)).unzip();
                query = query
                    .bind(message.id.0)
                    .bind(*order)
                    .bind(edit.at_s)
                    .bind(edit.user_id.map(|user| user.0))
                    .bind(content)
                    .bind(html)
                    .bind(i64::from(from))
                    .bind(i64::from(to))
                    .bind(&edit.topic.0)
                    .bind(&edit.topic.1);
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

/// Returns what each user has read and not read of each recipient, of these messages.
fn readings(messages: &[ImportedMessage]) -> BTreeMap<(UserId, Recipient), ReadChange> {
    let mut readings: BTreeMap<(UserId, Recipient), ReadChange> = BTreeMap::new();
    for ImportedMessage { message, readers, .. } in messages {
        let MessageId(id) = message.id;
        for (user, is_read) in readers {
            let reading = readings.entry((*user, message.recipient)).or_default();
            if *is_read { &mut reading.read } else { &mut reading.unread }.push(id);
        }
    }
    readings
}

//! The rows that a batch of messages adds.

use std::collections::BTreeMap;

use chat_core::StoreError;
use chat_core::event_log::event::{EventAudience, EventBody, NewEvent, QueueCondition};
use chat_core::id::{AttachmentId, DirectConversationId, EventId, MessageId, UserId};
use chat_core::messages::store::{MessageDestination, NewMessage, SendOutcome};
use chat_core::model::message::{MessageFlag, Recipient};
use chat_core::model::realm_snapshot::RealmSnapshot;
use sql_engines::SqlDialect;

use crate::engine::Session;
use crate::log_transaction::{LogDraft, LogTransaction};
use crate::message_decoding::users_key;
use crate::message_rows::{self, DirectConversations};
use crate::read_set::{self, ReadChange};
use crate::word_index::{self, WordIndexEntry};
use crate::{attachment, widget};

/// Returns the sets of users of these messages that have written to each other before.
pub(crate) async fn find_directs(
    on: Session<'_>,
    dialect: SqlDialect,
    messages: impl Iterator<Item = &NewMessage>,
) -> Result<DirectConversations, StoreError> {
    let keys: Vec<String> = messages
        .filter_map(|message| match &message.to {
            MessageDestination::Direct(users) => Some(users_key(users)),
            MessageDestination::Channel { .. } => None,
        })
        .collect();
    message_rows::find_directs(on, dialect, &keys).await
}

/// What a batch of messages writes beside the messages themselves, which are in the draft.
#[derive(Default)]
pub(crate) struct MessageBatch {
    pub(crate) directs: Vec<(i64, String)>,
    pub(crate) direct_users: Vec<(UserId, i64)>,
    pub(crate) flags: Vec<(UserId, MessageFlag, MessageId)>,
    /// Messages that a receiver has read as they come: who does not want to hear the sender.
    pub(crate) read: BTreeMap<(UserId, Recipient), Vec<i64>>,
    /// Which message uses which upload, and when it was sent in unix seconds.
    pub(crate) uses: Vec<(AttachmentId, MessageId, i64)>,
}

impl MessageBatch {
    /// Takes those of the messages that were permitted on what changed last, and says of each what will become of it.
    pub(crate) fn take_all(
        &mut self,
        draft: &mut LogDraft,
        directs: &mut DirectConversations,
        (messages, changed): (&[NewMessage], EventId),
    ) -> Vec<SendOutcome> {
        let mut take = |message: &NewMessage| {
            if message.decided_at < changed { SendOutcome::Stale(changed) } else { self.take(draft, directs, message) }
        };
        messages.iter().map(&mut take).collect()
    }

    /// Gives a message its number and its place in the log.
    fn take(&mut self, draft: &mut LogDraft, directs: &mut DirectConversations, new: &NewMessage) -> SendOutcome {
        let NewMessage { to, event, attachments, .. } = new;
        let mut event = event.clone();
        let place = draft.next();
        let id = MessageId::from(place);
        let (recipient, audience) = match to {
            &MessageDestination::Channel { channel_id, public } => {
                (Recipient::Channel(channel_id), EventAudience::Subscribers { channel_id, public })
            }
            MessageDestination::Direct(users) => {
                let recipient = *directs.entry(users_key(users)).or_insert_with_key(|key| {
                    let recipient = Recipient::Direct(DirectConversationId(id.0));
                    self.directs.push((recipient.into(), key.clone()));
                    self.direct_users.extend(users.iter().map(|user| (*user, i64::from(recipient))));
                    recipient
                });
                event.message.direct_users.clone_from(users);
                (recipient, EventAudience::Users(users.clone()))
            }
        };
        event.message.id = id;
        event.message.revision = place;
        event.message.submessages.iter_mut().for_each(|submessage| submessage.id = place.0);
        event.message.recipient = recipient;
        let sent_s = event.message.sent_s;
        for (user, flag) in &event.flags {
            match flag {
                MessageFlag::Read => self.read.entry((*user, recipient)).or_default().push(id.0),
                flag => self.flags.push((*user, *flag, id)),
            }
        }
        self.uses.extend(attachments.iter().map(|attachment| (*attachment, id, sent_s)));
        let event = NewEvent { audience, gate: QueueCondition::Any, body: EventBody::Message(Box::new(event)) };
        draft.push(sent_s, Vec::new(), Some(event));
        SendOutcome::Done { id, sent_s }
    }

    /// Writes the messages and everything that follows from them: words, widgets, flags, what was read as it came, and
    /// uses of uploads. Every message that is sent is written here, or by the one statement of
    /// [`crate::append_single_statement`] where nothing but flags follows from it.
    pub(crate) async fn write(&self, writing: &mut LogTransaction, realm: &RealmSnapshot) -> Result<(), StoreError> {
        let LogTransaction { tx, draft, .. } = writing;
        message_rows::directs(tx, &self.directs, &self.direct_users).await?;
        message_rows::messages(tx, &draft.messages().collect::<Vec<_>>()).await?;
        let dialect = tx.dialect();
        let indexed: Vec<_> = draft.messages().map(|message| WordIndexEntry::new(dialect, message)).collect();
        word_index::add(tx, &indexed).await?;
        widget::write(tx, draft.messages()).await?;
        message_rows::flags(tx, &self.flags).await?;
        self.write_read(writing, realm).await?;
        attachment::use_in(writing, &self.uses).await
    }

    /// Writes down what was read as it came, once the messages are written.
    async fn write_read(&self, writing: &mut LogTransaction, realm: &RealmSnapshot) -> Result<(), StoreError> {
        for (reader, ids) in &self.read {
            let reading = ReadChange { read: ids.clone(), unread: Vec::new() };
            read_set::change(&mut writing.tx, realm, *reader, &reading).await?;
        }
        Ok(())
    }
}

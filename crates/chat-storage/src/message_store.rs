//! The messages of the database, as the rules of the chat ask for them: each method is one question or one write.

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::event_log::event::NewEvent;
use chat_core::id::{ChannelId, MessageId, UserId};
use chat_core::messages::narrow::{MessageWindow, ReadableMessageSelection};
use chat_core::messages::store::{
    ChannelTopic, FlagWriteGuard, MessageEdit, MessageEditOutcome, MessagePage, MessageStore, MessageWriteGuard,
    MessageWriteOutcome, NewMessage, SendOutcome,
};
use chat_core::model::flag_change::FlagOp;
use chat_core::model::message::{Conversation, EditHistoryEntry, Message, MessageFlag, Reaction};
use chat_core::model::user_message::{UnreadMessages, UserMessage};

use crate::append::append;
use crate::engine::run;
use crate::fault::failed;
use crate::memory::started_topics::begins;
use crate::message_search::{channels_without_messages_since, find_direct, first_messages, topics, traffic, window};
use crate::store::ChatStore;
use crate::{edit, flags, message_decoding, unread};

const CONVERSATION: &str = "SELECT id, sent_s FROM message WHERE recipient_id = $1 AND topic_key = $2 AND id >= $3
ORDER BY id";
const PARTICIPANTS: &str = "SELECT sender_id AS user_id FROM message WHERE recipient_id = $1 AND topic_key = $2
UNION
SELECT r.user_id FROM message AS m JOIN reaction AS r ON r.message_id = m.id
WHERE m.recipient_id = $1 AND m.topic_key = $2
ORDER BY user_id";
const RECENT_DIRECTS: &str = "SELECT newest.users, newest.id FROM (
    SELECT d.users, (SELECT max(m.id) FROM message AS m WHERE m.recipient_id = d.recipient_id) AS id
    FROM direct_user AS own JOIN direct AS d ON d.recipient_id = own.recipient_id WHERE own.user_id = $1
) AS newest WHERE newest.id IS NOT NULL ORDER BY newest.id DESC LIMIT $2";

#[async_trait]
impl MessageStore for ChatStore {
    async fn append_message(&self, message: NewMessage) -> Result<SendOutcome, StoreError> {
        append(&self.shared, message).await
    }

    async fn find_messages(
        &self,
        user_id: UserId,
        ids: &[MessageId],
    ) -> Result<Vec<(Message, Vec<MessageFlag>)>, StoreError> {
        let messages = message_decoding::messages(&self.shared.db, ids.iter().copied()).await?;
        let flags = flags::flags(&self.shared, user_id, &messages).await?;
        Ok(messages.into_iter().zip(flags).collect())
    }

    async fn find_user_messages(
        &self,
        user_id: UserId,
        ids: &[MessageId],
        flag: MessageFlag,
    ) -> Result<Vec<UserMessage>, StoreError> {
        flags::find(&self.shared, user_id, ids, flag).await
    }

    async fn load_message_window(
        &self,
        selection: &ReadableMessageSelection,
        asked: MessageWindow,
    ) -> Result<MessagePage, StoreError> {
        window(&self.shared, selection, asked).await
    }

    async fn conversation_messages_from(
        &self,
        conversation: &Conversation,
        from: MessageId,
    ) -> Result<Vec<(MessageId, i64)>, StoreError> {
        let recipient = i64::from(conversation.recipient);
        let rows: Vec<(i64, i64)> = run!(self.shared.db.reader(), fetch_all: sqlx::query_as(CONVERSATION)
            .bind(recipient).bind(&conversation.topic_key).bind(from.0))
        .map_err(failed)?;
        Ok(rows.into_iter().map(|(id, sent_s)| (MessageId(id), sent_s)).collect())
    }

    async fn conversation_participants(&self, conversation: &Conversation) -> Result<Vec<UserId>, StoreError> {
        let recipient = i64::from(conversation.recipient);
        let users: Vec<i64> = run!(self.shared.db.reader(), fetch_all: sqlx::query_scalar(PARTICIPANTS)
            .bind(recipient).bind(&conversation.topic_key))
        .map_err(failed)?;
        Ok(users.into_iter().map(UserId).collect())
    }

    async fn is_first_in_conversation(&self, conversation: &Conversation, id: MessageId) -> Result<bool, StoreError> {
        begins(&self.shared, conversation, id).await
    }

    async fn direct_conversation_exists(&self, users: &[UserId]) -> Result<bool, StoreError> {
        Ok(find_direct(&self.shared, users).await?.is_some())
    }

    async fn channel_topics(
        &self,
        selection: &ReadableMessageSelection,
        channel_id: ChannelId,
    ) -> Result<Vec<ChannelTopic>, StoreError> {
        topics(&self.shared, selection, channel_id).await
    }

    async fn unread_messages(
        &self,
        selection: &ReadableMessageSelection,
        limit: usize,
    ) -> Result<UnreadMessages, StoreError> {
        unread::unread(&self.shared, selection, limit).await
    }

    async fn first_channel_messages(&self, channels: &[ChannelId]) -> Result<Vec<(ChannelId, MessageId)>, StoreError> {
        first_messages(&self.shared, channels).await
    }

    async fn channels_without_messages_since(
        &self,
        channels: &[ChannelId],
        since_s: i64,
    ) -> Result<Vec<ChannelId>, StoreError> {
        channels_without_messages_since(&self.shared, channels, since_s).await
    }

    async fn channel_message_counts_since(&self, since_s: i64) -> Result<Vec<(ChannelId, i64)>, StoreError> {
        traffic(&self.shared, since_s).await
    }

    async fn recent_direct_conversations(
        &self,
        user_id: UserId,
        limit: usize,
    ) -> Result<Vec<(Vec<UserId>, MessageId)>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows: Vec<(String, i64)> = run!(self.shared.db.reader(), fetch_all: sqlx::query_as(RECENT_DIRECTS)
            .bind(user_id.0).bind(limit))
        .map_err(failed)?;
        Ok(rows.into_iter().map(|(users, id)| (message_decoding::users_of(&users), MessageId(id))).collect())
    }

    async fn message_readers(&self, message: &Message) -> Result<Vec<UserId>, StoreError> {
        flags::readers(&self.shared, message).await
    }

    async fn flagged_message_ids(&self, user_id: UserId, flag: MessageFlag) -> Result<Vec<MessageId>, StoreError> {
        flags::flagged(&self.shared, user_id, flag).await
    }

    async fn change_flag(
        &self,
        user_id: UserId,
        flag: (MessageFlag, FlagOp),
        decided: &FlagWriteGuard,
        event: (i64, NewEvent),
    ) -> Result<MessageWriteOutcome, StoreError> {
        flags::set_flag(&self.shared, (user_id, flag), decided, event).await
    }

    async fn edit_message(&self, edit: MessageEdit) -> Result<MessageEditOutcome, StoreError> {
        edit::edit(&self.shared, edit).await
    }

    async fn edit_histories(&self, ids: &[MessageId]) -> Result<Vec<(MessageId, EditHistoryEntry)>, StoreError> {
        edit::edits_of(&self.shared, ids).await
    }

    async fn edit_history(&self, id: MessageId) -> Result<Vec<EditHistoryEntry>, StoreError> {
        edit::edits(&self.shared, id).await
    }

    async fn delete_messages(
        &self,
        decided: &MessageWriteGuard,
        event: (i64, Vec<NewEvent>),
    ) -> Result<MessageWriteOutcome, StoreError> {
        edit::delete(&self.shared, decided, event).await
    }

    async fn add_reaction(
        &self,
        decided: &MessageWriteGuard,
        reaction: &Reaction,
        event: (i64, NewEvent),
    ) -> Result<MessageWriteOutcome, StoreError> {
        edit::react(&self.shared, decided, reaction, event).await
    }

    async fn remove_reaction(
        &self,
        decided: &MessageWriteGuard,
        reaction: &Reaction,
        event: (i64, NewEvent),
    ) -> Result<MessageWriteOutcome, StoreError> {
        edit::unreact(&self.shared, decided, reaction, event).await
    }
}

//! The store of messages, flags and reactions. One method is one transaction.

use std::sync::Arc;

use async_trait::async_trait;

use crate::StoreError;
use crate::event_log::event::{NewEvent, NewMessageEvent};
use crate::files::Attachment;
use crate::id::{AttachmentId, ChannelId, EventId, MessageId, UserId};
use crate::messages::narrow::{MessageWindow, ReadableMessageSelection};
use crate::model::flag_change::FlagOp;
use crate::model::message::{ContentFlags, Conversation, EditHistoryEntry, Message, MessageFlag, Reaction};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user_message::{UnreadMessages, UserMessage};
use crate::wire_format::MessageWithCachedJson;

/// A message to append.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// [`RealmSnapshot::changed_at`] of the state it was permitted on; it is sent unless
    /// [`RealmSnapshot::message_rules_changed_at`] has gone beyond.
    pub decided_at: EventId,
    /// Where it goes. It replaces the event's recipient.
    pub to: MessageDestination,
    /// The message and what its event says. The numbers in it are replaced.
    pub event: NewMessageEvent,
    /// The uploads that it uses.
    pub attachments: Vec<AttachmentId>,
}

/// The recipient and topic of a message to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageDestination {
    /// To a channel.
    Channel {
        /// The channel.
        channel_id: ChannelId,
        /// Whether it is open to all queues that ask for public channels.
        public: bool,
    },
    /// To users, the sender among them, in the order of their numbers.
    Direct(Vec<UserId>),
}

/// The outcome of appending a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendOutcome {
    /// It is durable.
    Done {
        /// Its number.
        id: MessageId,
        /// When it was sent, in unix seconds.
        sent_s: i64,
    },
    /// The realm had changed at this place since it was permitted; nothing was written.
    Stale(EventId),
}

/// A page of messages around an anchor, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePage {
    /// The messages, each with the reader's flags.
    pub messages: Vec<(Arc<MessageWithCachedJson>, Vec<MessageFlag>)>,
    /// Where they were looked for; [`crate::messages::narrow::NEWEST_ANCHOR`] for "after the last".
    pub anchor: MessageId,
    /// Whether the message at the anchor is among them.
    pub found_anchor: bool,
    /// Whether there is none before them.
    pub found_oldest: bool,
    /// Whether there is none after them.
    pub found_newest: bool,
}

/// The realm position and message revisions that a message write was decided on.
///
/// The store compares it inside the transaction that writes. When the realm's rules or one of the messages have changed
/// since, it writes nothing, brings the realm in memory forward, and returns [`MessageWriteOutcome::Unchanged`]; the
/// caller reads again and takes the decision again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageWriteGuard {
    /// [`RealmSnapshot::changed_at`] of the realm; refused when [`RealmSnapshot::message_rules_changed_at`] has gone
    /// beyond.
    pub realm: EventId,
    /// The messages, each with the [`Message::revision`] that was read.
    pub messages: Vec<(MessageId, EventId)>,
}

impl MessageWriteGuard {
    /// Returns the guard of these messages, read in that realm or before.
    #[must_use]
    pub fn new<'m>(realm: &RealmSnapshot, messages: impl IntoIterator<Item = &'m Message>) -> Self {
        let messages = messages.into_iter().map(|message| (message.id, message.revision)).collect();
        Self { realm: realm.changed_at(), messages }
    }
}

/// Like [`MessageWriteGuard`], for a user's own copies of messages, which are read by the thousand and without their
/// revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagWriteGuard {
    /// [`RealmSnapshot::changed_at`] of the realm; refused when [`RealmSnapshot::message_rules_changed_at`] has gone
    /// beyond.
    pub realm: EventId,
    /// [`EventLog::last_event_id`](crate::event_log::store::EventLog::last_event_id) before the copies were read;
    /// refused when one of the messages was edited or moved after it.
    pub log: EventId,
    /// The messages, in the order of their numbers.
    pub messages: Vec<MessageId>,
}

/// An edit of one message, with the messages that move with it.
pub struct MessageEdit {
    /// [`RealmSnapshot::changed_at`] of the state it was permitted on; when the realm has changed since, nothing is
    /// written.
    pub decided_at: EventId,
    /// The message.
    pub id: MessageId,
    /// [`Message::revision`] it was decided on; when it is another, nothing is written.
    pub revision: EventId,
    /// The new text, its HTML, and what it has in it.
    pub content: Option<(String, String, ContentFlags)>,
    /// The uploads that the new text uses.
    pub attachments: Vec<AttachmentId>,
    /// The new place and topic.
    pub to: Option<(ChannelId, String)>,
    /// The messages that move, the edited one among them, each once. Empty when none does. When one of them is no
    /// longer in the edited one's topic, nothing is written.
    pub moves: Vec<MessageId>,
    /// Whom the new text concerns, and the flag each gets for it. Where the text changes they take the place of those
    /// the message has for its text, whenever it got them.
    pub flags: Vec<(UserId, MessageFlag)>,
    /// Who did it; `None` for the server.
    pub user_id: Option<UserId>,
    /// When, in unix seconds.
    pub at_s: i64,
    /// What is told.
    pub events: Vec<NewEvent>,
}

/// The outcome of a deletion, a reaction or another message write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageWriteOutcome {
    /// It is durable; its last event stands at this place.
    Done(EventId),
    /// It was so already, or what it is about is gone or has changed; nothing was written.
    Unchanged,
}

/// The outcome of [`MessageStore::edit_message`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageEditOutcome {
    /// It is durable.
    Done {
        /// The place of its last event.
        at: EventId,
        /// The editor's uploads that the text before used and no message uses any more, by number.
        detached_uploads: Vec<Attachment>,
    },
    /// The message is gone, or it or the realm has changed since the decision; nothing was written.
    Unchanged,
}

/// A topic of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelTopic {
    /// As its newest message spells it.
    pub name: String,
    /// Its newest message.
    pub max_id: MessageId,
}

/// The store of messages, flags and reactions.
#[async_trait]
pub trait MessageStore: Send + Sync {
    /// Appends a new message. Many are written in one transaction; each call returns after the commit that holds its
    /// message.
    async fn append_message(&self, message: NewMessage) -> Result<SendOutcome, StoreError>;

    /// Returns the messages of these ids that exist, in ascending order, with the user's flags. Whether the user may
    /// read them is not checked.
    async fn find_messages(
        &self,
        user_id: UserId,
        ids: &[MessageId],
    ) -> Result<Vec<(Message, Vec<MessageFlag>)>, StoreError>;

    /// Returns messages like [`MessageStore::find_messages`], without content. Their flags include those that decide a
    /// change of `flag`: itself and, for [`MessageFlag::Read`], [`MessageFlag::Historical`] and the mention flags.
    /// Others may be there too.
    async fn find_user_messages(
        &self,
        user_id: UserId,
        ids: &[MessageId],
        flag: MessageFlag,
    ) -> Result<Vec<UserMessage>, StoreError>;

    /// Returns the messages of a selection around an anchor.
    async fn load_message_window(
        &self,
        selection: &ReadableMessageSelection,
        window: MessageWindow,
    ) -> Result<MessagePage, StoreError>;

    /// Returns the messages of a conversation from one on, each with its time in unix seconds, the oldest first.
    async fn conversation_messages_from(
        &self,
        conversation: &Conversation,
        from: MessageId,
    ) -> Result<Vec<(MessageId, i64)>, StoreError>;

    /// Returns the users who wrote or reacted in a conversation, in ascending order.
    async fn conversation_participants(&self, conversation: &Conversation) -> Result<Vec<UserId>, StoreError>;

    /// Returns whether the message is the first existing message of its conversation. Does no I/O for a conversation
    /// that was asked about lately.
    async fn is_first_in_conversation(&self, conversation: &Conversation, id: MessageId) -> Result<bool, StoreError>;

    /// Returns whether exactly these users, in ascending order, have written to each other.
    async fn direct_conversation_exists(&self, users: &[UserId]) -> Result<bool, StoreError>;

    /// Returns the topics of a channel with messages within the selection, the newest first.
    async fn channel_topics(
        &self,
        selection: &ReadableMessageSelection,
        channel_id: ChannelId,
    ) -> Result<Vec<ChannelTopic>, StoreError>;

    /// Returns the reader's newest unread messages of the selection, at most `limit`.
    async fn unread_messages(
        &self,
        selection: &ReadableMessageSelection,
        limit: usize,
    ) -> Result<UnreadMessages, StoreError>;

    /// Returns the oldest message of each of these channels that has one.
    async fn first_channel_messages(&self, channels: &[ChannelId]) -> Result<Vec<(ChannelId, MessageId)>, StoreError>;

    /// Returns those of the channels whose newest message was sent before that time in unix seconds, and those that have
    /// none.
    async fn channels_without_messages_since(
        &self,
        channels: &[ChannelId],
        since_s: i64,
    ) -> Result<Vec<ChannelId>, StoreError>;

    /// Returns the number of messages that each channel received since that time in unix seconds, where there were any.
    /// Looks at each of these messages once.
    async fn channel_message_counts_since(&self, since_s: i64) -> Result<Vec<(ChannelId, i64)>, StoreError>;

    /// Returns the user's direct-message conversations, each as its users in ascending order with its newest message;
    /// the newest first, at most `limit`.
    async fn recent_direct_conversations(
        &self,
        user_id: UserId,
        limit: usize,
    ) -> Result<Vec<(Vec<UserId>, MessageId)>, StoreError>;

    /// Returns the users who read a message that they received, and those for whom it counts as read
    /// ([`UserMessage::counts_as_read`]), in ascending order, without its sender. Its sender is left out.
    async fn message_readers(&self, message: &Message) -> Result<Vec<UserId>, StoreError>;

    /// Returns the ids of the user's messages with a flag other than [`MessageFlag::Read`], in ascending order.
    async fn flagged_message_ids(&self, user_id: UserId, flag: MessageFlag) -> Result<Vec<MessageId>, StoreError>;

    /// Adds or removes a user's flag on the given messages that exist. [`MessageWriteOutcome::Unchanged`] when what was
    /// decided on has changed.
    async fn change_flag(
        &self,
        user_id: UserId,
        flag: (MessageFlag, FlagOp),
        decided: &FlagWriteGuard,
        event: (i64, NewEvent),
    ) -> Result<MessageWriteOutcome, StoreError>;

    /// Writes an edit of a message, and moves the messages that move with it.
    async fn edit_message(&self, edit: MessageEdit) -> Result<MessageEditOutcome, StoreError>;

    /// Returns the edit histories of several messages, each the newest first.
    async fn edit_histories(&self, ids: &[MessageId]) -> Result<Vec<(MessageId, EditHistoryEntry)>, StoreError>;

    /// Returns the edit history of a message, the newest first.
    async fn edit_history(&self, id: MessageId) -> Result<Vec<EditHistoryEntry>, StoreError>;

    /// Deletes messages with everything that users added to them. [`MessageWriteOutcome::Unchanged`] when there are
    /// none, one is gone, or what was decided on has changed.
    async fn delete_messages(
        &self,
        decided: &MessageWriteGuard,
        event: (i64, Vec<NewEvent>),
    ) -> Result<MessageWriteOutcome, StoreError>;

    /// Adds a reaction to the one message it was decided on. [`MessageWriteOutcome::Unchanged`] when it exists, the
    /// message does not, or what was decided on has changed.
    async fn add_reaction(
        &self,
        decided: &MessageWriteGuard,
        reaction: &Reaction,
        event: (i64, NewEvent),
    ) -> Result<MessageWriteOutcome, StoreError>;

    /// Removes a reaction from the one message it was decided on. [`MessageWriteOutcome::Unchanged`] when it does not
    /// exist, or what was decided on has changed.
    async fn remove_reaction(
        &self,
        decided: &MessageWriteGuard,
        reaction: &Reaction,
        event: (i64, NewEvent),
    ) -> Result<MessageWriteOutcome, StoreError>;
}

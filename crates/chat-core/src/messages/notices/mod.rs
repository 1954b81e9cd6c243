//! Notices: messages by which the server's own bots report what users did to topics, channels and accounts.
//!
//! A notice follows what it reports and is not a part of it: a topic is moved whether or not its notice is sent. So a
//! failure is logged here. In a realm without [system bots](crate::organization::system_bots) there are no notices.

mod channel_changes;
mod markup;
mod newcomers;
mod quoted_messages;
mod topic_moves;

use futures_util::future::join_all;

use crate::event_log::decision_queue::{MAX_DECISION_ATTEMPTS, StaleDecisionError};
use crate::id::{ChannelId, MessageId, UserId};
use crate::messages::channel_activity;
use crate::messages::compose::{ChannelRef, ComposedMessage, RequestedRecipient, SendRequest};
use crate::messages::send::compose_message;
use crate::messages::store::SendOutcome;
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::model::message::MessageFlag;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::organization::system_bots::SystemBot;

pub use channel_changes::{ChannelChanges, ChannelNoticeOptions, SentNotices, report_channel_changes};
pub use newcomers::welcome_newcomer;
pub(super) use quoted_messages::{reminder_text, report_text};
pub use topic_moves::MoveNotices;
pub(super) use topic_moves::{CompletedMove, report_move};

/// The client that notices name as the one they were sent with.
const CLIENT: &str = "Server";
/// The topic of notices about the channel they are in.
pub(crate) const CHANNEL_EVENTS_TOPIC: &str = "channel events";
/// The maximum number of new channels or users that one request sends notices about. Not specified; a request that
/// concerns more of them is an import, and the messages would hold it up.
///
/// # Source
/// Level 397: `max_bulk_new_subscription_messages`, for users.
pub const MAX_NOTICES_PER_REQUEST: usize = 100;

/// A notice to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// Its recipient.
    pub(crate) to: NoticeRecipient,
    /// Its text, as a user would type it.
    pub(crate) content: String,
    /// The receivers for whom it arrives read.
    pub(crate) read_by: Vec<UserId>,
}

/// The recipient of a notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoticeRecipient {
    /// A topic of a channel.
    Topic(ChannelId, String),
    /// A user.
    User(UserId),
}

impl Notice {
    fn in_topic(channel_id: ChannelId, topic: &str, content: String) -> Self {
        Self { to: NoticeRecipient::Topic(channel_id, topic.to_owned()), content, read_by: Vec::new() }
    }

    pub(crate) fn to_user(user_id: UserId, content: String) -> Self {
        Self { to: NoticeRecipient::User(user_id), content, read_by: Vec::new() }
    }
}

/// Composes a notice as the bot. Of a channel that is archived, and of a closed account, it is refused.
pub(crate) async fn compose_notice(
    ports: &MessageWorkflowContext<'_>,
    realm: &RealmSnapshot,
    bot: &User,
    notice: &Notice,
) -> Result<ComposedMessage, MessageWorkflowError> {
    let user;
    let to = match &notice.to {
        NoticeRecipient::Topic(channel_id, topic) => RequestedRecipient::Channel(ChannelRef::Id(*channel_id), topic),
        NoticeRecipient::User(user_id) => {
            user = [*user_id];
            RequestedRecipient::Ids(&user)
        }
    };
    let request =
        SendRequest { to, content: &notice.content, client: CLIENT, read_by_sender: false, local: None, widget: None };
    let mut composed = compose_message(ports, realm, bot, request).await?;
    let flags = &mut composed.message.event.flags;
    flags.extend(notice.read_by.iter().map(|user_id| (*user_id, MessageFlag::Read)));
    flags.sort_unstable();
    flags.dedup();
    Ok(composed)
}

/// Sends a notice and returns its id; `None` when the realm has no such bot, or when sending failed, which is logged.
pub(crate) async fn send_notice(
    ports: &MessageWorkflowContext<'_>,
    bot: SystemBot,
    notice: &Notice,
) -> Option<MessageId> {
    try_to_send(ports, bot, notice).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "notice not sent");
        None
    })
}

/// Sends a notice and returns its id; `None` when the realm has no such bot.
///
/// # Errors
/// When it is refused, or the server failed.
pub(crate) async fn try_to_send(
    ports: &MessageWorkflowContext<'_>,
    bot: SystemBot,
    notice: &Notice,
) -> Result<Option<MessageId>, MessageWorkflowError> {
    for _ in 0..MAX_DECISION_ATTEMPTS {
        let realm = ports.snapshot();
        let Some(bot) = bot.find(&realm) else { return Ok(None) };
        let composed = compose_notice(ports, &realm, bot, notice).await?;
        if let SendOutcome::Done { id, .. } = ports.messages.append_message(composed.message).await? {
            if let NoticeRecipient::Topic(channel_id, _) = notice.to {
                channel_activity::after_message(ports, channel_id).await;
            }
            return Ok(Some(id));
        }
    }
    Err(StaleDecisionError("the realm").into())
}

/// Sends notices of the Notification Bot at once, so that they share transactions, and returns how many were sent.
async fn send_all(ports: &MessageWorkflowContext<'_>, notices: &[Notice]) -> usize {
    let sending = notices.iter().map(|notice| send_notice(ports, SystemBot::Notification, notice));
    join_all(sending).await.into_iter().flatten().count()
}

//! Sending what is due.
//!
//! Any node may try at any time: what a message becomes is written together with the end of its waiting, and only by
//! who finds it as it was read. A failure of ours leaves a message waiting for the next look; a refusal ends its
//! waiting and is reported to its sender.

use chat_core::id::UserId;
use chat_core::messages::compose::{RequestedRecipient, SendRequest};
use chat_core::messages::scheduled::{MAX_LATE_S, ScheduledEnd, ScheduledError, ScheduledMessage, ScheduledOutcome};
use chat_core::messages::store::NewMessage;

use crate::auth::{AuthenticationError, may_enter};
use crate::endpoint::messages::send;
use crate::endpoint::topic_following::{self, SentTopic};
use crate::error::{ApiError, InternalError};
use crate::middleware::panic;
use crate::state::{AppState, DECISIONS_MAX};

/// Messages of one look. When there are so many, there may be more.
const AT_ONCE: usize = 100;
/// What notices name as the program they were sent with.
const CLIENT: &str = "Server";

/// Ends the waiting of messages whose time has come. Says whether there may be more of them.
pub(crate) async fn send_due(app: &AppState) -> Result<bool, ApiError> {
    let due = app.scheduled.due(app.now_s(), AT_ONCE).await?;
    let (mut failed, found) = (None, due.len());
    for message in &due {
        if let Err(error) = deliver(app, message).await {
            failed = Some(error);
        }
    }
    // One that cannot be settled does not hold up the others.
    failed.map_or(Ok(found == AT_ONCE), Err)
}

/// Sends one, or has it fail.
async fn deliver(app: &AppState, message: &ScheduledMessage) -> Result<(), ApiError> {
    let mut heard_of = None;
    for _ in 0..DECISIONS_MAX {
        let (end, follows) = match panic::caught_or(composed(app, message), Err).await {
            Ok((sent, mentioned)) => {
                let follows = SentTopic::of(&sent).map(|place| (place, mentioned));
                (ScheduledEnd::Sent(Box::new(sent)), follows)
            }
            Err(failure @ ApiError::Internal(_)) => return Err(failure),
            // Another node may have changed what it is refused for.
            Err(_) if heard_of.is_none_or(|changed| changed < app.realm().changed()) => {
                app.realm.refresh().await?;
                heard_of = Some(app.realm().changed());
                continue;
            }
            Err(refusal) => (failed(app, message, refusal.message()).await?, None),
        };
        match app.scheduled.settle(message, end, app.now_s()).await? {
            ScheduledOutcome::Done { sent } => {
                if let Some(((place, mentioned), id)) = follows.zip(sent) {
                    topic_following::after_sending(app, message.user_id, (&place, id), &mentioned).await;
                }
                return Ok(());
            }
            ScheduledOutcome::Gone => return Ok(()),
            ScheduledOutcome::Stale => {}
        }
    }
    Err(InternalError::without_cause("the realm changed faster than a scheduled message could be sent").into())
}

async fn composed(app: &AppState, message: &ScheduledMessage) -> Result<(NewMessage, Vec<UserId>), ApiError> {
    if app.now_s() - message.due_s > MAX_LATE_S {
        return Err(ScheduledError::TooLate.into());
    }
    let realm = app.realm();
    let sender = realm.user(message.user_id).ok_or(AuthenticationError::UnknownKey)?;
    may_enter(&realm, sender)?;
    send::composed_with_mentioned(app, &realm, sender, message.send_request()).await
}

/// Not specified how a sender learns of it. No account here speaks for the server, so the notice is, unread, among the
/// messages they send to themselves; who cannot have any, because their account is closed, gets none.
async fn failed(app: &AppState, message: &ScheduledMessage, failure: String) -> Result<ScheduledEnd, ApiError> {
    let realm = app.realm();
    let sender = realm.user(message.user_id).filter(|user| user.is_active);
    let Some(sender) = sender else { return Ok(ScheduledEnd::Failed { failure, notice: None }) };
    let content = message.notice(&failure);
    let to = [message.user_id];
    let request = SendRequest {
        to: RequestedRecipient::Ids(&to),
        content: &content,
        client: CLIENT,
        read_by_sender: false,
        local: None,
        widget: None,
    };
    match send::composed(app, &realm, sender, request).await {
        Ok(notice) => Ok(ScheduledEnd::Failed { failure, notice: Some(Box::new(notice)) }),
        Err(ours @ ApiError::Internal(_)) => Err(ours),
        Err(_) => Ok(ScheduledEnd::Failed { failure, notice: None }),
    }
}

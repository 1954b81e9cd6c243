//! Reports of messages to the moderators: the Notification Bot posts them in a private channel that administrators chose.
//!
//! # Source
//! Not specified; feature levels 331 and 382 of the API.

use std::sync::Arc;

use crate::id::MessageId;
use crate::messages::notices::{self, Notice, NoticeRecipient, report_text};
use crate::messages::readable_message::find_readable_message;
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::model::user::User;
use crate::organization::system_bots::SystemBot;

/// The maximum number of characters of a report's description.
pub const MAX_REPORT_DESCRIPTION_CHARS: usize = 1_000;

/// The reason of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportReason {
    /// Spam.
    Spam,
    /// Harassment.
    Harassment,
    /// Content that does not belong there.
    Inappropriate,
    /// A violation of the norms of the organization.
    Norms,
    /// Something else, which the description explains.
    Other,
}

/// A report of a message.
#[derive(Debug, Clone, Copy)]
pub struct MessageReport<'a> {
    /// The reason.
    pub reason: ReportReason,
    /// The explanation, as typed; empty for none.
    pub description: &'a str,
}

/// The reason why a message is not reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// Administrators chose no channel for reports, or the realm has no Notification Bot.
    #[error("Moderation request channel must be specified to enable message reporting.")]
    Disabled,
    /// Another reason needs an explanation.
    #[error("An explanation is required.")]
    NotExplained,
}

/// Reports a message that the caller may read to the moderators.
///
/// # Errors
/// See [`ReportError`]; when the message is not there for the caller, or the server failed.
pub async fn report_message(
    ports: &MessageWorkflowContext<'_>,
    caller: &Arc<User>,
    id: MessageId,
    report: MessageReport<'_>,
) -> Result<(), MessageWorkflowError> {
    let found = find_readable_message(ports, caller, id).await?;
    let description = report.description.trim();
    if report.reason == ReportReason::Other && description.is_empty() {
        return Err(ReportError::NotExplained.into());
    }
    let there = found.realm.realm().and_then(|realm| realm.rules.moderation_requests);
    let there = there.ok_or(ReportError::Disabled)?;
    let author = found.realm.user(found.message.sender_id).map_or("", |author| author.full_name.as_str());
    let report = MessageReport { description, ..report };
    let notice = Notice {
        to: NoticeRecipient::Topic(there, format!("{author} moderation")),
        content: report_text(&found.realm, &found.user, &found.message, &report),
        read_by: Vec::new(),
    };
    let sent = notices::try_to_send(ports, SystemBot::Notification, &notice).await?;
    sent.map(drop).ok_or_else(|| ReportError::Disabled.into())
}

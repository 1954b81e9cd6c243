//! Texts that quote a message: reminders of it and reports about it.

use super::markup::{message_link, quote, silent_mention, spoiler};
use crate::limits::MAX_MESSAGE_CHARS;
use crate::messages::reports::{MessageReport, ReportReason};
use crate::model::message::{Message, Recipient};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;

/// Characters of a quoted message, so that note, names and links have room beside it.
const QUOTED_MAX_CHARS: usize = MAX_MESSAGE_CHARS - 3_000;

/// Returns the text of a reminder of the message.
pub(in crate::messages) fn reminder_text(realm: &RealmSnapshot, message: &Message, note: &str) -> String {
    let link =
        place(realm, message).map_or_else(|| "this direct message".to_owned(), |link| format!("this message: {link}"));
    let mut text = format!("You asked to be reminded of {link}");
    if !note.is_empty() {
        text.push_str("\n\nYour note:\n");
        text.push_str(&quote(note));
    }
    text.push_str("\n\n");
    text.push_str(&quoted(realm, message, quote));
    text
}

/// Returns the text of a report about the message.
pub(in crate::messages) fn report_text(
    realm: &RealmSnapshot,
    reporter: &User,
    message: &Message,
    report: &MessageReport<'_>,
) -> String {
    let author = realm.user(message.sender_id).map_or_else(|| "a user".to_owned(), |user| silent_mention(user));
    let what = match place(realm, message) {
        Some(link) => format!("a message by {author} in {link}"),
        None if message.direct_users.len() > 2 => format!("a message by {author} in a group conversation"),
        None => format!("a direct message by {author}"),
    };
    let mut text = format!("{} reported {what}. Reason: **{}**.", silent_mention(reporter), reason(report.reason));
    if !report.description.is_empty() {
        text.push('\n');
        text.push_str(&quote(report.description));
    }
    text.push_str("\n\n");
    text.push_str(&quoted(realm, message, |content| spoiler("The message", content)));
    text
}

fn reason(reason: ReportReason) -> &'static str {
    match reason {
        ReportReason::Spam => "spam",
        ReportReason::Harassment => "harassment",
        ReportReason::Inappropriate => "inappropriate content",
        ReportReason::Norms => "violation of the organization's norms",
        ReportReason::Other => "other",
    }
}

/// Returns a link to the message; `None` for a direct message.
fn place(realm: &RealmSnapshot, message: &Message) -> Option<String> {
    let Recipient::Channel(channel_id) = message.recipient else { return None };
    Some(message_link(realm.channel(channel_id)?, &message.topic, message.id))
}

/// Returns who wrote the message, and its text in that form. A poll or a list is named, because its text shows nothing.
fn quoted(realm: &RealmSnapshot, message: &Message, form: impl FnOnce(&str) -> String) -> String {
    let author = realm.user(message.sender_id).map_or_else(|| "A user".to_owned(), |user| silent_mention(user));
    if message.content_flags.is_widget {
        let what = if message.content.starts_with("/todo") { "a to-do list" } else { "a poll" };
        return format!("{author} started {what}.");
    }
    let mut content: String = message.content.chars().take(QUOTED_MAX_CHARS).collect();
    if content.len() < message.content.len() {
        content.push('…');
    }
    format!("{author} wrote:\n{}", form(&content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ChannelId, DirectConversationId, UserId};
    use crate::model::channel::ChannelPrivacy;
    use crate::model::message::ContentFlags;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing;

    fn realm() -> RealmSnapshot {
        let channel = RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public)));
        testing::realm(RealmPermissionSettings::default(), vec![channel])
    }

    #[test]
    fn a_reminder_links_and_quotes_its_message_and_has_the_note() {
        let message = testing::message(4, Recipient::Channel(ChannelId(20)));
        let quoted = "@_**User 4|4** wrote:\n````quote\nhi\n````";
        let link = "You asked to be reminded of this message: #**Channel 20>Lunch@50**";
        assert_eq!(reminder_text(&realm(), &message, ""), format!("{link}\n\n{quoted}"));
        let note = "Your note:\n````quote\nanswer\n````";
        assert_eq!(reminder_text(&realm(), &message, "answer"), format!("{link}\n\n{note}\n\n{quoted}"));
        let direct = testing::message(4, Recipient::Direct(DirectConversationId(3)));
        let link = "You asked to be reminded of this direct message";
        assert_eq!(reminder_text(&realm(), &direct, ""), format!("{link}\n\n{quoted}"));
    }

    #[test]
    fn a_poll_is_named_and_a_long_text_is_cut() {
        let message = testing::message(4, Recipient::Direct(DirectConversationId(3)));
        let content_flags = ContentFlags { is_widget: true, ..ContentFlags::default() };
        let poll = Message { content: "/poll tea?".to_owned(), content_flags, ..message.clone() };
        assert!(reminder_text(&realm(), &poll, "").ends_with("\n\n@_**User 4|4** started a poll."));
        let long = Message { content: "x".repeat(MAX_MESSAGE_CHARS), ..message };
        let note = "n".repeat(1_000);
        assert!(reminder_text(&realm(), &long, &note).chars().count() < MAX_MESSAGE_CHARS);
    }

    #[test]
    fn a_report_says_who_reports_whom_where_and_why() {
        let realm = realm();
        let reporter = realm.user(UserId(6)).unwrap();
        let text = |recipient, users: &[i64], description| {
            let direct_users = users.iter().copied().map(UserId).collect();
            let message = Message { direct_users, ..testing::message(4, recipient) };
            report_text(&realm, reporter, &message, &MessageReport { reason: ReportReason::Spam, description })
        };
        let hidden = "@_**User 4|4** wrote:\n`````spoiler The message\n````quote\nhi\n````\n`````";
        let of = |what: &str| format!("@_**User 6|6** reported {what}. Reason: **spam**.\n\n{hidden}");
        let channel = Recipient::Channel(ChannelId(20));
        let link = "a message by @_**User 4|4** in #**Channel 20>Lunch@50**";
        assert_eq!(text(channel, &[], ""), of(link));
        let direct = Recipient::Direct(DirectConversationId(3));
        assert_eq!(text(direct, &[4, 6], ""), of("a direct message by @_**User 4|4**"));
        assert_eq!(text(direct, &[1, 4, 6], ""), of("a message by @_**User 4|4** in a group conversation"));
        assert!(text(channel, &[], "again").contains("**spam**.\n````quote\nagain\n````\n\n"));
    }
}

//! From messages to rows.

use serde_json::{Map, Value, json};

use super::organization::REALM;
use super::{ExportTableFile, ExportWriteError, OrganizationExport, OriginalServerRelease, channel_recipient};
use crate::id::UserId;
use crate::import_export::import::export_tables::codes;
use crate::model::message::{EditHistoryEntry, Message, MessageFlag, Recipient};

/// A message with its flags, reactions, submessages and edit history.
#[derive(Debug, Clone)]
pub struct ExportedMessage {
    /// The message.
    pub message: Message,
    /// Its earlier states, the newest first.
    pub past: Vec<EditHistoryEntry>,
    /// The flags of those who received it, and of others who flagged it, in the order of the users' numbers.
    pub copies: Vec<(UserId, Vec<MessageFlag>)>,
}

/// How original servers number the way in which HTML was made.
const RENDERED_VERSION: i64 = 1;

impl OrganizationExport<'_> {
    /// Writes a page of messages, in a separate file.
    ///
    /// # Errors
    /// [`ExportWriteError`].
    pub fn write_message_page(&mut self, page: &[ExportedMessage]) -> Result<(), ExportWriteError> {
        if self.scope.is_everything() {
            return self.write_messages(page);
        }
        let selected = self.scope.select(page);
        self.report.count_omitted(
            "messages that this kind of export does not have",
            page.len().saturating_sub(selected.len()),
        );
        if selected.is_empty() { Ok(()) } else { self.write_messages(&selected) }
    }

    fn write_messages(&mut self, page: &[ExportedMessage]) -> Result<(), ExportWriteError> {
        self.pages += 1;
        let sheet = ExportTableFile::Messages(self.pages);
        for ExportedMessage { message, past, .. } in page {
            let mut row = self.message(message, past);
            self.release.fit("zerver_message", &mut row);
            self.sheets.write_row(sheet, "zerver_message", row)?;
            self.report.count_transferred("earlier states of messages", past.len());
        }
        for ExportedMessage { message, copies, .. } in page {
            for (user, flags) in copies {
                let private = matches!(message.recipient, Recipient::Direct(_)).then_some(codes::PRIVATE);
                let bits: i64 = flags.iter().map(|flag| codes::bit(*flag)).chain(private).sum();
                let row = json!({"user_profile": user, "message": message.id, "flags_mask": bits});
                self.sheets.write_row(sheet, "zerver_usermessage", row)?;
            }
        }
        for ExportedMessage { message, .. } in page {
            for part in &message.submessages {
                let row = json!({
                    "id": part.id,
                    "message": message.id,
                    "sender": part.sender_id,
                    "msg_type": crate::model::message::WIDGET_SUBMESSAGE_TYPE,
                    "content": part.content,
                });
                self.sheets.write_row(sheet, "zerver_submessage", row)?;
            }
            self.report.count_transferred("parts of polls and lists", message.submessages.len());
            self.reactions(message)?;
        }
        self.report.count_transferred("messages", page.len());
        Ok(())
    }

    fn message(&mut self, message: &Message, past: &[EditHistoryEntry]) -> Value {
        let recipient = match message.recipient {
            Recipient::Channel(channel) => channel_recipient(channel),
            Recipient::Direct(_) => self.people(message.sender_id, &message.direct_users),
        };
        let content_flags = message.content_flags;
        json!({
            "id": message.id,
            "realm": REALM,
            "sender": message.sender_id,
            "recipient": recipient,
            "is_channel_message": matches!(message.recipient, Recipient::Channel(_)),
            "subject": message.topic,
            "content": message.content,
            "rendered_content": self.release.rendered_html(&message.html),
            // Without it an original server renders the text again, where it cannot write.
            "rendered_content_version": RENDERED_VERSION,
            "date_sent": message.sent_s,
            "sending_client": self.client(&message.client),
            "last_edit_time": message.last_edit_s,
            "edit_history": history(self.release, message.sender_id, past),
            "has_link": content_flags.has_link,
            "has_image": content_flags.has_image,
            "has_attachment": content_flags.has_attachment,
        })
    }

    fn reactions(&mut self, message: &Message) -> Result<(), ExportWriteError> {
        for reaction in &message.reactions {
            let row = json!({
                "user_profile": reaction.user_id,
                "message": message.id,
                "emoji_name": reaction.emoji_name,
                "emoji_code": reaction.emoji_code,
                "reaction_type": reaction.reaction_type.wire_name(),
            });
            self.put_numbered("zerver_reaction", row)?;
        }
        self.report.count_transferred("reactions", message.reactions.len());
        Ok(())
    }
}

/// Returns the edits as a JSON text, the newest first; `None` when there are none.
fn history(release: OriginalServerRelease, sender: UserId, past: &[EditHistoryEntry]) -> Option<String> {
    let edits: Vec<Value> = past.iter().map(|entry| edit(release, sender, entry)).collect();
    (!edits.is_empty()).then(|| Value::from(edits).to_string())
}

fn edit(release: OriginalServerRelease, sender: UserId, past: &EditHistoryEntry) -> Value {
    let mut row = Map::new();
    // The original server refuses an edit without a user. Where none is known, the sender is the best guess.
    row.insert("user_id".to_owned(), json!(past.user_id.unwrap_or(sender)));
    row.insert("timestamp".to_owned(), past.at_s.into());
    if let Some((content, html)) = &past.content {
        row.insert("prev_content".to_owned(), content.as_str().into());
        row.insert("prev_rendered_content".to_owned(), release.rendered_html(html).into());
    } else if release.reads_html_of_every_edit() {
        row.insert("prev_rendered_content".to_owned(), "".into());
    }
    if let Some((before, after)) = &past.topic {
        row.insert("prev_topic".to_owned(), before.as_str().into());
        row.insert("topic".to_owned(), after.as_str().into());
    }
    if let Some((before, after)) = past.channel {
        row.insert("prev_stream".to_owned(), json!(before));
        row.insert("stream".to_owned(), json!(after));
    }
    Value::Object(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(release: OriginalServerRelease, past: &[EditHistoryEntry]) -> Value {
        serde_json::from_str(&history(release, UserId(4), past).unwrap()).unwrap()
    }

    fn moved(user_id: Option<UserId>) -> EditHistoryEntry {
        let topic = Some(("a".to_owned(), "b".to_owned()));
        EditHistoryEntry { at_s: 9, user_id, content: None, channel: None, topic }
    }

    #[test]
    fn an_edit_of_unknown_origin_is_the_senders_because_the_original_refuses_one_without_a_user() {
        for release in OriginalServerRelease::ALL {
            let edits = edits(release, &[moved(None), moved(Some(UserId(5)))]);
            assert_eq!((&edits[0]["user_id"], &edits[1]["user_id"]), (&json!(4), &json!(5)));
        }
    }

    #[test]
    fn an_edit_of_the_topic_has_html_for_the_release_that_refuses_one_without() {
        let edits = OriginalServerRelease::ALL.map(|release| edits(release, &[moved(None)]));
        let html = edits.each_ref().map(|edits| edits[0].get("prev_rendered_content"));
        assert_eq!(html, [Some(&json!("")), None]);
        assert!(edits.iter().all(|edits| edits[0].get("prev_content").is_none()));
    }
}

//! Uploads, pictures, drafts and scheduled messages as rows.

use serde_json::json;

use super::organization::{REALM, accounts};
use super::{
    ExportTableFile, ExportUploadFolder, ExportWriteError, ExportedUploadFile, OrganizationExport, channel_recipient,
};
use crate::files::{Attachment, FileKey, MAX_ATTACHMENTS_PER_MESSAGE, PathId, PublicImageName};
use crate::id::{DraftId, MessageId, UserId};
use crate::messages::draft::{Draft, DraftDestination};
use crate::messages::scheduled::{ScheduledDestination, ScheduledMessage};
use crate::model::organization_image::OrganizationImage;
use crate::model::realm::Realm;
use crate::model::realm_change::RealmItemKind;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::wire_format;

impl OrganizationExport<'_> {
    /// Writes uploads, each with the messages that use it; to be called after
    /// [`OrganizationExport::write_scheduled_messages`].
    ///
    /// # Errors
    /// [`ExportWriteError`], as those of all that follow.
    pub fn write_uploads(&mut self, uploads: &[(Attachment, Vec<MessageId>)]) -> Result<(), ExportWriteError> {
        for (upload, messages) in uploads {
            let messages = self.scope.written(messages);
            let scheduled = self.waiting.get(&upload.path_id).map_or(&[][..], Vec::as_slice);
            if !self.scope.is_everything() && messages.is_empty() && scheduled.is_empty() {
                self.report.count_omitted("uploads that this kind of export does not have", 1);
                continue;
            }
            self.report.count_transferred("uploads", 1);
            let row = json!({
                "id": upload.id,
                "realm": REALM,
                "owner": upload.owner_id,
                "path_id": upload.path_id,
                "file_name": upload.name,
                "content_type": upload.media_type,
                "size": upload.size_bytes,
                "create_time": upload.created_s,
                // Without a value the original server finds out from the messages.
                "is_realm_public": null,
                "is_web_public": null,
                "messages": messages,
                "scheduled_messages": scheduled,
            });
            self.sheets.write_row(ExportTableFile::Attachments, "zerver_attachment", row)?;
            let record = json!({
                "path": upload.path_id,
                "s3_path": upload.path_id,
                "realm_id": REALM,
                "user_profile_id": upload.owner_id,
                "content_type": upload.media_type,
                "size": upload.size_bytes,
                "last_modified": upload.created_s,
            });
            let path = upload.path_id.to_string();
            let key = FileKey::from(&upload.path_id);
            self.sheets.add_uploaded_file(ExportedUploadFile {
                cabinet: ExportUploadFolder::Uploads,
                key,
                path,
                record,
            });
        }
        Ok(())
    }

    /// Writes scheduled messages.
    ///
    /// # Errors
    /// [`ExportWriteError`].
    pub fn write_scheduled_messages(&mut self, scheduled: &[ScheduledMessage]) -> Result<(), ExportWriteError> {
        for message in scheduled {
            if !self.scope.has_scheduled(message) {
                self.report.count_omitted("scheduled messages that this kind of export does not have", 1);
                continue;
            }
            self.report.count_transferred("scheduled messages", 1);
            for path_id in PathId::find_links_in_text(&message.content, MAX_ATTACHMENTS_PER_MESSAGE) {
                self.waiting.entry(path_id).or_default().push(message.id);
            }
            let (recipient, channel, topic) = match &message.to {
                ScheduledDestination::Channel(channel, topic) => {
                    (channel_recipient(*channel), Some(*channel), topic.as_str())
                }
                ScheduledDestination::Direct(users) => (self.with(message.user_id, users), None, ""),
            };
            let row = json!({
                "id": message.id,
                "realm": REALM,
                "sender": message.user_id,
                "recipient": recipient,
                "stream": channel,
                "subject": topic,
                "content": message.content,
                "rendered_content": message.html,
                "sending_client": self.client(&message.client),
                "scheduled_timestamp": message.due_s,
                "read_by_sender": message.read_by_sender,
                "delivered": false,
                "has_attachment": message.content.contains("/user_uploads/"),
                "request_timestamp": message.due_s,
                "delivery_type": 1,
                "failed": message.failure.is_some(),
                "failure_message": message.failure,
            });
            self.put("zerver_scheduledmessage", row)?;
        }
        Ok(())
    }

    /// Writes drafts.
    ///
    /// # Errors
    /// [`ExportWriteError`].
    pub fn write_drafts(&mut self, drafts: &[(DraftId, UserId, Draft)]) -> Result<(), ExportWriteError> {
        for (id, author, draft) in drafts {
            let channel = match &draft.to {
                DraftDestination::Channel(channel, _) => Some(*channel),
                DraftDestination::Nowhere | DraftDestination::Direct(_) => None,
            };
            if !self.scope.has_draft(*author, channel) {
                self.report.count_omitted("drafts that this kind of export does not have", 1);
                continue;
            }
            self.report.count_transferred("drafts", 1);
            let (kind, recipient, topic) = match &draft.to {
                DraftDestination::Nowhere => ("", None, ""),
                DraftDestination::Channel(channel, topic) => {
                    ("stream", Some(channel_recipient(*channel)), topic.as_str())
                }
                DraftDestination::Direct(users) if users.is_empty() => ("private", None, ""),
                DraftDestination::Direct(users) => ("private", Some(self.with(*author, users)), ""),
            };
            let row = json!({
                "id": id,
                "user_profile": author,
                "type": kind,
                "recipient": recipient,
                "topic": topic,
                "content": draft.content,
                "last_edit_time": draft.touched_s,
            });
            self.put("zerver_draft", row)?;
        }
        Ok(())
    }

    /// Writes the key-value storage of bots.
    ///
    /// # Errors
    /// [`ExportWriteError`].
    pub fn write_bot_storage(&mut self, kept: &[(UserId, String, String)]) -> Result<(), ExportWriteError> {
        for (bot, key, value) in kept {
            if !self.scope.has_private_data_of(*bot) {
                continue;
            }
            let row = json!({"bot_profile": bot, "key": key, "value": value});
            self.put_numbered("zerver_botstoragedata", row)?;
            self.report.count_transferred("texts that programs of bots keep", 1);
        }
        Ok(())
    }

    /// Notes the pictures of the organization itself.
    pub(super) fn images(&mut self, organization: &Realm) {
        for image in OrganizationImage::ALL {
            let Some(name) = organization.images.uploaded_url(image).and_then(PublicImageName::from_url) else {
                continue;
            };
            // The original server makes no picture of the one that came in: it serves the second as it is.
            for ending in ["original", "png"] {
                let path = format!("{REALM}/{}.{ending}", image.wire_name());
                let record = json!({"path": path, "s3_path": path, "realm_id": REALM});
                let key = FileKey::from(&name);
                self.sheets.add_uploaded_file(ExportedUploadFile {
                    cabinet: ExportUploadFolder::Emblems,
                    key,
                    path,
                    record,
                });
            }
            self.report.count_transferred("pictures of the organization", 1);
        }
    }

    /// Notes the pictures of users, and writes custom emoji.
    pub(super) fn pictures(&mut self, realm: &RealmSnapshot) -> Result<(), ExportWriteError> {
        for user in accounts(realm) {
            let Some(url) = &user.avatar_url else { continue };
            for (url, ending) in [(wire_format::medium_avatar_url(url), "original"), (url.clone(), "png")] {
                let Some(name) = PublicImageName::from_url(&url) else { continue };
                let path = format!("{REALM}/{}.{ending}", name.random_stem());
                let record = json!({
                    "path": path,
                    "s3_path": path,
                    "realm_id": REALM,
                    "user_profile_id": user.id,
                    "user_profile_email": user.email,
                    "avatar_version": user.avatar_version,
                });
                let key = FileKey::from(&name);
                self.sheets.add_uploaded_file(ExportedUploadFile {
                    cabinet: ExportUploadFolder::Avatars,
                    key,
                    path,
                    record,
                });
            }
            self.report.count_transferred("pictures of users", 1);
        }
        for (id, emoji) in realm.realm_items(RealmItemKind::Emoji) {
            let text = |key: &str| emoji.get(key).and_then(serde_json::Value::as_str);
            let Some(name) = text("source_url").and_then(PublicImageName::from_url) else { continue };
            let (author, deactivated) = (emoji.get("author_id"), emoji.get("deactivated"));
            let row = json!({
                "id": id,
                "realm": REALM,
                "author": author,
                "name": text("name"),
                "file_name": name.to_string(),
                "is_animated": text("still_url").is_some(),
                "deactivated": deactivated,
            });
            self.put("zerver_realmemoji", row)?;
            let path = format!("{REALM}/emoji/images/{name}");
            let record = json!({
                "path": path,
                "s3_path": path,
                "realm_id": REALM,
                "author": author,
                "file_name": name.to_string(),
                "name": text("name"),
                "deactivated": deactivated,
            });
            let key = FileKey::from(&name);
            self.sheets.add_uploaded_file(ExportedUploadFile { cabinet: ExportUploadFolder::Emoji, key, path, record });
            self.report.count_transferred("custom emoji", 1);
        }
        Ok(())
    }

    /// Returns where a message goes that a user writes to these users, who may be named among them.
    fn with(&mut self, author: UserId, users: &[UserId]) -> i64 {
        let mut all: Vec<UserId> = users.iter().copied().chain([author]).collect();
        all.sort_unstable();
        all.dedup();
        self.people(author, &all)
    }
}

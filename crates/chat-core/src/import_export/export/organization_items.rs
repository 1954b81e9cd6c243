//! Items of the organization and of its users as rows: linkifiers, emoji, profile answers, statuses.

use serde_json::{Map, Value, json};

use super::organization::{REALM, users};
use super::{ExportWriteError, OrganizationExport, channel_recipient};
use crate::id::ChannelId;
use crate::import_export::import::export_tables::codes::{self, UNKNOWN_CLIENT};
use crate::model::realm_change::{RealmItemKind, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::wire_format::{realm_and_user_items, user_settings};

impl OrganizationExport<'_> {
    pub(super) fn organization_items(&mut self, realm: &RealmSnapshot) -> Result<(), ExportWriteError> {
        let mut defaults = user_settings::default_user_settings(realm);
        codes::number_preferences(&mut defaults);
        self.put_numbered("zerver_realmuserdefault", Value::Object(defaults))?;
        for (id, _) in realm.realm_items(RealmItemKind::DefaultChannel) {
            self.put_numbered("zerver_defaultstream", json!({"stream": id}))?;
        }
        self.folders(realm)?;
        self.items(realm, RealmItemKind::Linkifier, "zerver_realmfilter")?;
        self.items(realm, RealmItemKind::Playground, "zerver_realmplayground")?;
        self.items(realm, RealmItemKind::Domain, "zerver_realmdomain")?;
        self.items(realm, RealmItemKind::ProfileField, "zerver_customprofilefield")?;
        self.answers(realm)?;
        self.topics(realm)?;
        self.of_users(realm)?;
        let kept = |user: &User| {
            let items = |kind| realm.user_items(user.id, kind).count();
            items(UserItemKind::SavedSnippet) + items(UserItemKind::NavigationView)
        };
        self.report.count_omitted("saved snippets and navigation views", users(realm).map(kept).sum());
        self.report
            .count_omitted("invitations, whose links lead here", realm.realm_items(RealmItemKind::Invitation).count());
        Ok(())
    }

    /// Adds the folders of channels, for a release that has them.
    fn folders(&mut self, realm: &RealmSnapshot) -> Result<(), ExportWriteError> {
        let count = realm.realm_items(RealmItemKind::ChannelFolder).count();
        if !self.release.has_channel_folders() {
            self.report.count_omitted("folders of channels, which that release does not have", count);
            return Ok(());
        }
        for (id, document) in realm.realm_items(RealmItemKind::ChannelFolder) {
            let mut row = document.as_object().cloned().unwrap_or_default();
            let creator = row.remove("creator_id").unwrap_or_default();
            row.extend([
                ("id".to_owned(), id.into()),
                ("realm".to_owned(), REALM.into()),
                ("creator".to_owned(), creator),
            ]);
            self.put("zerver_channelfolder", Value::Object(row))?;
        }
        self.report.count_transferred("folders of channels", count);
        Ok(())
    }

    /// Things of a kind: their columns are what their documents have.
    fn items(
        &mut self,
        realm: &RealmSnapshot,
        kind: RealmItemKind,
        table: &'static str,
    ) -> Result<(), ExportWriteError> {
        for (id, document) in realm.realm_items(kind) {
            let mut row = document.as_object().cloned().unwrap_or_default();
            row.insert("id".to_owned(), id.into());
            match kind {
                RealmItemKind::Linkifier => {
                    drop(row.insert("order".to_owned(), realm_and_user_items::order(id, document).into()));
                }
                RealmItemKind::ProfileField => {
                    let field_type = row.remove("type").unwrap_or_default();
                    row.insert("field_type".to_owned(), field_type);
                }
                _ => {}
            }
            self.put(table, Value::Object(row))?;
        }
        let count = realm.realm_items(kind).count();
        self.report.count_transferred("linkifiers, playgrounds, domains and profile fields", count);
        Ok(())
    }

    fn answers(&mut self, realm: &RealmSnapshot) -> Result<(), ExportWriteError> {
        for user in users(realm) {
            for (field, document) in realm.user_items(user.id, UserItemKind::ProfileValue) {
                let row = json!({
                    "user_profile": user.id,
                    "field": field.parse::<i64>().unwrap_or_default(),
                    "value": document.get("value"),
                    "rendered_value": document.get("rendered_value"),
                });
                self.put_numbered("zerver_customprofilefieldvalue", row)?;
                self.report.count_transferred("answers to profile fields", 1);
            }
        }
        Ok(())
    }

    fn topics(&mut self, realm: &RealmSnapshot) -> Result<(), ExportWriteError> {
        for user in users(realm) {
            for topic in realm_and_user_items::user_topic_objects(realm, user.id) {
                let row = json!({
                    "user_profile": user.id,
                    "stream": topic.get("stream_id"),
                    "recipient": topic.get("stream_id").and_then(Value::as_i64).map(|id| channel_recipient(ChannelId(id))),
                    "topic_name": topic.get("topic_name"),
                    "last_updated": topic.get("last_updated"),
                    "visibility_policy": topic.get("visibility_policy"),
                });
                self.put_numbered("zerver_usertopic", row)?;
                self.report.count_transferred("topics muted, unmuted or followed", 1);
            }
        }
        Ok(())
    }

    fn of_users(&mut self, realm: &RealmSnapshot) -> Result<(), ExportWriteError> {
        for user in users(realm) {
            for muted in realm_and_user_items::muted_user_objects(realm, user.id) {
                let (id, since) = (muted.get("id"), muted.get("timestamp"));
                let row = json!({"user_profile": user.id, "muted_user": id, "date_muted": since});
                self.put_numbered("zerver_muteduser", row)?;
                self.report.count_transferred("muted users", 1);
            }
        }
        for user in users(realm) {
            let words = realm.user_item(user.id, UserItemKind::AlertWords, "").and_then(Value::as_array);
            for word in words.into_iter().flatten() {
                self.put_numbered("zerver_alertword", json!({"user_profile": user.id, "word": word}))?;
                self.report.count_transferred("alert words", 1);
            }
        }
        for user in users(realm) {
            if let Some(mut row) = status(realm, user) {
                row.insert("client".to_owned(), self.client(UNKNOWN_CLIENT).into());
                // When it was given is not kept here.
                row.insert("timestamp".to_owned(), 0.into());
                let row = Value::Object(row);
                self.put_numbered("zerver_userstatus", row)?;
                self.report.count_transferred("statuses", 1);
            }
        }
        Ok(())
    }
}

fn status(realm: &RealmSnapshot, user: &User) -> Option<Map<String, Value>> {
    let status = realm.user_item(user.id, UserItemKind::Status, "")?.as_object()?;
    let mut row: Map<String, Value> = ["status_text", "emoji_name", "emoji_code", "reaction_type"]
        .into_iter()
        .map(|key| (key.to_owned(), status.get(key).cloned().unwrap_or_else(|| "".into())))
        .collect();
    row.insert("user_profile".to_owned(), user.id.0.into());
    Some(row)
}

//! The tables and columns that the import of the original server requires without a default, even when
//! nothing of this server belongs into them.
//!
//! # Source
//! `zerver/lib/import_realm.py` and `zerver/models/` of the public repository zulip/zulip, as facts.

use serde_json::Value;

use super::ExportTableFile;
use super::organization::REALM;

impl ExportTableFile {
    /// Returns the tables that the file always contains.
    #[must_use]
    pub fn required_tables(self) -> &'static [&'static str] {
        match self {
            Self::Organization => &ORGANIZATION,
            Self::Messages(_) => &["zerver_message", "zerver_usermessage"],
            Self::Attachments => &["zerver_attachment"],
        }
    }
}

const ORGANIZATION: [&str; 34] = [
    "zerver_realm",
    "zerver_realmauthenticationmethod",
    "zerver_realmuserdefault",
    "zerver_userprofile",
    "zerver_userprofile_mirrordummy",
    "zerver_userprofile_crossrealm",
    "zerver_stream",
    "zerver_defaultstream",
    "zerver_recipient",
    "zerver_subscription",
    "zerver_huddle",
    "zerver_usergroup",
    "zerver_namedusergroup",
    "zerver_usergroupmembership",
    "zerver_groupgroupmembership",
    "zerver_realmauditlog",
    "zerver_realmemoji",
    "zerver_realmdomain",
    "zerver_realmfilter",
    "zerver_realmplayground",
    "zerver_customprofilefield",
    "zerver_customprofilefieldvalue",
    "zerver_alertword",
    "zerver_usertopic",
    "zerver_muteduser",
    "zerver_userstatus",
    "zerver_userpresence",
    "zerver_useractivity",
    "zerver_useractivityinterval",
    "zerver_scheduledmessage",
    "zerver_botstoragedata",
    "zerver_client",
    "zerver_reaction",
    "zerver_service",
];

/// Tables whose rows say which organization they belong to.
const OF_REALM: [&str; 10] = [
    "zerver_alertword",
    "zerver_customprofilefield",
    "zerver_defaultstream",
    "zerver_realmauthenticationmethod",
    "zerver_realmdomain",
    "zerver_realmemoji",
    "zerver_realmfilter",
    "zerver_realmplayground",
    "zerver_realmuserdefault",
    "zerver_usergroup",
];

/// Columns that may be empty and have to be there.
const COLUMNS: [(&str, &[&str]); 7] = [
    (
        "zerver_realm",
        &[
            "moderation_request_channel",
            "new_stream_announcements_stream",
            "signup_announcements_stream",
            "zulip_update_announcements_stream",
        ],
    ),
    ("zerver_userprofile", &OF_USER),
    ("zerver_userprofile_mirrordummy", &OF_USER),
    ("zerver_namedusergroup", &["creator", "date_created"]),
    ("zerver_stream", &["folder"]),
    ("zerver_realmauditlog", &["acting_user", "modified_channel_folder", "modified_user_group"]),
    ("zerver_scheduledmessage", &["delivered_message"]),
];

/// Those of an account, whether a person can sign in to it or not.
const OF_USER: [&str; 5] = [
    "default_events_register_stream",
    "default_sending_stream",
    "last_active_message_id",
    "last_login",
    "last_reminder",
];

/// Adds the columns that a row of that table has to have.
pub(super) fn complete(table: &str, row: &mut Value) {
    let Value::Object(columns) = row else { return };
    if OF_REALM.contains(&table) {
        columns.entry("realm").or_insert_with(|| REALM.into());
    }
    for (_, asked) in COLUMNS.iter().filter(|(known, _)| *known == table) {
        for column in *asked {
            columns.entry(*column).or_insert(Value::Null);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_has_the_columns_that_are_asked_for_and_keeps_its_own() {
        let mut row = json!({"stream": 4});
        complete("zerver_defaultstream", &mut row);
        assert_eq!(row, json!({"stream": 4, "realm": 1}));
        let mut row = json!({"id": 4, "last_login": 5});
        complete("zerver_userprofile", &mut row);
        assert_eq!((&row["last_login"], row.get("last_reminder")), (&json!(5), Some(&Value::Null)));
        assert_eq!(row.get("realm"), None);
    }

    #[test]
    fn tables_that_get_columns_are_always_there() {
        let named = OF_REALM.into_iter().chain(COLUMNS.map(|(table, _)| table));
        assert_eq!(named.filter(|table| !ExportTableFile::Organization.required_tables().contains(table)).count(), 0);
    }
}

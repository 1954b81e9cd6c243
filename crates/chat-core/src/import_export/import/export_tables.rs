//! The tables of an export, as far as they are read. What is not named here is skipped, and its rows are counted.
//!
//! # Source
//! Not specified; the layout that existing servers write: one JSON object per file, a table a key, a row an object.
//! Times are seconds with a fraction. Tables and columns came and went with the years, so a column may be missing.
//! Names were held against what writes and reads them there: `zerver/lib/export.py`, `zerver/lib/import_realm.py` and
//! `zerver/models/` of the public repository zulip/zulip.

pub(crate) mod codes;
mod rows;

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

pub use rows::*;

use super::columns;

macro_rules! tables {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $row:ty = $table:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: Vec<$row>,)+
            /// How many rows the tables have that are not read.
            pub others: BTreeMap<String, u64>,
            /// What the rows say in columns that are not read.
            pub columns: IgnoredColumns,
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Reading;

                impl<'de> Visitor<'de> for Reading {
                    type Value = $name;

                    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                        formatter.write_str("an object of tables")
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        let mut tables = $name::default();
                        while let Some(table) = map.next_key::<String>()? {
                            match table.as_str() {
                                $($table => {
                                    let rows = ReadRows { table: $table, columns: &mut tables.columns, of: PhantomData };
                                    tables.$field = map.next_value_seed(rows)?;
                                })+
                                _ => {
                                    let Rows(rows) = map.next_value()?;
                                    tables.others.insert(table, rows);
                                }
                            }
                        }
                        Ok(tables)
                    }
                }

                deserializer.deserialize_map(Reading)
            }
        }
    };
}

tables! {
    /// `realm.json`.
    RealmTables {
        /// The organization: one row, its settings among its columns.
        realms: Map<String, Value> = "zerver_realm",
        /// The settings users begin with: one row.
        user_defaults: Map<String, Value> = "zerver_realmuserdefault",
        /// People and bots.
        users: UserRow = "zerver_userprofile",
        /// Addresses that the original server refuses, which exports of this server alone have.
        addresses: AddressRow = "chat_address",
        /// Accounts that stand for a user who never was here.
        dummies: UserRow = "zerver_userprofile_mirrordummy",
        /// Bots of the server that were in every organization.
        system_bots: SystemBotRow = "zerver_userprofile_crossrealm",
        /// Channels.
        channels: ChannelRow = "zerver_stream",
        /// Channels new users are in.
        default_channels: DefaultChannelRow = "zerver_defaultstream",
        /// What messages and subscriptions go to.
        recipients: RecipientRow = "zerver_recipient",
        /// Who is in a channel, or in a conversation of several.
        subscriptions: SubscriptionRow = "zerver_subscription",
        /// What happened when.
        audit: AuditLogRow = "zerver_realmauditlog",
        /// Groups: with a name in older exports; those without one are the values of permissions.
        groups: UserGroupRow = "zerver_usergroup",
        /// Groups with a name.
        named_groups: UserGroupRow = "zerver_namedusergroup",
        /// Users in groups.
        group_members: UserGroupMemberRow = "zerver_usergroupmembership",
        /// Groups in groups.
        subgroups: UserSubgroupRow = "zerver_groupgroupmembership",
        /// Questions about users.
        profile_fields: ProfileFieldRow = "zerver_customprofilefield",
        /// Their answers.
        profile_values: ProfileValueRow = "zerver_customprofilefieldvalue",
        /// Patterns that become links.
        linkifiers: LinkifierRow = "zerver_realmfilter",
        /// Places to run code.
        playgrounds: PlaygroundRow = "zerver_realmplayground",
        /// Folders of channels.
        channel_folders: ChannelFolderRow = "zerver_channelfolder",
        /// Domains of mail.
        domains: RealmDomainRow = "zerver_realmdomain",
        /// How users follow topics.
        topics: UserTopicRow = "zerver_usertopic",
        /// Topics that users muted, in older exports.
        muted_topics: UserTopicRow = "zerver_mutedtopic",
        /// Users that others do not hear.
        muted_users: MutedUserRow = "zerver_muteduser",
        /// What users say they are doing.
        statuses: UserStatusRow = "zerver_userstatus",
        /// Words that alert users.
        alert_words: AlertWordRow = "zerver_alertword",
        /// Programs that messages are sent with.
        clients: ClientRow = "zerver_client",
        /// Custom emoji.
        emoji: CustomEmojiRow = "zerver_realmemoji",
        /// Uploads, which are in `attachment.json`.
        attachments: AttachmentRow = "zerver_attachment",
        /// Messages that wait for their time.
        scheduled: ScheduledMessageRow = "zerver_scheduledmessage",
        /// Drafts, which the exports of existing servers do not have.
        drafts: DraftRow = "zerver_draft",
        /// What programs of bots keep.
        bot_storage: BotStorageRow = "zerver_botstoragedata",
        /// Emoji that users gave messages.
        reactions: ReactionRow = "zerver_reaction",
    }
}

tables! {
    /// `messages-000001.json` and those that follow.
    MessageFile {
        /// Messages.
        messages: MessageRow = "zerver_message",
        /// Who received which of them.
        copies: UserMessageRow = "zerver_usermessage",
        /// Parts of polls and lists, which the exports of existing servers do not have.
        submessages: SubmessageRow = "zerver_submessage",
    }
}

/// The columns of an export that the import ignores, with their values, by table and column.
pub type IgnoredColumns = BTreeMap<(&'static str, String), IgnoredColumnValues>;

/// Different values of a column that are kept at most; further ones are counted with the last.
const VALUES_MAX: usize = 100;
/// Characters of a value that are kept.
const VALUE_MAX_CHARS: usize = 100;

/// The values of a column that the import ignores.
#[derive(Debug, Clone, Default)]
pub struct IgnoredColumnValues {
    /// Rows by their value, as JSON.
    pub values: BTreeMap<String, u64>,
}

impl IgnoredColumnValues {
    /// Counts one more row.
    pub(super) fn count(&mut self, value: &Value) {
        let text: String = value.to_string().chars().take(VALUE_MAX_CHARS).collect();
        let is_full = self.values.len() >= VALUES_MAX && !self.values.contains_key(&text);
        if !is_full {
            *self.values.entry(text).or_default() += 1;
        } else if let Some(mut last) = self.values.last_entry() {
            *last.get_mut() += 1;
        }
    }
}

/// The one table so long that its rows are read without looking at each for columns that are not: all rows of a table
/// have the same columns.
const LONGEST: &str = "zerver_usermessage";

/// Reads the rows of a table, and notes what they say in columns that are not read.
struct ReadRows<'a, T> {
    table: &'static str,
    columns: &'a mut IgnoredColumns,
    of: PhantomData<T>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for ReadRows<'_, T> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for ReadRows<'_, T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a table")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Vec<T>, A::Error> {
        let mut read = Vec::new();
        while self.table != LONGEST || read.is_empty() {
            let Some(row) = rows.next_element::<Map<String, Value>>()? else { return Ok(read) };
            columns::note(self.columns, self.table, &row);
            read.push(serde_json::from_value(Value::Object(row)).map_err(A::Error::custom)?);
        }
        while let Some(row) = rows.next_element()? {
            read.push(row);
        }
        Ok(read)
    }
}

/// Counts what it reads and keeps nothing of it.
struct Rows(u64);

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counting;

        impl<'de> Visitor<'de> for Counting {
            type Value = Rows;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a table")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Rows, A::Error> {
                let mut count = 0;
                while rows.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Rows(count))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Rows, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Rows(0))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Rows, E> {
                Ok(Rows(0))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Rows, E> {
                Ok(Rows(0))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Rows, E> {
                Ok(Rows(0))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Rows, E> {
                Ok(Rows(0))
            }

            fn visit_str<E>(self, _: &str) -> Result<Rows, E> {
                Ok(Rows(0))
            }

            fn visit_unit<E>(self) -> Result<Rows, E> {
                Ok(Rows(0))
            }
        }

        deserializer.deserialize_any(Counting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_are_not_read_are_counted_and_columns_may_be_missing() {
        let text = r#"{"zerver_stream": [{"id": 4, "name": "dev", "date_created": 12.75, "email_token": "x"}],
            "zerver_service": [{"a": [1, {}]}, {}], "import_source": "other", "n": 5, "f": 1.5, "none": null, "yes": true}"#;
        let tables: RealmTables = serde_json::from_str(text).unwrap();
        assert_eq!((tables.channels[0].id, tables.channels[0].date_created), (4, 12));
        assert_eq!(tables.others["zerver_service"], 2);
        assert_eq!(tables.others["import_source"] + tables.others["n"] + tables.others["f"], 0);
    }

    #[test]
    fn an_account_keeps_every_column() {
        let text = r#"{"zerver_userprofile": [{"id": 7, "email": "a@x.org", "full_name": "Ann", "date_joined": 5.5,
            "role": 600, "enter_sends": true}]}"#;
        let tables: RealmTables = serde_json::from_str(text).unwrap();
        let user = &tables.users[0];
        assert_eq!((user.columns.id, user.columns.date_joined, user.columns.role), (7, 5, Some(600)));
        assert_eq!(user.all["enter_sends"], true);
    }

    #[test]
    fn a_group_has_its_number_once_or_twice() {
        let text = r#"{"zerver_namedusergroup": [{"id": 31, "usergroup_ptr": 31, "name": "crew", "realm_for_sharding": 2,
            "date_created": null, "description": null}, {"usergroup_ptr": 32}, {"id": 33}]}"#;
        let tables: RealmTables = serde_json::from_str(text).unwrap();
        assert_eq!(tables.named_groups.iter().map(UserGroupRow::number).collect::<Vec<_>>(), [31, 32, 33]);
    }

    #[test]
    fn older_columns_are_read_as_what_they_have_become() {
        let text = r#"{"zerver_mutedtopic": [{"user_profile": 7, "stream": 20, "topic_name": "x", "date_muted": 4.5}],
            "zerver_customprofilefield": [{"id": 1, "name": "About", "hint": null, "field_type": 1}],
            "zerver_subscription": [{"user_profile": 7, "recipient": 1, "in_home_view": false}]}"#;
        let tables: RealmTables = serde_json::from_str(text).unwrap();
        let topic = &tables.muted_topics[0];
        assert_eq!((topic.visibility_policy, topic.last_updated), (1, 4));
        assert_eq!(tables.profile_fields[0].hint, "");
        assert_eq!(tables.subscriptions[0].in_home_view, Some(false));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        assert!(serde_json::from_str::<MessageFile>(r#"{"zerver_message": [{"id": "x"}]}"#).is_err());
        assert!(serde_json::from_str::<MessageFile>("[]").is_err());
    }
}

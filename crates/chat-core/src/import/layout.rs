//! The tables of an export, as far as they are read. What is not named here is skipped, and its rows are counted.
//!
//! # Source
//! Not specified; the layout that existing servers write: one JSON object per file, a table a key, a row an object.
//! Times are seconds with a fraction. Tables and columns came and went with the years, so a column may be missing.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

macro_rules! tables {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $row:ty = $table:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: Vec<$row>,)+
            /// How many rows the tables have that are not read.
            pub others: BTreeMap<String, u64>,
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
                                $($table => tables.$field = map.next_value()?,)+
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
    Tables {
        /// The organization: one row, its settings among its columns.
        realms: Map<String, Value> = "zerver_realm",
        /// The settings users begin with: one row.
        user_defaults: Map<String, Value> = "zerver_realmuserdefault",
        /// People and bots.
        users: UserRow = "zerver_userprofile",
        /// Accounts that stand for somebody who never was here.
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
        audit: AuditRow = "zerver_realmauditlog",
        /// Groups: with a name in older exports; those without one are the values of permissions.
        groups: GroupRow = "zerver_usergroup",
        /// Groups with a name.
        named_groups: GroupRow = "zerver_namedusergroup",
        /// Users in groups.
        group_members: GroupMemberRow = "zerver_usergroupmembership",
        /// Groups in groups.
        subgroups: SubgroupRow = "zerver_groupgroupmembership",
        /// Questions about users.
        profile_fields: ProfileFieldRow = "zerver_customprofilefield",
        /// Their answers.
        profile_values: ProfileValueRow = "zerver_customprofilefieldvalue",
        /// Patterns that become links.
        linkifiers: LinkifierRow = "zerver_realmfilter",
        /// Places to run code.
        playgrounds: PlaygroundRow = "zerver_realmplayground",
        /// Domains of mail.
        domains: DomainRow = "zerver_realmdomain",
        /// How users follow topics.
        topics: TopicRow = "zerver_usertopic",
        /// Users that others do not hear.
        muted_users: MutedUserRow = "zerver_muteduser",
        /// What users say they are doing.
        statuses: StatusRow = "zerver_userstatus",
        /// Words that alert users.
        alert_words: AlertWordRow = "zerver_alertword",
        /// Programs that messages are sent with.
        clients: ClientRow = "zerver_client",
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
        copies: CopyRow = "zerver_usermessage",
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

/// A time as whole unix seconds.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    Ok(some_seconds(deserializer)?.unwrap_or_default())
}

fn some_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float stops at the ends of the integers")]
    let whole = |time: f64| time.floor() as i64;
    Ok(Option::<f64>::deserialize(deserializer)?.map(whole))
}

fn yes() -> bool {
    true
}

/// An account: what it is, and every column of it, since its preferences are columns too.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct UserRow {
    /// What it is.
    pub columns: UserColumns,
    /// Every column.
    pub all: Map<String, Value>,
}

impl TryFrom<Map<String, Value>> for UserRow {
    type Error = serde_json::Error;

    fn try_from(all: Map<String, Value>) -> Result<Self, Self::Error> {
        Ok(Self { columns: UserColumns::deserialize(Value::Object(all.clone()))?, all })
    }
}

/// What an account is.
#[derive(Debug, Clone, Deserialize)]
#[expect(missing_docs, clippy::struct_excessive_bools, reason = "the columns of a table that is not ours")]
pub struct UserColumns {
    pub id: i64,
    /// The address they log in with; in older exports it is `email`.
    #[serde(default)]
    pub delivery_email: Option<String>,
    #[serde(default)]
    pub email: String,
    #[serde(default)]
    pub full_name: String,
    #[serde(default = "yes")]
    pub is_active: bool,
    #[serde(default)]
    pub is_bot: bool,
    #[serde(default)]
    pub bot_type: Option<i64>,
    #[serde(default)]
    pub bot_owner: Option<i64>,
    #[serde(default)]
    pub role: Option<i64>,
    #[serde(default)]
    pub is_realm_admin: bool,
    #[serde(default)]
    pub is_guest: bool,
    #[serde(default, deserialize_with = "seconds")]
    pub date_joined: i64,
    #[serde(default)]
    pub timezone: String,
    #[serde(default)]
    pub avatar_source: String,
    /// Whether copies of new messages are made for them only once they are back.
    #[serde(default)]
    pub long_term_idle: bool,
}

macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident { $($(#[$column_doc:meta])* $column:ident: $kind:ty,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Deserialize)]
        #[expect(missing_docs, reason = "the columns of a table that is not ours, under their names there")]
        pub struct $name {
            $($(#[$column_doc])* pub $column: $kind,)+
        }
    )+};
}

rows! {
    /// A bot of the server.
    SystemBotRow {
        id: i64,
        email: String,
    }
    /// A channel.
    ChannelRow {
        id: i64,
        name: String,
        #[serde(default)]
        description: String,
        #[serde(default, deserialize_with = "seconds")]
        date_created: i64,
        #[serde(default)]
        creator: Option<i64>,
        #[serde(default)]
        deactivated: bool,
        #[serde(default)]
        invite_only: bool,
        #[serde(default)]
        history_public_to_subscribers: Option<bool>,
        #[serde(default)]
        is_web_public: bool,
        /// Older exports say by a number who may write.
        #[serde(default)]
        stream_post_policy: Option<i64>,
        /// Newer ones by a group.
        #[serde(default)]
        can_send_message_group: Option<i64>,
        #[serde(default)]
        can_remove_subscribers_group: Option<i64>,
        #[serde(default)]
        message_retention_days: Option<i64>,
    }
    /// A channel new users are in.
    DefaultChannelRow {
        stream: i64,
    }
    /// What messages go to.
    RecipientRow {
        id: i64,
        /// 1 a person, 2 a channel, 3 several people.
        r#type: i64,
        type_id: i64,
    }
    /// Who is in a channel or a conversation.
    SubscriptionRow {
        user_profile: i64,
        recipient: i64,
        #[serde(default = "yes")]
        active: bool,
        #[serde(default)]
        is_muted: bool,
        #[serde(default)]
        pin_to_top: bool,
        #[serde(default)]
        color: String,
        #[serde(default)]
        desktop_notifications: Option<bool>,
        #[serde(default)]
        audible_notifications: Option<bool>,
        #[serde(default)]
        push_notifications: Option<bool>,
        #[serde(default)]
        email_notifications: Option<bool>,
        #[serde(default)]
        wildcard_mentions_notify: Option<bool>,
    }
    /// Something that happened. The kinds of old servers are words; none of them is read.
    AuditRow {
        #[serde(default)]
        id: i64,
        event_type: Value,
        #[serde(default)]
        modified_user: Option<i64>,
        #[serde(default)]
        modified_stream: Option<i64>,
        #[serde(default)]
        event_last_message_id: Option<i64>,
    }
    /// A group.
    GroupRow {
        #[serde(default, alias = "usergroup_ptr")]
        id: i64,
        #[serde(default)]
        name: String,
        #[serde(default)]
        description: String,
        #[serde(default)]
        is_system_group: bool,
        #[serde(default)]
        deactivated: bool,
        #[serde(default)]
        can_mention_group: Option<i64>,
    }
    /// A user in a group.
    GroupMemberRow {
        user_group: i64,
        user_profile: i64,
    }
    /// A group in a group.
    SubgroupRow {
        supergroup: i64,
        subgroup: i64,
    }
    /// A question about users.
    ProfileFieldRow {
        id: i64,
        name: String,
        #[serde(default)]
        hint: String,
        field_type: i64,
        #[serde(default)]
        field_data: Option<String>,
        #[serde(default)]
        order: i64,
        #[serde(default)]
        required: bool,
        #[serde(default)]
        display_in_profile_summary: bool,
    }
    /// An answer to one.
    ProfileValueRow {
        user_profile: i64,
        field: i64,
        /// A text, or the text of a list of users.
        value: Value,
    }
    /// A pattern that becomes a link.
    LinkifierRow {
        id: i64,
        pattern: String,
        #[serde(default)]
        url_template: Option<String>,
        #[serde(default)]
        order: i64,
    }
    /// A place to run code.
    PlaygroundRow {
        id: i64,
        name: String,
        pygments_language: String,
        #[serde(default)]
        url_template: Option<String>,
    }
    /// A domain of mail.
    DomainRow {
        id: i64,
        domain: String,
        #[serde(default)]
        allow_subdomains: bool,
    }
    /// How a user follows a topic.
    TopicRow {
        user_profile: i64,
        stream: i64,
        topic_name: String,
        visibility_policy: i64,
        #[serde(default, deserialize_with = "seconds")]
        last_updated: i64,
    }
    /// A user that another does not hear.
    MutedUserRow {
        user_profile: i64,
        muted_user: i64,
        #[serde(default, deserialize_with = "seconds")]
        date_muted: i64,
    }
    /// What a user says they are doing.
    StatusRow {
        user_profile: i64,
        #[serde(default)]
        status_text: String,
        #[serde(default)]
        emoji_name: String,
        #[serde(default)]
        emoji_code: String,
        #[serde(default)]
        reaction_type: String,
    }
    /// A word that alerts a user.
    AlertWordRow {
        user_profile: i64,
        word: String,
    }
    /// A program.
    ClientRow {
        id: i64,
        name: String,
    }
    /// An emoji that a user gave a message.
    ReactionRow {
        #[serde(default)]
        id: i64,
        user_profile: i64,
        message: i64,
        emoji_name: String,
        emoji_code: String,
        reaction_type: String,
    }
    /// A message.
    MessageRow {
        id: i64,
        sender: i64,
        recipient: i64,
        #[serde(default)]
        subject: String,
        content: String,
        #[serde(alias = "pub_date", deserialize_with = "seconds")]
        date_sent: i64,
        #[serde(default)]
        sending_client: Option<i64>,
        #[serde(default, deserialize_with = "some_seconds")]
        last_edit_time: Option<i64>,
        /// JSON of its own, the newest edit first.
        #[serde(default)]
        edit_history: Option<String>,
    }
    /// A user's copy of a message.
    CopyRow {
        user_profile: i64,
        message: i64,
        #[serde(alias = "flags")]
        flags_mask: i64,
    }
    /// An edit of a message, in the JSON of [`MessageRow::edit_history`].
    EditRow {
        #[serde(default)]
        user_id: Option<i64>,
        #[serde(default, deserialize_with = "seconds")]
        timestamp: i64,
        #[serde(default)]
        prev_content: Option<String>,
        #[serde(default, alias = "prev_subject")]
        prev_topic: Option<String>,
        #[serde(default)]
        prev_stream: Option<i64>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_are_not_read_are_counted_and_columns_may_be_missing() {
        let text = r#"{"zerver_stream": [{"id": 4, "name": "dev", "date_created": 12.75, "email_token": "x"}],
            "zerver_service": [{"a": [1, {}]}, {}], "import_source": "other", "n": 5, "f": 1.5, "none": null, "yes": true}"#;
        let tables: Tables = serde_json::from_str(text).unwrap();
        assert_eq!((tables.channels[0].id, tables.channels[0].date_created), (4, 12));
        assert_eq!(tables.others["zerver_service"], 2);
        assert_eq!(tables.others["import_source"] + tables.others["n"] + tables.others["f"], 0);
    }

    #[test]
    fn an_account_keeps_every_column() {
        let text = r#"{"zerver_userprofile": [{"id": 7, "email": "a@x.org", "full_name": "Ann", "date_joined": 5.5,
            "role": 600, "enter_sends": true}]}"#;
        let tables: Tables = serde_json::from_str(text).unwrap();
        let user = &tables.users[0];
        assert_eq!((user.columns.id, user.columns.date_joined, user.columns.role), (7, 5, Some(600)));
        assert_eq!(user.all["enter_sends"], true);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        assert!(serde_json::from_str::<MessageFile>(r#"{"zerver_message": [{"id": "x"}]}"#).is_err());
        assert!(serde_json::from_str::<MessageFile>("[]").is_err());
    }
}

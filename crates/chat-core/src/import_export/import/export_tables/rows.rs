//! The rows of the tables, with the columns that are read.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A time as whole unix seconds.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    Ok(some_seconds(deserializer)?.unwrap_or_default())
}

fn some_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float stops at the ends of the integers")]
    let whole = |time: f64| time.floor() as i64;
    Ok(Option::<f64>::deserialize(deserializer)?.map(whole))
}

/// A text, which in older exports may be null where newer ones have none.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Returns what a topic is in a table that has muted topics alone.
fn muted() -> i64 {
    1
}

fn yes() -> bool {
    true
}

/// A row of the user table: its typed columns, and every column, since preferences are columns too.
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

/// The columns of a user row other than preferences.
#[derive(Debug, Clone, Deserialize)]
#[expect(missing_docs, clippy::struct_excessive_bools, reason = "the columns of a table that is not ours")]
pub struct UserColumns {
    pub id: i64,
    /// The address they log in with; in older exports it is `email`.
    #[serde(default)]
    pub delivery_email: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub email: String,
    #[serde(default, deserialize_with = "text")]
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
    #[serde(default, deserialize_with = "text")]
    pub timezone: String,
    #[serde(default, deserialize_with = "text")]
    pub avatar_source: String,
    #[serde(default)]
    pub avatar_version: Option<i64>,
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
    /// An address that another server refuses.
    AddressRow {
        user_profile: i64,
        address: String,
    }
    /// A bot of the server.
    SystemBotRow {
        id: i64,
        email: String,
        /// What messages to it go to; it is in no table of recipients.
        #[serde(default)]
        recipient_id: Option<i64>,
    }
    /// A channel.
    ChannelRow {
        id: i64,
        name: String,
        #[serde(default, deserialize_with = "text")]
        description: String,
        #[serde(default, deserialize_with = "seconds")]
        date_created: i64,
        #[serde(default)]
        creator: Option<i64>,
        #[serde(default)]
        deactivated: bool,
        #[serde(default = "yes")]
        is_recently_active: bool,
        /// The folder in which lists show it.
        #[serde(default)]
        folder: Option<i64>,
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
        /// The same the other way round, in older exports.
        #[serde(default)]
        in_home_view: Option<bool>,
        #[serde(default)]
        pin_to_top: bool,
        #[serde(default, deserialize_with = "text")]
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
    AuditLogRow {
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
    UserGroupRow {
        #[serde(default)]
        id: i64,
        /// The row without a name that belongs to it; beside `id`, and the same number.
        #[serde(default)]
        usergroup_ptr: Option<i64>,
        #[serde(default, deserialize_with = "text")]
        name: String,
        #[serde(default, deserialize_with = "text")]
        description: String,
        #[serde(default)]
        is_system_group: bool,
        #[serde(default)]
        deactivated: bool,
        #[serde(default)]
        can_mention_group: Option<i64>,
    }
    /// A folder of channels.
    ChannelFolderRow {
        id: i64,
        #[serde(deserialize_with = "text")]
        name: String,
        #[serde(default, deserialize_with = "text")]
        description: String,
        #[serde(default, deserialize_with = "seconds")]
        date_created: i64,
        #[serde(default)]
        creator: Option<i64>,
        #[serde(default)]
        is_archived: bool,
        /// Older exports have none: the number of the folder is its place.
        #[serde(default)]
        order: Option<i64>,
    }
    /// A user in a group.
    UserGroupMemberRow {
        user_group: i64,
        user_profile: i64,
    }
    /// A group in a group.
    UserSubgroupRow {
        supergroup: i64,
        subgroup: i64,
    }
    /// A question about users.
    ProfileFieldRow {
        id: i64,
        name: String,
        #[serde(default, deserialize_with = "text")]
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
        /// Releases before 10.0 have no such column.
        editable_by_user: Option<bool>,
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
        /// What older exports have instead: `https://x.org/%(id)s`.
        #[serde(default)]
        url_format_string: Option<String>,
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
        /// What older exports have instead: the code follows it.
        #[serde(default)]
        url_prefix: Option<String>,
    }
    /// A domain of mail.
    RealmDomainRow {
        id: i64,
        domain: String,
        #[serde(default)]
        allow_subdomains: bool,
    }
    /// How a user follows a topic.
    UserTopicRow {
        user_profile: i64,
        stream: i64,
        topic_name: String,
        #[serde(default = "muted")]
        visibility_policy: i64,
        #[serde(default, alias = "date_muted", deserialize_with = "seconds")]
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
    UserStatusRow {
        user_profile: i64,
        #[serde(default, deserialize_with = "text")]
        status_text: String,
        #[serde(default, deserialize_with = "text")]
        emoji_name: String,
        #[serde(default, deserialize_with = "text")]
        emoji_code: String,
        #[serde(default, deserialize_with = "text")]
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
    /// An upload.
    AttachmentRow {
        id: i64,
        owner: i64,
        path_id: String,
        #[serde(default, deserialize_with = "text")]
        file_name: String,
        #[serde(default, deserialize_with = "seconds")]
        create_time: i64,
        /// The messages that use it.
        #[serde(default)]
        messages: Vec<i64>,
        /// The messages that wait for their time and use it.
        #[serde(default)]
        scheduled_messages: Vec<i64>,
    }
    /// A custom emoji.
    CustomEmojiRow {
        id: i64,
        name: String,
        #[serde(default)]
        author: Option<i64>,
        #[serde(default)]
        file_name: Option<String>,
        #[serde(default)]
        deactivated: bool,
    }
    /// A message that waits for its time.
    ScheduledMessageRow {
        id: i64,
        sender: i64,
        recipient: i64,
        #[serde(default, deserialize_with = "text")]
        subject: String,
        content: String,
        #[serde(default)]
        sending_client: Option<i64>,
        #[serde(deserialize_with = "seconds")]
        scheduled_timestamp: i64,
        #[serde(default)]
        read_by_sender: Option<bool>,
        #[serde(default)]
        delivered: bool,
        /// 1 a message; others are reminders of one.
        #[serde(default)]
        delivery_type: Option<i64>,
        #[serde(default)]
        failed: bool,
        #[serde(default)]
        failure_message: Option<String>,
    }
    /// A draft.
    DraftRow {
        id: i64,
        user_profile: i64,
        /// Whether it is for a channel or for people; older tables have not said.
        #[serde(default, rename = "type", deserialize_with = "text")]
        kind: String,
        #[serde(default)]
        recipient: Option<i64>,
        #[serde(default, deserialize_with = "text")]
        topic: String,
        content: String,
        #[serde(default, deserialize_with = "seconds")]
        last_edit_time: i64,
    }
    /// What the program of a bot keeps.
    BotStorageRow {
        bot_profile: i64,
        key: String,
        value: String,
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
        #[serde(default, deserialize_with = "text")]
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
        /// The HTML, which says by number whom and what the message names.
        #[serde(default)]
        rendered_content: Option<String>,
        /// Whether there is a link in it; older exports do not say.
        #[serde(default)]
        has_link: Option<bool>,
    }
    /// A user's copy of a message.
    UserMessageRow {
        user_profile: i64,
        message: i64,
        #[serde(alias = "flags")]
        flags_mask: i64,
    }
    /// A part of a poll or a list. Its author's, which came with the message, is the first.
    SubmessageRow {
        id: i64,
        message: i64,
        sender: i64,
        content: String,
    }
    /// An edit of a message, in the JSON of [`MessageRow::edit_history`].
    EditHistoryRow {
        #[serde(default)]
        user_id: Option<i64>,
        #[serde(default, deserialize_with = "seconds")]
        timestamp: i64,
        #[serde(default)]
        prev_content: Option<String>,
        #[serde(default)]
        prev_rendered_content: Option<String>,
        #[serde(default, alias = "prev_subject")]
        prev_topic: Option<String>,
        #[serde(default)]
        prev_stream: Option<i64>,
    }
}

impl UserGroupRow {
    /// Its number, whichever column has it.
    pub(crate) fn number(&self) -> i64 {
        self.usergroup_ptr.unwrap_or(self.id)
    }
}

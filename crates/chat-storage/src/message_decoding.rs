//! Messages as rows.

use std::collections::HashMap;

use chat_core::StoreError;
use chat_core::id::{EventId, MessageId, UserId};
use chat_core::messages::narrow::NarrowCandidate;
use chat_core::model::message::{ContentFlags, Message, Reaction, ReactionType, Recipient, Submessage};
use sql_engines::encode_numbers_parameter;

use crate::db::ChatDatabase;
use crate::dialect::Sql;
use crate::engine::run;
use crate::fault::failed;
use crate::widget;

static FIND: Sql = Sql::new(
    "SELECT m.id, m.sender_id, m.recipient_id, d.users, m.topic, m.content, m.html, m.sent_s, m.client, m.marks,
    m.last_edit_s, m.revision
FROM message AS m LEFT JOIN direct AS d ON d.recipient_id = m.recipient_id
WHERE m.id {in_numbers:$1} ORDER BY m.id",
);
static REACTIONS: Sql = Sql::new(
    "SELECT message_id, user_id, name, code, kind FROM reaction
WHERE message_id {in_numbers:$1} ORDER BY message_id, event_id",
);

pub(crate) type MessageRow =
    (i64, i64, i64, Option<String>, String, String, String, i64, String, i64, Option<i64>, i64);

/// Number, recipient, users, topic, sender, marks, whether it has a reaction.
pub(crate) type CandidateRow = (i64, i64, Option<String>, String, i64, i64, bool);

/// Number, sender, recipient, users, topic, text, HTML, time, client, marks, last edit, revision, whether it has a
/// reaction.
pub(crate) type WholeRow =
    (i64, i64, i64, Option<String>, String, String, String, i64, String, i64, Option<i64>, i64, bool);

/// Returns the messages of these numbers that exist, in the order of their numbers.
pub(crate) async fn messages(
    db: &ChatDatabase,
    ids: impl IntoIterator<Item = MessageId>,
) -> Result<Vec<Message>, StoreError> {
    let ids = encode_numbers_parameter(ids.into_iter().map(|id| id.0));
    let find = FIND.text_for_dialect(db.dialect());
    let rows: Vec<MessageRow> =
        run!(db.reader(), fetch_all: sqlx::query_as(find.clone()).bind(&ids)).map_err(failed)?;
    complete(db, rows, Some(&ids)).await
}

/// Returns the messages of these rows in their order, of which those in `reacted` may have reactions.
pub(crate) async fn complete(
    db: &ChatDatabase,
    rows: Vec<MessageRow>,
    reacted: Option<&str>,
) -> Result<Vec<Message>, StoreError> {
    let mut reactions = match reacted {
        Some(ids) => reactions(db, ids).await?,
        None => HashMap::new(),
    };
    let is_widget =
        |(id, .., content_flags, _, _): &MessageRow| ContentFlags::from_bits(*content_flags).is_widget.then_some(*id);
    let mut submessages = widget::of(db, rows.iter().filter_map(is_widget)).await?;
    let message = |row: MessageRow| {
        let id = row.0;
        message(row, reactions.remove(&id).unwrap_or_default(), submessages.remove(&id).unwrap_or_default())
    };
    Ok(rows.into_iter().map(message).collect())
}

/// Returns the message of a row, with what stands in rows of its own.
pub(crate) fn message(row: MessageRow, reactions: Vec<Reaction>, submessages: Vec<Submessage>) -> Message {
    let (id, sender, recipient, users, topic, content, html, sent_s, client, content_flags, last_edit_s, revision) =
        row;
    Message {
        id: MessageId(id),
        sender_id: UserId(sender),
        recipient: Recipient::from(recipient),
        direct_users: users.as_deref().map(users_of).unwrap_or_default(),
        topic,
        content,
        html,
        sent_s,
        client,
        content_flags: ContentFlags::from_bits(content_flags),
        last_edit_s,
        revision: EventId(revision),
        reactions,
        submessages,
    }
}

/// Message, user, name, code, kind.
pub(crate) type ReactionRow = (i64, i64, String, String, String);

async fn reactions(db: &ChatDatabase, ids: &str) -> Result<HashMap<i64, Vec<Reaction>>, StoreError> {
    let sql = REACTIONS.text_for_dialect(db.dialect());
    let rows: Vec<ReactionRow> = run!(db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(ids)).map_err(failed)?;
    reactions_of(rows)
}

/// Returns the reactions of these rows by their messages, in the order of the rows.
pub(crate) fn reactions_of(rows: Vec<ReactionRow>) -> Result<HashMap<i64, Vec<Reaction>>, StoreError> {
    let mut found: HashMap<i64, Vec<Reaction>> = HashMap::new();
    for (message, user, emoji_name, emoji_code, kind) in rows {
        let reaction_type =
            ReactionType::from_wire_name(&kind).ok_or_else(|| failed(format!("unknown kind of reaction {kind:?}")))?;
        let reaction = Reaction { user_id: UserId(user), emoji_name, emoji_code, reaction_type };
        found.entry(message).or_default().push(reaction);
    }
    Ok(found)
}

/// What narrows look at.
pub(crate) fn candidate(
    (id, recipient, users, topic, sender, content_flags, has_reaction): CandidateRow,
) -> NarrowCandidate<'static> {
    NarrowCandidate {
        id: MessageId(id),
        recipient: Recipient::from(recipient),
        direct_users: users.as_deref().map(users_of).unwrap_or_default().into(),
        topic: topic.into(),
        sender_id: UserId(sender),
        content_flags: ContentFlags::from_bits(content_flags),
        has_reaction,
        wording: None,
    }
}

/// A set of users as the database names it: their numbers in order, with commas between.
pub(crate) fn users_key(users: &[UserId]) -> String {
    let numbers: Vec<String> = users.iter().map(ToString::to_string).collect();
    numbers.join(",")
}

/// Returns the users of [`users_key`].
pub(crate) fn users_of(key: &str) -> Vec<UserId> {
    key.split(',').filter_map(|number| number.parse().ok()).map(UserId).collect()
}

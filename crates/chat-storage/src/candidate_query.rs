//! Which index finds the candidates of a narrow, and how it is read.

pub(crate) mod index_walk;
pub(crate) mod word_scope;
pub(crate) mod word_search;
pub(crate) mod word_stages;

use chat_core::StoreError;
use chat_core::id::{ChannelId, UserId};
use chat_core::messages::narrow::{NarrowCandidate, NarrowCondition, ReadableChannelRange, ReadableMessageSelection};
use chat_core::messages::topic_visibility_policy::{self, TopicVisibilityPolicy};
use chat_core::model::message::{Conversation, MessageFlag, RESOLVED_TOPIC_PREFIX, Recipient};
use chat_core::model::realm_snapshot::RealmSnapshot;
use sql_engines::SqlDialect;
use sqlx::SqlStr;

use self::index_walk::IndexWalk;
use self::word_search::WordSearch;

use crate::dialect::Sql;
use crate::engine::run;
use crate::fault::failed;
use crate::flag_set;
use crate::flags::UserFlags;
use crate::message_decoding::{CandidateRow, WholeRow, candidate};
use crate::store::Shared;

/// Fewest recipients for which messages are looked for among all messages first.
const FEED_MIN: usize = 4;
/// How many times the messages wanted are looked at then.
const FEED_FACTOR: i64 = 4;

/// Where the fragment of many walks takes the condition of [`IndexWalk`].
const ALONG: &str = "[along]";
/// Where that fragment takes what [`IndexWalk`] orders by before the number.
const FIRST: &str = "[first]";

/// How many rows are read. A bare parameter SQLite would look at when it makes a plan, and make one for each value.
const MOST: &str = "CAST($4 AS BIGINT)";

const CANDIDATE: &str = "SELECT m.id, m.recipient_id, d.users, m.topic, m.sender_id, m.marks,
    EXISTS (SELECT 1 FROM reaction AS r WHERE r.message_id = m.id)
FROM ";
/// Numbers of channels are even; nobody is looked up for what is in one.
const WHOLE: &str = "SELECT m.id, m.sender_id, m.recipient_id,
    CASE WHEN m.recipient_id % 2 = 1 THEN (SELECT d.users FROM direct AS d WHERE d.recipient_id = m.recipient_id) END,
    m.topic, m.content, m.html, m.sent_s, m.client, m.marks, m.last_edit_s, m.revision,
    EXISTS (SELECT 1 FROM reaction AS r WHERE r.message_id = m.id)
FROM ";
const JOIN_DIRECT: &str = " LEFT JOIN direct AS d ON d.recipient_id = m.recipient_id";

/// Which index finds the candidates of a narrow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CandidateQuery {
    /// Nothing can be found.
    Nothing,
    /// One message.
    Id(i64),
    /// A topic: recipient and key.
    Topic(i64, String),
    /// What a user wrote.
    Sender(i64),
    /// What has a flag that follows from its text: user and flag.
    Flagged(i64, i64),
    /// What the reader gave a flag: user and flag.
    Marked(i64, i64),
    /// What mentions the reader in any way.
    Mentioned(i64),
    /// What anyone reacted to, wherever it is.
    Reacted,
    /// What is in resolved topics, wherever it is.
    Resolved,
    /// What has all words of a search.
    Words(WordSearch),
    /// Recipients, each with a message up to which nothing is wanted, as JSON, and what is read of each.
    Recipients(String, IndexWalk),
    /// The same, where many messages are to many of them: looked for among all messages first.
    Feed(String),
}

/// Where a narrow says that messages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecipientScope {
    /// Among users who have never written to each other.
    Nowhere,
    In(Recipient),
    Anywhere,
}

/// Which way candidates are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadDirection {
    Older,
    Newer,
}

impl ReadDirection {
    fn sql(self) -> &'static str {
        match self {
            Self::Older => "DESC",
            Self::Newer => "ASC",
        }
    }
}

/// Candidates between two messages, both left out, so many at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageRange {
    pub(crate) after: i64,
    pub(crate) before: i64,
    pub(crate) way: ReadDirection,
}

impl CandidateQuery {
    /// Returns the index that the narrow itself names. `None` when it names none, so that what is looked for is looked
    /// for in each of the reader's recipients.
    pub(crate) fn named(shared: &Shared, selection: &ReadableMessageSelection, place: RecipientScope) -> Option<Self> {
        // What a reader marked is little, and its texts are compared with the words; a common word is in much.
        match selection.search_words() {
            None => by_terms(selection, place),
            Some(_) if place != RecipientScope::Nowhere && by_own_copies(selection).is_some() => {
                by_own_copies(selection)
            }
            Some(sought) => Some(WordSearch::source(shared, (selection, sought), place)),
        }
    }

    /// Returns whether what is found has the words that are sought.
    pub(crate) fn finds_words(&self) -> bool {
        matches!(self, Self::Words(_) | Self::Nothing)
    }

    /// Messages of these recipients; `unread` is what was read of them, when only what was not is wanted.
    pub(crate) fn of_each(
        realm: &RealmSnapshot,
        selection: &ReadableMessageSelection,
        recipients: &[Recipient],
        unread: Option<&UserFlags>,
    ) -> Self {
        if recipients.is_empty() {
            return Self::Nothing;
        }
        let followed = asks_followed(selection).then(|| followed_topics(realm, selection.user_id));
        let along = if followed.is_some() { IndexWalk::EachTopic } else { IndexWalk::of(selection) };
        let pairs: Vec<String> = match followed {
            None => recipients.iter().map(|recipient| pair(selection, *recipient, unread)).collect(),
            Some(followed) => {
                let there = |(id, _): &(ChannelId, _)| recipients.contains(&Recipient::Channel(*id));
                followed.into_iter().filter(there).map(|topic| triple(selection, topic, unread)).collect()
            }
        };
        let pairs = format!("[{}]", pairs.join(","));
        // What is unread lies beyond the marks, and only a search by recipient begins there.
        match along {
            IndexWalk::Reacted if recipients.len() >= FEED_MIN => Self::Reacted,
            IndexWalk::All if recipients.len() >= FEED_MIN && unread.is_none() => Self::Feed(pairs),
            along => Self::Recipients(pairs, along),
        }
    }

    /// Returns the statement; its parameters are the source's text or numbers, then the stretch and the limit.
    pub(crate) fn sql(&self, way: ReadDirection, dialect: SqlDialect) -> SqlStr {
        let order = way.sql();
        let within = "m.id > $2 AND m.id < $3";
        let sql = match self {
            Self::Nothing | Self::Id(_) => {
                format!("{CANDIDATE} message AS m {JOIN_DIRECT} WHERE m.id = $1 AND {within}")
            }
            Self::Topic(..) => format!(
                "{CANDIDATE} message AS m {JOIN_DIRECT} WHERE m.recipient_id = $1 AND m.topic_key = $5 AND {within}"
            ),
            Self::Sender(_) => format!("{CANDIDATE} message AS m {JOIN_DIRECT} WHERE m.sender_id = $1 AND {within}"),
            Self::Flagged(..) => format!(
                "{CANDIDATE} message_flag AS f JOIN message AS m ON m.id = f.message_id {JOIN_DIRECT}
WHERE f.user_id = $1 AND f.flag = CAST($5 AS BIGINT) AND f.message_id > $2 AND f.message_id < $3"
            ),
            Self::Marked(..) => {
                let picked = flag_set::picked(dialect, order);
                format!("{CANDIDATE} {picked} JOIN message AS m ON m.id = picked.id {JOIN_DIRECT}")
            }
            Self::Mentioned(_) => format!("{CANDIDATE} {} {JOIN_DIRECT}", mentions(order)),
            Self::Reacted => format!("{CANDIDATE} {} {JOIN_DIRECT}", reacted(order)),
            Self::Resolved => {
                let resolved = resolved("m");
                format!("{CANDIDATE} message AS m {JOIN_DIRECT} WHERE {resolved} AND m.id > $1 AND m.id < $2")
            }
            Self::Words(words) => return words.ordered(dialect, way, (CANDIDATE, JOIN_DIRECT)),
            Self::Recipients(_, along) => {
                let walks = Sql::render_dynamic_template(dialect, &format!("{{of_each:{order}}}"));
                let walks = walks.replace(ALONG, &along.sql(dialect)).replace(FIRST, &along.order(dialect, order));
                format!("{CANDIDATE} {walks} {JOIN_DIRECT}")
            }
            Self::Feed(_) => format!(
                "{CANDIDATE} (SELECT * FROM message WHERE id > $2 AND id < $3 ORDER BY id {order} LIMIT CAST($5 AS BIGINT)) AS m
{JOIN_DIRECT} WHERE m.recipient_id {{in_recipients:$1}}"
            ),
        };
        let by = if matches!(self, Self::Flagged(..)) { "f.message_id" } else { "m.id" };
        let most = if matches!(self, Self::Reacted | Self::Resolved) { "CAST($3 AS BIGINT)" } else { MOST };
        Sql::render_to_sql_str(dialect, &format!("{sql} ORDER BY {by} {order} LIMIT {most}"))
    }

    /// Returns the candidates with all that stands in their rows, where what finds them looks at a row of each anyway
    /// and most are admitted; `None` where that is not so.
    pub(crate) async fn read_whole(
        &self,
        shared: &Shared,
        stretch: MessageRange,
        limit: i64,
    ) -> Result<Option<Vec<WholeRow>>, StoreError> {
        let Self::Words(words) = self else { return Ok(None) };
        words.whole(shared, stretch, limit).await.map(Some)
    }

    pub(crate) async fn read(
        &self,
        shared: &Shared,
        stretch: MessageRange,
        limit: i64,
    ) -> Result<Vec<NarrowCandidate<'static>>, StoreError> {
        let sql = self.sql(stretch.way, shared.db.dialect());
        let (after, before) = (stretch.after, stretch.before);
        let reader = shared.db.reader();
        let rows: Result<Vec<CandidateRow>, sqlx::Error> = match self {
            Self::Nothing => return Ok(Vec::new()),
            Self::Id(id) | Self::Sender(id) | Self::Mentioned(id) => {
                run!(reader, fetch_all: sqlx::query_as(sql.clone())
                .bind(*id).bind(after).bind(before).bind(limit))
            }
            Self::Reacted | Self::Resolved => {
                run!(reader, fetch_all: sqlx::query_as(sql.clone()).bind(after).bind(before).bind(limit))
            }
            Self::Feed(pairs) => {
                let looked_at = limit.saturating_mul(FEED_FACTOR);
                let rows: Vec<CandidateRow> = run!(reader, fetch_all: sqlx::query_as(sql.clone())
                    .bind(pairs).bind(after).bind(before).bind(limit).bind(looked_at))
                .map_err(failed)?;
                if usize::try_from(limit).is_ok_and(|limit| rows.len() == limit) {
                    return Ok(rows.into_iter().map(candidate).collect());
                }
                // Not enough among those: each recipient is asked by itself.
                let each = Self::Recipients(pairs.clone(), IndexWalk::All);
                return Box::pin(each.read(shared, stretch, limit)).await;
            }
            Self::Recipients(pairs, along) => run!(reader, fetch_all: {
                let query = sqlx::query_as(sql.clone()).bind(pairs).bind(after).bind(before).bind(limit);
                match along {
                    IndexWalk::Topic(key) => query.bind(key),
                    IndexWalk::Sender(id) => query.bind(*id),
                    IndexWalk::All | IndexWalk::EachTopic | IndexWalk::Marked(_) | IndexWalk::Reacted => query,
                }
            }),
            Self::Topic(recipient, key) => run!(reader, fetch_all: sqlx::query_as(sql.clone())
                .bind(*recipient).bind(after).bind(before).bind(limit).bind(key)),
            Self::Words(words) => return words.candidates(shared, stretch, limit).await,
            Self::Flagged(user, flag) | Self::Marked(user, flag) => run!(reader, fetch_all: sqlx::query_as(sql.clone())
                .bind(*user).bind(after).bind(before).bind(limit).bind(*flag)),
        };
        Ok(rows.map_err(failed)?.into_iter().map(candidate).collect())
    }
}

/// Returns the newest or oldest messages that mention the user (`$1`), `$4` at most, between `$2` and `$3`, as
/// `picked`. 3 and 5 are the numbers of the flags that are rows, 16 the mark of those that mention everybody in their
/// channel.
fn mentions(order: &str) -> String {
    let flagged = |flag: i64| {
        format!(
            "SELECT id FROM (SELECT f.message_id AS id FROM message_flag AS f WHERE f.user_id = $1 AND f.flag = {flag}
        AND f.message_id > $2 AND f.message_id < $3 ORDER BY f.message_id {order} LIMIT {MOST}) AS flagged_{flag}"
        )
    };
    let (personal, topic) = (flagged(3), flagged(5));
    format!(
        "(SELECT id FROM (
    {personal} UNION {topic} UNION
    SELECT id FROM (SELECT c.id FROM message AS c WHERE (c.marks & 16) <> 0 AND c.id > $2 AND c.id < $3
        ORDER BY c.id {order} LIMIT {MOST}) AS marked
) AS mention ORDER BY id {order} LIMIT {MOST}) AS picked JOIN message AS m ON m.id = picked.id"
    )
}

/// Returns the newest or oldest messages with a reaction, `$3` at most, between `$1` and `$2`, as `picked`.
fn reacted(order: &str) -> String {
    format!(
        "(SELECT DISTINCT z.message_id AS id FROM reaction AS z WHERE z.message_id > $1 AND z.message_id < $2
ORDER BY z.message_id {order} LIMIT CAST($3 AS BIGINT)) AS picked JOIN message AS m ON m.id = picked.id"
    )
}

/// Returns the condition that a message of this alias is in a resolved topic, as the index of the schema says it.
fn resolved(alias: &str) -> String {
    format!("substr({alias}.topic, 1, 2) = '{RESOLVED_TOPIC_PREFIX}'")
}

/// Returns the index with the fewest candidates, as far as the narrow names one.
fn by_terms(selection: &ReadableMessageSelection, place: RecipientScope) -> Option<CandidateQuery> {
    let asked = || selection.terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
    if let Some(source) = by_id(selection) {
        return Some(source);
    }
    if place == RecipientScope::Nowhere {
        return Some(CandidateQuery::Nothing);
    }
    let unread = asks_unread(selection);
    if let Some(Conversation { recipient, topic_key }) = selection.narrowed_conversation().filter(|_| !unread) {
        return Some(CandidateQuery::Topic(recipient.into(), topic_key));
    }
    if let Some(source) = by_own_copies(selection) {
        return Some(source);
    }
    if !unread && asked().any(|condition| *condition == NarrowCondition::IsResolved) {
        return Some(CandidateQuery::Resolved);
    }
    let sender = asked().find_map(|condition| match condition {
        NarrowCondition::Sender(user) => Some(user.0),
        _ => None,
    });
    sender.filter(|_| place == RecipientScope::Anywhere && !unread).map(CandidateQuery::Sender)
}

/// Returns the one message that the narrow names.
fn by_id(selection: &ReadableMessageSelection) -> Option<CandidateQuery> {
    selection.terms.iter().filter(|term| !term.negated).find_map(|term| match term.condition {
        NarrowCondition::Id(id) => Some(CandidateQuery::Id(id.0)),
        _ => None,
    })
}

/// Returns what few messages have of the reader's copies: a flag, or a mention.
fn by_own_copies(selection: &ReadableMessageSelection) -> Option<CandidateQuery> {
    let reader = selection.user_id.0;
    let asked = || selection.terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
    let flagged = asked().find_map(|condition| match condition {
        NarrowCondition::IsFlag(flag) if flag_set::keeps(*flag) => {
            Some(CandidateQuery::Marked(reader, flag.database_number()))
        }
        NarrowCondition::IsFlag(flag) if *flag != MessageFlag::Read => {
            Some(CandidateQuery::Flagged(reader, flag.database_number()))
        }
        _ => None,
    });
    let mentioned =
        || asked().any(|asked| *asked == NarrowCondition::IsMentioned).then_some(CandidateQuery::Mentioned(reader));
    by_id(selection).or(flagged).or_else(mentioned)
}

/// Returns the topics that the user follows, as channel and topic key.
fn followed_topics(realm: &RealmSnapshot, user: UserId) -> Vec<(ChannelId, String)> {
    topic_visibility_policy::topics_with_policy(realm, user, TopicVisibilityPolicy::Followed)
}

/// Returns whether only followed topics are wanted.
fn asks_followed(selection: &ReadableMessageSelection) -> bool {
    let asked = NarrowCondition::IsFollowed(selection.user_id);
    selection.terms.iter().any(|term| !term.negated && term.condition == asked)
}

/// Returns whether only what was not read is wanted.
pub(crate) fn asks_unread(selection: &ReadableMessageSelection) -> bool {
    selection.terms.iter().any(|term| !term.negated && term.condition == NarrowCondition::IsUnread)
}

/// A recipient with a message up to which nothing of it is wanted.
fn pair(selection: &ReadableMessageSelection, recipient: Recipient, unread: Option<&UserFlags>) -> String {
    format!("[{},{}]", i64::from(recipient), wanted_after(selection, recipient, unread))
}

/// A channel with such a message and the key of a topic.
fn triple(
    selection: &ReadableMessageSelection,
    (id, topic_key): (ChannelId, String),
    unread: Option<&UserFlags>,
) -> String {
    let recipient = Recipient::Channel(id);
    let after = wanted_after(selection, recipient, unread);
    serde_json::json!([i64::from(recipient), after, topic_key]).to_string()
}

/// A message up to which nothing of the recipient is wanted.
fn wanted_after(selection: &ReadableMessageSelection, recipient: Recipient, unread: Option<&UserFlags>) -> i64 {
    let permitted = match recipient {
        Recipient::Channel(id) => {
            let spans = selection.readable_range(id).and_then(ReadableChannelRange::subscription_periods);
            spans.and_then(|spans| spans.first()).map_or(0, |span| span.after.0)
        }
        Recipient::Direct(_) => 0,
    };
    unread.map_or(permitted, |own| own.none_unread_until(recipient).max(permitted))
}

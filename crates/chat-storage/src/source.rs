//! Which index finds the candidates of a narrow, and how it is read.

use std::sync::atomic::Ordering;

use chat_core::message::{Conversation, Flag, Recipient};
use chat_core::narrow::{Bounds, Candidate, Condition, Selection};
use chat_core::ports::StoreError;
use chat_core::words::Sought;
use sqlx::SqlStr;

use crate::copies::Own;
use crate::dialect::Dialect;
use crate::engine::run;
use crate::fault::failed;
use crate::flag_set;
use crate::row::{CandidateRow, WholeRow, candidate};
use crate::store::Shared;
use crate::words::{self, Property};

/// Fewest recipients for which messages are looked for among all messages first.
const FEED_MIN: usize = 4;
/// How many times the messages wanted are looked at then.
const FEED_FACTOR: i64 = 4;

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
pub(crate) enum Source {
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
    /// What has all words of a search, as the engine is asked for them, in one recipient if one is asked for.
    Words(String, Option<i64>),
    /// Recipients, each with a message up to which nothing is wanted, as JSON.
    Recipients(String),
    /// The same, where many messages are to many of them: looked for among all messages first.
    Feed(String),
}

/// Where a narrow says that messages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Among users who have never written to each other.
    Nowhere,
    In(Recipient),
    Anywhere,
}

/// Which way candidates are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Older,
    Newer,
}

impl Way {
    fn sql(self) -> &'static str {
        match self {
            Self::Older => "DESC",
            Self::Newer => "ASC",
        }
    }
}

/// Candidates between two messages, both left out, so many at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) after: i64,
    pub(crate) before: i64,
    pub(crate) way: Way,
}

impl Source {
    /// The index that the narrow itself names. `None` when it names none, so that what is looked for is looked for in
    /// each of the reader's recipients.
    pub(crate) fn named(shared: &Shared, selection: &Selection, place: Place) -> Option<Self> {
        match selection.sought() {
            Some(sought) => Some(by_words(shared, (selection, sought), place)),
            None => by_terms(selection, place),
        }
    }

    /// Messages of these recipients; `unread` is what was read of them, when only what was not is wanted.
    pub(crate) fn of_each(selection: &Selection, recipients: &[Recipient], unread: Option<&Own>) -> Self {
        if recipients.is_empty() {
            return Self::Nothing;
        }
        let pairs = recipients.iter().map(|recipient| pair(selection, *recipient, unread));
        let pairs = format!("[{}]", pairs.collect::<Vec<_>>().join(","));
        // What is unread lies beyond the marks, and only a search by recipient begins there.
        if recipients.len() < FEED_MIN || unread.is_some() { Self::Recipients(pairs) } else { Self::Feed(pairs) }
    }

    /// The statement; its parameters are the source's text or numbers, then the stretch and the limit.
    fn sql(&self, way: Way, dialect: Dialect) -> SqlStr {
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
            Self::Words(_, recipient) => by_words_sql((CANDIDATE, JOIN_DIRECT), recipient.is_some()),
            Self::Recipients(_) => format!("{CANDIDATE} {{of_each:{order}}} {JOIN_DIRECT}"),
            Self::Feed(_) => format!(
                "{CANDIDATE} (SELECT * FROM message WHERE id > $2 AND id < $3 ORDER BY id {order} LIMIT CAST($5 AS BIGINT)) AS m
{JOIN_DIRECT} WHERE m.recipient_id {{in_recipients:$1}}"
            ),
        };
        let by = match self {
            Self::Flagged(..) => "f.message_id",
            Self::Words(..) => "w.rowid",
            _ => "m.id",
        };
        dialect.own_text(&format!("{sql} ORDER BY {by} {order} LIMIT {MOST}"))
    }

    /// The candidates with all that stands in their rows, where what finds them looks at a row of each anyway and most
    /// are admitted; `None` where that is not so.
    pub(crate) async fn read_whole(
        &self,
        shared: &Shared,
        stretch: Stretch,
        limit: i64,
    ) -> Result<Option<Vec<WholeRow>>, StoreError> {
        let Self::Words(words, recipient) = self else { return Ok(None) };
        let found = by_words_sql((WHOLE, ""), recipient.is_some());
        let order = stretch.way.sql();
        let sql = shared.db.dialect().own_text(&format!("{found} ORDER BY w.rowid {order} LIMIT {MOST}"));
        let rows = run!(shared.db.words_reader(), fetch_all: {
            let query = sqlx::query_as(sql.clone()).bind(words).bind(stretch.after).bind(stretch.before).bind(limit);
            match recipient {
                Some(recipient) => query.bind(*recipient),
                None => query,
            }
        });
        rows.map(Some).map_err(failed)
    }

    pub(crate) async fn read(
        &self,
        shared: &Shared,
        stretch: Stretch,
        limit: i64,
    ) -> Result<Vec<Candidate<'static>>, StoreError> {
        let sql = self.sql(stretch.way, shared.db.dialect());
        let (after, before) = (stretch.after, stretch.before);
        let reader = match self {
            Self::Words(..) => shared.db.words_reader(),
            _ => shared.db.reader(),
        };
        let rows: Result<Vec<CandidateRow>, sqlx::Error> = match self {
            Self::Nothing => return Ok(Vec::new()),
            Self::Id(id) | Self::Sender(id) => run!(reader, fetch_all: sqlx::query_as(sql.clone())
                .bind(*id).bind(after).bind(before).bind(limit)),
            Self::Feed(pairs) => {
                let looked_at = limit.saturating_mul(FEED_FACTOR);
                let rows: Vec<CandidateRow> = run!(reader, fetch_all: sqlx::query_as(sql.clone())
                    .bind(pairs).bind(after).bind(before).bind(limit).bind(looked_at))
                .map_err(failed)?;
                if usize::try_from(limit).is_ok_and(|limit| rows.len() == limit) {
                    return Ok(rows.into_iter().map(candidate).collect());
                }
                // Not enough among those: each recipient is asked by itself.
                return Box::pin(Self::Recipients(pairs.clone()).read(shared, stretch, limit)).await;
            }
            Self::Recipients(pairs) => run!(reader, fetch_all: sqlx::query_as(sql.clone())
                .bind(pairs).bind(after).bind(before).bind(limit)),
            Self::Topic(recipient, key) => run!(reader, fetch_all: sqlx::query_as(sql.clone())
                .bind(*recipient).bind(after).bind(before).bind(limit).bind(key)),
            Self::Words(words, None) => run!(reader, fetch_all: sqlx::query_as(sql.clone())
                .bind(words).bind(after).bind(before).bind(limit)),
            Self::Words(words, Some(recipient)) => run!(reader, fetch_all: sqlx::query_as(sql.clone())
                .bind(words).bind(after).bind(before).bind(limit).bind(*recipient)),
            Self::Flagged(user, flag) | Self::Marked(user, flag) => run!(reader, fetch_all: sqlx::query_as(sql.clone())
                .bind(*user).bind(after).bind(before).bind(limit).bind(*flag)),
        };
        Ok(rows.map_err(failed)?.into_iter().map(candidate).collect())
    }
}

/// The statement for messages with words, without its order. The words drive it: SQLite would rather walk the whole
/// recipient and look for the words in each message of it.
fn by_words_sql((columns, join): (&str, &str), in_one: bool) -> String {
    let there = if in_one { " AND {not_indexed:m.recipient_id} = CAST($5 AS BIGINT)" } else { "" };
    format!(
        "{columns} message_words AS w JOIN message AS m ON m.id = w.rowid {join}
WHERE {{has_words:@@}} AND w.rowid > $2 AND w.rowid < $3{there}"
    )
}

/// The messages with the words of a search, narrowed by all that the index of words knows of them.
fn by_words(shared: &Shared, (selection, sought): (&Selection, &Sought), place: Place) -> Source {
    let recipient = match place {
        Place::Nowhere => return Source::Nothing,
        Place::In(only) => Some(i64::from(only)),
        Place::Anywhere => None,
    };
    let mut properties: Vec<Property<'_>> = recipient.map(Property::Recipient).into_iter().collect();
    properties.extend(selection.terms.iter().filter(|term| !term.negated).filter_map(|term| match &term.condition {
        Condition::Sender(user) => Some(Property::Sender(user.0)),
        Condition::Topic(key) => Some(Property::Topic(key)),
        _ => None,
    }));
    if !shared.properties_indexed.load(Ordering::Acquire) {
        properties.clear();
    }
    match words::query(shared.db.dialect(), sought, &properties) {
        None => Source::Nothing,
        Some(query) => Source::Words(query, recipient),
    }
}

/// The index with the fewest candidates, as far as the narrow names one.
fn by_terms(selection: &Selection, place: Place) -> Option<Source> {
    let asked = || selection.terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
    if let Some(id) = asked().find_map(|condition| match condition {
        Condition::Id(id) => Some(id.0),
        _ => None,
    }) {
        return Some(Source::Id(id));
    }
    if place == Place::Nowhere {
        return Some(Source::Nothing);
    }
    let unread = asks_unread(selection);
    if let Some(Conversation { recipient, topic_key }) = selection.conversation().filter(|_| !unread) {
        return Some(Source::Topic(recipient.into(), topic_key));
    }
    let flag = asked().find_map(|condition| match condition {
        Condition::IsFlag(flag) if *flag != Flag::Read => Some(*flag),
        _ => None,
    });
    if let Some(flag) = flag {
        let of = if flag_set::keeps(flag) { Source::Marked } else { Source::Flagged };
        return Some(of(selection.user_id.0, flag.number()));
    }
    let sender = asked().find_map(|condition| match condition {
        Condition::Sender(user) => Some(user.0),
        _ => None,
    });
    sender.filter(|_| place == Place::Anywhere && !unread).map(Source::Sender)
}

/// Whether only what was not read is wanted.
pub(crate) fn asks_unread(selection: &Selection) -> bool {
    selection.terms.iter().any(|term| !term.negated && term.condition == Condition::IsUnread)
}

/// A recipient with a message up to which nothing of it is wanted.
fn pair(selection: &Selection, recipient: Recipient, unread: Option<&Own>) -> String {
    let permitted = match recipient {
        Recipient::Channel(id) => {
            let spans = selection.bounds(id).and_then(Bounds::spans);
            spans.and_then(|spans| spans.first()).map_or(0, |span| span.after.0)
        }
        Recipient::Direct(_) => 0,
    };
    let after = unread.map_or(permitted, |own| own.none_unread_until(recipient).max(permitted));
    format!("[{},{after}]", i64::from(recipient))
}

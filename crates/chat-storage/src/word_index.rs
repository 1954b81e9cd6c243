//! The index of words: which messages have which stems.
//!
//! What a message's stems are is a rule ([`chat_core::text_processing::search_words`]); an engine only finds the
//! messages that have all of some. Rows change in the transaction that changes the message.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chat_core::StoreError;
use chat_core::id::MessageId;
use chat_core::model::message::{Message, topic_key};
use chat_core::text_processing::search_words::{SearchWords, extract_index_stems};
use sql_engines::{SqlDialect, encode_numbers_parameter, power_of_two_chunks};
use sqlx::SqlStr;

use crate::dialect::Sql;
use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::store::Shared;

static FORGET: Sql = Sql::new("DELETE FROM message_words WHERE rowid {in_numbers:$1}");
static TEXTS: Sql =
    Sql::new("SELECT id, recipient_id, sender_id, topic, html, marks FROM message WHERE id {in_numbers:$1}");
const BACKLOG: &str = "SELECT done, last FROM words_backlog WHERE one = 1";
static LEFT: Sql = Sql::new("SELECT done, last FROM words_backlog WHERE one = 1 {for_update}");
const NEXT: &str = "SELECT id, recipient_id, sender_id, topic, html, marks FROM message WHERE id > $1 AND id <= $2
ORDER BY id LIMIT $3";
const DONE: &str = "UPDATE words_backlog SET done = $1 WHERE one = 1";

/// Messages taken up at once from before there was the index.
const STEP: usize = 500;
/// Between two such steps, so that requests are served before them.
const STEP_PAUSE: Duration = Duration::from_millis(20);
/// How long is waited after a step that failed.
const AGAIN_AFTER: Duration = Duration::from_secs(10);

/// A row of [`TEXTS`] and [`NEXT`].
type TextRow = (i64, i64, i64, String, String, i64);

/// What the index keeps of a message.
pub(crate) struct WordIndexEntry {
    id: i64,
    /// The stems of its words and the properties that a search may be narrowed by, with blanks between.
    pub(crate) text: String,
}

impl WordIndexEntry {
    pub(crate) fn new(dialect: SqlDialect, message: &Message) -> Self {
        let Message { id, recipient, sender_id, topic, html, content_flags, .. } = message;
        Self::of_row(
            dialect,
            &(id.0, i64::from(*recipient), sender_id.0, topic.clone(), html.clone(), content_flags.to_bits()),
        )
    }

    fn of_row(dialect: SqlDialect, (id, recipient_id, sender_id, topic, html, content_flags): &TextRow) -> Self {
        let topic_key = topic_key(topic);
        let places = [
            IndexedProperty::Recipient(*recipient_id),
            IndexedProperty::Sender(*sender_id),
            IndexedProperty::Topic(&topic_key),
        ];
        let stretches = STRETCH_SHIFTS.map(|shift| IndexedProperty::Stretch { shift, number: id >> shift });
        let contents =
            CONTENTS.map(|bit| content_flags & bit).into_iter().filter(|bit| *bit != 0).map(IndexedProperty::Content);
        let kept = places.into_iter().chain(contents).chain(stretches).filter(|property| property.is_kept_by(dialect));
        // A text of stop words alone has no stems, and Postgres takes no empty token.
        let stems = Some(extract_index_stems(topic, html)).filter(|stems| !stems.is_empty());
        let words: Vec<String> = stems.into_iter().chain(kept.map(IndexedProperty::token)).collect();
        Self { id: *id, text: words.join(" ") }
    }
}

/// A property of a message that stands in the index of words as a token beside the stems.
///
/// **Why**: SQLite has no way to combine its full-text index with another index. Without these tokens a search for a
/// common word in a channel reads either every message with the word or every message of the channel; with them
/// the index intersects its own lists, and the cost follows the answer. Postgres combines its indexes by itself, but
/// has no statistics of the bits of a number: it keeps the contents here too. It also keeps in which stretches of numbers
/// a message is, because it reads its index without an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexedProperty<'t> {
    /// The recipient's number.
    Recipient(i64),
    /// The sender's number.
    Sender(i64),
    /// The key of the topic.
    Topic(&'t str),
    /// How the key of the topic begins. Searches alone ask for it.
    TopicPrefix(&'t str),
    /// One of [`CONTENTS`].
    Content(i64),
    /// The numbers that are the same but for their last bits: how many bits those are, and the bits before them.
    Stretch { shift: u32, number: i64 },
}

/// How long stretches of numbers are, in bits: each eight times as long as the one before.
pub(crate) const STRETCH_SHIFTS: [u32; 6] = [11, 14, 17, 20, 23, 26];

/// The bits of a message's marks that say what it contains: a link, an image, an attachment.
const CONTENTS: [i64; 3] = [2, 4, 8];

impl IndexedProperty<'_> {
    /// Returns whether the index of an engine has the property.
    const fn is_kept_by(self, dialect: SqlDialect) -> bool {
        match dialect {
            SqlDialect::Postgres => matches!(self, Self::Content(_) | Self::Stretch { .. }),
            SqlDialect::Sqlite => !matches!(self, Self::Stretch { .. }),
        }
    }

    /// A token that no word can be: stems are letters and digits, and it begins with a sign. The tokenizer takes every
    /// sign beyond ASCII for part of a token.
    fn token(self) -> String {
        match self {
            Self::Recipient(id) => format!("\u{a7}{id}"),
            Self::Sender(id) => format!("\u{a4}{id}"),
            Self::Content(bit) => format!("\u{ac}{bit}"),
            Self::Stretch { shift, number } => format!("\u{b1}{shift}_{number}"),
            Self::Topic(key) | Self::TopicPrefix(key) => {
                let hex = key.bytes().map(|byte| format!("{byte:02x}"));
                std::iter::once("\u{b6}".to_owned()).chain(hex).collect()
            }
        }
    }
}

/// Returns the text that an engine is given to find the messages with all stems of a search and, as far as its index
/// has them, all of these properties. `None` when the search finds nothing.
pub(crate) fn query(dialect: SqlDialect, sought: &SearchWords, properties: &[IndexedProperty<'_>]) -> Option<String> {
    // Neither stems nor properties contain a quote.
    let (quote, and) = match dialect {
        SqlDialect::Postgres => ("'", " & "),
        SqlDialect::Sqlite => ("\"", " "),
    };
    let mut quoted: Vec<String> = sought.stems().map(|stem| format!("{quote}{stem}{quote}")).collect();
    if quoted.is_empty() {
        return None;
    }
    let properties = properties.iter().filter(|property| property.is_kept_by(dialect));
    let properties: Vec<String> = properties.map(|property| format!("{quote}{}{quote}", property.token())).collect();
    if dialect == SqlDialect::Sqlite && properties.len() > 1 {
        let (properties, words) = (properties.join(and), quoted.join(and));
        return Some(format!("(({properties}) NOT \"{NO_TOKEN}\") AND ({words})"));
    }
    quoted.extend(properties);
    Some(quoted.join(and))
}

/// A token that no message has on SQLite.
///
/// **Why**: SQLite moves all lists of an intersection on together, so a word that is in every message is read in full
/// where channel and sender are seldom together. Without such messages is the same set, and keeps SQLite from taking
/// the inner intersection for a part of the outer one: the words are looked up in its messages alone. Of a million
/// messages a common word of a sender in a channel costs 1.6 ms instead of 10.
const NO_TOKEN: &str = "\u{b1}";

/// Narrows what SQLite is given by [`query`] to the messages that have at least one of these properties besides.
pub(crate) fn with_one_of(query: &str, properties: &[IndexedProperty<'_>]) -> String {
    let one = |property: &IndexedProperty<'_>| {
        let more = if matches!(property, IndexedProperty::TopicPrefix(_)) { " *" } else { "" };
        format!("\"{}\"{more}", property.token())
    };
    let properties: Vec<String> = properties.iter().map(one).collect();
    format!("{query} AND ({})", properties.join(" OR "))
}

/// Narrows what Postgres is given by [`query`] to the messages of these stretches.
pub(crate) fn with_stretches(query: &str, stretches: &[IndexedProperty<'_>]) -> String {
    let either: Vec<String> = stretches.iter().map(|stretch| format!("'{}'", stretch.token())).collect();
    format!("{query} & ({})", either.join(" | "))
}

/// Adds messages that are not in the index.
pub(crate) async fn add(tx: &mut Tx, messages: &[WordIndexEntry]) -> Result<(), StoreError> {
    let dialect = tx.dialect();
    for piece in power_of_two_chunks(messages) {
        let sql = insertion(dialect, piece.len());
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for message in piece {
                query = query.bind(message.id).bind(&message.text);
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

fn insertion(dialect: SqlDialect, rows: usize) -> SqlStr {
    let row = |row: usize| format!("(${}, {{words:${}}})", 2 * row + 1, 2 * row + 2);
    let rows: Vec<String> = (0..rows).map(row).collect();
    Sql::render_to_sql_str(dialect, &format!("INSERT INTO message_words (rowid, words) VALUES {}", rows.join(", ")))
}

/// Removes messages from the index.
pub(crate) async fn forget(tx: &mut Tx, ids: &str) -> Result<(), StoreError> {
    let sql = FORGET.text_for_dialect(tx.dialect());
    run!(tx.on(), execute: sqlx::query(sql.clone()).bind(ids)).map_err(failed)?;
    Ok(())
}

/// Makes the index say of messages what they say by now.
pub(crate) async fn renew(tx: &mut Tx, ids: impl IntoIterator<Item = MessageId>) -> Result<(), StoreError> {
    let ids = encode_numbers_parameter(ids.into_iter().map(|id| id.0));
    let sql = TEXTS.text_for_dialect(tx.dialect());
    let rows: Vec<TextRow> = run!(tx.on(), fetch_all: sqlx::query_as(sql.clone()).bind(&ids)).map_err(failed)?;
    put(tx, &ids, rows).await
}

async fn put(tx: &mut Tx, ids: &str, rows: Vec<TextRow>) -> Result<(), StoreError> {
    forget(tx, ids).await?;
    let dialect = tx.dialect();
    add(tx, &rows.iter().map(|row| WordIndexEntry::of_row(dialect, row)).collect::<Vec<_>>()).await
}

/// Takes up the messages from before there was the index, step by step, whichever node begins with one.
pub(crate) async fn take_up(shared: Arc<Shared>) {
    loop {
        let pause = match step(&shared).await {
            Ok(true) => STEP_PAUSE,
            Ok(false) => return shared.properties_indexed.store(true, Ordering::Release),
            Err(error) => {
                tracing::warn!(%error, "older messages could not be taken into the index of words; tried again soon");
                AGAIN_AFTER
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Reports whether messages are still to be taken into the index.
pub(crate) async fn has_backlog(shared: &Shared) -> Result<bool, StoreError> {
    let (done, last): (i64, i64) = run!(shared.db.reader(), fetch_one: sqlx::query_as(BACKLOG)).map_err(failed)?;
    Ok(done < last)
}

/// Takes up some; says whether there are more.
async fn step(shared: &Shared) -> Result<bool, StoreError> {
    let _turn = shared.writing.lock().await;
    let mut tx = shared.db.begin().await.map_err(failed)?;
    let sql = LEFT.text_for_dialect(tx.dialect());
    let (done, last): (i64, i64) = run!(tx.on(), fetch_one: sqlx::query_as(sql.clone())).map_err(failed)?;
    if done >= last {
        tx.roll_back().await.map_err(failed)?;
        return Ok(false);
    }
    let most = i64::try_from(STEP).unwrap_or(i64::MAX);
    let rows: Vec<TextRow> =
        run!(tx.on(), fetch_all: sqlx::query_as(NEXT).bind(done).bind(last).bind(most)).map_err(failed)?;
    let done = if rows.len() < STEP { last } else { rows.last().map_or(last, |(id, ..)| *id) };
    let ids = encode_numbers_parameter(rows.iter().map(|(id, ..)| *id));
    put(&mut tx, &ids, rows).await?;
    run!(tx.on(), execute: sqlx::query(DONE).bind(done)).map_err(failed)?;
    tx.commit().await.map_err(failed)?;
    Ok(done < last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_stop_words_has_the_properties_alone() {
        let row = (7, 8, 9, "the".to_owned(), "<p><a href=\"/x\">it</a></p>".to_owned(), 2);
        let stretches = "\u{b1}11_0 \u{b1}14_0 \u{b1}17_0 \u{b1}20_0 \u{b1}23_0 \u{b1}26_0";
        assert_eq!(WordIndexEntry::of_row(SqlDialect::Postgres, &row).text, format!("\u{ac}2 {stretches}"));
        let plain = (20_000, 8, 9, "the".to_owned(), "<p>it</p>".to_owned(), 0);
        let further = stretches.replace("11_0", "11_9").replace("14_0", "14_1");
        assert_eq!(WordIndexEntry::of_row(SqlDialect::Postgres, &plain).text, further);
        assert_eq!(WordIndexEntry::of_row(SqlDialect::Sqlite, &plain).text, "\u{a7}8 \u{a4}9 \u{b6}746865");
    }

    #[test]
    fn a_search_asks_each_engine_for_all_its_stems() {
        let sought = SearchWords::parse("meetings 'next' week");
        let asked = |dialect, properties: &[IndexedProperty<'_>]| query(dialect, &sought, properties);
        assert_eq!(asked(SqlDialect::Sqlite, &[]).as_deref(), Some(r#""meet" "next" "week""#));
        let properties = [
            IndexedProperty::Recipient(8),
            IndexedProperty::Sender(12),
            IndexedProperty::Topic("a b\""),
            IndexedProperty::Content(4),
        ];
        let narrowed = "((\"\u{a7}8\" \"\u{a4}12\" \"\u{b6}61206222\" \"\u{ac}4\") NOT \"\u{b1}\") AND (\"meet\" \"next\" \"week\")";
        assert_eq!(asked(SqlDialect::Sqlite, &properties).as_deref(), Some(narrowed));
        let one = asked(SqlDialect::Sqlite, &properties[..1]);
        assert_eq!(one.as_deref(), Some("\"meet\" \"next\" \"week\" \"\u{a7}8\""));
        assert_eq!(asked(SqlDialect::Postgres, &properties).as_deref(), Some("'meet' & 'next' & 'week' & '\u{ac}4'"));
        assert_eq!(query(SqlDialect::Sqlite, &SearchWords::parse("the"), &properties), None);
    }
}

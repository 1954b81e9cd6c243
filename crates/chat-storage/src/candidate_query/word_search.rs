//! The messages with the words of a search, narrowed by what else the narrow names.

use std::sync::atomic::Ordering;

use chat_core::StoreError;
use chat_core::messages::narrow::{NarrowCandidate, NarrowCondition, ReadableMessageSelection};
use chat_core::text_processing::search_words::SearchWords;
use sql_engines::SqlDialect;
use sqlx::SqlStr;

use super::index_walk::marked;
use super::word_scope::Places;
use super::word_stages;
use super::{CANDIDATE, CandidateQuery, JOIN_DIRECT, MOST, MessageRange, ReadDirection, RecipientScope, WHOLE};
use crate::dialect::Sql;
use crate::engine::run;
use crate::fault::{failed, search_failed};
use crate::message_decoding::{CandidateRow, WholeRow, candidate};
use crate::store::Shared;
use crate::word_index::{self, IndexedProperty};

/// The rows of a statement of [`WordSearch::ordered`].
macro_rules! read {
    ($words:expr, $shared:expr, $sql:expr, $stretch:expr, $limit:expr) => {{
        let mut searcher = $shared.db.searcher().await.map_err(failed)?;
        let rows = run!(searcher.on(), fetch_all: {
            let query = sqlx::query_as($sql.clone()).bind(&$words.query);
            let query = query.bind($stretch.after).bind($stretch.before).bind($limit);
            let numbers = $words.recipient.into_iter().chain($words.sender);
            let query = numbers.fold(query, |query, number| query.bind(number));
            let texts = $words.topic.iter().cloned().chain($words.places.iter().flat_map(Places::values));
            texts.fold(query, |query, text| query.bind(text))
        });
        rows.map_err(search_failed)?
    }};
}

/// A search by words. All but the words is looked at in the row of each message that has them, or chosen by Postgres
/// to find them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WordSearch {
    /// What the engine is asked for.
    pub(crate) query: String,
    /// The one recipient they are in.
    pub(crate) recipient: Option<i64>,
    /// Who wrote them.
    pub(crate) sender: Option<i64>,
    /// The key of their topic.
    pub(crate) topic: Option<String>,
    /// A bit of what they have in them.
    pub(crate) marked: Option<i64>,
    /// Whether they are looked for among messages with a reaction alone. A first page is read without that.
    pub(crate) reacted: bool,
    /// Where else they have to be, on Postgres: in one of each.
    pub(crate) places: Vec<Places>,
}

impl WordSearch {
    /// Returns the search of a selection, or [`CandidateQuery::Nothing`].
    pub(crate) fn source(
        shared: &Shared,
        (selection, sought): (&ReadableMessageSelection, &SearchWords),
        place: RecipientScope,
    ) -> CandidateQuery {
        let recipient = match place {
            RecipientScope::Nowhere => return CandidateQuery::Nothing,
            RecipientScope::In(only) => Some(i64::from(only)),
            RecipientScope::Anywhere => None,
        };
        let asked = || selection.terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
        let sender = asked().find_map(|condition| match condition {
            NarrowCondition::Sender(user) => Some(user.0),
            _ => None,
        });
        let topic = asked().find_map(|condition| match condition {
            NarrowCondition::Topic(key) => Some(key.clone()),
            _ => None,
        });
        let marked = marked(selection);
        let mut properties: Vec<IndexedProperty<'_>> = Vec::new();
        if shared.properties_indexed.load(Ordering::Acquire) {
            properties.extend(recipient.map(IndexedProperty::Recipient));
            properties.extend(sender.map(IndexedProperty::Sender));
            properties.extend(topic.as_deref().map(IndexedProperty::Topic));
            properties.extend(marked.map(IndexedProperty::Content));
        }
        match word_index::query(shared.db.dialect(), sought, &properties) {
            None => CandidateQuery::Nothing,
            Some(query) => {
                let (reacted, places) = (false, Vec::new());
                CandidateQuery::Words(Self { query, recipient, sender, topic, marked, reacted, places })
            }
        }
    }

    /// The statement without its order. The words drive it on SQLite, which would rather walk the whole recipient and
    /// look for the words in each message of it. Its parameters from `$5` on are the numbers that are asked for, then
    /// the topic and the places.
    fn sql(&self, (columns, join): (&str, &str)) -> String {
        let mut there: Vec<String> = Vec::new();
        let mut parameter = 5;
        for (column, is_asked) in [("recipient_id", self.recipient.is_some()), ("sender_id", self.sender.is_some())] {
            if is_asked {
                there.push(format!(" AND {{not_indexed:m.{column}}} = CAST(${parameter} AS BIGINT)"));
                parameter += 1;
            }
        }
        if self.topic.is_some() {
            there.push(format!(" AND {{not_indexed:m.topic_key}} = ${parameter}"));
            parameter += 1;
        }
        for places in &self.places {
            there.push(format!(" AND {}", places.sql(parameter)));
            parameter += places.values().count();
        }
        there.extend(self.marked.map(|bits| format!(" AND (m.marks & {bits}) <> 0")));
        if self.reacted {
            // By the number that the index has, so that a message without a reaction is not read.
            there.push(" AND EXISTS (SELECT 1 FROM reaction AS z WHERE z.message_id = w.rowid)".to_owned());
        }
        let there = there.concat();
        format!(
            "{columns} message_words AS w JOIN message AS m ON m.id = w.rowid {join}
WHERE {{has_words:@@}} AND w.rowid > $2 AND w.rowid < $3{there}"
        )
    }

    /// Returns the statement for these columns, in an order.
    pub(super) fn ordered(&self, dialect: SqlDialect, way: ReadDirection, of: (&str, &str)) -> SqlStr {
        let sql = format!("{} ORDER BY w.rowid {} LIMIT {MOST}", self.sql(of), way.sql());
        Sql::render_to_sql_str(dialect, &sql)
    }

    /// Returns whether the index of words finds exactly what is asked for: it has what messages contain.
    const fn has_words_alone(&self) -> bool {
        let has_numbers = self.recipient.is_some() || self.sender.is_some();
        !has_numbers && self.topic.is_none() && !self.reacted && self.places.is_empty()
    }

    /// Returns the candidates of a stretch in its order, so many at most.
    pub(super) async fn candidates(
        &self,
        shared: &Shared,
        stretch: MessageRange,
        limit: i64,
    ) -> Result<Vec<NarrowCandidate<'static>>, StoreError> {
        let is_indexed = shared.properties_indexed.load(Ordering::Acquire);
        if shared.db.dialect() == SqlDialect::Postgres && is_indexed && self.has_words_alone() {
            return word_stages::candidates(shared, &self.query, stretch, limit).await;
        }
        let sql = self.ordered(shared.db.dialect(), stretch.way, (CANDIDATE, JOIN_DIRECT));
        let rows: Vec<CandidateRow> = read!(self, shared, sql, stretch, limit);
        Ok(rows.into_iter().map(candidate).collect())
    }

    /// As [`WordSearch::candidates`], with all that stands in their rows.
    pub(super) async fn whole(
        &self,
        shared: &Shared,
        stretch: MessageRange,
        limit: i64,
    ) -> Result<Vec<WholeRow>, StoreError> {
        let sql = self.ordered(shared.db.dialect(), stretch.way, (WHOLE, ""));
        Ok(read!(self, shared, sql, stretch, limit))
    }
}

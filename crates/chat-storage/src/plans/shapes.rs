//! Every shape of a statement that finds messages, with values that make it hard: words that are in everything,
//! channels with few messages, senders who are elsewhere.

use chat_core::id::ChannelId;
use chat_core::model::message::Recipient;
use sql_engines::SqlDialect;

use super::Pool;
use crate::candidate_query::index_walk::IndexWalk;
use crate::candidate_query::word_scope::Places;
use crate::candidate_query::word_search::WordSearch;
use crate::candidate_query::word_stages::StagedSearch;
use crate::candidate_query::{CandidateQuery, MessageRange, ReadDirection};

/// Pages of Postgres that a page of 51 messages may take: each is looked up in two tables, along indexes of a few
/// levels. Everything there is takes a hundred times as many.
const PAGES_MAX: u64 = 1_500;

/// Pages of a search in stages: a word of long ago makes it look at the messages of a stretch.
pub(super) const STAGED_PAGES_MAX: u64 = 2_000;

/// The number of the newest message in the words of [`super::fill`].
const MESSAGES: i64 = 40_000;

/// A statement that finds messages.
pub(super) struct Shape {
    pub(super) name: String,
    pub(super) pool: Pool,
    /// Whether it may sort on SQLite: what few walks found, not what a database holds.
    pub(super) sorts: bool,
    pub(super) pages_max: u64,
    /// The engine that alone is asked in this way.
    pub(super) only: Option<SqlDialect>,
    source: CandidateQuery,
    way: ReadDirection,
    /// What stands for its first and its last parameter.
    first: String,
    last: Vec<String>,
}

impl Shape {
    /// The statement with its values in it.
    pub(super) fn sql(&self, dialect: SqlDialect) -> String {
        let mut sql = self.source.sql(self.way, dialect).as_str().to_owned();
        let first = if let (CandidateQuery::Words(words), SqlDialect::Sqlite) = (&self.source, dialect) {
            format!("'{}'", properties(words))
        } else {
            self.first.clone()
        };
        let between = ["0".to_owned(), i64::MAX.to_string(), "51".to_owned()];
        let values: Vec<String> = match self.source {
            CandidateQuery::Reacted | CandidateQuery::Resolved => between.into(),
            _ => [first].into_iter().chain(between).chain(self.last.iter().cloned()).collect(),
        };
        for (place, value) in values.iter().enumerate().rev() {
            sql = sql.replace(&format!("${}", place + 1), value);
        }
        sql
    }
}

/// Returns the words as SQLite is asked for them.
fn properties(words: &WordSearch) -> String {
    let mut tokens: Vec<String> = words.query.split(" & ").map(|word| word.trim_matches('\'').to_owned()).collect();
    tokens.extend(words.recipient.map(|id| format!("\u{a7}{id}")));
    tokens.extend(words.sender.map(|id| format!("\u{a4}{id}")));
    tokens.iter().map(|token| format!("\"{token}\"")).collect::<Vec<_>>().join(" ")
}

/// Every shape, read both ways.
pub(super) fn all() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for way in [ReadDirection::Older, ReadDirection::Newer] {
        shapes.extend(placed(way));
        shapes.extend(searched(way));
    }
    shapes
}

/// By place, by sender and by what users have of messages.
fn placed(way: ReadDirection) -> Vec<Shape> {
    let pairs = |ids: &mut dyn Iterator<Item = i64>| {
        let pairs: Vec<String> = ids.map(|id| format!("[{},0,\"topic 3\"]", 2 * id)).collect();
        format!("[{}]", pairs.join(","))
    };
    let (many, one) = (pairs(&mut (2..43)), pairs(&mut std::iter::once(7)));
    let shape = |name: &str, source: CandidateQuery, first: &str, last: &[&str]| Shape {
        name: format!("{name} {way:?}"),
        pool: Pool::All,
        sorts: matches!(
            source,
            CandidateQuery::Recipients(..)
                | CandidateQuery::Marked(..)
                | CandidateQuery::Mentioned(_)
                | CandidateQuery::Reacted
        ),
        pages_max: PAGES_MAX,
        only: None,
        source,
        way,
        first: first.to_owned(),
        last: last.iter().map(|value| (*value).to_owned()).collect(),
    };
    let each = |name: &str, pairs: &str, along: IndexWalk, last: &[&str]| {
        let (source, list) = (CandidateQuery::Recipients(pairs.to_owned(), along), format!("'{pairs}'"));
        shape(name, source, &list, last)
    };
    let (topic, sender) = (|| IndexWalk::Topic("topic 3".to_owned()), || IndexWalk::Sender(5));
    vec![
        shape("one message", CandidateQuery::Id(5), "5", &[]),
        shape("a topic", CandidateQuery::Topic(4, "topic 3".to_owned()), "4", &["'topic 3'"]),
        shape("a sender", CandidateQuery::Sender(5), "5", &[]),
        shape("a flag that follows from texts", CandidateQuery::Flagged(5, 6), "5", &["6"]),
        shape("stars", CandidateQuery::Marked(5, 1), "5", &["1"]),
        shape("mentions", CandidateQuery::Mentioned(5), "5", &[]),
        shape("what was reacted to", CandidateQuery::Reacted, "", &[]),
        shape("what is in resolved topics", CandidateQuery::Resolved, "", &[]),
        Shape {
            // It reads rows with their texts, four times as many as are wanted.
            pages_max: 2 * PAGES_MAX,
            ..shape("the newest of many places", CandidateQuery::Feed(many.clone()), &format!("'{many}'"), &["204"])
        },
        // Each of 41 walks finds 51.
        Shape { pages_max: 10 * PAGES_MAX, ..each("each of many places", &many, IndexWalk::All, &[]) },
        each("one place", &one, IndexWalk::All, &[]),
        each("a topic in many places", &many, topic(), &["'topic 3'"]),
        each("topics that are followed", &many, IndexWalk::EachTopic, &[]),
        each("a sender in many places", &many, sender(), &["5"]),
        each("a sender in a place", &one, sender(), &["5"]),
        each("a sender who is not in a place", &one, IndexWalk::Sender(999), &["999"]),
        each("links in a place", &one, IndexWalk::Marked(2), &[]),
        each("attachments in many places", &many, IndexWalk::Marked(8), &[]),
        // As many as the place has messages are looked at.
        Shape { pages_max: 4 * PAGES_MAX, ..each("reactions in a place", &one, IndexWalk::Reacted, &[]) },
    ]
}

/// By words.
fn searched(way: ReadDirection) -> Vec<Shape> {
    let words = |query: &str| WordSearch {
        query: query.split(' ').map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" & "),
        recipient: None,
        sender: None,
        topic: None,
        marked: None,
        reacted: false,
        places: Vec::new(),
    };
    let within = |query: &str| WordSearch { recipient: Some(14), ..words(query) };
    let shape = |name: &str, words: WordSearch| {
        let numbers = words.recipient.into_iter().chain(words.sender).map(|number| number.to_string());
        let texts = words.topic.iter().cloned().chain(words.places.iter().flat_map(Places::values));
        let texts = texts.map(|text| format!("'{text}'"));
        Shape {
            only: (!words.places.is_empty()).then_some(SqlDialect::Postgres),
            name: format!("{name} {way:?}"),
            pool: Pool::Words,
            sorts: false,
            pages_max: 4 * PAGES_MAX,
            last: numbers.chain(texts).collect(),
            first: format!("'{}'", words.query.replace('\'', "''")),
            source: CandidateQuery::Words(words),
            way,
        }
    };
    let in_places = |query: &str, places: Places| WordSearch { places: vec![places], ..words(query) };
    let conversation = || Places { recipients: vec![Recipient::from(205)], ..Places::default() };
    let topic = || Places { topics: vec![(ChannelId(7), "topic 3".to_owned())], ..Places::default() };
    let resolved = || Places { resolved: true, ..Places::default() };
    vec![
        shape("a common word in one of few conversations", in_places("all", conversation())),
        shape("a common word in a followed topic", in_places("all", topic())),
        shape("a common word in resolved topics, of which there are none", in_places("all", resolved())),
        shape("a rare word in one of few conversations", in_places("rare", conversation())),
        shape("a rare word in a followed topic", in_places("rare", topic())),
        shape("a common word", words("all")),
        shape("a rare word", words("rare")),
        shape("words that are never together", words("old new")),
        shape("a word of long ago", words("old")),
        shape("a common word in a channel", within("all")),
        shape("a common word in a conversation", WordSearch { recipient: Some(205), ..words("all") }),
        shape("a word of long ago in a channel", within("old")),
        shape("a rare word in a channel", within("rare")),
        shape("two common words in a channel", within("all half")),
        shape("words that are never together in a channel", within("old new")),
        shape("a common word of a sender", WordSearch { sender: Some(5), ..words("all") }),
        shape("a common word of a sender in a channel", WordSearch { sender: Some(5), ..within("all") }),
        shape("a common word in a topic", WordSearch { topic: Some("topic 3".to_owned()), ..within("all") }),
        shape("a common word beside reactions", WordSearch { reacted: true, ..within("all") }),
        shape("a common word beside attachments in a channel", WordSearch { marked: Some(8), ..within("all \u{ac}8") }),
        shape("a common word beside few attachments", WordSearch { marked: Some(8), ..words("all \u{ac}8") }),
        shape(
            "a common word beside images, of which there are none",
            WordSearch { marked: Some(4), ..words("all \u{ac}4") },
        ),
    ]
}

/// Words that Postgres looks for alone, and the way of the search.
pub(super) fn words_alone() -> Vec<(&'static str, ReadDirection)> {
    let words =
        ["'all'", "'all' & 'half'", "'rare'", "'all' & 'rare'", "'old'", "'new'", "'old' & 'new'", "'all' & '\u{ac}4'"];
    let both = [ReadDirection::Older, ReadDirection::Newer];
    words.into_iter().flat_map(|words| both.map(|way| (words, way))).collect()
}

/// The statement of a search for words alone, for 51 messages.
pub(super) fn staged(words: &str, way: ReadDirection) -> String {
    let search = StagedSearch::new(MessageRange { after: 0, before: i64::MAX, way }, MESSAGES);
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let stages = search
        .parameters(words)
        .flat_map(|(asked, after, before)| [quoted(&asked), after.to_string(), before.to_string()]);
    let values: Vec<String> = std::iter::once("51".to_owned()).chain(stages).collect();
    let sql = search.sql().as_str().to_owned();
    let numbered = values.iter().enumerate().rev();
    numbered.fold(sql, |sql, (place, value)| sql.replace(&format!("${}", place + 1), value))
}

/// The same search without stages.
pub(super) fn without_stages(words: &str, way: ReadDirection) -> String {
    let name = format!("a rare word {way:?}");
    let shape = searched(way).into_iter().find(|shape| shape.name == name).expect("there is a search for a rare word");
    shape.sql(SqlDialect::Postgres).replace("''rare''", &words.replace('\'', "''"))
}

/// Returns the pages that a plan of Postgres took, the whole of it.
pub(super) fn pages(plan: &[String]) -> u64 {
    let buffers = plan.iter().find_map(|line| line.trim().strip_prefix("Buffers: shared "));
    let counts = buffers.unwrap_or_default().split(' ').filter_map(|part| {
        let (kind, count) = part.split_once('=')?;
        if matches!(kind, "hit" | "read") { count.parse::<u64>().ok() } else { None }
    });
    counts.sum()
}

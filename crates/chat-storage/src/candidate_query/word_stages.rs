//! How Postgres looks for words alone: from where the search begins, in stages that reach ever further.
//!
//! **Why**: an index of words has no order. Asked for the newest messages with a word, Postgres either looks up every
//! message with the word and sorts them, or reads all messages from the newest on until enough have it, and guesses
//! which of the two is cheaper. A wrong guess reads a million messages. In stages neither can: the first reads the
//! messages next to the beginning, which finds common words. Each further one looks into a stretch eight times as long,
//! of which the index has the messages as a token ([`IndexedProperty::Stretch`]). A word that the stage before found
//! seldom is in few messages of the next.

use chat_core::StoreError;
use chat_core::messages::narrow::NarrowCandidate;
use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use super::{CANDIDATE, JOIN_DIRECT, MessageRange, ReadDirection};
use crate::engine::run;
use crate::fault::{failed, search_failed};
use crate::message_decoding::{CandidateRow, candidate};
use crate::store::Shared;
use crate::word_index::{self, IndexedProperty, STRETCH_SHIFTS};

/// Numbers next to the beginning whose messages are read one by one.
const NEAREST: i64 = 2_048;

/// A part of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The messages next to the beginning, one by one.
    Nearest,
    /// Two stretches of the index of words: how long they are, in bits, and the number of the lower one.
    Stretches(u32, i64),
    /// All that is left.
    Rest,
}

impl Stage {
    /// Returns the stages of a search in their order, each with its part of the range. `newest` is the number of the
    /// newest message, as far as this node knows.
    fn all(range: MessageRange, newest: i64) -> Vec<(Self, MessageRange)> {
        let mut stages = Vec::new();
        let mut rest = range;
        let lengths = STRETCH_SHIFTS.into_iter().map(Some);
        for shift in std::iter::once(None).chain(lengths) {
            let (stage, part) = Self::next(shift, rest, newest);
            stages.push((stage, part));
            match rest.way {
                ReadDirection::Older => rest.before = part.after + 1,
                ReadDirection::Newer => rest.after = part.before - 1,
            }
            if rest.before - rest.after <= 1 {
                return stages;
            }
        }
        stages.push((Self::Rest, rest));
        stages
    }

    /// Returns the stage of that length where `rest` begins.
    fn next(shift: Option<u32>, rest: MessageRange, newest: i64) -> (Self, MessageRange) {
        let first = match rest.way {
            ReadDirection::Older => rest.before.min(newest.saturating_add(1)) - 1,
            ReadDirection::Newer => rest.after + 1,
        };
        let (stage, lowest, highest) = match (shift, rest.way) {
            (None, ReadDirection::Older) => (Self::Nearest, first - NEAREST + 1, i64::MAX),
            (None, ReadDirection::Newer) => (Self::Nearest, 0, first + NEAREST - 1),
            (Some(shift), ReadDirection::Older) => {
                let lower = (first >> shift) - 1;
                (Self::Stretches(shift, lower), lower << shift, i64::MAX)
            }
            (Some(shift), ReadDirection::Newer) => {
                let lower = first >> shift;
                (Self::Stretches(shift, lower), 0, ((lower + 2) << shift) - 1)
            }
        };
        // Nothing is known to be behind the newest: there the range may end as it does.
        let highest = if highest >= newest { i64::MAX - 1 } else { highest };
        let (after, before) = (rest.after.max(lowest - 1), rest.before.min(highest + 1));
        (stage, MessageRange { after, before, ..rest })
    }

    /// Returns what the index of words is asked for.
    fn query(self, words: &str) -> String {
        match self {
            Self::Stretches(shift, lower) => {
                let either = [lower, lower + 1].map(|number| IndexedProperty::Stretch { shift, number });
                word_index::with_stretches(words, &either)
            }
            Self::Nearest | Self::Rest => words.to_owned(),
        }
    }

    /// Returns the numbers that the stage finds, as a statement whose parameters begin with this one: what the index is
    /// asked for, and the ends of the part.
    fn sql(self, parameter: usize, way: &str) -> String {
        let words = format!("w.words @@ CAST(${parameter} AS TSQUERY)");
        let within = format!("w.rowid > ${} AND w.rowid < ${}", parameter + 1, parameter + 2);
        let among = match self {
            Self::Nearest => format!(
                "(SELECT w.rowid, w.words FROM message_words AS w WHERE {within}
        ORDER BY w.rowid {way} LIMIT {NEAREST}) AS w WHERE {words}"
            ),
            // The offset keeps Postgres from reading the messages in their order instead of the index.
            Self::Stretches(..) | Self::Rest => {
                format!("(SELECT w.rowid FROM message_words AS w WHERE {words} AND {within} OFFSET 0) AS w")
            }
        };
        format!("(SELECT w.rowid FROM {among} ORDER BY w.rowid {way} LIMIT $1)")
    }
}

/// A search by words alone: its stages, each with its part of the range.
pub(crate) struct StagedSearch {
    stages: Vec<(Stage, MessageRange)>,
    way: ReadDirection,
}

impl StagedSearch {
    /// Returns the search of a range. `newest` is the number of the newest message, as far as this node knows.
    pub(crate) fn new(range: MessageRange, newest: i64) -> Self {
        Self { stages: Stage::all(range, newest), way: range.way }
    }

    /// Returns the statement. Postgres takes up a stage when those before it did not find enough, and looks up the
    /// messages that are shown alone. Its first parameter is how many are, then come those of
    /// [`StagedSearch::parameters`].
    pub(crate) fn sql(&self) -> SqlStr {
        let way = self.way.sql();
        let stages: Vec<String> =
            self.stages.iter().enumerate().map(|(place, (stage, _))| stage.sql(2 + 3 * place, way)).collect();
        let stages = stages.join("\n    UNION ALL ");
        AssertSqlSafe(format!(
            "{CANDIDATE} (SELECT w.rowid FROM ({stages}) AS w LIMIT $1) AS w
JOIN message AS m ON m.id = w.rowid {JOIN_DIRECT} ORDER BY w.rowid {way}"
        ))
        .into_sql_str()
    }

    /// Returns the parameters of each stage in a search for these words.
    pub(crate) fn parameters(&self, words: &str) -> impl Iterator<Item = (String, i64, i64)> {
        self.stages.iter().map(move |(stage, part)| (stage.query(words), part.after, part.before))
    }
}

/// Returns the candidates of a stretch in its order, so many at most.
pub(super) async fn candidates(
    shared: &Shared,
    words: &str,
    stretch: MessageRange,
    limit: i64,
) -> Result<Vec<NarrowCandidate<'static>>, StoreError> {
    let search = StagedSearch::new(stretch, shared.memory.realm.current().log_position().0);
    let sql = search.sql();
    let mut searcher = shared.db.searcher().await.map_err(failed)?;
    let rows: Vec<CandidateRow> = run!(searcher.on(), fetch_all: {
        let query = sqlx::query_as(sql.clone()).bind(limit);
        search.parameters(words).fold(query, |query, (asked, after, before)| {
            query.bind(asked).bind(after).bind(before)
        })
    })
    .map_err(search_failed)?;
    Ok(rows.into_iter().map(candidate).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(after: i64, before: i64, way: ReadDirection) -> MessageRange {
        MessageRange { after, before, way }
    }

    /// The numbers of each stage, first and last, in the order of the search.
    fn parts(range: MessageRange, newest: i64) -> Vec<(Stage, i64, i64)> {
        Stage::all(range, newest).into_iter().map(|(stage, part)| (stage, part.after + 1, part.before - 1)).collect()
    }

    #[test]
    fn stages_reach_back_to_the_oldest_message_and_each_number_is_in_one() {
        let found = parts(range(0, i64::MAX, ReadDirection::Older), 1_000_000);
        let last = i64::MAX - 1;
        assert_eq!(
            found,
            [
                (Stage::Nearest, 997_953, last),
                (Stage::Stretches(11, 486), 995_328, 997_952),
                (Stage::Stretches(14, 59), 966_656, 995_327),
                (Stage::Stretches(17, 6), 786_432, 966_655),
                (Stage::Stretches(20, -1), 1, 786_431),
            ]
        );
        let few = parts(range(10, 100, ReadDirection::Older), 1_000_000);
        assert_eq!(few, [(Stage::Nearest, 11, 99)]);
    }

    #[test]
    fn stages_reach_the_newest_message_and_what_comes_after_it() {
        let found = parts(range(5_000, i64::MAX, ReadDirection::Newer), 100_000);
        assert_eq!(
            found,
            [
                (Stage::Nearest, 5_001, 7_048),
                (Stage::Stretches(11, 3), 7_049, 10_239),
                (Stage::Stretches(14, 0), 10_240, 32_767),
                (Stage::Stretches(17, 0), 32_768, i64::MAX - 1),
            ]
        );
    }

    #[test]
    fn every_number_is_in_exactly_one_stage_and_in_the_stretches_that_the_stage_names() {
        for way in [ReadDirection::Older, ReadDirection::Newer] {
            for (after, before) in [(0, i64::MAX), (3, 40_000), (700_000, 3_000_000), (9_999_999, i64::MAX)] {
                let stages = Stage::all(range(after, before, way), 20_000_000);
                for number in (after + 1..before.min(20_000_001)).step_by(977) {
                    let of: Vec<_> =
                        stages.iter().filter(|(_, part)| part.after < number && number < part.before).collect();
                    assert_eq!(of.len(), 1, "{number} {way:?} {stages:?}");
                    if let (Stage::Stretches(shift, lower), _) = of[0] {
                        assert!((*lower..=lower + 1).contains(&(number >> shift)), "{number} {way:?} {stages:?}");
                    }
                }
            }
        }
    }
}

//! Where the two engines differ in the SQL of this crate: fragments, as [`sql_engines`] replaces them in statements.

use sql_engines::{SqlFragment, SqlFragments};

/// A statement of this crate.
pub(crate) type Sql = sql_engines::SqlTemplate<ChatFragments>;

/// The fragments of this crate.
#[derive(Debug)]
pub(crate) struct ChatFragments;

impl SqlFragments for ChatFragments {
    const CRATE_FRAGMENTS: &'static [SqlFragment] = FRAGMENTS;
}

const FRAGMENTS: &[SqlFragment] = &[
    // A list of numbers that travels as one parameter, to be joined, where thousands may be asked for: as `value`, each
    // once.
    ("numbers", "(SELECT json_array_elements_text(@::JSON)::BIGINT AS value)", "json_each(@)"),
    // As `{in_numbers}`, of texts.
    ("in_texts", "= ANY(ARRAY(SELECT json_array_elements_text(@::JSON)))", "IN (SELECT value FROM json_each(@))"),
    // Of the rows of `message_flag` of a user those of an ascending list of messages. The flag stands before the
    // message in the key, so without it SQLite reads all that the user has (120,000 rows: 7 ms, and 0.2 so, with 500
    // messages); with `+` it walks along the key from the first message to the last instead of looking for each.
    (
        "flags_of",
        "message_id = ANY(ARRAY(SELECT json_array_elements_text(@::JSON)::BIGINT))",
        "flag IN (3, 5, 6) AND message_id BETWEEN @ ->> 0 AND @ ->> '$[#-1]'
    AND +message_id IN (SELECT value FROM json_each(@))",
    ),
    // Stems with blanks between, as the index of words takes them, and whether a row (`w`) of it has all that are asked
    // for; the operator is the argument, because it is spelled as one.
    ("words", "array_to_tsvector(string_to_array(@, ' '))", "@"),
    ("has_words", "w.words @ CAST($1 AS TSQUERY)", "w.message_words MATCH $1"),
    // Subscriptions that travel as parameters: on Postgres an array for each column, because taking rows out of a JSON
    // text costs it six microseconds each, on SQLite one JSON array of rows.
    (
        "subscriptions",
        "(SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::TEXT[]) AS given (channel_id, user_id, document))",
        "(SELECT value ->> 0 AS channel_id, value ->> 1 AS user_id, value ->> 2 AS document FROM json_each($1))",
    ),
    // The same without documents: the channel and the user of each. `at` is the parameter after them.
    (
        "memberships",
        "(SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[]) AS given (channel_id, user_id))",
        "(SELECT value ->> 0 AS channel_id, value ->> 1 AS user_id FROM json_each($1))",
    ),
    ("at", "$3", "$2"),
    // A column whose index is not to drive the statement; Postgres chooses by its statistics.
    ("not_indexed", "@", "+@"),
    // The numbers of a column that holds a JSON array, as `e.value`, each joined to its row.
    (
        "each_number",
        "CROSS JOIN LATERAL (SELECT number::BIGINT AS value FROM json_array_elements_text(@::JSON) AS number) AS e",
        "JOIN json_each(@) AS e",
    ),
    // The recipients of a list of `[recipient, after]` that travels in the same way.
    (
        "in_recipients",
        "= ANY(ARRAY(SELECT (pair ->> 0)::BIGINT FROM json_array_elements(@::JSON) AS pair))",
        "IN (SELECT value ->> 0 FROM json_each(@))",
    ),
    // The newest or oldest `$4` messages (`m`) of such a list in `$1`, each recipient's after its own mark and all
    // between `$2` and `$3`: as many walks along an index as there are recipients. `[along]` stands for a condition
    // more, `[first]` for what is ordered by before the number.
    (
        "of_each",
        "(SELECT x.id FROM (
    SELECT (pair ->> 0)::BIGINT AS recipient_id, (pair ->> 1)::BIGINT AS after_id, pair ->> 2 AS topic_key
    FROM json_array_elements($1::JSON) AS pair
) AS wanted
CROSS JOIN LATERAL (SELECT y.id FROM message AS y WHERE y.recipient_id = wanted.recipient_id[along]
    ORDER BY [first]y.id @ LIMIT CAST($4 AS BIGINT)) AS x
ORDER BY x.id @ LIMIT CAST($4 AS BIGINT)) AS picked JOIN message AS m ON m.id = picked.id",
        "(SELECT x.id FROM (
    SELECT value ->> 0 AS recipient_id, value ->> 1 AS after_id, value ->> 2 AS topic_key FROM json_each($1)
) AS wanted
JOIN message AS x ON x.id IN (SELECT y.id FROM message AS y WHERE y.recipient_id = wanted.recipient_id
    AND y.id > max($2, wanted.after_id) AND y.id < $3[along] ORDER BY [first]y.id @ LIMIT CAST($4 AS BIGINT))
ORDER BY x.id @ LIMIT CAST($4 AS BIGINT)) AS picked JOIN message AS m ON m.id = picked.id",
    ),
];

#[cfg(test)]
mod tests {
    use sql_engines::SqlDialect;

    use super::*;

    #[test]
    fn flags_that_are_rows_are_looked_for_by_their_numbers() {
        let numbers = crate::flags::OF_TEXT.map(|flag| flag.database_number().to_string()).join(", ");
        assert!(
            Sql::render_dynamic_template(SqlDialect::Sqlite, "{flags_of:$2}")
                .starts_with(&format!("flag IN ({numbers}) AND "))
        );
    }
}

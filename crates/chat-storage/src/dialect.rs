//! Where the two engines speak differently: a dozen fragments, each with the name a statement
//! uses it by.
//!
//! A statement is written once. What differs stands in it as `{name}` or `{name:argument}` and is
//! replaced per engine when the statement is first used; `@` in a fragment is the argument.

use std::sync::{Arc, OnceLock};

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

/// An engine's way of writing SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Postgres,
    Sqlite,
}

/// One fragment: its name, then its text on Postgres and on SQLite.
type Fragment = (&'static str, &'static str, &'static str);

const FRAGMENTS: &[Fragment] = &[
    // Whether there is such a table.
    (
        "has_table",
        "SELECT to_regclass('@') IS NOT NULL",
        "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = '@'",
    ),
    // Row locks: SQLite has one writer at a time and needs none.
    ("for_update", "FOR UPDATE", ""),
    // A list that travels as one parameter, a JSON array.
    (
        "in_numbers",
        "= ANY(ARRAY(SELECT json_array_elements_text(@::JSON)::BIGINT))",
        "IN (SELECT value FROM json_each(@))",
    ),
    // The same to be joined, where thousands may be asked for: as `value`, each once.
    ("numbers", "(SELECT json_array_elements_text(@::JSON)::BIGINT AS value)", "json_each(@)"),
    ("in_texts", "= ANY(ARRAY(SELECT json_array_elements_text(@::JSON)))", "IN (SELECT value FROM json_each(@))"),
    // Of the rows of `message_flag` of a user those of an ascending list of messages. The flag stands before the message
    // in the key, so without it SQLite reads all that the user has (120,000 rows: 7 ms, and 0.2 so, with 500 messages);
    // with `+` it walks along the key from the first message to the last instead of looking for each.
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
    // Rows that travel as one parameter, a JSON array of arrays, as `item.value`; and a number of such a row by its place.
    ("rows", "json_array_elements(@::JSON)", "json_each(@)"),
    ("member", "(item.value ->> @)::BIGINT", "item.value ->> @"),
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

impl Dialect {
    /// The engine that speaks it, as people write its name.
    pub(crate) fn engine_name(self) -> &'static str {
        match self {
            Self::Postgres => "Postgres",
            Self::Sqlite => "SQLite",
        }
    }

    /// The statement in this dialect, of a template that was put together of this crate's own texts.
    pub(crate) fn own_text(self, template: &str) -> SqlStr {
        AssertSqlSafe(self.render(template)).into_sql_str()
    }

    /// The statement in this dialect. What is in braces and is no fragment stays as it is.
    pub(crate) fn render(self, template: &str) -> String {
        let mut sql = String::with_capacity(template.len() * 2);
        let mut rest = template;
        while let Some((before, opened)) = rest.split_once('{') {
            sql.push_str(before);
            let Some((inside, after)) = opened.split_once('}') else {
                sql.push('{');
                rest = opened;
                continue;
            };
            let (name, argument) = inside.split_once(':').unwrap_or((inside, ""));
            match self.fragment(name) {
                Some(text) => sql.push_str(&text.replace('@', argument)),
                None => sql.extend(["{", inside, "}"]),
            }
            rest = after;
        }
        sql.push_str(rest);
        sql
    }

    fn fragment(self, name: &str) -> Option<&'static str> {
        let (_, postgres, sqlite) = FRAGMENTS.iter().find(|(known, ..)| *known == name)?;
        Some(match self {
            Self::Postgres => postgres,
            Self::Sqlite => sqlite,
        })
    }
}

/// A statement, rendered once per engine.
pub(crate) struct Sql {
    template: &'static str,
    postgres: OnceLock<Arc<str>>,
    sqlite: OnceLock<Arc<str>>,
}

impl Sql {
    pub(crate) const fn new(template: &'static str) -> Self {
        Self { template, postgres: OnceLock::new(), sqlite: OnceLock::new() }
    }

    /// Returns the text for an engine. It holds nothing but what stands in this crate's source.
    pub(crate) fn on(&self, dialect: Dialect) -> SqlStr {
        let rendered = match dialect {
            Dialect::Postgres => &self.postgres,
            Dialect::Sqlite => &self.sqlite,
        };
        let text = rendered.get_or_init(|| dialect.render(self.template).into());
        AssertSqlSafe(Arc::clone(text)).into_sql_str()
    }
}

/// `INSERT … VALUES` with so many rows of so many columns. The texts around stand in this crate's source.
///
/// On SQLite the parameters have no names: a name is looked for among all of them when it is bound.
pub(crate) fn insert_rows(dialect: Dialect, before: &str, (rows, columns): (usize, usize), after: &str) -> SqlStr {
    let mut sql = format!("{before} VALUES ");
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..columns {
            sql.push_str(if column == 0 { "" } else { ", " });
            match dialect {
                Dialect::Postgres => sql.extend(["$", &(row * columns + column + 1).to_string()]),
                Dialect::Sqlite => sql.push('?'),
            }
        }
        sql.push(')');
    }
    sql.push_str(after);
    AssertSqlSafe(sql).into_sql_str()
}

/// Most rows of one `VALUES` list.
const PIECE_MAX: usize = 64;

/// Rows in pieces of 64, 32, 16 … rows, so that there are few statements to prepare.
pub(crate) fn pieces<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let largest = (1 << rows.len().checked_ilog2()?).min(PIECE_MAX);
        let (piece, rest) = rows.split_at_checked(largest)?;
        rows = rest;
        Some(piece)
    })
}

/// Numbers as the parameter of `{in_numbers}`.
pub(crate) fn numbers(numbers: impl IntoIterator<Item = i64>) -> String {
    let mut text = String::from("[");
    for (place, number) in numbers.into_iter().enumerate() {
        text.push_str(if place == 0 { "" } else { "," });
        text.push_str(&number.to_string());
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_are_rows_are_looked_for_by_their_numbers() {
        let numbers = crate::copies::OF_TEXT.map(|flag| flag.number().to_string()).join(", ");
        assert!(Dialect::Sqlite.render("{flags_of:$2}").starts_with(&format!("flag IN ({numbers}) AND ")));
    }

    #[test]
    fn a_fragment_takes_its_argument_and_the_rest_stays() {
        let template = "SELECT a FROM t WHERE a {in_numbers:$2} AND b = '{}' {for_update}";
        assert_eq!(
            Dialect::Postgres.render(template),
            "SELECT a FROM t WHERE a = ANY(ARRAY(SELECT json_array_elements_text($2::JSON)::BIGINT)) AND b = '{}' \
             FOR UPDATE"
        );
        assert_eq!(
            Dialect::Sqlite.render(template),
            "SELECT a FROM t WHERE a IN (SELECT value FROM json_each($2)) AND b = '{}' "
        );
    }

    #[test]
    fn rows_fall_into_few_sizes_of_pieces() {
        let rows: Vec<u8> = (0..203).collect();
        let sizes: Vec<usize> = pieces(&rows).map(<[u8]>::len).collect();
        assert_eq!(sizes, [64, 64, 64, 8, 2, 1]);
        assert_eq!(pieces(&rows).flatten().copied().collect::<Vec<_>>(), rows);
        assert_eq!(pieces::<u8>(&[]).count(), 0);
    }

    #[test]
    fn a_list_of_rows_numbers_its_parameters() {
        let insertion = |dialect| insert_rows(dialect, "INSERT", (2, 2), "").as_str().to_owned();
        assert_eq!(insertion(Dialect::Postgres), "INSERT VALUES ($1, $2), ($3, $4)");
        assert_eq!(insertion(Dialect::Sqlite), "INSERT VALUES (?, ?), (?, ?)");
        assert_eq!(numbers([1, -2]), "[1,-2]");
    }
}

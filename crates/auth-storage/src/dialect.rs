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
    // A column of unix microseconds, and a parameter of them, as users' SQL sees time.
    ("us", "(extract(epoch FROM @) * 1000000)::BIGINT", "@"),
    ("from_us", "(TIMESTAMPTZ 'epoch' + @ * INTERVAL '1 microsecond')", "@"),
    // The number of the next write.
    (
        "next_version",
        "SELECT nextval('transaction_id_seq')",
        "UPDATE transaction_id_seq SET last_value = last_value + 1 RETURNING last_value",
    ),
    // The numbers of so many writes: all of them, or the last of a row without gaps.
    (
        "next_versions",
        "SELECT nextval('transaction_id_seq') FROM generate_series(1, @)",
        "UPDATE transaction_id_seq SET last_value = last_value + @ RETURNING last_value",
    ),
    // The numbers of as many writes as an array of JSON has elements: set aside, then taken one each.
    (
        "reserve_versions",
        "SELECT 1 WHERE @::TEXT IS NOT NULL",
        "UPDATE transaction_id_seq SET last_value = last_value + json_array_length(@)",
    ),
    (
        "reserved_version",
        "nextval('transaction_id_seq')",
        "(SELECT last_value FROM transaction_id_seq) - json_array_length(@) + e.key + 1",
    ),
    // The elements of an array of JSON, a row each, called `e.value`.
    ("elements", "jsonb_array_elements(@::TEXT::JSONB) AS e (value)", "json_each(@) AS e"),
    // The texts of a parameter, a row each, called `e.value`, and their places, from 0 on. On Postgres the parameter is
    // an array of text, on SQLite one of JSON.
    ("texts", "unnest(@::TEXT[]) WITH ORDINALITY AS e (value, key)", "json_each(@) AS e"),
    ("place", "e.key - 1", "e.key"),
    // Bytes that travel as text.
    ("from_hex", "decode(@, 'hex')", "unhex(@)"),
    // The opaque token with a hash in hexadecimal, called `o`, found by its index however large the engine takes the
    // table to be; and one of its claims.
    (
        "opaque_token",
        "LEFT JOIN LATERAL (SELECT t.* FROM opaque_token t WHERE t.hash = decode(@, 'hex') LIMIT 1) o ON TRUE",
        "LEFT JOIN opaque_token o ON o.hash = unhex(@)",
    ),
    ("opaque_claim", "o.claims::JSON ->> '@'", "o.claims ->> '@'"),
    // Whether there is such a table.
    (
        "has_table",
        "SELECT to_regclass('@') IS NOT NULL",
        "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = '@'",
    ),
    // Column definitions of a resource table.
    ("txid_column", "txid BIGINT NOT NULL DEFAULT nextval('transaction_id_seq')", "txid BIGINT NOT NULL DEFAULT 0"),
    (
        "ts_column",
        "ts TIMESTAMPTZ NOT NULL DEFAULT now()",
        "ts BIGINT NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER))",
    ),
    ("document", "JSONB", "TEXT"),
    // What a history holds in place of a document that stands in the table of its type.
    ("in_table", "'null'::JSONB", "'null'"),
    // A document that travels as text.
    ("from_text", "(@)::JSONB", "@"),
    // An id sorts by its bytes on both engines, whatever the database's locale.
    ("id_column", "id TEXT COLLATE \"C\"", "id TEXT"),
    // Row locks: SQLite has one writer at a time and needs none.
    ("for_update", "FOR UPDATE", ""),
    ("skip_locked", "FOR UPDATE SKIP LOCKED", ""),
    // What a User may be named by, as its index has it: ASCII letters in lower case.
    (
        "login",
        "lower((u.resource ->> '@') COLLATE \"C\")",
        "CASE WHEN json_valid(u.resource) THEN lower(u.resource ->> '@') END",
    ),
    // Whose tokens a TokenIntrospector is about.
    (
        "introspected_issuer",
        "t.resource -> 'jwt' ->> 'iss'",
        "CASE WHEN json_valid(t.resource) THEN t.resource -> 'jwt' ->> 'iss' END",
    ),
    // What members are found by, as the indexes of Patient and Coverage have it, and whose a Consent is.
    ("member", "t.resource ->> '@'", "CASE WHEN json_valid(t.resource) THEN t.resource ->> '@' END"),
    // When what a Group is for is over.
    (
        "group_end",
        "@ #>> '{characteristic,0,period,end}'",
        "CASE WHEN json_valid(@) THEN @ ->> '$.characteristic[0].period.end' END",
    ),
    // Whether a Patient may have a family name, as far as letters of ASCII tell; whoever asks compares exactly.
    (
        "may_be_named",
        "EXISTS (SELECT 1 FROM jsonb_path_query(t.resource, '$.name[*].family') n
            WHERE strpos(lower((n #>> '{}') COLLATE \"C\"), @) > 0)",
        "EXISTS (SELECT 1 FROM json_each(t.resource, '$.name') n
            WHERE CASE n.type WHEN 'object' THEN instr(lower(n.value ->> 'family'), @) > 0 END)",
    ),
    (
        "of_patient",
        "t.resource -> 'patient' ->> '@'",
        "CASE WHEN json_valid(t.resource) THEN t.resource -> 'patient' ->> '@' END",
    ),
    // At the end of a subquery: it stays what it is. Without it Postgres may read all rows that meet a test on one
    // resource, and join them; SQLite never begins with what a test looks at.
    ("fence", "OFFSET 0", ""),
    // Behind a table: the index that SQLite takes. It knows nothing of the rows, so of two indexes that begin alike it
    // may take the one whose further columns are of no use.
    ("by", "", "@"),
    // How the engine would go about a statement, a row for each step, told in its last column.
    ("explain", "EXPLAIN", "EXPLAIN QUERY PLAN"),
    // A table emptied at once, without visiting its rows.
    ("truncate", "TRUNCATE", "DELETE FROM"),
];

impl Dialect {
    /// The engine that speaks it, as people write its name.
    pub(crate) fn engine_name(self) -> &'static str {
        match self {
            Self::Postgres => "Postgres",
            Self::Sqlite => "SQLite",
        }
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

/// Bytes in lower-case hexadecimal: how they travel inside a JSON parameter.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_takes_its_argument_and_the_rest_stays() {
        let template = "SELECT {us:t.ts} FROM t WHERE a = '{}' {for_update}";
        assert_eq!(
            Dialect::Postgres.render(template),
            "SELECT (extract(epoch FROM t.ts) * 1000000)::BIGINT FROM t WHERE a = '{}' FOR UPDATE"
        );
        assert_eq!(Dialect::Sqlite.render(template), "SELECT t.ts FROM t WHERE a = '{}' ");
    }

    #[test]
    fn an_unclosed_brace_is_text() {
        assert_eq!(Dialect::Sqlite.render("a { b"), "a { b");
    }
}

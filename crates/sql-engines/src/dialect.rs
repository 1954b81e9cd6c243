//! Where the two engines differ in SQL: fragments, each with the name by which a statement uses it.
//!
//! A statement is written once. What differs stands in it as `{name}` or `{name:argument}` and is replaced per engine
//! when the statement is first used; `@` in a fragment is the argument. A storage crate lists its fragments in one
//! [`SqlFragments`]; those that know no table are in this file.
//!
//! **Decision:** the typed drivers with a text per engine. The road not taken is the `Any` driver of `sqlx`, which
//! costs half the speed and refuses types.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

/// The SQL dialect of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlDialect {
    /// The dialect of Postgres.
    Postgres,
    /// The dialect of SQLite.
    Sqlite,
}

/// A fragment of SQL that differs between engines: its name, its Postgres text, its SQLite text.
pub type SqlFragment = (&'static str, &'static str, &'static str);

/// The SQL fragments of a storage crate.
pub trait SqlFragments {
    /// The fragments of the storage crate. They take precedence over the fragments of the same name in this crate.
    const CRATE_FRAGMENTS: &'static [SqlFragment];
}

/// What every storage crate needs.
const COMMON: &[SqlFragment] = &[
    // Row locks: SQLite has one writer at a time and needs none.
    ("for_update", "FOR UPDATE", ""),
    // A list of numbers that travels as one parameter, a JSON array: see `numbers`.
    (
        "in_numbers",
        "= ANY(ARRAY(SELECT json_array_elements_text(@::JSON)::BIGINT))",
        "IN (SELECT value FROM json_each(@))",
    ),
];

impl SqlDialect {
    /// Returns the name of the engine, as people write it: `Postgres` or `SQLite`.
    #[must_use]
    pub const fn engine_name(self) -> &'static str {
        match self {
            Self::Postgres => "Postgres",
            Self::Sqlite => "SQLite",
        }
    }

    /// Returns the fragment of this name, if it is among `own` or those of this crate.
    fn fragment(self, own: &[SqlFragment], name: &str) -> Option<&'static str> {
        let (_, postgres, sqlite) = own.iter().chain(COMMON).find(|(known, ..)| *known == name)?;
        Some(match self {
            Self::Postgres => postgres,
            Self::Sqlite => sqlite,
        })
    }

    fn render(self, own: &[SqlFragment], template: &str) -> String {
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
            match self.fragment(own, name) {
                Some(text) => sql.push_str(&text.replace('@', argument)),
                None => sql.extend(["{", inside, "}"]),
            }
            rest = after;
        }
        sql.push_str(rest);
        sql
    }
}

/// A SQL statement with fragments `F` in braces, rendered once per engine.
#[derive(Debug)]
pub struct SqlTemplate<F> {
    template: &'static str,
    postgres: OnceLock<Arc<str>>,
    sqlite: OnceLock<Arc<str>>,
    fragments: PhantomData<fn() -> F>,
}

impl<F: SqlFragments> SqlTemplate<F> {
    /// Creates a statement; it is rendered at its first use.
    #[must_use]
    pub const fn new(template: &'static str) -> Self {
        Self { template, postgres: OnceLock::new(), sqlite: OnceLock::new(), fragments: PhantomData }
    }

    /// Returns the statement in a dialect. It is rendered at its first use, of texts in the source of the program
    /// alone.
    pub fn text_for_dialect(&self, dialect: SqlDialect) -> SqlStr {
        let rendered = match dialect {
            SqlDialect::Postgres => &self.postgres,
            SqlDialect::Sqlite => &self.sqlite,
        };
        let text = rendered.get_or_init(|| Self::render_dynamic_template(dialect, self.template).into());
        AssertSqlSafe(Arc::clone(text)).into_sql_str()
    }

    /// Renders a template that is not a constant. Text in braces that is not the name of a fragment stays as it is.
    #[must_use]
    pub fn render_dynamic_template(dialect: SqlDialect, template: &str) -> String {
        dialect.render(F::CRATE_FRAGMENTS, template)
    }

    /// Renders a template as [`SqlTemplate::render_dynamic_template`] does, as SQL that can be run. The template must consist
    /// of texts in the source of the program; values are parameters, never parts of it.
    #[must_use]
    pub fn render_to_sql_str(dialect: SqlDialect, template: &str) -> SqlStr {
        AssertSqlSafe(Self::render_dynamic_template(dialect, template)).into_sql_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Common;

    impl SqlFragments for Common {
        const CRATE_FRAGMENTS: &'static [SqlFragment] = &[];
    }

    struct Clock;

    impl SqlFragments for Clock {
        const CRATE_FRAGMENTS: &'static [SqlFragment] = &[("us", "(extract(epoch FROM @) * 1000000)::BIGINT", "@")];
    }

    #[test]
    fn a_fragment_takes_its_argument_and_the_rest_stays() {
        let template = "SELECT {us:t.ts} FROM t WHERE a {in_numbers:$2} AND b = '{}' {for_update}";
        assert_eq!(
            SqlTemplate::<Clock>::render_dynamic_template(SqlDialect::Postgres, template),
            "SELECT (extract(epoch FROM t.ts) * 1000000)::BIGINT FROM t WHERE a \
             = ANY(ARRAY(SELECT json_array_elements_text($2::JSON)::BIGINT)) AND b = '{}' FOR UPDATE"
        );
        assert_eq!(
            SqlTemplate::<Clock>::render_dynamic_template(SqlDialect::Sqlite, template),
            "SELECT t.ts FROM t WHERE a IN (SELECT value FROM json_each($2)) AND b = '{}' "
        );
    }

    #[test]
    fn an_unclosed_brace_is_text() {
        assert_eq!(SqlTemplate::<Common>::render_dynamic_template(SqlDialect::Sqlite, "a { b"), "a { b");
    }

    #[test]
    fn a_statement_is_rendered_for_the_engine_that_asks() {
        static LOCKED: SqlTemplate<Common> = SqlTemplate::new("SELECT 1 {for_update}");
        for _ in 0..2 {
            assert_eq!(LOCKED.text_for_dialect(SqlDialect::Postgres).as_str(), "SELECT 1 FOR UPDATE");
            assert_eq!(LOCKED.text_for_dialect(SqlDialect::Sqlite).as_str(), "SELECT 1 ");
        }
    }
}

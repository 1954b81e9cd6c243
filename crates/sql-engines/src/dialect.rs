//! Where the two engines differ in SQL: fragments, each with the name by which a statement uses it.
//!
//! A statement is written once. What differs stands in it as `{name}` or `{name:argument}` and is replaced per engine
//! when the statement is first used; `@` in a fragment is the argument. A storage crate lists its fragments in one
//! [`Fragments`]; those that know no table are in this file.
//!
//! **Decision:** the typed drivers with a text per engine. The road not taken is the `Any` driver of `sqlx`, which costs
//! half the speed and refuses types.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

/// An engine's variant of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// What Postgres understands.
    Postgres,
    /// What SQLite understands.
    Sqlite,
}

/// One fragment: its name, then its text on Postgres and on SQLite.
pub type Fragment = (&'static str, &'static str, &'static str);

/// The fragments of a storage crate.
pub trait Fragments {
    /// All of them, besides those of this crate. A name that this crate has too is found here first.
    const OWN: &'static [Fragment];
}

/// What every storage crate needs.
const COMMON: &[Fragment] = &[
    // Row locks: SQLite has one writer at a time and needs none.
    ("for_update", "FOR UPDATE", ""),
    // A list of numbers that travels as one parameter, a JSON array: see `numbers`.
    (
        "in_numbers",
        "= ANY(ARRAY(SELECT json_array_elements_text(@::JSON)::BIGINT))",
        "IN (SELECT value FROM json_each(@))",
    ),
];

impl Dialect {
    /// Returns the name of the engine, as people write it.
    #[must_use]
    pub const fn engine_name(self) -> &'static str {
        match self {
            Self::Postgres => "Postgres",
            Self::Sqlite => "SQLite",
        }
    }

    /// Returns the fragment of this name, if it is among `own` or those of this crate.
    fn fragment(self, own: &[Fragment], name: &str) -> Option<&'static str> {
        let (_, postgres, sqlite) = own.iter().chain(COMMON).find(|(known, ..)| *known == name)?;
        Some(match self {
            Self::Postgres => postgres,
            Self::Sqlite => sqlite,
        })
    }

    fn render(self, own: &[Fragment], template: &str) -> String {
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

/// A statement in terms of the fragments `F`, rendered once per engine.
#[derive(Debug)]
pub struct Sql<F> {
    template: &'static str,
    postgres: OnceLock<Arc<str>>,
    sqlite: OnceLock<Arc<str>>,
    fragments: PhantomData<fn() -> F>,
}

impl<F: Fragments> Sql<F> {
    /// Makes a statement; nothing is rendered before its first use.
    #[must_use]
    pub const fn new(template: &'static str) -> Self {
        Self { template, postgres: OnceLock::new(), sqlite: OnceLock::new(), fragments: PhantomData }
    }

    /// Returns the text for an engine. It has nothing in it but what stands in the source of the program.
    pub fn on(&self, dialect: Dialect) -> SqlStr {
        let rendered = match dialect {
            Dialect::Postgres => &self.postgres,
            Dialect::Sqlite => &self.sqlite,
        };
        let text = rendered.get_or_init(|| Self::render(dialect, self.template).into());
        AssertSqlSafe(Arc::clone(text)).into_sql_str()
    }

    /// Returns a template that is not static in a dialect. What is in braces and is no fragment stays as it is.
    #[must_use]
    pub fn render(dialect: Dialect, template: &str) -> String {
        dialect.render(F::OWN, template)
    }

    /// As [`Sql::render`], ready to run. The caller makes the template of texts in the source alone: values are
    /// parameters, never parts of it.
    #[must_use]
    pub fn text(dialect: Dialect, template: &str) -> SqlStr {
        AssertSqlSafe(Self::render(dialect, template)).into_sql_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Common;

    impl Fragments for Common {
        const OWN: &'static [Fragment] = &[];
    }

    struct Clock;

    impl Fragments for Clock {
        const OWN: &'static [Fragment] = &[("us", "(extract(epoch FROM @) * 1000000)::BIGINT", "@")];
    }

    #[test]
    fn a_fragment_takes_its_argument_and_the_rest_stays() {
        let template = "SELECT {us:t.ts} FROM t WHERE a {in_numbers:$2} AND b = '{}' {for_update}";
        assert_eq!(
            Sql::<Clock>::render(Dialect::Postgres, template),
            "SELECT (extract(epoch FROM t.ts) * 1000000)::BIGINT FROM t WHERE a \
             = ANY(ARRAY(SELECT json_array_elements_text($2::JSON)::BIGINT)) AND b = '{}' FOR UPDATE"
        );
        assert_eq!(
            Sql::<Clock>::render(Dialect::Sqlite, template),
            "SELECT t.ts FROM t WHERE a IN (SELECT value FROM json_each($2)) AND b = '{}' "
        );
    }

    #[test]
    fn an_unclosed_brace_is_text() {
        assert_eq!(Sql::<Common>::render(Dialect::Sqlite, "a { b"), "a { b");
    }

    #[test]
    fn a_statement_is_rendered_for_the_engine_that_asks() {
        static LOCKED: Sql<Common> = Sql::new("SELECT 1 {for_update}");
        for _ in 0..2 {
            assert_eq!(LOCKED.on(Dialect::Postgres).as_str(), "SELECT 1 FOR UPDATE");
            assert_eq!(LOCKED.on(Dialect::Sqlite).as_str(), "SELECT 1 ");
        }
    }
}

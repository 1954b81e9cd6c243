//! Which table holds a type, and making one for a type that has none yet.

use std::sync::Arc;

use aws_lc_rs::digest;
use fhir_resource::ResourceType;
use sql_engines::{SqlDialect, run};
use sqlx::SqlStr;

use super::history_triggers;
use crate::db::AuthDatabase;
use crate::dialect::{Sql, hex};
use crate::engine::Tx;

/// Longest type whose table bears its name. Postgres cuts names at 63 bytes, and the history's
/// name is longer by eight, that of its index and that of the trigger by eleven.
const NAME_MAX_BYTES: usize = 50;
/// Bytes of the digest that tells tables of longer types apart.
const DIGEST_BYTES: usize = 8;

const FIND: &str = "SELECT name FROM resource_type WHERE table_name = $1";
const REGISTER: &str = "INSERT INTO resource_type (table_name, name) VALUES ($1, $2)";
const CREATE: &str = "CREATE TABLE IF NOT EXISTS {table} (
    {id_column} PRIMARY KEY NOT NULL,
    {txid_column},
    {ts_column},
    resource {document} NOT NULL
)";
const CREATE_HISTORY: &str = "CREATE TABLE IF NOT EXISTS {history} (
    {id_column} NOT NULL,
    txid BIGINT NOT NULL,
    {ts_column},
    op TEXT NOT NULL,
    resource {document} NOT NULL,
    PRIMARY KEY (id, txid)
)";
/// What changed since a moment is asked for again and again.
const CREATE_INDEX: &str = "CREATE INDEX IF NOT EXISTS {table_at} ON {table} (ts, id)";
/// A history is read newest first.
const CREATE_HISTORY_INDEX: &str = "CREATE INDEX IF NOT EXISTS {history_at} ON {history} (ts, txid)";

/// The table of a type. There is one only for a type whose table exists.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    kind: Arc<str>,
    name: Arc<str>,
}

/// What the database says about a type.
pub(crate) enum Found {
    /// It has a table.
    Table(Table),
    /// Nothing of it was ever written.
    None,
    /// Its table belongs to a type that differs in case alone. Types are told apart by case, so
    /// nothing of the other may be read or written under this name.
    Other,
}

impl Table {
    /// Returns the type it holds, as resources spell it.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// Its name as a statement spells it.
    pub(crate) fn quoted(&self) -> String {
        format!("\"{}\"", self.name)
    }

    /// Returns the table of a type of which the caller knows that it has one.
    pub(super) fn registered(kind: &ResourceType) -> Self {
        Self { kind: kind.as_str().into(), name: name_of(kind).into() }
    }

    /// Returns the table of a type, or `None` when the type has no resources.
    pub(crate) async fn find(db: &AuthDatabase, kind: &ResourceType) -> Result<Option<Self>, sqlx::Error> {
        if let Some(known) = db.known_table(kind.as_str()) {
            return Ok(Some(known));
        }
        let name = name_of(kind);
        let holds = run!(db.reader(), fetch_optional: sqlx::query_scalar(FIND).bind(&name))?;
        match found(kind, name, holds) {
            Found::Table(table) => {
                db.remember_tables([table.clone()]);
                Ok(Some(table))
            }
            Found::None | Found::Other => Ok(None),
        }
    }

    /// The same inside a transaction, telling why there is none.
    pub(crate) async fn find_in(tx: &mut Tx, kind: &ResourceType) -> Result<Found, sqlx::Error> {
        let name = name_of(kind);
        let holds = run!(tx.on(), fetch_optional: sqlx::query_scalar(FIND).bind(&name))?;
        Ok(found(kind, name, holds))
    }

    /// Makes the tables of a type that has none. The caller holds the lock of the type.
    pub(crate) async fn create(tx: &mut Tx, kind: &ResourceType) -> Result<Self, sqlx::Error> {
        let table = Self::registered(kind);
        table.make(tx).await?;
        history_triggers::watch(tx, &table).await?;
        run!(tx.on(), execute: sqlx::query(REGISTER).bind(&*table.name).bind(&*table.kind))?;
        Ok(table)
    }

    /// Makes what is missing of its tables and their indexes.
    pub(super) async fn make(&self, tx: &mut Tx) -> Result<(), sqlx::Error> {
        for template in [CREATE, CREATE_INDEX, CREATE_HISTORY, CREATE_HISTORY_INDEX] {
            let sql = self.sql(tx.dialect(), template);
            run!(tx.on(), execute: sqlx::query(sql))?;
        }
        Ok(())
    }

    /// Returns the table of a type, made if there is none. The caller holds the lock of the type.
    pub(crate) async fn find_or_create(tx: &mut Tx, kind: &ResourceType) -> Result<Self, sqlx::Error> {
        match Self::find_in(tx, kind).await? {
            Found::Table(table) => Ok(table),
            Found::None => Self::create(tx, kind).await,
            Found::Other => Err(sqlx::Error::Decode(format!("the table of {kind} belongs to another type").into())),
        }
    }

    /// A statement on this table: `{table}` and `{history}` are its names.
    pub(crate) fn sql(&self, dialect: SqlDialect, template: &str) -> SqlStr {
        Sql::render_to_sql_str(dialect, &self.named(template))
    }

    /// A part of a statement with the names of this table.
    pub(super) fn named(&self, template: &str) -> String {
        let mut sql = String::with_capacity(template.len() * 2);
        let mut rest = template;
        while let Some((before, opened)) = rest.split_once('{') {
            sql.push_str(before);
            let named = opened.split_once('}').and_then(|(name, after)| Some((ending(name)?, after)));
            if let Some((ending, after)) = named {
                // A name is letters, digits and underscores, so quoting it is all it needs.
                sql.extend(["\"", &self.name, ending, "\""]);
                rest = after;
            } else {
                sql.push('{');
                rest = opened;
            }
        }
        sql.push_str(rest);
        sql
    }
}

/// Returns what the name of a table, an index or a trigger has behind that of the type.
fn ending(name: &str) -> Option<&'static str> {
    Some(match name {
        "table" => "",
        "history" => "_history",
        "superseded" => "_superseded",
        "replaced" => "_replaced",
        "removed" => "_removed",
        "table_at" => "_at",
        "history_at" => "_history_at",
        _ => return None,
    })
}

/// Returns the name of the lock that guards a type's table; types that share a table share the lock.
pub(crate) fn lock_name(kind: &ResourceType) -> String {
    name_of(kind)
}

fn found(kind: &ResourceType, name: String, holds: Option<String>) -> Found {
    match holds {
        Some(other) if other != kind.as_str() => Found::Other,
        Some(held) => Found::Table(Table { kind: held.into(), name: name.into() }),
        None => Found::None,
    }
}

/// Returns the name of a type's table. No type has an underscore in its name, so none takes the name of a history or of
/// one of our own tables.
fn name_of(kind: &ResourceType) -> String {
    let name = kind.table_name();
    if name.len() <= NAME_MAX_BYTES {
        return name;
    }
    let digest = digest::digest(&digest::SHA256, name.as_bytes());
    let digest: Vec<u8> = digest.as_ref().iter().copied().take(DIGEST_BYTES).collect();
    let mut short: String = name.chars().take(NAME_MAX_BYTES - 2 * DIGEST_BYTES - 1).collect();
    short.push('_');
    short.push_str(&hex(&digest));
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_after_its_type() {
        assert_eq!(name_of(&"AccessPolicy".parse().unwrap()), "accesspolicy");
    }

    #[test]
    fn long_types_keep_tables_of_their_own_within_what_postgres_allows() {
        let [one, other] = ["A", "B"].map(|end| format!("T{}{end}", "x".repeat(62)));
        let [one, other] = [one, other].map(|kind| name_of(&kind.parse().unwrap()));
        assert_ne!(one, other);
        assert!(format!("{one}_history_at").len() <= 63, "{one}");
    }
}

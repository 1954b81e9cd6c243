//! Tables of types that users' SQL dropped.
//!
//! A type that was written to is known to have tables, and writes rely on it. Users' SQL may drop them, which is a way
//! to empty a type; so they are made again, empty. The tables of registrations are another matter: their triggers tell
//! every node what changed, so SQL that drops one of them is refused where its transaction can be rolled back.

use fhir_resource::ResourceType;
use sql_engines::{SqlDialect, run};

use super::table::Table;
use crate::engine::Tx;

/// The types whose tables the server cannot make again: schema files give them triggers and indexes.
const NEEDED: [&str; 4] = ["Client", "User", "Organization", "AccessPolicy"];

const DROPPED_POSTGRES: &str = "SELECT r.name FROM resource_type r
WHERE to_regclass(quote_ident(r.table_name)) IS NULL OR to_regclass(quote_ident(r.table_name || '_history')) IS NULL
ORDER BY r.name";
const DROPPED_SQLITE: &str = "SELECT r.name FROM resource_type r
WHERE (SELECT count(*) FROM sqlite_schema t
    WHERE t.type IN ('table', 'view') AND t.name IN (r.table_name, r.table_name || '_history')) < 2
ORDER BY r.name";

/// Returns the types without a table or a history.
async fn dropped(tx: &mut Tx) -> Result<Vec<String>, sqlx::Error> {
    let sql = match tx.dialect() {
        SqlDialect::Postgres => DROPPED_POSTGRES,
        SqlDialect::Sqlite => DROPPED_SQLITE,
    };
    run!(tx.on(), fetch_all: sqlx::query_scalar(sql))
}

/// Returns the first type whose table is missing and that the server cannot do without.
pub(crate) async fn needed(tx: &mut Tx) -> Result<Option<String>, sqlx::Error> {
    let dropped = dropped(tx).await?;
    Ok(dropped.into_iter().find(|kind| NEEDED.contains(&kind.as_str())))
}

/// Makes the tables of types that have lost one.
pub(super) async fn restore(tx: &mut Tx) -> Result<(), sqlx::Error> {
    for name in dropped(tx).await? {
        if NEEDED.contains(&name.as_str()) {
            tracing::error!(
                kind = name,
                "a table that the server needs was dropped: restore the database from a backup"
            );
            continue;
        }
        let kind: ResourceType = name.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        Table::registered(&kind).make(tx).await?;
        tracing::warn!(kind = name, "a table that was dropped has been made again, without what it held");
    }
    Ok(())
}

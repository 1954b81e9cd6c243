//! A document is stored once: in the table of its type while its version stands, in the history afterwards.
//!
//! The history has a row of every version from the moment it is written, with JSON `null` in place of a document that
//! stands in the table. A trigger takes the document over when its row of the table changes or goes. It is a trigger
//! and no statement of ours, because users' SQL changes the tables as well, and what it overwrites belongs to the
//! history as much as what we overwrite.
//!
//! Not specified; what no trigger sees (`TRUNCATE`, `DROP TABLE`, `REPLACE` on SQLite) takes the standing documents
//! with it; a table that was dropped is made again, without them. Their rows of the history are passed over when they
//! are read, as every document that cannot be read. Rows of a former version have their documents whether they stand or
//! not, and stay as they are.

use fhir_resource::ResourceType;

use sql_engines::{SqlDialect, run};

use super::table::Table;
use crate::engine::Tx;

/// The tables without what takes their documents over: those of a former version, and what users' SQL made.
const UNWATCHED_POSTGRES: &str = "SELECT r.name FROM resource_type r
JOIN pg_class c ON c.oid = to_regclass(quote_ident(r.table_name)) AND c.relkind IN ('r', 'p')
WHERE NOT EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = c.oid AND g.tgname = r.table_name || '_superseded')";
const UNWATCHED_SQLITE: &str = "SELECT r.name FROM resource_type r
JOIN sqlite_schema t ON t.type = 'table' AND t.name = r.table_name
WHERE (SELECT count(*) FROM sqlite_schema g WHERE g.type = 'trigger' AND g.tbl_name = r.table_name
    AND g.name IN (r.table_name || '_replaced', r.table_name || '_removed')) < 2";

/// The path is that of whoever made the table: a dump that is loaded as users' SQL has none.
const WATCH_POSTGRES: &[&str] = &[
    "CREATE OR REPLACE FUNCTION {superseded}() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE {history} SET resource = OLD.resource
    WHERE id = OLD.id AND txid = OLD.txid AND resource = {in_table};
    RETURN NULL;
END $$",
    "CREATE TRIGGER {superseded} AFTER UPDATE OR DELETE ON {table}
FOR EACH ROW EXECUTE FUNCTION {superseded}()",
];
/// Before the row changes: of triggers that come after nobody knows the order, and one of them updates the row once
/// more, to give what users' SQL wrote a number of its own. The old number would get the new document.
const WATCH_SQLITE: &[&str] = &[
    "CREATE TRIGGER IF NOT EXISTS {replaced} BEFORE UPDATE ON {table} BEGIN
    UPDATE {history} SET resource = OLD.resource
    WHERE id = OLD.id AND txid = OLD.txid AND resource = {in_table};
END",
    "CREATE TRIGGER IF NOT EXISTS {removed} BEFORE DELETE ON {table} BEGIN
    UPDATE {history} SET resource = OLD.resource
    WHERE id = OLD.id AND txid = OLD.txid AND resource = {in_table};
END",
];

/// Sees to it that every type has its tables, and that what stands in any goes into its history when it is superseded.
pub(crate) async fn watch_all(tx: &mut Tx) -> Result<(), sqlx::Error> {
    super::dropped::restore(tx).await?;
    let unwatched = match tx.dialect() {
        SqlDialect::Postgres => UNWATCHED_POSTGRES,
        SqlDialect::Sqlite => UNWATCHED_SQLITE,
    };
    let kinds: Vec<String> = run!(tx.on(), fetch_all: sqlx::query_scalar(unwatched))?;
    for kind in kinds {
        let kind: ResourceType = kind.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        watch(tx, &Table::registered(&kind)).await?;
    }
    Ok(())
}

/// The same for one table that nobody watches.
pub(super) async fn watch(tx: &mut Tx, table: &Table) -> Result<(), sqlx::Error> {
    let templates = match tx.dialect() {
        SqlDialect::Postgres => WATCH_POSTGRES,
        SqlDialect::Sqlite => WATCH_SQLITE,
    };
    for template in templates {
        let sql = table.sql(tx.dialect(), template);
        run!(tx.on(), execute: sqlx::query(sql))?;
    }
    Ok(())
}

//! The schema files of this server, which [`sql_engines`] applies when the database is opened.
//!
//! These are the tables of this server. The crate `migrations` is another thing: the startup
//! migrations that users write.

use sql_engines::{DatabaseOpenError, DatabaseSchema, run, schema_files};

use crate::db::AuthDatabase;
use crate::resources::watch_all;

const SCHEMA: DatabaseSchema = DatabaseSchema {
    // Any constant does.
    lock: 0x6175_7468_7363_6865,
    files: schema_files!(
        "../../../migrations/auth",
        1 => "0001_resources.sql",
        2 => "0002_security_revision.sql",
        3 => "0003_replay.sql",
        4 => "0004_tokens.sql",
        5 => "0005_keys.sql",
        6 => "0006_client_deletions.sql",
        7 => "0007_user_logins.sql",
        8 => "0008_browser_session.sql",
        9 => "0009_member_grant.sql",
        10 => "0010_authorization_code.sql",
        11 => "0011_token_family.sql",
        12 => "0012_parties_gone.sql",
        13 => "0013_fhir_package.sql",
        14 => "0014_sql_script.sql",
        15 => "0015_audit_event.sql",
        16 => "0016_search.sql",
        17 => "0017_history_order.sql",
        18 => "0018_bulk_job.sql",
        19 => "0019_time_order.sql",
        20 => "0020_documents_once.sql",
        21 => "0021_refused_scopes.sql",
        22 => "0022_texts_by_resource.sql",
        23 => "0023_audit_event_index.sql",
        24 => "0024_package_conformance.sql",
        25 => "0025_server_health.sql",
        26 => "0026_search_order.sql",
        27 => "0027_absolute_references.sql",
        28 => "0028_audit_event_order.sql",
    ),
};

/// Applies the files that are missing.
pub(crate) async fn apply(db: &AuthDatabase) -> Result<(), DatabaseOpenError> {
    let mut tx = db.begin().await.map_err(DatabaseOpenError::Connect)?;
    SCHEMA.apply_missing_files(tx.on()).await?;
    watch_all(&mut tx).await.map_err(DatabaseOpenError::Connect)?;
    tx.commit().await.map_err(DatabaseOpenError::Connect)
}

/// Returns whether a server has prepared the database before.
pub(crate) async fn is_there(db: &AuthDatabase) -> Result<bool, sqlx::Error> {
    run!(db.reader(), fetch_one: sqlx::query_scalar(DatabaseSchema::exists_statement(db.dialect())))
}

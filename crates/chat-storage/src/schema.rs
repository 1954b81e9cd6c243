//! The schema files of this server, which [`sql_engines`] applies when the database is opened.

use sql_engines::{DatabaseOpenError, DatabaseSchema, schema_files};

use crate::db::ChatDatabase;
use crate::engine::run;

const SCHEMA: DatabaseSchema = DatabaseSchema {
    // Any constant does.
    lock: 0x6368_6174_7363_6865,
    files: schema_files!(
        "../../../migrations/chat",
        1 => "0001_log.sql",
        2 => "0002_queues.sql",
        3 => "0003_messages.sql",
        4 => "0004_own_copies.sql",
        5 => "0005_presence.sql",
        6 => "0006_unsent.sql",
        7 => "0007_invitations.sql",
        8 => "0008_words.sql",
        9 => "0009_submessages.sql",
        10 => "0010_uploads.sql",
        11 => "0011_push.sql",
        12 => "0012_bot_storage.sql",
        13 => "0013_import.sql",
        14 => "0014_push_sent.sql",
        15 => "0015_flag_sets.sql",
        16 => "0016_read_set_room.sql",
        17 => "0017_word_properties.sql",
        18 => "0018_server_health.sql",
        19 => "0019_narrow_indexes.sql",
        20 => "0020_encrypted_secrets.sql",
        21 => "0021_word_contents.sql",
        22 => "0022_browser_sessions.sql",
        23 => "0023_subscription_references.sql",
        24 => "0024_resolved_topics.sql",
        25 => "0025_resumable_uploads.sql",
        26 => "0026_word_stretches.sql",
        27 => "0027_reminders.sql",
    ),
};

/// Applies the files that are missing.
pub(crate) async fn apply(db: &ChatDatabase) -> Result<(), DatabaseOpenError> {
    let mut tx = db.begin().await.map_err(DatabaseOpenError::Connect)?;
    SCHEMA.apply_missing_files(tx.connection()).await?;
    tx.commit().await.map_err(DatabaseOpenError::Connect)
}

/// Returns whether a server has prepared the database before.
pub(crate) async fn is_there(db: &ChatDatabase) -> Result<bool, sqlx::Error> {
    run!(db.reader(), fetch_one: sqlx::query_scalar(DatabaseSchema::exists_statement(db.dialect())))
}

//! Opening, the schema, the start lock, closing.

use auth_storage::{AuthDatabase, DatabaseOpenError};
use fhir_store::{ResourceStore as _, ResourceWrite, WriteOperation};
use oauth_core::ports::RegistrationStore as _;
use serde_json::json;
use tokio::task::JoinSet;

use crate::home::{NOW_US, on_every_engine, told};

/// The number of the newest schema file, and how many there are.
const NEWEST: usize = 28;
/// Tables and columns by name, without what only one engine has: the counter SQLite needs in
/// place of a sequence.
const COLUMNS_POSTGRES: &str = "SELECT table_name || '.' || column_name FROM information_schema.columns
WHERE table_schema = 'public' ORDER BY table_name COLLATE \"C\", ordinal_position";
const COLUMNS_SQLITE: &str = "SELECT t.name || '.' || c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
WHERE t.type = 'table' AND t.name NOT IN ('transaction_id_seq', 'sqlite_sequence') ORDER BY t.name, c.cid";

#[tokio::test(flavor = "multi_thread")]
async fn both_engines_have_the_same_tables_and_columns() {
    let (send, mut received) = tokio::sync::mpsc::unbounded_channel();
    on_every_engine(|home| {
        let send = send.clone();
        async move {
            let db = home.open().await;
            let new = ResourceWrite::unconditional("Patient/1".parse().unwrap(), WriteOperation::Put(json!({})));
            db.transact_writes(vec![new], NOW_US).await.unwrap().unwrap();
            let columns = if home.is_postgres() { COLUMNS_POSTGRES } else { COLUMNS_SQLITE };
            send.send(home.ask(columns).await).unwrap();
        }
    })
    .await;
    let sqlite = received.try_recv().unwrap();
    for wanted in
        ["client.resource", "user.txid", "user_history.op", "patient.ts", "patient_history.op", "replay_2.nonce"]
    {
        assert!(sqlite.iter().any(|column| column == wanted), "{wanted} in {sqlite:?}");
    }
    if let Ok(postgres) = received.try_recv() {
        assert_eq!(sqlite, postgres);
    }
}

told! {
    async fn many_nodes_open_an_empty_database_at_once(home) {
        let mut nodes = JoinSet::new();
        for _ in 0..12 {
            let home = home.clone();
            nodes.spawn(async move { home.open().await.ping().await.unwrap() });
        }
        assert_eq!(nodes.join_all().await.len(), 12);
        let files = home.ask("SELECT name FROM schema_file ORDER BY number").await;
        assert_eq!(files.first().map(String::as_str), Some("0001_resources.sql"));
        assert_eq!(files.len(), NEWEST);
    }

    async fn a_database_of_a_newer_version_is_left_alone(home) {
        let db = home.open().await;
        db.run_user_sql("INSERT INTO schema_file (number, name) VALUES (9999, 'later.sql')").await.unwrap().unwrap();
        db.close().await;
        let refused = home.try_open().await.unwrap_err();
        assert!(matches!(refused, DatabaseOpenError::NewerSchema { found: 9999, known: 28 }), "{refused}");
    }

    async fn a_schema_file_with_another_text_than_was_applied_is_refused_by_name(home) {
        home.open().await.close().await;
        home.ask("UPDATE schema_file SET checksum = 'another' WHERE number = 3").await;
        let refused = home.try_open().await.unwrap_err();
        assert!(matches!(refused, DatabaseOpenError::ChangedSchema { name: "0003_replay.sql" }), "{refused}");
    }

    async fn a_database_from_before_checksums_gets_them(home) {
        const CHECKSUMS: &str = "SELECT coalesce(checksum, 'none') FROM schema_file ORDER BY number";
        home.open().await.close().await;
        let before = home.ask(CHECKSUMS).await;
        assert!(before.len() == NEWEST && before.iter().all(|checksum| checksum.len() == 64), "{before:?}");
        home.ask("ALTER TABLE schema_file DROP COLUMN checksum").await;
        home.open().await.close().await;
        assert_eq!(home.ask(CHECKSUMS).await, before);
    }

    async fn a_closed_database_does_not_answer(home) {
        let db = home.open().await;
        db.ping().await.unwrap();
        db.close().await;
        assert!(db.ping().await.is_err());
    }

    async fn one_node_at_a_time_does_its_start_work(home) {
        let mut nodes = JoinSet::new();
        for _ in 0..4 {
            let db = home.open().await;
            nodes.spawn(async move {
                db.with_startup_lock(async {
                    // Read, give others every chance, write: without the lock steps get lost.
                    let read = db.stored_access_policies().await.unwrap().revision;
                    for _ in 0..50 {
                        tokio::task::yield_now().await;
                    }
                    let step = format!("UPDATE security_revision SET revision = {}", read + 1);
                    db.run_user_sql(&step).await.unwrap().unwrap();
                })
                .await
                .unwrap();
            });
        }
        nodes.join_all().await;
        assert_eq!(home.open().await.stored_access_policies().await.unwrap().revision, 1 + 4);
    }
}

#[tokio::test]
async fn an_unknown_engine_is_refused_without_telling_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let refused = AuthDatabase::open(Some("mysql://root:hunter2@db/auth"), folder.path(), 1).await.unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("mysql") && text.contains("postgres://"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn a_data_directory_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let refused = AuthDatabase::open(None, &file.join("data"), 1).await.unwrap_err();
    assert!(matches!(refused, DatabaseOpenError::DataDir { .. }), "{refused}");
    assert!(refused.to_string().contains("data directory") && refused.to_string().contains("file/data"), "{refused}");
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_reads_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("a/b");
    let db = AuthDatabase::open(None, &data, 1).await.unwrap();
    assert_eq!(db.engine_name(), "SQLite");
    for (path, mode) in [(data.clone(), 0o700), (data.join("auth.db"), 0o600), (data.join("auth.db-wal"), 0o600)] {
        let found = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{} has {found:o}", path.display());
    }
}

#[tokio::test]
async fn a_folder_without_a_database_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let refused = AuthDatabase::open_existing_and_migrate(None, &missing, 1).await.unwrap_err();
    assert!(matches!(refused, DatabaseOpenError::Absent { .. }), "{refused}");
    assert!(!missing.exists());
    std::fs::write(folder.path().join("auth.db"), b"").unwrap();
    assert!(matches!(
        AuthDatabase::open_existing_and_migrate(None, folder.path(), 1).await,
        Err(DatabaseOpenError::Absent { .. })
    ));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    std::fs::remove_file(folder.path().join("auth.db")).unwrap();
    AuthDatabase::open(None, folder.path(), 1).await.unwrap().close().await;
    AuthDatabase::open_existing_and_migrate(None, folder.path(), 1).await.unwrap().close().await;
}

#[tokio::test]
async fn postgres_that_cannot_be_reached_is_named_with_host_port_and_reason() {
    // A port that was free a moment ago: nothing listens there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url = format!("postgres://box:hunter2@127.0.0.1:{port}/box");
    let folder = tempfile::tempdir().unwrap();
    let refused = AuthDatabase::open(Some(&url), folder.path(), 1).await.unwrap_err().to_string();
    assert!(refused.starts_with(&format!("Postgres at 127.0.0.1:{port} cannot be reached: ")), "{refused}");
    assert!(refused.contains("refused") && !refused.contains("hunter2"), "{refused}");
}

told! {
    async fn an_empty_database_is_refused_where_an_existing_one_is_wanted(home) {
        let refused = home.open_existing_and_migrate().await.unwrap_err();
        assert!(matches!(refused, DatabaseOpenError::Absent { .. }), "{refused}");
        home.open().await.close().await;
        home.open_existing_and_migrate().await.unwrap().close().await;
    }
}

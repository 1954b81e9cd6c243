//! Opening and the schema.

use chat_storage::{ChatDatabase, DatabaseOpenError};
use tokio::task::JoinSet;

use crate::home::{on_each_engine, on_every_engine};

// The index of words is a table of another kind on SQLite, with tables of its own behind it.
const COLUMNS_POSTGRES: &str = "SELECT table_name || '.' || column_name FROM information_schema.columns
WHERE table_schema = 'public' AND table_name <> 'message_words' ORDER BY table_name COLLATE \"C\", ordinal_position";
const COLUMNS_SQLITE: &str = "SELECT t.name || '.' || c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
WHERE t.type = 'table' AND t.name NOT LIKE 'message_words%' ORDER BY t.name, c.cid";

#[tokio::test(flavor = "multi_thread")]
async fn both_engines_have_the_same_tables_and_columns() {
    let (send, mut received) = tokio::sync::mpsc::unbounded_channel();
    on_every_engine(|home| {
        let send = send.clone();
        async move {
            home.open().await.flush_and_close().await;
            let columns = if home.is_postgres() { COLUMNS_POSTGRES } else { COLUMNS_SQLITE };
            send.send(home.ask(columns).await).unwrap();
        }
    })
    .await;
    let sqlite = received.try_recv().unwrap();
    assert!(sqlite.iter().any(|column| column == "message.topic_key"), "{sqlite:?}");
    if let Ok(postgres) = received.try_recv() {
        assert_eq!(sqlite, postgres);
    }
}

#[tokio::test]
async fn a_url_of_another_engine_is_refused_without_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let refused = ChatDatabase::open_and_migrate(Some("mysql://root:hunter2@h/x"), folder.path(), 1).await.unwrap_err();
    assert!(matches!(&refused, DatabaseOpenError::UnknownEngine { scheme } if scheme == "mysql"));
    assert!(!format!("{refused} {refused:?}").contains("hunter2"));
}

on_each_engine! {
    async fn many_nodes_open_an_empty_database_at_once(home) {
        let mut nodes = JoinSet::new();
        for _ in 0..4 {
            let home = home.clone();
            nodes.spawn(async move { home.open().await.ping().await.unwrap() });
        }
        assert_eq!(nodes.join_all().await.len(), 4);
        // Each file once, whatever the number of nodes.
        let files = home.ask("SELECT name FROM schema_file ORDER BY number").await;
        assert!(files.len() > 5 && files.is_sorted_by(|one, next| one < next), "{files:?}");
    }

    async fn a_database_that_postgres_does_not_have_is_named_with_host_port_and_reason(home) {
        let Some(url) = home.url_of("no_such_database") else { return };
        let refused = ChatDatabase::open_and_migrate(Some(&url), home.folder(), 1).await.unwrap_err().to_string();
        let reason = "cannot be reached: database \"no_such_database\" does not exist";
        assert!(refused.starts_with("Postgres at ") && refused.ends_with(reason), "{refused}");
    }

    async fn a_database_of_a_newer_version_is_refused_with_both_numbers_and_left_as_it_was(home) {
        const FILES: &str = "SELECT name || ' ' || coalesce(checksum, 'none') FROM schema_file ORDER BY number";
        home.open().await.flush_and_close().await;
        let newest = home.ask("SELECT CAST(max(number) AS TEXT) FROM schema_file").await;
        let known: i64 = newest.first().unwrap().parse().unwrap();
        let found = known + 1;
        home.execute(format!("INSERT INTO schema_file (number, name) VALUES ({found}, '{found:04}_later.sql')")).await;
        let files = home.ask(FILES).await;
        let refused = home.try_open().await.unwrap_err();
        let line = format!("the database has schema {found}, this version knows {known}: use the newer version");
        assert_eq!(refused.to_string(), line);
        assert_eq!(home.ask(FILES).await, files);
    }
}

//! A SQLite database without room, and with room again.

use std::path::{Path, PathBuf};
use std::process::Command;

use chat_core::StoreError;
use chat_core::messages::store::MessageStore as _;
use chat_storage::{ChatDatabase, ChatStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection as _, SqliteConnection};

use crate::home::Home;
use crate::people::{found, message, say, to_channel};

const MIB: usize = 1024 * 1024;

/// Sends long messages until there is no room for another.
async fn fill(store: &ChatStore) -> StoreError {
    let text = "much ado about nothing ".repeat(8_000);
    for _ in 0..1_000 {
        if let Err(error) = store.append_message(message(store, 1, to_channel(11), ("t", &text))).await {
            return error;
        }
    }
    panic!("there was room for everything");
}

/// What another connection does to the file.
async fn run(folder: &Path, sql: &'static str) {
    let options = SqliteConnectOptions::new().filename(folder.join("chat.db"));
    let mut session = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query(sql).execute(&mut session).await.unwrap();
    session.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_was_full_takes_messages_again_when_there_is_room() {
    let home = Home::embedded();
    let disk = SmallDisk::mount(home.folder(), 24 * MIB);
    let folder = disk.0.clone();
    // What will make room: more than the write-ahead log may hold, which is first copied into the database.
    std::fs::write(folder.join("ballast"), vec![0; 12 * MIB]).unwrap();
    let store =
        ChatStore::start_without_secret(ChatDatabase::open_and_migrate(None, &folder, 8).await.unwrap()).await.unwrap();
    found(&store).await;
    store.check_writable().await.unwrap();
    let full = fill(&store).await;
    assert!(full.is_database_unavailable(), "{full}");
    // Small writes may still fit in; soon none does.
    while store.append_message(message(&store, 1, to_channel(11), ("t", "small"))).await.is_ok() {}
    // The row of a probe may fit where a message does not; soon it does not either.
    let mut probes = 0;
    while store.check_writable().await.is_ok() {
        probes += 1;
        assert!(probes < 2_000, "the disk does not fill up");
    }
    assert!(
        store
            .append_message(message(&store, 1, to_channel(11), ("t", "small")))
            .await
            .unwrap_err()
            .is_database_unavailable()
    );
    store.ping().await.unwrap();

    std::fs::remove_file(folder.join("ballast")).unwrap();
    store.check_writable().await.unwrap();
    say(&store, 2, 12, "there is room").await;
    store.flush_and_close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_sqlite_ended_by_itself_does_not_stop_the_next() {
    let home = Home::embedded();
    let store = home.open().await;
    found(&store).await;
    // SQLite rolls the whole transaction back, as it may when the disk is full.
    run(
        home.folder(),
        "CREATE TRIGGER refuses BEFORE INSERT ON message WHEN NEW.content = 'no room'
        BEGIN SELECT RAISE(ROLLBACK, 'no room'); END",
    )
    .await;
    for _ in 0..3 {
        assert!(store.append_message(message(&store, 1, to_channel(11), ("t", "no room"))).await.is_err());
        say(&store, 2, 12, "t").await;
        store.check_writable().await.unwrap();
    }
    store.flush_and_close().await;
}

/// A file system of a few MiB; it goes when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(below: &Path, size_bytes: usize) -> Self {
        let folder = below.join("small");
        std::fs::create_dir(&folder).unwrap();
        let size = format!("size={size_bytes}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&folder).status();
        assert!(
            mounted.is_ok_and(|status| status.success()),
            "this test mounts a small file system; run it as root: sudo -E cargo test -p chat-storage --test it"
        );
        Self(folder)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
